"""An index shows what follows from its contributions after any sequence of operations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.plain_store import PlainGraph

from knotwork._extensions.testing.enrichment_contract import (
    reading_snapshot,
    resolution_snapshot,
    sample_community,
    sample_decision,
    sample_reading,
    sample_report,
    sample_summary,
)
from knotwork._extensions.testing.store_contract import (
    add_document,
    sample_document,
    sample_mention,
    sample_relation,
    snapshot,
)
from knotwork._stores.base import (
    Store,
    require_communities,
    require_cypher,
    require_questions,
    require_readings,
    require_resolutions,
)
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.records import (
    PERSON_SOURCE,
    Description,
    Mention,
    ReadingStatus,
    Span,
    Verdict,
    content_id,
    entity_id,
)

pytestmark = pytest.mark.slow


Operation = Callable[[Store], object]

NAMES = ["Ada", "ADA", "Bob", "Cy", "Dee", "北京", "Hub"]
WORDS = ["fox", "dog", "the", "北京大学", "3.5", "run", "running"]
URIS = [f"{n}.md" for n in range(4)]
CHUNKS = [content_id("loose", n) for n in range(5)] + [
    chunk.id for uri in URIS for chunk in sample_document(uri, ["", ""])[2]
]
SEEDS = [entity_id(name.lower()) for name in NAMES]

chunk_ids = st.sampled_from(CHUNKS)
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def upserts(draw: st.DrawFn) -> Operation:
    chunk = draw(chunk_ids)
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    mentions = [
        sample_mention(
            chunk,
            name,
            type_=draw(st.sampled_from(["", "person", "place"])),
            times=draw(st.integers(0, 3)),
            about=draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        )
        for name in names
    ]
    forms = st.sampled_from([mention.normal_form for mention in mentions])
    relations = [
        sample_relation(chunk, source, relation, target, weight=weight)
        for source, relation, target, weight in draw(
            st.lists(
                st.tuples(forms, st.sampled_from(["r", "s", "因为"]), forms, st.integers(1, 5)),
                max_size=5,
            )
        )
    ]
    return lambda store: store.graph.upsert(mentions=mentions, relations=relations)


@st.composite
def additions(draw: st.DrawFn) -> Operation:
    uri = draw(st.sampled_from(URIS))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.lower))
    link = draw(st.booleans()) and "Hub" not in names
    return lambda store: add_document(store, uri, names, link=link)


@st.composite
def index_changes(draw: st.DrawFn) -> Operation:
    items = draw(st.lists(st.tuples(chunk_ids, texts), max_size=4))
    gone = draw(st.lists(chunk_ids, max_size=2))
    rows = np.array(draw(st.lists(st.integers(-2, 2), min_size=4, max_size=4)), dtype=np.float32)

    def change(store: Store) -> None:
        store.texts("chunk").add(items)
        store.vectors("chunk").put((key, text, rows + len(text)) for key, text in items)
        store.texts("chunk").remove(gone)
        store.vectors("chunk").remove(gone)

    return change


@st.composite
def community_changes(draw: st.DrawFn) -> Operation:
    communities = []
    for place in draw(st.sets(st.integers(0, 4), max_size=4)):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.lower))
        chunks = draw(st.sets(chunk_ids, max_size=3))
        community = sample_community(str(place), of=" ".join(names), chunks=tuple(chunks))
        communities.append(community)
    cited = [draw(st.lists(chunk_ids, max_size=2)) for _ in communities]
    reported = draw(st.integers(0, len(communities)))

    def change(store: Store) -> None:
        require_communities(store).replace(communities)
        require_communities(store).put_reports(
            sample_report(community, *chunks)
            for community, chunks in list(zip(communities, cited, strict=True))[:reported]
        )

    return change


@st.composite
def question_changes(draw: st.DrawFn) -> Operation:
    asked = st.lists(st.sampled_from(["Who?", "谁？", "When is it? \ud800"]), max_size=3)
    questions = draw(st.dictionaries(chunk_ids, asked, max_size=3))
    gone = draw(st.lists(chunk_ids, max_size=1))

    def change(store: Store) -> None:
        require_questions(store).put(questions)
        require_questions(store).remove_chunks(gone)

    return change


def own_graph(store: Store) -> list[object]:
    """Return all nodes and relationships that statements see, in their order."""
    run = require_cypher(store)
    nodes = run("MATCH (n) RETURN n, properties(n)", row_limit=10_000).rows
    edges = run("MATCH (a)-[r]->(b) RETURN a.id, r, b.id", row_limit=10_000).rows
    return [nodes, edges]


def community_snapshot(store: Store) -> list[object]:
    held = require_communities(store)
    ids = [key for level in held.levels() for key in level]
    holding = [held.of_entities(SEEDS), held.of_chunks(CHUNKS)]
    return [held.communities(ids), held.stale(), held.reports(ids), holding]


@st.composite
def reading_changes(draw: st.DrawFn) -> Operation:
    written = st.sampled_from(["", "short", "北京 | \ud800", "x" * 300])
    forms = st.sampled_from([name.lower() for name in NAMES])
    statuses = st.sampled_from(ReadingStatus)
    readings = [
        sample_reading(chunk, status, text=text)
        for chunk, status, text in draw(
            st.lists(st.tuples(chunk_ids, statuses, written), max_size=3)
        )
    ]
    read = st.sampled_from([reading.chunk_id for reading in readings] or CHUNKS)
    descriptions = [
        Description(chunk, form, text)
        for chunk, form, text in draw(
            st.lists(st.tuples(st.one_of(read, chunk_ids), forms, written), max_size=5)
        )
    ]
    summarized = draw(st.lists(st.tuples(forms, written), max_size=3))
    gone = draw(st.lists(chunk_ids, max_size=2))

    def change(store: Store) -> None:
        require_readings(store).put(readings, descriptions)
        require_readings(store).put_summaries(
            sample_summary(form, text=text) for form, text in summarized
        )
        require_readings(store).remove_chunks(gone)

    return change


def all_readings(store: Store) -> object:
    return reading_snapshot(store, chunks=CHUNKS, forms=[name.lower() for name in NAMES])


@st.composite
def resolution_changes(draw: st.DrawFn) -> Operation:
    pairs = st.lists(
        st.sampled_from(sorted({name.lower() for name in NAMES})),
        min_size=2,
        max_size=2,
        unique=True,
    )
    decisions = [
        sample_decision(
            *draw(pairs),
            draw(st.sampled_from([Verdict.SAME, Verdict.SAME, Verdict.DIFFERENT])),
            source=draw(st.sampled_from(["rules", "model", PERSON_SOURCE])),
            reason=draw(st.sampled_from(["", "缩写 \ud800"])),
            score=draw(st.sampled_from([0, 0.1, 0.5, 1])),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    removed = [sample_decision(*pair).pair for pair in draw(st.lists(pairs, max_size=1))]
    touched = draw(st.lists(st.sampled_from(SEEDS), max_size=2))
    settled = draw(st.lists(st.sampled_from(SEEDS), max_size=4))

    def change(store: Store) -> None:
        require_resolutions(store).put(decisions)
        require_resolutions(store).remove(removed)
        require_resolutions(store).touch(touched)
        require_resolutions(store).settle(settled)

    return change


def all_resolutions(store: Store) -> object:
    return resolution_snapshot(store, [name.lower() for name in NAMES])


def removals() -> st.SearchStrategy[Operation]:
    documents = st.lists(st.sampled_from(URIS), max_size=2).map(
        lambda uris: [content_id("document", uri) for uri in uris]
    )
    return st.one_of(
        documents.map(lambda ids: lambda store: store.remove_documents(ids)),
        st.lists(chunk_ids, max_size=3).map(
            lambda ids: lambda store: store.graph.remove_chunks(ids)
        ),
    )


operations = st.one_of(
    upserts(),
    upserts(),
    additions(),
    index_changes(),
    removals(),
    community_changes(),
    reading_changes(),
    resolution_changes(),
    question_changes(),
)
explorations = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in", "out"]),
        "depth": st.integers(0, 3),
        "fan": st.integers(1, 3),
        "limit": st.integers(0, 9),
        "types": st.sampled_from([None, ["MENTIONS"], ["RELATES", "ABOUT", "NEXT", "HAS_CHUNK"]]),
    }
)


@contextmanager
def both_stores() -> Iterator[tuple[Store, Store]]:
    with tempfile.TemporaryDirectory() as folder:
        embedded = EmbeddedStore.open(Path(folder) / "index.knot", create=True)
        try:
            with closing(open_store("memory:")) as other:
                yield other, embedded
        finally:
            embedded.close()


def compare(memory: Store, embedded: Store, options: dict[str, object], query: str) -> None:
    expected, found = snapshot(memory), snapshot(embedded)
    for part, value in expected.items():
        if part != "texts":
            assert found[part] == value, part
    assert community_snapshot(embedded) == community_snapshot(memory)
    assert all_readings(embedded) == all_readings(memory)
    assert all_resolutions(embedded) == all_resolutions(memory)
    assert own_graph(embedded) == own_graph(memory)
    for name in ("chunk", "entity"):
        scored = embedded.texts(name).search(query, k=5)
        oracle = memory.texts(name).search(query, k=5)
        assert [s.id for s in scored] == [s.id for s in oracle]
        assert [s.score for s in scored] == pytest.approx([s.score for s in oracle], abs=1e-9)
        words = [*query.lower().split(), "run"]
        frequencies = memory.texts(name).document_frequencies(words)
        assert embedded.texts(name).document_frequencies(words) == frequencies
    assert embedded.graph.explore(SEEDS[::2], **options) == memory.graph.explore(
        SEEDS[::2], **options
    )


@given(st.lists(operations, max_size=12), explorations, texts)
def test_after_any_operations(
    steps: list[Operation], options: dict[str, object], query: str
) -> None:
    with both_stores() as (at_once, embedded):
        with at_once.transaction():
            for step in steps:
                step(at_once)
        for step in steps:
            step(embedded)
        compare(at_once, embedded, options, query)
        check_graph(embedded, options)


def check_graph(store: Store, options: dict[str, object]) -> None:
    """Compare the graph of a store with the one that its contributions make."""
    plain, graph = PlainGraph(store, CHUNKS), store.graph
    entities = plain.entities()
    assert graph.entities(SEEDS) == entities
    assert graph.entity_count() == sum(not entity.is_keyword for entity in entities.values())
    assert list(graph.edges()) == plain.edges()
    ids = [*SEEDS, *CHUNKS, *store.documents.document_ids()]
    for direction, fan in (("both", 2), ("out", None), ("in", 1)):
        found = graph.neighbours(ids, direction=direction, fan=fan)
        assert found == plain.neighbours(ids, direction=direction, fan=fan)
    assert list(graph.explore(SEEDS[::2], **options).edges) == plain.explore(SEEDS[::2], **options)


@given(st.lists(operations, max_size=5), st.lists(operations, min_size=1, max_size=5), explorations)
def test_a_rollback_leaves_what_was(
    before: list[Operation], abandoned: list[Operation], options: dict[str, object]
) -> None:
    with both_stores() as (memory, embedded):
        compare_around_a_rollback(memory, embedded, before, abandoned, options)


def compare_around_a_rollback(
    memory: Store,
    store: Store,
    before: list[Operation],
    abandoned: list[Operation],
    options: dict[str, object],
) -> None:
    """Compare the stores inside a transaction, and after one that was rolled back."""
    for step in before:
        step(memory)
        step(store)
    with store.transaction():
        for step in before:
            step(memory)
            step(store)
        compare(memory, store, options, "fox run")
    with pytest.raises(ZeroDivisionError), store.transaction():
        abandon(store, abandoned)
    compare(memory, store, options, "dog 北京")


def abandon(store: Store, steps: list[Operation]) -> None:
    for step in steps:
        step(store)
    raise ZeroDivisionError


@given(st.permutations(URIS), st.sets(st.sampled_from(URIS)))
def test_order_and_removal_do_not_matter(order: list[str], gone: set[str]) -> None:
    names = {uri: [NAMES[n], NAMES[n + 1]] for n, uri in enumerate(URIS, start=1)}
    with both_stores() as (memory, embedded):
        for uri in order:
            add_document(embedded, uri, names[uri], link=True)
        embedded.remove_documents([content_id("document", uri) for uri in gone])
        require_resolutions(embedded).settle(
            SEEDS
        )  # what a removal touches is remembered until then
        for uri in URIS:
            if uri not in gone:
                add_document(memory, uri, names[uri], link=True)
        compare(memory, embedded, {}, "About Ada")


def test_a_hub_is_counted_exactly() -> None:
    chunks = [content_id("hub", n) for n in range(300)]
    with both_stores() as (memory, embedded):
        for store in (memory, embedded):
            for n, chunk in enumerate(chunks):
                spans = tuple(Span(m, m + 1) for m in range(n % 5))
                name = ("Hub", "HUB", "hub")[n % 3]
                store.graph.upsert(mentions=[Mention(chunk, "hub", name, "t" * (n % 2), spans)])
            store.graph.remove_chunks(chunks[::3])
        expected = memory.graph.lookup(["hub"])
        assert embedded.graph.lookup(["hub"]) == expected
        assert expected["hub"].chunk_count == 200
