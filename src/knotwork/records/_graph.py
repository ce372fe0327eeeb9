"""Records of the knowledge graph: contributions, aggregated entities and edges, merge decisions.

Extractors write *contributions*: a `Mention`, `Relation` or `Description` belongs to one chunk. A
store aggregates them (an `Entity` is the sum of its mentions, an `Edge` the sum of its relations),
so that removing a chunk removes exactly what only it supported. `ChunkReading` and `EntitySummary`
record the work of a model; `SameAs` and `Homonym` record which entities to merge or split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from knotwork.records._documents import Span, content_id
from knotwork.records._query_results import PropertyValue

Direction = Literal["both", "in", "out"]


class Label(StrEnum):
    """Node labels of the property graph; the same on every store."""

    DOCUMENT = "Document"
    SECTION = "Section"
    CHUNK = "Chunk"
    ENTITY = "Entity"
    KEYWORD = "Keyword"


class EdgeType(StrEnum):
    """Edge types of the property graph; the same names and directions on every store."""

    HAS_SECTION = "HAS_SECTION"
    HAS_CHUNK = "HAS_CHUNK"
    NEXT = "NEXT"
    HAS_CHILD = "HAS_CHILD"
    MENTIONS = "MENTIONS"
    ABOUT = "ABOUT"
    RELATES = "RELATES"
    CO_OCCURS = "CO_OCCURS"


class QueriedLabel(StrEnum):
    """Labels of nodes that exist only in Cypher: records that are not part of the graph store."""

    COMMUNITY = "Community"
    QUESTION = "Question"


class QueriedEdgeType(StrEnum):
    """Types of edges that exist only in Cypher; communities also have `EdgeType.HAS_CHILD`."""

    ANSWERS = "ANSWERS"
    IN_COMMUNITY = "IN_COMMUNITY"
    LINKS_TO = "LINKS_TO"


ALIAS_RELATION = "also known as"
"""The relation of an alias or abbreviation to the full name of the same entity."""

CO_OCCURRENCE_RELATION = "co-occurs with"
"""The relation of two entities in one sentence without a stated relation."""

KEYWORD = "KEYWORD"
"""The type of an entity that is only a keyword."""

KEYWORD_TYPES = frozenset({KEYWORD, "NUMBER"})
"""Types of search terms that name no entity: headings, repeated phrases, numbers."""


ENTITY_EDGES: frozenset[str] = frozenset({EdgeType.RELATES, EdgeType.CO_OCCURS})
"""Types of the edges between entities."""


_INDEX_PROPERTIES = frozenset({"type", "normal_form", "chunk_count"})


def relation_edge_type(relation: str) -> EdgeType:
    """Return the type of the edges with this relation."""
    return EdgeType.CO_OCCURS if relation == CO_OCCURRENCE_RELATION else EdgeType.RELATES


def entity_label(type_: str) -> Label:
    """Return the node label of an entity of this type: `Label.KEYWORD` for keywords."""
    return Label.KEYWORD if type_ in KEYWORD_TYPES else Label.ENTITY


@lru_cache(maxsize=1 << 16)
def entity_id(normal_form: str) -> str:
    """Return the id of the entity with this normal form."""
    return content_id("entity", normal_form)


@dataclass(frozen=True, slots=True)
class Mention:
    """All occurrences of one entity in one chunk.

    ``name`` is the most frequent surface form in the chunk. ``about`` in [0, 1] is how much the
    chunk is about the entity: 1 if the entity is its title, less for headings, subjects and
    salience. ``spans`` (document offsets, ascending) are empty if only the title names the entity.
    """

    chunk_id: str
    normal_form: str
    name: str
    type: str = ""
    spans: tuple[Span, ...] = ()
    about: float = 0.0

    @property
    def entity_id(self) -> str:
        return entity_id(self.normal_form)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two entities (by id), as one chunk states it."""

    chunk_id: str
    source: str
    relation: str
    target: str
    weight: int = 1
    span: Span | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """A one-line description of an entity, from one chunk."""

    chunk_id: str
    normal_form: str
    text: str

    @property
    def entity_id(self) -> str:
        return entity_id(self.normal_form)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The contributions that an extractor found in one chunk."""

    chunk_id: str
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    descriptions: tuple[Description, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity, aggregated from its mentions.

    ``name`` and ``type`` are the most frequent ones (ties: the smallest string; a type takes
    precedence over none). An entity is a keyword only if all its mentions are keywords.
    ``chunk_count`` is the number of chunks that mention it.
    """

    id: str
    name: str
    normal_form: str
    type: str
    chunk_count: int

    @property
    def is_keyword(self) -> bool:
        """True if it is only a search term, which lists of entities do not show."""
        return self.type in KEYWORD_TYPES


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the property graph; the same properties on every store."""

    id: str
    label: str
    name: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The type of an entity; the label if it has none, and for other nodes."""
        return str(self.properties.get("type") or self.label)

    @property
    def own_properties(self) -> dict[str, PropertyValue]:
        """The properties without the type and what an index computes for entities."""
        return {k: v for k, v in self.properties.items() if k not in _INDEX_PROPERTIES}


