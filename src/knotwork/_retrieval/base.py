"""The protocol of retrievers: a query in, evidence with its reasons out."""

from __future__ import annotations

from typing import Protocol

from knotwork._stores.base import Capability
from knotwork.records import Evidence, Query


class Retriever(Protocol):
    """A way to find evidence for a query in a store.

    ``requires`` are the capabilities of the store that it needs, checked when it is built. A class
    with options declares them in a dataclass ``Options`` and takes an instance as ``options``.
    """

    name: str
    requires: frozenset[Capability]

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for a query; finding nothing is no error."""
