"""Reading the graph: entities, nodes, neighbours and walks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

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
from knotwork.stores.base import Scored
from knotwork.stores.embedded.adjacency import Adjacency
from knotwork.stores.embedded.contributions import (
    relation_key,
    remove_contributions,
    write_contributions,
)
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.nodes import TABLES, find_keys, read_nodes
from knotwork.stores.embedded.packing import keys_of, pack_keys, unpack_spans
from knotwork.stores.embedded.relation_links import read_relation_links
from knotwork.stores.embedded.scans import scan
from knotwork.stores.relations import RelationLink
from knotwork.stores.traversal import EDGE_CHUNKS, Link, walk

_ENTITIES = (
    "SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count FROM json_each(?) j"
    " CROSS JOIN entity e ON e.id = j.value"
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
    "SELECT chunk, about FROM mention WHERE entity = ? AND about > ?"
    " ORDER BY about DESC, chunk LIMIT ?"
)
_MOST_ABOUT = (
    "SELECT j.value, m.chunk, m.about FROM json_each(?1) j CROSS JOIN mention m"
    " ON m.entity = j.value AND m.chunk = (SELECT chunk FROM mention"
    " WHERE entity = j.value AND about > ?2 ORDER BY about DESC, chunk LIMIT 1)"
)
"""The same for one chunk of each of many entities."""
_SUPPORTS = (
    "SELECT j.key, (SELECT group_concat(printf('%016x', chunk), ' ') FROM"
    " (SELECT chunk FROM contribution WHERE source = j.value ->> 0 AND target = j.value ->> 1"
    " AND relation = j.value ->> 2 ORDER BY chunk LIMIT ?2)) FROM json_each(?1) j"
)
_LABEL_COUNTS = (
    "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM section),"  # noqa: S608
    " (SELECT count(*) FROM chunk), (SELECT count(*) FROM entity),"
    f" (SELECT count(*) FROM {TABLES[Label.KEYWORD]})"
)
_EDGE_COUNTS = (
    "SELECT (SELECT count(*) FROM section), (SELECT count(*) FROM chunk),"
    " (SELECT count(*) FROM chunk WHERE parent IS NOT NULL),"
    " (SELECT count(*) - count(DISTINCT document) FROM chunk WHERE is_parent = 0),"
    " (SELECT count(*) FROM mention), (SELECT count(*) FROM mention WHERE about > 0)"
)


class EmbeddedGraph:
    """The `GraphStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions; one with the key of an earlier one replaces it."""
        with self._database.transaction():
            write_contributions(self._database, mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove all contributions of these chunks, and what is then supported by none."""
        with self._database.transaction():
            remove_contributions(self._database, [key for _, key in keys_of(chunk_ids)])

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            rows = self._database.fetch(_ENTITIES, (pack_keys(keys.values()),))
        found = {key: columns for key, *columns in rows}
        return {i: Entity(i, *found[key]) for i, key in keys.items() if key in found}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        """Return the number of entities."""
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {TABLES[Label.ENTITY]}")  # noqa: S608
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_MENTIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Mention]] = defaultdict(list)
        for key, normal_form, name, type_, spans, about in rows:
            mention = Mention(int_to_id(key), normal_form, name, type_, unpack_spans(spans), about)
            grouped[key].append(mention)
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_RELATIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Relation]] = defaultdict(list)
        for key, source, name, target, weight, start, end, description in rows:
            span = None if start is None else Span(start, end)
            ends = int_to_id(source), int_to_id(target)
            grouped[key].append(
                Relation(int_to_id(key), ends[0], name, ends[1], weight, span, description)
            )
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return, for each entity, the ``fan`` chunks most about it (more than ``minimum``)."""
        if fan == 1:
            return self._most_about(dict(keys_of(entity_ids)), minimum)
        ranked: dict[str, list[Scored]] = {}
        with self._database.reading():
            for entity, key in keys_of(entity_ids):
                rows = self._database.fetch(_ABOUT, (key, minimum, max(fan, 0)))
                if rows:
                    ranked[entity] = [Scored(int_to_id(chunk), about) for chunk, about in rows]
        return ranked

    def _most_about(self, keys: Mapping[str, int], minimum: float) -> dict[str, list[Scored]]:
        with self._database.reading():
            rows = self._database.fetch(_MOST_ABOUT, (pack_keys(keys.values()), minimum))
        best = {key: [Scored(int_to_id(chunk), about)] for key, chunk, about in rows}
        return {entity: best[key] for entity, key in keys.items() if key in best}

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            found = read_nodes(connection, keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes by label and/or exact name (entities: by normal form too), by id."""
        with self._database.reading() as connection:
            keys = find_keys(connection, label=label, name=name, limit=max(limit, 0))
            found = read_nodes(connection, keys)
        return [found[key] for key in keys]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        """Return each node's edges, strongest first, to at most ``fan`` neighbours a node."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            adjacent = Adjacency(connection, direction=direction, types=types, fan=fan)
            found = zip(keys, adjacent(list(keys.values())), strict=True)
            return {i: self._edges(links) for i, links in found if links}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the strongest relations and co-occurrences at each entity, without chunks."""
        with self._database.reading() as connection:
            return read_relation_links(connection, keys_of(entity_ids), limit=limit)

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks that state each (source, relation, target), in order."""
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
        """Scan all edges with all their chunks, ordered by (type, source, target, relation)."""
        for type_ in sorted(EdgeType):
            if types is None or type_ in types:
                yield from scan(self._database, type_)

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
        with self._database.reading() as connection:
            keys = [key for _, key in keys_of(seeds)]
            known = read_nodes(connection, keys)
            adjacent = Adjacency(
                connection, direction=direction, types=followed, fan=fan, present_only=True
            )
            start = [key for key in keys if key in known]
            reached = walk(adjacent, start, depth=depth, limit=limit)
            nodes = read_nodes(connection, reached.nodes)
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.links)),
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

    def _edges(self, links: Sequence[Link[int]]) -> list[Edge]:
        """Return links as edges, each with its first supporting chunks."""
        supports = iter(self._supports([link for link in links if link.relation]))
        ids = _Ids()
        edges: list[Edge] = []
        for link in links:
            source, target = ids[link.source], ids[link.target]
            chunks: tuple[str, ...] = ()
            if link.relation:
                chunks = next(supports)
            elif link.type in (EdgeType.MENTIONS, EdgeType.ABOUT):
                chunks = (source,)
            edges.append(Edge(source, link.type, target, link.weight, link.relation, chunks))
        return edges

    def _supports(self, links: Sequence[Link[int]]) -> list[tuple[str, ...]]:
        """Return the first chunks of edges with a relation, in their order."""
        keys = [(link.source, link.target, relation_key(link.relation)) for link in links]
        rows = self._database.fetch(_SUPPORTS, (pack_keys(keys), EDGE_CHUNKS))
        return [tuple(sorted(chunks.split())) for _, chunks in sorted(rows)]


class _Ids(dict[int, str]):
    """Ids by key, each made once: the edges of a walk share their ends."""

    def __missing__(self, key: int) -> str:
        self[key] = int_to_id(key)
        return self[key]
