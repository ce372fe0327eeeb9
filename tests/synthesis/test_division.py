"""Questions that ask for several things are divided; those that ask for one thing are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._questions.reading import MOST_PARTS, QuestionReading, reading_of


def texts(question):
    divided = reading_of(question).division
    return [part.text for part in divided.parts] if divided else None


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Who approves trips abroad, and which form does the Travel Office need?",
            ["Who approves trips abroad?", "Which form does the Travel Office need?"],
        ),
        (
            "Which file lists the people who may not print, and which one holds the quotas?",
            ["Which file lists the people who may not print?", "Which file holds the quotas?"],
        ),
        (
            "The pump has failed. Which valve do I close, and whom do I call at the office?",
            [
                "The pump has failed. Which valve do I close?",
                "Whom do I call at the office?",
            ],
        ),
        (
            "When the alarm rings, where does the crew meet, and who locks the north gate?",
            [
                "When the alarm rings, where does the crew meet?",
                "Who locks the north gate?",
            ],
        ),
        (
            "Where does the crew meet? Who counts it? Who locks the north gate?",
            ["Where does the crew meet, and who counts it?", "Who locks the north gate?"],
        ),
        (
            "What is the toll, how is the toll paid by lorries, and who collects tolls at night?",
            [
                "What is the toll?",
                "How is the toll paid by lorries?",
                "Who collects tolls at night?",
            ],
        ),
        (
            "What do the red lamp and the green lamp each mean?",
            ["What does the red lamp mean?", "What does the green lamp mean?"],
        ),
        (
            "What are the default ports of the mail server and the print server, respectively?",
            [
                "What are the default ports of the mail server?",
                "What are the default ports of the print server?",
            ],
        ),
        ("谁批准出差？住宿费的上限是多少？", ["谁批准出差？", "住宿费的上限是多少？"]),
        (
            "泵的型号是什么，多少钱？谁批准采购部门的申请？",
            ["泵的型号是什么，多少钱？", "谁批准采购部门的申请？"],
        ),
        (
            "红灯和绿灯分别是什么意思？",
            ["红灯是什么意思？", "绿灯是什么意思？"],
        ),
        (
            "nginx 和 Apache 默认分别监听哪个端口？",
            ["nginx默认监听哪个端口？", "Apache默认监听哪个端口？"],
        ),
        (
            "根据年报，2019年和2020年用户总数分别为多少？",
            ["根据年报，2019年用户总数为多少？", "根据年报，2020年用户总数为多少？"],
        ),
        (
            "2023年出口额和进口额各是多少？",
            ["2023年出口额是多少？", "2023年进口额是多少？"],
        ),
        ("男生和女生的平均身高分别是多少？", ["男生的平均身高是多少？", "女生的平均身高是多少？"]),
        ("租约是什么？许可证是什么？", ["租约是什么？", "许可证是什么？"]),
        ("谁批准出差？谁报销住宿？", ["谁批准出差？", "谁报销住宿？"]),
        ("What is a lease? And what is a licence?", ["What is a lease?", "What is a licence?"]),
        ("誰批准出差？住宿費的上限是多少？", ["誰批准出差？", "住宿費的上限是多少？"]),
    ],
)
def test_each_part_is_a_question_that_stands_alone(question, parts):
    assert texts(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "Where does the crew meet, and who counts it?",
        "How many boats does the station own? And who repairs the engines of these boats?",
        "What does lamp 7 mean, and what do I do?",
        "How long is the timeout, and what is the default?",
        "这里有什么假，各有什么条件？",
        "这家公司叫什么，老板是谁？",
        "這家公司叫什麼，老闆是誰？",
        "教师可以借几本书，借多久？",
        "押金是多少，各怎么退？",
    ],
)
def test_a_question_that_leans_on_the_one_before_it_is_asked_with_it(question):
    assert reading_of(question).division is None


@pytest.mark.parametrize(
    ("question", "names", "parts"),
    [
        (
            "What is the difference between a lease and a licence?",
            ("a lease", "a licence"),
            ["What is a lease?", "What is a licence?"],
        ),
        (
            "How does rounding up differ from rounding down in the ledger?",
            ("rounding up", "rounding down"),
            ["What is rounding up in the ledger?", "What is rounding down in the ledger?"],
        ),
        (
            "Compare diesel with electric ferries.",
            ("diesel", "electric ferries"),
            ["What is diesel?", "What is electric ferries?"],
        ),
        ("inet vs cidr", ("inet", "cidr"), ["What is inet?", "What is cidr?"]),
        ("租约和许可证有什么区别？", ("租约", "许可证"), ["租约是什么？", "许可证是什么？"]),
        (
            "RBL 跟 RHSBL 这两种名单，登记的内容有什么不一样？",
            ("RBL", "RHSBL"),
            ["RBL登记的内容是什么？", "RHSBL登记的内容是什么？"],
        ),
        ("有性生殖和無性生殖之間的差別在哪?", ("有性生殖", "無性生殖"), None),
    ],
)
def test_comparisons_are_asked_of_each_thing(question, names, parts):
    assert reading_of(question).division.compared == names
    assert parts is None or texts(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Why?",
        "Who plans the routes and prints the maps?",
        "What is the toll, and why?",
        "What is an anchor, and what is it?",
        "Are the ferry and the pilot boat both yellow?",
        "Is there a limit? If so, what is it?",
        "Who is the actor who played the pilot and who was born in Wales?",
        "Who is the founder, and who has been accused of fraud in several papers?",
        "Which company built the bridge that spans the Wend and which was sold in 1990?",
        "Which of the two bridges was built first, the Wend or the Aller?",
        "What did the ECDC and WHO regional office ask the countries?",
        "How do I see who logged in and when they logged out?",
        "The town, which lies on the Wend, was founded by whom?",
        "What was the value at December 31, 2019 and 2018 respectively?",
        "How are cicadas different from other insects?",
        "Who is Ann? Who is Ben? Who is Cem? Who is Dora? Who is Eve?",
        "有没有上限？具体是多少？",
        "能不能报销？怎么报销？",
        "是否需要审批？",
        "如果忘了密码，怎么办？",
        "不管谁来，门都开着吗？",
        "他在什么情况下可以和家人分别？",
        "「誰知盤中飧，粒粒皆辛苦。」這一段詩句出自誰寫的詩？",
        "共和国是哪一年成立的？",
    ],
)
def test_a_question_for_one_thing_is_not_divided(question):
    assert reading_of(question).division is None


_WORDS = (
    *("who", "what", "which", "when", "where", "how", "why", "and", "does", "is", "the", "it"),
    *("file", "holds", "each", "respectively", "difference", "between", "vs", "compare", "with"),
    *("one", "boats", ",", ";", "?", ".", ":", "谁", "什么", "哪个", "多少", "和", "分别", "各自"),
    *(
        "，",
        "、",
        "？",
        "的",
        "区别",
        "2019年",
        "船",
        "nginx",
        "“",
        "”",
        "「",
        "」",
        "\\1",
        "(",
        "[",
    ),
)


@given(st.lists(st.sampled_from(_WORDS), max_size=30))
def test_any_words_give_no_or_several_questions(words):
    for text in (" ".join(words), "".join(words)):
        divided = reading_of(text).division
        assert divided is None or 2 <= len(divided.parts) <= MOST_PARTS
        for part in divided.parts if divided else ():
            assert part.asked.strip("?？ ")
            assert len(part.text) >= len(part.asked)


@given(st.text())
def test_any_text_can_be_read(text):
    QuestionReading(text).division  # noqa: B018 - it raises nothing
