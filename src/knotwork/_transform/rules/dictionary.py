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

from knotwork._text.chinese import simplify
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
            return cls(tuple(_entry(row) for row in rows if row and not _is_comment(row[0])))
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


def _is_comment(cell: str) -> bool:
    return not cell.strip() or cell.lstrip().startswith("#")


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
    """Finds many terms at once; the time does not grow with their number."""

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
