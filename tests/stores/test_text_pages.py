"""Pages of full text follow what is written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.plain_store import PlainTexts
from tests.stores.raw_files import change, opened

from knotwork._extensions.testing.index_contracts import TextIndexContract
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore, text_index
from knotwork._stores.embedded.text_index import ItemTerms
from knotwork._stores.indexes import pack_terms
from knotwork.errors import IndexDamaged
from knotwork.records import content_id

pytestmark = pytest.mark.slow

_WORDS = [f"word{n}" for n in range(60)]
_QUESTION = "word0 word1 word2 word7 word30 word59"


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "PAGE_ITEMS", 4)


@pytest.fixture
def store(tmp_path: Path, small_pages: None) -> Iterator[Store]:
    opened_store = EmbeddedStore.open(tmp_path / "store.knot", create=True)
    yield opened_store
    opened_store.close()


class TestPagedTexts(TextIndexContract):
    pass


def check(store: Store, plain: PlainTexts) -> None:
    """Compare an index with the oracle."""
    index, oracle = store.texts("chunk"), plain
    found, expected = index.search(_QUESTION, k=500), oracle.search(_QUESTION, k=500)
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-9)
    words = _QUESTION.split()
    assert index.document_frequencies(words) == oracle.document_frequencies(words)


def rows_of(path: Path, table: str) -> int:
    connection = opened(path)
    ((count,),) = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    connection.close()
    return int(str(count))


@pytest.mark.usefixtures("small_pages")
def test_searches_are_right_after_any_sequence_of_writes(tmp_path: Path) -> None:
    path, chance = tmp_path / "index.knot", random.Random(5)
    plain = PlainTexts()
    with (
        closing(EmbeddedStore.open(path, create=True)) as writer,
        closing(EmbeddedStore.open(path, read_only=True)) as reader,
    ):
        for step in range(60):
            with writer.transaction():
                for _ in range(chance.randint(1, 3)):
                    texts = [
                        (content_id(chance.randrange(50)), " ".join(chance.choices(_WORDS, k=9)))
                        for _ in range(chance.randrange(8))
                    ]
                    gone = [content_id(chance.randrange(50)) for _ in range(chance.randrange(6))]
                    for changed in (writer.texts("chunk"), plain):
                        changed.add(texts)
                        changed.remove(gone)
                    if step % 9 == 0:
                        check(writer, plain)
            check(writer, plain)
            check(reader, plain)
            with closing(EmbeddedStore.open(path, read_only=True)) as other:
                check(other, plain)
            assert rows_of(path, "text_chunk_change") < 4
        assert 2 < rows_of(path, "text_chunk_page") <= 2 * 50 / 4 + 1
        assert writer.check_fully() == []


@pytest.mark.usefixtures("small_pages")
def test_a_transaction_that_is_rolled_back_leaves_no_page(tmp_path: Path) -> None:
    path, plain = tmp_path / "index.knot", PlainTexts()
    with closing(EmbeddedStore.open(path, create=True)) as writer:
        for names, is_kept in (("abcde", True), ("fghijkl", False), ("mnopq", True)):
            texts = [(content_id(name), f"word{place}") for place, name in enumerate(names)]
            end = nullcontext() if is_kept else pytest.raises(InterruptedError)
            with end, writer.transaction():
                writer.texts("chunk").add(texts)
                writer.texts("chunk").search(_QUESTION, k=9)
                interrupt(not is_kept)
            if is_kept:
                plain.add(texts)
            check(writer, plain)


def interrupt(is_wanted: bool) -> None:
    if is_wanted:
        raise InterruptedError


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM text_chunk_posting WHERE term = (SELECT max(term) FROM text_chunk_posting)",
        "DELETE FROM text_chunk_change",
        "UPDATE text_chunk_page SET keys = zeroblob(length(keys)) WHERE page = 2",
    ],
)
def test_a_full_check_finds_pages_that_differ(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "index.knot"
    with closing(EmbeddedStore.open(path, create=True)) as store:
        store.texts("chunk").add((content_id(n), f"word{n} word1") for n in range(10))
        change(path, statement)
        assert [fault for fault in store.check_fully() if "full text" in fault]


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE text_chunk_posting SET items = x'ffff0100'",
        "UPDATE text_chunk_posting SET items = x'00'",
        "UPDATE text_chunk_page SET keys = x'0000000000000000'",
        "UPDATE text_chunk_page SET lengths = x'00'",
    ],
)
def test_a_search_says_that_a_page_is_damaged(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "index.knot"
    with closing(EmbeddedStore.open(path, create=True)) as store:
        store.texts("chunk").add((content_id(n), f"word{n} word1") for n in range(10))
    change(path, statement)
    with (
        closing(EmbeddedStore.open(path, read_only=True)) as reader,
        pytest.raises(IndexDamaged, match="full text"),
    ):
        reader.texts("chunk").search("word1", k=3)


items = st.lists(st.lists(st.sampled_from(_WORDS), max_size=12), max_size=20)


@given(items)
def test_items_have_the_terms_of_each_text(texts: list[list[str]]) -> None:
    rows = [(key, len(words), *pack_terms(words)) for key, words in enumerate(texts)]
    held = ItemTerms.of(rows)
    found: dict[int, dict[int, int]] = {key: {} for key in range(len(texts))}
    for term, packed in held.by_term():
        places, times = held.of_term(term, start=0)
        assert packed == b"".join(
            np.array([place, count], dtype="<u2").tobytes()
            for place, count in zip(places.tolist(), times.tolist(), strict=True)
        )
        for place, count in zip(places.tolist(), times.tolist(), strict=True):
            found[place][term] = count
    for key, _, hashes, times in rows:
        expected = zip(np.frombuffer(hashes, "<i8"), np.frombuffer(times, "<u2"), strict=True)
        assert found[key] == dict(expected)


def test_terms_that_cannot_be_decoded_are_reported_as_damage() -> None:
    hashes, times = pack_terms(["one", "two"])
    with pytest.raises(DamagedValue, match="the terms of a text cannot be decoded"):
        ItemTerms.of([(1, 2, hashes, times[:-1])])
