"""Divide a question that asks for several things into questions that ask for one each.

Only the words of a question count, in English and Chinese. A question is divided if every part asks
who, what, which, when, where, why or how by itself: "Who plans routes and prints maps?" asks for
one thing, and "and why?" for what the same sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.text.characters import HAN

MOST_PARTS = 4
"""A text that asks for more is not divided: it is a list of tasks."""
_LONGEST = 400
"""Characters of a question that may be divided."""
_HAN_TEXT = re.compile(f"[{HAN}]")
_MAY_ASK_MORE = re.compile(
    r"\b(?:and|but|vs|versus|compare|differ\w*|distinction)\b|;|[?!.]\s+\S"
    r"|,\s+(?:\w+\s+)?(?:wh(?:o|at|ich|en|ere|y)|how)",
    re.IGNORECASE,
)
"""Stands in every English question that can be divided."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the questions that a question consists of.

    ``asked`` has its own words, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class Division:
    """The parts of a question, in its order.

    ``compared`` are the two things that a comparison is about, else it is empty.
    """

    parts: tuple[Part, ...]
    compared: tuple[str, ...] = ()


def divide(question: str) -> Division | None:
    """Return the parts of a question, or None if it asks for one thing, or for more than four."""
    text = " ".join(question.split())
    if len(text) > _LONGEST:
        return None
    # Every question is read, and the forms of a language take a while to compile.
    if len(_HAN_TEXT.findall(text)) * 4 >= len(text) > 0:
        from knotwork.synthesis.parts.chinese import compare_chinese, divide_chinese

        return compare_chinese(text) or _division(divide_chinese(text))
    if not _MAY_ASK_MORE.search(text):
        return None
    from knotwork.synthesis.parts.english import compare_english, divide_english

    return compare_english(text) or _division(divide_english(text))


def _division(parts: Sequence[Part]) -> Division | None:
    return Division(tuple(parts)) if 1 < len(parts) <= MOST_PARTS else None
