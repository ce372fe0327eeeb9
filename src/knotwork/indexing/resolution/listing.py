"""What is decided about names, as a person reads it: things, their names, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from knotwork.indexing.resolution.resolving import RULES_META
from knotwork.records import Entity, Homonym, SameAs
from knotwork.stores.base import Store
from knotwork.stores.homonyms import StoresHomonyms
from knotwork.stores.resolutions import StoresResolutions, form_groups


@dataclass(frozen=True, slots=True)
class NamedDecision:
    """A decision and the names of its two entities.

    ``refused`` says that it does not count: it would join what other decisions hold apart.
    """

    decision: SameAs
    first: str
    second: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing with several names: its entities, the canonical one first, and what joins them.

    ``names`` are those of the entities, in the same order; those of most chunks come first.
    """

    entity_ids: tuple[str, ...]
    names: tuple[str, ...]
    chunks: int
    decisions: tuple[NamedDecision, ...]


@dataclass(frozen=True, slots=True)
class SameNames:
    """What is decided: things with several names, and pairs that are held apart.

    ``compared`` says that names were ever compared, ``waiting`` how many changed since.
    """

    things: tuple[Thing, ...] = ()
    apart: tuple[NamedDecision, ...] = ()
    compared: bool = False
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class NamedHomonym:
    """A name that means several things; ``documents`` are the uris of each meaning."""

    homonym: Homonym
    name: str
    documents: tuple[tuple[str, ...], ...]


def read_same_names(store: Store, about: Collection[str] | None = None) -> SameNames:
    """Return what is decided of all entities, or of the things that those of ``about`` (ids) are.

    Things of most chunks come first. An entity that was never compared is in none.
    """
    if not isinstance(store, StoresResolutions):
        return SameNames()
    decisions = store.resolutions.decisions()
    entities = store.graph.entities({entity for d in decisions for entity in d.pair})
    counts = {key: entity.chunk_count for key, entity in entities.items()}
    canonical, refused = form_groups(decisions, counts)
    wanted = None if about is None else _members_with(about, canonical)
    joining: defaultdict[str, list[NamedDecision]] = defaultdict(list)
    apart: list[NamedDecision] = []
    for decision in decisions:
        if wanted is not None and wanted.isdisjoint(decision.pair):
            continue
        first, second = (entities[end].name for end in decision.pair)
        named = NamedDecision(decision, first, second, decision in refused)
        if decision.joins and not named.refused:
            joining[canonical[decision.first]].append(named)
        else:
            apart.append(named)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for entity, standing in canonical.items():
        members[standing].append(entity)
    things = [_thing(key, members[key], entities, joining[key]) for key in joining]
    return SameNames(
        tuple(sorted(things, key=lambda thing: (-thing.chunks, thing.entity_ids))),
        tuple(sorted(apart, key=lambda d: (not d.decision.by_person, d.first, d.second))),
        RULES_META in store.meta(),
        len(store.resolutions.touched()),
    )


def read_homonyms(store: Store, about: Collection[str] | None = None) -> tuple[NamedHomonym, ...]:
    """Return the names that mean several things, of all entities or of ``about`` (ids), by name,
    as they were when names were last compared.
    """
    wanted = store.homonyms.read(about) if isinstance(store, StoresHomonyms) else {}
    entities = store.graph.entities(wanted)
    chunks = store.documents.chunks(
        {chunk for homonym in wanted.values() for sense in homonym.senses for chunk in sense}
    )
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    owners = {key: documents[chunk.document_id].uri for key, chunk in chunks.items()}
    named = (
        NamedHomonym(
            homonym,
            entities[key].name,
            tuple(tuple(sorted({owners[c] for c in sense})) for sense in homonym.senses),
        )
        for key, homonym in wanted.items()
    )
    return tuple(sorted(named, key=lambda item: (item.name, item.homonym.entity_id)))


def _members_with(about: Collection[str], canonical: Mapping[str, str]) -> set[str]:
    """Return these entities and all that are one with one of them."""
    standing = {canonical[entity] for entity in about if entity in canonical}
    return {*about, *(entity for entity, key in canonical.items() if key in standing)}


def _thing(
    key: str,
    members: Collection[str],
    entities: Mapping[str, Entity],
    decisions: Collection[NamedDecision],
) -> Thing:
    ranked = sorted(members, key=lambda e: (e != key, -entities[e].chunk_count, e))
    return Thing(
        tuple(ranked),
        tuple(entities[entity].name for entity in ranked),
        sum(entities[entity].chunk_count for entity in ranked),
        tuple(decisions),
    )
