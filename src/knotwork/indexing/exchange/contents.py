"""What an index holds, in the order and with the numbers of the tables it is written to."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from knotwork.indexing.communities.refreshing import stored_communities
from knotwork.indexing.exchange.labels import join_sentences
from knotwork.records import ENTITY_EDGES, Community, Description, EdgeType, Entity
from knotwork.stores.base import Store
from knotwork.stores.communities import StoresCommunities
from knotwork.stores.readings import StoresReadings
from knotwork.stores.relations import ReadsRelations
from knotwork.text.names import normal_form

_BATCH = 1000
_NAMESPACE = uuid.UUID("8f1c1f3e-6f3e-5c0e-9d0b-6b6e6f742d6b")
_NO_DATE = "1970-01-01"


@dataclass(frozen=True, slots=True)
class Relationship:
    """One row of the relationships: all that is contributed to one edge."""

    id: str
    number: int
    source: str
    target: str
    relation: str
    weight: float
    chunk_ids: tuple[str, ...]


class Contents:
    """One index as it is numbered in tables: documents by uri, text units in reading order."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.entries = {e.document_id: e for e in store.ledger.entries() if e.document_id}

    @cached_property
    def document_ids(self) -> list[str]:
        known = self.store.documents.documents(self.store.documents.document_ids())
        return sorted(known, key=lambda key: known[key].uri)

    @cached_property
    def leaves(self) -> dict[str, list[str]]:
        """The ids of the leaf chunks of each document, in order."""
        found: dict[str, list[str]] = {}
        for key in self.document_ids:
            chunks = self.store.documents.chunks(self.store.documents.chunk_ids(key))
            leaves = [chunk for chunk in chunks.values() if not chunk.is_parent]
            found[key] = [c.id for c in sorted(leaves, key=lambda c: c.ordinal)]
        return found

    @cached_property
    def units(self) -> dict[str, int]:
        """The number of each text unit, by chunk id."""
        chunks = (chunk for key in self.document_ids for chunk in self.leaves[key])
        return {chunk: number for number, chunk in enumerate(chunks)}

    @cached_property
    def mentions(self) -> dict[str, list[str]]:
        """The chunks of each entity, in the order of the text units."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for edge in self.store.graph.edges(types=[EdgeType.MENTIONS]):
            if edge.source in self.units:
                found[edge.target].append(edge.source)
        return {key: sorted(found[key], key=self.units.__getitem__) for key in sorted(found)}

    @cached_property
    def entities(self) -> dict[str, Entity]:
        found: dict[str, Entity] = {}
        keys = list(self.mentions)
        for start in range(0, len(keys), _BATCH):
            found.update(self.store.graph.entities(keys[start : start + _BATCH]))
        return {key: found[key] for key in keys if key in found}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The title of each entity: its name, if that leads back to it alone."""
        return {
            key: entity.name
            if normal_form(entity.name) == entity.normal_form
            else entity.normal_form
            for key, entity in self.entities.items()
        }

    @cached_property
    def edges(self) -> list[Relationship]:
        edges = self.store.graph.edges(types=ENTITY_EDGES)
        kept = (e for e in edges if e.source in self.entities and e.target in self.entities)
        return [
            Relationship(
                make_uuid("relationship", edge.source, edge.relation, edge.target),
                number,
                edge.source,
                edge.target,
                edge.relation,
                edge.weight,
                tuple(
                    sorted((c for c in edge.chunks if c in self.units), key=self.units.__getitem__)
                ),
            )
            for number, edge in enumerate(kept)
        ]

    @cached_property
    def degrees(self) -> dict[str, int]:
        """How many others each entity is related to."""
        linked: defaultdict[str, set[str]] = defaultdict(set)
        for edge in self.edges:
            linked[edge.source].add(edge.target)
            linked[edge.target].add(edge.source)
        return {key: len(others) for key, others in linked.items()}

    @cached_property
    def communities(self) -> dict[str, tuple[int, Community]]:
        """The communities by id, the topmost first, with their numbers."""
        if not isinstance(self.store, StoresCommunities):
            return {}
        found = stored_communities(self.store.communities)
        return {community.id: (number, community) for number, community in enumerate(found)}

    @cached_property
    def period(self) -> str:
        """The day of the newest source, so that equal indexes give equal tables."""
        newest = max((entry.modified_ns for entry in self.entries.values()), default=0)
        return time_of(newest).date().isoformat() if newest > 0 else _NO_DATE

    def descriptions(self) -> dict[str, str]:
        """Return what is told of each entity: the summary of it, else all descriptions."""
        if not isinstance(self.store, StoresReadings):
            return {}
        found: dict[str, str] = {}
        keys = list(self.entities)
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            for key, given in self.store.readings.descriptions(batch).items():
                found[key] = join_sentences(told.text for told in self._ordered(given))
            for key, summary in self.store.readings.summaries(batch).items():
                found[key] = summary.text
        return found

    def _ordered(self, given: Iterable[Description]) -> list[Description]:
        return sorted(given, key=lambda told: self.units.get(told.chunk_id, -1))

    def told(self, batch: Sequence[Relationship]) -> dict[str, dict[str, None]]:
        """Return the distinct descriptions of relations, by the id of their row."""
        graph = self.store.graph
        if not isinstance(graph, ReadsRelations):
            return {}
        ids = {(edge.source, edge.relation, edge.target): edge.id for edge in batch}
        chunks = {chunk for edge in batch for chunk in edge.chunk_ids}
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        held = graph.relations(sorted(chunks))
        for chunk in sorted(held, key=lambda key: self.units[key]):
            for relation in held[chunk]:
                key = ids.get((relation.source, relation.relation, relation.target))
                if key is not None and relation.description:
                    found[key][relation.description] = None
        return found

    def edges_within(self) -> dict[str, list[Relationship]]:
        """Return the relationships between members of each community."""
        of: defaultdict[str, set[str]] = defaultdict(set)
        for key, (_, community) in self.communities.items():
            for member in community.members:
                of[member.entity_id].add(key)
        within: defaultdict[str, list[Relationship]] = defaultdict(list)
        for edge in self.edges:
            for key in of[edge.source] & of[edge.target]:
                within[key].append(edge)
        return within


def make_uuid(*parts: str) -> str:
    """Return an id in the shape of a UUID that depends on the parts alone."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(parts)))


def time_of(nanoseconds: int) -> datetime:
    """Return the time of a source."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
