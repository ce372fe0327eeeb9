"""Read the evidence on entities from an index: parsed names, chunks, documents, stated aliases.

All evidence on a pair of entities is read here and depends only on the chunks that mention one of
them. So a pair is compared again only if one of the two was touched, and the decision equals that
of a fresh index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from knotwork._cancellation import check_cancelled, checked
from knotwork._indexing.resolution.name_shapes import (
    HAN_LEGAL_FORMS,
    LEGAL_FORMS,
    NameShape,
    PersonName,
    read_name,
    read_person,
)
from knotwork._stores.base import Store
from knotwork._stores.corrections import former_names_of, read_corrections
from knotwork.records import ALIAS_RELATION, Edge, EdgeType, Entity, Label

UNRESOLVED_TYPES = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
"""Types of entities that have no aliases: only 1998 means 1998."""

_CHUNKS_OF_ALIAS = 16
"""The limit of `GraphStore.neighbours`, so that partial and full reads of a graph agree."""
_BATCH = 2_000
_NOWHERE = 1 << 62

EntityPair = tuple[str, str]
"""The ids of two entities, ascending."""


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """An entity with its parsed name."""

    entity: Entity
    shape: NameShape
    person: PersonName | None

    @property
    def id(self) -> str:
        return self.entity.id


@dataclass(slots=True)
class NameEvidence:
    """Where entities are mentioned, and what is stated about their names.

    By entity id: its ``chunks`` and ``documents``; ``firsts``, the offset of its first mention in
    each document; ``partners``, the entities that an alias relation links it to. By other keys:
    ``aliases``, the chunks that state an alias of a pair; ``owners``, the document of a chunk;
    ``texts`` of the chunks that state an alias; ``kinds``, the type of an entity in a chunk;
    ``around``, the entities that a chunk mentions; ``births``, the chunks that state where a person
    was born, by place.
    """

    chunks: dict[str, frozenset[str]] = field(default_factory=dict)
    documents: dict[str, frozenset[str]] = field(default_factory=dict)
    firsts: dict[str, dict[str, int]] = field(default_factory=dict)
    partners: dict[str, frozenset[str]] = field(default_factory=dict)
    aliases: Mapping[EntityPair, tuple[str, ...]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    around: dict[str, frozenset[str]] = field(default_factory=dict)
    births: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def is_introduced(self, short: str, full: str) -> bool:
        """Return True if every document that names both entities names the full one first."""
        shorts, fulls = self.firsts.get(short, {}), self.firsts.get(full, {})
        shared = self.shared_documents(short, full)
        return all(fulls.get(key, _NOWHERE) < shorts.get(key, _NOWHERE) for key in shared)

    def shared_documents(self, first: str, second: str) -> frozenset[str]:
        """Return the documents that name both entities."""
        return self.documents[first] & self.documents[second]

    def is_within(self, entity_id: str, other_id: str) -> bool:
        """Return True if every document that names the first entity also names the other."""
        return self.documents[entity_id] <= self.documents[other_id]


def read_profiles(store: Store) -> dict[str, EntityProfile]:
    """Return every entity that may have aliases, by ascending id.

    Corrected entities have the names and types of their documents, so that a correction does not
    undo what rules and models have decided on them.
    """
    corrections = read_corrections(store)
    names, types = (former_names_of(corrections, kind) for kind in ("rename", "retype"))
    count = store.graph.entity_count()
    nodes = store.graph.find(label=Label.ENTITY, limit=count) if count else []
    entities = (
        Entity(
            node.id,
            names.get(node.id, node.name),
            str(node.properties["normal_form"]),
            types.get(node.id, str(node.properties["type"])),
            int(node.properties["chunk_count"]),
        )
        for node in nodes  # ordered by id
    )
    return {
        entity.id: make_profile(entity)
        for entity in checked(entities)
        if entity.type not in UNRESOLVED_TYPES and not _is_legal_form(entity.normal_form)
    }


def _is_legal_form(form: str) -> bool:
    return form in HAN_LEGAL_FORMS or all(word in LEGAL_FORMS for word in form.split())


def make_profile(entity: Entity) -> EntityProfile:
    """Return an entity with its parsed name."""
    shape = read_name(entity.name)
    return EntityProfile(entity, shape, read_person(shape, entity.type))


def read_aliases(
    store: Store, of: Collection[str] | None = None
) -> dict[EntityPair, tuple[str, ...]]:
    """Return the ids of the chunks that state an alias, for each pair of entities.

    With ``of``, return only pairs with one of these entities.
    """
    stated: defaultdict[EntityPair, set[str]] = defaultdict(set)
    for edge in checked(_relations(store, of)):
        if edge.relation == ALIAS_RELATION and edge.source != edge.target:
            ids = min(edge.source, edge.target), max(edge.source, edge.target)
            stated[ids].update(edge.chunks[:_CHUNKS_OF_ALIAS])
    return {ids: tuple(sorted(chunks)) for ids, chunks in sorted(stated.items())}


def read_evidence(
    store: Store, entity_ids: Iterable[str], aliases: Mapping[EntityPair, tuple[str, ...]]
) -> NameEvidence:
    """Return the evidence on entities; ``aliases`` must include all of theirs."""
    evidence = NameEvidence(aliases=aliases)
    wanted = sorted(set(entity_ids))
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in aliases:
        partners[first].add(second)
        partners[second].add(first)
    evidence.partners = {entity: frozenset(partners.get(entity, ())) for entity in wanted}
    edges = store.graph.neighbours(wanted, types=[EdgeType.MENTIONS], direction="in")
    for entity in checked(wanted):
        evidence.chunks[entity] = frozenset(edge.source for edge in edges.get(entity, ()))
    held = set().union(*evidence.chunks.values()) if wanted else set()
    stating = {chunk for chunks in aliases.values() for chunk in chunks}
    owner = evidence.owners
    for batch in _batches(sorted(held)):
        for key, node in store.graph.nodes(batch).items():
            owner[key] = str(node.properties["document"])
            if key in stating:
                evidence.texts[key] = str(node.properties["text"])
    for entity in checked(wanted):
        evidence.documents[entity] = frozenset(owner[c] for c in evidence.chunks[entity])
    return evidence


def read_listed(
    store: Store,
    profiles: Mapping[str, EntityProfile],
    aliases: Mapping[EntityPair, tuple[str, ...]],
) -> list[EntityPair]:
    """Return the pairs of aliases that a user's dictionary lists."""
    found: dict[EntityPair, None] = {}
    for batch in _batches(sorted({chunk for chunks in aliases.values() for chunk in chunks})):
        for relation in (r for held in store.graph.relations(batch).values() for r in held):
            ends = min(relation.source, relation.target), max(relation.source, relation.target)
            if relation.relation != ALIAS_RELATION or ends not in aliases or relation.span is None:
                continue
            # Its span is the name itself, shorter than any sentence that states an alias.
            name = profiles[relation.source].entity.name if relation.source in profiles else ""
            if relation.span.end - relation.span.start <= len(name) and relation.target in profiles:
                found[ends] = None
    return list(found)


