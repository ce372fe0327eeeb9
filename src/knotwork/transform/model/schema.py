"""Schemas: which types of entities and relations are wanted, given as data."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from knotwork.errors import ConfigError
from knotwork.records import content_id
from knotwork.text.names import normal_form
from knotwork.transform.model.cleaning import fold
from knotwork.transform.model.drafts import Complaint, Draft, EntityDraft, RelationDraft
from knotwork.transform.model.prompts import Prompts


class Pattern(NamedTuple):
    """Which types a relation may join."""

    source: str
    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class ExtractionSchema:
    """The types that are wanted; what is left empty is free.

    ``strict`` drops records of other types; else they stay, with the type or relation as said.
    Types and relations are compared without regard to case, spaces and underscores.
    """

    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    strict: bool = True

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the schema of a TOML file with the keys of `from_mapping`. Raises ConfigError."""
        try:
            return cls.from_mapping(tomllib.loads(path.read_text("utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(
                f"The schema `{path}` cannot be read: {error}.", fix="Give a TOML file."
            ) from error

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Return the schema of ``entity_types``, ``relation_types``, ``patterns`` and ``strict``.

        A pattern is a list of source type, relation and target type. Raises ConfigError.
        """
        unknown = sorted(data.keys() - {"entity_types", "relation_types", "patterns", "strict"})
        if unknown:
            raise ConfigError(
                f"Unknown key `{unknown[0]}` in the schema.",
                fix="Valid: `entity_types`, `relation_types`, `patterns`, `strict`.",
            )
        patterns = data.get("patterns", ())
        if not isinstance(patterns, list | tuple) or not all(
            len(_texts("patterns", p)) == 3 for p in patterns
        ):
            raise ConfigError(
                "A pattern of the schema is not three texts.",
                fix='Write it as ["PERSON", "works for", "ORGANIZATION"].',
            )
        strict = data.get("strict", True)
        if not isinstance(strict, bool):
            raise ConfigError(f"`strict` of the schema is `{strict}`.", fix="Use true or false.")
        return cls(
            _texts("entity_types", data.get("entity_types", ())),
            _texts("relation_types", data.get("relation_types", ())),
            tuple(Pattern(*_texts("patterns", pattern)) for pattern in patterns),
            strict,
        )

    def __bool__(self) -> bool:
        return bool(self.entity_types or self.relation_types or self.patterns)

    @property
    def fingerprint(self) -> str:
        """A hash that changes with any entry."""
        return content_id(repr(self))

    @property
    def all_entity_types(self) -> tuple[str, ...]:
        """The entity types, those of the patterns too, where types are given at all."""
        ends = [end for p in self.patterns for end in (p.source, p.target)]
        return tuple(dict.fromkeys((*self.entity_types, *ends)))

    @property
    def all_relation_types(self) -> tuple[str, ...]:
        """The relations, those of the patterns too."""
        return tuple(dict.fromkeys((*self.relation_types, *(p.relation for p in self.patterns))))

    def types_text(self, prompts: Prompts) -> str:
        """Return the entity types as a prompt lists them, the usual ones where none are given."""
        return ", ".join(self.all_entity_types) or prompts.types

    def rules_text(self, prompts: Prompts) -> str:
        """Return what a prompt says of relations and patterns, or "".

        Patterns that show every relation say it all; it is paid for with every chunk.
        """
        shown_by_patterns = {fold(pattern.relation) for pattern in self.patterns}
        said: list[str] = []
        if any(fold(relation) not in shown_by_patterns for relation in self.relation_types):
            listed = ", ".join(self.all_relation_types)
            said.append(prompts.relation_types.format(relations=listed))
        if self.patterns:
            shown = "; ".join(" - ".join(pattern) for pattern in self.patterns)
            said.append(prompts.patterns.format(patterns=shown))
        return " ".join(said)

    def admit(self, draft: Draft) -> Draft:
        """Return a draft with types and relations written as the schema does.

        What the schema does not know becomes a complaint, if it is strict.
        """
        if not self:
            return draft
        complaints: list[Complaint] = []
        entities = [self._admit_entity(entity, complaints) for entity in draft.entities]
        kept = tuple(entity for entity in entities if entity)
        types = {normal_form(entity.name): fold(entity.type) for entity in kept}
        relations = [self._admit_relation(r, types, complaints) for r in draft.relations]
        admitted = replace(draft, entities=kept, relations=tuple(r for r in relations if r))
        if draft.records and not admitted.records:
            admitted = replace(admitted, says_nothing=True)  # nothing that is wanted: no bad reply
        return admitted.with_complaints(complaints)

    def _admit_entity(self, entity: EntityDraft, complaints: list[Complaint]) -> EntityDraft | None:
        known = {fold(kind): kind for kind in self.all_entity_types}
        if not known or fold(entity.type) in known:
            return replace(entity, type=known.get(fold(entity.type), entity.type))
        if not self.strict:
            return entity
        complaints.append(Complaint(entity.name, f"type `{entity.type}` is not in the schema"))
        return None

    def _admit_relation(
        self, relation: RelationDraft, types: Mapping[str, str], complaints: list[Complaint]
    ) -> RelationDraft | None:
        known = {fold(name): name for name in self.all_relation_types}
        said = fold(relation.relation)
        named = replace(relation, relation=known.get(said, relation.relation))
        fault = "" if not known or said in known else "the relation is not in the schema"
        if not fault and said in {fold(pattern.relation) for pattern in self.patterns}:
            ends = types.get(normal_form(named.source)), types.get(normal_form(named.target))
            allowed = {
                (fold(p.source), fold(p.target)) for p in self.patterns if fold(p.relation) == said
            }
            # An end without a type is not against any pattern; triplets have no types at all.
            if not any(ends[0] in {s, None} and ends[1] in {t, None} for s, t in allowed):
                fault = "no pattern of the schema joins these types"
        if not fault or not self.strict:
            return named
        shown = f"{relation.source} | {relation.relation} | {relation.target}"
        complaints.append(Complaint(shown, fault))
        return None


def _texts(key: str, values: object) -> tuple[str, ...]:
    if isinstance(values, Iterable) and not isinstance(values, str):
        texts = tuple(values)
        if all(isinstance(text, str) and text.strip() for text in texts):
            return texts
    raise ConfigError(f"`{key}` of the schema is `{values}`.", fix="Give a list of texts.")
