"""The parts of a compound question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions in a compound question.

    ``asked`` is its own wording, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class DividedQuestion:
    """The parts of a compound question, in order.

    ``compared`` are the two names of a comparison; empty for any other question.
    """

    parts: tuple[SubQuestion, ...]
    compared: tuple[str, ...] = ()