_BORN_IN = frozenset({"born in", "born at", "出生于", "生于", "出生地"})


def read_births(
    store: Store, of: Collection[str] | None = None
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the chunks that state each birthplace of entities with several, by entity.

    With ``of``, return only these entities.
    """
    born: defaultdict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for edge in checked(_relations(store, of)):
        if edge.relation in _BORN_IN and (of is None or edge.source in of):
            born[edge.source][edge.target] = edge.chunks
    return {entity: places for entity, places in born.items() if len(places) > 1}


def _relations(store: Store, of: Collection[str] | None) -> Iterable[Edge]:
    relates = [EdgeType.RELATES]
    if of is None:
        return store.graph.edges(types=relates)
    around = store.graph.neighbours(of, types=relates)
    return (edge for ends in around.values() for edge in ends)


def read_mentions(store: Store, evidence: NameEvidence, entity_ids: Collection[str]) -> None:
    """Read the mentions of entities into ``kinds``, ``firsts`` and ``around`` of ``evidence``."""
    wanted = set(entity_ids)
    chunks = {chunk for entity in wanted for chunk in evidence.chunks[entity]}
    for batch in _batches(sorted(chunks)):
        for chunk, mentions in store.graph.mentions(batch).items():
            evidence.around[chunk] = frozenset(mention.entity_id for mention in mentions)
            document = evidence.owners[chunk]
            check_cancelled()
            for mention in mentions:
                if mention.entity_id not in wanted:
                    continue
                if mention.type:
                    evidence.kinds[chunk, mention.entity_id] = mention.type
                if mention.spans:
                    known = evidence.firsts.setdefault(mention.entity_id, {})
                    start = mention.spans[0].start
                    known[document] = min(start, known.get(document, _NOWHERE))


def _batches(ids: list[str]) -> Iterator[list[str]]:
    rest = iter(ids)
    while batch := list(islice(rest, _BATCH)):
        yield batch
