"""Sentences with their sizes: what chunks are filled with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from knotwork.indexing.splitters.tree import Region
from knotwork.records import Span
from knotwork.text.sentences import character_boundary, split_sentences
from knotwork.text.tokens import token_starts
from knotwork.text.wrapping import wrapping_width


class Unit(NamedTuple):
    """A sentence, or the part of one that is longer than a chunk may be."""

    span: Span
    tokens: int
    region: int
    heading: bool


def region_units(text: str, regions: Sequence[Region], *, longest: int) -> list[list[Unit]]:
    """Return the units of each region, none of more than ``longest`` tokens."""
    starts = token_starts(text)
    width = wrapping_width(text)
    units: list[list[Unit]] = []
    for index, region in enumerate(regions):
        own: list[Unit] = []
        for low, high in ((region.start, region.body), (region.body, region.end)):
            for span in split_sentences(text[low:high], start=low, wrapped_at=width):
                own.extend(
                    Unit(piece, tokens, index, heading=high == region.body)
                    for piece, tokens in _pieces_of(text, span, starts, longest)
                )
        units.append(own)
    return units


def _pieces_of(
    text: str, span: Span, starts: Sequence[int], longest: int
) -> Iterator[tuple[Span, int]]:
    """Yield a sentence with its size, or its parts where it is too long."""
    low = bisect_left(starts, span.start)
    high = bisect_left(starts, span.end, lo=low)
    if high - low <= longest:
        yield span, max(1, high - low)
    else:
        yield from _pieces(text, span, starts[low:high], longest)


def _pieces(
    text: str, span: Span, starts: Sequence[int], longest: int
) -> Iterator[tuple[Span, int]]:
    """Cut a sentence at token starts, at white space where that is near."""
    first, begin = 0, span.start
    while len(starts) - first > longest:
        last = first + longest
        nearest = max(first + 1, last - longest // 5)
        at_space = (i for i in range(last, nearest - 1, -1) if text[starts[i] - 1].isspace())
        last = next(at_space, last)
        cut = character_boundary(text, begin + 1, starts[last])
        last = bisect_left(starts, cut, lo=first)
        end = begin + len(text[begin:cut].rstrip())
        if end > begin:
            yield Span(begin, end), max(1, last - first)
        begin = span.end - len(text[cut : span.end].lstrip())
        first = max(last, first + 1)
    if begin < span.end:
        yield Span(begin, span.end), max(1, len(starts) - first)
