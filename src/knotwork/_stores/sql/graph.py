"""The graph in tables: entities, nodes of any label, edges, walks, and what chunks contribute.

The edges of many nodes are read at once: one statement for each kind of edge, not for each node.
What is written has the integer keys of its rows, with the names that hashes stand for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, groupby, islice, repeat
from operator import itemgetter, neg
from typing import Any, NamedTuple

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.base import RelationLink, Scored
from knotwork._stores.graph_view import (
    EDGE_CHUNKS,
    chunk_node,
    document_node,
    entity_node,
    schema_of,
    section_node,
)
from knotwork._stores.sql.database import (
    Row,
    SqlDatabase,
    SqlPart,
    delete_keys,
    key_list,
    keys_of,
    pack_spans,
    unpack_spans,
    upsert,
)
from knotwork._stores.sql.documents import SqlIdChecks, check_same_name
from knotwork._stores.sql.tables import IS_CO_OCCURRENCE, TABLE_COLUMNS, relation_key
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    KEYWORD_TYPES,
    Chunk,
    Direction,
    Document,
    Edge,
    EdgeType,
    Entity,
    GraphSchema,
    Label,
    Mention,
    Node,
    Relation,
    Section,
    Span,
    Subgraph,
    content_id,
    entity_id,
    id_to_int,
    int_to_id,
    relation_edge_type,
)

_KEYWORDS = ", ".join(f"'{type_}'" for type_ in sorted(KEYWORD_TYPES))
"""The types of keywords, as the list of an SQL ``IN``."""

NODE_TABLES = {
    Label.DOCUMENT: "document WHERE true",
    Label.SECTION: "section WHERE true",
    Label.CHUNK: "chunk WHERE true",
    Label.ENTITY: f"entity WHERE type NOT IN ({_KEYWORDS})",
    Label.KEYWORD: f"entity WHERE type IN ({_KEYWORDS})",
}
"""The table of each label with a WHERE clause, to which conditions can be added."""


_ENTITY_COUNT = f"SELECT count(*) FROM {NODE_TABLES[Label.ENTITY]}"
_MENTIONS = """
    SELECT m.chunk, e.normal_form, m.name, m.type, m.spans, m.about
    FROM keys($1) CROSS JOIN mention m CROSS JOIN entity e
    WHERE m.chunk = j.value AND e.id = m.entity
    ORDER BY m.chunk, m.entity
"""
_RELATIONS = """
    SELECT c.chunk, c.source, r.name, c.target, c.weight, c.start, c."end", c.description
    FROM keys($1) CROSS JOIN contribution c CROSS JOIN relation r
    WHERE c.chunk = j.value AND r.id = c.relation
    ORDER BY c.chunk, c.source, r.name, c.target
"""
_ABOUT = """
    SELECT j.value, joined[
        SELECT m.chunk, m.about FROM mention m WHERE m.entity = j.value AND m.about > $1
        ORDER BY m.about DESC, m.chunk LIMIT $2
    | id chunk, real about] FROM keys($3)
"""
_SUPPORTS = """
    SELECT j.place, joined[
        SELECT c.chunk FROM contribution c
        WHERE c.source = j.source AND c.target = j.target AND c.relation = j.relation
        ORDER BY c.chunk LIMIT $1
    | id chunk] FROM rows($2, source, target, relation)
"""
_LABEL_COUNTS = f"""
    SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM section),
        (SELECT count(*) FROM chunk), (SELECT count(*) FROM entity),
        (SELECT count(*) FROM {NODE_TABLES[Label.KEYWORD]})
"""
_EDGE_COUNTS = """
    SELECT (SELECT count(*) FROM section), (SELECT count(*) FROM chunk),
        (SELECT count(*) FROM chunk WHERE parent IS NOT NULL),
        (SELECT count(*) - count(DISTINCT document) FROM chunk WHERE is_parent = 0),
        (SELECT count(*) FROM mention), (SELECT count(*) FROM mention WHERE about > 0)
"""
_RELATION_COUNTS = "SELECT name, edges FROM relation ORDER BY edges DESC, name"
_RELATION_NAMES = "SELECT r.id, r.name FROM keys($1) CROSS JOIN relation r WHERE r.id = j.value"
_MOST_NAMES = 50_000
"""Names of relations that are kept between reads."""

_ENTITIES = """
    SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count
    FROM keys($1) CROSS JOIN entity e WHERE e.id = j.value
"""
_LOOKUP = """
    SELECT j.value, 0 AS rank, e.id, e.name, e.normal_form, e.type, e.chunk_count
    FROM keys($1) CROSS JOIN entity e WHERE e.id = j.value
    UNION ALL
    SELECT j.value, c.position, e.id, e.name, e.normal_form, e.type, e.chunk_count
    FROM keys($1) CROSS JOIN correction c CROSS JOIN entity e
    WHERE c.form = j.value AND e.id = c.entity
    ORDER BY 1, 2
