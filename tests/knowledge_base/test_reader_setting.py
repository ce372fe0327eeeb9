"""`answer.reader`: its effect on answers, and that the reader can be missing."""

import pytest

import knotwork
from knotwork._extensions.agents.agent import ask_agent
from knotwork._extensions.local_models import e5
from knotwork.errors import UnknownName

pytest.importorskip("onnxruntime")

HANDBOOK = """# Travel

Trips abroad are described on this page, and so is who may go on trips abroad.

Every trip abroad needs a written request. The head of the department approves trips abroad.

Trips abroad are booked by the office. The office is on the second floor.
"""
QUESTION = "Who approves trips abroad?"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    if e5.find_weights() is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    folder = tmp_path_factory.mktemp("handbook")
    (folder / "travel.md").write_text(HANDBOOK, encoding="utf-8")
    with knotwork.open(folder / "handbook.knot") as kb:
        kb.index(folder / "travel.md")
    return folder / "handbook.knot"


def test_passages_are_read_unless_the_reader_is_off(path):
    with knotwork.open(path) as kb, knotwork.open(path, answer_reader="off") as other:
        assert kb.reader is not None
        assert kb.reader is kb.reader
        assert other.reader is None
        assert (
            kb.ask(QUESTION)
            .citations[0]
            .quote.endswith("The head of the department approves trips abroad.")
        )
        assert other.ask(QUESTION).answered
        answer, evidence = ask_agent(kb, QUESTION)
        assert answer.citations[0].quote.endswith(
            "The head of the department approves trips abroad."
        )
        assert any(hit.prediction is not None for hit in evidence.hits)


def test_a_search_alone_reads_nothing(path):
    with knotwork.open(path) as kb:
        assert all(hit.prediction is None for hit in kb.search(QUESTION).hits)


def test_an_unknown_reader_is_refused_with_the_valid_ones(path):
    with (
        knotwork.open(path, answer_reader="large") as kb,
        pytest.raises(UnknownName, match="large"),
    ):
        kb.ask(QUESTION)
