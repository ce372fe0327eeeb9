"""Text files without a declared encoding, of any size."""

import pytest
from tests.faults.small_files import read

ROWS = {
    "ja": ("部署,担当者,予算", "購買部,髙橋一郎,12000", "営業部,佐藤さくら,8000"),
    "ko": ("부서,담당자,예산", "구매부,김철수,12000", "영업부,이영희,8000"),
    "zh": ("部门,负责人,预算", "采购部,张伟,12000", "销售部,王芳,8000"),
    "tw": ("部門,負責人,預算", "採購部,張偉,12000", "業務部,王芳,8000"),
    "he": ("מחלקה,אחראי,תקציב", "רכש,דוד כהן,12000", "מכירות,רחל לוי,8000"),
    "ar": ("القسم,المسؤول,الميزانية", "المشتريات,محمد علي,12000", "المبيعات,فاطمة حسن,8000"),
    "ru": ("Отдел,Имя,Бюджет", "Закупки,Иван Петров,12000", "Продажи,Анна,8000"),
    "el": ("Τμήμα,Όνομα,Ποσό", "Αγορές,Γιώργος,12000", "Πωλήσεις,Μαρία,8000"),
    "th": ("แผนก,ชื่อ,งบ", "จัดซื้อ,สมชาย,12000", "ขาย,มาลี,8000"),
    "de": ("Abteilung,Prüfer,Größe", "Küche,Jörg Müller,12", "Einkauf,Käthe Groß,8"),
    "fr": ("Département,Nom,Coût", "Façade,Hélène Dupré,12", "Équipe,François,8"),
    "pl": ("Dział,Osoba,Kwota", "Zakupy,Łukasz Wójcik,12", "Jakość,Małgorzata Żak,8"),
    "cs": ("Jméno,Město,Částka", "Šťastný,Plzeň,12", "Žofie Řeháková,Brno,8"),
    "tr": ("Bölüm,Ad,Bütçe", "Satış,Ayşe Yılmaz,12", "Üretim,Çağrı Doğan,8"),
    "en": ("Name,Note,Price", "Café,“fine” – it’s cheap,€12", "Bar,naïve,€8"),
}
ENCODINGS = [
    *[("ja", name) for name in ("cp932", "euc_jp", "iso2022_jp")],
    *[("ko", "euc_kr"), ("ko", "cp949"), ("zh", "gb18030"), ("tw", "big5")],
    *[("he", "cp1255"), ("ar", "cp1256"), ("el", "cp1253"), ("th", "cp874")],
    *[("ru", name) for name in ("cp1251", "koi8_r", "cp866")],
    *[("de", name) for name in ("cp1252", "latin_1", "mac_roman", "cp437")],
    *[("fr", name) for name in ("cp1252", "mac_roman", "cp850")],
    *[("pl", "cp1250"), ("pl", "iso8859_2"), ("cs", "cp1250"), ("cs", "iso8859_2")],
    *[("tr", "cp1254"), ("en", "cp1252"), ("en", "mac_roman")],
    *[(language, name) for language in ROWS for name in ("utf_16_le", "utf_16_be")],
]


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
@pytest.mark.parametrize("times", [1, 50])
def test_a_table_is_decoded(language, encoding, times):
    header, *rows = ROWS[language]
    if encoding in {"iso2022_jp", "euc_jp"}:
        rows = [row.replace("髙", "高") for row in rows]
    text = "\n".join([header, *rows * times, ""])
    document = read("table.csv", text.encode(encoding))
    assert [column.label for column in document.tables[0].columns] == header.split(",")
    assert document.tables[0].rows[0][1] == rows[0].split(",")[1]


@pytest.mark.parametrize("language", ["ja", "ru", "de", "he"])
def test_prose_is_decoded(language):
    encoding = next(name for known, name in ENCODINGS if known == language)
    text = "\n".join(ROWS[language]).replace(",", " ") + ".\n"
    assert read("note.txt", text.encode(encoding)).text.strip() == text.strip()


@pytest.mark.parametrize("encoding", ["cp1252", "latin_1"])
@pytest.mark.parametrize(
    "text",
    [
        "Der Liege\u00adplatz und die Geb\u00fchr sind hoch.\n",
        "Name;Ge\u00adb\u00fchr\nLiege\u00adplatz;30\n",
        "Stra\u00ad\u00dfe, Liege\u00ad\nplatz\n",
        "Le d\u00e9\u00adjeuner co\u00fbte trente couronnes.\n",
        "The har\u00adbour is open to\u00adday.\n",
    ],
)
def test_soft_hyphens_say_nothing_of_the_encoding(text, encoding):
    for name in ("note.txt", "note.html", "note.md"):
        assert read(name, text.encode(encoding)).text == read(name, text).text
    if ";" in text:
        shown = "| Name | Geb\u00fchr |\n| --- | --- |\n| Liegeplatz | 30 |"
        assert read("note.csv", text.encode(encoding)).text == shown


@pytest.mark.parametrize(
    ("encoding", "texts"),
    [
        ("gbk", "名称,价格\n吊车,120|会议在三楼。|张三,李四|备注：门已锁|第一章 总则|周五停水"),
        ("big5", "會議在三樓。|名稱,價格\n吊車,120|姓名,電話\n王芳,138|備註：門已鎖|臺北,高雄"),
        ("euc_jp", "会議は三階です。|氏名,電話\n田中,03|部署,担当者|東京,大阪|備考：鍵なし|カギ"),
        ("cp932", "品名,単価\nロープ,120|会議は三階です。|東京,大阪|佐藤 85"),
        (
            "euc_kr",
            "서울,부산|열쇠는 안내소에 있습니다.|이름,가격\n크레인,120|회의는 삼층|김철수",
        ),
        ("cp874", "ราคา,ชื่อ|กุญแจอยู่ที่โต๊ะ"),
        ("koi8_r", "кран|Кран,120|Москва|Ключ лежит в столе.|кран стоит"),
        ("cp1251", "Имя,Цена\nКран|Москва|Встреча в пять."),
        ("cp1253", "Όνομα,Τιμή|Αθήνα"),
        ("cp1252", "café|n° 5 à Orléans|25°C à midi|Länge|Größe,Preis|Übergrößenträger"),
        ("cp1250", "Łódź|šťastný žák"),
    ],
)
def test_a_few_words_are_decoded(encoding, texts):
    for text in texts.split("|"):
        assert read("note.log", text.encode(encoding)).text == text
