"""Codes of vectors: the best of many are found, and pages of codes follow their table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.raw_files import change, opened

from knotwork._extensions.testing.index_contracts import (
    VectorIndexContract,
    VectorReplacementContract,
)
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore, vector_index
from knotwork._stores.embedded.vector_index import CodeBook, Coded, VectorCodes, rotation_of
from knotwork._stores.indexes import exact_scores, staged_name
from knotwork.records import content_id

pytestmark = pytest.mark.slow

Rows = dict[str, np.ndarray]


def clustered(count: int, dimension: int, *, seed: int) -> np.ndarray:
    """Return unit rows that share a direction and gather in clusters, as those of texts do."""
    generator = np.random.default_rng(seed)
    common = 20 * generator.normal(size=dimension) / dimension**0.5
    clusters = generator.normal(size=(50, dimension))
    rows = common + clusters[generator.integers(50, size=count)]
    rows += generator.normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def code(rows: np.ndarray, *, version: int = 1) -> VectorCodes:
    book = CodeBook(rows.mean(axis=0))
    return VectorCodes.load(book, [book.encode(np.arange(len(rows)), rows)], version=version)


@pytest.mark.parametrize("dimension", [3, 64, 100, 384, 1_000])
def test_a_rotation_keeps_lengths_and_mixes_all_numbers(dimension: int) -> None:
    rotation = rotation_of(dimension)
    turned = rotation.apply(np.eye(dimension, dtype=np.float32))
    np.testing.assert_allclose(turned @ turned.T, np.eye(dimension), atol=1e-4)
    assert np.abs(turned).max() < 1
    again = rotation_of.__wrapped__(dimension)
    np.testing.assert_array_equal(again.signs, rotation.signs)
    np.testing.assert_array_equal(again.orders, rotation.orders)


def test_the_rotation_of_stored_codes_is_the_one_they_were_made_with() -> None:
    turned = rotation_of(70).apply(np.arange(70, dtype=np.float32)[np.newaxis])[0]
    np.testing.assert_allclose(
        turned[:6], [28.675781, 35.777344, 19.246094, 10.316406, 29.699219, -16.714844], atol=1e-3
    )


@pytest.mark.parametrize("dimension", [100, 384])
def test_the_best_of_many_are_found_with_exact_scores(dimension: int) -> None:
    rows = clustered(30_000, dimension, seed=1)
    codes, asked = code(rows[:-40]), rows[-40:]
    recall, read = [], []
    for query in asked:
        read.append(0)

        def fetch(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            read[-1] += len(keys)
            return keys, rows[keys]

        found = codes.search(query, k=100, where=None, read=fetch)
        best = np.argsort(-(rows[:-40] @ query))[:100]
        recall.append(len({key for key, _ in found} & set(best.tolist())) / 100)
        keys, scores = zip(*found, strict=True)
        np.testing.assert_array_equal(scores, exact_scores(rows[list(keys)], query))
    assert np.mean(recall) >= 0.99
    assert min(recall) >= 0.9
    assert max(read) <= 4_000


def test_dot_products_hardly_ever_exceed_their_bound() -> None:
    rows = clustered(5_000, 384, seed=2)
    codes = code(rows)
    exceeding = [np.mean(rows @ query > codes._upper_bounds(query)) for query in rows[::100]]
    assert np.mean(exceeding) < 0.01


def test_few_rows_are_all_scored() -> None:
    rows = clustered(6_000, 32, seed=3)
    codes, wanted = code(rows), np.arange(0, 6_000, 7)
    found = codes.search(rows[5], k=900, where=wanted, read=lambda keys: (keys, rows[keys]))
    scores = exact_scores(rows[wanted], rows[5])
    order = np.lexsort((wanted, -scores))
    assert found == list(zip(wanted[order].tolist(), scores[order].tolist(), strict=True))


def test_zero_rows_and_equal_rows_have_codes() -> None:
    rows = np.concatenate([np.zeros((3, 16)), np.ones((3_000, 16))]).astype(np.float32)
    for codes in (code(rows), code(rows[3:])):
        found = codes.search(rows[9], k=5, where=None, read=lambda keys: (keys, rows[keys]))
        assert [score for _, score in found] == [16.0] * 5


steps = st.lists(
    st.tuples(
        st.sets(st.integers(0, 300), max_size=120), st.sets(st.integers(0, 300), max_size=60)
    ),
    max_size=6,
)


@given(steps)
def test_codes_follow_changes_and_removals(changes: list[tuple[set[int], set[int]]]) -> None:
    book, held, history = CodeBook(np.zeros(64, dtype=np.float32)), {}, []
    codes = VectorCodes.load(book, [], version=0)
    for version, (put, removed) in enumerate(changes, start=1):
        new = {key: clustered(1, 64, seed=1_000 * version + key)[0] for key in sorted(put)}
        rows = np.array(list(new.values()), dtype=np.float32).reshape(-1, 64)
        blocks = [book.encode(np.array(list(new), dtype=np.int64), rows)]
        held = {key: row for key, row in (held | new).items() if key not in removed}
        codes = codes.changed(blocks, version=version)
        codes = codes.restricted(np.array(sorted(held), dtype=np.int64))
        history.append((codes, held))
    for old, rows in history:
        assert old.items == len(rows)
        kept = old.rows()
        assert sorted(kept.keys.tolist()) == sorted(rows)
        for key, signs in zip(kept.keys.tolist(), kept.signs, strict=True):
            expected = book.encode(np.array([key]), rows[key][np.newaxis])
            assert np.bitwise_count(signs ^ expected.signs[0]).sum() <= 2  # of 64, by rounding


def test_pages_are_read_as_they_were_written() -> None:
    codes = code(clustered(100, 70, seed=4))
    pages = list(codes.pages(30))
    assert [len(page.keys) for page in pages] == [30, 30, 30, 10]
    for page in pages:
        again = Coded.unpack(*page.pack(), dimension=70)
        for before, after in zip(page, again, strict=True):
            np.testing.assert_array_equal(before, after)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let codes be used from 40 vectors on, in pages of 16, and all rows be read."""
    monkeypatch.setattr(vector_index, "CODED_FROM", 40)
    monkeypatch.setattr(vector_index, "_PAGE_ROWS", 16)


