"""The parts of a store: how to read each in pages, write a page to another store, and hash it.

A part reads through the protocols only, in ascending order of its keys, so that a copy continues
after the last page that it wrote. Memory holds one page: some documents with all that belongs to
them, some hundred items of an index, or one imported graph, which no store can add in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from knotwork._cancellation import checked
from knotwork._stores.base import (
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
from knotwork.records import Community, CommunityReport, Homonym

TEXT_INDEXES = ("chunk", "entity", "question", "report")
"""The names of the text indexes of a store."""

_DOCUMENTS = 64
_PAGE_CHUNKS = 512
_ITEMS = 1_024
_TEXTS = 256
_COMMUNITIES = 32

Fact = tuple[str, object]
"""A kind of values, and a value of it: what is hashed."""

Page = tuple[Sequence[Any], str]
"""Items of a part, and the key of the last one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a store.

    ``pages`` yields the items whose keys follow a key, in order. ``write`` adds items to a store,
    in its open transaction. ``facts`` returns what is hashed of items that were read from a store.
    ``capability`` is the optional part of a store that holds it, or "". ``total`` returns the
    number of items; 0 if it is unknown.
    """

    name: str
    pages: Callable[[Store, str], Iterator[Page]]
    write: Callable[[Store, Sequence[Any]], object]
    facts: Callable[[Store, Sequence[Any]], Iterable[Fact]]
    capability: str = ""
    total: Callable[[Store], int] = lambda _: 0


def parts_of(source: Store, without: Sequence[str] = ()) -> list[Part]:
    """Return the parts of a store in the order of a copy, except for capabilities ``without``."""
    found = [
        Part(
            "documents",
            lambda store, after: _document_pages(store, after, without),
            _write_documents,
            lambda _, items: ((kind, row) for item in items for kind in item for row in item[kind]),
            total=lambda store: store.documents.document_count(),
        ),
        Part("communities", _community_pages, _write_communities, _community_facts, "communities"),
        _records(
            "summaries",
            "readings",
            lambda contents: contents.summaries,
            lambda store, items: require_readings(store).put_summaries(items),
            key=attrgetter("entity_id"),
        ),
        _records(
            "decisions",
            "resolutions",
            lambda contents: (
                lambda key, limit: contents.decisions(
                    (key.partition(" ")[0], key.partition(" ")[2]), limit=limit
                )
            ),
            lambda store, items: require_resolutions(store).put(items),
            key=lambda decision: " ".join(decision.pair),
        ),
        _records(
            "touched",
            "resolutions",
            lambda contents: contents.touched,
            lambda store, items: require_resolutions(store).touch(items),
        ),
        _records(
            "homonyms",
            "homonyms",
            lambda contents: contents.homonyms,
            _write_homonyms,
            key=attrgetter("entity_id"),
        ),
        Part(
            "graphs",
            _graph_pages,
            lambda store, names: _write_graphs(source, store, names),
            _graph_facts,
            "property_graphs",
        ),
        *map(_texts, TEXT_INDEXES),
        *map(_vectors, VECTOR_INDEXES),
        Part(
            "ledger",
            _ledger_pages,
            lambda store, items: store.ledger.put(items),
            lambda _, items: (("ledger", entry) for entry in items),
        ),
        Part(
            "settings",
            _setting_pages,
            lambda store, items: store.set_meta(dict(items)),
            lambda _, items: (("settings", item) for item in items),
        ),
    ]
    return [part for part in found if part.capability not in without]


def _pages(
    read: Callable[..., Sequence[Any]],
    after: str,
    *,
    key: Callable[[Any], str] = str,
    limit: int = 0,
) -> Iterator[Page]:
    """Yield pages of items, each read after the key of the last item before it."""
    while items := read(after, limit=limit or _ITEMS):
        after = key(items[-1])
        yield items, after


def _records(
    name: str,
    capability: str,
    read: Callable[[Contents], Callable[..., Sequence[Any]]],
    write: Callable[[Store, Sequence[Any]], object],
    *,
    key: Callable[[Any], str] = str,
) -> Part:
    """Return a part of records that a store lists by key and keeps as they are."""
    return Part(
        name,
        lambda store, after: _pages(read(require_contents(store)), after, key=key),
        write,
        lambda _, items: ((name, item) for item in items),
        capability,
    )


DocumentContent = Mapping[str, Sequence[Any]]
"""A document, its sections and chunks, and all that these state or that a model read in them."""


def _document_pages(store: Store, after: str, without: Sequence[str]) -> Iterator[Page]:
    """Yield documents, several with few chunks at once."""
    for ids, last in _pages(require_contents(store).document_ids, after, limit=_DOCUMENTS):
        chunk_ids = store.documents.chunk_ids_of(ids)
        held: dict[str, Sequence[str]] = {}
        for key in ids:
            own = chunk_ids.get(key, [])
            if held and sum(map(len, held.values())) + len(own) > _PAGE_CHUNKS:
                yield _read_documents(store, held, without), next(reversed(held))
                held = {}
            held[key] = own
        yield _read_documents(store, held, without), last


def _read_documents(
    store: Store, chunk_ids: Mapping[str, Sequence[str]], without: Sequence[str]
) -> list[DocumentContent]:
    """Return documents, each with the ids of its chunks, by one reading of each kind."""
    ids = list(chain.from_iterable(chunk_ids.values()))
    readings = None if "readings" in without else store.capabilities.readings
    questions = None if "questions" in without else store.capabilities.questions
    documents = store.documents.documents(chunk_ids)
    sections = store.documents.sections_of(chunk_ids)
    chunks = store.documents.chunks(ids)
    mentions, relations = store.graph.mentions(ids), store.graph.relations(ids)
    read = readings.readings(ids) if readings else {}
    said = readings.descriptions_in(ids) if readings else {}
    asked = questions.questions(ids) if questions else {}
    return [
        {
            "documents": [documents[key]],
            "sections": sections.get(key, []),
            "chunks": [chunks[i] for i in own],
            "mentions": [mention for i in own for mention in mentions.get(i, ())],
            "relations": [relation for i in own for relation in relations.get(i, ())],
            "readings": [read[i] for i in own if i in read],
            "descriptions": [description for i in own for description in said.get(i, ())],
            "questions": [(i, asked[i]) for i in own if i in asked],
        }
        for key, own in chunk_ids.items()
    ]


def _write_documents(store: Store, items: Sequence[DocumentContent]) -> None:
    def rows(kind: str) -> list[Any]:
        return [row for item in items for row in item[kind]]

    for item in checked(items):
        store.documents.put(item["documents"][0], item["sections"], item["chunks"])
    store.graph.upsert(mentions=rows("mentions"), relations=rows("relations"))
    readings, descriptions, questions = map(rows, ("readings", "descriptions", "questions"))
    if readings or descriptions:
        require_readings(store).put(readings, descriptions)
    if questions:
        require_questions(store).put(dict(questions))


_CommunityItem = tuple[Community, bool, CommunityReport | None]
"""A community, whether it is stale, and its report."""


def _community_pages(store: Store, after: str) -> Iterator[Page]:
    held = store.capabilities.communities
    if held is None:
        return
    stale = frozenset(held.stale())
    for ids, last in _pages(require_contents(store).community_ids, after, limit=_COMMUNITIES):
        found, reports = held.communities(ids), held.reports(ids)
        yield [(found[key], key in stale, reports.get(key)) for key in ids], last


def _write_communities(store: Store, items: Sequence[_CommunityItem]) -> None:
    stale = [community.id for community, is_stale, _ in items if is_stale]
    require_contents(store).put_communities((item[0] for item in items), stale=stale)
    require_communities(store).put_reports(item[2] for item in items if item[2] is not None)


def _community_facts(_: Store, items: Sequence[_CommunityItem]) -> Iterator[Fact]:
    for community, is_stale, report in items:
        yield "communities", [community, is_stale]
        if report is not None:
            yield "reports", report


def _write_homonyms(store: Store, items: Sequence[Homonym]) -> None:
    require_homonyms(store).replace(items, among=[homonym.entity_id for homonym in items])


def _graph_pages(store: Store, after: str) -> Iterator[Page]:
    """Yield the names of imported graphs, one by one: a store adds a graph whole."""
    graphs = store.capabilities.property_graphs
    names = graphs.names() if graphs is not None else []
    yield from (([name], name) for name in names if name > after)


def _write_graphs(source: Store, store: Store, names: Sequence[str]) -> None:
    held = require_contents(source)
    for name in names:
        nodes = _in_order(held.graph_nodes, name)
        relationships = _in_order(held.graph_relationships, name)
        require_property_graphs(store).put(name, nodes, relationships)


def _graph_facts(store: Store, names: Sequence[str]) -> Iterator[Fact]:
    held = require_contents(store)
    for name in names:
        yield "graphs", name
        for place, node in enumerate(_in_order(held.graph_nodes, name)):
            yield "graph nodes", [name, place, node]
        for place, relationship in enumerate(_in_order(held.graph_relationships, name)):
            yield "graph relationships", [name, place, relationship]


def _in_order(read: Callable[..., Sequence[Any]], name: str) -> Iterator[Any]:
    """Yield the nodes or the relationships of an imported graph."""
    start = 0
    while page := read(name, start, limit=_ITEMS):
        yield from page
        start += len(page)


_INDEX_CAPABILITIES = {
    "question": "questions", "report": "communities", DESCRIPTIONS: "readings",
}  # fmt: skip
"""The optional parts that the items of a text or vector index belong to."""


def _texts(index: str) -> Part:
    """Return the part of a text index. Its texts follow from other parts, copied before."""
    name = f"{index} texts"

    def pages(store: Store, after: str) -> Iterator[Page]:
        contents = require_contents(store)
        return _pages(
            lambda key, limit: contents.text_items(index, key, limit=limit),
            after,
            key=attrgetter("id"),
            limit=_TEXTS,
        )

    def write(store: Store, items: Sequence[TextItem]) -> None:
        store.texts(index).add(_read_texts(store, index, [item.id for item in items]).items())

    def facts(store: Store, items: Sequence[TextItem]) -> Iterator[Fact]:
        ids = [item.id for item in items]
        found = {key: terms(text) for key, text in _read_texts(store, index, ids).items()}
        asked = list(dict.fromkeys(chain.from_iterable(found.values())))
        places = {term: place for place, term in enumerate(asked)}
        counts = store.texts(index).occurrences(ids, asked)
        for (key, length), row in zip(items, counts, strict=True):
            held = sorted(set(found.get(key, ())))
            yield name, [key, length, held, row[[places[term] for term in held]].tolist()]

    capability = _INDEX_CAPABILITIES.get(index, "")
    return Part(name, pages, write, facts, capability, lambda store: store.texts(index).count())


def _read_texts(store: Store, index: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of items of a text index from the other parts of its store."""
    if index == "chunk":
        chunks = store.documents.chunks(ids)
        return {key: chunk.searched_text for key, chunk in chunks.items()}
    if index == "entity":
        return {key: entity.name for key, entity in store.graph.entities(ids).items()}
    if index == "question":
        questions = store.capabilities.questions
        asked = questions.questions(ids) if questions is not None else {}
        return {key: "\n".join(lines) for key, lines in asked.items()}
    communities = store.capabilities.communities
    reports = communities.reports(ids) if communities is not None else {}
    return {key: report.text for key, report in reports.items()}


