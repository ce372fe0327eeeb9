from email.message import Message
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from tests.indexing.pipeline_fakes import LatinEmbedder
from tests.stores.raw_files import change

import knotwork
from knotwork._config import EmbeddingSettings, IndexSettings, StoreSettings, load_settings
from knotwork._extensions.diagnosis import diagnose
from knotwork._extensions.diagnosis.index import IndexFindings, check_aliases, check_index
from knotwork._extensions.diagnosis.installation import (
    check_components,
    check_disk,
    check_extras,
    check_libraries,
    check_python,
    check_secrets,
    check_settings,
)
from knotwork._extensions.diagnosis.models import check_embedder
from knotwork._extensions.media import text_recognition
from knotwork._extensions.media.checks import check_speech_recognition, check_text_recognition
from knotwork._extensions.testing.store_contract import (
    sample_document,
    sample_mention,
    sample_relation,
)
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._indexing.loaders import recognition
from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import Document

HASHING = EmbeddingSettings(model="hashing:16")


@pytest.fixture
def index_path(tmp_path):
    """An index of one document, made with the embedder hashing:16."""
    path = tmp_path / "knowledge.knot"
    store = EmbeddedStore.open(path, create=True)
    document, sections, chunks = sample_document("a.md", ["About Ann.", "About Bob."])
    with store.transaction():
        store.documents.put(document, sections, chunks)
        store.graph.upsert(
            mentions=[sample_mention(chunks[0].id, name) for name in ("Ann", "Bob")],
            relations=[sample_relation(chunks[0].id, "ann", "knows", "bob")],
        )
        store.texts("chunk").add((chunk.id, chunk.text) for chunk in chunks)
        row = np.eye(16, dtype=np.float32)[:1]
        store.vectors("chunk").put((chunk.id, chunk.id, row) for chunk in chunks)
        store.set_meta({EMBEDDER_META: "hashing:16"})
    store.close()
    return path


def test_a_sound_installation_passes_every_check(tmp_path, index_path):
    loaded = load_settings(
        environ={"KNOTWORK_RETRIEVAL_K": "5"},
        overrides={"store.path": str(index_path), "embedding.model": "hashing:16"},
    )
    checks = {check.name: check for check in diagnose(loaded)}
    assert [check for check in checks.values() if not check.ok] == []
    assert list(checks) == [
        "Python",
        "Libraries",
        "Extras",
        "Settings",
        "Parts",
        "Pictures",
        "Recordings",
        "Disk",
        "Permissions",
        "Index",
        "Checksums",
        "Integrity",
        "Embedder",
        "Reader",
        "Language model",
    ]
    assert "no tokens are spent" in checks["Language model"].detail
    assert "1 document, 2 chunks, 2 entities" in checks["Index"].detail
    assert "hashing:16, 16 dimensions" in checks["Embedder"].detail
    assert "not used: the index is embedded with hashing:16" in checks["Reader"].detail
    assert "retrieval.k = 5 (environment KNOTWORK_RETRIEVAL_K)" in checks["Settings"].detail
    assert not list(tmp_path.glob("*.toml"))


def test_no_index_is_no_fault_and_makes_none(tmp_path):
    path = tmp_path / "none.knot"
    found = check_index(StoreSettings(path=str(path)))
    (check,) = found.checks
    assert check.ok
    assert "knotwork index" in check.fix
    assert (found.embedder, found.dimension) == ("", 0)
    assert not path.exists()


