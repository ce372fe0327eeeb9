"""Contract suites for every `Store`: documents, ledger, settings, transactions, removal.

So that two natural keys have one id, as `IdCollisionContract` needs, ids have few bits in
`short_ids`. The module also builds the sample records of all suites for stores.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate, count

import numpy as np
import pytest

from knotwork import records
from knotwork._stores.base import FloatMatrix, LedgerEntry, Store
from knotwork._stores.capabilities import Capabilities
from knotwork.errors import IdCollision
from knotwork.records import (
    Block,
    BlockKind,
    BoxedSpan,
    Chunk,
    Document,
    Mention,
    Page,
    Relation,
    Section,
    Span,
    StyledSpan,
    TextStyle,
    TimedSpan,
    content_id,
    entity_id,
)


def sample_mention(
    chunk_id: str, name: str, *, type_: str = "", times: int = 1, about: float = 0.0
) -> Mention:
    """Return a mention of the entity whose normal form is ``name`` in lower case."""
    spans = tuple(Span(10 * index, 10 * index + 3) for index in range(times))
    return Mention(chunk_id, name.lower(), name, type_, spans, about)


def sample_relation(
    chunk_id: str, source: str, relation: str, target: str, *, weight: int = 1
) -> Relation:
    """Return a relation between two entities, given by their normal forms."""
    return Relation(chunk_id, entity_id(source), relation, entity_id(target), weight)


def sample_document(
    uri: str,
    texts: Sequence[str],
    *,
    title: str = "",
    with_parent: bool = False,
    with_blocks: bool = False,
) -> tuple[Document, list[Section], list[Chunk]]:
    """Return a document with one chunk per text, all in one section below the root.

    ``with_parent`` adds a parent chunk of all of them, ``with_blocks`` a definition, a time, a box
    and a style of the whole text.
    """
    text = "\n".join(texts)
    whole = Span(0, len(text))
    section = Block(BlockKind.SECTION, whole, "Part", level=1)
    term = Block(BlockKind.DEFINITION, whole, "a Term, 术语", 'What "it" means:')
    blocks = (term,) if with_blocks else ()
    metadata, pages = {"author": "A. N. Other"}, (Page("1", 0),)
    times = (TimedSpan(Span(0, len(text)), 1.25, 3_600.5),) if with_blocks else ()
    boxes = (BoxedSpan(Span(0, len(text)), 0.1, 0.25, 0.9, 0.5),) if with_blocks else ()
    styles = (StyledSpan(Span(0, len(text)), TextStyle.CODE),) if with_blocks else ()
    document = Document(
        uri,
        text,
        title,
        "text/plain",
        "en",
        metadata,
        (section, *blocks),
        pages,
        times=times,
        boxes=boxes,
        styles=styles,
    )
    root = Section(content_id(uri, "root"), document.id, None, 0, 0, title, Span(0, len(text)))
    part = Section(content_id(uri, "part"), document.id, root.id, 1, 1, "Part", Span(0, len(text)))
    above = content_id(uri, "parent") if with_parent else None
    starts = [0, *accumulate(len(part_text) + 1 for part_text in texts)]
    chunks = [
        Chunk(
            content_id(uri, "chunk", index),
            document.id,
            part.id,
            index,
            Span(start, start + len(chunk_text)),
            chunk_text,
            (Span(start, start + len(chunk_text)),) if chunk_text else (),
            title,
            ("Part",),
            above,
            blocks=blocks,
        )
        for index, (start, chunk_text) in enumerate(zip(starts, texts, strict=False))
    ]
    if above is not None:
        chunks.append(Chunk(above, document.id, root.id, 0, whole, text, (), title, is_parent=True))
    return document, [root, part], chunks


_ABSENT = content_id("absent")


class _Interruption(RuntimeError):
    """Raised to roll back a transaction."""


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """Run a block in a transaction that fails at its end."""
    with pytest.raises(_Interruption), store.transaction():  # noqa: PT012  the failure is the point
        yield
        raise _Interruption


def add_document(store: Store, uri: str, names: list[str], *, link: bool = False) -> str:
    """Add a document to every part of ``store``, with one chunk per name that it mentions."""
    document, sections, chunks = sample_document(uri, [f"About {name}." for name in names])
    ids = [chunk.id for chunk in chunks]
    with store.transaction():
        store.documents.put(document, sections, chunks)
        mentions = [sample_mention(i, name, about=0.5) for i, name in zip(ids, names, strict=True)]
        if link:
            mentions.append(sample_mention(ids[0], "Hub"))
        store.graph.upsert(
            mentions=mentions,
            relations=[sample_relation(ids[0], names[0].lower(), "of", "hub")] if link else [],
        )
        store.texts("chunk").add((chunk.id, chunk.text) for chunk in chunks)
        store.vectors("chunk").put((i, i, _unit(index)) for index, i in enumerate(ids))
        store.vectors("sentence").put((i, i, np.eye(4, dtype=np.float32)[:2]) for i in ids)
        store.texts("entity").add((mention.entity_id, mention.name) for mention in mentions)
        store.vectors("entity").put((m.entity_id, m.name, _unit(1)) for m in mentions)
        store.ledger.put([_entry(uri, document.id)])
    return document.id


def snapshot(store: Store) -> dict[str, object]:
    """Return the contents of ``store`` through its protocols, to compare two stores or states."""
    documents = store.documents.document_ids()
    chunks = [i for ids in store.documents.chunk_ids_of(documents).values() for i in ids]
    nodes = store.graph.find(limit=10_000)
    ids = [node.id for node in nodes]
    return {
        "documents": store.documents.documents(documents),
        "sections": store.documents.sections_of(documents),
        "chunks": store.documents.chunks(chunks),
        "counts": (store.documents.chunk_count(), store.documents.document_count()),
        "nodes": nodes,
        "entities": (store.graph.entities(ids), store.graph.entity_count()),
        "mentions": store.graph.mentions(chunks),
        "about": store.graph.about(ids, fan=3),
        "edges": list(store.graph.edges()),
        "neighbours": store.graph.neighbours(ids, fan=2),
        "schema": store.graph.schema(),
        "texts": [
            (index.count(), index.search("About Ada Hub", k=9))
            for index in (store.texts("chunk"), store.texts("entity"))
        ],
        "vectors": [
            (index.count(), {i: m.tolist() for i, m in sorted(index.get(ids).items())})
            for index in map(store.vectors, ("chunk", "sentence", "entity"))
        ],
        "near": store.vectors("chunk").search(_unit(0)[0], k=9),
        "ledger": list(store.ledger.entries()),
        "meta": dict(store.meta()),
    }


class DocumentStoreContract:
    """Tests of a `DocumentStore`. Subclass it and define the fixture ``store``."""

    def test_a_document_comes_back_as_it_was_put(self, store: Store) -> None:
        document, sections, chunks = sample_document(
            "a.md",
            ["First — 第一.", "", "Third \x00\n"],
            title="Ein Titel",
            with_parent=True,
            with_blocks=True,
        )
        store.documents.put(document, sections, chunks)
        assert store.documents.documents([document.id]) == {document.id: document}
        assert store.documents.sections_of([document.id])[document.id] == sections
        assert store.documents.chunks([c.id for c in chunks]) == {c.id: c for c in chunks}
        assert store.documents.chunk_ids_of([document.id])[document.id] == [c.id for c in chunks]
        assert (store.documents.chunk_count(), store.documents.document_count()) == (3, 1)

    def test_many_documents_are_read_at_once(self, store: Store) -> None:
        held = [sample_document(f"{n}.md", ["one", "two"], with_parent=True) for n in range(3)]
        for document, sections, chunks in held:
            store.documents.put(document, sections, chunks)
        ids = [document.id for document, _, _ in reversed(held)]
        asked = [_ABSENT, *ids, "no id", ids[0]]
        assert list(store.documents.documents(asked)) == ids
        chunks_of = store.documents.chunk_ids_of(asked)
        assert list(chunks_of) == ids
        assert chunks_of == {d.id: [c.id for c in chunks] for d, _, chunks in held}
        sections_of = store.documents.sections_of(asked)
        assert list(sections_of) == ids
        assert sections_of == {d.id: sections for d, sections, _ in held}
        wanted = [chunks_of[i][0] for i in ids]
        assert list(store.documents.chunks([_ABSENT, *wanted])) == wanted

    def test_putting_again_replaces(self, store: Store) -> None:
        store.documents.put(*sample_document("a.md", ["one", "two"]))
        document, sections, chunks = sample_document("a.md", ["new"])
        store.documents.put(document, sections, chunks)
        assert store.documents.documents([document.id])[document.id].text == "new"
        assert store.documents.chunk_ids_of([document.id])[document.id] == [chunks[0].id]
        assert store.documents.chunk_count() == 1

    def test_removing_leaves_the_others(self, store: Store) -> None:
        first, second = sample_document("a.md", ["one"]), sample_document("b.md", ["two"])
        store.documents.put(*first)
        store.documents.put(*second)
        store.documents.remove([first[0].id, _ABSENT])
        assert store.documents.document_ids() == [second[0].id]
        assert store.documents.chunk_ids_of([first[0].id]) == {}
        assert store.documents.sections_of([first[0].id]) == {}
        assert list(store.documents.chunks([first[2][0].id, second[2][0].id])) == [second[2][0].id]

    def test_absent_ids_are_absent(self, store: Store) -> None:
        ids = [_ABSENT, "", "no id", "ffffffffffffffff"]
        assert store.documents.documents(ids) == {}
        assert store.documents.chunks(ids) == {}
        assert store.documents.chunk_ids_of(ids) == {}
        assert store.documents.sections_of(ids) == {}

    def test_document_ids_ascend(self, store: Store) -> None:
        documents = [Document(f"{n}.md", "text") for n in range(9)]
        for document in documents:
            store.documents.put(document, [], [])
        assert store.documents.document_ids() == sorted(document.id for document in documents)


class LedgerContract:
    """Tests of a `Ledger`. Subclass it and define the fixture ``store``."""

    def test_entries_come_back_ordered_by_uri(self, store: Store) -> None:
        entries = [_entry(uri) for uri in ("b", "a", "c/é", "", "B")]
        entries.append(replace(_entry("site/a.html"), edge_keys=b"\0\xff", repeated="é"))
        store.ledger.put(entries)
        assert list(store.ledger.entries()) == sorted(entries, key=lambda entry: entry.uri)
        assert store.ledger.get(["b", "absent"]) == {"b": entries[0]}

    def test_put_replaces_and_remove_removes(self, store: Store) -> None:
        store.ledger.put([_entry("a"), _entry("b")])
        store.ledger.put([_entry("a", "00000000000000ff")])
        store.ledger.remove(["b", "absent"])
        assert list(store.ledger.entries()) == [_entry("a", "00000000000000ff")]

    def test_entries_without_an_error_are_counted_by_settings(self, store: Store) -> None:
        assert dict(store.ledger.settings_counts()) == {}
        failed = _entry("failed")
        indexed = [replace(_entry(uri), error_reason="", error="") for uri in "abc"]
        indexed[2] = replace(indexed[2], settings="others")
        store.ledger.put([failed, *indexed])
        assert dict(store.ledger.settings_counts()) == {"settings": 2, "others": 1}


class StoreContract(DocumentStoreContract, LedgerContract):
    """Tests of a `Store`. Subclass it and define the fixture ``store``."""

    def test_it_is_a_store(self, store: Store) -> None:
        assert isinstance(store, Store)
        assert isinstance(store.capabilities, Capabilities)
        assert store.url

    def test_settings_are_kept(self, store: Store) -> None:
        store.set_meta({"b": "2", "a": "1"})
        store.set_meta({"b": "3"})
        assert list(store.meta().items()) == [("a", "1"), ("b", "3")]

    def test_generation_changes_with_each_commit_alone(self, store: Store) -> None:
        first = store.generation()
        store.set_meta({"a": "1"})
        second = store.generation()
        add_document(store, "a.md", ["Ada"])
        third = store.generation()
        snapshot(store)
        assert len({first, second, third}) == 3
        assert store.generation() == third

    def test_a_transaction_that_fails_leaves_no_trace(self, store: Store) -> None:
        add_document(store, "a.md", ["Ada", "Hub"], link=True)
        before, generation = snapshot(store), store.generation()
        with undone(store):
            add_document(store, "b.md", ["Ada", "Bob"], link=True)
            store.remove_documents(store.documents.document_ids())
            store.set_meta({"a": "1"})
            assert snapshot(store) != before
        assert snapshot(store) == before
        assert store.generation() == generation
        add_document(store, "b.md", ["Bob"])
        assert store.documents.document_count() == 2

    def test_only_the_thread_of_a_transaction_is_writing(self, store: Store) -> None:
        seen: list[bool] = []
        assert not store.writing
        with store.transaction():
            assert store.writing
            reader = threading.Thread(target=lambda: seen.append(store.writing))
            reader.start()
            reader.join()
        assert seen == [False]
        assert not store.writing

    def test_nested_transactions_are_one(self, store: Store) -> None:
        with undone(store), store.transaction():
            store.set_meta({"a": "1"})
        assert dict(store.meta()) == {}

    def test_a_transaction_sees_its_own_writes(self, store: Store) -> None:
        with store.transaction():
            document = add_document(store, "a.md", ["Ada"])
            assert store.documents.chunk_ids_of([document])[document]
            assert store.texts("chunk").search("Ada", k=1)
            assert store.vectors("chunk").search(_unit(0)[0], k=1)
            assert store.graph.find(name="Ada")

    def test_other_threads_see_a_transaction_when_it_is_done(self, store: Store) -> None:
        add_document(store, "a.md", ["Ada"])
        before = snapshot(store)
        seen: list[dict[str, object]] = []
        with store.transaction():
            add_document(store, "b.md", ["Bob", "Ada"], link=True)
            reader = threading.Thread(target=lambda: seen.append(snapshot(store)))
            reader.start()
            reader.join()
        assert seen == [before]
        assert snapshot(store) != before

    def test_a_block_reads_one_state_while_others_write(self, store: Store) -> None:
        add_document(store, "a.md", ["Ada"])
        with store.reading():
            before, generation = snapshot(store), store.generation()
            writer = threading.Thread(target=add_document, args=(store, "b.md", ["Bob", "Ada"]))
            writer.start()
            writer.join()
            with store.reading():
                assert snapshot(store) == before
            assert store.generation() == generation
            assert store.texts("chunk").search("Bob", k=1) == []
        assert snapshot(store) != before
        assert store.generation() != generation

    def test_removing_documents_equals_never_adding_them(
        self, store: Store, other_store: Store
    ) -> None:
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        gone = add_document(store, "b.md", ["Bob", "Cy", "Ada"], link=True)
        add_document(store, "c.md", ["Dee"])
        store.remove_documents([gone, _ABSENT])
        add_document(other_store, "c.md", ["Dee"])
        add_document(other_store, "a.md", ["Ada", "Bob"], link=True)
        assert snapshot(store) == snapshot(other_store)

    def test_removing_all_documents_leaves_nothing(self, store: Store, other_store: Store) -> None:
        ids = [add_document(store, uri, ["Ada", "Bob"], link=True) for uri in ("a.md", "b.md")]
        store.remove_documents(ids)
        assert snapshot(store) == snapshot(other_store)
        rows = np.eye(7, dtype=np.float32)[:1]
        store.vectors("chunk").put([(_ABSENT, "key", rows)])  # an empty index accepts any dimension
        assert store.vectors("chunk").count() == 1


def _entry(uri: str, document_id: str = "") -> LedgerEntry:
    return LedgerEntry(uri, document_id, "/root", "revision", "settings", 3, 1 << 60, 2, "why", "é")


def _unit(index: int) -> FloatMatrix:
    row = np.zeros((1, 4), dtype=np.float32)
    row[0, index % 4] = 1.0
    return row


_Cached = type(entity_id)


@contextmanager
def short_ids(bits: int) -> Iterator[None]:
    """Make all new ids have this many bits in the block; open only new stores in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_MASK", (1 << bits) - 1)
        try:
            _forget_ids()
            yield
        finally:
            _forget_ids()