"""
"""The entities with a normal form; a renamed one comes after that of its own name."""


def chunk_of_row(
    identifier: str,
    name: str,
    document: int,
    section: int,
    ordinal: int,
    start: int,
    end: int,
    text: str,
) -> Node:
    """Return the node of a chunk."""
    ends = int_to_id(document), int_to_id(section)
    return chunk_node(Chunk(identifier, *ends, ordinal, Span(start, end), text, (), name))


def section_of_row(
    identifier: str, title: str, document: int, level: int, ordinal: int, *span: int
) -> Node:
    """Return the node of a section."""
    document_id = int_to_id(document)
    return section_node(Section(identifier, document_id, None, ordinal, level, title, Span(*span)))


def document_of_row(_: str, uri: str, title: str, media_type: str, language: str) -> Node:
    """Return the node of a document, whose id follows from its uri."""
    return document_node(Document(uri, "", title, media_type, language))


def entity_of_row(identifier: str, *columns: Any) -> Node:  # noqa: ANN401  a row
    """Return the node of an entity: its name, normal form, type and number of chunks."""
    return entity_node(Entity(identifier, *columns))


_CHUNKS = """
    SELECT c.id, c.name, c.document, c.section, c.ordinal, c.start, c."end", c.text
    FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value
"""
_SECTIONS = """
    SELECT s.id, s.title, s.document, s.level, s.ordinal, s.start, s."end"
    FROM keys($1) CROSS JOIN section s WHERE s.id = j.value
"""
_DOCUMENTS = """
    SELECT d.id, d.uri, d.title, d.media_type, d.language
    FROM keys($1) CROSS JOIN document d WHERE d.id = j.value
"""
_NODES: tuple[tuple[str, Callable[..., Node]], ...] = (
    (_ENTITIES, entity_of_row),
    (_CHUNKS, chunk_of_row),
    (_SECTIONS, section_of_row),
    (_DOCUMENTS, document_of_row),
)
"""What reads nodes by key, the most frequent label first."""

_NAMED = {
    Label.DOCUMENT: "title = $1 OR id = $2 AND title = ''",
    Label.SECTION: "title = $1",
    Label.CHUNK: "name = $1",
    Label.ENTITY: "name = $1 OR id = $2",
    Label.KEYWORD: "name = $1 OR id = $2",
}
"""What a name says of nodes: $2 is the key that it has as a uri or as a normal form."""

_OF_LABEL = {
    label: f"SELECT id FROM {table} ORDER BY id LIMIT $1" for label, table in NODE_TABLES.items()
}
_OF_NAME = {
    label: f"SELECT id FROM {table} AND ({_NAMED[label]}) ORDER BY id LIMIT "
    f"${_NAMED[label].count('$') + 1}"
    for label, table in NODE_TABLES.items()
}


_Side = tuple[EdgeType, bool]
"""An edge type, and whether it is followed from source to target."""

_NO_LIMIT = 1 << 62
_SPARE_EDGES = 24
_PAGE_GROWTH = 8
_CO_OCCURRENCE = relation_key(CO_OCCURRENCE_RELATION)
_OF_TYPES: Mapping[frozenset[str], str] = {
    frozenset(ENTITY_EDGES): "",
    frozenset({EdgeType.RELATES}): f"AND {IS_CO_OCCURRENCE} = 0",
    frozenset({EdgeType.CO_OCCURS}): f"AND {IS_CO_OCCURRENCE} = 1",
}
"""The condition on relations and co-occurrences, by the types that are requested."""

_EXISTING = """
    SELECT j.value FROM keys($1)
    WHERE EXISTS (SELECT 1 FROM chunk c WHERE c.id = j.value)
    OR EXISTS (SELECT 1 FROM entity e WHERE e.id = j.value)
    OR EXISTS (SELECT 1 FROM section s WHERE s.id = j.value)
    OR EXISTS (SELECT 1 FROM document d WHERE d.id = j.value)
"""
_ONE = "CAST(1 AS double precision)"
_NEXT = """
    SELECT n.id, n.other, CAST(1 AS double precision)
    FROM (
        SELECT a.id, (
            SELECT b.id FROM chunk b
            WHERE b.document = a.document AND b.is_parent = 0
            AND (b.ordinal, b.id) {comparison} (a.ordinal, a.id)
            ORDER BY b.ordinal {order}, b.id {order} LIMIT 1
        ) AS other
        FROM keys($1) CROSS JOIN chunk a WHERE a.id = j.value AND a.is_parent = 0
    ) n
    WHERE n.other IS NOT NULL
