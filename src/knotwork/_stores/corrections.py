"""What the corrections of an index say together: which are in effect, and about what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from knotwork._stores.base import LedgerEntry, Store
from knotwork.records import Correction, Entity, Node

CORRECTION_KINDS: Mapping[str, tuple[str, ...]] = {
    "rename": ("name",),
    "merge": ("other",),
    "split": ("other",),
    "divide": ("name", "documents"),
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
    if kind == "divide":
        return kind, entity, correction.other_forms[0]
    return kind, entity


def in_effect(corrections: Iterable[Correction]) -> dict[Subject, Correction]:
    """Return the last of the corrections, oldest first, on each subject."""
    return {subject_of(correction): correction for correction in corrections}


def read_corrections(store: Store) -> list[Correction]:
    """Return all corrections of a store, the oldest first; none if it cannot hold any."""
    held = store.capabilities.corrections
    return held.corrections() if held is not None else []


def divided_from(store: Store, entity_ids: Collection[str]) -> set[str]:
    """Return the ids of the entities that some documents' mentions of these belong to."""
    return {
        found.other_ids[0]
        for found in in_effect(read_corrections(store)).values()
        if found.kind == "divide" and found.entity_ids[0] in entity_ids
    }


def former_names_of(corrections: Iterable[Correction], kind: str = "rename") -> dict[str, str]:
    """Return what documents say of entities in place of these corrections, by entity id.

    ``kind`` is "rename" for names, or "retype" for types.
    """
    return {found.entity_ids[0]: found.was for found in corrections if found.kind == kind}


def entity_text(corrections: Iterable[Correction]) -> Callable[[Entity | Node], str]:
    """Return what gives the text by which an entity is found: its name, and the one that documents
    give it if that is another.
    """
    known = list(corrections)
    former = {found.other_ids[0]: found.entity for found in known if found.kind == "divide"}
    former |= former_names_of(known)
    return lambda entity: f"{entity.name} {former.get(entity.id, '')}".rstrip()


def listed_entries(store: Store) -> Iterator[LedgerEntry]:
    """Yield the entries of the sources that people gave, by uri.

    A relation that somebody stated stands in a document of its own, which nobody gave.
    """
    return (entry for entry in store.ledger.entries() if entry.root != CORRECTION_URI)
