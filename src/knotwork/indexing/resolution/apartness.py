"""What holds two entities apart whatever the texts say: their types and their names."""

from __future__ import annotations

from knotwork.indexing.resolution.evidence import Profile
from knotwork.indexing.resolution.names import given_agree
from knotwork.indexing.resolution.rulings import Ruling, differ
from knotwork.indexing.resolution.spelling import edit_distance
from knotwork.transform.rules.aliases import is_short_for

CONFLICTS = frozenset(
    frozenset(pair)
    for pair in (
        ("PERSON", "PLACE"),
        ("PERSON", "ORGANIZATION"),
        ("PERSON", "WORK"),
        ("PERSON", "EVENT"),
        ("PERSON", "PRODUCT"),
        ("PLACE", "WORK"),
    )
)
"""Types that exclude each other."""


def rule_apart(one: Profile, other: Profile) -> Ruling | None:
    """Return why two entities are not one, by types and names alone; None where nothing says so."""
    kinds = frozenset((one.entity.type, other.entity.type))
    if kinds in CONFLICTS:
        return differ(f"types differ: {' and '.join(sorted(kinds))}")
    generations = {one.shape.generation, other.shape.generation} - {""}
    if len(generations) > 1:
        return differ("generations differ")
    if is_acronym(one, other) or is_acronym(other, one):
        return None
    if one.shape.marks != other.shape.marks:
        odd = sorted(one.shape.marks ^ other.shape.marks)
        return differ(f"one has what the other has not: {', '.join(odd)}")
    return _rule_given_names(one, other)


def _rule_given_names(one: Profile, other: Profile) -> Ruling | None:
    first, second = one.person, other.person
    if first is None or second is None or first.surname != second.surname:
        return None
    if given_agree(first, second):
        return None
    alike = edit_distance(" ".join(first.given), " ".join(second.given), most=2) <= 2
    return None if alike else differ("given names differ")


def is_acronym(short: Profile, full: Profile) -> bool:
    """Tell whether one name is in capitals that can stand for the words of the other."""
    if not short.shape.acronym or full.shape.acronym:
        return False
    if len(full.shape.words) == 3 and "and" in full.shape.words:  # two names, not one
        return False
    name = short.entity.name.removesuffix("s")
    return short.shape.acronym in full.shape.initials or is_short_for(name, full.entity.name)
