"""Copy everything in a store to another one, so that a copy that was stopped continues.

A store consists of parts (`parts_of`), each of which is read through the protocols only, in
ascending order of its keys. Memory holds one page: some documents with all that belongs to them,
some hundred items of an index, or one imported graph, which no store can add in pieces.

Each page of a part is written in one transaction, with a mark that says how far the copy is and of
which state of the source, so that a kill costs one page. All pages are read from one state of the
source, whatever others write meanwhile. In the end the hashes of both stores are compared, and only
then the mark goes. A store with a mark is used for nothing else (`require_finished`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from hashlib import blake2b
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from knotwork._cancellation import check_cancelled, checked
from knotwork._run import Progress, Steps, Verb
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
from knotwork._stores.contents import TextItem, VectorItem
from knotwork._stores.copy_marks import (
    COPY_META,
    CopyMark,
    read_mark,
    require_finished,
    write_mark,
)
from knotwork._stores.urls import index_file
from knotwork._stores.vectors import DESCRIPTIONS, VECTOR_INDEXES, stored_type
from knotwork._text.terms import terms
from knotwork.errors import MissingCapability, StoreError, UnknownName
from knotwork.records import ENTITY_EDGES, Community, CommunityReport, Homonym

_VERIFYING = "verifying"


@dataclass(frozen=True, slots=True)
class CopyReport:
    """A finished copy.

    ``generation`` numbers the last commit of the source that is in the copy; ``changed`` is True if
    the source has newer ones. ``parts`` are numbers of values by kind, ``hash`` is that of the
    contents, and both are empty if they were not verified. ``left_out`` are parts of the source
    that were not to be copied. ``resumed`` is True if an earlier call began the copy. ``beside``
    are the kinds of files beside a source file that were not copied.
    """

    source: str
    target: str
    generation: int
    documents: int
    hash: str
    parts: Mapping[str, int]
    left_out: tuple[str, ...]
    resumed: bool
    changed: bool
    beside: tuple[str, ...] = ()


@Verb
def copy_store(
    source: Store, target: Store, *, without: Collection[str] = (), verify: bool = True
) -> Steps[CopyReport]:
    """Copy a store into an empty one, or continue this copy, and return the report.

    ``without`` are optional parts of the source to leave out (`COPIED_CAPABILITIES`). ``verify``
    compares the hashes of what is in both. Raises, before any work, UnknownName for another part,
    MissingCapability if the target cannot hold a part that the source uses, StoreError if the
    target is neither empty nor the unfinished copy of this state of the source. Raises StoreError
    if the hashes differ in the end.
    """
    left_out = check_left_out(without)
    require_contents(source)
    require_finished(source)
    if source is target or _place(source) == _place(target) != "memory:":
        raise StoreError(
            f"`{source.url}` cannot be copied to itself.", fix="Choose another target."
        )
    with source.reading():
        generation = source.generation()
        _require_parts(source, target, left_out, verify=verify)
        begun = read_mark(target)
        mark = _begin(target, CopyMark(_place(source), generation, left_out), begun)
        yield from _copy_parts(source, target, mark)
        expected = StoreDigest({})
        if verify:
            expected = yield from store_digest.run(source, without=left_out)
        documents = source.documents.document_count()
    if verify:
        found = yield from store_digest.run(target, without=left_out)
        if differing := expected.differing(found):
            raise StoreError(
                f"The copy `{target.url}` differs from `{source.url}` in: {', '.join(differing)}.",
                fix="Check the source with `knotwork doctor --full`, then copy it to a new target.",
            )
    write_mark(target, None)
    return CopyReport(
        source.url,
        target.url,
        generation,
        documents,
        expected.hash if verify else "",
        {name: part.count for name, part in expected.parts.items()},
        left_out,
        begun is not None,
        source.generation() != generation,
    )


def _copy_parts(source: Store, target: Store, mark: CopyMark) -> Iterator[Progress]:
    """Copy the parts from the mark on."""
    parts = parts_of(source, mark.without)
    names = [part.name for part in parts]
    if mark.part == _VERIFYING:
        return
    if mark.part:
        parts = parts[names.index(mark.part) :]
    for part in parts:
        if mark.part != part.name:
            mark = replace(mark, part=part.name, after="", done=0)
        total = part.total(source)
        yield Progress(f"copying {part.name}", mark.done, total)
        for items, last in part.pages(source, mark.after):
            mark = replace(mark, after=last, done=mark.done + len(items))
            with target.transaction():
                part.write(target, items)
                write_mark(target, mark)
            yield Progress(f"copying {part.name}", mark.done, total)
    write_mark(target, replace(mark, part=_VERIFYING, after="", done=0))


def check_left_out(without: Collection[str]) -> tuple[str, ...]:
    """Return the parts to leave out, sorted. Raises UnknownName for an unknown one."""
    for name in without:
        if name not in COPIED_CAPABILITIES:
            raise UnknownName("part of an index", name, COPIED_CAPABILITIES)
    return tuple(sorted(set(without)))


def _place(store: Store) -> str:
    """Return the label of a store, which does not depend on the working folder."""
    path = index_file(store.url)
    return store.url if path is None else str(path.absolute())


def _begin(target: Store, wanted: CopyMark, begun: CopyMark | None) -> CopyMark:
    """Mark an empty target, or return the mark of the same copy."""
    if begun is None:
        if (held := _first_content(target)) is not None:
            raise StoreError(
                f"The target `{target.url}` is not empty: it holds {held}.",
                fix="Copy to a new one.",
            )
        write_mark(target, wanted)
        return wanted
    if begun.source != wanted.source:
        raise StoreError(
            f"The target `{target.url}` is an unfinished copy of `{begun.source}`, not of "
            f"`{wanted.source}`.",
            fix="Copy to a new target.",
        )
    if begun.generation != wanted.generation:
        raise StoreError(
            f"`{wanted.source}` has changed since the copy to `{target.url}` began: its commit "
            f"{begun.generation} is now {wanted.generation}.",
            fix="Delete the unfinished copy, then copy again.",
        )
    if begun.without != wanted.without:
        raise StoreError(
            f"The copy to `{target.url}` began without {', '.join(begun.without) or 'exceptions'}.",
            fix="Continue it with the same options, or copy to a new target.",
        )
    return begun


def _first_content(store: Store) -> str | None:
    """Return what an index holds that is not empty; None for an empty one."""
    parts = store.capabilities
    if count := store.documents.document_count():
        return f"{count:,} document{'' if count == 1 else 's'}"
    if next(iter(store.ledger.entries()), None) is not None:
        return "failed sources"
    if parts.property_graphs is not None and (names := parts.property_graphs.names()):
        return f"the graph `{names[0]}`"
    if parts.contents is not None and parts.contents.decisions(("", ""), limit=1):
        return "decisions about entities"
    if any(value for name, value in store.meta().items() if name != COPY_META):
        return "settings"
    return None


_CAPABILITIES: Mapping[str, Callable[[Store], object]] = {
    "communities": require_communities,
    "readings": require_readings,
    "questions": require_questions,
    "resolutions": require_resolutions,
    "homonyms": require_homonyms,
    "property_graphs": require_property_graphs,
}

COPIED_CAPABILITIES = tuple(_CAPABILITIES)
"""The optional parts of a store that a copy includes, and may leave out."""


def _is_used(source: Store, capability: str) -> bool:
    """Return True if a store holds anything of an optional part."""
    readings, questions = source.capabilities.readings, source.capabilities.questions
    if capability == "readings" and readings and (readings.has_readings() or readings.described()):
        return True
    if capability == "questions" and questions and questions.chunk_ids():
        return True
    parts = [part for part in parts_of(source) if part.capability == capability]
    return any(next(part.pages(source, ""), None) is not None for part in parts)


def _require_parts(
    source: Store, target: Store, left_out: Collection[str], *, verify: bool
) -> None:
    """Raise MissingCapability if the target lacks a part that the source uses."""
    try:
        for name, require in _CAPABILITIES.items():
            lacks = name not in left_out and getattr(target.capabilities, name) is None
            if lacks and _is_used(source, name):
                fix = f"Leave it out with `--without {name}`, or copy to another store."
                require(target)
        if target.capabilities.contents is None:
            marks = "communities" not in left_out and _is_used(source, "communities")
            options = ["`--no-verify`"] * verify + ["`--without communities`"] * marks
            fix = f"Copy with {' and '.join(options)}, or to another store."
            if options:
                require_contents(target)
    except MissingCapability as error:
        error.fix = fix
        raise


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
            lambda store, items: require_readings(store).put_summaries(items),
            key=attrgetter("entity_id"),
        ),
        _records(
            "decisions",
            "resolutions",
            lambda store, items: require_resolutions(store).put(items),
            key=lambda decision: " ".join(decision.pair),
            position=lambda key: (key.partition(" ")[0], key.partition(" ")[2]),
        ),
        _records(
            "touched",
            "resolutions",
            lambda store, items: require_resolutions(store).touch(items),
        ),
        _records("homonyms", "homonyms", _write_homonyms, key=attrgetter("entity_id")),
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
    write: Callable[[Store, Sequence[Any]], object],
    *,
    key: Callable[[Any], str] = str,
    position: Callable[[str], object] = str,
) -> Part:
    """Return a part of records that `Contents` lists under its name, and keeps as they are.

    ``position`` returns what the listing takes for the key of a record.
    """

    def pages(store: Store, after: str) -> Iterator[Page]:
        read = getattr(require_contents(store), name)
        return _pages(lambda last, limit: read(position(last), limit=limit), after, key=key)

    return Part(name, pages, write, lambda _, items: ((name, one) for one in items), capability)


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
        read = partial(require_contents(store).text_items, index)
        return _pages(read, after, key=attrgetter("id"), limit=_TEXTS)

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
        read = partial(require_contents(store).vector_items, index)
        return _pages(read, after, key=attrgetter("id"))

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


_FORMAT = 1
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class PartDigest:
    """The number of values of a kind, and the hash of them all as 64 hexadecimal digits."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True)
