"""Knowledge graph records: contributions by chunk, aggregated entities and edges, merge decisions.

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

from knotwork.records.documents import Span
from knotwork.records.identity import content_id

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
    """Labels of nodes that only statements see: records beside the graph, shown as nodes of it."""

    COMMUNITY = "Community"
    QUESTION = "Question"


class QueriedEdgeType(StrEnum):
    """Types of the edges of such nodes; communities have `EdgeType.HAS_CHILD` too."""

    ANSWERS = "ANSWERS"
    IN_COMMUNITY = "IN_COMMUNITY"


ALIAS_RELATION = "also known as"
"""The relation of a short or other name to the full name of the same thing."""

CO_OCCURRENCE_RELATION = "co-occurs with"
"""The relation of two entities of one sentence that states no relation between them."""

KEYWORD = "KEYWORD"
"""The type of an entity that is only a keyword."""

KEYWORD_TYPES = frozenset({KEYWORD, "NUMBER"})
"""Types of what helps to find a chunk but names nothing: headings, repeated phrases, numbers."""


ENTITY_EDGES: frozenset[str] = frozenset({EdgeType.RELATES, EdgeType.CO_OCCURS})
"""Types of the edges between entities."""


def relation_edge_type(relation: str) -> EdgeType:
    """Return the type of the edges that a relation of this name makes."""
    return EdgeType.CO_OCCURS if relation == CO_OCCURRENCE_RELATION else EdgeType.RELATES


def entity_label(type_: str) -> Label:
    """Return the label of an entity of this type: keywords are not shown as entities."""
    return Label.KEYWORD if type_ in KEYWORD_TYPES else Label.ENTITY


@lru_cache(maxsize=1 << 16)
def entity_id(normal_form: str) -> str:
    """Return the id of the entity with this normal form."""
    return content_id("entity", normal_form)


@dataclass(frozen=True, slots=True)
class Mention:
    """All occurrences of one entity in one chunk: at most one per entity and chunk.

    ``name`` is the surface form most used in the chunk. ``about`` in [0, 1] says how much the chunk
    is about the entity: 1 when the entity is its title, less for headings, subjects and salience.
    ``spans`` (document offsets, ascending) may be empty when only the title names the entity.
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
    """One chunk's evidence that ``source`` stands in ``relation`` to ``target`` (entity ids)."""

    chunk_id: str
    source: str
    relation: str
    target: str
    weight: int = 1
    span: Span | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """What a chunk says of an entity, in a line; a contribution of the chunk, as a mention is."""

    chunk_id: str
    normal_form: str
    text: str

    @property
    def entity_id(self) -> str:
        return entity_id(self.normal_form)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in one chunk."""

    chunk_id: str
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    descriptions: tuple[Description, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """An aggregated entity.

    ``name`` and ``type`` are those with most mentions (ties: the smallest string; a type beats no
    type). It is a keyword only if all its mentions are. ``chunk_count`` is the number of chunks
    that mention it.
    """

    id: str
    name: str
    normal_form: str
    type: str
    chunk_count: int

    @property
    def is_keyword(self) -> bool:
        """Whether it helps to find chunks but names nothing, so that it is not shown."""
        return self.type in KEYWORD_TYPES


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the property graph as every store shows it."""

    id: str
    label: str
    name: str
    properties: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """An aggregated edge. ``relation`` names a RELATES or CO_OCCURS edge; ``chunks`` support it."""

    source: str
    type: str
    target: str
    weight: float = 1.0
    relation: str = ""
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes and edges in the order they were reached; the ends of all edges are in ``nodes``."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """Counts of nodes by label, of edges by type, and of RELATES edges by relation (most first)."""

    labels: Mapping[str, int]
    edge_types: Mapping[str, int]
    relations: Mapping[str, int]


class ReadingStatus(StrEnum):
    """How much of a chunk's reply is used."""

    OK = "ok"
    """All of it."""
    PARTIAL = "partial"
    """Some of it: the complaints say what is not."""
    QUARANTINED = "quarantined"
    """Nothing: the chunk has what the rules found, and waits for another try."""


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """How a model's reading of one chunk went.

    ``source`` is the model's name, ``complaints`` are what of the reply is not used, in words. A
    quarantined one has ``reason``, and ``raw``, the reply, where one came.
    """

    chunk_id: str
    source: str
    status: ReadingStatus
    reason: str = ""
    raw: str = ""
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """All descriptions of an entity in one text.

    ``source`` names the model that wrote it. ``content_key`` changes with any description that it
    is written from.
    """

    entity_id: str
    text: str
    source: str
    content_key: str


RULES_SOURCE = "rules"
"""The source of a decision that follows from names and texts, by no model."""

PERSON_SOURCE = "person"
"""The source of a decision that somebody made by hand: no run replaces it."""


class Verdict(StrEnum):
    """What is decided of two entities."""

    SAME = "same"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class SameAs:
    """A decision whether two entities are the same thing; the entities stay as they are.

    ``first`` < ``second`` are entity ids. ``source`` is "rules", "person" or the name of the model
    that judged. ``reason`` says why in a few words, ``score`` in [0, 1] how sure it is.
    ``content_key`` changes with anything the decision was made from, so that a pair whose key is
    the same is not asked of a model again. ``undone`` holds the two apart whatever the verdict, and
    outlasts later runs.
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
            raise ValueError(f"A pair is two ids in ascending order: {self.first}, {self.second}.")

    @property
    def pair(self) -> tuple[str, str]:
        """The two entity ids, ascending."""
        return self.first, self.second

    @property
    def joins(self) -> bool:
        """Tell whether it makes the two one."""
        return self.verdict is Verdict.SAME and not self.undone

    @property
    def by_person(self) -> bool:
        """Tell whether somebody decided it by hand, or undid it."""
        return self.undone or self.source == PERSON_SOURCE


@dataclass(frozen=True, slots=True)
class Homonym:
    """An entity whose name means several things: the chunks of each, the largest first. Chunks of
    which nothing tells what they mean are in none.
    """

    entity_id: str
    senses: tuple[tuple[str, ...], ...]
    reason: str
