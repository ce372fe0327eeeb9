"""The power to store which names mean several things, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, runtime_checkable

from knotwork.records import Homonym


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
