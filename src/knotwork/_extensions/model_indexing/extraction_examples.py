"""Examples of a domain for the prompts of extraction: texts, and what is to be read from them.

A file has tables `[[en]]` and `[[zh]]`, one for each example::

    [[en]]
    text = "Pump P-7 feeds boiler B-2."
    entities = [["Pump P-7", "EQUIPMENT", "feeds a boiler"], ["boiler B-2", "EQUIPMENT"]]
    relations = [["Pump P-7", "feeds", "boiler B-2"]]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
from knotwork._extensions.model_indexing.reply_formats import (
    EntityDraft,
    RelationDraft,
    fold_word,
    name_fault,
)
from knotwork._inference.prompt_files import PROMPT_LANGUAGES
from knotwork.errors import ConfigError
from knotwork.records import content_id

_KEYS = ("text", "entities", "relations")
_FORMS = {
    "entities": (2, 3, '["NAME", "TYPE"] or ["NAME", "TYPE", "what the text says of it"]'),
    "relations": (3, 3, '["SOURCE", "VERB PHRASE", "TARGET"]'),
}


@dataclass(frozen=True, slots=True)
class ExtractionExample:
    """A text, and the entities and relations to be read from it, if any."""

    text: str
    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()

    def as_lines(self, *, triplets: bool) -> str:
        """Return the reply that is expected, in lines."""
        lines: list[tuple[str, ...]] = []
        if not triplets:
            lines += [
                ("entity", e.name, e.type, e.summary)[: 4 if e.summary else 3]
                for e in self.entities
            ]
        kind = () if triplets else ("relation",)
        lines += [(*kind, r.source, r.relation, r.target) for r in self.relations]
        return "\n".join(" | ".join(fields) for fields in lines) or "none"

    def under(
        self, types: Iterable[str], relations: Iterable[str]
    ) -> tuple[dict[str, list[str]], dict[str, list[dict[str, str]]]]:
        """Return the names under each of these types, and the pairs under each relation."""
        names: dict[str, list[str]] = {fold_word(kind): [] for kind in types}
        for entity in self.entities:
            names.setdefault(fold_word(entity.type), []).append(entity.name)
        pairs: dict[str, list[dict[str, str]]] = {fold_word(name): [] for name in relations}
        for fact in self.relations:
            ends = {"subject": fact.source, "object": fact.target}
            pairs.setdefault(fold_word(fact.relation), []).append(ends)
        return (
            {kind: names[fold_word(kind)] for kind in types},
            {name: pairs[fold_word(name)] for name in relations},
        )


@dataclass(frozen=True, slots=True)
class ExtractionExamples:
    """The examples of a file; those in the language of a chunk are part of its prompt."""

    en: tuple[ExtractionExample, ...] = ()
    zh: tuple[ExtractionExample, ...] = ()

    @classmethod
    def read(cls, path: Path, schema: ExtractionSchema) -> ExtractionExamples:
        """Return the examples of a file.

        Raises ConfigError, with the number of the example, if the file is not TOML of that form, if
        a name is not in its text, if a relation has an end that is not listed, or if the schema has
        not the type or the relation.
        """
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"The examples `{path}` cannot be read: {error}.",
                fix="Use a TOML file with tables [[en]] and [[zh]].",
            ) from error
        unknown = sorted(data.keys() - set(PROMPT_LANGUAGES))
        if unknown or not data:
            found = f"the unknown table `{unknown[0]}`" if unknown else "no table"
            raise ConfigError(
                f"The examples `{path}` have {found}.", fix="Valid: `[[en]]`, `[[zh]]`."
            )
        found_in = {
            language: tuple(
                _ExampleReader(f"{path}, example {number} of [[{language}]]", schema).read(table)
                for number, table in enumerate(_tables(path, language, data[language]), start=1)
            )
            for language in data
        }
        return cls(**found_in)

    def __bool__(self) -> bool:
        return bool(self.en or self.zh)

    @property
    def fingerprint(self) -> str:
        """A hash of all examples."""
        return content_id(repr(self))

    def in_language(self, language: str) -> tuple[ExtractionExample, ...]:
        """Return the examples for chunks in a language, "en" or "zh"."""
        return self.zh if language == "zh" else self.en


def _tables(path: Path, language: str, value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(table, Mapping) for table in value):
        raise ConfigError(
            f"`{language}` in the examples `{path}` is not a list of tables.",
            fix=f"Begin each example with [[{language}]].",
        )
    return value


class _ExampleReader:
    """Reads one example; ``where`` names it in errors."""

    def __init__(self, where: str, schema: ExtractionSchema) -> None:
        self.where = where
        self.types = schema.all_entity_types
        self.relations = schema.all_relation_types

    def read(self, table: Mapping[str, Any]) -> ExtractionExample:
        unknown = sorted(table.keys() - set(_KEYS))
        if unknown:
            raise self._error(f"has the unknown key `{unknown[0]}`", f"Valid: {_listed(_KEYS)}.")
        text = table.get("text")
        if not isinstance(text, str) or not text.strip():
            raise self._error("has no `text`", 'Write it as text = "…".')
        entities: list[EntityDraft] = []
        for name, kind, *summary in self._rows(table, "entities"):
            self._check_name(text, name)
            self._check_listed("type", kind, self.types)
            entities.append(EntityDraft(name, kind, "".join(summary)))
        names = [entity.name for entity in entities]
        relations: list[RelationDraft] = []
        for source, relation, target in self._rows(table, "relations"):
            for end in (source, target):
                self._check_name(text, end)
                if names and end not in names:
                    raise self._error(
                        f"has a relation of `{end}`, which is not one of its entities",
                        f"Add it to `entities`, or use one of: {_listed(names)}.",
                    )
            self._check_listed("relation", relation, self.relations)
            relations.append(RelationDraft(source, relation, target))
        return ExtractionExample(text.strip(), tuple(entities), tuple(relations))

    def _rows(self, table: Mapping[str, Any], key: str) -> list[list[str]]:
        least, most, form = _FORMS[key]
        rows = table.get(key, [])
        if not isinstance(rows, list):
            raise self._error(f"has `{key}` that are not a list", f"Write each as {form}.")
        for row in rows:
            is_row = isinstance(row, list) and least <= len(row) <= most
            if not is_row or not all(isinstance(item, str) and item.strip() for item in row):
                raise self._error(f"has `{row}` in `{key}`", f"Write each as {form}.")
            if any("|" in item or "\n" in item for item in row):
                raise self._error(f"has a `|` or a line break in `{row}`", "Leave it out.")
        return [[item.strip() for item in row] for row in rows]

    def _check_name(self, text: str, name: str) -> None:
        if fault := name_fault(name):
            raise self._error(f"has the name `{name}`: {fault}", "Use a name of the text.")
        if name not in text:
            raise self._error(
                f"names `{name}`, which is not in its text", "Write names as the text does."
            )

    def _check_listed(self, noun: str, value: str, listed: Iterable[str]) -> None:
        known = {fold_word(name) for name in listed}
        if known and fold_word(value) not in known:
            raise self._error(
                f"has the {noun} `{value}`, which is not in extraction.schema",
                f"Valid: {_listed(listed)}.",
            )

    def _error(self, what: str, fix: str) -> ConfigError:
        return ConfigError(f"{self.where} {what}.", fix=fix)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
