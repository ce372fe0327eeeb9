"""Show results as HTML in Jupyter notebooks.

Opening a knowledge base inside IPython calls `register_views`. It gives the HTML formatter of the
shell a renderer for answers, evidence, subgraphs and indexing reports. The record classes are never
changed.
"""

from __future__ import annotations

import sys

from knotwork._indexing.report import IndexReport
from knotwork.records import Answer, Evidence, Subgraph

VIEWED_TYPES: tuple[type, ...] = (Answer, Evidence, IndexReport, Subgraph)
"""The types that have an HTML view."""


def register_views() -> None:
    """Register the HTML views with the shell of IPython, if one runs."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    for kind in VIEWED_TYPES:
        formatter.for_type(kind, render_html)


def render_html(value: object) -> str:
    """Return an answer, evidence, a subgraph or an indexing report as HTML.

    The views are imported on the first call. Raises TypeError for another type.
    """
    from knotwork._extensions.notebook.views import render

    return render(value)
