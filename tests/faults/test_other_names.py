"""A statement about another person, flight or place is no answer."""

import pytest

from .small_files import index_of

FILES = {
    "people.txt": "Nils Aker wrote a novel in 1972. The novel was filmed in 1980 by Greta Moe. "
    "Nils Aker died in Bergen in 1991. Mara Holt is the treasurer of the Quay Club. "
    "Mara Holt was born in Turku.\n",
    "travel.txt": "Flight KX12 leaves at 6:40 from gate B7. Flight KX19 leaves at 9:05 from gate "
    "A2. Ferries to Moen leave at 9:15. Ferries to Falster leave at 11:40.\n",
    "goods.txt": "Model T200 weighs 14 kg. Model T300 weighs 19 kg. Plan Basic includes 5 users. "
    "Plan Plus includes 25 users.\n",
    "firms.txt": "Acme bought Norden in 2019. Berg sold its mill to Tarn in 2012.\n",
    "wreck.txt": "The Osprey sank near Visby. The Osprey carried timber.\n",
    "tower.txt": "The lighthouse was painted in 1998 by Erik Dahl. It is 31 metres tall.\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with index_of(tmp_path_factory.mktemp("names"), FILES) as kb:
        yield kb


@pytest.mark.parametrize(
    "question",
    [
        "When did Greta Moe die?",
        "When does flight KX21 leave?",
        "When do ferries to Bornholm leave?",
        "How much does model T400 weigh?",
        "How many users does plan Pro include?",
        "Who bought Acme?",
        "Who bought Tarn?",
        "When did the Osprey sink?",
        "How wide is the lighthouse?",
    ],
)
def test_statements_about_another_subject_are_not_answers(kb, question):
    answer = kb.ask(question)
    assert not answer.answered
    assert not answer.short


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When did Nils Aker die?", "1991"),
        ("Where was the treasurer of the Quay Club born?", "Turku"),
        ("When does flight KX19 leave?", "9:05"),
        ("When do ferries to Falster leave?", "11:40"),
        ("How much does model T300 weigh?", "19 kg"),
        ("How many users does plan Plus include?", "25"),
        ("Who bought Norden?", "Acme"),
        ("Who bought the mill of Berg?", "Tarn"),
        ("How tall is the lighthouse?", "31 metres"),
    ],
)
def test_the_statement_about_the_right_subject_is_the_answer(kb, question, said):
    answer = kb.ask(question)
    assert answer.answered
    assert said in (answer.short or answer.text)
