"""The public face: opening, indexing, asking by name, deleting, and what each refuses."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._config import load_settings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork.errors import (
    BudgetExceeded,
    ConfigError,
    IndexingError,
    ModelError,
    SchemaMismatch,
    StoreNotFound,
    StoreReadOnly,
    UnknownName,
)
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow


FACTS = {
    "team.md": "# The team\n\nAda Lovelace leads the Travel Office. Grace Hopper helps her.",
    "travel.md": "# Travel\n\nThe Travel Office approves travel abroad. Ask Ada Lovelace first.",
    "日本.txt": "出差到北京需要部门经理批准。部门经理是王小明。",
}


@pytest.fixture
def docs(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in FACTS.items():
        (docs / name).write_text(text, "utf-8")
    return docs


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.knot"


@pytest.fixture
def kb(path):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as opened:
        yield opened


def uris(kb):
    return [entry.uri for entry in kb.documents()]


def test_a_folder_is_indexed_searched_and_explored(kb, docs):
    report = kb.index(docs)
    assert (report.added, report.failed) == (3, 0)
    assert uris(kb) == ["docs/team.md", "docs/travel.md", "docs/日本.txt"]

    evidence = kb.search("Who approves travel abroad?", k=2)
    assert evidence.hits[0].chunk.document_title == "Travel"
    assert len(evidence.hits) <= 2

    graph = kb.graph.explore("Travel Office", depth=1)
    assert "Ada Lovelace" in {node.name for node in graph.nodes}
    stats = kb.stats()
    assert stats.documents == 3
    assert stats.entities == len(kb.store.graph.find(label="Entity", limit=1_000)) > 0
    assert stats.embedder == "hashing:32"


def test_an_answer_cites_the_exact_spot(kb, docs):
    kb.index(docs)
    answer = kb.ask("Who approves travel abroad?")
    assert answer.usage.seconds > 0
    cited = answer.citations[0]
    assert (cited.document, cited.number) == ("docs/travel.md", 1)
    text = (docs / "travel.md").read_text("utf-8")
    assert cited.quote in text
    assert "travel abroad" in cited.quote


def test_a_question_that_means_nothing_is_not_answered(kb, docs):
    kb.index(docs)
    answer = kb.ask("Zyxqv wuvq?")
    assert not answer.answered
    assert answer.reason


def test_the_second_run_calls_no_embedder(path, docs):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as kb:
        kb.index(docs)
    idle = HashingEmbedder(32)
    with knotwork.open(path, embedder=idle) as kb:
        report = kb.index(docs)
    assert report.unchanged == 3
    assert idle.calls == 0


def test_events_report_every_step(kb, docs):
    events = list(kb.index.run([docs]))
    kinds = [event.stage for event in events]
    assert kinds[0] == "discovered"
    assert kinds[-1] == "finished"
    assert events[0].total == 3
    assert events[-1].value.added == kinds.count("added") == 3
    assert events[-1].value.seconds["discover"] > 0


def test_a_changed_and_a_removed_file_leave_a_fresh_build(kb, docs, tmp_path):
    kb.index(docs)
    (docs / "team.md").write_text("# The team\n\nGrace Hopper leads the Harbour Office.", "utf-8")
    (docs / "travel.md").unlink()
    (docs / "new.txt").write_text("Alan Turing visits the Harbour Office.", "utf-8")
    report = kb.index(docs)
    assert (report.added, report.changed, report.unchanged) == (1, 1, 1)
    assert report.removed == ("docs/travel.md",)

    with knotwork.open("memory:", embedder=HashingEmbedder(32)) as fresh:
        fresh.index(docs)
        assert snapshot(kb.store) == snapshot(fresh.store)


def test_files_outside_the_folders_of_a_run_stay(kb, docs, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.txt").write_text("Nothing of note.", "utf-8")
    kb.index([docs, other])
    (docs / "team.md").unlink()
    (other / "note.txt").unlink()
    assert kb.index(other).removed == ("other/note.txt",)
    assert kb.index([docs]).removed == ("docs/team.md",)


def test_a_file_has_one_name_however_it_is_reached(kb, docs):
    part = docs / "part"
    part.mkdir()
    (part / "deep.txt").write_text("Deep thoughts of Deep Thought.", "utf-8")
    kb.index(docs)
    before = uris(kb)

    assert kb.index(part).unchanged == 1
    assert kb.index(part / "deep.txt").unchanged == 1
    assert kb.index(docs / "*.md").unchanged == 2
    assert uris(kb) == before

    (part / "deep.txt").unlink()
    assert kb.index(part).removed == ("docs/part/deep.txt",)


def test_a_wider_folder_takes_over_the_names_of_a_narrower_one(kb, docs):
    part = docs / "part"
    part.mkdir()
    (part / "deep.txt").write_text("Deep thoughts of Deep Thought.", "utf-8")
    kb.index(part)
    assert uris(kb) == ["part/deep.txt"]
    report = kb.index(docs)
    assert report.removed == ("part/deep.txt",)
    assert "docs/part/deep.txt" in uris(kb)
    assert report.reused >= 1


def test_a_glob_removes_only_what_is_no_more(kb, docs):
    kb.index(docs)
    (docs / "team.md").unlink()
    (docs / "travel.md").rename(docs / "travel.txt")
    report = kb.index(str(docs / "*.txt"))
    assert report.removed == ("docs/team.md", "docs/travel.md")
    assert uris(kb) == ["docs/travel.txt", "docs/日本.txt"]


def test_two_folders_of_one_name_are_not_mixed_up(kb, docs, tmp_path):
    kb.index(docs)
    twin = tmp_path / "elsewhere" / "docs"
    twin.mkdir(parents=True)
    (twin / "team.md").write_text("# Another team", "utf-8")
    with pytest.raises(IndexingError, match=r"team.md.*already"):
        kb.index(twin)
    assert kb.search("Who leads the Travel Office?").hits[0].chunk.document_title == "The team"


def test_a_moved_folder_is_the_same_folder(kb, docs, tmp_path):
    kb.index(docs)
    moved = tmp_path / "moved"
    moved.mkdir()
    docs.rename(moved / "docs")
    report = kb.index(moved / "docs")
    assert (report.unchanged, report.added, report.removed) == (3, 0, ())


def test_a_path_that_is_not_there_removes_nothing(kb, docs):
    kb.index(docs)
    with pytest.raises(IndexingError, match="does not exist"):
        kb.index([docs, docs.parent / "dosc"])
    assert len(uris(kb)) == 3


def test_documents_in_memory_are_indexed_and_replaced(kb, docs):
    kb.index(docs)
    first = [knotwork.Document(f"m{i}", f"Fact {i} of Ada Lovelace.") for i in range(3)]
    assert kb.index_documents(first).added == 3
    changed = [knotwork.Document("m0", "Another fact of Ada Lovelace."), first[1]]
    report = kb.index_documents(changed)
    assert (report.changed, report.unchanged, report.removed) == (1, 1, ())
    report = kb.index_documents(changed, remove_others=True)
    assert report.removed == ("m2",)
    assert len(uris(kb)) == 5


@pytest.mark.parametrize(
    ("names", "removed"),
    [
        ("docs/team.md", ["docs/team.md"]),
        (["docs/*.md"], ["docs/team.md", "docs/travel.md"]),
        ("docs", ["docs/team.md", "docs/travel.md", "docs/日本.txt"]),
        ("docs/", ["docs/team.md", "docs/travel.md", "docs/日本.txt"]),
        (["docs/日本.txt", "docs/team.md"], ["docs/team.md", "docs/日本.txt"]),
    ],
)
def test_delete_takes_uris_folders_and_patterns(kb, docs, names, removed):
    kb.index(docs)
    assert list(kb.delete(names)) == removed
    assert uris(kb) == sorted({f"docs/{name}" for name in FACTS} - set(removed))


def test_a_document_is_found_by_its_uri_or_path_with_the_tree_of_its_blocks(kb, tmp_path):
    text = "# Lock\n\nSteps:\n\n1. Open.\n   - Look.\n2. Close.\n"
    path = tmp_path / "guide" / "lock.md"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    (path.parent / "broken.pdf").write_bytes(b"no")
    kb.index(path.parent)
    document = kb.document("guide/lock.md")
    assert kb.document(path) == document
    (section,) = document.tree
    assert [node.block.kind for node in section.walk()] == [
        "section", "paragraph", "list", "item", "list", "item", "item",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match=r"guide/lock\.md"):
        kb.document("lock.md")
    with pytest.raises(IndexingError, match=r"guide/broken\.pdf"):
        kb.document("guide/broken.pdf")


def test_metadata_that_is_not_text_is_refused_before_anything_is_indexed():
    with knotwork.open("memory:", embedding_model="none") as kb:
        documents = [
            knotwork.Document("a.txt", "One."),
            knotwork.Document("b.txt", "Two.", metadata={"year": 2020}),
        ]
        with pytest.raises(TypeError, match=r"`year` of `b\.txt` is 2020, but must be text"):
            kb.index_documents(documents)
        assert kb.documents() == []


def test_delete_takes_paths(kb, docs, monkeypatch):
    kb.index(docs)
    monkeypatch.chdir(docs)
    assert kb.delete(Path("team.md")) == ("docs/team.md",)
    assert kb.delete(docs / "travel.md") == ("docs/travel.md",)
    assert kb.delete(docs / "*.txt") == ("docs/日本.txt",)


def test_an_index_after_deleting_equals_a_fresh_build_without_a_model(path, docs):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as kb:
        kb.index(docs)
    idle = HashingEmbedder(32)
    with knotwork.open(path, embedder=idle) as kb:
        kb.delete("docs/team.md")
        (docs / "team.md").unlink()
        with knotwork.open("memory:", embedder=HashingEmbedder(32)) as fresh:
            fresh.index(docs)
            assert snapshot(kb.store) == snapshot(fresh.store)
    assert idle.calls == 0


def test_delete_of_something_unknown_removes_nothing_and_names_the_nearest(kb, docs):
    kb.index(docs)
    with pytest.raises(UnknownName, match=r"docs/team\.md"):
        kb.delete(["docs/travel.md", "docs/taem.md"])
    assert len(uris(kb)) == 3


@pytest.mark.parametrize("name", ["travel office", "The Travel Office", "TRAVEL OFFICE", "office"])
def test_names_are_found_in_any_spelling_and_by_their_words(kb, docs, name):
    kb.index(docs)
    assert kb.graph.explore(name).nodes[0].name == "Travel Office"


def test_an_unknown_name_is_answered_with_the_nearest(kb, docs):
    kb.index(docs)
    with pytest.raises(UnknownName, match="Did you mean `Travel Office`"):
        kb.graph.explore(["Ada Lovelace", "Travle Ofice"])
    with pytest.raises(UnknownName, match="Zyxqv"):
        kb.graph.explore("Zyxqv")


def test_another_embedder_is_refused_for_search_and_for_indexing(path, docs):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as kb:
        kb.index(docs)
    with knotwork.open(path, embedder=HashingEmbedder(16)) as kb:
        with pytest.raises(SchemaMismatch, match="hashing:32"):
            kb.search("travel")
        with pytest.raises(SchemaMismatch, match="hashing:32"):
            kb.index(docs)


def test_without_embedder_an_index_with_vectors_is_searched_by_text_with_a_note(path, docs):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as kb:
        kb.index(docs)
    with knotwork.open(path, embedding_model="none", read_only=True) as kb:
        evidence = kb.search("Who approves travel abroad?")
        assert evidence.hits
        assert any("hashing:32" in note for note in evidence.notes)


def test_an_index_without_vectors_works_and_who_chose_it_is_not_advised_otherwise(path, docs):
    with knotwork.open(path, embedding_model="none") as kb:
        report = kb.index(docs)
        assert report.embedder == ""
        assert report.notes == ()
        assert kb.search("Who approves travel abroad?").hits[0].chunk.document_title == "Travel"
        assert EMBEDDER_META not in kb.store.meta()


def test_a_missing_extra_means_no_embedder(path, docs, monkeypatch):
    def refuse(spec, settings, *, stored=""):
        raise knotwork.errors.MissingExtra("The local embedder", "local")

    monkeypatch.setattr("knotwork._synthesis.ask_request.open_embedder", refuse)
    with knotwork.open(path) as kb:
        report = kb.index(docs)
        assert report.embedder == ""
        assert "pip install 'knotwork[local]'" in str(report)
        assert kb.search("travel").hits


def test_read_only_opens_only_what_is_there_and_writes_nothing(path, docs):
    with pytest.raises(StoreNotFound):
        knotwork.open(path, read_only=True)
    assert not path.exists()
    with knotwork.open(path, embedder=HashingEmbedder(32)) as kb:
        kb.index(docs)
    with knotwork.open(path, embedder=HashingEmbedder(32), read_only=True) as kb:
        assert kb.search("travel").hits
        with pytest.raises(StoreReadOnly):
            kb.delete("docs/team.md")


def test_settings_come_from_values_files_or_overrides(tmp_path, path):
    file = tmp_path / "other.toml"
    file.write_text("[index]\nchunk_tokens = 64\n", "utf-8")
    with knotwork.open(path, settings=file, retrieval_k=3) as kb:
        assert (kb.settings.index.chunk_tokens, kb.settings.retrieval.k) == (64, 3)
    settings = load_settings(environ={}).settings
    with knotwork.open(path, settings=settings) as kb:
        assert kb.settings is settings
    with pytest.raises(ConfigError, match="retrieval_k"):
        knotwork.open(path, settings=settings, retrieval_k=3)
    with pytest.raises(UnknownName, match="index_chunk_tokens"):
        knotwork.open(path, index_chunk_token=3)


def test_other_settings_index_again(path, docs):
    with knotwork.open(path, embedding_model="none") as kb:
        kb.index(docs)
    with knotwork.open(path, embedding_model="none", index_chunk_tokens=32) as kb:
        assert kb.index(docs).changed == 3
        assert kb.index(docs).unchanged == 3


def test_threads_read_while_one_writes(kb, docs):
    kb.index(docs)
    stop = threading.Event()

    def read():
        answers = set()
        while not stop.is_set():
            answers.add(kb.search("Who approves travel abroad?").hits[0].chunk.document_title)
            answers.add(kb.graph.explore("Travel Office").nodes[0].name)
        return answers

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for i in range(10):
            kb.index_documents([knotwork.Document(f"m{i}", f"Fact {i} of Grace Hopper.")])
        stop.set()
        assert all(reader.result() <= {"Travel", "Travel Office"} for reader in readers)


def test_all_is_sorted_complete_and_importable():
    assert knotwork.__all__ == sorted(knotwork.__all__)
    assert set(knotwork.__all__) == set(" ".join(knotwork._HOMES.values()).split())
    assert set(knotwork.__all__) <= set(dir(knotwork))
    for name in knotwork.__all__:
        assert getattr(knotwork, name).__module__.startswith("knotwork")
    with pytest.raises(AttributeError, match="opne"):
        knotwork.opne  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, knotwork; print(*sorted(m for m in sys.modules if 'knotwork' in m))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == ["knotwork", "knotwork._lazy_imports"]


def test_opening_and_looking_up_loads_no_model_and_no_parser(path, docs):
    with knotwork.open(path, embedding_model="none") as kb:
        kb.index(docs)
    code = (
        "import sys, knotwork\n"
        f"kb = knotwork.open({str(path)!r}, read_only=True)\n"
        "kb.graph.explore('Travel Office'), kb.stats(), kb.documents()\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'pypdfium2', 'docx', 'bs4'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


WRITTEN = "The Travel Office approves it [1]."


def test_a_model_writes_answers_and_an_equal_question_is_free(path, docs):
    question = "Who approves travel abroad?"
    model = ScriptedChatModel([WRITTEN])
    with knotwork.open(path, embedder=HashingEmbedder(32), chat_model=model) as kb:
        kb.index(docs)
        written = kb.ask(question)
        quoted = kb.ask(question, use_llm=False)
    assert (written.text, written.model) == (WRITTEN, "scripted:test")
    assert written.usage.model_calls == 1
    assert written.usage.seconds > 0
    assert written.citations[0].quote == "The Travel Office approves travel abroad."
    assert quoted.model == ""
    assert quoted.usage.model_calls == 0

    idle = ScriptedChatModel([])
    with knotwork.open(path, embedder=HashingEmbedder(32), chat_model=idle, read_only=True) as kb:
        again = kb.ask(question)
        assert kb.ask(question, use_llm=False).citations == quoted.citations
    assert (again.text, again.citations) == (written.text, written.citations)
    assert again.usage.reused_calls == 1
    assert idle.requests == []


def test_an_index_in_memory_keeps_its_calls_there(docs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = ScriptedChatModel([WRITTEN])
    with knotwork.open("memory:", embedder=HashingEmbedder(32), chat_model=model) as kb:
        kb.index(docs)
        before = sorted(tmp_path.iterdir())
        texts = {kb.ask("Who approves travel abroad?").text for _ in range(2)}
    assert texts == {WRITTEN}
    assert sorted(tmp_path.iterdir()) == before


def test_the_steps_of_an_answer_are_shown_as_they_come(kb, docs, path):
    kb.index(docs)
    kinds = [event.stage for event in kb.ask.run("Who approves travel abroad?")]
    assert kinds == ["found", "finished"]
    with knotwork.open(
        path, embedder=HashingEmbedder(32), chat_model=ScriptedChatModel(WRITTEN)
    ) as asked:
        events = list(asked.ask.run("Who approves travel abroad?"))
    assert [events[0].stage, events[1].stage, events[-1].stage] == ["found", "asked", "finished"]
    assert "".join(event.note for event in events if event.stage == "text") == WRITTEN


def test_a_failing_model_is_noted_or_raised(path, docs):
    model = ScriptedChatModel(lambda _: ModelError("It broke."))
    with knotwork.open(path, embedder=HashingEmbedder(32), chat_model=model) as kb:
        kb.index(docs)
        answer = kb.ask("Who approves travel abroad?")
        assert answer.answered
        assert "It broke." in answer.notes[0]
        with pytest.raises(ModelError, match="broke"):
            kb.ask("Who approves travel abroad?", fallback=False)
        with pytest.raises(BudgetExceeded):
            kb.ask("Who approves travel abroad?", budget="100", fallback=False)
        with pytest.raises(ConfigError):
            kb.ask("Who approves travel abroad?", budget="a lot")


def test_triples_recorded_elsewhere_are_imported_by_a_setting(tmp_path):
    recording = tmp_path / "triples.jsonl"
    line = {"uri": "a.txt", "entities": ["Ada"], "triples": [["Ada", "founded", "Acme Works"]]}
    recording.write_text(json.dumps(line), encoding="utf-8")
    documents = [knotwork.Document("a.txt", "In 1900 the firm of Acme Works was made by Ada.")]
    with knotwork.open("memory:", embedding_model="none", index_recording=str(recording)) as kb:
        kb.index_documents(documents)
        assert "founded" in {edge.relation for edge in kb.graph.explore("Ada").edges}
    missing = str(tmp_path / "none.jsonl")
    with (
        knotwork.open("memory:", embedding_model="none", index_recording=missing) as kb,
        pytest.raises(ConfigError, match=r"none\.jsonl"),
    ):
        kb.index_documents(documents)


def test_a_served_reranker_is_asked_where_a_retriever_reranks(path, docs):
    with ModelTestServer() as server:
        options = {"rerank_model": "served:small", "rerank_base_url": server.url}
        with knotwork.open(path, embedder=HashingEmbedder(32), **options) as kb:
            kb.index(docs)
            plain = kb.search("Who approves travel?", retriever="bm25")
            assert not server.traffic.calls
            moved = kb.search("Who approves travel?", retriever="bm25 > rerank(by=encoder)")
            assert len(server.traffic.calls) == 1
            assert {hit.chunk.id for hit in moved.hits} == {hit.chunk.id for hit in plain.hits}
            assert all("rerank" in hit.scores for hit in moved.hits)
