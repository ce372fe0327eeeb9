"""A sentence that a text repeats is told once, with all its places."""

import pytest

import knotwork
from knotwork.records import Document

BOILERPLATE = "The crew of the survey measured the water of the sound with great care and patience."
FACTS = {
    "Cost": "The whole survey cost 1.94 million crowns, a tenth more than was planned.",
    "Crew": "Mira Solheim led the survey of the sound with a crew of eleven people.",
    "Dates": "The survey of the sound began in March 2024 and ended in June of that year.",
    "Probes": "Of all 118 probes of the survey, three were lost near the northern reef.",
    "Weather": "Two storms kept the ships of the survey in the harbour for nine days.",
}
REPORT = "# Survey report 2024\n\n" + "\n\n".join(
    f"## {title}\n\n{BOILERPLATE}\n\n{fact}" for title, fact in FACTS.items()
)


@pytest.fixture(scope="module")
def kb():
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index_documents([Document("survey.md", REPORT, "Survey report 2024", "text/markdown")])
        yield base


def test_a_summary_tells_a_repeated_sentence_at_most_once(kb):
    answer = kb.ask("Summarize the survey report")
    assert answer.answered
    assert answer.text.count(BOILERPLATE) <= 1
    assert sum(fact in answer.text for fact in FACTS.values()) >= 4


def test_a_topic_tells_it_once_with_all_its_sources(kb):
    answer = kb.ask("What do the documents say about the crew of the survey and the water?")
    assert answer.text.count(BOILERPLATE) <= 1
    quoted = [c.number for c in answer.citations if c.quote == BOILERPLATE]
    if quoted:
        line = next(line for line in answer.text.splitlines() if BOILERPLATE in line)
        assert all(f"[{number}]" in line for number in quoted)


def test_sentences_that_differ_in_a_number_are_both_told():
    first, second = (
        f"The repair of the northern buoy number {n} cost the owners {amount} crowns in total."
        for n, amount in ((7, "61,000"), (8, "52,000"))
    )
    text = f"# Repairs\n\n## North\n\n{first}\n\n## South\n\n{second}\n\n## West\n\nNothing broke."
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index_documents([Document("repairs.md", text, "Repairs", "text/markdown")])
        answer = base.ask("Summarize the document Repairs")
    assert first in answer.text
    assert second in answer.text
