"""Relations come back as they were contributed, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.records import Mention, Relation, Span, content_id, entity_id

pytestmark = pytest.mark.slow


CHUNKS = [content_id("chunk", number) for number in range(3)]
FORMS = ["ada", "bob", "艾达"]

contributions = st.builds(
    Relation,
    st.sampled_from(CHUNKS),
    st.sampled_from(FORMS).map(entity_id),
    st.sampled_from(["leads", "knows", "相关"]),
    st.sampled_from(FORMS).map(entity_id),
    st.integers(1, 9),
    st.none() | st.builds(Span, st.integers(0, 9), st.integers(10, 19)),
    st.text(max_size=8),
)


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(open_store("memory:")) as opened:
        yield opened


def write(store: Store, relations: list[Relation]) -> None:
    ends = {(r.chunk_id, end) for r in relations for end in (r.source, r.target)}
    forms = {entity_id(form): form for form in FORMS}
    store.graph.upsert(
        mentions=[Mention(chunk, forms[end], forms[end]) for chunk, end in sorted(ends)],
        relations=relations,
    )


def key(relation: Relation) -> tuple[str, str, str]:
    return relation.source, relation.relation, relation.target


@given(st.lists(contributions, max_size=12))
def test_relations_are_returned_as_given(relations):
    kept = {(r.chunk_id, *key(r)): r for r in relations}
    expected = {
        chunk: sorted((r for r in kept.values() if r.chunk_id == chunk), key=key)
        for chunk in CHUNKS
    }
    with closing(open_store("memory:")) as store:
        write(store, relations)
        graph = store.graph
        found = graph.relations([*CHUNKS, content_id("absent"), "no id"])
        assert found == {chunk: rows for chunk, rows in expected.items() if rows}


def test_relations_go_with_their_chunk(store: Store):
    add_document(store, "a.md", ["Ada", "Bob"])
    (chunks,) = store.documents.chunk_ids_of([content_id("document", "a.md")]).values()
    ada, bob = entity_id("ada"), entity_id("bob")
    store.graph.upsert(
        mentions=[Mention(c, f, f) for c in chunks for f in ("ada", "bob")],
        relations=[Relation(chunk, ada, "leads", bob, description="why") for chunk in chunks],
    )
    assert store.graph.relations(chunks).keys() == set(chunks)
    store.remove_documents([content_id("document", "a.md")])
    assert store.graph.relations(chunks) == {}
