"""Knotwork: answers with citations from your own documents.

    import knotwork

    with knotwork.open("handbook.knot") as kb:
        print(kb.index("docs/"))
        answer = kb.ask("Who approves travel abroad?")

Everything public is imported on first use, so that ``import knotwork`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._lazy_imports import import_on_use

if TYPE_CHECKING:
    from knotwork._config import Settings, load_settings
    from knotwork._extensions.asynchronous import AsyncKnowledgeBase, open_async
    from knotwork._extensions.graphs.communities import Communities
    from knotwork._extensions.graphs.editable_graph import Graph
    from knotwork._extensions.graphs.entities import Entities
    from knotwork._extensions.graphs.knowledge_graph import KnowledgeGraph
    from knotwork._extensions.tables.tables import Tables
    from knotwork._extensions.upkeep.backups import restore
    from knotwork._extensions.upkeep.repairs import repair
    from knotwork._indexing.report import Failure, IndexingInterrupted, IndexReport
    from knotwork._knowledge_base import KnowledgeBase, Statistics, open  # noqa: A004
    from knotwork._run import Progress, Run, Stage
    from knotwork._synthesis.ask_request import AskRequest
    from knotwork.errors import KnotworkError
    from knotwork.records import Answer, Chunk, Citation, Document, Evidence, Hit, Subgraph

__version__ = "0.1.0"

_HOMES = {
    "_config": "Settings load_settings",
    "_extensions.graphs.editable_graph": "Graph",
    "_indexing.report": "Failure IndexReport IndexingInterrupted",
    "_knowledge_base": "KnowledgeBase Statistics open",
    "_extensions.asynchronous": "AsyncKnowledgeBase open_async",
    "_extensions.upkeep.backups": "restore",
    "_extensions.graphs.communities": "Communities",
    "_extensions.graphs.entities": "Entities",
    "_extensions.graphs.knowledge_graph": "KnowledgeGraph",
    "_extensions.upkeep.repairs": "repair",
    "_extensions.tables.tables": "Tables",
    "_run": "Progress Run Stage",
    "_synthesis.ask_request": "AskRequest",
    "errors": "KnotworkError",
    "records": "Answer Chunk Citation Document Evidence Hit Subgraph",
}

__all__ = [
    "Answer",
    "AskRequest",
    "AsyncKnowledgeBase",
    "Chunk",
    "Citation",
    "Communities",
    "Document",
    "Entities",
    "Evidence",
    "Failure",
    "Graph",
    "Hit",
    "IndexReport",
    "IndexingInterrupted",
    "KnotworkError",
    "KnowledgeBase",
    "KnowledgeGraph",
    "Progress",
    "Run",
    "Settings",
    "Stage",
    "Statistics",
    "Subgraph",
    "Tables",
    "load_settings",
    "open",
    "open_async",
    "repair",
    "restore",
]

__getattr__, __dir__ = import_on_use(__name__, _HOMES)
