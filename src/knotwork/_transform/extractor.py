"""The extractor protocol: turn each chunk of a document into its contributions to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knotwork.records import Chunk, Document, Extraction


class Extractor(Protocol):
    """Finds entities and relations.

    ``name`` identifies the result: it changes with anything that changes what is extracted.
    """

    name: str

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        The result depends only on this document, so the order of indexing does not matter.
        """
