"""Texts in 12 languages, and odd ones, for the tests of tokenizers and embedders."""

from itertools import permutations

SENTENCES = {
    "en": (
        "The ferry leaves the harbour at half past six every morning.",
        "She repaired the clock that her grandfather had brought from Trieste in 1931.",
        "Why did the committee reject the second design for the bridge?",
        "Rainfall in the valley has doubled since the dam was finished.",
        "Each battery holds about 4.2 kWh, enough to heat water for two days.",
    ),
    "zh": (
        "渡轮每天早上六点半离开港口。",
        "她修好了祖父1931年从的里雅斯特带回来的钟。",
        "委员会为什么否决了大桥的第二个设计方案？",
        "大坝建成以后，山谷里的降雨量增加了一倍。",
        "每块电池大约能储存4.2千瓦时的电，足够烧两天的热水。",
    ),
    "de": (
        "Die Fähre verlässt den Hafen jeden Morgen um halb sieben.",
        "Sie reparierte die Uhr, die ihr Großvater 1931 aus Triest mitgebracht hatte.",
        "Warum hat der Ausschuss den zweiten Entwurf für die Brücke abgelehnt?",
        "Seit der Fertigstellung des Staudamms regnet es im Tal doppelt so viel.",
        "Jede Batterie speichert etwa 4,2 kWh, genug, um zwei Tage lang Wasser zu erhitzen.",
    ),
    "fr": (
        "Le bac quitte le port chaque matin à six heures et demie.",
        "Elle a réparé l'horloge que son grand-père avait rapportée de Trieste en 1931.",
        "Pourquoi le comité a-t-il rejeté le deuxième projet de pont ?",
        "Les pluies dans la vallée ont doublé depuis l'achèvement du barrage.",
        "Chaque batterie contient environ 4,2 kWh, de quoi chauffer l'eau pendant deux jours.",
    ),
    "ru": (
        "Паром уходит из гавани каждое утро в половине седьмого.",
        "Она починила часы, которые дед привёз из Триеста в 1931 году.",
        "Почему комитет отклонил второй проект моста?",
        "С тех пор как построили плотину, дождей в долине стало вдвое больше.",
        "Каждая батарея хранит около 4,2 кВт·ч — этого хватает, чтобы греть воду два дня.",
    ),
    "ja": (
        "フェリーは毎朝六時半に港を出ます。",
        "彼女は祖父が1931年にトリエステから持ち帰った時計を修理した。",
        "委員会はなぜ橋の二番目の設計案を退けたのですか。",
        "ダムが完成してから、谷の降水量は二倍になった。",
        "一つのバッテリーには約4.2キロワット時が蓄えられ、二日分の湯を沸かせる。",
    ),
    "ko": (
        "여객선은 매일 아침 여섯 시 반에 항구를 떠난다.",
        "그녀는 할아버지가 1931년에 트리에스테에서 가져온 시계를 고쳤다.",
        "위원회는 왜 다리의 두 번째 설계안을 거부했습니까?",
        "댐이 완공된 뒤로 계곡의 강수량이 두 배로 늘었다.",
        "배터리 하나에는 약 4.2kWh가 저장되어 이틀 동안 물을 데울 수 있다.",
    ),
    "ar": (
        "تغادر العبّارة الميناء كل صباح في السادسة والنصف.",
        "أصلحت الساعة التي أحضرها جدها من ترييستي عام 1931.",
        "لماذا رفضت اللجنة التصميم الثاني للجسر؟",
        "تضاعفت الأمطار في الوادي منذ اكتمال السد.",
        "تخزن كل بطارية نحو 4.2 كيلوواط ساعة، وهذا يكفي لتسخين الماء يومين.",
    ),
    "hi": (
        "नौका हर सुबह साढ़े छह बजे बंदरगाह से निकलती है।",
        "उसने वह घड़ी ठीक की जो उसके दादा 1931 में त्रिएस्ते से लाए थे।",
        "समिति ने पुल के दूसरे नक्शे को क्यों ठुकरा दिया?",
        "बाँध बनने के बाद घाटी में बारिश दोगुनी हो गई है।",
        "हर बैटरी में लगभग 4.2 किलोवाट घंटा बिजली रहती है, जो दो दिन पानी गरम करने के लिए काफ़ी है।",
    ),
    "th": (
        "เรือข้ามฟากออกจากท่าทุกเช้าเวลาหกโมงครึ่ง",
        "เธอซ่อมนาฬิกาที่คุณปู่นำกลับมาจากตรีเอสเตในปี 1931",
        "ทำไมคณะกรรมการจึงไม่รับแบบสะพานแบบที่สอง",
        "ปริมาณฝนในหุบเขาเพิ่มขึ้นเป็นสองเท่าตั้งแต่เขื่อนสร้างเสร็จ",
        "แบตเตอรี่แต่ละก้อนเก็บไฟได้ราว 4.2 กิโลวัตต์ชั่วโมง พอต้มน้ำได้สองวัน",
    ),
    "vi": (
        "Phà rời bến cảng lúc sáu giờ rưỡi mỗi sáng.",
        "Cô ấy đã sửa chiếc đồng hồ mà ông nội mang về từ Trieste năm 1931.",
        "Vì sao ủy ban bác bỏ bản thiết kế thứ hai của cây cầu?",
        "Lượng mưa trong thung lũng đã tăng gấp đôi từ khi đập được xây xong.",
        "Mỗi bộ pin chứa khoảng 4,2 kWh, đủ để đun nước trong hai ngày.",
    ),
    "tr": (
        "Feribot her sabah altı buçukta limandan ayrılır.",
        "Dedesinin 1931'de Trieste'den getirdiği saati tamir etti.",
        "Komite köprünün ikinci tasarımını neden reddetti?",
        "Baraj tamamlandığından beri vadideki yağış iki katına çıktı.",
        "Her pil yaklaşık 4,2 kWh depolar; bu, iki gün su ısıtmaya yeter.",
    ),
}


