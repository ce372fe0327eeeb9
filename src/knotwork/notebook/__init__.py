"""What results look like in a notebook: records stay plain, and are given a view from outside.

Opening a knowledge base calls `teach_display`; from then on Jupyter and all that ask a value for
`_repr_html_` show evidence, answers, subgraphs and reports of indexing as what they mean.
"""

from __future__ import annotations

from knotwork.indexing.report import IndexReport
from knotwork.records import Answer, Evidence, Subgraph

SHOWN: tuple[type, ...] = (Answer, Evidence, IndexReport, Subgraph)
"""The types that have a view."""


def teach_display() -> None:
    """Let notebooks show values of these types; doing so again changes nothing."""
    for kind in SHOWN:
        kind._repr_html_ = _show  # type: ignore[attr-defined]


def _show(value: object) -> str:
    """Return a value as HTML; what draws it is imported when the first one is shown."""
    from knotwork.notebook.views import render

    return render(value)
