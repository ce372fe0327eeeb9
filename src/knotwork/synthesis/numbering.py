"""Numbers of passages that are not all shown: those of facts and reports lead to sentences too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from knotwork.records import Chunk, Span, Support
from knotwork.stores.base import Store
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.packing import Passage, make_harmless, sentences_of

_LEADING = re.compile(r"(?:\[\d+\])+")
_DIGITS = re.compile(r"\d+")
MOST_MARKS = 2
"""Passages that one line names: a model copies few numbers more surely than many."""


class Numbering:
    """Gives each chunk that a line rests on one number, the same in every line of a question.

    Passages that are ``shown`` keep theirs. A number leads to the sentences named for it, so that
    a citation is as exact as that of a passage which was read whole.
    """

    def __init__(self, store: Store, shown: Sequence[Passage] = ()) -> None:
        self._store = store
        self._shown = {passage.chunk.id: passage for passage in shown}
        self._numbers = {passage.chunk.id: passage.number for passage in shown}
        self._spans = {passage.chunk.id: list(passage.spans) for passage in shown}
        self._chunks: dict[str, Chunk] = {passage.chunk.id: passage.chunk for passage in shown}

    def read(self, supports: Iterable[Support]) -> None:
        """Read the chunks of supports at once, before they are marked one by one."""
        missing = {support.chunk_id for support in supports} - self._chunks.keys()
        if missing:
            self._chunks.update(self._store.documents.chunks(missing))

    def mark(self, supports: Sequence[Support]) -> str:
        """Return "[3][7]" for what a line rests on; "" where nothing of it is in the store."""
        self.read(supports)
        numbers: list[int] = []
        for support in supports:
            chunk = self._chunks.get(support.chunk_id)
            spans = _covered(chunk, support.span) if chunk else []
            if not spans or len(numbers) >= MOST_MARKS:
                continue
            known = self._spans.setdefault(support.chunk_id, [])
            known += [span for span in spans if span not in known]
            number = self._numbers.setdefault(support.chunk_id, len(self._numbers) + 1)
            if number not in numbers:
                numbers.append(number)
        return "".join(f"[{number}]" for number in numbers)

    def adopt(self, passage: Passage) -> int:
        """Return the number here of a passage that has another one elsewhere."""
        identifier = passage.chunk.id
        self._chunks.setdefault(identifier, passage.chunk)
        known = self._spans.setdefault(identifier, [])
        known += [span for span in passage.spans if span not in known]
        return self._numbers.setdefault(identifier, len(self._numbers) + 1)

    @staticmethod
    def numbers_in(lines: Iterable[str]) -> frozenset[int]:
        """Return the numbers that lines begin with."""
        marks = (_LEADING.match(line) for line in lines)
        return frozenset(int(n) for mark in marks if mark for n in _DIGITS.findall(mark[0]))

    def passages(self, used: Collection[int] | None = None) -> list[Passage]:
        """Return what the numbers lead to, ascending; those ``used`` where these are given."""
        found = []
        for chunk_id, number in self._numbers.items():
            if used is not None and number not in used:
                continue
            shown, chunk = self._shown.get(chunk_id), self._chunks[chunk_id]
            spans = tuple(sorted(self._spans[chunk_id]))
            best = shown.best if shown else self._spans[chunk_id][0]
            text = shown.text if shown else " ".join(_text(chunk, span) for span in spans)
            found.append(Passage(number, chunk, spans, text, best))
        return sorted(found, key=lambda passage: passage.number)


def make_line(mark: str, text: str) -> str:
    """Return a line of a prompt: its numbers, then what it says, on one line, harmless."""
    return f"{mark} {make_harmless(show_sentence(text))}"


def _covered(chunk: Chunk, wanted: Span) -> list[Span]:
    """Return the sentences of a chunk that a span touches."""
    return [s for s in sentences_of(chunk) if s.start < wanted.end and wanted.start < s.end]


def _text(chunk: Chunk, span: Span) -> str:
    start = chunk.span.start
    return chunk.text[span.start - start : span.end - start]