def pair_sentences(sentences: tuple[str, ...]) -> list[str]:
    """Return sentences, then each of them followed by each of the others."""
    return [*sentences, *(f"{one} {other}" for one, other in permutations(sentences, 2))]


TEXTS = [text for sentences in SENTENCES.values() for text in pair_sentences(sentences)]
"""25 texts in each of 12 languages."""

ODD_TEXTS = [
    "",
    " ",
    "  two  spaces   inside\tand\r\nlines ",
    "cafe\u0301 de\u0301ja\u0300 vu, a\u0300\u0316b",
    "각 \u1100\u1161\u11a8 \u1112\u1161\u11ab\u1100\u1173\u11af",
    "か\u3099 ﾊﾟﾋﾟ ｶﾞｷﾞｸﾞ ﾊﾝｶｸ",
    "ｆｕｌｌ ｗｉｄｔｈ １２３，。！",
    "ﬁne ½ ™ ㎏ ①②③ Ⅳ ℃ № … \u00a0",
    "😀😁 emoji 👍🏽 🇫🇷 \U0001f9d1 ❤️",
    "\x00\x01 control \x7f\x85 marks",
    "lonely word " + "x" * 5_000,
    "长" * 700,
    "ไม่มีช่องว่างระหว่างคำภาษาไทย" * 8,
    "\u2581 literal \u2581\u2581 marks and <s> </s> <unk> <pad> [CLS] [SEP] ##ing",
    "Å Å A\u030a İstanbul ŞIŞ ẛ̣ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "tel: +1-555-0100 http://a.example/b?c=d&e=f#g user@host.example",
    "שלום עולם, क्षत्रिय ৰ র\u09bc ကောင်း ქართული ՀԱՅ Ἑλλάς",
    "def f(x): return {'a': [x ** 2, -x]}  # ~`^|\\",
    "\u2028separators\u2029 and \u3000 wide \u2003 spaces",
    "\ufffd replaced \ufffd\ufffd",
]
