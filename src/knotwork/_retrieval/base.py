"""The protocols of retrievers and steps: a query in, evidence with its reasons out."""

from __future__ import annotations

from typing import ClassVar, Protocol

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


class RetrieverStep(Retriever, Protocol):
    """A retriever around another, which its constructor takes as ``base``.

    A step that changes the question ``precedes`` the retriever in a specification, one that changes
    the evidence follows it. ``searches`` is how often it searches for one question, at most.
    """

    precedes: ClassVar[bool]
    searches: ClassVar[int]
