"""The type of long work that yields its progress and returns a result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[tuple[int, int], None, T]
"""Yields (done, total) after each step, and returns a result."""


def finish_steps(steps: Steps[T]) -> T:
    """Run all steps, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
