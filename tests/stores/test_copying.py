"""A copy of a store has everything that the store has, whatever kinds of stores they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tests.stores.minimal_store import MinimalStore

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.contents_contract import fill_store
from knotwork._extensions.testing.store_contract import add_document, sample_mention, snapshot
from knotwork._extensions.upkeep import copies
from knotwork._extensions.upkeep.contents import require_contents
from knotwork._extensions.upkeep.copies import (
    CONTENTS,
    COPIED_CAPABILITIES,
    DERIVED_CONTENTS,
    CopyReport,
    copy_store,
    store_digest,
)
from knotwork._run import Progress
from knotwork._stores.base import (
    Store,
    require_communities,
    require_homonyms,
    require_property_graphs,
    require_questions,
    require_resolutions,
)
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.copy_marks import require_finished
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store as open_url
from knotwork.errors import MissingCapability, StoreError, UnknownName
from knotwork.records import Homonym, content_id, entity_id

pytestmark = pytest.mark.slow

OpenStore = Callable[[str], Store]


@pytest.fixture
def open_store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Return a function that opens a new store of a kind: "memory", "embedded" or "postgres"."""
    opened: list[Store] = []

    def open_new(kind: str) -> Store:
        if kind == "memory":
            store: Store = open_url("memory:")
        elif kind == "embedded":
            store = EmbeddedStore.open(tmp_path / f"{len(opened)}.knot", create=True)
        else:
            store = PostgresStore.open(request.getfixturevalue("new_index")(), create=True)
        opened.append(store)
        return store

    yield open_new
    for store in opened:
        store.close()


