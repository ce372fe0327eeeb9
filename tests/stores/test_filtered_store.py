"""A filtered store holds what a fresh store of the allowed documents would hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests.stores.minimal_store import MinimalStore

from knotwork._extensions.filters.filtered_store import FilteredStore
from knotwork._extensions.testing.enrichment_contract import (
    sample_community,
    sample_reading,
    sample_report,
)
from knotwork._extensions.testing.field_contract import put_document, where
from knotwork._extensions.testing.store_contract import sample_mention, sample_relation
from knotwork._stores.base import LedgerEntry, Store, tables_of
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import FilterError, StoreReadOnly, UnknownName
from knotwork.records import (
    ENTITY_EDGES,
    AllOf,
    AnyOf,
    Description,
    EntitySummary,
    Homonym,
    Not,
    SameAs,
    Verdict,
    content_id,
    entity_id,
)

pytestmark = pytest.mark.slow


NAMES = ["Ada", "Bob", "Cy", "Dee", "Hub", "北京"]
VALUES = ["x", "X y", "2", "10", "2021", "2021-05-03", "3 May 2021", "x, 10", "北京"]
FIELDS = ["author", "tags", "date", "year", "title", "path", "page", "language"]

values = st.sampled_from(VALUES)
conditions = st.one_of(
    st.builds(
        where,
        st.sampled_from(FIELDS),
        st.sampled_from(["=", "<", "<=", ">", ">=", "contains"]),
        values,
    ),
    st.builds(lambda field: where(field, "is set"), st.sampled_from(FIELDS)),
    st.builds(
        lambda field, many: where(field, "=", *many),
        st.sampled_from(FIELDS),
        st.lists(values, min_size=1, max_size=3),
    ),
)
filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
    ),
    max_leaves=5,
)


@st.composite
def sources(draw):
    """Return what is needed to put a document, and its mentions and relations by chunk."""
    keys = st.sampled_from(["author", "tags", "date", "year", "tag", "Keywords"])
    count = draw(st.integers(1, 3))
    return {
        "metadata": draw(st.dictionaries(keys, values, max_size=3)),
        "title": draw(st.sampled_from(["", *VALUES])),
        "pages": draw(st.sampled_from([(), ("1",), ("i", "2", "10")])),
        "chunks": count,
        "names": [
            draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
            for _ in range(count)
        ],
    }


def put(store, uri, source) -> None:
    given = {key: value for key, value in source.items() if key != "names"}
    chunks = put_document(store, uri, **given)
    store.texts("chunk").add((chunk, "fox dog") for chunk in chunks)
    for chunk, names in zip(chunks, source["names"], strict=False):
        store.graph.upsert(
            mentions=[
                sample_mention(chunk, name, about=1 / (n + 1)) for n, name in enumerate(names)
            ],
            relations=[
                sample_relation(chunk, one.lower(), "knows", other.lower())
                for one, other in pairwise(names)
            ],
        )


def always_there(store) -> None:
    """Put a document that has every field, so that any filter may name it."""
    metadata = dict.fromkeys(["author", "tags", "year"], "none") | {"date": "1999"}
    put_document(store, "all/fields", metadata, title="none", pages=("none",))


@contextmanager
def opened(kind) -> Iterator[Store]:
    if kind == "memory":
        yield open_store("memory:")
        return
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore.open(Path(folder) / "store.knot", create=True)
        yield store
        store.close()


def shown(store) -> dict[str, object]:
    """Return all that a store holds of documents and their graph, but for numbers."""
    graph = store.graph
    documents = store.documents.document_ids()
    chunks = store.documents.chunk_ids_of(documents)
    every = [i for ids in chunks.values() for i in ids]
    entities = [entity_id(name.lower()) for name in NAMES]
    around = graph.neighbours([*documents, *every, *entities])
    stated = [(e.source, e.relation, e.target) for e in graph.edges(types=ENTITY_EDGES)]
    return {
        "documents": documents,
        "chunks": chunks,
        "entities": set(graph.entities(entities)),
        "forms": set(graph.lookup([name.lower() for name in NAMES])),
        "mentions": graph.mentions(every),
        "relations": graph.relations(every),
        "links": {
            key: {(link.relation, link.forward, link.other) for link in links}
            for key, links in graph.relation_links(entities, limit=1_000).items()
        },
        "stating": {n: graph.relation_chunks(stated, limit=n) for n in (1, 1_000)},
        "about": {fan: graph.about(entities, fan=fan) for fan in (1, 2, 50)},
        "nodes": [node.id for node in graph.find(limit=1_000)],
        "edges": [(e.type, e.source, e.target, e.relation, e.chunks) for e in graph.edges()],
        "around": {
            key: {(e.type, e.source, e.target, e.relation, e.chunks) for e in edges}
            for key, edges in around.items()
        },
        "found": {item.id for item in store.texts("chunk").search("fox", k=1_000)},
    }


@pytest.mark.parametrize("kind", ["memory", "embedded"])
@given(given_sources=st.lists(sources(), max_size=5), wanted=filters)
def test_it_equals_a_fresh_store_of_what_is_allowed(kind, given_sources, wanted) -> None:
    by_uri = {f"f/{n}": source for n, source in enumerate(given_sources)}
    oracle = open_store("memory:")
    always_there(oracle)
    for uri, source in by_uri.items():
        put(oracle, uri, source)
    try:
        expected = oracle.fields.select(wanted)
    except FilterError:
        reject()  # an order that no value can have
    with opened(kind) as store, opened(kind) as fresh:
        always_there(store)
        for uri, source in by_uri.items():
            put(store, uri, source)
        selection = store.fields.select(wanted)
        assert (set(selection.documents), set(selection.chunks)) == (
            set(expected.documents),
            set(expected.chunks),
        )
        left = FilteredStore(store, store.fields, selection)
        selected = list(selection.documents)
        if left.documents.chunk_ids_of(selected) != store.documents.chunk_ids_of(selected):
            return  # a fresh store cannot hold a part of a document
        for uri in ("all/fields", *by_uri):
            if content_id("document", uri) in selection.documents:
                if uri in by_uri:
                    put(fresh, uri, by_uri[uri])
                else:
                    always_there(fresh)
        assert shown(left) == shown(fresh)
        apart = FilteredStore(store, store.fields, selection, is_apart=True)
        assert counted(apart, apart.capabilities.fields) == counted(fresh, fresh.fields)


def counted(store, fields) -> dict[str, object]:
    """Return names, types and numbers, which are those of the whole store unless it is apart."""
    graph, schema = store.graph, store.graph.schema()
    entities = [entity_id(name.lower()) for name in NAMES]
    return {
        "documents": store.documents.document_count(),
        "chunks": store.documents.chunk_count(),
        "entities": graph.entities(entities),
        "count": graph.entity_count(),
        "nodes": graph.find(limit=1_000),
        "schema": schema,
        "order": list(schema.relations),
        "fields": fields.fields(),
    }


@pytest.fixture(params=["memory", "embedded"])
def store(request):
    with opened(request.param) as made:
        yield made


def select(store, condition) -> FilteredStore:
    return FilteredStore(store, store.fields, store.fields.select(condition))


def test_a_relation_is_found_behind_many_excluded_ones(store) -> None:
    excluded = put_document(store, "a", {"n": "1"}, chunks=40)
    (allowed,) = put_document(store, "b", {"n": "2"})
    for number, chunk in enumerate(excluded):
        names = ["hub", f"other {number}", "end"]
        store.graph.upsert(
            mentions=[sample_mention(chunk, name, about=1.0) for name in names],
            relations=[
                sample_relation(chunk, "hub", "knows", f"other {number}", weight=9),
                sample_relation(chunk, "hub", "meets", "end"),
            ],
        )
    store.graph.upsert(
        mentions=[sample_mention(allowed, name, about=0.1) for name in ("hub", "end")],
        relations=[sample_relation(allowed, "hub", "meets", "end")],
    )
    left = select(store, where("n", "=", "2"))
    (relates,) = left.graph.neighbours([entity_id("hub")], types=["RELATES"], fan=1)[
        entity_id("hub")
    ]
    assert (relates.relation, relates.chunks) == ("meets", (allowed,))
    assert [item.id for item in left.graph.about([entity_id("hub")], fan=3)[entity_id("hub")]] == [
        allowed
    ]
    walked = left.graph.explore([entity_id("hub")])
    assert {node.name for node in walked.nodes} == {"hub", "end"}


def test_reports_and_summaries_of_excluded_passages_are_not_shown(store) -> None:
    (a,), (b,), (c,) = (put_document(store, uri, {"n": uri}) for uri in "abc")
    for chunk, names in ((a, ["ada", "bob"]), (b, ["bob", "cy"]), (c, ["cy"])):
        store.graph.upsert(mentions=[sample_mention(chunk, name) for name in names])
    mixed = sample_community("mixed", of="ada bob cy", chunks=(a, b, c))
    alone = sample_community("alone", of="cy", chunks=(c,), level=1, parent="mixed")
    store.communities.replace([mixed, alone])
    store.communities.put_reports([sample_report(mixed, a, c), sample_report(alone, c)])
    store.texts("report").add([(mixed.id, "fox"), (alone.id, "fox")])
    store.readings.put(
        [sample_reading(chunk) for chunk in (b, c)],
        [
            Description(b, "cy", "Cy, as b has it"),
            Description(c, "cy", "Cy, as c has it"),
        ],
    )
    store.readings.put_summaries([EntitySummary(entity_id("cy"), "Cy", "model", "key")])

    left = select(store, where("n", "=", "c"))
    held = left.capabilities.communities
    assert list(held.reports([mixed.id, alone.id])) == [alone.id]
    assert [item.id for item in left.texts("report").search("fox", k=9)] == [alone.id]
    assert held.communities([mixed.id])[mixed.id].chunk_ids == (c,)
    assert held.communities([mixed.id])[mixed.id].entity_ids == (entity_id("cy"),)
    assert held.levels() == [[mixed.id], [alone.id]]
    told = left.capabilities.readings.descriptions([entity_id("cy")])[entity_id("cy")]
    assert [description.chunk_id for description in told] == [c]
    assert left.capabilities.readings.summaries([entity_id("cy")]) == {}
    both = select(store, where("n", "=", "b", "c"))
    assert list(both.capabilities.readings.summaries([entity_id("cy")])) == [entity_id("cy")]
    store.communities.put_reports([replace(sample_report(alone, c), source="model")])
    assert list(both.capabilities.communities.reports([alone.id])) == [alone.id]
    only_c = store.fields.select(where("n", "=", "c"))
    apart = FilteredStore(store, store.fields, only_c, is_apart=True)
    assert apart.capabilities.communities.reports([alone.id]) == {}, "b says more of cy"
    far = sample_community("alone", of="ada", chunks=(c,), level=1, parent="mixed")
    store.communities.replace([mixed, far])
    store.communities.put_reports([sample_report(far, c)])
    assert select(store, where("n", "=", "c")).capabilities.communities.reports([far.id]) == {}
    none = select(store, where("n", "=", "a")).capabilities.communities
    assert none.reports([mixed.id, alone.id]) == {}


def test_its_own_graph_answers_statements(store) -> None:
    for uri in "ab":
        (chunk,) = put_document(store, uri, {"n": uri})
        store.graph.upsert(mentions=[sample_mention(chunk, name) for name in (f"only {uri}", "x")])
    left = select(store, where("n", "=", "b"))
    rows = left.capabilities.cypher("MATCH (e:Entity) RETURN e.name ORDER BY e.name").rows
    assert rows == (("only b",), ("x",))
    assert left.capabilities.cypher("MATCH (d:Document) RETURN d.uri").rows == (("b",),)


def test_communities_and_questions_of_excluded_passages_are_no_nodes(store) -> None:
    (a,), (b,) = (put_document(store, uri, {"n": uri}) for uri in "ab")
    for chunk, names in ((a, ["ada"]), (b, ["bob"])):
        store.graph.upsert(mentions=[sample_mention(chunk, name) for name in names])
    mixed = sample_community("mixed", of="ada bob", chunks=(a, b))
    only = sample_community("only", of="ada", chunks=(a,), level=1, parent="mixed")
    store.communities.replace([mixed, only])
    store.communities.put_reports([sample_report(mixed, a, b), sample_report(only, a)])
    store.questions.put({a: ["Of a?"], b: ["Of b?"]})
    left = select(store, where("n", "=", "b"))
    (row,) = left.capabilities.cypher(
        "MATCH (n)-[:IN_COMMUNITY]->(c:Community)"
        " RETURN c.id, c.title, c.entity_count, c.chunk_count, count(n)"
    ).rows
    assert row == (mixed.id, None, 1, 1, 2)
    assert left.capabilities.cypher("MATCH (:Chunk)-[:ANSWERS]->(q) RETURN q.name").rows == (
        ("Of b?",),
    )
    assert left.capabilities.cypher("MATCH (q:Question) RETURN count(q)").rows == ((1,),)


def test_it_cannot_be_written_to(store) -> None:
    put_document(store, "a", {"n": "1"})
    left = select(store, where("n", "=", "1"))
    with pytest.raises(StoreReadOnly):
        left.transaction()
    with pytest.raises(StoreReadOnly):
        left.remove_documents([])
    with pytest.raises(StoreReadOnly):
        left.texts("chunk").add([("a", "b")])
    assert isinstance(left, Store)


def test_it_has_the_optional_parts_of_its_store() -> None:
    whole = open_store("memory:")
    selection = whole.fields.select(where("title", "=", "none"))
    plain = FilteredStore(MinimalStore(whole), whole.fields, selection)
    assert plain.capabilities == Capabilities(
        fields=plain.capabilities.fields, whole=plain.capabilities.whole
    )
    rich = FilteredStore(whole, whole.fields, selection).capabilities
    missing = {field.name for field in fields(rich) if getattr(rich, field.name) is None}
    absent = {"contents", "full_check", "live_graphs", "opener", "self_check"}
    absent |= {"corrections", "vector_replacement"}
    assert missing == absent | {"companions", "tables"}
    assert rich.whole is whole


def test_its_sources_fields_and_tables_match_allowed_documents() -> None:
    with opened("embedded") as store:
        for uri in "ab":
            put_document(store, uri, {"n": uri, f"only {uri}": "x"}, modified_day=19_000)
        store.ledger.put([LedgerEntry("c", "", "", "", "", 1, 1, error="secret")])
        left = select(store, where("n", "=", "b"))
        fields = left.capabilities.fields
        assert [entry.uri for entry in left.ledger.entries()] == ["b"]
        assert list(left.ledger.get(["a", "b", "c"])) == ["b"]
        assert left.ledger.settings_counts().total() == 1
        assert "only a" not in {field.name for field in fields.fields()}
        assert set(fields.select(Not(where("n", "=", "x"))).documents) == set(left.selection[0])
        with pytest.raises(UnknownName) as unknown:
            fields.select(where("only", "=", "x"))
        assert "only a" not in str(unknown.value)
        assert tables_of(store) is not None
        assert tables_of(left) is None


def test_decisions_on_names_are_of_allowed_entities_and_have_no_reason(store) -> None:
    for uri, names in (("a", ["ada", "bob"]), ("b", ["bob", "cy"])):
        chunks = put_document(store, uri, {"n": uri}, chunks=2)
        store.graph.upsert(mentions=[sample_mention(c, name) for c in chunks for name in names])
    pairs = [sorted(map(entity_id, pair)) for pair in (("ada", "bob"), ("bob", "cy"))]
    store.resolutions.put([SameAs(*pair, Verdict.SAME, "model", "as a says") for pair in pairs])
    held = store.documents.chunk_ids_of(store.documents.document_ids())
    a, b = (held[content_id("document", uri)] for uri in "ab")
    bob = Homonym(entity_id("bob"), (tuple(a), tuple(b)), "as a says")
    cy = Homonym(entity_id("cy"), tuple((chunk,) for chunk in b), "as a says")
    store.homonyms.replace([bob, cy])
    left = select(store, where("n", "=", "b")).capabilities
    (decision,) = left.resolutions.decisions()
    assert (list(decision.pair), decision.reason) == (pairs[1], "")
    assert left.resolutions.groups().keys() == set(pairs[1])
    assert left.resolutions.of_entities([entity_id("ada")]) == {}
    (homonym,) = left.homonyms.read().values()
    assert (homonym.entity_id, homonym.reason) == (entity_id("cy"), "")
