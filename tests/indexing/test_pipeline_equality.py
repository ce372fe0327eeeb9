"""However an index came to be, it equals a fresh build of what it holds."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.pipeline_fakes import CountingEmbedder, make_stages, make_text, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.run import IndexingRun
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow


def bring_up_to_date(store, texts, *, order=None, embedder=None):
    uris = list(texts)
    if order is not None:
        order.shuffle(uris)
    sources = [text_source(uri, texts[uri]) for uri in uris]
    stages = make_stages(embedder or HashingEmbedder(16))
    return IndexingRun(store, stages).update(sources, covers=lambda entry: True)


def fresh_build(texts):
    store = open_store("memory:")
    bring_up_to_date(store, texts)
    return snapshot(store)


def change(texts, random_):
    """Change a few documents: add, replace, extend, remove, swap."""
    texts = dict(texts)
    for _ in range(random_.randint(1, 4)):
        uri = f"d{random_.randrange(9)}"
        match random_.randrange(4):
            case 0:
                texts.pop(uri, None)
            case 1:
                texts[uri] = texts.get(uri, "") + "\n\n" + make_text(random_, paragraphs=1)
            case 2:
                texts[uri] = make_text(random_, paragraphs=random_.randint(0, 3))
            case 3:
                other = f"d{random_.randrange(9)}"
                if uri in texts and other in texts:
                    texts[uri], texts[other] = texts[other], texts[uri]
    return texts


@pytest.mark.parametrize("seed", range(12))
def test_any_history_in_the_embedded_store_equals_a_fresh_build(tmp_path, seed):
    random_ = random.Random(seed)
    store = open_store(str(tmp_path / "index.knot"), create=True)
    texts: dict[str, str] = {}
    for _ in range(5):
        texts = change(texts, random_)
        bring_up_to_date(store, texts, order=random_)
        assert snapshot(store) == fresh_build(texts)
    store.close()


@given(st.integers(0, 2**32))
def test_any_history_in_memory_equals_a_fresh_build(seed):
    random_ = random.Random(seed)
    store = open_store("memory:")
    texts: dict[str, str] = {}
    for _ in range(4):
        texts = change(texts, random_)
        bring_up_to_date(store, texts, order=random_)
    assert snapshot(store) == fresh_build(texts)


def test_emptying_an_index_leaves_nothing(tmp_path):
    store = open_store(str(tmp_path / "index.knot"), create=True)
    bring_up_to_date(store, {f"d{i}": make_text(random.Random(i)) for i in range(6)})
    bring_up_to_date(store, {})
    left = snapshot(store)
    assert left["documents"] == left["chunks"] == left["entities"] == {}
    assert left["edges"] == left["ledger"] == []
    assert set(left["vector counts"].values()) == set(left["text counts"].values()) == {0}
    store.close()


class CountingStore:
    """Counts the rows written through a store, by part."""

    def __init__(self, store):
        self._store = store
        self.rows = 0

    def __getattr__(self, name):
        value = getattr(self._store, name)
        if name in {"documents", "graph", "ledger"}:
            return CountingPart(self, value)
        return value

    def texts(self, name):
        return CountingPart(self, self._store.texts(name))

    def vectors(self, name):
        return CountingPart(self, self._store.vectors(name))


class CountingPart:
    """Counts the items of each write to one part of a store."""

    def __init__(self, counter, part):
        self._counter, self._part = counter, part

    def __getattr__(self, name):
        method = getattr(self._part, name)
        if name not in {"put", "add", "remove", "upsert", "remove_chunks"}:
            return method

        def write(*args, **options):
            args = [list(arg) if hasattr(arg, "__iter__") else arg for arg in args]
            options = {key: list(value) for key, value in options.items()}
            items = [*args, *options.values()]
            self._counter.rows += sum(len(item) for item in items if isinstance(item, list))
            return method(*args, **options)

        return write


def test_adding_one_document_costs_the_same_in_a_small_and_a_large_index():
    newcomer = make_text(random.Random("new"))
    costs = []
    for size in (5, 50, 200):
        counter = CountingStore(open_store("memory:"))
        texts = {f"d{i}": make_text(random.Random(i)) for i in range(size)}
        bring_up_to_date(counter, texts)
        counter.rows = 0
        embedder = CountingEmbedder(HashingEmbedder(16))
        report = bring_up_to_date(counter, texts | {"new": newcomer}, embedder=embedder)
        assert report.added == 1
        costs.append((counter.rows, embedder.passages))

    assert all(earlier == later for earlier, later in pairwise(costs[1:]))
    assert costs[0][1] == costs[-1][1] == 3
    assert costs[-1][0] <= costs[0][0]
