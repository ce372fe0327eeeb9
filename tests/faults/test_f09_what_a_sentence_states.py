"""A short answer is on the side, of the rate and within the limits that are asked for."""

import re

import pytest

from .small_files import index_of

FILES = {
    "mill.txt": "Ann Berg bought the mill from Bo Stahl in 1962. It has two wheels.\n",
    "ferry.txt": "The ferry Alba was sold to Rolf Dahl by the widow Kern in 1971.\n",
    "tent.txt": "Mira lent the big tent to Jonas over the summer.\n",
    "staff.txt": "Tom Reed was hired by Greta Hall in 2015.\n",
    "board.txt": "Ida Moss succeeded Karl Bloom as chair in 2018. The board meets on Mondays.\n",
    "debts.txt": "Peter Ash owes Nina Cole 300 crowns. He will pay in May.\n",
    "cup.txt": "Harbour FC lost to Valley United 2-1 in the cup final.\n",
    "family.txt": "Helga Brandt is the mother of Lars Brandt.\n",
    "guards.txt": "Guards are paid 40 crowns per month. They wear green vests.\n",
    "rent.txt": "The monthly rent of the flat is 640 euros.\n",
    "tram.txt": "Children under 12 ride the tram free of charge. "
    "Children from 12 to 17 pay 2 euros on the tram.\n",
    "gate.txt": "The iron gate was not built by Kone. Nobody knows its maker.\n",
    "club.txt": "Erik Dal did not found the club. The club was founded by Siri Holt.\n",
    "dogs.txt": "Dogs are not allowed in the reading room. Dogs are allowed in the garden.\n",
    "holm.txt": "Die Schmiede Holm schloss im Jahr 1999. Otto Holm wurde 1901 in Kiel geboren.\n",
}
CHINESE = {
    "店.txt": "张敏把面包店卖给了李强。店里有三个烤箱。\n",
    "会费.txt": "俱乐部的会费是每年120元。会员可以用健身房。\n",
    "行李.txt": "不超过20公斤的行李免费托运。超过20公斤的行李要付30元。\n",
    "会员.txt": "不满18岁的会员免交年费。18岁以上的会员每年交50元年费。\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    english, chinese = tmp_path_factory.mktemp("english"), tmp_path_factory.mktemp("chinese")
    with index_of(english, FILES) as en, index_of(chinese, CHINESE) as zh:
        yield lambda question: (zh if re.search("[一-龥]", question) else en).ask(question)


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Who sold the mill?", "Bo Stahl"),
        ("Who bought the mill?", "Ann Berg"),
        ("Who sold the ferry Alba?", "widow Kern"),
        ("Who bought the Alba?", "Rolf Dahl"),
        ("Who borrowed the big tent?", "Jonas"),
        ("Who hired Tom Reed?", "Greta Hall"),
        ("Who did Greta Hall hire?", "Tom Reed"),
        ("Who succeeded Karl Bloom?", "Ida Moss"),
        ("Who won the cup final?", "Valley United"),
        ("How much are guards paid per week?", "40 crowns per month"),
        ("How much does a child of 12 pay on the tram?", "2 euros"),
        ("Who founded the club?", "Siri Holt"),
        ("Where are dogs allowed?", "garden"),
        ("谁买了面包店？", "李强"),
        ("谁卖了面包店？", "张敏"),
        ("俱乐部的会费每个月多少钱？", "每年120元"),
        ("托运25公斤的行李要付多少钱？", "30元"),
        ("18岁的会员每年交多少年费？", "每年50元"),
    ],
)
def test_a_short_answer_is_the_one_asked_for(ask, question, short):
    answer = ask(question)
    assert answer.answered
    assert answer.short.removeprefix("the ") in {short, short.replace("每年", ""), ""}
    assert short in answer.text or short.replace("每年", "") in answer.text


@pytest.mark.parametrize(
    ("question", "stated"),
    [
        ("How much is the rent of the flat per year?", "monthly rent"),
        ("How much does an 11-year-old child pay on the tram?", "free of charge"),
        ("Who built the iron gate?", "not built by Kone"),
        ("17岁的会员每年交多少年费？", "不满18岁"),
        ("托运20公斤的行李要付多少钱？", "免费托运"),
    ],
)
def test_answers_too_long_for_a_few_words_are_quoted(ask, question, stated):
    answer = ask(question)
    assert answer.answered
    assert answer.short == ""
    bold = re.search(r"\*\*(.+?)\*\*", answer.text)
    assert stated in (bold[1] if bold else answer.text)


@pytest.mark.parametrize(
    "question",
    [
        "Who succeeded Ida Moss as chair?",
        "How much does Nina Cole owe Peter Ash?",
        "Who is the mother of Helga Brandt?",
        "Wann wurde die Schmiede Holm gegründet?",
        "Wann starb Otto Holm?",
        "李强把面包店卖给了谁？",
    ],
)
def test_the_reverse_of_what_is_asked_is_no_answer(ask, question):
    answer = ask(question)
    assert not answer.answered
    assert not answer.short
