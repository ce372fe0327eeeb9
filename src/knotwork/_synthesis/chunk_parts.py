"""Divide a chunk into its blocks, and write those that a prompt shows as Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from knotwork._inference.prompt_material import escape_passage
from knotwork._synthesis.sentence_selection import is_title
from knotwork._text.block_index import BlockIndex
from knotwork.records import Block, BlockKind, Chunk, Span

GAP = "…"
"""A line, or a word between sentences, in place of text that is left out."""

_WHOLE = (BlockKind.LIST, BlockKind.TABLE, BlockKind.DEFINITION)
"""Blocks whose parts belong together."""
_BLANK_LINE = re.compile(r"\n\s*\n")
_DELIMITER_ROW = re.compile(r"\s*\|[\s|:\-]+\|[ \t]*(?=\n|$)")
_FENCE = re.compile(r"```|~~~")
_MARKS = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?")
"""What is before a block on its line: an indent, and the marks of quotes and items."""
_LONGEST_HEAD = 200
"""Most characters of a text before the chunk that introduces what it begins with."""


def sentences_of(chunk: Chunk) -> tuple[Span, ...]:
    """Return the sentences of a chunk, or its whole span if they are unknown."""
    return chunk.sentences or (chunk.span,)


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """The smallest part of a chunk that is shown whole: a paragraph, an item, a row, code.

    ``sentences`` are positions. ``around`` are the blocks around it, outermost first. ``needs`` are
    the sentences that it cannot be understood without: lead-in, header, term, parent item.
    """

    sentences: range
    around: tuple[Block, ...]
    needs: frozenset[int] = frozenset()

    @property
    def kind(self) -> BlockKind:
        return self.around[-1].kind if self.around else BlockKind.PARAGRAPH


class ChunkParts:
    """The parts of a chunk in reading order; sentences that repeat a title are left out."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.sentences = [
            span
            for span in sentences_of(chunk)
            if chunk.text_at(span).strip() and not is_title(chunk.text_at(span), chunk)
        ]
        self._index = BlockIndex(b for b in chunk.blocks if b.kind is not BlockKind.SECTION)
        around = [tuple(self._index.around(span)) for span in self.sentences]
        self.parts = [
            ChunkPart(places, around[places[0]], self._needs(places[0], around))
            for places in self._divide(around)
        ]

    def groups(self) -> Iterator[set[int]]:
        """Yield the sentences of each list, table and definition, with what introduces it."""
        for block in self._index.blocks:
            if block.kind in _WHOLE:
                inside = [part for part in self.parts if block in part.around]
                yield {place for part in inside for place in (*part.sentences, *part.needs)}

    def write(self, chosen: Collection[int]) -> str:
        """Return the chosen sentences as the lines of their blocks, escaped for a prompt."""
        lines: list[str] = []
        opened: set[Block] = set()
        last = -1
        for part in self.parts:
            places = [place for place in part.sentences if place in chosen]
            if not places:
                continue
            if lines and places[0] > last + 1:
                lines.append(GAP)
            for block in part.around:
                if block not in opened:
                    opened.add(block)
                    lines += self._heads(block)
            lines.append(self._write_part(part, places))
            last = places[-1]
        return escape_passage("\n".join(lines))

    def _divide(self, around: Sequence[tuple[Block, ...]]) -> Iterator[range]:
        """Yield the runs of sentences in one innermost block; without one, in one paragraph."""
        first = 0
        for place in range(1, len(around) + 1):
            if place < len(around) and around[place] == around[first]:
                between = Span(self.sentences[place - 1].end, self.sentences[place].start)
                is_cut = _BLANK_LINE.search(self.chunk.text_at(between)) is not None
                if around[place] or not is_cut:
                    continue
            if place > first:
                yield range(first, place)
            first = place

    def _needs(self, first: int, around: Sequence[tuple[Block, ...]]) -> frozenset[int]:
        needed: set[int] = set()
        for block in around[first]:
            inside = next(place for place, blocks in enumerate(around) if block in blocks)
            if inside and self._is_lead(inside - 1, block):
                needed.add(inside - 1)
            if inside < first and around[inside][-1] == block:  # header, term or parent item
                needed.add(inside)
        return frozenset(needed)

    def _is_lead(self, place: int, block: Block) -> bool:
        text = " ".join(self.chunk.text_at(self.sentences[place]).split())
        return bool(block.lead) and (text in block.lead or block.lead in text)

    def _heads(self, block: Block) -> Iterator[str]:
        """Yield the lines that introduce a block and are before the chunk."""
        start = block.span.start - self.chunk.span.start
        titles = (*self.chunk.headings, self.chunk.document_title)
        before = " ".join((*titles, self.chunk.text[: max(start, 0)])).split()
        if " ".join(block.lead.split()) not in " ".join(before):
            yield _shorten(block.lead)
        if start >= 0 or not block.label:
            return
        if block.kind is BlockKind.TABLE:
            yield f"| {_shorten(block.label)} |"
            yield "|" + " --- |" * (block.label.count(" | ") + 1)
        elif block.kind is not BlockKind.CODE:
            yield _shorten(block.label)

    def _write_part(self, part: ChunkPart, places: Sequence[int]) -> str:
        if part.kind is BlockKind.CODE:
            return self._write_code(part, places)
        if len(places) == len(part.sentences):
            text = self._lines(part.sentences[0], part.sentences[-1])
            if part.kind is BlockKind.TABLE:
                end = self.sentences[places[-1]].end - self.chunk.span.start
                rule = _DELIMITER_ROW.match(self.chunk.text, end)
                text += rule[0].rstrip() if rule else ""
            return text
        text = ""
        for run in _runs(places):
            shown = self._lines(run[0], run[-1])
            if run[0] > part.sentences[0]:
                text += f"{GAP} " if not text else f" {GAP} "
            text += shown if not text else shown.lstrip()
        return text

    def _write_code(self, part: ChunkPart, places: Sequence[int]) -> str:
        block = part.around[-1]
        if len(places) == len(part.sentences):
            start = max(block.span.start - self.chunk.span.start, 0)
            line = self.chunk.text.rfind("\n", 0, start) + 1
            start = line if _MARKS.fullmatch(self.chunk.text[line:start]) else start
            text = self.chunk.text[start : block.span.end - self.chunk.span.start]
        else:
            text = f"\n{GAP}\n".join(self._lines(run[0], run[-1]) for run in _runs(places))
        lines = text.strip("\n").split("\n")
        if not _FENCE.search(lines[0]):
            lines.insert(0, "```")
        if len(lines) == 1 or not _FENCE.search(lines[-1]):
            lines.append("```")
        return "\n".join(lines)

    def _lines(self, first: int, last: int) -> str:
        """Return sentences with the marks and indents of the lines that they begin and end."""
        text, offset = self.chunk.text, self.chunk.span.start
        start, end = self.sentences[first].start - offset, self.sentences[last].end - offset
        before = self.sentences[first - 1].end - offset if first else 0
        after = self.sentences[last + 1].start - offset if last + 1 < len(self.sentences) else None
        line = text.rfind("\n", 0, start) + 1
        start = line if line >= before else start
        line = text.find("\n", end)
        line = line if line >= 0 else len(text)
        end = line if after is None or line <= after else end
        return text[start:end].rstrip()


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Return runs of consecutive positions."""
    by_gap = groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0])
    return [[place for _, place in run] for _, run in by_gap]


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_HEAD else f"{plain[:_LONGEST_HEAD]}{GAP}"