class StoreDigest:
    """The hash of a store, and those of the kinds of values in it, by name, without empty ones.

    It is equal on every kind of store. Each value is hashed alone, as JSON of its fields, and the
    hashes of a kind are added up modulo 2**256 (an incremental multiset hash, as in AdHash by
    Bellare and Micciancio). So the result does not depend on the order of writes or reads, and
    needs no memory. Floats count with all their digits, and vectors with the bytes that stores
    keep: float16 for sentences, float32 for all others. What a store computes from contributions
    counts too: entities, edges, and the terms of text indexes.

    The hash finds accidents. It does not resist somebody who looks for two stores with the same
    one.
    """

    parts: Mapping[str, PartDigest]

    @property
    def hash(self) -> str:
        """The hash of all parts, as 64 hexadecimal digits."""
        found = blake2b(f"knotwork {_FORMAT}".encode(), digest_size=32)
        for name, part in sorted(self.parts.items()):
            found.update(f"\n{name} {part.count} {part.hash}".encode())
        return found.hexdigest()

    def differing(self, other: StoreDigest) -> tuple[str, ...]:
        """Return the names of the parts that differ from those of another store."""
        names = sorted({*self.parts, *other.parts})
        return tuple(name for name in names if self.parts.get(name) != other.parts.get(name))


