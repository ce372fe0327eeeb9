"""Read the graph: entities, nodes, neighbours, relation links and walks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, walk_graph
from knotwork._stores.base import RelationLink, Scored
from knotwork._stores.embedded.adjacency import Adjacency, RelationNames, read_relation_links
from knotwork._stores.embedded.contributions import (
    relation_key,
    remove_contributions,
    write_contributions,
)
from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.graph_rows import (
    ENTITIES_BY_KEY,
    NODE_TABLES,
    find_keys,
    read_nodes,
    scan_edges,
)
from knotwork._stores.embedded.packing import keys_of, pack_keys, unpack_spans
from knotwork._stores.graph_view import EDGE_CHUNKS
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Direction,
    Edge,
    EdgeType,
    Entity,
    GraphSchema,
    Label,
    Mention,
    Node,
    Relation,
    Span,
    Subgraph,
    entity_id,
    int_to_id,
)

_MENTIONS = (
    "SELECT m.chunk, e.normal_form, m.name, m.type, m.spans, m.about FROM json_each(?) j"
    " CROSS JOIN mention m ON m.chunk = j.value CROSS JOIN entity e ON e.id = m.entity"
    " ORDER BY m.chunk, m.entity"
)
_RELATIONS = (
    'SELECT c.chunk, c.source, r.name, c.target, c.weight, c.start, c."end", c.description'
    " FROM json_each(?) j CROSS JOIN contribution c ON c.chunk = j.value"
    " CROSS JOIN relation r ON r.id = c.relation ORDER BY c.chunk, c.source, r.name, c.target"
)
_ABOUT = (
    "SELECT j.value, (SELECT group_concat(format('%016x %!.17g', chunk, about), ' ') FROM"
    " (SELECT chunk, about FROM mention WHERE entity = j.value AND about > ?2"
    " ORDER BY about DESC, chunk LIMIT ?3)) FROM json_each(?1) j"
)
"""The first chunks of each of many entities, as one text: SQLite has no LATERAL. 17 digits are the
number itself."""
_SUPPORTS = (
    "SELECT j.key, (SELECT group_concat(printf('%016x', chunk), ' ') FROM"
    " (SELECT chunk FROM contribution WHERE source = j.value ->> 0 AND target = j.value ->> 1"
    " AND relation = j.value ->> 2 ORDER BY chunk LIMIT ?2)) FROM json_each(?1) j"
)
_LABEL_COUNTS = (
    "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM section),"  # noqa: S608
    " (SELECT count(*) FROM chunk), (SELECT count(*) FROM entity),"
    f" (SELECT count(*) FROM {NODE_TABLES[Label.KEYWORD]})"
)
_EDGE_COUNTS = (
    "SELECT (SELECT count(*) FROM section), (SELECT count(*) FROM chunk),"
    " (SELECT count(*) FROM chunk WHERE parent IS NOT NULL),"
    " (SELECT count(*) - count(DISTINCT document) FROM chunk WHERE is_parent = 0),"
    " (SELECT count(*) FROM mention), (SELECT count(*) FROM mention WHERE about > 0)"
)


@reports_damage
class EmbeddedGraph:
    """The `GraphStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names = RelationNames(database)

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions, or replace those with the same key."""
        with self._database.transaction():
            write_contributions(self._database, mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the contributions of these chunks, and nodes and edges without other support."""
        with self._database.transaction():
            remove_contributions(self._database, [key for _, key in keys_of(chunk_ids)])

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            rows = self._database.fetch(ENTITIES_BY_KEY, (pack_keys(keys.values()),))
        found = {key: columns for key, *columns in rows}
        return {i: Entity(i, *found[key]) for i, key in keys.items() if key in found}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        """Return the number of entities without keywords."""
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {NODE_TABLES[Label.ENTITY]}")  # noqa: S608
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_MENTIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Mention]] = defaultdict(list)
        for key, normal_form, name, type_, spans, about in checked(rows):
            mention = Mention(int_to_id(key), normal_form, name, type_, unpack_spans(spans), about)
            grouped[key].append(mention)
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_RELATIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Relation]] = defaultdict(list)
        for key, source, name, target, weight, start, end, description in checked(rows):
            span = None if start is None else Span(start, end)
            ends = int_to_id(source), int_to_id(target)
            grouped[key].append(
                Relation(int_to_id(key), ends[0], name, ends[1], weight, span, description)
            )
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return the ``fan`` chunks of each entity with the highest ``about`` over ``minimum``."""
        keys = dict(keys_of(entity_ids))
        with self._database.reading():
            bindings = (pack_keys(keys.values()), minimum, max(fan, 0))
            ranked: dict[int, str] = dict(self._database.fetch(_ABOUT, bindings))
        found: dict[str, list[Scored]] = {}
        for entity, key in keys.items():
            if listed := ranked[key]:
                words = listed.split()
                found[entity] = list(map(Scored, words[::2], map(float, words[1::2])))
        return found

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = read_nodes(self._database, keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes of a label, a name or both, ordered by id; see `GraphStore.find`."""
        with self._database.reading():
            keys = find_keys(self._database, label=label, name=name, limit=max(limit, 0))
            found = read_nodes(self._database, keys)
        return [found[key] for key in keys]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        """Return the edges of each node to its ``fan`` strongest neighbours, strongest first."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            adjacency = Adjacency(
                self._database, self._names, direction=direction, types=types, fan=fan
            )
            found = list(adjacency(list(keys.values())))
            edges = iter(self._edges(list(chain.from_iterable(found))))
        parts = zip(keys, found, strict=True)
        return {i: list(islice(edges, len(adjacent))) for i, adjacent in parts if adjacent}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the strongest relations and co-occurrences of each entity, without chunks."""
        with self._database.reading():
            return read_relation_links(
                self._database, self._names, keys_of(entity_ids), limit=limit
            )

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the ``limit`` chunks with the smallest ids of each (source, relation, target)."""
        keys = dict(keys_of([end for source, _, target in relations for end in (source, target)]))
        known = [
            (keys[source], keys[target], relation_key(name))
            if source in keys and target in keys
            else (-1, -1, -1)
            for source, name, target in relations
        ]
        with self._database.reading():
            rows = self._database.fetch(_SUPPORTS, (pack_keys(known), limit))
        return [tuple(sorted((chunks or "").split())) for _, chunks in sorted(rows)]

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        """Yield all edges with all their chunks, ordered by (type, source, target, relation)."""
        for type_ in sorted(EdgeType):
            if types is None or type_ in types:
                yield from scan_edges(self._database, type_)

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
        types: Collection[str] | None = None,
    ) -> Subgraph:
        """Walk breadth first from ``seeds``; see `GraphStore.explore`."""
        followed = ENTITY_EDGES if types is None else types
        with self._database.reading():
            keys = [key for _, key in keys_of(seeds)]
            known = read_nodes(self._database, keys)
            adjacency = Adjacency(
                self._database,
                self._names,
                direction=direction,
                types=followed,
                fan=fan,
                existing_only=True,
            )
            start = [key for key in keys if key in known]
            reached = walk_graph(adjacency, start, depth=depth, limit=limit)
            others = [key for key in reached.nodes if key not in known]
            nodes = known | read_nodes(self._database, others)
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.edges)),
            )

    def schema(self) -> GraphSchema:
        """Count nodes by label, edges by type and RELATES edges by relation."""
        with self._database.reading():
            ((document, section, chunk, entity, keyword),) = self._database.rows(_LABEL_COUNTS)
            (counts,) = self._database.rows(_EDGE_COUNTS)
            relations: dict[str, int] = dict(
                self._database.rows("SELECT name, edges FROM relation ORDER BY edges DESC, name")
            )
        co_occurring = relations.pop(CO_OCCURRENCE_RELATION, 0)
        labels = (
            (Label.CHUNK, chunk),
            (Label.DOCUMENT, document),
            (Label.ENTITY, entity - keyword),
            (Label.KEYWORD, keyword),
            (Label.SECTION, section),
        )
        types = (
            EdgeType.HAS_SECTION,
            EdgeType.HAS_CHUNK,
            EdgeType.HAS_CHILD,
            EdgeType.NEXT,
            EdgeType.MENTIONS,
            EdgeType.ABOUT,
        )
        edge_types = sorted(
            [
                *zip(types, counts, strict=True),
                (EdgeType.RELATES, sum(relations.values())),
                (EdgeType.CO_OCCURS, co_occurring),
            ]
        )
        return GraphSchema(
            {label: count for label, count in labels if count},
            {type_: count for type_, count in edge_types if count},
            relations,
        )

    def _edges(self, adjacent: Sequence[AdjacentEdge[int]]) -> list[Edge]:
        """Convert adjacent edges to edges with their first supporting chunks."""
        keys = [(e.source, e.target, relation_key(e.relation)) for e in adjacent if e.relation]
        rows = self._database.fetch(_SUPPORTS, (pack_keys(keys), EDGE_CHUNKS)) if keys else []
        supports = (tuple(sorted(chunks.split())) for _, chunks in sorted(rows))
        id_of = cache(int_to_id)  # the edges of a walk share many ends
        edges: list[Edge] = []
        for edge in adjacent:
            source, target = id_of(edge.source), id_of(edge.target)
            chunks: tuple[str, ...] = ()
            if edge.relation:
                chunks = next(supports)
            elif edge.type in (EdgeType.MENTIONS, EdgeType.ABOUT):
                chunks = (source,)
            edges.append(Edge(source, edge.type, target, edge.weight, edge.relation, chunks))
        return edges
