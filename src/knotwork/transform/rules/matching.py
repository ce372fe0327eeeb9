"""Find known terms in any case as whole words, and Chinese ones as substrings, by hash look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knotwork.text.characters import simplify
from knotwork.text.names import normal_form
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.tokens import HAN, NUMBER, Token, tokenize


class Term(NamedTuple):
    """A term to look for; an occurrence of ``text`` counts as the entity ``form``."""

    text: str
    type: str = ""

    @property
    def form(self) -> str:
        return normal_form(self.text)


class TermMatcher:
    """Many terms compiled into one look-up: the time does not grow with their number."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._by_words: dict[tuple[str, ...], Term] = {}
        self._by_characters: dict[str, Term] = {}
        self._word_lengths: dict[str, list[int]] = {}
        self._character_lengths: dict[str, list[int]] = {}
        for term in terms:
            self._add(term)

    def __bool__(self) -> bool:
        return bool(self._by_words or self._by_characters)

    def _add(self, term: Term) -> None:
        tokens = tokenize(term.text)
        if any(token.kind == HAN for token in tokens):
            key = simplify(term.text).lower()
            if len(key) > 1 and key not in self._by_characters:
                self._by_characters[key] = term
                _add_length(self._character_lengths, key[:2], len(key))
            return
        words = tuple(_words(tokens))
        if words and words not in self._by_words:
            self._by_words[words] = term
            _add_length(self._word_lengths, words[0], len(words))

    def find_words(self, tokens: Sequence[Token]) -> list[Occurrence]:
        """Return the longest terms among the words of a sentence, left to right."""
        if not self._by_words:
            return []
        kept = [token for token in tokens if token.kind <= NUMBER or token.text == "&"]
        words = _words(kept)
        found: list[Occurrence] = []
        behind = 0
        for position, word in enumerate(words):
            lengths = self._word_lengths.get(word)
            if lengths is None or position < behind:
                continue
            for length in lengths:
                term = self._by_words.get(tuple(words[position : position + length]))
                if term is not None and len(words) >= position + length:
                    behind = position + length
                    start, end = kept[position].start, kept[behind - 1].end
                    found.append(Occurrence(start, end, term.form, term.type))
                    break
        return found

    def find_characters(self, simplified: str) -> list[Occurrence]:
        """Return the longest terms inside simplified lower-case text, left to right."""
        if not self._by_characters:
            return []
        found: list[Occurrence] = []
        behind = 0
        for position in range(len(simplified) - 1):
            lengths = self._character_lengths.get(simplified[position : position + 2])
            if lengths is None or position < behind:
                continue
            for length in lengths:
                term = self._by_characters.get(simplified[position : position + length])
                if term is not None:
                    behind = position + length
                    found.append(Occurrence(position, behind, term.form, term.type))
                    break
        return found


def _words(tokens: Iterable[Token]) -> list[str]:
    return [
        token.lower.replace("’", "'").rstrip(".") if token.kind <= NUMBER else "and"
        for token in tokens
        if token.kind <= NUMBER or token.text == "&"
    ]


def _add_length(lengths: dict[str, list[int]], key: str, length: int) -> None:
    known = lengths.setdefault(key, [])
    if length not in known:
        known.append(length)
        known.sort(reverse=True)
