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
CHINESE = "租约\n\n第一条 租期两年。\n\n第二条 每月租金三百元。\n"


@pytest.mark.parametrize(
    ("name", "data", "asked", "said", "unsaid"),
    [
        ("a.docx", WORD, "What does clause 2.1 say?", ("300 crowns", "due on the first"), "raised"),
        ("a.docx", WORD, "What does section 1.2 cover?", ("renewed once", "by letter"), "2030"),
        ("a.txt", TYPED, "What does clause 2.2 say?", ("every second year",), "300"),
        ("a.md", TYPED, "What is in paragraph 2.1?", ("300 crowns",), "raised"),
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
    with index_of(tmp_path, {"a.docx": WORD}) as kb:
        assert not kb.ask("What does clause 7.4 say?").answered