def _vectors(index: str) -> Part:
    """Return the part of a vector index, without the vectors that are staged beside it."""
    name = f"{index} vectors"

    def pages(store: Store, after: str) -> Iterator[Page]:
        contents = require_contents(store)
        return _pages(
            lambda key, limit: contents.vector_items(index, key, limit=limit),
            after,
            key=attrgetter("id"),
        )

    def facts(_: Store, items: Sequence[VectorItem]) -> Iterator[Fact]:
        stored = f"<f{stored_type(index)().itemsize}"
        for key, content_key, matrix in items:
            rows = matrix.astype(stored)
            yield name, [key, content_key, rows.shape, rows.tobytes()]

    return Part(
        name,
        pages,
        lambda store, items: store.vectors(index).put(items),
        facts,
        _INDEX_CAPABILITIES.get(index, ""),
        lambda store: store.vectors(index).count(),
    )


def _ledger_pages(store: Store, after: str) -> Iterator[Page]:
    entries = (entry for entry in store.ledger.entries() if entry.uri > after or not after)
    while items := list(islice(entries, _ITEMS)):
        yield items, items[-1].uri


def _setting_pages(store: Store, after: str) -> Iterator[Page]:
    items = sorted((k, v) for k, v in store.meta().items() if k > after and k != COPY_META)
    if items:
        yield items, items[-1][0]
