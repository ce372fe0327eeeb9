"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.errors import KnotworkError


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, whether all is well, what was found, and what to do if it is not."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def failed(name: str, error: KnotworkError) -> Check:
    """Return the check that an error ended."""
    return Check(name, ok=False, detail=error.message, fix=error.fix)
