"""Return an optional part of a store, or raise MissingCapability, which names both.

Call these before any work that writes to the part.
"""

from __future__ import annotations

from typing import TypeVar

from knotwork._stores.base import Store
from knotwork._stores.capabilities import (
    CommunityStore,
    CypherRunner,
    HomonymStore,
    PropertyGraphStore,
    QuestionStore,
    ReadingStore,
    ResolutionStore,
    VectorReplacement,
)
from knotwork._stores.fields import FieldStore
from knotwork.errors import MissingCapability

Part = TypeVar("Part")


def _require(store: Store, part: Part | None, name: str) -> Part:
    if part is None:
        raise MissingCapability(store.url, name)
    return part


def require_communities(store: Store) -> CommunityStore:
    """Return the communities of a store."""
    return _require(store, store.capabilities.communities, "communities")


def require_readings(store: Store) -> ReadingStore:
    """Return what a model read, and descriptions of entities."""
    return _require(store, store.capabilities.readings, "readings by a language model")


def require_questions(store: Store) -> QuestionStore:
    """Return the questions that chunks answer."""
    return _require(store, store.capabilities.questions, "questions of chunks")


def require_resolutions(store: Store) -> ResolutionStore:
    """Return the decisions that merge and split entities."""
    return _require(store, store.capabilities.resolutions, "merged entities")


def require_homonyms(store: Store) -> HomonymStore:
    """Return the names with several meanings."""
    return _require(store, store.capabilities.homonyms, "homonyms")


def require_property_graphs(store: Store) -> PropertyGraphStore:
    """Return the imported graphs."""
    return _require(store, store.capabilities.property_graphs, "imported graphs")


def require_fields(store: Store) -> FieldStore:
    """Return the fields of documents, by which a store filters."""
    return _require(store, store.capabilities.fields, "filters")


def require_cypher(store: Store) -> CypherRunner:
    """Return what runs Cypher statements."""
    return _require(store, store.capabilities.cypher, "Cypher")


def require_vector_replacement(store: Store) -> VectorReplacement:
    """Return what replaces all vectors at once."""
    return _require(store, store.capabilities.vector_replacement, "a change of the embedder")
