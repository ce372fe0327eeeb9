"""A store with the required parts only, to test what is refused without the optional ones."""

from __future__ import annotations

from collections.abc import Collection

from knotwork._stores.base import Store
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.removal import remove_documents
from knotwork._stores.urls import open_store


class MinimalStore:
    """The required parts of another store, by default a new memory store."""

    url = "memory:"  # any other would have a call cache in a file

    def __init__(
        self, whole: Store | None = None, capabilities: Capabilities | None = None
    ) -> None:
        self.whole = whole or open_store("memory:")
        self.capabilities = capabilities or Capabilities()
        self.documents = self.whole.documents
        self.graph = self.whole.graph
        self.ledger = self.whole.ledger
        self.texts = self.whole.texts
        self.vectors = self.whole.vectors
        self.meta = self.whole.meta
        self.set_meta = self.whole.set_meta
        self.transaction = self.whole.transaction
        self.reading = self.whole.reading
        self.generation = self.whole.generation
        self.close = self.whole.close

    @property
    def writing(self) -> bool:
        return self.whole.writing

    def remove_documents(self, document_ids: Collection[str]) -> None:
        remove_documents(self, document_ids)
