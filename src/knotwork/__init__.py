"""Knotwork: answers with citations from your own documents.

    import knotwork

    with knotwork.open("handbook.knot") as kb:
        print(kb.index("docs/"))
        answer = kb.ask("Who approves travel abroad?")

Everything public is imported on first use, so that ``import knotwork`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knotwork.config import Settings, load_settings
    from knotwork.errors import KnotworkError
    from knotwork.indexing.report import (
        EventKind,
        Failure,
        IndexEvent,
        IndexingInterrupted,
        IndexReport,
    )
    from knotwork.knowledge_base import KnowledgeBase, Statistics, open  # noqa: A004
    from knotwork.knowledge_base.asynchronous import AsyncKnowledgeBase, open_async
    from knotwork.records import Answer, Chunk, Citation, Document, Evidence, Hit, Subgraph
    from knotwork.synthesis.ask_request import AskRequest

__version__ = "0.1.0"

_HOMES = {
    "Answer": "records",
    "AskRequest": "synthesis.ask_request",
    "AsyncKnowledgeBase": "knowledge_base.asynchronous",
    "Chunk": "records",
    "Citation": "records",
    "Document": "records",
    "EventKind": "indexing.report",
    "Evidence": "records",
    "Failure": "indexing.report",
    "Hit": "records",
    "IndexEvent": "indexing.report",
    "IndexReport": "indexing.report",
    "IndexingInterrupted": "indexing.report",
    "KnotworkError": "errors",
    "KnowledgeBase": "knowledge_base",
    "Settings": "config",
    "Statistics": "knowledge_base",
    "Subgraph": "records",
    "load_settings": "config",
    "open": "knowledge_base",
    "open_async": "knowledge_base.asynchronous",
}

__all__ = [
    "Answer",
    "AskRequest",
    "AsyncKnowledgeBase",
    "Chunk",
    "Citation",
    "Document",
    "EventKind",
    "Evidence",
    "Failure",
    "Hit",
    "IndexEvent",
    "IndexReport",
    "IndexingInterrupted",
    "KnotworkError",
    "KnowledgeBase",
    "Settings",
    "Statistics",
    "Subgraph",
    "load_settings",
    "open",
    "open_async",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
