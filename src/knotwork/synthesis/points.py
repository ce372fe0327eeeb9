"""Points that a model collects from a part of the material: lines of a score, a bar and a text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatReply
from knotwork.synthesis.numbering import MOST_MARKS
from knotwork.text.tokens import count_tokens

MOST_POINTS = 12
"""Points of one reply that are read, twice as many as are asked for."""

_LEAD = re.compile(r"^[\s\-–*•>|｜`#(]*(?:\d{1,2}[.)]\s+(?=\d))?")
_POINT = re.compile(r"^\W{0,3}(\d{1,3})(?:\s*/\s*100)?\W{0,3}\s*[|｜\t:：]\s*(\S.*)$")
_RATING = re.compile(r"^\W{0,3}(\d{1,4})\W{0,3}\s*[|｜\t:：]\s*\W{0,3}(\d)(?:\D.*)?$")
_MARK = re.compile(r"[ \t]*[\[【［]\s*(\d[\d\s,，、;；]*)[\]】］]")
_NOTHING = re.compile(r"\W*(?:none|nothing|no points?|无|没有|沒有)\W*", re.IGNORECASE)
_LONGEST = 600
_BEST_RATING = 5


@dataclass(frozen=True, slots=True)
class Point:
    """What one line says, without its marks; ``numbers`` are the passages that say it."""

    score: int
    text: str
    numbers: tuple[int, ...]

    @property
    def line(self) -> str:
        """The line by which a reducing model reads it."""
        marks = "".join(f"[{number}]" for number in self.numbers[:MOST_MARKS])
        return f"{self.score} | {self.text} {marks}"


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a reply; ``dropped`` counts unusable lines."""

    points: tuple[Point, ...]
    dropped: int = 0


def parse_points(reply: ChatReply, numbers: Collection[int]) -> Points:
    """Read the points of a reply that may cite ``numbers``.

    Lines without a score, or without a number that leads somewhere, are dropped and counted; of a
    reply that was cut off the last line is. Raises Unparsable for an empty reply, and for one that
    neither has a usable line nor says that there is none.
    """
    lines = usable_lines(reply)
    points: list[Point] = []
    for line in lines:
        match = _POINT.match(_LEAD.sub("", line).strip("|｜ "))
        if match is None:
            continue
        found = [n for n in _numbers(match[2]) if n in numbers]
        text = " ".join(_MARK.sub("", match[2]).split()).strip("|｜ ")
        score = min(int(match[1]), 100)
        if found and text and score and len(text) <= _LONGEST:
            points.append(Point(score, text, tuple(dict.fromkeys(found))))
    if not points and not any(_NOTHING.fullmatch(line) for line in lines):
        raise Unparsable("The reply holds no point that leads to a source.")
    kept = tuple(points[:MOST_POINTS])
    silent = sum(1 for line in lines if _NOTHING.fullmatch(line))
    return Points(kept, len(lines) - len(kept) - silent)


def parse_ratings(reply: ChatReply, numbers: Collection[int]) -> dict[int, int]:
    """Read how relevant each number is, from 0 to 5; numbers that are not rated are absent.

    Raises Unparsable for a reply that rates nothing.
    """
    ratings: dict[int, int] = {}
    for line in usable_lines(reply):
        match = _RATING.match(line.strip("|｜ `*-"))
        if match and int(match[1]) in numbers:
            ratings.setdefault(int(match[1]), min(int(match[2]), _BEST_RATING))
    if not ratings:
        raise Unparsable("The reply rates none of the reports.")
    return ratings


def usable_lines(reply: ChatReply) -> list[str]:
    """Return the lines of a reply that can be whole. Raises Unparsable where there is none."""
    if reply.finish_reason == "filter":
        raise Unparsable("The reply was withheld by the server.")
    lines = [line.strip() for line in reply.text.splitlines() if line.strip(" \t`|-")]
    if reply.finish_reason == "length" and len(lines) > 1:
        lines.pop()
    if not lines:
        raise Unparsable("The reply is empty.")
    return lines


def pack_points(points: Sequence[Point], *, budget_tokens: int) -> list[Point]:
    """Return the best points that fit, the best first; none says what one before said."""
    kept: list[Point] = []
    seen: set[str] = set()
    left = budget_tokens
    for point in sorted(points, key=lambda p: (-p.score, p.numbers, p.text)):
        key, cost = point.text.casefold(), count_tokens(point.line)
        if key not in seen and cost <= left:
            kept.append(point)
            seen.add(key)
            left -= cost
    return kept


def _numbers(text: str) -> list[int]:
    return [int(n) for group in _MARK.findall(text) for n in re.findall(r"\d+", group)]
