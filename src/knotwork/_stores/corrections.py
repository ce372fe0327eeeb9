"""What the corrections of an index say together: which are in effect, and about what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from knotwork._stores.base import LedgerEntry, Store
from knotwork.records import Correction

CORRECTION_KINDS: Mapping[str, tuple[str, ...]] = {
    "rename": ("name",),
    "merge": ("other",),
    "split": ("other",),
    "retype": ("type",),
    "hide": (),
    "pin": (),
    "add_relation": ("relation", "other"),
    "remove_relation": ("relation", "other"),
}
"""What each kind of correction says beside its entity, in the order of a command."""

CORRECTION_URI = "correction:"
"""The uris of the documents of stated relations begin so; it is also the root of them all."""

SHOW = "show"
"""Undoes the correction that hides an entity; it is not recorded itself."""

Subject = tuple[str, ...]


def subject_of(correction: Correction) -> Subject:
    """Return what a correction decides; of those that decide the same, the last is in effect."""
    kind, entity = correction.kind, correction.forms[0]
    if kind in ("merge", "split"):
        return ("same", *sorted((entity, correction.other_forms[0])))
    if kind in ("add_relation", "remove_relation"):
        return "relation", entity, correction.relation, correction.other_forms[0]
    return kind, entity


def in_effect(corrections: Iterable[Correction]) -> dict[Subject, Correction]:
    """Return the last of the corrections, oldest first, on each subject."""
    return {subject_of(correction): correction for correction in corrections}


def read_corrections(store: Store) -> list[Correction]:
    """Return all corrections of a store, the oldest first; none if it cannot hold any."""
    held = store.capabilities.corrections
    return held.corrections() if held is not None else []


def former_names(store: Store) -> dict[str, str]:
    """Return the name that documents give each renamed entity, by entity id."""
    return former_names_of(read_corrections(store))


def former_names_of(corrections: Iterable[Correction], kind: str = "rename") -> dict[str, str]:
    """Return what documents say of entities in place of these corrections, by entity id.

    ``kind`` is "rename" for names, or "retype" for types.
    """
    return {found.entity_ids[0]: found.was for found in corrections if found.kind == kind}


def entity_text(name: str, former: str | None) -> str:
    """Return the text by which an entity is found: its name, and the former one if it has one."""
    return f"{name} {former}" if former else name


def listed_entries(store: Store) -> Iterator[LedgerEntry]:
    """Yield the entries of the sources that people gave, by uri.

    A relation that somebody stated stands in a document of its own, which nobody gave.
    """
    return (entry for entry in store.ledger.entries() if entry.root != CORRECTION_URI)
