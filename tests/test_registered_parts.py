"""Parts that a program registers itself: they work wherever the names of plugins do."""

import subprocess
import sys
from dataclasses import replace

import pytest

import knotwork
from knotwork._extensions.diagnosis.installation import check_plugins
from knotwork._inference.prompt_files import fill_prompt
from knotwork._knowledge_base.registries import GROUPS, find_registry
from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.plugins import Content, make_extractor, make_splitter, rank_evidence, register
from knotwork.records import Document
from knotwork.testing import HashingEmbedder, ScriptedChatModel


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """Registries in which nothing is registered yet, nor after the test."""
    for registry in map(find_registry, GROUPS):
        monkeypatch.setitem(vars(registry), "_plugins", ({}, {}))
        monkeypatch.setattr(registry, "_registered", {})


class Newest:
    """Finds the passages of the document with the highest year."""

    name = "newest"

    def __init__(self, *, store):
        self._store = store

    def retrieve(self, query):
        documents = self._store.documents.documents(self._store.documents.document_ids())
        newest = max(documents.values(), key=lambda document: document.metadata["year"])
        scores = dict.fromkeys(self._store.documents.chunk_ids_of([newest.id])[newest.id], 1.0)
        return rank_evidence(query, scores, retriever=self.name, store=self._store)


class Shout:
    """Repeats the question in capitals."""

    precedes = True
    searches = 1

    def __init__(self, *, base):
        self.name = f"shout({base.name})"
        self._base = base

    def retrieve(self, query):
        return self._base.retrieve(replace(query, text=query.text.upper()))


class LogLoader:
    """Reads lines after their time."""

    name = "log"
    suffixes = (".log2",)
    signatures = ()

    def load(self, source):
        lines = source.data.decode().splitlines()
        return Content("\n".join(line.partition(" ")[2] for line in lines), "text/plain")


@pytest.fixture
def kb():
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents(
            [
                Document(uri="a.txt", text="The pump runs at 40 bar.", metadata={"year": "2020"}),
                Document(uri="b.txt", text="The valve opens at 50 bar.", metadata={"year": "2021"}),
            ]
        )
        yield kb


def found(kb, **options):
    return uris(kb, kb.search("pump", **options))


def uris(kb, evidence):
    ids = [hit.chunk.document_id for hit in evidence.hits]
    documents = kb.store.documents.documents(ids)
    return [documents[key].uri for key in ids]


def test_a_retriever_is_searched_with_composed_and_filtered(kb):
    register("retrievers", "newest", Newest)
    assert found(kb, retriever="newest") == ["b.txt"]
    assert found(kb, retriever="newest > diversify") == ["b.txt"]
    assert set(found(kb, retriever="newest + bm25")) == {"a.txt", "b.txt"}
    assert found(kb, retriever="newest", filters="year < 2021") == ["a.txt"]
    assert kb.ask("What is the pressure?", retriever="newest").retriever == "newest"


def test_a_step_changes_the_question(kb):
    register("steps", "shout", Shout)
    evidence = kb.search("pump", retriever="shout > bm25")
    assert evidence.retriever == "shout > bm25"
    assert uris(kb, evidence) == ["a.txt"]


def test_a_name_that_is_registered_again_has_the_new_part(kb):
    class Nothing(Newest):
        def retrieve(self, query):
            return rank_evidence(query, {}, retriever=self.name, store=self._store)

    register("retrievers", "newest", Newest)
    assert found(kb, retriever="newest") == ["b.txt"]
    register("retrievers", "newest", Nothing)
    assert found(kb, retriever="newest") == []


def test_a_loader_reads_files_in_this_process_and_in_workers(tmp_path):
    register("loaders", "log", LogLoader())
    for number in range(60):
        line = f"12:00:00 The server {number} has started. "
        (tmp_path / f"{number}.log2").write_text(line * 400, "utf-8")
    with knotwork.open("memory:", embedding_model="none", index_workers=1) as kb:
        report = kb.index(tmp_path)
        assert (report.added, report.failures) == (60, ())
        hit = kb.search("server 7").hits[0]
    assert hit.chunk.text.startswith("The server")


