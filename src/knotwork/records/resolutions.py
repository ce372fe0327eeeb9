"""Which entities are one thing under different names, and which are not: decisions with reasons;
and which names mean several things.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