@pytest.fixture(params=["memory", "embedded", "postgres"])
def full_store(request: pytest.FixtureRequest, open_store: OpenStore) -> Store:
    store = open_store(request.param)
    fill_store(store)
    return store


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the large parts of the samples have several pages."""
    monkeypatch.setattr(copies, "_PAGE_ROWS", 5)


def copy(source: Store, target: Store, *, without: tuple[str, ...] = ()) -> CopyReport:
    return copy_store(source, target, without=without)


def _copied(steps: Sequence[Progress]) -> int:
    """Return the number of steps that copy something."""
    return sum(step.stage.startswith("copying") for step in steps)


def _chunk_ids(store: Store) -> list[str]:
    found = store.documents.chunk_ids_of(store.documents.document_ids())
    return [i for ids in found.values() for i in ids]


def everything(store: Store) -> dict[str, object]:
    """Return all values of a store, and the `snapshot` of what the protocols show of it."""
    contents = require_contents(store)
    return {
        **snapshot(store),
        "meta": {name: value for name, value in store.meta().items() if name != "copy"},
        "groups": require_resolutions(store).groups(),
        "stale": require_communities(store).stale(),
        **{
            part: [repr(v) for v in contents.values(part, contents.page(part, "", limit=999).rows)]
            for part in (*CONTENTS, *DERIVED_CONTENTS)
        },
    }


@pytest.mark.parametrize("there", ["memory", "embedded", "postgres"])
def test_a_copy_there_and_back_is_equal(
    full_store: Store, open_store: OpenStore, there: str
) -> None:
    target, back = open_store(there), open_store("embedded")
    report = copy(full_store, target)
    assert report.hash == store_digest(full_store).hash == copy(target, back).hash
    assert (report.documents, report.resumed, report.changed) == (12, False, False)
    assert report.parts["chunk vectors"] == report.parts["chunk texts"] == 24
    assert everything(full_store) == everything(target) == everything(back)
    assert not target.meta()["copy"]
    require_finished(target)


def test_staged_vectors_stay_behind(full_store: Store, open_store: OpenStore) -> None:
    full_store.vectors("next_chunk").put([(content_id(1), "key", np.eye(4, dtype=np.float32)[:1])])
    target = open_store("memory")
    copy(full_store, target)
    assert target.vectors("next_chunk").count() == 0


def test_the_digest_does_not_depend_on_the_order_of_writes(open_store: OpenStore) -> None:
    uris = [f"{number}.md" for number in range(9)]
    hashes = set()
    for seed, kind in ((1, "memory"), (2, "embedded"), (3, "embedded"), (4, "postgres")):
        store = open_store(kind)
        for uri in random.Random(seed).sample(uris, len(uris)):
            add_document(store, uri, ["Ada", f"Number {uri}"], link=True)
        require_resolutions(store).settle(require_resolutions(store).touched())
        hashes.add(store_digest(store).hash)
    assert len(hashes) == 1


def test_the_digest_shows_every_part_that_changes(full_store: Store) -> None:
    before = store_digest(full_store)
    assert {"entities", "edges", "graph nodes", "touched", "settings"} <= before.parts.keys()
    (first, *_) = full_store.documents.document_ids()
    chunk, *_ = full_store.documents.chunk_ids_of([first])[first]
    hub = entity_id("hub")
    communities = require_communities(full_store)
    community, *_ = communities.communities(sorted(communities.parents())).values()
    changes: list[tuple[str, Callable[[], object]]] = [
        (
            "mentions",
            lambda: full_store.graph.upsert(mentions=[sample_mention(chunk, "Hub", about=0.123)]),
        ),
        ("entity texts", lambda: full_store.texts("entity").add([(hub, "Other")])),
        ("entity texts", lambda: full_store.texts("entity").remove([hub])),
        ("chunk texts", lambda: full_store.texts("chunk").add([(chunk, "more")])),
        ("sentence vectors", lambda: full_store.vectors("sentence").remove([chunk])),
        (
            "chunk vectors",
            lambda: full_store.vectors("chunk").put(
                [(chunk, "other", np.eye(4, dtype=np.float32)[:1])]
            ),
        ),
        ("touched", lambda: require_resolutions(full_store).touch([content_id("new")])),
        (
            "homonyms",
            lambda: require_homonyms(full_store).replace(
                [Homonym(hub, ((chunk,), ()), "other")], among=[hub]
            ),
        ),
        (
            "communities",
            lambda: communities.replace([community]),
        ),
        ("settings", lambda: full_store.set_meta({"a": "b"})),
        ("graphs", lambda: require_property_graphs(full_store).remove("empty")),
        ("questions", lambda: require_questions(full_store).put({chunk: ["Other?"]})),
    ]
    for name, change in changes:
        change()
        after = store_digest(full_store)
        assert name in after.differing(before)
        assert after.hash != before.hash
        before = after


def test_the_mark_of_a_copy_is_not_hashed(full_store: Store) -> None:
    before = store_digest(full_store)
    full_store.set_meta({"copy": ""})
    assert store_digest(full_store) == before


@pytest.mark.parametrize("there", ["memory", "embedded", "postgres"])
@pytest.mark.parametrize(
    "stops", [3, pytest.param(10, marks=pytest.mark.nightly)], ids=["short", "long"]
)
def test_a_stopped_copy_continues_where_it_was(
    full_store: Store, open_store: OpenStore, there: str, stops: int
) -> None:
    whole = open_store("memory")
    whole_copy = copy_store.run(full_store, whole)
    steps = list(whole_copy)
    for stop in range(1, len(steps), len(steps) // stops):
        target = open_store(there)
        running = copy_store.run(full_store, target)
        for _ in range(stop):
            next(running)
        running.close()
        with pytest.raises(StoreError, match="unfinished copy"):
            require_finished(target)
        resumed = copy_store.run(full_store, target)
        again = list(resumed)
        assert resumed.result().resumed
        assert resumed.result().hash == whole_copy.result().hash
        left = _copied(steps) - stop
        assert _copied(again) <= max(left, 0) + 2  # no page is copied twice


def test_a_source_that_changed_since_is_noticed(full_store: Store, open_store: OpenStore) -> None:
    target = open_store("embedded")
    running = copy_store.run(full_store, target)
    for _ in range(4):
        next(running)
    running.close()
    add_document(full_store, "new.md", ["Fay"])
    with pytest.raises(StoreError, match="has changed since the copy"):
        copy(full_store, target)


def test_a_copy_is_of_one_state(open_store: OpenStore) -> None:
    source, target = open_store("embedded"), open_store("memory")
    assert isinstance(source, EmbeddedStore)
    fill_store(source)
    before = store_digest(source)
    running = copy_store.run(source, target)
    for _ in range(6):
        next(running)
    other = EmbeddedStore.open(source.url)
    other.remove_documents(other.documents.document_ids())
    other.close()
    assert running.result().changed
    assert store_digest(target) == before
    assert store_digest(source) != before


@pytest.mark.parametrize(
    "fill",
    [
        lambda store: add_document(store, "a.md", ["Ada"]),
        lambda store: store.set_meta({"embedder": "x"}),
        lambda store: require_property_graphs(store).put("people", [], []),
    ],
)
def test_a_target_with_anything_is_refused(
    full_store: Store, open_store: OpenStore, fill: Callable[[Store], object]
) -> None:
    target = open_store("embedded")
    fill(target)
    before = store_digest(target)
    with pytest.raises(StoreError, match="is not empty"):
        copy(full_store, target)
    assert store_digest(target) == before


def test_the_unfinished_copy_of_another_store_is_refused(
    full_store: Store, open_store: OpenStore
) -> None:
    target, other = open_store("embedded"), open_store("embedded")
    running = copy_store.run(full_store, target)
    for _ in range(3):
        next(running)
    running.close()
    with pytest.raises(StoreError, match="unfinished copy of"):
        copy(other, target)
    with pytest.raises(StoreError, match="unfinished copy of"):
        copy(target, other)
    with pytest.raises(StoreError, match="began without exceptions"):
        copy(full_store, target, without=("homonyms",))
    with pytest.raises(StoreError, match="to itself"):
        copy(full_store, full_store)


@pytest.mark.parametrize("name", COPIED_CAPABILITIES)
def test_capabilities_the_target_lacks_are_refused_or_left_out(
    name: str, open_store: OpenStore
) -> None:
    source, whole = open_store("memory"), open_store("memory")
    fill_store(source)
    held = {field.name: getattr(whole.capabilities, field.name) for field in fields(Capabilities)}
    target = MinimalStore(whole, Capabilities(**{**held, name: None}))
    with pytest.raises(MissingCapability) as caught:
        copy(source, target)
    assert f"--without {name}" in caught.value.fix
    assert whole.generation() == 0
    report = copy(source, target, without=(name,))
    assert report.left_out == (name,)
    missing = set(store_digest(source).differing(store_digest(target)))
    assert missing
    assert not missing & {"documents", "mentions", "chunk texts", "chunk vectors", "ledger"}


def test_a_part_that_the_source_does_not_use_may_be_missing(open_store: OpenStore) -> None:
    source, whole = open_store("embedded"), open_store("memory")
    add_document(source, "a.md", ["Ada"], link=True)
    (chunk,) = source.documents.chunks(_chunk_ids(source)).values()
    source.texts("chunk").add([(chunk.id, chunk.searched_text)])
    target = MinimalStore(whole, Capabilities(contents=whole.contents))
    assert copy(source, target).hash == store_digest(source).hash


def test_a_target_that_cannot_list_its_contents_is_refused(open_store: OpenStore) -> None:
    source, whole = open_store("memory"), open_store("memory")
    fill_store(source)
    held = {field.name: getattr(whole.capabilities, field.name) for field in fields(Capabilities)}
    target = MinimalStore(whole, Capabilities(**{**held, "contents": None}))
    with pytest.raises(MissingCapability, match="listing its contents"):
        copy(source, target)
    assert whole.generation() == 0


def test_a_copy_may_be_made_without_comparing_hashes(open_store: OpenStore) -> None:
    source, target = open_store("memory"), open_store("memory")
    fill_store(source)
    report = copy_store(source, target, verify=False)
    assert (report.hash, report.parts) == ("", {})
    assert store_digest(source) == store_digest(target)


def test_an_unknown_part_is_refused(full_store: Store, open_store: OpenStore) -> None:
    with pytest.raises(UnknownName, match="property_graphs"):
        copy(full_store, open_store("memory"), without=("graph",))


def test_a_copy_that_differs_is_an_error(full_store: Store, open_store: OpenStore) -> None:
    target = open_store("memory")
    index = target.texts("entity")
    put = index.put
    index.put = lambda items: put(items[1:])
    with pytest.raises(StoreError, match=r"differs from .* entity texts") as caught:
        copy(full_store, target)
    assert "knotwork doctor" in caught.value.fix
    with pytest.raises(StoreError, match="unfinished"):
        require_finished(target)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 2}', '{"format": 1, "without": 3}'])
def test_a_mark_that_cannot_be_read_is_an_error(text: str, open_store: OpenStore) -> None:
    store = open_store("memory")
    store.set_meta({"copy": text})
    with pytest.raises(StoreError, match="a mark that this version cannot read"):
        require_finished(store)
