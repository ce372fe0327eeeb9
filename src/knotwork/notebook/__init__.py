"""Show results as HTML in Jupyter notebooks.

Opening a knowledge base calls `register_views`. From then on, Jupyter and every tool that asks a
value for `_repr_html_` renders answers, evidence, subgraphs and indexing reports. Records stay
plain data.
"""

from __future__ import annotations

from knotwork.indexing.report import IndexReport
from knotwork.records import Answer, Evidence, Subgraph

VIEWED_TYPES: tuple[type, ...] = (Answer, Evidence, IndexReport, Subgraph)
"""The types that have a view."""


def register_views() -> None:
    """Let notebooks show values of these types; doing so again changes nothing."""
    for kind in VIEWED_TYPES:
        kind._repr_html_ = _render_lazily  # type: ignore[attr-defined]


def _render_lazily(value: object) -> str:
    """Return a value as HTML; what draws it is imported when the first one is shown."""
    from knotwork.notebook.views import render

    return render(value)
