"""The protocol of retrievers: a query in, evidence with its reasons out."""

from __future__ import annotations

from typing import Protocol

from knotwork.records import Evidence, Query


class Retriever(Protocol):
    """A way to find evidence for a query in a store.

    A class with options declares them in a dataclass ``Options`` and takes an instance as
    ``options``. One that needs an optional part of the store (`Store.capabilities`) raises
    MissingCapability when it is built (`knotwork._stores.parts`).
    """

    name: str

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for a query; finding nothing is no error."""
