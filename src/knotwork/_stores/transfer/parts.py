"""The parts of a store: how to read each in pages, write a page to another store, and hash it.

A part reads through the protocols only, in ascending order of its keys, so that a copy continues
after the last page that it wrote. Memory holds one page: some documents with all that belongs to
them, some hundred items of an index, or one imported graph, which no store can add in pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, TypeVar

from knotwork._cancellation import checked
from knotwork._stores.base import (
    LedgerEntry,
    Store,
    require_communities,
    require_contents,
    require_homonyms,
    require_property_graphs,
    require_questions,
    require_readings,
    require_resolutions,
)
from knotwork._stores.contents import Contents, TextItem, VectorItem
from knotwork._stores.copy_marks import COPY_META
from knotwork._stores.vectors import DESCRIPTIONS, VECTOR_INDEXES, stored_type
from knotwork._text.terms import terms
from knotwork.records import (
    Chunk,
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    Document,
    Homonym,
    Mention,
    Relation,
    SameAs,
    Section,
)

TEXT_INDEXES = ("chunk", "entity", "question", "report")
"""The names of the text indexes of a store."""

_DOCUMENTS = 64
_PAGE_CHUNKS = 512
_ITEMS = 1_024
_TEXTS = 256
_COMMUNITIES = 32

Item = TypeVar("Item")
Fact = tuple[str, object]
"""A kind of values, and a value of it: what is hashed."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items of a part, and the key of the last one."""

    items: Sequence[Item]
    last: str


class Part(ABC, Generic[Item]):
    """A part of a store. ``capability`` is the optional part of a store that holds it, or ""."""

    name: str
    capability: str = ""

    def total(self, store: Store) -> int:
        """Return the number of items; 0 if it is unknown."""
        del store
        return 0

    @abstractmethod
    def pages(self, store: Store, after: str = "") -> Iterator[Page[Item]]:
        """Yield the items whose keys follow ``after``, in order."""

    @abstractmethod
    def write(self, store: Store, items: Sequence[Item]) -> None:
        """Add items to a store, in its open transaction."""

    @abstractmethod
    def facts(self, store: Store, items: Sequence[Item]) -> Iterator[Fact]:
        """Yield what is hashed of items that were read from a store."""


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """A document with all that its chunks state, or that a model read in them."""

    document: Document
    sections: Sequence[Section]
    chunks: Sequence[Chunk]
    mentions: Sequence[Mention]
    relations: Sequence[Relation]
    readings: Sequence[ChunkReading] = ()
    descriptions: Sequence[Description] = ()
    questions: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Documents(Part[DocumentContent]):
    """Documents with all that their chunks contribute, except for the capabilities ``without``."""

    name = "documents"

    def __init__(self, without: Sequence[str] = ()) -> None:
        self._without = frozenset(without)

    def total(self, store: Store) -> int:
        return store.documents.document_count()

    def pages(self, store: Store, after: str = "") -> Iterator[Page[DocumentContent]]:
        for page in _pages(require_contents(store).document_ids, after, limit=_DOCUMENTS):
            chunk_ids = store.documents.chunk_ids_of(page.items)
            for keys in _together(page.items, chunk_ids):
                held = {key: chunk_ids.get(key, []) for key in keys}
                yield Page(self._read(store, held), keys[-1])

    def write(self, store: Store, items: Sequence[DocumentContent]) -> None:
        for item in checked(items):
            store.documents.put(item.document, item.sections, item.chunks)
        store.graph.upsert(
            mentions=chain.from_iterable(item.mentions for item in items),
            relations=chain.from_iterable(item.relations for item in items),
        )
        readings = [reading for item in items for reading in item.readings]
        descriptions = [said for item in items for said in item.descriptions]
        if readings or descriptions:
            require_readings(store).put(readings, descriptions)
        questions = {key: asked for item in items for key, asked in item.questions.items()}
        if questions:
            require_questions(store).put(questions)

    def facts(self, store: Store, items: Sequence[DocumentContent]) -> Iterator[Fact]:
        del store
        for item in items:
            yield "documents", item.document
            kinds: tuple[tuple[str, Sequence[object]], ...] = (
                ("sections", item.sections),
                ("chunks", item.chunks),
                ("mentions", item.mentions),
                ("relations", item.relations),
                ("readings", item.readings),
                ("descriptions", item.descriptions),
                ("questions", tuple(item.questions.items())),
            )
            yield from ((kind, record) for kind, records in kinds for record in records)

    def _read(self, store: Store, chunk_ids: Mapping[str, Sequence[str]]) -> list[DocumentContent]:
        """Return documents, each with the ids of its chunks, by one reading of each kind."""
        ids = list(chain.from_iterable(chunk_ids.values()))
        parts = store.capabilities
        readings = None if "readings" in self._without else parts.readings
        questions = None if "questions" in self._without else parts.questions
        documents = store.documents.documents(chunk_ids)
        sections = store.documents.sections_of(chunk_ids)
        chunks = store.documents.chunks(ids)
        mentions, relations = store.graph.mentions(ids), store.graph.relations(ids)
        read = readings.readings(ids) if readings else {}
        said = readings.descriptions_in(ids) if readings else {}
        asked = questions.questions(ids) if questions else {}
        return [
            DocumentContent(
                documents[key],
                sections.get(key, []),
                [chunks[i] for i in own],
                [mention for i in own for mention in mentions.get(i, ())],
                [relation for i in own for relation in relations.get(i, ())],
                [read[i] for i in own if i in read],
                [description for i in own for description in said.get(i, ())],
                {i: asked[i] for i in own if i in asked},
            )
            for key, own in chunk_ids.items()
        ]