"""
_STRUCTURE: Mapping[_Side, str] = {
    (EdgeType.HAS_SECTION, True): f"""
        SELECT j.value, s.id, {_ONE}
        FROM keys($1) CROSS JOIN section s WHERE s.document = j.value AND s.parent IS NULL
        UNION ALL SELECT j.value, s.id, {_ONE}
        FROM keys($1) CROSS JOIN section s WHERE s.parent = j.value
    """,
    (EdgeType.HAS_SECTION, False): f"""
        SELECT j.value, coalesce(s.parent, s.document), {_ONE}
        FROM keys($1) CROSS JOIN section s WHERE s.id = j.value
    """,
    (EdgeType.HAS_CHUNK, True): f"""
        SELECT j.value, c.id, {_ONE} FROM keys($1) CROSS JOIN chunk c WHERE c.section = j.value
    """,
    (EdgeType.HAS_CHUNK, False): f"""
        SELECT j.value, c.section, {_ONE} FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value
    """,
    (EdgeType.HAS_CHILD, True): f"""
        SELECT j.value, c.id, {_ONE} FROM keys($1) CROSS JOIN chunk c WHERE c.parent = j.value
    """,
    (EdgeType.HAS_CHILD, False): f"""
        SELECT j.value, c.parent, {_ONE}
        FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value AND c.parent IS NOT NULL
    """,
    (EdgeType.NEXT, True): _NEXT.format(comparison=">", order="ASC"),
    (EdgeType.NEXT, False): _NEXT.format(comparison="<", order="DESC"),
    (EdgeType.MENTIONS, True): """
        SELECT m.chunk, m.entity, m.times
        FROM keys($1) CROSS JOIN mention m WHERE m.chunk = j.value
    """,
    (EdgeType.MENTIONS, False): """
        SELECT m.entity, m.chunk, m.times
        FROM keys($1) CROSS JOIN mention m WHERE m.entity = j.value
    """,
    (EdgeType.ABOUT, True): """
        SELECT m.chunk, m.entity, m.about
        FROM keys($1) CROSS JOIN mention m WHERE m.chunk = j.value AND m.about > 0
    """,
    (EdgeType.ABOUT, False): """
        SELECT m.entity, m.chunk, m.about
        FROM keys($1) CROSS JOIN mention m WHERE m.entity = j.value AND m.about > 0
    """,
}
"""Statements of the near end, the far end and the weight of edges without relations."""


def _strongest(sides: Iterable[bool], condition: str = "") -> str:
    """Return the query of the strongest edges of each of many nodes, with a text for each side:
    relation, other end and weight of its edges.
    """
    first = "" if condition else f"{IS_CO_OCCURRENCE}, "
    ends = [("source", "target") if out else ("target", "source") for out in sides]
    columns = ", ".join(
        f"""joined[
            SELECT e.relation, e.{far} AS other, e.weight FROM edge e
            WHERE e.{near} = j.value {condition}
            ORDER BY {first}e.weight DESC, e.{far}, e.relation LIMIT $1
        | integer relation, integer other, integer weight]"""
        for near, far in ends
    )
    return f"SELECT j.value, {columns} FROM keys($2)"


_STRONGEST = {
    (out, types): _strongest([out], condition)
    for out in (True, False)
    for types, condition in _OF_TYPES.items()
}
_STRONGEST_OF_BOTH = _strongest([True, False])
_BETWEEN = {
    types: f"""
        SELECT j.place, e.relation, e.weight
        FROM rows($1, source, target) CROSS JOIN edge e
        WHERE e.source = j.source AND e.target = j.target {condition}
    """
    for types, condition in _OF_TYPES.items()
}


class _Relations(NamedTuple):
    """Relations and co-occurrences of one node, in columns of equal length."""

    relations: list[int]
    others: list[int]
    weights: list[int]


def _unlist(listed: str) -> _Relations:
    numbers = list(map(int, listed.split()))
    return _Relations(numbers[::3], numbers[1::3], numbers[2::3])


def _strongest_others(edges: Iterable[_Relations], fan: int | None) -> list[int]:
    """Return the neighbours with the strongest edges, as many as the fan."""
    best: dict[int, tuple[bool, int]] = {}
    for columns in edges:
        for relation, other, weight in zip(*columns, strict=True):
            strength = relation == _CO_OCCURRENCE, -weight
            if other not in best or strength < best[other]:
                best[other] = strength
    return sorted(best, key=lambda other: (best[other], other))[:fan]


_KEYS = {"mention": "chunk, entity", "contribution": "chunk, source, target, relation"}
_SUMMED = {
    "mention": "entity, times, name, type",
    "contribution": "source, target, relation, weight",
}
_HELD = {
    table: f"""
        SELECT j.value FROM keys($1)
        WHERE EXISTS (SELECT 1 FROM {table} m WHERE m.chunk = j.value)
    """
    for table in _KEYS
}
_DROP_REPLACED = {
    table: f"""
        DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM rows($1, {keys}))
        RETURNING {_SUMMED[table]}
    """
    for table, keys in _KEYS.items()
}
_DROP_OF_CHUNKS = {
    table: f"{delete_keys(table, 'chunk')} RETURNING {columns}"
    for table, columns in _SUMMED.items()
}

_ASIDE = {table: f"aside_{table}" for table in _KEYS}
_COLUMNS = {table: ", ".join(TABLE_COLUMNS[table].types) for table in (*_KEYS, *_ASIDE.values())}
_SET_ASIDE = {
    table: upsert(aside, *TABLE_COLUMNS[aside].types, key=TABLE_COLUMNS[aside].key)
    for table, aside in _ASIDE.items()
}
_DROP_ASIDE = {table: delete_keys(aside, "chunk") for table, aside in _ASIDE.items()}
_ASIDE_OF_CHUNKS = {
    table: f"SELECT {_COLUMNS[aside]} FROM {aside} WHERE chunk IN (SELECT j.value FROM keys($1))"
    for table, aside in _ASIDE.items()
}
_EDGES_AT = """
    SELECT e.source, e.target, e.relation FROM keys($1) CROSS JOIN edge e WHERE e.source = j.value
    UNION SELECT e.source, e.target, e.relation
    FROM keys($1) CROSS JOIN edge e WHERE e.target = j.value
"""
_SUPPORTED = """
    SELECT e.relation FROM rows($1, source, target, relation) CROSS JOIN edge e
    WHERE e.source = j.source AND e.target = j.target AND e.relation = j.relation
