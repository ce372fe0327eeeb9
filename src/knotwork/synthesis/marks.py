"""Reading a reply while it comes: its marks [n] become those of the answer, in order of appearance.

What a model writes as [7] leads to a passage of the prompt; what a reader sees as [1] leads to the
sentence of that passage which supports the statement before it. Both are known as soon as the mark
is there, so that a streamed answer needs no correction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from knotwork.records import Span
from knotwork.synthesis.citing import gap_before_mark, gap_between
from knotwork.synthesis.packing import Passage
from knotwork.synthesis.selection import Selected
from knotwork.synthesis.support import find_support
from knotwork.text.sentences import split_sentences
from knotwork.text.terms import content_terms

_OPEN, _CLOSE, _BETWEEN = "[【［", "]】］", r"\s,，、;；\-–"
_WORD = r"(?:passages?|sources?|段落?|来源|第)"
_MARK = re.compile(
    rf"[ \t]*[{re.escape(_OPEN)}]\s*(?:{_WORD}\s*)?"
    rf"(\d(?:[\d{_BETWEEN}]|{_WORD})*)段?[{re.escape(_CLOSE)}]",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(rf"[ \t]*(?:[{re.escape(_OPEN)}][^{re.escape(_OPEN + _CLOSE)}\n]*)?$")
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_LONGEST_RANGE = 20
_FEWEST_TERMS = 2


class ReplyReader:
    """Rewrites the marks of a reply that is fed in pieces of any size.

    After `finish`, ``plain`` is the reply without marks, ``text`` the one with those of the answer,
    ``cited`` are the sentences they lead to, ``unknown_numbers`` those that lead nowhere.
    """

    def __init__(self, passages: Mapping[int, Passage]) -> None:
        self._passages = passages
        self._pending = ""
        self._numbers: dict[tuple[str, Span], int] = {}
        self._mark_places: list[int] = []
        self._statement = ""
        self._just_marked: list[int] = []
        self.cited: list[Selected] = []
        self.unknown_numbers: list[int] = []
        self.plain = ""
        self.text = ""

    def feed(self, piece: str) -> str:
        """Take a piece of the reply; return what can be shown of it, and of pieces before it."""
        self._pending += piece
        shown = ""
        while (match := _MARK.search(self._pending)) is not None:
            shown += self._say(self._pending[: match.start()])
            shown += self._cite(match)
            self._pending = self._pending[match.end() :]
        held = _UNFINISHED.search(self._pending)
        cut = held.start() if held else len(self._pending)
        shown += self._say(self._pending[:cut])
        self._pending = self._pending[cut:]
        self.text += shown
        return shown

    def finish(self) -> str:
        """Return what is left to show."""
        shown = self._say(self._pending.rstrip())
        self._pending = ""
        self.text += shown
        return shown

    def sentences(self) -> Iterator[tuple[str, bool]]:
        """Yield each sentence of the reply, and whether a mark that leads somewhere follows it."""
        spans = split_sentences(self.plain)
        ends = [*(span.start for span in spans[1:]), len(self.plain) + 1][: len(spans)]
        for (start, end), until in zip(spans, ends, strict=True):
            yield self.plain[start:end], any(start < p <= until for p in self._mark_places)

    def _say(self, text: str) -> str:
        if not text:
            return ""
        if self._just_marked and not gap_between(self.plain[-4:], text.lstrip(" \t")):
            text = text.lstrip(" \t")
        # A stop right before the next word is no end of a sentence; the mark stood between them.
        if self._just_marked and self.plain[-1:] in ".!?" and text[0].isalnum():
            self.plain += " "
        self._just_marked = []
        self.plain += text
        return text

    def _cite(self, match: re.Match[str]) -> str:
        """Return the marks of the answer in place of a mark of the reply."""
        found = list(self._read_numbers(match[1]))
        valid = [number for number in found if number in self._passages]
        self.unknown_numbers += [number for number in found if number not in self._passages]
        if not valid:
            return ""
        place = len(self.plain)
        if not self._mark_places or self._mark_places[-1] != place:
            self._statement = self._last_statement()
            self._mark_places.append(place)
        shown = ""
        for number in valid:
            own = self._number(number)
            if own not in self._just_marked:
                gap = "" if self._just_marked else self._gap()
                shown += f"{gap}[{own}]"
                self._just_marked.append(own)
        return shown

    def _gap(self) -> str:
        before = self.plain[-1:]
        return "" if not before or before.isspace() else gap_before_mark(self.plain[-4:])

    def _number(self, number: int) -> int:
        support = find_support(self._statement, self._passages[number])
        key = (support.chunk.document_id, support.span)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.cited.append(support)
        return self._numbers[key]

    def _last_statement(self) -> str:
        """Return what the mark stands behind: a sentence, or its part since the mark before."""
        spans = split_sentences(self.plain)
        start = spans[-1].start if spans else 0
        before = max((place for place in self._mark_places if place > start), default=start)
        part = self.plain[before:]
        return part if len(content_terms(part)) >= _FEWEST_TERMS else self.plain[start:]

    def _read_numbers(self, text: str) -> Iterator[int]:
        for first, last in _NUMBERS.findall(text):
            low = int(first)
            high = int(last) if last else low
            if low < high <= low + _LONGEST_RANGE:
                yield from range(low, high + 1)
            else:
                yield low
                if high != low:
                    yield high
