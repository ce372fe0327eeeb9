"""Two entities as the rules see them, and what a rule may say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from knotwork.indexing.resolution.evidence import Evidence, Profile
from knotwork.records import Verdict


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is decided of a pair; without a verdict, it is left to a judge.

    ``score`` is how sure the verdict is, or how likely a judge says "same", from 0 to 1.
    """

    verdict: Verdict | None
    reason: str
    score: float


@dataclass(frozen=True)
class PairView:
    """Two entities: the one with the shorter name, and the other."""

    short: Profile
    full: Profile
    evidence: Evidence
    profiles: Mapping[str, Profile]
    likeness: float = 0.0
    nearness: float = 0.0
    rivals: tuple[str, ...] = ()
    """Other entities that ``short`` may be as well, by its name."""

    @cached_property
    def chunks(self) -> tuple[str, ...]:
        """The chunks that state an alias of the two."""
        pair = min(self.short.id, self.full.id), max(self.short.id, self.full.id)
        return self.evidence.aliases.get(pair, ())

    @cached_property
    def within(self) -> bool:
        """Tell whether the short name stands in no document without the full one."""
        return self.evidence.is_within(self.short.id, self.full.id)

    @cached_property
    def introduced(self) -> bool:
        """Tell whether every document that names both begins with the full name."""
        return self.evidence.is_introduced(self.short.id, self.full.id)

    @cached_property
    def together(self) -> bool:
        """Tell whether a document names both."""
        return bool(self.evidence.shared_documents(self.short.id, self.full.id))


def view_pair(
    one: Profile,
    other: Profile,
    evidence: Evidence,
    profiles: Mapping[str, Profile],
    *,
    likeness: float = 0.0,
    nearness: float = 0.0,
    rivals: tuple[str, ...] = (),
) -> PairView:
    """Return two entities as the rules see them."""
    short, full = sorted((one, other), key=lambda p: (len(p.shape.squeezed), p.id))
    return PairView(short, full, evidence, profiles, likeness, nearness, rivals)


def differ(reason: str) -> Ruling:
    """Return that two entities are not one, for sure."""
    return Ruling(Verdict.DIFFERENT, reason, 1.0)


def agree(reason: str, score: float) -> Ruling:
    """Return that two entities are one."""
    return Ruling(Verdict.SAME, reason, score)


def leave_open(reason: str, score: float) -> Ruling:
    """Return that two entities may be one, as likely as ``score`` says."""
    return Ruling(None, reason, score)
