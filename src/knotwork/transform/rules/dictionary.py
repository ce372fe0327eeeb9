"""A user's own terms, with types and other names, from a text, CSV or TOML file."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from knotwork.errors import ConfigError
from knotwork.records import content_id
from knotwork.text.names import normal_form
from knotwork.transform.rules.matching import Term, TermMatcher


@dataclass(frozen=True, slots=True)
class Entry:
    """A term, its type where known, and its other names."""

    term: str
    type: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dictionary:
    """Terms that are entities wherever they occur, in any case."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Dictionary:
        """Read a dictionary.

        A line of a text file is ``term<TAB>type<TAB>alias|alias``, of a CSV file the same with
        commas, where all but the term may be left out; ``#`` opens a comment. A TOML file has
        ``[[term]]`` tables with ``name``, ``type`` and ``aliases``. Raises ConfigError.
        """
        try:
            text = path.read_text("utf-8-sig")
        except OSError as error:
            raise ConfigError(
                f"The dictionary `{path}` cannot be read: {error.strerror}.",
                fix="Name a file that is there: index.dictionary",
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"The dictionary `{path}` is not UTF-8: {error}.", fix="Use a UTF-8 text file."
            ) from error
        if path.suffix.lower() == ".toml":
            return cls(tuple(_toml_entries(path, text)))
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        rows = csv.reader(text.splitlines(), delimiter=delimiter, strict=False)
        return cls(tuple(_entry(row) for row in rows if row and not _is_comment(row[0])))

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with any entry."""
        return content_id(*(f"{e.term}\t{e.type}\t{'|'.join(e.aliases)}" for e in self.entries))

    @cached_property
    def matcher(self) -> TermMatcher:
        """Return all terms and aliases, compiled once; a term wins over an equal alias."""
        terms = [Term(entry.term, entry.type) for entry in self.entries]
        terms += [Term(alias, entry.type) for entry in self.entries for alias in entry.aliases]
        return TermMatcher(terms)

    @cached_property
    def full_names(self) -> dict[str, Entry]:
        """Return the entry that each alias stands for, by the alias's normal form."""
        terms = {normal_form(entry.term) for entry in self.entries}
        return {
            form: entry
            for entry in reversed(self.entries)
            for alias in entry.aliases
            if (form := normal_form(alias)) and form not in terms
        }


def _is_comment(cell: str) -> bool:
    return not cell.strip() or cell.lstrip().startswith("#")


def _entry(row: Sequence[str]) -> Entry:
    term, kind, aliases = (*row, "", "")[:3]
    names = tuple(alias.strip() for alias in aliases.split("|") if alias.strip())
    return Entry(term.strip(), kind.strip().upper(), names)


def _toml_entries(path: Path, text: str) -> Iterator[Entry]:
    try:
        tables = tomllib.loads(text).get("term", [])
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"The dictionary `{path}` is not valid TOML: {error}.", fix="Use [[term]] tables."
        ) from error
    if not isinstance(tables, list):
        raise ConfigError(f"`term` in `{path}` is no list of tables.", fix="Use [[term]] tables.")
    for table in tables:
        known = isinstance(table, dict) and table.keys() <= {"name", "type", "aliases"}
        if not known or not isinstance(table.get("name"), str):
            raise ConfigError(
                f"An entry of `{path}` is `{table}`.",
                fix="Valid keys are `name` (text, needed), `type` (text) and `aliases` (list).",
            )
        aliases = table.get("aliases", [])
        yield Entry(table["name"], str(table.get("type", "")).upper(), tuple(map(str, aliases)))