@pytest.fixture
def store(tmp_path: Path, small_pages: None) -> Iterator[Store]:
    opened_store = EmbeddedStore.open(tmp_path / "store.knot", create=True)
    yield opened_store
    opened_store.close()


class TestCodedVectors(VectorIndexContract):
    pass


class TestCodedReplacement(VectorReplacementContract):
    pass


def found_by(path: Path, query: np.ndarray, *, k: int = 400) -> list[tuple[str, float]]:
    """Return what a process that opens the index finds."""
    with closing(EmbeddedStore.open(path, read_only=True)) as reader:
        return [(hit.id, hit.score) for hit in reader.vectors("chunk").search(query, k=k)]


def expected(held: Rows, query: np.ndarray) -> list[tuple[str, float]]:
    rows = np.array(list(held.values())).reshape(-1, len(query))
    scores = exact_scores(rows, query)
    pairs = zip(held, scores.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def paged(path: Path) -> tuple[int, int]:
    """Return how many pages of codes an index has, and how many rows they have."""
    connection = opened(path)
    sql = "SELECT count(*), coalesce(sum(length(keys)) / 8, 0) FROM vector_code"
    ((pages, rows),) = connection.execute(sql).fetchall()
    connection.close()
    return int(pages), int(rows)


@pytest.mark.usefixtures("small_pages")
def test_searches_are_right_after_any_sequence_of_writes(tmp_path: Path) -> None:
    path, generator = tmp_path / "index.knot", np.random.default_rng(6)
    held: Rows = {}
    with closing(EmbeddedStore.open(path, create=True)) as writer:
        index = writer.vectors("chunk")
        reader = EmbeddedStore.open(path, read_only=True)
        for seed in range(40):
            rows = clustered(30, 12, seed=seed)
            with writer.transaction():
                for part in (rows[:20], rows[20:]):
                    new = {content_id(int(generator.integers(200))): row for row in part}
                    index.put((i, i, row[np.newaxis]) for i, row in new.items())
                    held |= new
                gone = [content_id(int(n)) for n in generator.integers(200, size=seed % 15)]
                index.remove(gone)
                held = {i: row for i, row in held.items() if i not in gone}
                if seed % 7 == 0:
                    hits = index.search(rows[0], k=400)
                    assert [(hit.id, hit.score) for hit in hits] == expected(held, rows[0])
            assert found_by(path, rows[1]) == expected(held, rows[1])
            hits = reader.vectors("chunk").search(rows[1], k=400)
            assert [(hit.id, hit.score) for hit in hits] == expected(held, rows[1])
            pages, rows_in_pages = paged(path)
            assert rows_in_pages <= 2 * len(held) + 40
        assert pages > 3
        assert writer.check_fully() == []
        reader.close()


@pytest.mark.usefixtures("small_pages")
def test_a_replaced_index_takes_its_codes_along(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    rows = clustered(120, 12, seed=9)
    held = {content_id(n): row for n, row in enumerate(rows)}
    with closing(EmbeddedStore.open(path, create=True)) as writer:
        for name in ("chunk", staged_name("chunk")):
            for start in range(0, 120, 30):
                part = dict(list(held.items())[start : start + 30])
                writer.vectors(name).put((i, i, row[np.newaxis]) for i, row in part.items())
        writer.replace_vectors("chunk", staged_name("chunk"))
        assert paged(path)[1] == 90
        assert found_by(path, rows[3]) == expected(held, rows[3])
        assert writer.check_fully() == []
        writer.vectors("chunk").clear()
        assert paged(path) == (0, 0)


@pytest.mark.usefixtures("small_pages")
def test_an_index_without_pages_is_searched_as_well(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    rows = clustered(120, 12, seed=10)
    held = {content_id(n): row for n, row in enumerate(rows)}
    with closing(EmbeddedStore.open(path, create=True)) as writer:
        writer.vectors("chunk").put((i, i, row[np.newaxis]) for i, row in held.items())
    assert paged(path) == (0, 0)
    assert found_by(path, rows[3]) == expected(held, rows[3])


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE vector_code SET data = zeroblob(length(data)) WHERE page = 1",
        "DELETE FROM vector_code WHERE page = 1",
    ],
)
def test_a_full_check_finds_codes_of_other_vectors(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "index.knot"
    rows = clustered(120, 12, seed=11)
    with closing(EmbeddedStore.open(path, create=True)) as writer:
        for start in range(0, 120, 30):
            part = enumerate(rows[start : start + 30], start)
            writer.vectors("chunk").put((content_id(n), "", row[np.newaxis]) for n, row in part)
        change(path, statement)
        (fault,) = [one for one in writer.check_fully() if "code" in one]
        assert fault.endswith("vectors of `chunk` without their code")


def test_a_page_that_cannot_be_decoded_is_reported_as_damage() -> None:
    keys, data = code(clustered(10, 70, seed=4)).rows().pack()
    with pytest.raises(DamagedValue, match="a page of codes cannot be decoded"):
        Coded.unpack(keys, data[:-1], dimension=70)
