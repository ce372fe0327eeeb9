"""What was read from a model's reply, before it is held against the chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

UNNAMED_RELATION = {"en": "related to", "zh": "相关"}
"""The relation of two entities of which a reply says that, but not how, they are related."""


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as a reply names it; ``summary`` is what it says of it, in a line."""

    name: str
    type: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as a reply names it; ``relation`` is "" where it only has a summary."""

    source: str
    relation: str
    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A part of a reply that was not used, as it stood, and why; one short reason."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The records of a reply, in its order, and all that could not be read.

    Every line that holds anything is a record, a complaint, ``repeated`` (said before, word for
    word) or ``idle`` (fences, rules, headings of tables, "none"). ``cut`` tells that the reply
    ended at its limit of tokens.
    """

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    repeated: int = 0
    idle: int = 0
    cut: bool = False
    says_nothing: bool = False
    """Whether the reply says in so many words that there is nothing to say."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.entities) + len(self.relations)

    def with_complaints(self, complaints: Iterable[Complaint]) -> Draft:
        """Return a draft with further complaints."""
        return replace(self, complaints=(*self.complaints, *complaints))

    def joined(self, other: Draft) -> Draft:
        """Return the records and complaints of two replies about one chunk, each record once."""
        return Draft(
            tuple(dict.fromkeys((*self.entities, *other.entities))),
            tuple(dict.fromkeys((*self.relations, *other.relations))),
            (*self.complaints, *other.complaints),
            self.repeated + other.repeated,
            self.idle + other.idle,
            cut=self.cut or other.cut,
            says_nothing=self.says_nothing and other.says_nothing,
        )
