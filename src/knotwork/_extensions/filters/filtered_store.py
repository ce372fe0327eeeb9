"""Read-only store restricted by a filter: excluded documents, chunks and relations do not exist.

An entity exists if an allowed chunk mentions it, a relation if an allowed chunk states it. Weights
are those of the whole index, and so are names, types and counts, unless the part has totals of its
own. Term statistics are those of the whole index, so that a passage has the same score with and
without a filter. A report or summary exists only if all that it was written from is allowed:
chunks, names, and what a model has read of them. A decision on names has no reason, which may quote
a chunk. Cypher statements run on the restricted index graph, and on imported graphs whose chunks
are all allowed.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import Generic, Never, TypeVar

from knotwork._extensions.filters.matching import check_fields
from knotwork._graph.walk import AdjacentEdge, walk_graph
from knotwork._registry import PARTS
from knotwork._stores.base import (
    DocumentStore,
    FloatMatrix,
    GraphStore,
    IntMatrix,
    Ledger,
    LedgerEntry,
    RelationLink,
    Scored,
    Store,
    TextIndex,
    VectorIndex,
    whole_of,
)
from knotwork._stores.capabilities import (
    Capabilities,
    CommunityStore,
    HomonymStore,
    PropertyGraphStore,
    QuestionStore,
    ReadingStore,
    ResolutionStore,
)
from knotwork._stores.fields import URI, FieldInfo, FieldStore, LinkStore, Selection, Totals
from knotwork._stores.graph_view import EDGE_CHUNKS, entity_node
from knotwork._stores.id_sets import IdSet
from knotwork._stores.indexes import final_name
from knotwork._stores.resolutions import form_groups
from knotwork.errors import StoreReadOnly
from knotwork.records import (
    ENTITY_EDGES,
    EXTRACTIVE_SOURCE,
    GRAPH_URI,
    Chunk,
    ChunkReading,
    Community,
    CommunityReport,
    Comparison,
    Condition,
    Description,
    Direction,
    Document,
    Edge,
    EdgeType,
    Entity,
    EntitySummary,
    Filter,
    GraphSchema,
    Homonym,
    Label,
    Member,
    Mention,
    Node,
    ReadingStatus,
    Relation,
    SameAs,
    Section,
    Subgraph,
)


def refuse_to_write(self: object, *_: object, **__: object) -> Never:
    """Raise StoreReadOnly. All write methods of a filtered index are this function."""
    del self
    raise StoreReadOnly(
        "A filtered index is read-only.", fix="Write to the index without the filter."
    )


P = TypeVar("P")


class _FilteredPart(Generic[P]):
    """A part of the whole index, of which only the selected documents and chunks exist."""

    def __init__(self, held: P, selection: Selection) -> None:
        self._held = held
        self._selection = selection
        self._documents, self._chunks = selection

    def _of_chunks(self, ids: Collection[str]) -> list[str]:
        return [i for i in ids if i in self._chunks]


def _only(found: Mapping[str, Sequence[str]], allowed: Container[str]) -> dict[str, list[str]]:
    """Return lists of ids with the allowed ids only, without those that become empty."""
    kept = {key: [i for i in ids if i in allowed] for key, ids in found.items()}
    return {key: ids for key, ids in kept.items() if ids}


class FilteredDocuments(_FilteredPart[DocumentStore]):
    """The `DocumentStore` of a filtered index: documents and chunks that pass the filter."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(
        self,
        held: DocumentStore,
        selection: Selection,
        *,
        totals: Callable[[], Totals] | None = None,
    ) -> None:
        super().__init__(held, selection)
        self._totals = totals

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        return self._held.documents(self._allowed(ids))

    def document_ids(self) -> list[str]:
        return list(self._documents)

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        """Return the sections of each document, including those without an allowed chunk."""
        return self._held.sections_of(self._allowed(document_ids))

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        return self._held.chunks(self._of_chunks(ids))

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        return _only(self._held.chunk_ids_of(self._allowed(document_ids)), self._chunks)

    def chunk_count(self) -> int:
        """Return the number of leaf chunks of the whole index, which term statistics refer to, or
        of the selection if it has totals of its own.
        """
        return self._totals().leaves if self._totals else self._held.chunk_count()

    def document_count(self) -> int:
        return len(self._documents)

    def _allowed(self, ids: Collection[str]) -> list[str]:
        return [i for i in ids if i in self._documents]


