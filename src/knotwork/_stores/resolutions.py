"""Entity resolution in a store: merge decisions, the groups they form, and homonyms.

`form_groups` applies the most confident decision first and refuses one that would merge entities
which another decision keeps apart. A homonym is a name with several meanings, split by chunks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from knotwork.records import Homonym, SameAs


class ResolutionStore(Protocol):
    """Decisions whether two entities are the same; writes join the transaction of the store.

    A decision is visible only while both its entities exist. If an entity is removed with its
    document and returns, as when a file is indexed again, so does the decision, unless `settle`
    ran in between.
    """

    def put(self, decisions: Iterable[SameAs]) -> None:
        """Add or replace decisions, one per pair."""

    def decisions(self) -> list[SameAs]:
        """Return all decisions, ordered by the ids of their pairs."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        """Return the decisions about each entity, ordered by pair."""

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove the decisions about these pairs (ids ascending), including those of persons."""

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every merged entity, itself included (`form_groups`)."""

    def touch(self, entity_ids: Collection[str]) -> None:
        """Mark entities as changed, whether they exist or not.

        `Store.remove_documents` marks every entity that a removed chunk mentioned.
        """

    def touched(self) -> list[str]:
        """Return the ids of the entities marked as changed, ascending."""

    def settle(self, entity_ids: Collection[str]) -> None:
        """Clear the mark of these entities, and remove decisions about those that do not exist.

        Decisions of persons (`SameAs.by_person`) stay, in case the entity returns.
        """


@runtime_checkable
class StoresResolutions(Protocol):
    """A store that can hold merge decisions."""

    @property
    def resolutions(self) -> ResolutionStore: ...


def read_groups(store: object) -> dict[str, str]:
    """Return the canonical entity of every merged entity, itself included.

    The result is empty for a store that cannot hold merge decisions.
    """
    return store.resolutions.groups() if isinstance(store, StoresResolutions) else {}


class EntityGroups(NamedTuple):
    """Groups of merged entities.

    ``canonical`` maps each entity of a group of two or more to its canonical one. ``refused`` are
    the decisions that would merge entities which another decision keeps apart.
    """

    canonical: dict[str, str]
    refused: tuple[SameAs, ...]


def form_groups(decisions: Iterable[SameAs], chunk_counts: Mapping[str, int]) -> EntityGroups:
    """Merge entities into groups by their decisions, without merging those that are kept apart.

    Decisions of persons apply first, then by score descending, ties by pair. A decision is refused
    if its group would have two entities that another decision keeps apart: its verdict is
    "different", or it was undone. So the result does not depend on the order of ``decisions``. The
    canonical entity of a group has most chunks, ties the smallest id. Entities that are missing in
    ``chunk_counts`` are left out.
    """
    known = [d for d in decisions if d.first in chunk_counts and d.second in chunk_counts]
    apart: defaultdict[str, set[str]] = defaultdict(set)
    for decision in known:
        if not decision.joins:
            apart[decision.first].add(decision.second)
            apart[decision.second].add(decision.first)
    group: dict[str, str] = {}
    members: dict[str, set[str]] = {}
    refused: list[SameAs] = []
    joining = (decision for decision in known if decision.joins)
    for decision in sorted(joining, key=lambda d: (not d.by_person, -d.score, d.pair)):
        one, other = (group.get(end, end) for end in decision.pair)
        if one == other:
            continue
        smaller, larger = sorted((one, other), key=lambda end: len(members.get(end, ())))
        moving = members.get(smaller, {smaller})
        staying = members.get(larger, {larger})
        if any(not apart[entity].isdisjoint(staying) for entity in moving if entity in apart):
            refused.append(decision)
            continue
        members.pop(smaller, None)
        members[larger] = staying
        staying |= moving
        group.update(dict.fromkeys((*moving, larger), larger))
    canonical: dict[str, str] = {}
    for entities in members.values():
        chosen = min(entities, key=lambda entity: (-chunk_counts[entity], entity))
        canonical.update(dict.fromkeys(entities, chosen))
    return EntityGroups(dict(sorted(canonical.items())), tuple(refused))


class HomonymStore(Protocol):
    """Names with several meanings; writes join the transaction of the store."""

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        """Replace the stored homonyms of ``among`` (entity ids), by default all."""

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        """Return the homonyms among these entities (default: all), by entity id, ascending.

        A sense has the chunks that still mention the entity. A homonym with fewer than two senses
        that have chunks is left out.
        """
        ...


@runtime_checkable
class StoresHomonyms(Protocol):
    """A store that can hold homonyms."""

    @property
    def homonyms(self) -> HomonymStore: ...


def read_senses(
    store: object, entity_ids: Collection[str] | None = None
) -> dict[str, Mapping[str, int]]:
    """Return, for each homonym, the number of the sense in which each of its chunks uses it.

    0 is the sense with most chunks. Chunks without a sense are absent. The result is empty for a
    store that cannot hold homonyms.
    """
    if not isinstance(store, StoresHomonyms):
        return {}
    return {
        key: {chunk: number for number, chunks in enumerate(known.senses) for chunk in chunks}
        for key, known in store.homonyms.read(entity_ids).items()
    }
