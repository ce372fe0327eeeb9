"""When a passage that a name leads to is worth going to."""

import pytest
from tests.retrieval.small_index import PASSAGES, build_index

from knotwork.records import Document, Query
from knotwork.retrieval.registry import build_retriever
from knotwork.stores.registry import open_store

QUESTION = "Where did the director of Silver Lantern grow up?"
FILM = "The director of Silver Lantern is Marta Ilves. It was made on a small budget."
GREW_UP = "Marta Ilves was an Estonian artist. She spent her childhood in Tartu."
REPEATS = "Marta Ilves was the director of Silver Lantern. The director did grow old."


def bridge_into(text, embedder, documents):
    others = [Document(uri=t, title=t, text=PASSAGES[t]) for t in ("Tartu", "Olev Raud", "Emajogi")]
    store = build_index(
        open_store("memory:", create=True),
        embedder,
        documents=[*documents, *others],
        splitter="structure",
    )
    graph = build_retriever("graph", store=store, embedder=embedder)
    hits = graph.retrieve(Query(QUESTION, k=8)).hits
    return next(hit.scores["bridge"] for hit in hits if text in hit.chunk.text)


def page(name, text):
    return Document(uri=f"{name}.md", title=name, text=text, media_type="text/markdown")


def test_what_a_passage_repeats_is_no_second_hop():
    film = page("Silver Lantern", FILM)
    adds = bridge_into(GREW_UP, None, [film, page("Marta Ilves", GREW_UP)])
    repeats = bridge_into(REPEATS, None, [film, page("Marta Ilves", REPEATS)])
    assert adds > 0.2
    assert repeats < adds / 2


@pytest.mark.parametrize("filler", ["Nothing of note was written about the weather. " * 60])
def test_chunks_of_one_document_are_bridged_less(embedder, filler):
    apart = [page("Silver Lantern", FILM), page("Marta Ilves", GREW_UP)]
    together = [page("Notes", f"# Silver Lantern\n\n{FILM} {filler}\n\n# Marta Ilves\n\n{GREW_UP}")]
    inside = bridge_into(GREW_UP, embedder, together)
    assert 0 < inside < bridge_into(GREW_UP, embedder, apart) / 2
