"""Grounding: where the names of a reply stand in the chunk, exactly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from knotwork.records import Chunk, Span
from knotwork.text.characters import HAN_AND_KANA, simplify
from knotwork.text.names import STOP_NAMES, name_candidates, normal_form, without_suffix
from knotwork.text.terms import content_terms

_TOKEN = re.compile(
    rf"[{HAN_AND_KANA}]|[^\W_{HAN_AND_KANA}]+(?:[\u0300-\u036f]+[^\W_{HAN_AND_KANA}]*)*"
)
_ASCII_TOKEN = re.compile("[a-z0-9]+")
_POSSESSIVE = "s"
_APOSTROPHES = "'’ʼ＇`"
_ARTICLES = frozenset({"the", "a", "an"})
_ENDS = frozenset("。！？；!?;|，,：:")
_LONGEST_GAP = 2
"""Signs between two words of a name, such as the dot behind an initial."""


class _Tokens(NamedTuple):
    """The words and Han characters of a text as they are compared, and where they stand."""

    forms: list[str]
    spans: list[tuple[int, int]]

    def places(self, form: str) -> list[int]:
        """Return the places of a word, in order."""
        count = self.forms.count(form)
        places: list[int] = []
        place = -1
        for _ in range(count):
            place = self.forms.index(form, place + 1)
            places.append(place)
        return places


class ChunkText:
    """A chunk's text, in which names are looked for; all offsets are those of the document."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._tokens = _tokens(chunk.text)
        self._sentences = chunk.sentences or (chunk.span,)
        self._terms: dict[int, set[str]] = {}
        self._holders: dict[tuple[Span, ...], list[int]] = {}

    def find(self, name: str) -> tuple[Span, ...]:
        """Return where a name stands, in order and without overlap; () where it does not.

        Case, width, accents, punctuation between words, a possessive ending, a leading article, a
        suffix in brackets, and the script of Chinese characters make no difference.
        """
        found = self._sequence(name)
        if not found and (bare := without_suffix(name)) != name:
            found = self._sequence(bare)
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
        name = without_suffix(name)
        tokens = self._tokens
        words = [(f, s) for f, (s, _) in zip(*_tokens(name), strict=True) if len(f) > 2]
        if len(words) < 2:
            return ()
        offset, text = self.chunk.span.start, self.chunk.text
        for form, start in (words[-1], words[0]):
            if form in STOP_NAMES or not name[start].isupper():
                continue
            places = [tokens.spans[place] for place in tokens.places(form)]
            spans = [Span(s + offset, e + offset) for s, e in places if text[s].isupper()]
            if spans:
                return tuple(spans)
        return ()

    def best_sentence(self, ends: Iterable[tuple[Span, ...]], words: str) -> Span | None:
        """Return the sentence that supports a fact best: it names both ends, then shares words.

        None where no sentence names any end. ``ends`` are the spans of source and target.
        """
        named: dict[int, int] = {}
        for spans in ends:
            for index in self._sentences_of(spans):
                named[index] = named.get(index, 0) + 1
        if not named:
            return None
        most = max(named.values())
        best = [index for index, count in sorted(named.items()) if count == most]
        if len(best) > 1:  # words are compared only where that decides
            wanted = set(content_terms(words))
            shared = [len(wanted & self._terms_of(index)) if wanted else 0 for index in best]
            return self._sentences[best[shared.index(max(shared))]]
        return self._sentences[best[0]]

    def surface(self, span: Span) -> str:
        """Return the text of a span on one line."""
        offset = self.chunk.span.start
        return " ".join(self.chunk.text[span.start - offset : span.end - offset].split())

    @cached_property
    def _forms(self) -> dict[str, Span]:
        """Every normal form of a name that may stand in the text: "u.s." and "us" are one."""
        return dict(name_candidates(self.chunk.text))

    def _sentences_of(self, spans: tuple[Span, ...]) -> list[int]:
        """Return the places of the sentences that hold any of the spans."""
        held = self._holders.get(spans)
        if held is None:
            held = self._holders[spans] = [
                index
                for index, (start, end) in enumerate(self._sentences)
                if any(start <= span.start and span.end <= end for span in spans)
            ]
        return held

    def _terms_of(self, index: int) -> set[str]:
        terms = self._terms.get(index)
        if terms is None:
            whole = not self.chunk.sentences
            text = self.chunk.text if whole else self.chunk.sentence_text(index)
            terms = self._terms[index] = set(content_terms(text))
        return terms

    def _sequence(self, name: str) -> list[Span]:
        if name.rstrip().endswith(("+", "#")):  # C++ is no C
            return []
        wanted = _forms(name)
        while len(wanted) > 1 and wanted[0] in _ARTICLES:
            del wanted[0]
        if not wanted:
            return []
        forms, places = self._tokens
        closing = _foreign_ends(name)
        spans: list[Span] = []
        behind = 0
        for first in self._tokens.places(wanted[0]):
            last = first + len(wanted)
            if first < behind or forms[first:last] != wanted:
                continue
            if self._is_close(first, last, closing):
                spans.append(Span(places[first][0], places[last - 1][1]))
                behind = last
        return spans

    def _is_close(self, first: int, last: int, closing: frozenset[str]) -> bool:
        """Tell whether words follow each other within a sentence; Han characters stand close."""
        forms, places = self._tokens
        for place in range(first, last - 1):
            gap = self.chunk.text[places[place][1] : places[place + 1][0]]
            if gap in {"", " "}:
                continue
            signs = gap.strip(" \t\r\n-")  # a line break inside a name is only a wrapped line
            if "\n\n" in gap or len(signs) > _LONGEST_GAP or not closing.isdisjoint(signs):
                return False
            apart = signs.strip("·•‧・･")
            if apart and _is_han(forms[place]) and _is_han(forms[place + 1]):
                return False
        return True


def _tokens(text: str) -> _Tokens:
    is_plain = text.isascii()
    pattern, read = (_ASCII_TOKEN, text.lower()) if is_plain else (_TOKEN, text)
    spans = [match.span() for match in pattern.finditer(read)]
    forms = [read[start:end] for start, end in spans]
    if not is_plain:
        forms = list(map(_fold, forms))
    if _POSSESSIVE in forms or "" in forms:
        kept = [
            place
            for place, (form, (start, _)) in enumerate(zip(forms, spans, strict=True))
            if form and not (form == _POSSESSIVE and start and text[start - 1] in _APOSTROPHES)
        ]
        return _Tokens([forms[place] for place in kept], [spans[place] for place in kept])
    return _Tokens(forms, spans)


def _forms(text: str) -> list[str]:
    """Return the words of a text alone."""
    if text.isascii() and "'" not in text and "`" not in text:
        return _ASCII_TOKEN.findall(text.lower())
    return _tokens(text).forms


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