class FilteredLedger(_FilteredPart[Ledger]):
    """The `Ledger` of a filtered index: the entries of allowed documents that could be read."""

    put = refuse_to_write
    remove = refuse_to_write

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        return {uri: e for uri, e in self._held.get(uris).items() if self._has(e)}

    def entries(self) -> Iterator[LedgerEntry]:
        return filter(self._has, self._held.entries())

    def settings_counts(self) -> Mapping[str, int]:
        return Counter(entry.settings for entry in self.entries())

    def _has(self, entry: LedgerEntry) -> bool:
        return not entry.error and entry.document_id in self._documents


class FilteredFields(_FilteredPart[FieldStore]):
    """The `FieldStore` of a filtered index: the fields of allowed documents."""

    def fields(self, among: IdSet | None = None) -> list[FieldInfo]:
        allowed = self._documents
        return self._held.fields(allowed if among is None else allowed & among)

    def values(self, name: str, among: IdSet | None = None) -> dict[str, tuple[str, ...]]:
        allowed = self._documents
        return self._held.values(name, allowed if among is None else allowed & among)

    def select(self, wanted: Filter) -> Selection:
        check_fields(wanted, [field.name for field in self.fields()])
        return self._allowed(self._held.select(wanted))

    def mentioned(self, chunks: IdSet) -> IdSet:
        return self._held.mentioned(chunks & self._chunks)

    def totals(self, selection: Selection) -> Totals:
        return self._held.totals(self._allowed(selection))

    def _allowed(self, found: Selection) -> Selection:
        return Selection(*(ids & kept for ids, kept in zip(found, self._selection, strict=True)))


class FilteredQuestions(_FilteredPart[QuestionStore]):
    """The `QuestionStore` of a filtered index: the questions of allowed chunks."""

    put = refuse_to_write
    remove_chunks = refuse_to_write

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        return self._held.questions(self._of_chunks(chunk_ids))

    def chunk_ids(self) -> list[str]:
        return self._of_chunks(self._held.chunk_ids())


class FilteredLinks(_FilteredPart[LinkStore]):
    """The `LinkStore` of a filtered index: the links of and to allowed documents."""

    def known_as(self, names: Collection[str]) -> dict[str, list[str]]:
        return _only(self._held.known_as(names), self._documents)

    def linking_to(self, fits: Callable[[str], bool]) -> set[str]:
        return {i for i in self._held.linking_to(fits) if i in self._documents}

    def linked(self) -> list[tuple[str, str]]:
        return [pair for pair in self._held.linked() if pair[0] in self._documents]


class FilteredTexts:
    """The `TextIndex` of a filtered index."""

    add = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: TextIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        return self._index.search(query, k=k, where=_among(self._allowed, where))

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item; zeros for items that are not allowed."""
        counts = self._index.occurrences(ids, terms)
        counts[[i not in self._allowed for i in ids]] = 0
        return counts

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of items of the whole index with each term."""
        return self._index.document_frequencies(terms)

    def count(self) -> int:
        """Return the number of items of the whole index, to which frequencies refer."""
        return self._index.count()


class FilteredVectors:
    """The `VectorIndex` of a filtered index."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: VectorIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        return self._index.get(_among(self._allowed, ids))

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        return self._index.products(_among(self._allowed, ids), vectors)

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key; unfiltered, as a key reveals no document."""
        return self._index.by_key(keys)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        return self._index.search(vector, k=k, where=_among(self._allowed, where))

    def count(self) -> int:
        """Return the number of ids of the whole index."""
        return self._index.count()


