"""Describe the differences between graph databases that speak Bolt."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The differences of one database.

    ``mark`` occurs in the greeting of its servers, in lower case. ``is_tested`` is False if it was
    written from documentation only. ``index`` creates the index of property `id` of {label}, again
    without an error if it exists, or if its error has one of ``exists``.

    With ``plans_have_type``, the summary of an EXPLAIN says whether a statement writes; else
    ``writing_steps`` find steps that write in the text of the plan. Without ``explains``, the
    server has no EXPLAIN over Bolt. ``is_mirror`` is False if it cannot hold a mirror.
    """

    name: str
    mark: str
    is_tested: bool
    index: str
    exists: tuple[str, ...] = ()
    explains: bool = True
    plans_have_type: bool = True
    writing_steps: re.Pattern[str] = field(default=_NOTHING)
    is_mirror: bool = True