def _together(
    document_ids: Sequence[str], chunk_ids: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    """Yield documents that are read at once: one, or several with few chunks in all."""
    keys: list[str] = []
    chunks = 0
    for key in document_ids:
        count = len(chunk_ids.get(key, ()))
        if keys and chunks + count > _PAGE_CHUNKS:
            yield keys
            keys, chunks = [], 0
        keys.append(key)
        chunks += count
    if keys:
        yield keys


class Communities(Part[tuple[Community, bool, CommunityReport | None]]):
    """Communities, whether each is stale, and their reports."""

    name = "communities"
    capability = "communities"

    def pages(
        self, store: Store, after: str = ""
    ) -> Iterator[Page[tuple[Community, bool, CommunityReport | None]]]:
        held = store.capabilities.communities
        if held is None:
            return
        stale = frozenset(held.stale())
        for page in _pages(require_contents(store).community_ids, after, limit=_COMMUNITIES):
            found, reports = held.communities(page.items), held.reports(page.items)
            items = [(found[key], key in stale, reports.get(key)) for key in page.items]
            yield Page(items, page.last)

    def write(
        self, store: Store, items: Sequence[tuple[Community, bool, CommunityReport | None]]
    ) -> None:
        stale = [community.id for community, is_stale, _ in items if is_stale]
        require_contents(store).put_communities((item[0] for item in items), stale=stale)
        require_communities(store).put_reports(item[2] for item in items if item[2] is not None)

    def facts(
        self, store: Store, items: Sequence[tuple[Community, bool, CommunityReport | None]]
    ) -> Iterator[Fact]:
        del store
        for community, is_stale, report in items:
            yield "communities", [community, is_stale]
            if report is not None:
                yield "reports", report


class Records(Part[Item]):
    """Records that a store lists by key and keeps as they are; they are hashed under their name.

    ``read`` returns records after a key, ``key`` that of a record.
    """

    def __init__(
        self,
        name: str,
        capability: str,
        read: Callable[[Contents], Callable[..., Sequence[Item]]],
        write: Callable[[Store, Sequence[Item]], None],
        *,
        key: Callable[[Item], str] = str,
    ) -> None:
        self.name = name
        self.capability = capability
        self._read = read
        self._write = write
        self._key = key

    def pages(self, store: Store, after: str = "") -> Iterator[Page[Item]]:
        yield from _pages(self._read(require_contents(store)), after, key=self._key)

    def write(self, store: Store, items: Sequence[Item]) -> None:
        self._write(store, items)

    def facts(self, store: Store, items: Sequence[Item]) -> Iterator[Fact]:
        del store
        yield from ((self.name, item) for item in items)


def _decisions(contents: Contents) -> Callable[..., Sequence[SameAs]]:
    def read(key: str, *, limit: int) -> list[SameAs]:
        first, _, second = key.partition(" ")
        return contents.decisions((first, second), limit=limit)

    return read


def _replace_homonyms(store: Store, items: Sequence[Homonym]) -> None:
    require_homonyms(store).replace(items, among=[homonym.entity_id for homonym in items])


_RECORDS: tuple[Part[Any], ...] = (
    Records(
        "summaries",
        "readings",
        lambda contents: contents.summaries,
        lambda store, items: require_readings(store).put_summaries(items),
        key=lambda summary: summary.entity_id,
    ),
    Records(
        "decisions",
        "resolutions",
        _decisions,
        lambda store, items: require_resolutions(store).put(items),
        key=lambda decision: " ".join(decision.pair),
    ),
    Records(
        "touched",
        "resolutions",
        lambda contents: contents.touched,
        lambda store, items: require_resolutions(store).touch(items),
    ),
    Records(
        "homonyms",
        "homonyms",
        lambda contents: contents.homonyms,
        _replace_homonyms,
        key=lambda homonym: homonym.entity_id,
    ),
)


class PropertyGraphs(Part[str]):
    """Imported graphs, by name. A store adds a graph whole, so one graph is held in memory."""

    name = "graphs"
    capability = "property_graphs"

    def __init__(self, source: Store) -> None:
        self._source = source

    def pages(self, store: Store, after: str = "") -> Iterator[Page[str]]:
        graphs = store.capabilities.property_graphs
        names = graphs.names() if graphs is not None else []
        yield from (Page([name], name) for name in names if name > after)

    def write(self, store: Store, items: Sequence[str]) -> None:
        held = require_contents(self._source)
        for name in items:
            nodes = _in_order(held.graph_nodes, name)
            relationships = _in_order(held.graph_relationships, name)
            require_property_graphs(store).put(name, nodes, relationships)

    def facts(self, store: Store, items: Sequence[str]) -> Iterator[Fact]:
        held = require_contents(store)
        for name in items:
            yield "graphs", name
            for place, node in enumerate(_in_order(held.graph_nodes, name)):
                yield "graph nodes", [name, place, node]
            for place, relationship in enumerate(_in_order(held.graph_relationships, name)):
                yield "graph relationships", [name, place, relationship]


class Texts(Part[TextItem]):
    """A text index. Its texts follow from other parts, which are copied before."""

    def __init__(self, index: str, capability: str = "") -> None:
        self.index = index
        self.name = f"{index} texts"
        self.capability = capability

    def total(self, store: Store) -> int:
        return store.texts(self.index).count()

    def pages(self, store: Store, after: str = "") -> Iterator[Page[TextItem]]:
        contents = require_contents(store)

        def read(key: str, *, limit: int) -> list[TextItem]:
            return contents.text_items(self.index, key, limit=limit)

        yield from _pages(read, after, key=lambda item: item.id, limit=_TEXTS)

    def write(self, store: Store, items: Sequence[TextItem]) -> None:
        found = _TEXT_READERS[self.index](store, [item.id for item in items])
        store.texts(self.index).add(found.items())

    def facts(self, store: Store, items: Sequence[TextItem]) -> Iterator[Fact]:
        ids = [item.id for item in items]
        found = {key: terms(text) for key, text in _TEXT_READERS[self.index](store, ids).items()}
        asked = list(dict.fromkeys(chain.from_iterable(found.values())))
        places = {term: place for place, term in enumerate(asked)}
        counts = store.texts(self.index).occurrences(ids, asked)
        for (key, length), row in zip(items, counts, strict=True):
            held = sorted(set(found.get(key, ())))
            times = row[[places[term] for term in held]].tolist()
            yield self.name, [key, length, held, times]


class Vectors(Part[VectorItem]):
    """A vector index, with content keys; not the vectors that are staged beside it."""

    def __init__(self, index: str, capability: str = "") -> None:
        self.index = index
        self.name = f"{index} vectors"
        self.capability = capability

    def total(self, store: Store) -> int:
        return store.vectors(self.index).count()

    def pages(self, store: Store, after: str = "") -> Iterator[Page[VectorItem]]:
        contents = require_contents(store)

        def read(key: str, *, limit: int) -> list[VectorItem]:
            return contents.vector_items(self.index, key, limit=limit)

        yield from _pages(read, after, key=lambda item: item.id)

    def write(self, store: Store, items: Sequence[VectorItem]) -> None:
        store.vectors(self.index).put(items)

    def facts(self, store: Store, items: Sequence[VectorItem]) -> Iterator[Fact]:
        del store
        stored = f"<f{stored_type(self.index)().itemsize}"
        for key, content_key, matrix in items:
            rows = matrix.astype(stored)
            yield self.name, [key, content_key, rows.shape, rows.tobytes()]


class Sources(Part[LedgerEntry]):
    """The ledger of sources."""

    name = "ledger"

    def pages(self, store: Store, after: str = "") -> Iterator[Page[LedgerEntry]]:
        items: list[LedgerEntry] = []
        for entry in store.ledger.entries():
            if entry.uri > after or not after:
                items.append(entry)
            if len(items) == _ITEMS:
                yield Page(items, items[-1].uri)
                items = []
        if items:
            yield Page(items, items[-1].uri)

    def write(self, store: Store, items: Sequence[LedgerEntry]) -> None:
        store.ledger.put(items)

    def facts(self, store: Store, items: Sequence[LedgerEntry]) -> Iterator[Fact]:
        del store
        yield from (("ledger", entry) for entry in items)


class IndexMeta(Part[tuple[str, str]]):
    """The settings that are stored with the index."""

    name = "settings"

    def pages(self, store: Store, after: str = "") -> Iterator[Page[tuple[str, str]]]:
        items = sorted((k, v) for k, v in store.meta().items() if k > after and k != COPY_META)
        if items:
            yield Page(items, items[-1][0])

    def write(self, store: Store, items: Sequence[tuple[str, str]]) -> None:
        store.set_meta(dict(items))

    def facts(self, store: Store, items: Sequence[tuple[str, str]]) -> Iterator[Fact]:
        del store
        yield from (("settings", item) for item in items)


_INDEX_CAPABILITIES = {
    "question": "questions", "report": "communities", DESCRIPTIONS: "readings",
}  # fmt: skip
"""The optional parts that the items of a text or vector index belong to."""


def parts_of(source: Store, without: Sequence[str] = ()) -> list[Part[Any]]:
    """Return the parts of a store in the order of a copy, except for capabilities ``without``."""
    found: list[Part[Any]] = [
        Documents(without),
        Communities(),
        *_RECORDS,
        PropertyGraphs(source),
        *(Texts(index, _INDEX_CAPABILITIES.get(index, "")) for index in TEXT_INDEXES),
        *(Vectors(index, _INDEX_CAPABILITIES.get(index, "")) for index in VECTOR_INDEXES),
        Sources(),
        IndexMeta(),
    ]
    return [part for part in found if part.capability not in without]


def _pages(
    read: Callable[..., Sequence[Item]],
    after: str,
    *,
    key: Callable[[Item], str] = str,
    limit: int = _ITEMS,
) -> Iterator[Page[Item]]:
    """Yield pages of ``limit`` items, each read after the key of the last item before it."""
    while items := read(after, limit=limit):
        after = key(items[-1])
        yield Page(items, after)


def _in_order(read: Callable[..., Sequence[Item]], name: str) -> Iterator[Item]:
    """Yield the nodes or the relationships of an imported graph."""
    start = 0
    while page := read(name, start, limit=_ITEMS):
        yield from page
        start += len(page)


def _chunk_texts(store: Store, ids: Sequence[str]) -> dict[str, str]:
    chunks = store.documents.chunks(ids)
    return {key: chunk.searched_text for key, chunk in chunks.items()}


def _entity_texts(store: Store, ids: Sequence[str]) -> dict[str, str]:
    return {key: entity.name for key, entity in store.graph.entities(ids).items()}


def _question_texts(store: Store, ids: Sequence[str]) -> dict[str, str]:
    questions = store.capabilities.questions
    found = questions.questions(ids) if questions is not None else {}
    return {key: "\n".join(asked) for key, asked in found.items()}


def _report_texts(store: Store, ids: Sequence[str]) -> dict[str, str]:
    communities = store.capabilities.communities
    found = communities.reports(ids) if communities is not None else {}
    return {key: report.text for key, report in found.items()}


_TEXT_READERS: Mapping[str, Callable[[Store, Sequence[str]], dict[str, str]]] = {
    "chunk": _chunk_texts,
    "entity": _entity_texts,
    "question": _question_texts,
    "report": _report_texts,
}
"""How the text of the items of each text index is read from the other parts of its store."""
