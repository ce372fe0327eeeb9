"""Run the optional parts of an answer, so that one that fails costs only itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from knotwork.errors import BudgetExceeded, ConfigError, FilterError, StoreError

T = TypeVar("T")

FOR_THE_USER = (ConfigError, StoreError, FilterError, BudgetExceeded)
"""Errors that no part may hide: the request, the index or the budget has to change."""

_log = logging.getLogger("knotwork.answers")


def attempt(
    part: str,
    work: Callable[[], T],
    otherwise: T,
    notes: list[str],
    *,
    raises: tuple[type[Exception], ...] = FOR_THE_USER,
) -> T:
    """Return what a part of an answer makes, or ``otherwise`` and a note if it fails.

    Raises errors of the types ``raises``, and a cancellation.
    """
    try:
        return work()
    except raises:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a part raises, the others still answer
        notes.append(note_failure(part, error))
        return otherwise


def note_failure(part: str, error: Exception) -> str:
    """Log the failure of a part, and return the note on it."""
    _log.warning("%s failed", part, exc_info=error)
    return f"{part} failed and was left out: {error or type(error).__name__}"
