"""BERT's uncased WordPiece tokenizer with character offsets.

Words are matched greedily against the vocabulary, longest piece first (Devlin et al. 2018,
arXiv:1810.04805).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from knotwork.inference.local_models.windows import Tokens

_MOST_CHARACTERS = 100
"""A longer word is one unknown token, as in the original."""
_REMEMBERED = 100_000
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Characters that are words of their own to BERT."""


class WordPieceTokenizer:
    """Splits text into the ids of a lower-case WordPiece vocabulary (piece to id)."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._begin = vocabulary["[CLS]"]
        self._end = vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._words: dict[str, list[tuple[int, int]]] = {}

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text of any length."""
        ids: list[int] = []
        starts: list[int] = []
        for word, places in _split_words(text):
            for piece_id, offset in self._segment(word):
                ids.append(piece_id)
                starts.append(places[offset])
        return Tokens((self._begin,), ids, starts, (self._end,))

    def _segment(self, word: str) -> list[tuple[int, int]]:
        """Return the ids of a word's pieces, each with the character at which it starts."""
        known = self._words.get(word)
        if known is None:
            if len(self._words) >= _REMEMBERED:
                self._words.clear()
            known = self._words[word] = self._match(word)
        return known

    def _match(self, word: str) -> list[tuple[int, int]]:
        unknown = [(self._unknown, 0)]
        if len(word) > _MOST_CHARACTERS:
            return unknown
        pieces: list[tuple[int, int]] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                piece_id = self._vocabulary.get(mark + word[start:end])
                if piece_id is not None:
                    pieces.append((piece_id, start))
                    start = end
                    break
            else:
                return unknown
        return pieces


def _split_words(text: str) -> list[tuple[str, list[int]]]:
    """Return lower-case words and single marks, with the offset of each of their characters."""
    words: list[tuple[str, list[int]]] = []
    inside = False
    for place, character in enumerate(text):
        kind, shown = _read_character(character)
        if kind == "space":
            inside = False
        elif kind == "alone":
            words.append((shown, [place] * len(shown)))
            inside = False
        elif kind == "letter" and shown:
            if not inside:
                words.append(("", []))
                inside = True
            word, places = words[-1]
            words[-1] = word + shown, places
            places.extend([place] * len(shown))
    return words


@lru_cache(maxsize=1 << 14)
def _read_character(character: str) -> tuple[str, str]:
    """Return "space", "alone", "letter" or "" (to be dropped), and the character in lower case."""
    category = unicodedata.category(character)
    if character in "\t\n\r":
        return "space", ""
    if character == "\N{REPLACEMENT CHARACTER}" or category.startswith("C"):
        return "", ""
    if character.isspace():
        return "space", ""
    bare = "".join(
        part
        for part in unicodedata.normalize("NFD", character)
        if unicodedata.category(part) != "Mn"
    ).lower()
    code = ord(character)
    if any(first <= code <= last for first, last in _IDEOGRAPHS):
        return "alone", bare
    return "alone" if _is_punctuation(character, category) else "letter", bare


def _is_punctuation(character: str, category: str) -> bool:
    symbol = character.isascii() and character.isprintable() and not character.isalnum()
    return symbol or category.startswith("P")
