"""What evidence leaves out and a reader needs: the documents that the hits are in."""

from __future__ import annotations

from knotwork.cli.envelopes import Titles
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Evidence


def find_documents(knowledge_base: KnowledgeBase, evidence: Evidence) -> Titles:
    """Return the documents of the hits by id."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    return knowledge_base.store.documents.documents(ids)
