"""Misspelt words of a question: in no dictionary, in no document, one slip from a word that is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from knotwork.stores.base import Store
from knotwork.text.languages import detect_language
from knotwork.text.terms import terms

if TYPE_CHECKING:
    from spellchecker import SpellChecker

FEWEST_LETTERS = 5
"""Shorter words are too often one letter away from another word."""
FEWEST_CHUNKS = 2
"""In how many chunks a word stands that is taken for the one meant, at least."""
LANGUAGES = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""Those that `detect_language` names and the dictionaries of pyspellchecker have."""
_WORD = re.compile(r"(?<![^\W_])(?<!['’])[^\W\d_]+(?![^\W_])(?!['’]\w)")


def correct_spelling(text: str, store: Store, *, names: bool = False) -> tuple[str, dict[str, str]]:
    """Return the text with misspelt words put right, and which: {word as written: word meant}.

    A word that neither the index nor the dictionary of the language has is taken for the commonest
    word of the index that is one slip away (a letter left out, added, changed, or two neighbours
    swapped: Damerau, CACM 1964), if there is one. Words with capitals are left as they are unless
    ``names`` is True: an unknown name is more often a stranger than a slip.
    """
    index = store.texts("chunk")
    words = [
        word for word in dict.fromkeys(_words(text, names=names)) if len(word) >= FEWEST_LETTERS
    ]
    term_of = {word: found[0] for word in words if len(found := terms(word)) == 1}
    held = index.document_frequencies(set(term_of.values()))
    unknown = [word for word, term in term_of.items() if term not in held]
    language = detect_language(text)
    if not unknown or language not in LANGUAGES:
        return text, {}
    dictionary = _dictionary(language)
    corrections = {
        word: meant
        for word in unknown
        if word.lower() not in dictionary and (meant := _meant(word, dictionary, store))
    }
    return _WORD.sub(lambda found: corrections.get(found[0], found[0]), text), corrections


def _words(text: str, *, names: bool) -> Iterator[str]:
    """Yield the words; without ``names`` only those without capitals, but for that of the first."""
    for found in _WORD.finditer(text):
        if names or found[0][found.start() == 0 :].islower():
            yield found[0]


def _meant(word: str, dictionary: SpellChecker, store: Store) -> str:
    """Return the commonest word of the index that is one slip away, or nothing."""
    slips = dictionary.edit_distance_1(word.lower())
    found = {slip: own[0] for slip in slips if len(own := terms(slip)) == 1}
    # Other forms of a word than the plain one only count if they exist: a stem fits many non-words.
    real = {slip: term for slip, term in found.items() if slip == term or slip in dictionary}
    held = store.texts("chunk").document_frequencies(set(real.values()))
    best = max(
        real, key=lambda slip: (held.get(real[slip], 0), slip in dictionary, slip), default=""
    )
    if not best or held.get(real[best], 0) < FEWEST_CHUNKS:
        return ""
    return best.capitalize() if word[0].isupper() else best


@cache
def _dictionary(language: str) -> SpellChecker:
    from spellchecker import SpellChecker

    return SpellChecker(language=language, distance=1)
