"""A question that names a clause by its number is answered with that clause."""

import pytest
from tests.faults.office_xml import item, level, lists, word
from tests.faults.small_files import index_of

LEVELS = (level(0, "decimal", "%1."), level(1, "decimal", "%1.%2"), level(2, "lowerLetter", "(%3)"))
WORD = word(
    item("Term", 1)
    + item("The lease runs until 2030.", 1, 1)
    + item("It may be renewed once.", 1, 1)
    + item("by letter", 1, 2)
    + item("Rent", 1)
    + item("The rent is 300 crowns a month. It is due on the first.", 1, 1)
    + item("It may be raised every second year.", 1, 1),
    numbering=lists({0: LEVELS}, {1: (0, "")}),
)
TYPED = (
    "Lease\n\n2.1 The rent is 300 crowns a month. It is due on the first.\n\n"
    "2.2 It may be raised every second year.\n"
)
STEPPED = (
    "1. Term\n1.1 The lease runs for five years.\n1.2 It renews each year.\n"
    "2. Rent\n2.1 The rent is 900 crowns a month.\n"
)
NESTED = (
    "# Lease\n\n1. Term: five years.\n2. Rent: 900 a month.\n   1. It is due on day 1.\n"
    "   2. Late rent costs 5 percent.\n3. Pets are forbidden.\n"
)
LETTERED = "(a) The tenant pays the water.\n(b) The owner pays the roof.\n(c) Both pay the fence.\n"
PAGE = (
    '<h2>Rules</h2><ol start="7"><li>Boats must carry a horn.</li>'
    "<li>Dogs stay on a lead.</li></ol>"
)
ARTICLES = (
    "Article 12 Liability\nThe carrier is liable up to 8,000 euros.\n\n"
    "Article 13 Delay\nClaims for delay end after 21 days.\n"
)
CHINESE = "租约\n\n第一条 租期两年。\n\n第二条 每月租金三百元。\n"


@pytest.mark.parametrize(
    ("name", "data", "asked", "said", "unsaid"),
    [
        ("a.docx", WORD, "What does clause 2.1 say?", ("300 crowns", "due on the first"), "raised"),
        ("a.docx", WORD, "What does section 1.2 cover?", ("renewed once", "by letter"), "2030"),
        ("a.txt", TYPED, "What does clause 2.2 say?", ("every second year",), "300"),
        ("a.md", TYPED, "What is in paragraph 2.1?", ("300 crowns",), "raised"),
        ("a.txt", STEPPED, "What does clause 1.1 say?", ("five years",), "renews"),
        ("a.txt", STEPPED, "What does clause 1.2 say?", ("renews",), "five"),
        ("a.md", NESTED, "What does clause 2.2 say?", ("5 percent",), "day 1"),
        ("a.md", NESTED, "What does clause 3 say?", ("Pets",), "Late"),
        ("a.txt", LETTERED, "What does clause (b) say?", ("roof",), "water"),
        ("a.txt", LETTERED, "What does paragraph c say?", ("fence",), "roof"),
        ("a.html", PAGE, "What does rule 8 say?", ("Dogs",), "horn"),
        ("a.txt", CHINESE, "第二条规定了什么？", ("三百元",), "两年"),
    ],
)
def test_a_clause_is_found_by_its_number(tmp_path, name, data, asked, said, unsaid):
    with index_of(tmp_path, {name: data}) as kb:
        answer = kb.ask(asked)
    assert answer.answered
    assert all(words in answer.text for words in said)
    assert unsaid not in answer.text


def test_a_number_that_no_clause_has_is_not_answered(tmp_path):
    with index_of(tmp_path, {"a.docx": WORD, "b.txt": ARTICLES}) as kb:
        assert not kb.ask("What does clause 7.4 say?").answered
        assert not kb.ask("What does Article 21 say?").answered
