"""A fact is changed in passages: deterministically, everywhere, and only if it can be."""

import pytest

from knotwork._extensions.evaluation.questions import AnswerQuestion, states
from knotwork._extensions.evaluation.robustness import change_fact


def question(*alternatives, kind=""):
    return AnswerQuestion("What?", (alternatives,), type=kind)


@pytest.mark.parametrize(
    ("alternatives", "passage"),
    [
        (("41 metres", "41 m"), "The layer is 41 metres deep, or 41 m; not 4.41 or 141."),
        (("2021",), "In August 2021 a buoy found it, after 20210 days."),
        (("3.5 %",), "It grew by 3.5 % and then by 13.5 %."),
        (("9个月",), "为期9个月。"),
        (("March",), "It opens in March. In march it was cold."),
        (("12 March 2021",), "It was printed on 12 March 2021."),
        (("Oriane Keld",), "ORIANE  KELD designed it; Oriane Keldman did not."),
        (("温青岚", "Wen Qinglan"), "报告由温青岚（Wen Qinglan）撰写。"),
        (("C++",), "It is written in C++."),
    ],
)
def test_every_place_of_a_fact_is_changed(alternatives, passage):
    asked = question(*alternatives)
    found = change_fact(asked, [passage, "Nothing else."])
    assert found.passages[0] != passage
    assert found.passages[1] == "Nothing else."
    assert not states(found.passages[0], alternatives)
    assert states(found.passages[0], found.changed)
    assert not states(passage, found.changed)
    assert change_fact(asked, [passage, "Nothing else."]) == found


def test_numbers_keep_their_length_and_years_their_time():
    (text,) = change_fact(question("41 metres"), ["It is 41 metres, not 141."]).passages
    changed = text.split()[2]
    assert (len(changed), changed[0]) == (2, "4")
    assert "141" in text
    (text,) = change_fact(question("2021"), ["In 2021."]).passages
    assert 2012 <= int(text[3:7]) <= 2020


def test_a_name_becomes_an_answer_to_a_question_of_the_same_type():
    others = [
        question("Bram Ostrand", kind="person"),
        question("Lake Ashmere", kind="place"),
        question("温青岚", kind="person"),
        question("140 crowns", kind="person"),
    ]
    found = change_fact(question("Ada", kind="person"), ["Ada wrote it."], others)
    assert found.passages == ("Bram Ostrand wrote it.",)
    found = change_fact(question("Ada", kind="person"), ["Ada met Bram Ostrand."], others)
    assert "Ada" not in found.passages[0]
    assert found.changed != ("Bram Ostrand",)


@pytest.mark.parametrize(
    ("alternatives", "passage"),
    [(("yes",), "Yes, it does."), (("Ada",), "Bob wrote it."), (("no", "none"), "No.")],
)
def test_unchangeable_parts_are_left_alone(alternatives, passage):
    assert change_fact(question(*alternatives), [passage]) is None


def test_the_first_part_that_can_be_changed_is():
    asked = AnswerQuestion("Who?", (("yes",), ("Bob",), ("Ada",)))
    found = change_fact(asked, ["Yes, Ada."])
    assert found.original == ("Ada",)
    assert change_fact(AnswerQuestion("Who?"), ["Yes, Ada."]) is None
