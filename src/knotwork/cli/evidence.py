"""What evidence leaves out and a reader needs: the documents of the hits, or that none are."""

from __future__ import annotations

from knotwork.cli.envelopes import Titles
from knotwork.cli.terminal import Terminal
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Evidence


def find_documents(knowledge_base: KnowledgeBase, evidence: Evidence) -> Titles:
    """Return the documents of the hits by id."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    return knowledge_base.store.documents.documents(ids)


def note_emptiness(terminal: Terminal, knowledge_base: KnowledgeBase) -> None:
    """Say on standard error why nothing can be found in an index without documents."""
    if not knowledge_base.store.documents.document_count():
        terminal.note("The index is empty. Add documents with: knotwork index FOLDER")