def _among(allowed: IdSet, where: Collection[str] | None) -> Collection[str]:
    return allowed if where is None else [i for i in where if i in allowed]


T = TypeVar("T")
_EdgeKey = tuple[str, str, str, str]

_GROWTH = 4
_BATCH_EDGES = 10_000
_ALL_CHUNKS = (1 << 63) - 1


class FilteredGraph(_FilteredPart[GraphStore]):
    """The `GraphStore` of a filtered index."""

    upsert = refuse_to_write
    remove_chunks = refuse_to_write

    def __init__(
        self,
        held: GraphStore,
        selection: Selection,
        *,
        mentioned: Callable[[], IdSet],
        totals: Callable[[], Totals] | None = None,
    ) -> None:
        super().__init__(held, selection)
        self._find_mentioned = mentioned
        self._totals = totals

    @cached_property
    def allowed_entities(self) -> IdSet:
        """The ids of the entities that an allowed chunk mentions."""
        return self._find_mentioned()

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        found = self._held.entities([i for i in ids if i in self.allowed_entities])
        return {key: self._as_allowed(entity) for key, entity in found.items()}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        found = self._held.lookup(normal_forms)
        return {
            form: self._as_allowed(e) for form, e in found.items() if e.id in self.allowed_entities
        }

    def entity_count(self) -> int:
        found = self._held.entities(list(self.allowed_entities))
        return sum(not entity.is_keyword for entity in found.values())

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        return self._held.mentions(self._of_chunks(chunk_ids))

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        return self._held.relations(self._of_chunks(chunk_ids))

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        found: defaultdict[str, list[RelationLink]] = defaultdict(list)
        directions: tuple[tuple[Direction, bool], ...] = (("out", True), ("in", False))
        for direction, forward in directions:
            edges = self.neighbours(entity_ids, direction=direction, types=ENTITY_EDGES, fan=limit)
            for key, strongest in edges.items():
                found[key] += [
                    RelationLink(e.relation, forward, _other_end(key, e), e.weight)
                    for e in strongest[: max(limit, 0)]
                ]
        return {key: links for key, links in found.items() if links}

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        found = self._held.relation_chunks(relations, limit=_ALL_CHUNKS)
        return [tuple(self._of_chunks(chunks)[: max(limit, 0)]) for chunks in found]

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        return _read_until_enough(
            entity_ids,
            lambda ids, wider_fan: self._held.about(ids, fan=wider_fan, minimum=minimum),
            keep=lambda found: [item for item in found if item.id in self._chunks],
            end=lambda _, item: item.id,
            fan=fan,
        )

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        found = self._held.nodes(ids)
        return {key: self._node_as_allowed(n) for key, n in found.items() if self._has(n)}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        wider_limit = limit
        while True:
            found = self._held.find(label=label, name=name, limit=wider_limit)
            kept = [self._node_as_allowed(node) for node in found if self._has(node)]
            if len(kept) >= limit or len(found) < wider_limit:
                return kept[: max(limit, 0)]
            wider_limit *= _GROWTH

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        def read(nodes: Collection[str], wider_fan: int | None) -> dict[str, list[Edge]]:
            return self._held.neighbours(nodes, direction=direction, types=types, fan=wider_fan)

        if fan is None:
            found = {key: self._stated(edges) for key, edges in read(ids, None).items()}
            return {key: edges for key, edges in found.items() if edges}
        return _read_until_enough(ids, read, keep=self._stated, end=_other_end, fan=fan)

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        edges = iter(self._held.edges(types=types))
        while batch := list(islice(edges, _BATCH_EDGES)):
            yield from self._stated(batch, max_chunks=sys.maxsize)

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int | None = 8,
        limit: int | None = 50,
        types: Collection[str] | None = None,
    ) -> Subgraph:
        followed = ENTITY_EDGES if types is None else types
        edges: dict[tuple[str, str, str, str], Edge] = {}

        def adjacent(keys: Sequence[str]) -> Iterator[list[AdjacentEdge[str]]]:
            found = self.neighbours(keys, direction=direction, types=followed, fan=fan)
            for key in keys:
                edges.update({_key(edge): edge for edge in found.get(key, ())})
                yield [_as_adjacent(key, edge) for edge in found.get(key, ())]

        known = self.nodes(seeds)
        reached = walk_graph(adjacent, [s for s in seeds if s in known], depth=depth, limit=limit)
        known |= self.nodes([key for key in reached.nodes if key not in known])
        return Subgraph(
            tuple(known[key] for key in reached.nodes),
            tuple(
                edges[edge.source, edge.target, edge.type, edge.relation] for edge in reached.edges
            ),
        )

    def schema(self) -> GraphSchema:
        """Return the labels, types and relations with their counts: of the whole index, or of the
        selection if it has totals of its own.
        """
        return self._totals().schema if self._totals else self._held.schema()

    def changed(self, entity_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Return which of these entities do not exist here or have another name, and which of them
        have other mentions; without totals of its own, only the first are known.
        """
        whole, own = self._held.entities(entity_ids), self.entities(entity_ids)
        renamed = {i for i, e in whole.items() if i not in own or own[i].name != e.name}
        counts = {i for i, e in own.items() if e.chunk_count != whole[i].chunk_count}
        return renamed, renamed | counts

    def _as_allowed(self, entity: Entity) -> Entity:
        known = self._totals().entities.get(entity.id) if self._totals else None
        if known is None:
            return entity
        return replace(entity, name=known.name, type=known.type, chunk_count=known.chunks)

    def _node_as_allowed(self, node: Node) -> Node:
        if self._totals is None or node.label not in (Label.ENTITY, Label.KEYWORD):
            return node
        form = str(node.properties["normal_form"])
        return entity_node(self._as_allowed(Entity(node.id, node.name, form, "", 0)))

    def _has(self, node: Node) -> bool:
        if node.label in (Label.ENTITY, Label.KEYWORD):
            return node.id in self.allowed_entities
        if node.label == Label.CHUNK:
            return node.id in self._chunks
        document = node.id if node.label == Label.DOCUMENT else node.properties["document"]
        return document in self._documents

    def _stated(self, edges: Sequence[Edge], *, max_chunks: int = EDGE_CHUNKS) -> list[Edge]:
        """Return, in order, the edges that an allowed chunk states and the structure edges between
        allowed nodes.
        """
        chunks = self._chunks
        parents = self.nodes([e.source for e in edges if e.type == EdgeType.HAS_SECTION])
        # None of the chunks that these edges list is allowed, but one of the unlisted ones may be.
        truncated = [
            edge
            for edge in edges
            if edge.type in ENTITY_EDGES
            and len(edge.chunks) >= EDGE_CHUNKS
            and not self._of_chunks(edge.chunks)
        ]
        support: dict[_EdgeKey, tuple[str, ...]] = {}
        if truncated:
            keys = [(edge.source, edge.relation, edge.target) for edge in truncated]
            read = self._held.relation_chunks(keys, limit=_ALL_CHUNKS)
            support = dict(zip(map(_key, truncated), read, strict=True))
        kept: list[Edge] = []
        for edge in edges:
            if edge.type == EdgeType.HAS_SECTION:
                exists = edge.source in parents
            elif edge.type == EdgeType.HAS_CHUNK:
                exists = edge.target in chunks
            elif edge.type in (EdgeType.NEXT, EdgeType.HAS_CHILD):
                exists = edge.source in chunks and edge.target in chunks
            else:
                stated = self._of_chunks(support.get(_key(edge), edge.chunks))
                exists = bool(stated)
                edge = replace(edge, chunks=tuple(stated[:max_chunks]))  # noqa: PLW2901
            if exists:
                kept.append(edge)
        return kept


def _key(edge: Edge) -> _EdgeKey:
    return edge.source, edge.target, edge.type, edge.relation


def _other_end(node: str, edge: Edge) -> str:
    return edge.target if edge.source == node else edge.source


def _as_adjacent(node: str, edge: Edge) -> AdjacentEdge[str]:
    other = _other_end(node, edge)
    return AdjacentEdge(-edge.weight, other, edge.type, edge.relation, edge.source, edge.target)


def _read_until_enough(
    ids: Collection[str],
    read: Callable[[Collection[str], int], Mapping[str, Sequence[T]]],
    *,
    keep: Callable[[Sequence[T]], list[T]],
    end: Callable[[str, T], str],
    fan: int,
) -> dict[str, list[T]]:
    """Return, for each id, the items that ``keep`` returns, limited to ``fan`` distinct ends.

    ``read`` returns items for some ids and a fan. As long as too few items of an id are kept, it is
    called again for that id with a larger fan.
    """
    result: dict[str, list[T]] = {}
    remaining, wider_fan = list(dict.fromkeys(ids)), fan
    while remaining and fan > 0:
        found = read(remaining, wider_fan)
        too_few = []
        for key in remaining:
            items = found.get(key, ())
            kept = keep(items)
            ends = dict.fromkeys(end(key, item) for item in kept)
            if len(ends) < fan and len({end(key, item) for item in items}) >= wider_fan:
                too_few.append(key)
            elif kept:
                chosen = set(list(ends)[:fan])
                result[key] = [item for item in kept if end(key, item) in chosen]
        remaining, wider_fan = too_few, wider_fan * _GROWTH
    return {key: result[key] for key in ids if key in result}


_BATCH_REPORTS = 500


class FilteredCommunities(_FilteredPart[CommunityStore]):
    """The `CommunityStore` of a filtered index: communities with an allowed chunk."""

    replace = refuse_to_write
    forget = refuse_to_write
    put_reports = refuse_to_write

    def __init__(self, held: CommunityStore, selection: Selection, graph: FilteredGraph) -> None:
        super().__init__(held, selection)
        self._graph = graph

    @cached_property
    def reported(self) -> IdSet:
        """The ids of the communities with an allowed report."""
        ids = [i for level in self._held.levels() for i in level]
        reported: list[str] = []
        for start in range(0, len(ids), _BATCH_REPORTS):
            reported += self.reports(ids[start : start + _BATCH_REPORTS])
        return IdSet.of(reported)

    @cached_property
    def _allowed(self) -> frozenset[str]:
        found = self._held.of_chunks(self._chunks)
        return frozenset(key for communities in found.values() for key in communities)

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        """Return communities with their allowed chunks and entities only.

        The importances of the remaining members add up to 1.
        """
        found = self._held.communities([i for i in ids if i in self._allowed])
        return {key: self._restricted(community) for key, community in found.items()}

    def levels(self) -> list[list[str]]:
        kept = [[i for i in level if i in self._allowed] for level in self._held.levels()]
        return [level for level in kept if level]

    def parents(self) -> Mapping[str, str | None]:
        parents = self._held.parents()
        return {key: above for key, above in parents.items() if key in self._allowed}

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        entities = [i for i in entity_ids if i in self._graph.allowed_entities]
        return _only(self._held.of_entities(entities), self._allowed)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        return _only(self._held.of_chunks(self._of_chunks(chunk_ids)), self._allowed)

    def stale(self) -> list[str]:
        return [i for i in self._held.stale() if i in self._allowed]

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports that were written from allowed chunks and entities only.

        A model reads what any chunk states of the members, and not only their names.
        """
        found = self._held.reports([i for i in community_ids if i in self._allowed])
        sources = self._held.communities(found)
        members = {i for source in sources.values() for i in source.entity_ids}
        renamed, changed = self._graph.changed(members)
        chunks = self._chunks
        return {
            key: report
            for key, report in found.items()
            if all(i in chunks for i in (*report.chunk_ids, *sources[key].chunk_ids))
            and (renamed if report.source == EXTRACTIVE_SOURCE else changed).isdisjoint(
                sources[key].entity_ids
            )
        }

    def _restricted(self, community: Community) -> Community:
        entities = self._graph.allowed_entities
        members = [member for member in community.members if member.entity_id in entities]
        total = sum(member.importance for member in members) or 1.0
        return replace(
            community,
            members=tuple(Member(m.entity_id, m.importance / total) for m in members),
            chunk_ids=tuple(self._of_chunks(community.chunk_ids)),
        )


class FilteredResolutions:
    """The `ResolutionStore` of a filtered index: decisions about allowed entities, no reasons."""

    put = refuse_to_write
    remove = refuse_to_write
    touch = refuse_to_write
    settle = refuse_to_write

    def __init__(self, held: ResolutionStore, graph: FilteredGraph) -> None:
        self._held = held
        self._graph = graph

    def decisions(self) -> list[SameAs]:
        return self._allowed(self._held.decisions())

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        found = self._held.of_entities(entity_ids)
        kept = {key: self._allowed(decisions) for key, decisions in found.items()}
        return {key: decisions for key, decisions in kept.items() if decisions}

    def groups(self) -> dict[str, str]:
        return dict(self._groups)

    def touched(self) -> list[str]:
        return [i for i in self._held.touched() if i in self._graph.allowed_entities]

    @cached_property
    def _groups(self) -> dict[str, str]:
        decisions = self.decisions()
        found = self._graph.entities({end for decision in decisions for end in decision.pair})
        return form_groups(decisions, {i: e.chunk_count for i, e in found.items()}).canonical

    def _allowed(self, decisions: Sequence[SameAs]) -> list[SameAs]:
        known = self._graph.allowed_entities
        return [replace(d, reason="") for d in decisions if d.first in known and d.second in known]


class FilteredHomonyms(_FilteredPart[HomonymStore]):
    """The `HomonymStore` of a filtered index: the senses in allowed chunks."""

    replace = refuse_to_write

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        found: dict[str, Homonym] = {}
        for key, homonym in self._held.read(entity_ids).items():
            kept = (tuple(i for i in sense if i in self._chunks) for sense in homonym.senses)
            senses = sorted(filter(None, kept), key=lambda chunks: -len(chunks))
            if len(senses) > 1:
                found[key] = Homonym(key, tuple(senses), "")
        return found


class FilteredReadings(_FilteredPart[ReadingStore]):
    """The `ReadingStore` of a filtered index."""

    put = refuse_to_write
    remove_chunks = refuse_to_write
    put_summaries = refuse_to_write

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        return self._held.readings(self._of_chunks(chunk_ids))

    def quarantined(self) -> list[ChunkReading]:
        return [reading for reading in self._held.quarantined() if reading.chunk_id in self._chunks]

    def counts(self) -> Mapping[ReadingStatus, int]:
        return Counter(reading.status for reading in self.readings(self._chunks).values())

    def has_readings(self) -> bool:
        """Return True if there is a reading of any chunk of the whole index."""
        return self._held.has_readings()

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        found = {
            key: [d for d in descriptions if d.chunk_id in self._chunks]
            for key, descriptions in self._held.descriptions(entity_ids).items()
        }
        return {key: descriptions for key, descriptions in found.items() if descriptions}

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        return self._held.descriptions_in(self._of_chunks(chunk_ids))

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        """Return the summaries of entities that have descriptions from allowed chunks only."""
        excluded = {
            key
            for key, descriptions in self._held.descriptions(entity_ids).items()
            if any(d.chunk_id not in self._chunks for d in descriptions)
        }
        return self._held.summaries([i for i in entity_ids if i not in excluded])

    def described(self) -> list[str]:
        ids = self._held.described()
        described = self.descriptions(ids)
        return [i for i in ids if i in described]


def _kept(held: P | None, restrict: Callable[[P], T]) -> T | None:
    """Return an optional part as the filter leaves it, if the whole store has it."""
    return None if held is None else restrict(held)


class FilteredStore:
    """A read-only store with only the selected documents and chunks of another store.

    Excluded chunks do not exist here, nor do relations that only they state, nor reports and
    summaries that were written from one of them, nor tables, nor a list of corrections. So all
    retrievers respect the filter without knowing about it. Term statistics are those of the whole
    store. So are, for speed, the numbers of chunks, names and types of entities, and the schema;
    ``is_apart`` counts them again, for readers who may not know of the rest. Searches return as
    many allowed items as requested, if there are enough.

    The selection does not follow writes: select again after one.
    """

    set_meta = refuse_to_write
    transaction = refuse_to_write
    remove_documents = refuse_to_write

    def __init__(
        self, store: Store, fields: FieldStore, selection: Selection, *, is_apart: bool = False
    ) -> None:
        self.url = store.url
        self.selection = selection
        self._store = store
        totals = cache(lambda: fields.totals(selection)) if is_apart else None
        self.documents = FilteredDocuments(store.documents, selection, totals=totals)
        self.ledger = FilteredLedger(store.ledger, selection)
        self.graph = FilteredGraph(
            store.graph,
            selection,
            mentioned=lambda: fields.mentioned(selection.chunks),
            totals=totals,
        )
        whole, graph = store.capabilities, self.graph
        self._communities = _kept(
            whole.communities, lambda held: FilteredCommunities(held, selection, graph)
        )
        self.capabilities = Capabilities(
            communities=self._communities,
            readings=_kept(whole.readings, lambda held: FilteredReadings(held, selection)),
            questions=_kept(whole.questions, lambda held: FilteredQuestions(held, selection)),
            resolutions=_kept(whole.resolutions, lambda held: FilteredResolutions(held, graph)),
            homonyms=_kept(whole.homonyms, lambda held: FilteredHomonyms(held, selection)),
            property_graphs=_kept(
                whole.property_graphs,
                lambda held: FilteredPropertyGraphs(held, fields, selection),
            ),
            fields=FilteredFields(fields, selection),
            links=_kept(whole.links, lambda held: FilteredLinks(held, selection)),
            cypher=_kept(whole.cypher, lambda held: PARTS.load("filtered_cypher")(self, held).run),
            companions=whole.companions,
            whole=whole_of(store),
        )

    def texts(self, name: str) -> TextIndex:
        return FilteredTexts(self._store.texts(name), self._allowed(name))

    def vectors(self, name: str) -> VectorIndex:
        return FilteredVectors(self._store.vectors(name), self._allowed(name))

    def meta(self) -> Mapping[str, str]:
        return self._store.meta()

    def generation(self) -> int:
        """Return the generation of the whole store."""
        return self._store.generation()

    def reading(self) -> AbstractContextManager[None]:
        """Read one state of the whole store in the block."""
        return self._store.reading()

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction of the whole store."""
        return self._store.writing

    def close(self) -> None:
        """Do nothing, as the whole store stays open."""

    def _allowed(self, index: str) -> IdSet:
        name = final_name(index)
        if name == "entity":
            return self.graph.allowed_entities
        if name == "report":
            return self._communities.reported if self._communities else IdSet(())
        return self.selection.chunks


class FilteredPropertyGraphs(_FilteredPart[PropertyGraphStore]):
    """The `PropertyGraphStore` of a filtered index: graphs whose chunks are all allowed."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, held: PropertyGraphStore, fields: FieldStore, selection: Selection) -> None:
        super().__init__(held, selection)
        self._fields = fields

    def names(self) -> list[str]:
        return [name for name in self._held.names() if self._is_whole(name)]

    def _is_whole(self, name: str) -> bool:
        uri = f"{GRAPH_URI}{name}"
        source = self._fields.select(Condition(URI, Comparison.EQUAL, (uri, f"{uri}/*")))
        return len(source.chunks) > 0 and len(source.chunks - self._chunks) == 0
