"""Reduce extractions to the types and relations of a schema, whoever extracted them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from knotwork._transform.model.extraction_schema import ExtractionSchema
from knotwork._transform.model.reply_records import fold_word
from knotwork.records import ALIAS_RELATION, Extraction, Mention, Relation

_SHOWN = 4
_ALIAS = fold_word(ALIAS_RELATION)


@dataclass(slots=True)
class LeftOut:
    """How many mentions of entities, by type, and relations, by name, a schema left out."""

    entities: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations)

    def add(self, other: LeftOut) -> None:
        """Add the counts of another part of the index."""
        self.entities.update(other.entities)
        self.relations.update(other.relations)

    def __str__(self) -> str:
        parts = []
        for counts, noun in (
            (self.entities, "mentions of entities"),
            (self.relations, "relations"),
        ):
            if counts:
                most = [f"{name or 'no type'} {n:,}" for name, n in counts.most_common(_SHOWN)]
                more = ["…"] if len(counts) > _SHOWN else []
                parts.append(f"{counts.total():,} {noun} ({', '.join(most + more)})")
        return " and ".join(parts)


class SchemaFilter:
    """Keeps only what a schema lists. Comparisons ignore case, spaces and underscores.

    Entities of other types, and without one, are left out with their relations and descriptions,
    if the schema lists types of entities; so are relations that it does not list, and those that no
    pattern allows. What stays has the spelling of the schema. That two names are aliases is no
    relation of the graph, and stays.
    """

    def __init__(self, schema: ExtractionSchema) -> None:
        self._types = {fold_word(kind): kind for kind in schema.all_entity_types}
        self._relations = {fold_word(name): name for name in schema.all_relation_types}
        self._patterns: dict[str, set[tuple[str, str]]] = {}
        for pattern in schema.patterns:
            ends = fold_word(pattern.source), fold_word(pattern.target)
            self._patterns.setdefault(fold_word(pattern.relation), set()).add(ends)

    def keep(self, extraction: Extraction, left_out: LeftOut) -> Extraction:
        """Return the part of an extraction that the schema lists, and count the rest."""
        mentions: list[Mention] = []
        types: dict[str, str] = {}
        for mention in extraction.mentions:
            kind = fold_word(mention.type)
            if self._types and kind not in self._types:
                left_out.entities[mention.type] += 1
                continue
            types[mention.entity_id] = kind
            mentions.append(replace(mention, type=self._types.get(kind, mention.type)))
        relations: dict[tuple[str, str, str], Relation] = {}
        for relation in extraction.relations:
            name = fold_word(relation.relation)
            ends = types.get(relation.source), types.get(relation.target)
            if not self._allows(name, ends):
                left_out.relations[relation.relation] += 1
                continue
            label = self._relations.get(name, relation.relation)
            key = relation.source, label, relation.target
            relations.setdefault(key, replace(relation, relation=label))
        return Extraction(
            extraction.chunk_id,
            tuple(mentions),
            tuple(relations.values()),
            tuple(found for found in extraction.descriptions if found.entity_id in types),
        )

    def _allows(self, relation: str, ends: tuple[str | None, str | None]) -> bool:
        if None in ends:
            return False
        if relation == _ALIAS:
            return True
        if self._relations and relation not in self._relations:
            return False
        return relation not in self._patterns or ends in self._patterns[relation]
