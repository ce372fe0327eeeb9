"""State of the memory store: dictionaries of immutable values, copied for each transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import LedgerEntry
from knotwork.records import (
    Chunk,
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    Document,
    EntitySummary,
    Homonym,
    Mention,
    PropertyNode,
    Relation,
    Relationship,
    SameAs,
    Section,
)

MentionKey = tuple[str, str]
"""Chunk id and entity id."""

DescriptionKey = tuple[str, str]
"""Chunk id and entity id."""

RelationKey = tuple[str, str, str, str]
"""Chunk id, source, relation and target."""


class KeyedMatrix(NamedTuple):
    """The rows of one id, and the key of the content that they were computed from."""

    key: str
    rows: NDArray[np.floating[Any]]


class ImportedGraph(NamedTuple):
    """The nodes and relationships of an imported graph."""

    nodes: tuple[PropertyNode, ...]
    relationships: tuple[Relationship, ...]


@dataclass(slots=True)
class State:
    """All data of a store at one moment. Copies share their values, which are immutable."""

    documents: dict[str, Document] = field(default_factory=dict)
    sections: dict[str, tuple[Section, ...]] = field(default_factory=dict)
    chunks: dict[str, Chunk] = field(default_factory=dict)
    mentions: dict[MentionKey, Mention] = field(default_factory=dict)
    relations: dict[RelationKey, Relation] = field(default_factory=dict)
    texts: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    vectors: dict[str, dict[str, KeyedMatrix]] = field(default_factory=dict)
    ledger: dict[str, LedgerEntry] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    communities: dict[str, Community] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()
    reports: dict[str, CommunityReport] = field(default_factory=dict)
    readings: dict[str, ChunkReading] = field(default_factory=dict)
    descriptions: dict[DescriptionKey, Description] = field(default_factory=dict)
    summaries: dict[str, EntitySummary] = field(default_factory=dict)
    same_as: dict[tuple[str, str], SameAs] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    homonyms: dict[str, Homonym] = field(default_factory=dict)
    graphs: dict[str, ImportedGraph] = field(default_factory=dict)
    questions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def copy(self) -> State:
        return State(
            dict(self.documents),
            dict(self.sections),
            dict(self.chunks),
            dict(self.mentions),
            dict(self.relations),
            {name: dict(items) for name, items in self.texts.items()},
            {name: dict(items) for name, items in self.vectors.items()},
            dict(self.ledger),
            dict(self.meta),
            dict(self.communities),
            self.stale,
            dict(self.reports),
            dict(self.readings),
            dict(self.descriptions),
            dict(self.summaries),
            dict(self.same_as),
            self.touched,
            dict(self.homonyms),
            dict(self.graphs),
            dict(self.questions),
        )


class StateAccess(NamedTuple):
    """How the parts of a memory store access its state: for reading, and in a transaction."""

    state: Callable[[], State]
    transaction: Callable[[], AbstractContextManager[None]]