def _forget_ids() -> None:
    """Clear the caches of our functions that compute ids, which are named …_id and …_key."""
    for module in [module for name, module in sys.modules.items() if name.startswith("knotwork.")]:
        for name, value in vars(module).items():
            if name.endswith(("_id", "_key")) and isinstance(value, _Cached):
                value.cache_clear()


def _colliding(of: str, id_of: Callable[[str], str]) -> str:
    """Return another name with the id of ``of``."""
    return next(name for name in map("name {}".format, count()) if id_of(name) == id_of(of))


class IdCollisionContract:
    """Tests of what a store does with one id of two things. Define the fixture ``store``."""

    def test_documents_with_one_id_are_not_merged(self, store: Store) -> None:
        with short_ids(8):
            uri = _colliding("a.md", lambda name: Document(name, "").id)
            store.documents.put(*sample_document("a.md", ["one"]))
            before = snapshot(store)
            with pytest.raises(IdCollision) as caught:
                store.documents.put(*sample_document(uri, ["two"]))
            assert caught.value.held == "the document `a.md`"
            assert caught.value.new == f"the document `{uri}`"
            assert "Rename or move the file" in str(caught.value)
            assert snapshot(store) == before
            store.documents.put(*sample_document("a.md", ["new"]))

    @pytest.mark.parametrize("kind", ["section", "chunk"])
    def test_parts_of_two_documents_with_one_id_are_not_merged(
        self, store: Store, kind: str
    ) -> None:
        first = sample_document("a.md", ["one", "two"])
        store.documents.put(*first)
        before = snapshot(store)
        for held in (first[0].id, first[1][1].id, first[2][1].id):
            document, sections, chunks = sample_document("b.md", ["three", "four"])
            if kind == "section":
                sections[1] = replace(sections[1], id=held)
            else:
                chunks[1] = replace(chunks[1], id=held)
            with pytest.raises(IdCollision, match=f"a {kind} of `b.md` is also that of"):
                store.documents.put(document, sections, chunks)
            assert snapshot(store) == before

    def test_parts_of_one_document_with_one_id_are_not_merged(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["one", "two"])
        chunks[1] = replace(chunks[1], id=chunks[0].id)
        with pytest.raises(IdCollision, match=r"a chunk of `a\.md` is also that of a chunk"):
            store.documents.put(document, sections, chunks)
        assert store.documents.document_ids() == []

    def test_entities_with_one_id_are_not_merged(self, store: Store) -> None:
        with short_ids(8):
            other = _colliding("ada", entity_id)
            chunk = content_id("chunk")
            store.graph.upsert(mentions=[sample_mention(chunk, "ada")])
            before = store.graph.entities([entity_id("ada")])
            with pytest.raises(IdCollision) as caught:
                store.graph.upsert(mentions=[sample_mention(content_id("b"), other)])
            assert caught.value.held == "the entity `ada`"
            assert caught.value.new == f"the entity `{other}`"
            assert store.graph.entities([entity_id("ada")]) == before
            store.graph.remove_chunks([chunk])
            both = [sample_mention(chunk, name) for name in (other, "ada")]
            with pytest.raises(IdCollision):
                store.graph.upsert(mentions=both)
            assert store.graph.entity_count() == 0
            store.graph.upsert(mentions=both[:1])
            assert list(store.graph.lookup([other])) == [other]

    def test_an_entity_and_a_part_of_a_document_are_not_merged(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["one", "two"])
        with_entity = [chunks[0], replace(chunks[1], id=entity_id("ada"))]
        store.documents.put(document, sections, with_entity)
        mention = sample_mention(chunks[0].id, "ada")
        with pytest.raises(
            IdCollision, match=r"the entity `ada` is also that of a chunk of `a\.md`"
        ):
            store.graph.upsert(mentions=[mention])
        store.documents.put(document, sections, chunks)
        store.graph.upsert(mentions=[mention])
        with pytest.raises(IdCollision, match=r"a chunk of `a\.md` is also that of the entity"):
            store.documents.put(document, sections, with_entity)
        assert store.documents.chunk_ids_of([document.id])[document.id] == [
            chunk.id for chunk in chunks
        ]
