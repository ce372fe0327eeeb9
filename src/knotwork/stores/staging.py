"""Vector indexes that are filled beside those in use, to replace them at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knotwork.stores.base import Store

VECTOR_INDEXES = ("chunk", "sentence", "entity", "question", "report")
"""The names of all vector indexes of an index."""

STAGED_PREFIX = "next_"


def staged_name(name: str) -> str:
    """Return the name of the vector index that is to replace the one of this name."""
    return f"{STAGED_PREFIX}{name}"


def final_name(name: str) -> str:
    """Return the name of a vector index once it is in use."""
    return name.removeprefix(STAGED_PREFIX)


def remove_vectors(store: Store, name: str, ids: Collection[str]) -> None:
    """Remove vectors from the index of this name, and from the one that is to replace it."""
    store.vectors(name).remove(ids)
    store.vectors(staged_name(name)).remove(ids)
