"""The protocol of extractors: a chunk in, its contributions to the graph out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knotwork.records import Chunk, Document, Extraction


class Extractor(Protocol):
    """Finds entities and relations. ``name`` changes with anything that changes the result."""

    name: str

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        The result depends on this document alone, so that indexing order never matters.
        """
