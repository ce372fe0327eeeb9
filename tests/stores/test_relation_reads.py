"""Relations come back from both stores as they were contributed, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.memory import MemoryStore
from knotwork.records import Mention, Relation, Span, content_id, entity_id
from knotwork.testing._store_contract import add_document

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
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    opened: list[Store] = [
        MemoryStore(),
        EmbeddedStore.open(tmp_path / "index.knot", create=True),
    ]
    yield opened
    for store in opened:
        store.close()


def write(store: Store, relations: list[Relation]) -> None:
    ends = {(r.chunk_id, end) for r in relations for end in (r.source, r.target)}
    forms = {entity_id(form): form for form in FORMS}
    store.graph.upsert(
        mentions=[Mention(chunk, forms[end], forms[end]) for chunk, end in sorted(ends)],
        relations=relations,
    )


def key(relation: Relation) -> tuple[str, str, str]:
    return relation.source, relation.relation, relation.target


@settings(max_examples=40, deadline=None)
@given(st.lists(contributions, max_size=12))
def test_both_stores_give_back_what_they_were_given(relations):
    kept = {(r.chunk_id, *key(r)): r for r in relations}
    expected = {
        chunk: sorted((r for r in kept.values() if r.chunk_id == chunk), key=key)
        for chunk in CHUNKS
    }
    with TemporaryDirectory() as folder:
        for store in (MemoryStore(), EmbeddedStore.open(Path(folder, "index.knot"), create=True)):
            write(store, relations)
            graph = store.graph
            found = graph.relations([*CHUNKS, content_id("absent"), "no id"])
            assert found == {chunk: rows for chunk, rows in expected.items() if rows}
            store.close()


def test_relations_go_with_their_chunk(stores):
    for store in stores:
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
