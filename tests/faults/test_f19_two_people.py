"""Two people of one name: their facts are listed with their sources, and can be kept apart."""

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
