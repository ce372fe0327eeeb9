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
    """Decisions whether entities are the same, in the transactions of their store.

    A decision is seen only while both its entities exist: one whose entity went with a document
    comes back with the entity, as when a file is indexed again, unless `settle` came in between.
    """

    def put(self, decisions: Iterable[SameAs]) -> None:
        """Add decisions, each in the place of an earlier one of the same pair."""

    def decisions(self) -> list[SameAs]:
        """Return all decisions, ordered by the ids of their pairs."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        """Return the decisions that each entity is an end of, ordered by pair."""

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove the decisions of these pairs, in ascending ids, whoever made them."""

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every entity that is one with another, itself included.

        These are the groups of `form_groups`.
        """

    def touch(self, entity_ids: Collection[str]) -> None:
        """Remember that what is known of these entities, there or not, has changed.

        `Store.remove_documents` does so with every entity that a removed chunk mentioned.
        """

    def touched(self) -> list[str]:
        """Return the ids remembered since they were last settled, ascending."""

    def settle(self, entity_ids: Collection[str]) -> None:
        """Forget that these were touched. Decisions on those of them that do not exist go, but for
        the ones that a person made (`SameAs.by_person`): these wait for the entity.
        """


@runtime_checkable
class StoresResolutions(Protocol):
    """A store that can hold which entities are the same."""

    @property
    def resolutions(self) -> ResolutionStore: ...


def read_groups(store: object) -> dict[str, str]:
    """Return the canonical entity of each that is one with another, itself included.

    A store that holds no decisions has none.
    """
    return store.resolutions.groups() if isinstance(store, StoresResolutions) else {}


class EntityGroups(NamedTuple):
    """``canonical`` maps each entity of a group of two or more to its canonical one; ``refused``
    are the decisions that would join entities which another decision holds apart.
    """

    canonical: dict[str, str]
    refused: tuple[SameAs, ...]


def form_groups(decisions: Iterable[SameAs], chunk_counts: Mapping[str, int]) -> EntityGroups:
    """Join the entities that decisions make one, but for those that decisions hold apart.

    The surest decision joins first, ties by pair, those of persons before all. One that would bring
    two entities into a group of which a decision says that they are different, or whose being the
    same was undone, is refused. So the groups depend on the decisions alone, in any order. The
    canonical entity has most chunks, ties the smallest id; entities that ``chunk_counts`` lacks
    are left out.
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
    """Names that mean several things, in the transactions of their store."""

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        """Put these in the place of what is known of ``among`` (entity ids), by default of all."""

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        """Return the homonyms among these entities, or all, by entity id, ascending.

        A sense has those of its chunks that mention the entity today; a homonym of which fewer
        than two senses have any is none.
        """
        ...


@runtime_checkable
class StoresHomonyms(Protocol):
    """A store that can hold which names mean several things."""

    @property
    def homonyms(self) -> HomonymStore: ...


def read_senses(
    store: object, entity_ids: Collection[str] | None = None
) -> dict[str, Mapping[str, int]]:
    """Return, for each homonym, the number of the sense that each of its chunks means.

    0 is the sense of most chunks. Chunks that no sense has are absent; a store that holds no
    homonyms has none.
    """
    if not isinstance(store, StoresHomonyms):
        return {}
    return {
        key: {chunk: number for number, chunks in enumerate(known.senses) for chunk in chunks}
        for key, known in store.homonyms.read(entity_ids).items()
    }
