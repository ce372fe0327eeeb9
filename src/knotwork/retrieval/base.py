"""The protocol of retrievers: a query in, evidence with its reasons out."""

from __future__ import annotations

from typing import Protocol

from knotwork.records import Evidence, Query
from knotwork.stores.base import Capability


class Retriever(Protocol):
    """One retrieval pattern over a store. ``requires`` is checked when it is built."""

    name: str
    requires: frozenset[Capability]

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for a query; no evidence is an empty one, never an error."""