def test_a_file_that_is_no_index_is_reported(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, this is long enough to be read as a page. " * 100)
    (check,) = check_index(StoreSettings(path=str(path))).checks
    assert not check.ok
    assert "not an index" in check.detail


def test_the_index_reports_its_embedder_and_dimension(index_path):
    found = check_index(StoreSettings(path=str(index_path)))
    assert [check.ok for check in found.checks] == [True, True, True]
    assert (found.embedder, found.dimension) == ("hashing:16", 16)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM chunk WHERE ordinal = 0", "2 mentions without a chunk"),
        ("DELETE FROM chunk WHERE ordinal = 1", "2 chunks in the full text, not 1"),
        ("DELETE FROM document", "2 chunks without a document"),
        ("DELETE FROM mention WHERE name = 'Ann'", "1 entities that no chunk mentions"),
        ("UPDATE entity SET chunk_count = 7", "2 entities with a wrong count"),
        ("UPDATE edge SET weight = 9", "1 edges that differ"),
        ("DELETE FROM contribution", "1 edges that differ"),
        ("UPDATE vector_index SET items = 1", "1 chunks with a vector, not 2"),
    ],
)
def test_parts_that_disagree_are_reported(index_path, statement, fault):
    change(index_path, statement)
    *_, integrity = check_index(StoreSettings(path=str(index_path))).checks
    assert not integrity.ok
    assert fault in integrity.detail
    assert integrity.fix


def test_a_file_with_overwritten_pages_is_reported(index_path):
    data = bytearray(index_path.read_bytes())
    third = len(data) // 3  # one page alone may be that of an empty table
    data[third : 2 * third] = b"\xff" * third
    index_path.write_bytes(data)
    checks = check_index(StoreSettings(path=str(index_path))).checks
    assert not all(check.ok for check in checks)


@pytest.mark.parametrize(
    ("settings", "index", "ok", "part"),
    [
        (HASHING, IndexFindings(()), True, "16 dimensions"),
        (HASHING, IndexFindings((), "hashing:16", 16), True, "16 dimensions"),
        (HASHING, IndexFindings((), "hashing:32", 32), False, "made with hashing:32"),
        (HASHING, IndexFindings((), "hashing:16", 32), False, "vectors of 32"),
        (EmbeddingSettings(model="none"), IndexFindings(()), True, "full text and graph"),
        (EmbeddingSettings(model="none"), IndexFindings((), "hashing:8", 8), False, "made with"),
        (EmbeddingSettings(model="locl:x"), IndexFindings(()), False, "Unknown embedding model"),
    ],
)
def test_the_embedder_must_work_and_fit_the_index(settings, index, ok, part):
    check = check_embedder(settings, index=index)
    assert check.ok is ok
    assert part in check.detail


def test_wrong_names_and_files_are_reported(tmp_path):
    assert check_components(load_settings(environ={}).settings).ok
    for name, value in [
        ("index.splitter", "strcture"),
        ("index.extractor", "rule"),
        ("retrieval.retriever", "outo"),
        ("communities.algorithm", "liden"),
        ("index.dictionary", str(tmp_path / "none.txt")),
    ]:
        loaded = load_settings(environ={}, overrides={name: value})
        found = check_components(loaded.settings)
        assert not found.ok, name
        assert value in found.detail


def test_secrets_are_looked_for_and_never_shown(monkeypatch):
    loaded = load_settings(environ={"KNOTWORK_EMBEDDING_API_KEY": "sk-secret"})
    monkeypatch.delenv("KNOTWORK_EMBEDDING_API_KEY", raising=False)
    (absent,) = check_secrets(loaded)
    assert not absent.ok
    monkeypatch.setenv("KNOTWORK_EMBEDDING_API_KEY", "sk-secret")
    (present,) = check_secrets(loaded)
    assert present.ok
    assert "sk-secret" not in str([absent, present, check_settings(loaded)])
    assert list(check_secrets(load_settings(environ={}))) == []
    loaded = load_settings(environ={"KNOTWORK_LLM_API_KEY": "sk-secret"})
    (of_model,) = check_secrets(loaded)
    assert "llm.api_key" in of_model.detail


