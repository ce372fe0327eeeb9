"""Read a user's dictionary of terms and aliases, and find its terms in text.

English terms match whole words in any case; Chinese terms match substrings. Matching uses hash
look-ups, so its time does not depend on the size of the dictionary.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from knotwork._text.languages import simplify
from knotwork._text.names import normal_form
from knotwork._transform.rules.lexicon import HAN, NUMBER, Occurrence, Token, tokenize
from knotwork.errors import ConfigError
from knotwork.records import content_id


@dataclass(frozen=True, slots=True)
class DictionaryEntry:
    """A term, its type ("" if unknown) and its aliases."""

    term: str
    type: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dictionary:
    """Terms that are entities wherever they occur, in any case."""

    entries: tuple[DictionaryEntry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Dictionary:
        """Read a dictionary.

        A line of a text file is ``term<TAB>type<TAB>alias|alias``; a CSV file has commas instead of
        tabs. Only the term is required, and ``#`` starts a comment. A TOML file has ``[[term]]``
        tables with ``name``, ``type`` and ``aliases``. Raises ConfigError for an invalid file.
        """
        try:
            text = path.read_text("utf-8-sig")
        except OSError as error:
            raise ConfigError(
                f"The dictionary `{path}` cannot be read: {error.strerror}.",
                fix="Check the path in index.dictionary.",
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"The dictionary `{path}` is not UTF-8: {error}.", fix="Use a UTF-8 text file."
            ) from error
        if path.suffix.lower() == ".toml":
            return cls(tuple(_toml_entries(path, text)))
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        rows = csv.reader(text.splitlines(), delimiter=delimiter, strict=False)
        try:
            filled = (row for row in rows if row and row[0].strip())
            return cls(tuple(_entry(row) for row in filled if not row[0].lstrip().startswith("#")))
        except csv.Error as error:
            raise ConfigError(
                f"The dictionary `{path}`, line {rows.line_num}: {error}.",
                fix="Write one term a line; a quotation mark may be missing.",
            ) from error

    @property
    def fingerprint(self) -> str:
        """A hash of all entries."""
        return content_id(*(f"{e.term}\t{e.type}\t{'|'.join(e.aliases)}" for e in self.entries))

    @cached_property
    def matcher(self) -> TermMatcher:
        """The matcher of all terms and aliases; a term takes precedence over an equal alias."""
        terms = [Term(entry.term, entry.type) for entry in self.entries]
        terms += [Term(alias, entry.type) for entry in self.entries for alias in entry.aliases]
        return TermMatcher(terms)

    @cached_property
    def full_names(self) -> dict[str, DictionaryEntry]:
        """The entry of each alias, by the normal form of the alias."""
        terms = {normal_form(entry.term) for entry in self.entries}
        return {
            form: entry
            for entry in reversed(self.entries)
            for alias in entry.aliases
            if (form := normal_form(alias)) and form not in terms
        }


def _entry(row: Sequence[str]) -> DictionaryEntry:
    term, kind, aliases = (*row, "", "")[:3]
    names = tuple(alias.strip() for alias in aliases.split("|") if alias.strip())
    return DictionaryEntry(term.strip(), kind.strip().upper(), names)


def _toml_entries(path: Path, text: str) -> Iterator[DictionaryEntry]:
    try:
        tables = tomllib.loads(text).get("term", [])
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"The dictionary `{path}` is not valid TOML: {error}.", fix="Use [[term]] tables."
        ) from error
    if not isinstance(tables, list):
        raise ConfigError(
            f"`term` in `{path}` is not a list of tables.", fix="Use [[term]] tables."
        )
    for table in tables:
        known = isinstance(table, dict) and table.keys() <= {"name", "type", "aliases"}
        if not known or not isinstance(table.get("name"), str):
            raise ConfigError(
                f"Invalid entry in `{path}`: `{table}`.",
                fix="Valid keys are `name` (text, required), `type` (text) and `aliases` (list).",
            )
        aliases = table.get("aliases", [])
        yield DictionaryEntry(
            table["name"], str(table.get("type", "")).upper(), tuple(map(str, aliases))
        )


class Term(NamedTuple):
    """A term to find; an occurrence of ``text`` counts as the entity with key ``form``."""

    text: str
    type: str = ""

    @property
    def form(self) -> str:
        return normal_form(self.text)


class TermMatcher:
    """Finds many terms at once; the time does not grow with their number.

    Terms in Latin letters are sequences of words, Chinese ones of characters. Each is known by what
    it begins with: a word, or two characters.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._known: dict[tuple[str, ...] | str, Term] = {}
        self._lengths: dict[str, list[int]] = {}
        self._has_words = self._has_characters = False
        for term in terms:
            tokens = tokenize(term.text)
            if any(token.kind == HAN for token in tokens):
                text = simplify(term.text).lower()
                if len(text) > 1:
                    self._has_characters = True
                    self._add(text, text[:2], term)
            elif words := tuple(_words(tokens)):
                self._has_words = True
                self._add(words, words[0], term)

    def __bool__(self) -> bool:
        return bool(self._known)

    @property
    def texts(self) -> list[str]:
        """The terms that can be found, as they are written."""
        return [term.text for term in self._known.values()]

    def _add(self, key: tuple[str, ...] | str, begin: str, term: Term) -> None:
        if key not in self._known:
            self._known[key] = term
            lengths = self._lengths.setdefault(begin, [])
            if len(key) not in lengths:
                lengths.append(len(key))
                lengths.sort(reverse=True)

    def find_words(self, tokens: Sequence[Token]) -> list[Occurrence]:
        """Return the longest terms among the words of a sentence, left to right."""
        if not self._has_words:
            return []
        kept = [token for token in tokens if token.kind <= NUMBER or token.text == "&"]
        words = tuple(_words(kept))
        return [
            Occurrence(kept[first].start, kept[last - 1].end, term.form, term.type)
            for first, last, term in self._longest(words, words)
        ]

    def find_characters(self, simplified: str) -> list[Occurrence]:
        """Return the longest terms inside simplified lower-case text, left to right."""
        if not self._has_characters:
            return []
        pairs = [simplified[place : place + 2] for place in range(len(simplified) - 1)]
        return [
            Occurrence(first, last, term.form, term.type)
            for first, last, term in self._longest(simplified, pairs)
        ]

    def _longest(
        self, whole: tuple[str, ...] | str, begins: Sequence[str]
    ) -> Iterator[tuple[int, int, Term]]:
        behind = 0
        for place, begin in enumerate(begins):
            lengths = self._lengths.get(begin)
            if lengths is None or place < behind:
                continue
            for length in lengths:
                part = whole[place : place + length]
                term = self._known.get(part) if len(part) == length else None
                if term is not None:
                    behind = place + length
                    yield place, behind, term
                    break


def _words(tokens: Iterable[Token]) -> list[str]:
    return [
        token.lower.replace("’", "'").rstrip(".") if token.kind <= NUMBER else "and"
        for token in tokens
        if token.kind <= NUMBER or token.text == "&"
    ]
