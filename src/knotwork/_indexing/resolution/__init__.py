"""Resolve entities: rules merge names of the same entity, and a model may judge unclear pairs."""

from knotwork._indexing.resolution.judge import FULL_SHARE, LEAN_SHARE, Judge
from knotwork._indexing.resolution.resolver import (
    ResolutionChanges,
    decide,
    resolve_entities,
    undo,
)
from knotwork.records import Homonym

__all__ = [
    "FULL_SHARE",
    "LEAN_SHARE",
    "Homonym",
    "Judge",
    "ResolutionChanges",
    "decide",
    "resolve_entities",
    "undo",
]
