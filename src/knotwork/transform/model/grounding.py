"""Grounding: where the names of a reply stand in the chunk, exactly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from knotwork.records import Chunk, Span
from knotwork.text.characters import HAN_AND_KANA, simplify
from knotwork.text.names import STOP_NAMES, name_candidates, normal_form, without_suffix
from knotwork.text.terms import content_terms

_TOKEN = re.compile(
    rf"[{HAN_AND_KANA}]|[^\W_{HAN_AND_KANA}]+(?:[\u0300-\u036f]+[^\W_{HAN_AND_KANA}]*)*"
)
_POSSESSIVE = frozenset({"s"})
_APOSTROPHES = "'’ʼ＇`"
_ARTICLES = frozenset({"the", "a", "an"})
_ENDS = frozenset("。！？；!?;|，,：:")
_LONGEST_GAP = 2
"""Signs between two words of a name, such as the dot behind an initial."""


class _Token(NamedTuple):
    """A word or a Han character as it is compared, and where it stands."""

    form: str
    start: int
    end: int


class ChunkText:
    """A chunk's text, in which names are looked for; all offsets are those of the document."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._tokens = list(_tokens(chunk.text))
        self._places: dict[str, list[int]] = {}
        for place, token in enumerate(self._tokens):
            self._places.setdefault(token.form, []).append(place)

    def find(self, name: str) -> tuple[Span, ...]:
        """Return where a name stands, in order and without overlap; () where it does not.

        Case, width, accents, punctuation between words, a possessive ending, a leading article, a
        suffix in brackets, and the script of Chinese characters make no difference.
        """
        found = self._sequence(name) or self._sequence(without_suffix(name))
        if not found:
            span = self._forms.get(normal_form(name))
            whole = span and _foreign_ends(name).isdisjoint(self.chunk.text[span.start : span.end])
            found = [span] if span and whole else []
        offset = self.chunk.span.start
        return tuple(Span(span.start + offset, span.end + offset) for span in found)

    def find_part(self, name: str) -> tuple[Span, ...]:
        """Return where a part of a longer name stands alone: "Scrooge" of "Ebenezer Scrooge".

        A part is the last word of a name, or its first, if the text writes it with a capital too.
        """
        words = [t for t in _tokens(without_suffix(name)) if len(t.form) > 2]
        if len(words) < 2 or any(_is_han(word.form) for word in words):
            return ()
        offset, text = self.chunk.span.start, self.chunk.text
        for word in (words[-1], words[0]):
            if word.form in STOP_NAMES or not name[word.start].isupper():
                continue
            places = [self._tokens[place] for place in self._places.get(word.form, ())]
            spans = [Span(t.start, t.end) for t in places if text[t.start].isupper()]
            if spans:
                return tuple(Span(s.start + offset, s.end + offset) for s in spans)
        return ()

    def best_sentence(self, ends: Iterable[tuple[Span, ...]], words: str) -> Span | None:
        """Return the sentence that supports a fact best: it names both ends, then shares words.

        None where no sentence names any end. ``ends`` are the spans of source and target.
        """
        spans_of_ends = list(ends)
        wanted = set(content_terms(words))
        best: tuple[int, int, int] = (0, 0, 0)
        chosen: Span | None = None
        for index, sentence in enumerate(self.chunk.sentences or (self.chunk.span,)):
            named = sum(any(_inside(s, sentence) for s in spans) for spans in spans_of_ends)
            if not named:
                continue
            shared = len(wanted & self._terms_of(index)) if wanted else 0
            if (named, shared, -index) > best or chosen is None:
                best, chosen = (named, shared, -index), sentence
        return chosen

    def surface(self, span: Span) -> str:
        """Return the text of a span on one line."""
        offset = self.chunk.span.start
        return " ".join(self.chunk.text[span.start - offset : span.end - offset].split())

    @cached_property
    def _forms(self) -> dict[str, Span]:
        """Every normal form of a name that may stand in the text: "u.s." and "us" are one."""
        return dict(name_candidates(self.chunk.text))

    def _terms_of(self, index: int) -> set[str]:
        if not self.chunk.sentences:
            return set(content_terms(self.chunk.text))
        return set(content_terms(self.chunk.sentence_text(index)))

    def _sequence(self, name: str) -> list[Span]:
        if name.rstrip().endswith(("+", "#")):  # C++ is no C
            return []
        wanted = [token.form for token in _tokens(name)]
        while len(wanted) > 1 and wanted[0] in _ARTICLES:
            del wanted[0]
        if not wanted:
            return []
        ends = _foreign_ends(name)
        spans: list[Span] = []
        behind = 0
        for first in self._places.get(wanted[0], ()):
            last = first + len(wanted)
            window = self._tokens[first:last]
            if first < behind or [token.form for token in window] != wanted:
                continue
            if self._is_close(window, ends):
                spans.append(Span(window[0].start, window[-1].end))
                behind = last
        return spans

    def _is_close(self, window: list[_Token], ends: frozenset[str]) -> bool:
        """Tell whether words follow each other within a sentence; Han characters stand close."""
        for before, after in pairwise(window):
            gap = self.chunk.text[before.end : after.start]
            signs = gap.strip(" \t\r\n-")  # a line break inside a name is only a wrapped line
            if "\n\n" in gap or len(signs) > _LONGEST_GAP or not ends.isdisjoint(signs):
                return False
            if _is_han(before.form) and _is_han(after.form) and signs.strip("·•‧・･"):
                return False
        return True


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        form = _fold(match[0])
        start, end = match.span()
        if form in _POSSESSIVE and start and text[start - 1] in _APOSTROPHES:
            continue
        if form:
            yield _Token(form, start, end)


@lru_cache(maxsize=65_536)
def _fold(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold()
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFD", simplify(folded))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not unicodedata.combining(c))
    )


def _foreign_ends(name: str) -> frozenset[str]:
    """Return the signs that end a name, but for those that it has itself: Rochester, New York."""
    return _ENDS.difference(name)


def _is_han(form: str) -> bool:
    return len(form) == 1 and form >= "\u3040"


def _inside(span: Span, sentence: Span) -> bool:
    return sentence.start <= span.start and span.end <= sentence.end
