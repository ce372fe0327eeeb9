"""A question sends few statements to the store, however much it reads; so does a document.

On a server each statement is a round trip. The ceilings hold on every store with a database.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from tests.statement_counts import count_statements

import knotwork
from knotwork._retrieval.retriever_registry import retriever_names
from knotwork.testing import HashingEmbedder

pytestmark = pytest.mark.slow

CEILINGS = {
    "auto": 32,
    "graph": 32,
    "paths": 60,
    "bm25": 20,
    "dense": 18,
    "hybrid": 20,
    "explore": 45,
    "entity_vectors": 45,
    "graph_vector": 45,
    "ontology": 45,
}
USUAL = 35
"""The ceiling of every other retriever."""

ANSWER = 14
"""Statements that an answer without a model may add to those of its search, six for aliases."""
A_DOCUMENT = 12
WITHOUT_A_COUNT = {"text_to_cypher", "text_to_sql"}
"""What these send depends on what a model writes."""

PEOPLE = ["Ada Ross", "Ben Carter", "Cleo Marsh", "Dora Lund", "Emil Varga", "Fay Odell"]
TOWNS = ["Tartu", "Narva", "Parnu", "Viljandi", "Rakvere"]
QUESTIONS = [
    "Who directed the film Copper Kettle 7?",
    "Where was the director of Silver Lantern 12 born?",
    "Which river flows through the birthplace of Ada Ross?",
    "What is Cleo Marsh known for?",
    "How are Dora Lund and Tartu related?",
    "What do paper lanterns cost?",
]


def passages() -> dict[str, str]:
    """Return passages that name each other: films, their directors and the towns of these."""
    found = {}
    for number in range(60):
        person, town = PEOPLE[number % 6], TOWNS[number % 5]
        title = f"{('Copper Kettle', 'Silver Lantern')[number % 2]} {number}"
        found[title] = (
            f"{title} is a {1920 + number} film directed by {person}. It was shot in {town}."
            f" {PEOPLE[(number + 1) % 6]} wrote the music. Critics liked scene {number} most."
        )
    for number, person in enumerate(PEOPLE):
        town = TOWNS[number % 5]
        found[person] = f"{person} was born in {town}. {person} is known for {number + 2} films."
    for number, town in enumerate(TOWNS):
        found[town] = f"{town} is a town in Estonia. The river Emajogi {number} flows through it."
    return found


class WatchfulEmbedder(HashingEmbedder):
    """An embedder that refuses to be asked while its thread reads a state of the store."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = threading.local()

    def embed(self, texts):
        assert not getattr(self.reading, "depth", 0), "a model is asked inside `Store.reading`"
        return super().embed(texts)

    def watch(self, store, monkeypatch):
        """Note when a thread enters and leaves `Store.reading`."""
        plain = store.reading

        @contextmanager
        def reading():
            self.reading.depth = getattr(self.reading, "depth", 0) + 1
            try:
                with plain():
                    yield
            finally:
                self.reading.depth -= 1

        monkeypatch.setattr(store, "reading", reading)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("passages")
    for title, text in passages().items():
        (folder / f"{title}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["file", "postgresql"])
def url(request, folder, tmp_path_factory):
    if request.param == "file":
        url = str(tmp_path_factory.mktemp("index") / "index.knot")
    else:
        url = f"{request.getfixturevalue('postgres_server')}&index=statement_counts"
    with opened(url) as base:
        base.index(folder)
        base.communities.update()
    return url


def opened(url, embedder=None):
    return knotwork.open(url, embedder=embedder or HashingEmbedder(), embedding_model="none")


@pytest.fixture
def base(url):
    with opened(url) as base:
        yield base


def most_statements(base, ask):
    """Return the most statements that a question sends, the first one aside.

    The first fills what a process keeps of a generation: vectors, counts, the choice for `auto`.
    """
    ask(QUESTIONS[-1])
    counts = {}
    for question in QUESTIONS:
        with count_statements(base.store) as sent:
            ask(question)
        counts[question] = len(sent)
    return max(counts.values())


@pytest.mark.parametrize("name", [n for n in retriever_names() if n not in WITHOUT_A_COUNT])
def test_a_search_sends_few_statements(base, name):
    assert most_statements(base, lambda q: base.search(q, retriever=name)) <= CEILINGS.get(
        name, USUAL
    )


def test_an_answer_adds_few_statements(base):
    assert most_statements(base, base.ask) <= CEILINGS["auto"] + ANSWER


def test_more_results_send_no_more_statements(base):
    for name in ("graph", "siblings", "sentence_window", "parent_child", "top_down", "pagerank"):
        few, many = (
            most_statements(base, lambda q, k=k, name=name: base.search(q, retriever=name, k=k))
            for k in (3, 30)
        )
        assert many <= few + 3


@pytest.mark.parametrize("name", [n for n in retriever_names() if n not in WITHOUT_A_COUNT])
def test_no_model_is_asked_while_a_state_is_read(url, name, monkeypatch):
    embedder = WatchfulEmbedder()
    with opened(url, embedder) as base:
        embedder.watch(base.store, monkeypatch)
        for question in QUESTIONS:
            base.search(question, retriever=name)


@pytest.mark.parametrize("kind", ["file", "postgresql"])
def test_indexing_sends_few_statements_for_a_document(kind, folder, tmp_path, request):
    count = len(list(folder.iterdir()))
    is_file = kind == "file"
    url = str(tmp_path / "index.knot") if is_file else request.getfixturevalue("postgres_url")
    with opened(url) as base:
        with count_statements(base.store) as added:
            base.index(folder)
        with count_statements(base.store) as unchanged:
            base.index(folder)
        with count_statements(base.store) as removed:
            base.delete(folder)
        assert len(added) <= A_DOCUMENT * count
        assert len(unchanged) <= 2 * count
        assert len(removed) <= A_DOCUMENT * count


def test_many_rows_of_one_statement_count_once(base):
    entries = list(base.store.ledger.entries())
    with count_statements(base.store) as sent, base.store.transaction():
        base.store.ledger.put(entries)
    assert len(entries) > 10
    assert len([sql for sql in sent if "ledger" in sql]) == 1


def test_a_statement_reads_the_chunks_of_a_relation_only_if_it_asks_for_them(base):
    statement = "MATCH ()-[r:RELATES|CO_OCCURS]->() RETURN r.relation, r.weight"
    with count_statements(base.store) as sent:
        rows = base.graph.cypher(statement).rows
    assert len(rows) > 50 > len(sent)
