"""An answer states the fact that is asked for, and its short form is of that kind."""

import re

import pytest

from .small_files import index_of

FILES = {
    "beta.txt": "Li Wei is the chief financial officer of Beta Foods. She joined in 2019. "
    "Li Wei was born in Harbin.\n",
    "alpha.txt": "Chen Bo is the chief financial officer of Alpha Shipping. He was born in Qingdao "
    "and studied in Dalian. Alpha Shipping operates 14 vessels.\n",
    "permit.txt": "No permit is needed for boats shorter than 6 metres. Boats of 6 metres or more "
    "need one. A permit costs 40 crowns and is valid for two years.\n",
    "museum.txt": "The museum is open from Tuesday to Saturday. On Saturdays it opens at 10:00. "
    "It is closed on Sundays.\n",
    "crane.txt": "The crane lifts up to 40 tonnes. At least two people must be present. The crane "
    "was built by Kone in 1987. The pool beside it is 25 metres long.\n",
    "form.txt": "Ship name:\nPort of registry:\nOwner: Marta Lund\nLength (m): 43.5\n",
}
CHINESE = {
    "公司.txt": "李伟是贝塔食品公司的财务总监。她于2019年加入公司。李伟出生于哈尔滨。\n",
    "规定.txt": "长度不足6米的船不需要许可证。6米及以上的船需要许可证。许可证费用为40元。\n",
    "面包店.txt": "奥斯卡是面包店的老板。面包店雇了九个人，每天卖400个面包。\n",
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    english, chinese = tmp_path_factory.mktemp("english"), tmp_path_factory.mktemp("chinese")
    with index_of(english, FILES) as en, index_of(chinese, CHINESE) as zh:
        yield {"en": en, "zh": zh}


def ask(bases, question):
    return bases["en" if question.isascii() else "zh"].ask(question)


@pytest.mark.parametrize(
    "question",
    [
        "When was Beta Foods founded?",
        "When was Li Wei born?",
        "Who founded Beta Foods?",
        "When did Chen Bo join Alpha Shipping?",
        "What is the CEO of Alpha Shipping called?",
        "Who is the chief executive officer of Beta Foods?",
        "How many employees does Alpha Shipping have?",
        "When was the crane sold?",
        "How deep is the pool?",
        "What is the ship name?",
        "What is the port of registry?",
        "贝塔食品公司是什么时候成立的？",
        "李伟是什么时候出生的？",
        "谁创办了贝塔食品公司？",
        "贝塔食品公司的总经理是谁？",
    ],
)
def test_another_fact_is_no_answer(bases, question):
    answer = ask(bases, question)
    assert not answer.answered
    assert not answer.short


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When did Li Wei join Beta Foods?", "2019"),
        ("Where was the chief financial officer of Alpha Shipping born?", "Qingdao"),
        ("Where was Li Wei born?", "Harbin"),
        ("Who is the CFO of Alpha Shipping?", "Chen Bo"),
        ("How many vessels does Alpha Shipping operate?", "14"),
        ("How much does a permit cost?", "40 crowns"),
        ("How long is a permit valid?", "two years"),
        ("How much can the crane lift?", "up to 40 tonnes"),
        ("How many people must be present?", "at least two"),
        ("Who built the crane?", "Kone"),
        ("李伟是哪一年加入公司的？", "2019年"),
        ("李伟出生在哪里？", "哈尔滨"),
        ("许可证多少钱？", "40元"),
    ],
)
def test_short_answers_are_of_the_kind_asked_for(bases, question, short):
    answer = ask(bases, question)
    assert answer.answered
    assert answer.short.lower() in (short.lower(), "")
    assert short.split()[-1] in answer.text


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Does a 6-metre boat need a permit?", "6 metres or more"),
        ("Does a 5-metre boat need a permit?", "shorter than 6"),
        ("Is it open on Sundays?", "closed on Sundays"),
        ("6米的船需要许可证吗？", "6米及以上"),
        ("5米的船需要许可证吗？", "不足6米"),
    ],
)
def test_the_sentence_whose_condition_is_met_comes_first(bases, question, best):
    answer = ask(bases, question)
    bold = re.search(r"\*\*(.+?)\*\*", answer.text)
    assert bold is not None
    assert best in bold[1]


def test_a_short_answer_keeps_the_thousands_of_its_amount(tmp_path):
    text = "The repair of buoy 7 cost 61,000 crowns, of which the insurer paid two thirds.\n"
    with index_of(tmp_path, {"report.txt": text}) as kb:
        assert kb.ask("What did the repair of buoy 7 cost?").short == "61,000 crowns"
