"""What the index of another system holds, in one shape for all of them; what readers return.

Ids are those of the other system. ``number`` is the short number by which its reports cite a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ForeignDocument:
    """A source text; ``unit_ids`` are its text units in order, where the system lists them."""

    id: str
    title: str
    text: str
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignUnit:
    """A piece of text that a model read as one."""

    id: str
    number: int
    text: str
    document_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignEntity:
    """An entity with all that was said of it, and the text units that name it."""

    id: str
    number: int
    name: str
    type: str
    description: str
    unit_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignRelation:
    """A relation between two entities, given by name.

    ``label`` is what the system calls it, if it does. ``directed`` is False where source and target
    may as well stand the other way round.
    """

    number: int
    source: str
    target: str
    description: str
    weight: float
    unit_ids: tuple[str, ...]
    label: str = ""
    directed: bool = True


@dataclass(frozen=True, slots=True)
class ForeignClaim:
    """A statement on a subject, with an object or without; ``status`` says whether it holds."""

    number: int
    subject: str
    object: str
    type: str
    description: str
    status: str
    unit_id: str


@dataclass(frozen=True, slots=True)
class ForeignCommunity:
    """A community; level 0 is the topmost. ``entity_ids`` are ids of entities."""

    id: str
    level: int
    parent_id: str | None
    entity_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignFinding:
    """One finding of a report, with its references still in the text."""

    summary: str
    explanation: str


@dataclass(frozen=True, slots=True)
class ForeignReport:
    """What the other system wrote of a community; ``rank`` in [0, 10]."""

    community_id: str
    title: str
    summary: str
    findings: tuple[ForeignFinding, ...]
    rank: float


@dataclass(slots=True)
class Losses:
    """What does not come in, counted by kind and reason."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, reason: str, count: int = 1) -> None:
        """Count something that is dropped."""
        if count:
            self.counts[kind, reason] += count


@dataclass(slots=True)
class ForeignIndex:
    """The index of another system; ``format`` names the system, ``name`` this index of it."""

    format: str
    name: str
    documents: list[ForeignDocument]
    units: list[ForeignUnit]
    entities: list[ForeignEntity]
    relations: list[ForeignRelation]
    claims: list[ForeignClaim] = field(default_factory=list)
    communities: list[ForeignCommunity] = field(default_factory=list)
    reports: list[ForeignReport] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)

    def held(self) -> dict[str, int]:
        """Return how many rows of each kind the files held, those that were dropped included."""
        rows: dict[str, Iterable[object]] = {
            "documents": self.documents,
            "text units": self.units,
            "entities": self.entities,
            "relations": self.relations,
            "claims": self.claims,
            "communities": self.communities,
            "reports": self.reports,
        }
        lost = self.losses.counts.items()
        return {
            kind: sum(1 for _ in items) + sum(n for (of, _), n in lost if of == kind)
            for kind, items in rows.items()
        }