def test_a_loader_that_a_program_defines_is_sent_to_workers(tmp_path):
    # Its class has no module from which a worker could import it.
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, knotwork\n"
        "from knotwork.plugins import Content, register\n"
        "class Loader:\n"
        "    name, suffixes, signatures = 'log', ('.log2',), ()\n"
        "    def load(self, source):\n"
        "        return Content(source.data.decode().replace('cold', 'warm'), 'text/plain')\n"
        "if __name__ == '__main__':\n"
        "    register('loaders', 'log', Loader)\n"
        "    options = {'embedding_model': 'none', 'index_workers': 1}\n"
        "    with knotwork.open('memory:', **options) as kb:\n"
        "        print(kb.index(sys.argv[1]).added, len(kb.search('cold', k=99).hits))\n",
        "utf-8",
    )
    files = tmp_path / "files"
    files.mkdir()
    for number in range(60):
        text = f"The cold server {number} has started. " * 400
        (files / f"{number}.log2").write_text(text, "utf-8")
    line = [sys.executable, "-W", "error", str(program), str(files)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["60", "0"], done.stderr


def test_parts_that_settings_name_can_be_objects_and_classes():
    register("embedders", "mine", HashingEmbedder)
    register("chat_models", "mine", ScriptedChatModel(["The pump runs at 40 bar. [1]"]))
    register("splitters", "mine", make_splitter("whole"))
    register("extractors", "mine", make_extractor("rules"))
    settings = {
        "embedding_model": "mine:any",
        "llm_model": "mine:any",
        "index_splitter": "mine",
        "index_extractor": "mine",
        "llm_tier": "none",
    }
    with knotwork.open("memory:", **settings) as kb:
        kb.index_documents([Document(uri="a.txt", text="The pump runs at 40 bar.")])
        assert kb.stats().embedder == HashingEmbedder().name
        assert kb.ask("What pressure does the pump run at?").text.startswith("The pump runs")


def test_prompts_of_another_language_are_a_folder(tmp_path):
    task = "rewrite-question"
    english = fill_prompt("knotwork._retrieval.steps", task, "de", {"material": "x"})
    (tmp_path / f"{task}.de.txt").write_text("Formuliere um.\n---\nFrage: {material}\n", "utf-8")
    register("prompts", "de", tmp_path)
    german = fill_prompt("knotwork._retrieval.steps", task, "de", {"material": "x"})
    assert german != english
    assert german[1].content == "Frage: x"


def test_doctor_lists_registered_parts():
    register("retrievers", "newest", Newest)
    register("loaders", "log", LogLoader)
    details = [check.detail for check in check_plugins() if check.ok]
    assert details == ["this program: retriever `newest`, loader `log`"]


class NoRetrieve:
    name = "none"


@pytest.mark.parametrize(
    ("group", "name", "part", "kind", "words"),
    [
        ("retriever", "x", Newest, UnknownName, "group of parts"),
        ("retrievers", "bm25", Newest, ConfigError, "knotwork has a retriever of this name"),
        ("retrievers", "auto", Newest, ConfigError, "reserved"),
        ("retrievers", "no spaces", Newest, ConfigError, "name is invalid"),
        ("retrievers", "x", NoRetrieve, ConfigError, "lacks `retrieve`"),
        ("retrievers", "x", Newest(store=None), ConfigError, "Register the class `Newest`"),
        ("extractors", "x", 7, ConfigError, "`int` is not a valid extractor"),
        (
            "loaders",
            "x",
            LogLoader().load,
            ConfigError,
            "requires `source`, but",
        ),
    ],
)
def test_invalid_parts_are_refused_at_registration(group, name, part, kind, words):
    with pytest.raises(kind, match=words):
        register(group, name, part)
    if kind is ConfigError and name == "x":
        assert "x" not in find_registry(group).names()


def test_a_loader_with_the_suffix_of_another_is_refused():
    class Text(LogLoader):
        suffixes = (".txt",)

    with pytest.raises(ConfigError, match=r"`\*\.txt` are read by a loader of knotwork") as caught:
        register("loaders", "text2", Text)
    assert "register it again" in caught.value.fix or "suffix" in caught.value.fix


def test_a_retriever_that_needs_a_missing_model_is_reported(kb):
    class Asking(Newest):
        def __init__(self, *, store, model):
            super().__init__(store=store)

    register("retrievers", "asking", Asking)
    with pytest.raises(RetrievalError, match="`asking` needs a language model"):
        kb.search("pump", retriever="asking")


@pytest.mark.parametrize("result", [[], None, "a passage"])
def test_a_retriever_that_returns_no_evidence_is_named(kb, result):
    class Wrong(Newest):
        def retrieve(self, query):
            return result

    register("retrievers", "newest", Wrong)
    for retriever in ("newest", "newest + bm25", "newest > diversify"):
        with pytest.raises(RetrievalError, match=r"`newest` of .* did not return Evidence"):
            kb.search("pump", retriever=retriever)
