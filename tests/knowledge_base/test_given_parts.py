"""`knotwork.open` with parts as objects or names."""

import asyncio
import threading
from decimal import Decimal

import pytest

import knotwork
from knotwork.errors import ConfigError, UnknownName
from knotwork.plugins import Statement, make_extractor, make_splitter
from knotwork.records import Chunk, Document, Extraction, Mention
from knotwork.testing import HashingEmbedder, ScriptedChatModel

DOCUMENTS = [
    Document("a.txt", "The Kestrel probe was built by Aurora Labs.\n\nIt flew in 1998.", "Kestrel"),
    Document("b.txt", "Aurora Labs is in Tartu. Mira Kask leads it.", "Aurora Labs"),
]


class Marking:
    """Mentions one entity in each chunk."""

    def __init__(self, name="marking-1"):
        self.name = name
        self.lock = threading.Lock()  # cannot be sent to a worker

    def extract(self, document: Document, chunks: list[Chunk]) -> list[Extraction]:
        with self.lock:
            return [
                Extraction(chunk.id, (Mention(chunk.id, "marker", "Marker", "mark", (), 1.0),))
                for chunk in chunks
            ]


class Renamed:
    """Splits as another splitter, under a name of its own."""

    def __init__(self, name):
        self.name = name
        self.split = make_splitter("whole").split


def open_at(path, **parts):
    return knotwork.open(path, **{"embedding_model": "none", **parts})


def test_given_objects_replace_those_of_the_settings(tmp_path):
    with open_at("memory:", extractor=Marking(), splitter=Renamed("mine")) as kb:
        kb.index_documents(DOCUMENTS)
        assert kb.stats().chunks == 2
        assert [entity.name for entity in kb.store.graph.lookup({"marker"}).values()] == ["Marker"]
        assert kb.store.graph.entity_count() == 1


def test_names_take_the_same_parameters(tmp_path):
    with open_at("memory:", splitter="whole", extractor="rules", reranker="none") as kb:
        assert (kb.settings.index.splitter, kb.settings.rerank.model) == ("whole", "none")
    with knotwork.open("memory:", embedder="hashing:32", chat_model="none") as kb:
        assert kb.embedder.name == "hashing:32"
    with pytest.raises(UnknownName, match="Unknown splitter `hole`"):
        open_at("memory:", splitter="hole").index_documents(DOCUMENTS)
    with pytest.raises(ConfigError, match="cannot be combined with a Settings object"):
        knotwork.open("memory:", settings=knotwork.Settings(), splitter="whole")


@pytest.mark.parametrize("part", ["extractor", "splitter"])
def test_the_name_of_an_object_decides_what_is_indexed_again(tmp_path, part):
    make = {"extractor": Marking, "splitter": Renamed}[part]
    path = tmp_path / "index.knot"
    for given, changed in (
        (make("first-1"), 2),
        (make("first-1"), 0),
        (make("first-2"), 2),
        (None, 2),
        (None, 0),
    ):
        with open_at(path, **{part: given}) as kb:
            report = kb.index_documents(DOCUMENTS)
            assert report.added + report.changed == changed, given


def test_embedding_again_keeps_an_index_that_was_made_with_objects_current(tmp_path):
    parts = {"extractor": Marking(), "splitter": Renamed("mine"), "embedder": HashingEmbedder(16)}
    with knotwork.open(tmp_path / "index.knot", **parts) as kb:
        kb.index_documents(DOCUMENTS)
        other = HashingEmbedder(32)
        kb.embed(other)
    with knotwork.open(tmp_path / "index.knot", **{**parts, "embedder": other}) as kb:
        assert kb.index_documents(DOCUMENTS).unchanged == 2


@pytest.mark.slow
def test_an_extractor_that_cannot_be_sent_to_workers_runs_in_this_process(tmp_path):
    text = "The ferry leaves at noon. " * 1_500
    documents = [Document(f"{n}.txt", f"{n} {text}", str(n)) for n in range(20)]
    assert sum(len(document.text) for document in documents) > 600_000
    with open_at("memory:", extractor=Marking(), index_workers=2) as kb:
        report = kb.index_documents(documents)
        assert (report.added, report.failures) == (20, ())
        assert kb.store.graph.entity_count() == 1


def test_an_extractor_object_takes_no_dictionary(tmp_path):
    (tmp_path / "terms.txt").write_text("Kestrel probe\n")
    with (
        open_at("memory:", extractor=Marking(), index_dictionary=str(tmp_path / "terms.txt")) as kb,
        pytest.raises(ConfigError, match="`marking-1` takes no dictionary"),
    ):
        kb.index_documents(DOCUMENTS)


@pytest.mark.parametrize(
    ("parameter", "lacks"),
    [
        ("embedder", "`dimension`"),
        ("chat_model", "`complete`"),
        ("reranker", "`score`"),
        ("splitter", "`split`"),
        ("extractor", "`extract`"),
    ],
)
def test_an_object_of_another_kind_is_refused(parameter, lacks):
    with pytest.raises(ConfigError, match=f"A `object` is not a valid .*{lacks}"):
        open_at("memory:", **{parameter: object()})
    with pytest.raises(ConfigError, match="A `object` is not a valid store"):
        knotwork.open(object())


def test_a_store_is_used_as_it_is(tmp_path):
    with open_at("memory:") as kb:
        kb.index_documents(DOCUMENTS)
        again = open_at(kb.store, extractor=make_extractor("rules"))
        assert again.store is kb.store
        assert again.index_documents(DOCUMENTS).unchanged == 2


class Counting:
    """Writes one statement for every question."""

    def __init__(self):
        self.asked = []

    def translate(self, asked, attempts):
        self.asked.append(asked.text)
        return None if attempts else Statement("MATCH (n:Document) RETURN count(n) AS number")


def test_a_translator_writes_the_statements_of_retrievers_by_query():
    translator = Counting()
    with open_at("memory:", translator=translator) as kb:
        kb.index_documents(DOCUMENTS)
        for retriever in ("dynamic_cypher", "text_to_cypher(rounds=1)"):
            (result,) = kb.search("How many?", retriever=retriever).results
            assert result.rows == ((2,),)
        assert translator.asked == ["How many?"] * 2
        found = kb.search("How many documents?", retriever="dynamic_cypher(translator=rules)")
        assert len(translator.asked) == 2
        assert not any("statement:" in line for line in found.trace)
        with pytest.raises(UnknownName, match="Did you mean `rules`"):
            kb.search("How many?", retriever="dynamic_cypher(translator=rule)")


def test_the_asynchronous_twin_takes_the_same_parts():
    async def index():
        parts = {"extractor": Marking(), "splitter": "whole", "embedding_model": "none"}
        async with knotwork.open_async("memory:", **parts) as kb:
            await kb.call(kb.knowledge_base.index_documents, DOCUMENTS)
            return kb.knowledge_base.store.graph.entity_count()

    assert asyncio.run(index()) == 1


@pytest.mark.parametrize(("price", "money"), [("scripted:* 1 2", True), ("other:* 1 2", False)])
def test_an_answer_says_what_it_cost(price, money):
    model = ScriptedChatModel(lambda request: "The gate opens at nine [1].", name="scripted:x")
    options = {"chat_model": model, "embedding_model": "none", "llm_prices": [price]}
    with knotwork.open("memory:", **options) as kb:
        kb.index_documents([Document("gate.md", "The gate opens at nine.")])
        usage = kb.ask("When does the gate open?").usage
    spent = Decimal(usage.input_tokens + 2 * usage.output_tokens) / 1_000_000
    assert usage.money == (spent if money else None)