"""
_TAKE_BY_ENTITY = {
    (table, end): f"{delete_keys(table, end)} RETURNING {_COLUMNS[table]}"
    for table, end in (
        *(("mention", "entity"), ("aside_mention", "entity")),
        *(("aside_contribution", "source"), ("aside_contribution", "target")),
    )
}
_TAKE_BY_EDGE = {
    table: f"""
        DELETE FROM {table} WHERE (source, target, relation) IN
            (SELECT source, target, relation FROM rows($1, source, target, relation))
        RETURNING {_COLUMNS[table]}
    """
    for table in ("contribution", "aside_contribution")
}
_DOCUMENTS_OF = "SELECT c.id, c.document FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value"

FormKey = tuple[int, str, str]
"""An entity, and one of its names with a type."""

EdgeKey = tuple[int, int, int]
"""Source, target and relation."""


@dataclass(slots=True)
class GraphChanges:
    """How contributions change the entities and edges that sum them up.

    ``times`` counts mentions and ``chunks`` chunks with each form of an entity. ``renamed`` are
    entities whose name or type a correction gives, or no longer gives.
    """

    normal_forms: dict[int, str] = field(default_factory=dict)
    times: Counter[FormKey] = field(default_factory=Counter)
    chunks: Counter[FormKey] = field(default_factory=Counter)
    relations: dict[int, str] = field(default_factory=dict)
    weights: Counter[EdgeKey] = field(default_factory=Counter)
    supports: Counter[EdgeKey] = field(default_factory=Counter)
    renamed: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.times or self.supports or self.renamed)

    def mention(self, sign: int, entity: int, times: int, name: str, type_: str) -> None:
        """Add a mention, or subtract it."""
        key = entity, name, type_
        self.times[key] += sign * times
        self.chunks[key] += sign

    def relation(self, sign: int, source: int, target: int, relation: int, weight: int) -> None:
        """Add a relation that a chunk states, or subtract it."""
        key = source, target, relation
        self.supports[key] += sign
        self.weights[key] += sign * weight


class Move(NamedTuple):
    """Where some documents' mentions of an entity belong: to another one, with a normal form."""

    documents: frozenset[int]
    entity: int
    normal_form: str


@dataclass(frozen=True, slots=True)
class GraphRules:
    """What corrections change: ``hidden`` entities, ``removed`` edges, ``moves`` of mentions from
    entities to others that do not move, and the names and types that they give entities.
    """

    hidden: frozenset[int] = frozenset()
    removed: frozenset[EdgeKey] = frozenset()
    moves: Mapping[int, Sequence[Move]] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    types: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """True if anything is set aside."""
        return bool(self.hidden or self.removed or self.moves)

    def shown(self, row: Row, ends: int, document: int | None) -> Row | None:
        """Return what the graph shows of a row of a document: the row itself, another or None.

        It has one or two ``ends``, and at its end a normal form or the name of its relation.
        """
        row = self.moved(row, ends, document)
        is_removed = ends > 1 and row[1:4] in self.removed
        return None if is_removed or not self.hidden.isdisjoint(row[1 : 1 + ends]) else row

    def moved(self, row: Row, ends: int, document: int | None) -> Row:
        """Return a row of a document with the entities that its mentions belong to."""
        for place in range(1, 1 + ends):
            for move in self.moves.get(row[place], ()):
                if document in move.documents:
                    last = move.normal_form if ends == 1 else row[-1]
                    row = (*row[:place], move.entity, *row[place + 1 : -1], last)
        return row

    def changed(self, other: GraphRules) -> tuple[set[int], set[EdgeKey]]:
        """Return the entities and the edges of which others show something else."""
        entities, edges = {*self.hidden ^ other.hidden}, {*self.removed ^ other.removed}
        ends = entities.union(*(edge[:2] for edge in edges))
        for key in {*self.moves, *other.moves}:
            moves = self.moves.get(key, ()), other.moves.get(key, ())
            others = {move.entity for move in chain(*moves)}
            if moves[0] != moves[1] or not others.isdisjoint(ends):
                entities |= {key, *others}
        return entities, edges