@dataclass(frozen=True, slots=True)
class Edge:
    """An aggregated edge with its supporting chunks; RELATES and CO_OCCURS have a ``relation``.

    Only relations of a `knotwork.Graph` have ``properties``.
    """

    source: str
    type: str
    target: str
    weight: float = 1.0
    relation: str = ""
    chunks: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The relation, or else the type."""
        return self.relation or self.type


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """Counts of nodes by label, of edges by type, and of RELATES edges by relation (most first)."""

    labels: Mapping[str, int]
    edge_types: Mapping[str, int]
    relations: Mapping[str, int]


class ReadingStatus(StrEnum):
    """How much of a model's reply about a chunk could be used."""

    OK = "ok"
    """All of it."""
    PARTIAL = "partial"
    """Some of it; the complaints list the rest."""
    QUARANTINED = "quarantined"
    """None of it: the chunk has only the findings of the rules, and can be read again."""


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """The outcome of reading one chunk with a model.

    ``source`` is the name of the model. ``complaints`` describe the unused parts of the reply. A
    quarantined reading has a ``reason``, and the reply, if there was one, in ``raw``.
    """

    chunk_id: str
    source: str
    status: ReadingStatus
    reason: str = ""
    raw: str = ""
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """A summary of all descriptions of an entity.

    ``source`` is the name of the model that wrote it. ``content_key`` changes with any of the
    descriptions.
    """

    entity_id: str
    text: str
    source: str
    content_key: str


RULES_SOURCE = "rules"
"""The source of a decision that rules made, without a model."""

PERSON_SOURCE = "person"
"""The source of a manual decision, which no indexing run replaces."""


class Verdict(StrEnum):
    """The outcome of a decision about two entities."""

    SAME = "same"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class SameAs:
    """A decision whether two entities are the same; it does not change the entities.

    ``first`` < ``second`` are entity ids. ``source`` is "rules", "person" or the name of a model.
    ``reason`` is a short explanation, ``score`` in [0, 1] the confidence. ``content_key`` changes
    with anything that the decision depends on, so that a model is not called again for a pair with
    the same key. ``undone`` keeps the two apart whatever the verdict, also in later runs.
    """

    first: str
    second: str
    verdict: Verdict
    source: str
    reason: str = ""
    score: float = 1.0
    content_key: str = ""
    undone: bool = False

    def __post_init__(self) -> None:
        if not self.first < self.second:
            raise ValueError(
                f"The ids of a pair must be in ascending order, got {self.first}, {self.second}."
            )

    @property
    def pair(self) -> tuple[str, str]:
        """The two entity ids, ascending."""
        return self.first, self.second

    @property
    def joins(self) -> bool:
        """True if the decision merges the two entities."""
        return self.verdict is Verdict.SAME and not self.undone

    @property
    def by_person(self) -> bool:
        """True if a person made or undid the decision."""
        return self.undone or self.source == PERSON_SOURCE


@dataclass(frozen=True, slots=True)
class Homonym:
    """An entity whose name has several meanings.

    ``senses`` are the chunks of each meaning, the largest group first. A chunk whose meaning is
    unknown is in none of them.
    """

    entity_id: str
    senses: tuple[tuple[str, ...], ...]
    reason: str
