"""Two people of one name: their facts are listed with their sources, and can be kept apart."""

import pytest

from .small_files import index_of

HARBOUR = "Ada Lind is the harbour master. Ada Lind was born in Ulm. She joined in 2011.\n"
SCHOOL = "Ada Lind teaches music at the school. Ada Lind was born in Vik in 1984.\n"


def test_both_birthplaces_are_answered_and_the_name_has_two_meanings(tmp_path):
    with index_of(tmp_path, {"harbour.md": HARBOUR, "school.md": SCHOOL}) as kb:
        answer = kb.ask("Where was Ada Lind born?")
        assert "born in Ulm" in answer.text
        assert "born in Vik" in answer.text
        assert len(answer.citations) == 2
        kb.entities.find_aliases()
        (homonym,) = kb.entities.homonyms()
        assert (homonym.name, homonym.homonym.reason) == ("Ada Lind", "born in Ulm and in Vik")
        assert len(homonym.homonym.senses) == 2


def test_a_place_in_another_place_is_no_second_meaning(tmp_path):
    files = {
        "a.md": "Ada Lind was born in Ulm. The town of Ulm is in Norway.\n",
        "b.md": "Ada Lind was born in Norway. She works for Rosen Harbour.\n",
    }
    with index_of(tmp_path, files) as kb:
        kb.entities.find_aliases()
        assert kb.entities.homonyms() == ()


@pytest.mark.parametrize(
    ("texts", "question", "facts"),
    [
        (
            (
                "Jonas Vik joined the fire brigade in 2011.\n",
                "In 2003 Jonas Vik joined the choir.\n",
            ),
            "When did Jonas Vik join?",
            ("2011", "2003"),
        ),
        (
            (
                "Dr. Lena Storm works at the clinic in Ulm.\n",
                "Lena Storm teaches at the school in Vik.\n",
            ),
            "Where does Lena Storm work?",
            ("Ulm", "Vik"),
        ),
        (
            ("王伟是县医院的医生，1975年出生。\n", "体育老师王伟生于1990年。\n"),
            "王伟是哪年出生的？",
            ("1975", "1990"),
        ),
    ],
)
def test_no_short_answer_chooses_one_of_two_people(tmp_path, texts, question, facts):
    with index_of(tmp_path, {"a.md": texts[0], "b.md": texts[1]}) as kb:
        answer = kb.ask(question)
        assert answer.short == ""
        assert all(fact in answer.text for fact in facts)