def test_a_full_or_closed_disk_is_reported(tmp_path, monkeypatch):
    settings = StoreSettings(path=str(tmp_path / "new" / "a.knot"))
    assert check_disk(settings).ok
    monkeypatch.setattr("os.access", lambda *args: False)
    assert "not writable" in check_disk(settings).detail
    monkeypatch.undo()
    monkeypatch.setattr("knotwork._extensions.diagnosis.installation._LEAST_FREE_BYTES", 10**18)
    assert "Free some space" in check_disk(settings).fix


def test_missing_libraries_and_old_pythons_are_reported(monkeypatch):
    assert check_libraries().ok
    monkeypatch.setattr(
        "knotwork._extensions.diagnosis.installation.requires",
        lambda name: ["numpy>=2", "no-such-library>=1", "absent ; extra == 'dev'"],
    )
    check = check_libraries()
    assert not check.ok
    assert check.detail.endswith("missing: no-such-library")
    assert check_python().ok
    monkeypatch.setattr("sys.version_info", (3, 10, 0))
    assert not check_python().ok


def test_extras_are_listed_with_what_they_lack(monkeypatch):
    fake = Message()
    for extra in ("dev", "llama-index", "llm", "rank", "rerank"):
        fake["Provides-Extra"] = extra
    lines = [
        "llama-index-core>=0.14; extra == 'llama-index'",
        "openai>=3; extra == 'llm'",
        "lightgbm>=4.5; extra == 'rank'",
        "onnxruntime>=1.20; extra == 'rerank'",
        "tokenizers>=0.20; extra == 'rerank'",
        "nox; extra == 'dev'",
    ]
    installed = {"openai": "3.52.0", "lightgbm": "4.1", "onnxruntime": "1.32", "nox": "2025.2"}

    def version(name):
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    place = "knotwork._extensions.diagnosis.installation"
    monkeypatch.setattr(f"{place}.metadata", lambda _: fake)
    monkeypatch.setattr(f"{place}.requires", lambda _: lines)
    monkeypatch.setattr(f"{place}.version", version)
    check = check_extras()
    assert check.ok
    assert check.detail == (
        "llm: openai 3.52.0; not installed: llama-index (needs llama-index-core), "
        "rank (needs lightgbm>=4.5 instead of 4.1), rerank (needs tokenizers)"
    )


def test_a_library_that_is_too_old_is_missing(monkeypatch):
    place = "knotwork._extensions.diagnosis.installation"
    monkeypatch.setattr(f"{place}.requires", lambda _: ["numpy>=1000"])
    check = check_libraries()
    assert not check.ok
    assert "missing: numpy>=1000 instead of " in check.detail
    assert "--upgrade" in check.fix


