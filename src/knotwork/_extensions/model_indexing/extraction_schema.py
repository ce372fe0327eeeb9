"""Extraction schemas: the types to extract, and counts of types to derive a schema from."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from knotwork._extensions.model_indexing.extraction_prompts import Prompts
from knotwork._extensions.model_indexing.reply_formats import (
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
    fold_word,
)
from knotwork._indexing.prepare import LeftOut, Prepared
from knotwork._inference.prompt_files import fill_blanks
from knotwork._text.names import normal_form
from knotwork.errors import ConfigError
from knotwork.records import ALIAS_RELATION, Extraction, Mention, Relation, content_id


class RelationPattern(NamedTuple):
    """The types of entities that a relation may connect."""

    source: str
    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class ExtractionSchema:
    """The types to extract; an empty field allows any.

    ``strict`` drops records of other types; otherwise they stay, with their own type or relation.
    Comparisons ignore case, spaces and underscores.
    """

    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    patterns: tuple[RelationPattern, ...] = ()
    strict: bool = True

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the schema of a TOML file with the keys of `from_mapping`. Raises ConfigError."""
        try:
            return cls.from_mapping(tomllib.loads(path.read_text("utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"The schema `{path}` cannot be read: {error}.", fix="Use a TOML file."
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
                "A pattern of the schema is not a list of three texts.",
                fix='Write it as ["PERSON", "works for", "ORGANIZATION"].',
            )
        strict = data.get("strict", True)
        if not isinstance(strict, bool):
            raise ConfigError(
                f"`strict` of the schema is `{strict}`, not a boolean.", fix="Use true or false."
            )
        return cls(
            _texts("entity_types", data.get("entity_types", ())),
            _texts("relation_types", data.get("relation_types", ())),
            tuple(RelationPattern(*_texts("patterns", pattern)) for pattern in patterns),
            strict,
        )

    def __bool__(self) -> bool:
        return bool(self.entity_types or self.relation_types or self.patterns)

    @property
    def fingerprint(self) -> str:
        """A hash of all entries."""
        return content_id(repr(self))

    @property
    def all_entity_types(self) -> tuple[str, ...]:
        """The entity types, including those of the patterns."""
        ends = [end for p in self.patterns for end in (p.source, p.target)]
        return tuple(dict.fromkeys((*self.entity_types, *ends)))

    @property
    def all_relation_types(self) -> tuple[str, ...]:
        """The relation types, including those of the patterns."""
        return tuple(dict.fromkeys((*self.relation_types, *(p.relation for p in self.patterns))))

    def types_text(self, prompts: Prompts) -> str:
        """Return the list of entity types for a prompt, by default the usual ones."""
        return ", ".join(self.all_entity_types) or prompts.types

    def rules_text(self, prompts: Prompts) -> str:
        """Return the sentences about relations and patterns for a prompt, or "".

        Relations are not listed if the patterns show all of them, since every chunk pays for it.
        """
        in_patterns = {fold_word(pattern.relation) for pattern in self.patterns}
        sentences: list[str] = []
        if any(fold_word(relation) not in in_patterns for relation in self.relation_types):
            listed = ", ".join(self.all_relation_types)
            sentences.append(fill_blanks(prompts.relation_types, {"relations": listed}))
        if self.patterns:
            listed = "; ".join(" - ".join(pattern) for pattern in self.patterns)
            sentences.append(fill_blanks(prompts.patterns, {"patterns": listed}))
        return " ".join(sentences)

    def admit(self, draft: Draft) -> Draft:
        """Return a draft with types and relations in the spelling of the schema.

        If the schema is strict, records of other types become complaints.
        """
        if not self:
            return draft
        listed = _Listed(self)
        complaints: list[Complaint] = []
        entities: list[EntityDraft] = []
        for entity in draft.entities:
            kind = listed.type_of(entity.type)
            if kind is not None or not self.strict:
                entities.append(replace(entity, type=kind or entity.type))
            else:
                fault = f"type `{entity.type}` is not in the schema"
                complaints.append(Complaint(entity.name, fault))
        types = {normal_form(entity.name): fold_word(entity.type) for entity in entities}
        relations: list[RelationDraft] = []
        for relation in draft.relations:
            name = listed.relation_of(relation.relation)
            # An end without a type matches any pattern; triplets have no types at all.
            ends = [types.get(normal_form(end)) for end in (relation.source, relation.target)]
            fault = "" if name is not None else "the relation is not in the schema"
            if not fault and not listed.connects(ends[0], relation.relation, ends[1]):
                fault = "no pattern of the schema connects these types"
            if not fault or not self.strict:
                relations.append(replace(relation, relation=name or relation.relation))
            else:
                shown = f"{relation.source} | {relation.relation} | {relation.target}"
                complaints.append(Complaint(shown, fault))
        admitted = replace(draft, entities=tuple(entities), relations=tuple(relations))
        if draft.records and not admitted.records:
            admitted = replace(admitted, says_nothing=True)  # a readable reply, but off the schema
        return admitted.with_complaints(complaints)


class _Listed:
    """What a schema lists, by the folded words of its entries."""

    def __init__(self, schema: ExtractionSchema) -> None:
        self._types = {fold_word(kind): kind for kind in schema.all_entity_types}
        self._relations = {fold_word(name): name for name in schema.all_relation_types}
        self._patterns: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for pattern in schema.patterns:
            ends = fold_word(pattern.source), fold_word(pattern.target)
            self._patterns[fold_word(pattern.relation)].add(ends)

    def type_of(self, kind: str) -> str | None:
        """Return a type in the spelling of the schema; None if the schema lists others only."""
        return self._types.get(fold_word(kind), None if self._types else kind)

    def relation_of(self, name: str) -> str | None:
        """Return a relation in the spelling of the schema; None if it lists others only."""
        return self._relations.get(fold_word(name), None if self._relations else name)

    def connects(self, source: str | None, relation: str, target: str | None) -> bool:
        """Return True if patterns allow a relation of these folded types; None is any type."""
        allowed = self._patterns.get(fold_word(relation))
        return not allowed or any(
            source in {one, None} and target in {other, None} for one, other in allowed
        )


def _texts(key: str, values: object) -> tuple[str, ...]:
    if isinstance(values, Iterable) and not isinstance(values, str):
        texts = tuple(values)
        if all(isinstance(text, str) and text.strip() for text in texts):
            return texts
    raise ConfigError(
        f"`{key}` of the schema is `{values}`, not a list of texts.", fix="Use a list of texts."
    )


_ALIAS = fold_word(ALIAS_RELATION)


class SchemaFilter:
    """Keeps only what a schema lists. Comparisons ignore case, spaces and underscores.

    Entities of other types, and without one, are left out with their relations and descriptions,
    if the schema lists types of entities; so are relations that it does not list, and those that no
    pattern allows. What stays has the spelling of the schema. That two names are aliases is no
    relation of the graph, and stays.
    """

    def __init__(self, schema: ExtractionSchema) -> None:
        self._listed = _Listed(schema)

    def admit(self, prepared: Prepared) -> Prepared:
        """Return a document with only what the schema lists, and counts of the rest."""
        left_out = LeftOut()
        kept = tuple(self.keep(e, left_out) for e in prepared.extractions)
        entities = {found.chunk_id: {m.entity_id for m in found.mentions} for found in kept}
        described = tuple(
            found
            for found in prepared.descriptions
            if found.entity_id in entities.get(found.chunk_id, ())
        )
        return replace(prepared, extractions=kept, descriptions=described, left_out=left_out)

    def keep(self, extraction: Extraction, left_out: LeftOut) -> Extraction:
        """Return the part of an extraction that the schema lists, and count the rest."""
        mentions: list[Mention] = []
        types: dict[str, str] = {}
        for mention in extraction.mentions:
            kind = self._listed.type_of(mention.type)
            if kind is None:
                left_out.entities[mention.type] += 1
                continue
            types[mention.entity_id] = fold_word(kind)
            mentions.append(replace(mention, type=kind))
        relations: dict[tuple[str, str, str], Relation] = {}
        for relation in extraction.relations:
            label = self._label(relation, types)
            if label is None:
                left_out.relations[relation.relation] += 1
                continue
            key = relation.source, label, relation.target
            relations.setdefault(key, replace(relation, relation=label))
        return Extraction(
            extraction.chunk_id,
            tuple(mentions),
            tuple(relations.values()),
            tuple(found for found in extraction.descriptions if found.entity_id in types),
        )

    def _label(self, relation: Relation, types: Mapping[str, str]) -> str | None:
        """Return a relation in the spelling of the schema; None if it is to be left out."""
        source, target = types.get(relation.source), types.get(relation.target)
        if source is None or target is None:
            return None
        if fold_word(relation.relation) == _ALIAS:
            return self._listed.relation_of(relation.relation) or relation.relation
        if not self._listed.connects(source, relation.relation, target):
            return None
        return self._listed.relation_of(relation.relation)
