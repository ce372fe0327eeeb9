"""An INI file is read, and its options are found; the parts keep the contracts of theirs."""

import knotwork
import pytest
from knotwork.errors import LoadError
from knotwork.plugins import Source
from knotwork.testing import ExtractorContract, LoaderContract, RetrieverContract

from knotwork_ini import IniLoader, OptionExtractor, OptionRetriever

SETTINGS = b"[pool]\nmax_connections = 40\nidle_timeout = 90\n\n[cache]\nsize = 3 GB\n"


class TestIniLoader(LoaderContract):
    @pytest.fixture
    def loader(self):
        return IniLoader()

    @pytest.fixture
    def sample(self):
        return SETTINGS

    @pytest.fixture
    def sample_text(self):
        return "max_connections = 40."


class TestOptionExtractor(ExtractorContract):
    @pytest.fixture
    def extractor(self):
        return OptionExtractor()

    @pytest.fixture
    def text(self):
        return "pool\n\nmax_connections = 40.\nidle_timeout = 90.\n\nsize = 3 GB."


class TestOptionRetriever(RetrieverContract):
    @pytest.fixture
    def build(self):
        return lambda store, embedder: OptionRetriever(store=store)

    @pytest.fixture
    def question(self):
        return "Which river flows through Tartu?"


def test_sections_and_options_become_blocks():
    content = IniLoader().load(Source("server.ini", SETTINGS))
    labels = [(b.kind, b.label) for b in content.blocks if b.label]
    assert labels[:2] == [("section", "pool"), ("definition", "max_connections")]
    assert [label for kind, label in labels if kind == "section"] == ["pool", "cache"]
    assert "max_connections = 40." in content.text


def test_an_option_is_found_by_its_name(tmp_path):
    (tmp_path / "server.ini").write_bytes(SETTINGS)
    (tmp_path / "note.txt").write_text("The pool has connections, and a maximum.")
    with knotwork.open(
        "memory:", embedding_model="none", index_extractor="ini", retrieval_retriever="options"
    ) as kb:
        kb.index(tmp_path)
        hits = kb.search("What is max_connections?").hits
        assert [hit.chunk.document_title for hit in hits] == ["server.ini"]
        assert "40" in kb.ask("What is max_connections?").text


def test_a_file_of_another_format_is_refused(tmp_path):
    (tmp_path / "server.ini").write_text("no section = 1")
    with knotwork.open("memory:", embedding_model="none") as kb:
        (failure,) = kb.index(tmp_path).failures
    assert "MissingSectionHeaderError" in failure.message
    with pytest.raises(LoadError):
        IniLoader().load(Source("server.ini", b"\x00\x01\x02" * 100))