def test_without_an_installed_package_requirements_are_unknown(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    for function in ("metadata", "requires", "version"):
        monkeypatch.setattr(f"knotwork._extensions.diagnosis.installation.{function}", absent)
    for check in (check_libraries(), check_extras()):
        assert check.ok
        assert "unknown" in check.detail


def test_addresses_of_stores_are_read_as_such(tmp_path):
    folder = tmp_path / "missing"
    settings = StoreSettings(path=f"file:{folder}/a.knot")
    (check,) = check_index(settings).checks
    assert f"`{folder}/a.knot`" in check.detail
    assert f"`{folder}`" in check.fix
    assert check_disk(settings).detail.endswith(f"`{folder}/a.knot`")
    assert check_disk(StoreSettings(path="memory:")).detail == "`memory:` is not a file"
    (check,) = check_index(StoreSettings(path="foo://host/a")).checks
    assert not check.ok
    assert "Unknown store scheme `foo`" in check.detail


@pytest.fixture
def mixed_path(tmp_path):
    """An index of an English and a Chinese document whose embedder reads no Chinese."""
    path = tmp_path / "mixed.knot"
    texts = {"a.txt": "The heron eats fish in the lake.", "b.txt": "长江是中国最长的河流。"}
    with knotwork.open(path, embedder=LatinEmbedder()) as kb:
        kb.index_documents(Document(uri, text, title=uri) for uri, text in texts.items())
    return path


def test_chunks_beyond_the_embedder_are_reported_without_a_fault(mixed_path):
    found = check_index(StoreSettings(path=str(mixed_path)))
    checks = {check.name: check for check in found.checks}
    assert all(check.ok for check in checks.values())
    assert "1 of 2 chunks have no vectors" in checks["Languages"].detail
    assert "knotwork embed --model" in checks["Languages"].fix
    assert (found.embedder, found.dimension) == ("latin:32", 32)


def test_a_vector_that_the_embedder_would_have_made_is_missed(mixed_path):
    change(mixed_path, "DELETE FROM vector_chunk")
    change(mixed_path, "UPDATE vector_index SET items = 2 WHERE name = 'chunk'")
    checks = {check.name: check for check in check_index(StoreSettings(str(mixed_path))).checks}
    assert not checks["Integrity"].ok
    assert "2 chunks with a vector, not 1" in checks["Integrity"].detail


def test_documents_indexed_without_the_embedder_are_reported_without_a_fault(tmp_path):
    path = tmp_path / "mixed.knot"
    documents = [Document(f"{n}.txt", f"The heron eats fish number {n}.", title=n) for n in "abc"]
    with knotwork.open(path, embedding_model="none") as kb:
        kb.index_documents(documents)
    with knotwork.open(path, embedder=LatinEmbedder()) as kb:
        report = kb.index_documents(documents[:1])
    assert "2 documents were indexed with other settings" in " ".join(report.notes)
    checks = {check.name: check for check in check_index(StoreSettings(path=str(path))).checks}
    assert all(check.ok for check in checks.values())
    assert "2 of 3 chunks were indexed without an embedder" in checks["Vectors"].detail
    assert "knotwork index" in checks["Vectors"].fix


def test_an_index_without_any_vector_fits_every_embedder(tmp_path):
    path = tmp_path / "chinese.knot"
    with knotwork.open(path, embedder=LatinEmbedder()) as kb:
        kb.index_documents([Document("b.txt", "长江是中国最长的河流。", title="长江")])
    found = check_index(StoreSettings(path=str(path)))
    assert found.embedder == ""
    assert check_embedder(HASHING, index=found).ok


def test_decided_and_pending_names_are_listed(tmp_path):
    store = tmp_path / "names.knot"
    text = "The World Health Organization (WHO) sent help. Later the WHO thanked Kenya."
    with knotwork.open(store, embedding_model="none") as base:
        base.index_documents([Document("a", text)])
        assert check_aliases(base.store) == []
        base.entities.find_aliases()
        (check,) = check_aliases(base.store)
        assert check.ok
        assert check.detail == "entities with aliases: 1; pairs kept apart: 0"
        assert not check.fix
        base.index_documents([Document("b", text + " Kenya was glad.")])
        (check,) = check_aliases(base.store)
        assert "that changed since" in check.detail
        assert "graph names --find" in check.fix
    found = check_index(StoreSettings(path=str(store))).checks
    assert "Names" in [check.name for check in found]


def test_text_recognition_is_tried_and_its_failure_named(monkeypatch):
    if not recognition.is_available():
        pytest.skip("the extra `ocr` is not installed")
    assert "text is recognised" in check_text_recognition().detail
    nothing = text_recognition.RecognisedPage((), 320, 96)
    monkeypatch.setattr(text_recognition, "recognise", lambda picture: nothing)
    check = check_text_recognition()
    assert (check.ok, "read as: nothing" in check.detail) == (False, True)
    monkeypatch.setattr(recognition, "is_available", lambda: False)
    check = check_text_recognition()
    assert check.ok
    assert "knotwork[ocr]" in check.fix


def test_an_invalid_speech_model_is_named(tmp_path):
    assert check_speech_recognition(IndexSettings()).ok
    check = check_speech_recognition(IndexSettings(audio_model=str(tmp_path)))
    assert not check.ok
    assert "index.audio_model" in check.detail + check.fix