class SqlGraph(SqlPart):
    """The `GraphStore` of stores in SQL databases.

    It writes mentions and relations. An engine that writes them also writes the entities and edges
    that sum them up (``_apply``). Names of relations are kept between reads: a key is the hash of
    its name.
    """

    def __init__(self, database: SqlDatabase, checks: SqlIdChecks | None = None) -> None:
        super().__init__(database)
        self.checks = checks or SqlIdChecks(database)
        self._names: dict[int, str] = {}
        self.rules: Callable[[], GraphRules] = GraphRules
        """Returns what corrections change; `SqlCorrections` sets it."""

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        with self._database.transaction():
            self._add(map(_mention_row, mentions), map(_relation_row, relations))

    def add_rows(self, mentions: Iterable[Row], relations: Iterable[Row]) -> None:
        """Add rows of the tables, each followed by the normal form or the name of its relation.

        Use it inside a transaction. Raises IdCollision if two entities or relations have one key.
        """
        self._add(mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._database.transaction():
            changes, bound = self._changes(), (key_list(chunk_ids),)
            for row in checked(self._database.write(_DROP_OF_CHUNKS["mention"], bound)):
                changes.mention(-1, *row)
            for row in checked(self._database.write(_DROP_OF_CHUNKS["contribution"], bound)):
                changes.relation(-1, *row)
            if self.rules():
                for sql in _DROP_ASIDE.values():
                    self._database.write(sql, bound)
            self._apply(changes)

    def refile(self, before: GraphRules, after: GraphRules) -> None:
        """Take what chunks contribute to that of which rules show something else, and add it again.

        ``after`` are the rules of the open transaction. Entities get the names and types that they
        give.
        """
        database, (changed, removed) = self._database, before.changed(after)
        entities, edges = [*changed], [*removed]
        if entities:
            edges += map(tuple, database.rows(_EDGES_AT, (entities,)))
        rows = database.rows(_ENTITIES, (entities,)) if entities else []
        forms = {key: form for key, _, form, *_ in rows}
        supported = database.rows(_SUPPORTED, (edges,)) if edges else []
        names = self._relation_names({key for (key,) in supported})
        changes = self._changes()  # after all reads, which apply what was noted before
        mentions, aside_mentions = (
            database.write(_TAKE_BY_ENTITY[table, "entity"], (entities,)) if entities else []
            for table in ("mention", "aside_mention")
        )
        relations, aside_relations = (
            database.write(_TAKE_BY_EDGE[table], (edges,)) if edges else []
            for table in ("contribution", "aside_contribution")
        )
        for end in ("source", "target") if entities else ():
            aside_relations += database.write(
                _TAKE_BY_ENTITY["aside_contribution", end], (entities,)
            )
        for _, entity, times, _, name, type_, _ in mentions:
            changes.mention(-1, entity, times, name, type_)
        for row in relations:
            changes.relation(-1, *row[1:5])
        changes.renamed.update(
            key
            for old, new in ((before.names, after.names), (before.types, after.types))
            for key in {*old, *new}
            if old.get(key) != new.get(key)
        )
        self._apply(changes)
        moved = {row[:2] for _, row in self._by_rules(before, "mention", aside_mentions) if row}
        mentions = [(*row, forms[row[1]]) for row in mentions if row[:2] not in moved]
        moved = {
            row[:4] for _, row in self._by_rules(before, "contribution", aside_relations) if row
        }
        relations = [(*row, names[row[3]]) for row in relations if row[:4] not in moved]
        if mentions or relations or aside_mentions or aside_relations:
            self._add([*mentions, *aside_mentions], [*relations, *aside_relations])

    def set_aside(self, chunk_ids: Collection[str]) -> tuple[list[Mention], list[Relation]]:
        """Return what corrections set aside of these chunks."""
        bound = (key_list(chunk_ids),)
        mentions = [
            Mention(int_to_id(chunk), form, name, type_, unpack_spans(spans), about)
            for chunk, _, _, about, name, type_, spans, form in self._database.rows(
                _ASIDE_OF_CHUNKS["mention"], bound
            )
        ]
        relations = [
            _relation(int_to_id(chunk), source, name, target, weight, start, end, description)
            for chunk, source, target, _, weight, start, end, description, name in (
                self._database.rows(_ASIDE_OF_CHUNKS["contribution"], bound)
            )
        ]
        return mentions, relations

    def _changes(self) -> GraphChanges:
        """Return what to add changes to."""
        return GraphChanges()

    def _apply(self, changes: GraphChanges) -> None:
        """Apply changes to entities and edges, or leave it to the end of the transaction."""
        raise NotImplementedError

    def _add(self, mentions: Iterable[Row], relations: Iterable[Row]) -> None:
        changes, rules = self._changes(), self.rules()
        named: dict[tuple[int, ...], Row] = {}
        if rules:
            mentions = self._put_aside(rules, "mention", mentions)
            relations = self._put_aside(rules, "contribution", relations)
        for row in checked(mentions):
            known = changes.normal_forms.setdefault(row[1], row[-1])
            if known != row[-1]:
                check_same_name(row[1], "entity", known, row[-1])
            named[row[:2]] = row[:-1]
        stated: dict[tuple[int, ...], Row] = {}
        for row in checked(relations):
            known = changes.relations.setdefault(row[3], row[-1])
            if known != row[-1]:
                check_same_name(row[3], "relation", known, row[-1])
            stated[row[:4]] = row[:-1]
        for dropped in self._drop_replaced("mention", named):
            changes.mention(-1, *dropped)
        for dropped in self._drop_replaced("contribution", stated):
            changes.relation(-1, *dropped)
        for _, entity, times, _, name, type_, _ in checked(named.values()):
            changes.mention(1, entity, times, name, type_)
        for row in checked(stated.values()):
            changes.relation(1, *row[1:5])
        self._database.add_rows("mention", TABLE_COLUMNS["mention"].types, named.values())
        self._database.add_rows(
            "contribution", TABLE_COLUMNS["contribution"].types, stated.values()
        )
        self._apply(changes)

    def _put_aside(self, rules: GraphRules, table: str, rows: Iterable[Row]) -> list[Row]:
        """Store aside the rows that rules change, and return what the graph shows of all."""
        found = self._by_rules(rules, table, [*rows])
        aside = [row for row, shown in found if row is not shown]
        self._database.write_many(_SET_ASIDE[table], aside)
        return [shown for _, shown in found if shown is not None]

    def _by_rules(
        self, rules: GraphRules, table: str, rows: Sequence[Row]
    ) -> list[tuple[Row, Row | None]]:
        """Return each row of a table with what the graph shows of it."""
        ends = 1 if table == "mention" else 2
        moving = {row[0] for row in rows if not rules.moves.keys().isdisjoint(row[1 : 1 + ends])}
        found = self._database.rows(_DOCUMENTS_OF, ([*moving],)) if moving else []
        documents: dict[int, int] = dict(found)
        shown = rules.shown
        return [(row, shown(row, ends, documents.get(row[0]))) for row in checked(rows)]

    def _drop_replaced(self, table: str, new: Mapping[tuple[int, ...], Row]) -> list[Row]:
        """Delete the stored rows that have the key of a new one, and return what is summed up."""
        if not new:
            return []
        rows = self._database.rows(_HELD[table], (list(dict.fromkeys(key[0] for key in new)),))
        held = {chunk for (chunk,) in rows}
        known = [key for key in new if key[0] in held]
        return self._database.write(_DROP_REPLACED[table], (known,)) if known else []

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        return self._by_id(_ENTITIES, ids, Entity)

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        forms = {id_to_int(entity_id(form)): form for form in normal_forms}
        found: dict[str, Entity] = {}
        for key, _, entity, *columns in self._database.rows(_LOOKUP, ([*forms],)):
            found.setdefault(forms[key], Entity(int_to_id(entity), *columns))
        return {form: found[form] for form in forms.values() if form in found}

    def entity_count(self) -> int:
        ((count,),) = self._database.rows(_ENTITY_COUNT)
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        return self._lists(_MENTIONS, chunk_ids, _mention)

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        return self._lists(_RELATIONS, chunk_ids, _relation)

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        keys = dict(keys_of(entity_ids))
        bindings = (minimum, max(fan, 0), [*keys.values()])
        ranked: dict[int, str] = dict(self._database.rows(_ABOUT, bindings))
        found: dict[str, list[Scored]] = {}
        for entity, key in keys.items():
            if listed := ranked[key]:
                words = listed.split()
                found[entity] = list(map(Scored, words[::2], map(float, words[1::2])))
        return found

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = self._read_nodes(keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        most, keys = max(limit, 0), list[int]()
        with self._database.reading():
            for known in NODE_TABLES:
                if label not in (None, known):
                    continue
                if name is None:
                    rows = self._database.rows(_OF_LABEL[known], (most,))
                else:
                    values = (name, *_keys_of_name(known, name), most)
                    rows = self._database.rows(_OF_NAME[known], values)
                keys += [key for (key,) in rows]
            keys = sorted(keys)[:most]
            found = self._read_nodes(keys)
        return [found[key] for key in keys]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            adjacent = self._adjacent([*keys.values()], direction=direction, types=types, fan=fan)
            found = list(adjacent)
            edges = iter(self._edges(list(chain.from_iterable(found))))
        parts = zip(keys, found, strict=True)
        return {i: list(islice(edges, len(adjacent))) for i, adjacent in parts if adjacent}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        keys = dict(keys_of(entity_ids))
        with self._database.reading():
            rows = self._database.rows(_STRONGEST_OF_BOTH, (max(limit, 0), [*keys.values()]))
            sides: dict[int, list[tuple[bool, _Relations]]] = {
                node: [(out, _unlist(text)) for out, text in ((True, first), (False, then)) if text]
                for node, first, then in checked(rows)
            }
            every = (edges.relations for of_node in sides.values() for _, edges in of_node)
            names = self._relation_names(chain.from_iterable(every))
        found: dict[str, list[RelationLink]] = {}
        for identifier, node in checked(keys.items()):
            links = [
                RelationLink(names[relation], forward, int_to_id(other), float(weight))
                for forward, edges in sides.get(node, ())
                for relation, other, weight in zip(*edges, strict=True)
            ]
            if links:
                found[identifier] = links
        return found

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        keys = dict(keys_of([end for source, _, target in relations for end in (source, target)]))
        known = [
            (keys[source], keys[target], relation_key(name))
            if source in keys and target in keys
            else (-1, -1, -1)
            for source, name, target in relations
        ]
        return self._supports(known, limit=limit)

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        for type_ in sorted(EdgeType):
            if types is None or type_ in types:
                yield from _scan_edges(self._database, type_)

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
        adjacent = partial(
            self._adjacent, direction=direction, types=followed, fan=fan, existing_only=True
        )
        with self._database.reading():
            keys = key_list(seeds)
            known = self._read_nodes(keys)
            start = [key for key in keys if key in known]
            reached = walk_graph(adjacent, start, depth=depth, limit=limit)
            nodes = known | self._read_nodes([key for key in reached.nodes if key not in known])
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.edges)),
            )

    def schema(self) -> GraphSchema:
        """Count nodes by label, edges by type and RELATES edges by relation."""
        with self._database.reading():
            ((*labels, entity, keyword),) = self._database.rows(_LABEL_COUNTS)
            (counts,) = self._database.rows(_EDGE_COUNTS)
            relations: dict[str, int] = dict(self._database.rows(_RELATION_COUNTS))
        return schema_of((*labels, entity - keyword, keyword), counts, relations)

    def _read_nodes(self, keys: Iterable[int]) -> dict[int, Node]:
        found: dict[int, Node] = {}
        missing = list(keys)
        for sql, node_of in _NODES:
            if not missing:
                break
            for key, *columns in self._database.rows(sql, (missing,)):
                found[key] = node_of(int_to_id(key), *columns)
            missing = [key for key in missing if key not in found]
        return found

    def _relation_names(self, relations: Iterable[int]) -> Mapping[int, str]:
        """Return names by key, at least those of ``relations``."""
        names = self._names if len(self._names) < _MOST_NAMES else {}
        if missing := set(relations) - names.keys():
            found: dict[int, str] = dict(self._database.rows(_RELATION_NAMES, ([*missing],)))
            if lost := missing - found.keys():
                raise self._database.damaged(f"{len(lost)} relations have no name")
            names = self._names = names | found
        return names

    def _edges(self, adjacent: Sequence[AdjacentEdge[int]]) -> list[Edge]:
        keys = [(e.source, e.target, relation_key(e.relation)) for e in adjacent if e.relation]
        supports = iter(self._supports(keys, limit=EDGE_CHUNKS))
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

    def _supports(
        self, keys: Sequence[tuple[int, int, int]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks of each (source, target, relation), ascending."""
        rows = self._database.rows(_SUPPORTS, (limit, [*keys])) if keys else []
        return [tuple((chunks or "").split()) for _, chunks in sorted(rows)]

    def _adjacent(
        self,
        nodes: Sequence[int],
        *,
        direction: Direction,
        types: Collection[str] | None,
        fan: int | None,
        existing_only: bool = False,
    ) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the edges of each node, strongest first; use inside `SqlDatabase.reading`.

        Of the relations and co-occurrences of a node, it reads only as many rows as the fan needs.
        ``existing_only`` skips edges to nodes that are not stored, as a mention may be written
        before its document; the ends of relations always exist.
        """
        sides = [out for out in (True, False) if direction in ("both", "out" if out else "in")]
        structure = {
            (type_, out): sql
            for (type_, out), sql in _STRUCTURE.items()
            if out in sides and (types is None or type_ in types)
        }
        of_types = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        edges = self._read_structure(nodes, structure, existing_only=existing_only)
        related = self._read_relations(nodes, sides, of_types, fan) if of_types else {}
        used = {r for of_node in related.values() for _, found in of_node for r in found.relations}
        names = self._relation_names(used)
        kinds = {relation: relation_edge_type(names[relation]) for relation in used}
        for node in checked(nodes):
            stated = (
                map(
                    AdjacentEdge,
                    map(neg, found.weights),
                    found.others,
                    map(kinds.__getitem__, found.relations),
                    map(names.__getitem__, found.relations),
                    repeat(node) if out else found.others,
                    found.others if out else repeat(node),
                )
                for out, found in related.get(node, ())
            )
            yield strongest_edges(chain(edges.get(node, ()), *stated), fan)

    def _read_structure(
        self, nodes: Sequence[int], structure: Mapping[_Side, str], *, existing_only: bool
    ) -> Mapping[int, list[AdjacentEdge[int]]]:
        edges: defaultdict[int, list[AdjacentEdge[int]]] = defaultdict(list)
        found = {side: self._database.rows(sql, (list(nodes),)) for side, sql in structure.items()}
        others = {other for rows in found.values() for _, other, _ in rows}
        if existing_only and others:
            others = {key for (key,) in self._database.rows(_EXISTING, ([*others],))}
        for (type_, out), rows in found.items():
            for node, of_node in checked(groupby(rows, key=itemgetter(0))):
                edges[node].extend(
                    AdjacentEdge(-weight, other, type_, "", node, other)
                    if out
                    else AdjacentEdge(-weight, other, type_, "", other, node)
                    for _, other, weight in of_node
                    if other in others
                )
        return edges

    def _read_relations(
        self, nodes: Sequence[int], sides: Sequence[bool], types: frozenset[str], fan: int | None
    ) -> dict[int, list[tuple[bool, _Relations]]]:
        """Return all relations with the strongest neighbours of each node, and some with others.

        Each of the strongest neighbours is among the strongest of at least one direction, so the
        first rows of each direction contain all of them. Their weaker edges are then read by both
        ends. Edges stay columns until their node is visited: many small objects are slow to keep.
        """
        found: defaultdict[int, list[tuple[bool, _Relations]]] = defaultdict(list)
        incomplete: defaultdict[int, list[bool]] = defaultdict(list)
        for out in sides:
            for node, first, is_complete in self._first_rows(nodes, _STRONGEST[out, types], fan):
                found[node].append((out, first))
                if not is_complete:
                    incomplete[node].append(out)
        pairs: list[tuple[int, int]] = []
        owners: list[tuple[_Relations, int]] = []
        for node, open_sides in checked(incomplete.items()):
            others = _strongest_others((columns for _, columns in found[node]), fan)
            for out in open_sides:
                weaker = _Relations([], [], [])
                found[node].append((out, weaker))
                pairs += [(node, other) if out else (other, node) for other in others]
                owners += [(weaker, other) for other in others]
        rows = self._database.rows(_BETWEEN[types], (pairs,)) if pairs else []
        for place, relation, weight in checked(rows):
            weaker, other = owners[place]
            weaker.relations.append(relation)
            weaker.others.append(other)
            weaker.weights.append(weight)
        return found

    def _first_rows(
        self, nodes: Sequence[int], sql: str, fan: int | None
    ) -> Iterator[tuple[int, _Relations, bool]]:
        """Yield the first edges of each node, to more than ``fan`` others, and True if all."""
        size = _NO_LIMIT if fan is None else 2 * fan + _SPARE_EDGES
        remaining = list(nodes)
        while remaining:
            rows = self._database.rows(sql, (size, remaining))
            remaining = []
            for node, listed in checked(rows):
                if not listed:
                    continue
                edges = _unlist(listed)
                if fan is None or len(edges.others) < size:
                    yield node, edges, True
                elif len(set(edges.others)) > fan:
                    yield node, edges, False
                else:
                    remaining.append(node)
            size *= _PAGE_GROWTH


def _keys_of_name(label: Label, name: str) -> tuple[int, ...]:
    """Return the key that a name has as the normal form of an entity or the uri of a document."""
    if "$2" not in _NAMED[label]:
        return ()
    is_document = label is Label.DOCUMENT
    return (id_to_int(content_id("document", name) if is_document else entity_id(name)),)


SECTION_ROWS = "SELECT coalesce(parent, document), id FROM section ORDER BY 1, 2"
"""Source and target of all HAS_SECTION edges."""

NEXT_ROWS = """
    SELECT n.id, n.following
    FROM (
        SELECT id, lead(id) OVER (PARTITION BY document ORDER BY ordinal, id) AS following
        FROM chunk WHERE is_parent = 0
    ) n
    WHERE n.following IS NOT NULL ORDER BY n.id
"""
"""Source and target of all NEXT edges."""


_WHOLE = {EdgeType.HAS_SECTION: SECTION_ROWS, EdgeType.NEXT: NEXT_ROWS}
_PAGED = {
    EdgeType.HAS_CHUNK: """
        SELECT section, id FROM chunk WHERE (section, id) > ($1, $2)
        ORDER BY section, id LIMIT $3
    """,
    EdgeType.HAS_CHILD: """
        SELECT parent, id FROM chunk WHERE parent IS NOT NULL AND (parent, id) > ($1, $2)
        ORDER BY parent, id LIMIT $3
    """,
}
_MENTION_PAGE = """
    SELECT chunk, entity, times, about FROM mention WHERE (chunk, entity) > ($1, $2)
    ORDER BY chunk, entity LIMIT $3
"""
_CONTRIBUTION_PAGE = """
    SELECT c.source, c.target, c.relation, c.chunk, e.weight, r.name
    FROM contribution c CROSS JOIN edge e CROSS JOIN relation r
    WHERE (c.source, c.target, c.relation, c.chunk) > ($1, $2, $3, $4)
    AND e.source = c.source AND e.target = c.target AND e.relation = c.relation
    AND r.id = c.relation
    ORDER BY c.source, c.target, c.relation, c.chunk LIMIT $5
"""


def _scan_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    """Yield all edges of one type, ordered by source, target and relation."""
    if type_ in (EdgeType.MENTIONS, EdgeType.ABOUT):
        yield from _mention_edges(database, type_)
    elif type_ in ENTITY_EDGES:
        yield from _relation_edges(database, type_)
    else:
        paged = _PAGED.get(type_)
        rows = database.rows_in_pages(paged, (-1, -1)) if paged else database.rows(_WHOLE[type_])
        for source, target in rows:
            yield Edge(int_to_id(source), type_, int_to_id(target))


def _mention_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    for chunk, entity, times, about in database.rows_in_pages(_MENTION_PAGE, (-1, -1)):
        weight = about if type_ is EdgeType.ABOUT else float(times)
        if weight > 0:
            source = int_to_id(chunk)
            yield Edge(source, type_, int_to_id(entity), weight, "", (source,))


def _relation_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    rows = database.rows_in_pages(_CONTRIBUTION_PAGE, (-1, -1, -1, -1))
    for (source, target), between in groupby(rows, key=lambda row: row[:2]):
        edges: dict[str, tuple[int, list[str]]] = {}
        for _, _, _, chunk, weight, name in between:
            if relation_edge_type(name) != type_:
                continue
            edges.setdefault(name, (weight, []))[1].append(int_to_id(chunk))
        for name, (weight, chunks) in sorted(edges.items()):
            yield Edge(
                int_to_id(source),
                type_,
                int_to_id(target),
                float(weight),
                name,
                tuple(chunks),
            )


def _mention(
    chunk_id: str, normal_form: str, name: str, type_: str, spans: bytes, about: float
) -> Mention:
    return Mention(chunk_id, normal_form, name, type_, unpack_spans(spans), about)


def _relation(
    chunk_id: str,
    source: int,
    name: str,
    target: int,
    weight: int,
    start: int | None,
    end: int,
    description: str,
) -> Relation:
    span = None if start is None else Span(start, end)
    return Relation(chunk_id, int_to_id(source), name, int_to_id(target), weight, span, description)


def _mention_row(mention: Mention) -> Row:
    return (
        id_to_int(mention.chunk_id),
        id_to_int(mention.entity_id),
        max(1, len(mention.spans)),
        mention.about,
        mention.name,
        mention.type,
        pack_spans(mention.spans),
        mention.normal_form,
    )


def _relation_row(relation: Relation) -> Row:
    return (
        id_to_int(relation.chunk_id),
        id_to_int(relation.source),
        id_to_int(relation.target),
        relation_key(relation.relation),
        relation.weight,
        *(relation.span or (None, None)),
        relation.description,
        relation.relation,
    )
