"""The type of long work that yields its progress and returns a result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[tuple[int, int], None, T]
"""Yields how many of how many things are done, and returns what came of it."""


def finish_steps(steps: Steps[T]) -> T:
    """Do all steps, and return what came of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