@Verb
def store_digest(store: Store, *, without: Collection[str] = ()) -> Steps[StoreDigest]:
    """Return the hash of one state of a store, except for the capabilities ``without``.

    It reads everything once. Raises MissingCapability if the store cannot list its contents.
    """
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    require_contents(store)
    with store.reading():
        for facts in _facts(store, tuple(without)):
            check_cancelled()
            for kind, value in facts:
                data = _encode(value).encode("ascii")
                one = int.from_bytes(blake2b(data, digest_size=32).digest(), "big")
                counts[kind] += 1
                sums[kind] = (sums[kind] + one) % _MODULUS
            yield Progress(f"{_VERIFYING} {store.url}", counts.total())
    return StoreDigest(
        {kind: PartDigest(counts[kind], f"{sums[kind]:064x}") for kind in sorted(counts)}
    )


def _facts(store: Store, without: tuple[str, ...]) -> Iterator[Iterable[Fact]]:
    """Yield the values of each page of each part, then those of what the store aggregates."""
    for part in parts_of(store, without):
        for items, _ in part.pages(store, ""):
            yield part.facts(store, items)
    contents = require_contents(store)
    after = ""
    while ids := contents.entity_ids(after, limit=_ITEMS):
        after = ids[-1]
        yield (("entities", entity) for entity in store.graph.entities(ids).values())
    edges = checked(store.graph.edges(types=ENTITY_EDGES))
    yield (("edges", edge) for edge in edges)


@cache
def _compared_fields(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """Return the names of the compared fields of a record, and whether each is a float."""
    return tuple((field.name, field.type == "float") for field in fields(kind) if field.compare)


def _plain(value: Any) -> object:  # noqa: ANN401  a value or record of any kind
    """Return a record, mapping or bytes as values of types that JSON has."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return dict(value)
    kind: Any = type(value)
    held = (
        float(getattr(value, name)) if is_float else getattr(value, name)
        for name, is_float in _compared_fields(kind)
    )
    return [kind.__name__, *held]


_encode = json.JSONEncoder(
    default=_plain, separators=(",", ":"), sort_keys=True, check_circular=False
).encode
