"""JSON replies: lists and objects of entities and relations, under the names that models use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from knotwork.transform.model.cleaning import clean_field, name_fault, plain_text
from knotwork.transform.model.drafts import Complaint, Draft, EntityDraft, RelationDraft

_FENCE = re.compile(r"```\s*\w*")
_WORD = re.compile(r"[^\W_]")
_START = re.compile(r"[\[{]")
_DEPTH = 8
_MOST_FAILURES = 200
"""Brackets that open no JSON, before the rest is given up: each costs a look at all behind it."""

_SOURCE = ("source", "subject", "head", "from", "start", "主体", "主语", "头实体")
_TARGET = ("target", "object", "tail", "to", "end", "客体", "宾语", "尾实体")
_RELATION = ("relation", "predicate", "relationship", "label", "关系", "谓语", "type")
_NAME = ("name", "entity", "entity_name", "title", "名称", "实体")
_TYPE = ("type", "entity_type", "label", "category", "类型")
_SUMMARY = ("summary", "description", "desc", "描述", "说明")


class JsonReader:
    """Reads replies in JSON, whatever prose or fences stand around it; implements `ReplyReader`.

    Knows lists of records under the usual keys, and two forms that map a name to what is of its
    kind: a type to names of entities, a relation to objects with a subject and an object.
    """

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        text = plain_text(reply)
        reading = _Reading()
        position, behind, failures, found = 0, 0, 0, False
        beside: list[str] = []
        while match := _START.search(text, position):
            try:
                value, position = _DECODER.raw_decode(text, match.start())
            except (ValueError, RecursionError):
                # One level deeper: of a list that breaks off, the whole items can still be read.
                position = match.end()
                failures += 1
                if failures > _MOST_FAILURES:
                    break
                continue
            found = True
            beside.append(text[behind : match.start()])
            behind = position
            reading.take(value, key="", depth=0)
        if not found and text.strip():
            reading.complaints.append(Complaint(text.strip(), "no JSON in it"))
        if found:
            beside.append(text[behind:])
            said = [part.strip() for part in beside if _WORD.search(_FENCE.sub("", part))]
            reading.complaints += [Complaint(part, "beside the JSON") for part in said]
        return Draft(
            tuple(dict.fromkeys(reading.entities)),
            tuple(dict.fromkeys(reading.relations)),
            tuple(reading.complaints),
            cut=cut,
            says_nothing=found
            and not reading.entities
            and not reading.relations
            and not reading.complaints,
        )


class _Reading:
    """Records on their way out of nested values."""

    def __init__(self) -> None:
        self.entities: list[EntityDraft] = []
        self.relations: list[RelationDraft] = []
        self.complaints: list[Complaint] = []

    def take(self, value: Any, *, key: str, depth: int) -> None:  # noqa: ANN401  # any JSON
        """Keep the records of a value that stands under ``key``."""
        if value in (None, "", [], {}):
            return
        if depth > _DEPTH:
            self._complain(value, "nested too deep")
        elif isinstance(value, Mapping):
            self._take_object(value, key, depth)
        elif isinstance(value, list):
            fields = [item for item in value if isinstance(item, str)]
            if len(fields) == len(value) == 3 and not key:
                self._relation(fields[0], fields[1], fields[2], "", value)
                return
            for item in value:
                self.take(item, key=key, depth=depth + 1)
        elif isinstance(value, str) and key:
            self._entity(value, key, "", value)
        else:
            self._complain(value, "no record")

    def _take_object(self, value: Mapping[str, Any], key: str, depth: int) -> None:
        fields = _Fields(value)
        if fields.has(_SOURCE) and fields.has(_TARGET):
            ends = fields.take(_SOURCE), fields.take(_TARGET)
            label = fields.take(_RELATION) or key
            kept = self._relation(ends[0], label, ends[1], fields.take(_SUMMARY), value)
        elif fields.has(_NAME):
            name = fields.take(_NAME)
            kind = fields.take(_TYPE) or key
            kept = self._entity(name, kind, fields.take(_SUMMARY), value)
        else:
            for inner, content in value.items():
                # A list under such a key holds records that say themselves what they are.
                plain = inner.casefold() in _CONTAINERS
                self.take(content, key="" if plain else inner, depth=depth + 1)
            return
        if kept:
            self._take_rest(fields.left, depth)

    def _take_rest(self, left: Mapping[str, Any], depth: int) -> None:
        """Keep the records inside a record, and complain of words that none has a place for."""
        for name, content in left.items():
            inner = content if isinstance(content, list) else [content]
            if any(isinstance(item, Mapping | list) for item in inner):
                self.take(content, key="" if name in _CONTAINERS else name, depth=depth + 1)
            elif name not in _ASIDE and _WORD.search("".join(map(_text, inner))):
                self._complain({name: content}, "a field that no record has")

    def _entity(self, name: str, kind: str, summary: str, value: object) -> bool:
        """Keep an entity and return True, or complain."""
        name = clean_field(name)
        fault = name_fault(name)
        if fault:
            self._complain(value, fault)
        else:
            self.entities.append(EntityDraft(name, clean_field(kind), clean_field(summary)))
        return not fault

    def _relation(
        self, source: str, relation: str, target: str, summary: str, value: object
    ) -> bool:
        """Keep a relation and return True, or complain."""
        ends = clean_field(source), clean_field(target)
        fault = name_fault(ends[0]) or name_fault(ends[1])
        if not fault and not (relation.strip() or summary.strip()):
            fault = "a relation that says nothing"
        if fault:
            self._complain(value, fault)
            return False
        label = clean_field(relation)
        self.relations.append(RelationDraft(ends[0], label, ends[1], clean_field(summary)))
        return True

    def _complain(self, value: object, reason: str) -> None:
        self.complaints.append(Complaint(json.dumps(value, ensure_ascii=False), reason))


_CONTAINERS = frozenset(
    "entities nodes relations relationships edges triples triplets facts result results data "  # noqa: SIM905
    "output graph 实体 关系 三元组 结果".split()
)


_ASIDE = frozenset(
    "id index weight strength score confidence rank importance language".split()  # noqa: SIM905
)
"""Fields that say nothing of what the text says."""


class _Fields:
    """The fields of an object, by name without case; ``left`` are those that were not taken."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.left = _unique((name.casefold(), content) for name, content in value.items())

    def has(self, names: tuple[str, ...]) -> bool:
        return any(map(self._is_text, names))

    def take(self, names: tuple[str, ...]) -> str:
        """Return the text of the first of these fields that has any, or ""."""
        name = next(filter(self._is_text, names), "")
        return str(self.left.pop(name)) if name else ""

    def _is_text(self, name: str) -> bool:
        value = self.left.get(name)
        return isinstance(value, str) and bool(value.strip())


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dictionary; a name that comes again is marked, so that nothing is lost."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        while name in found:
            name += "'"  # noqa: PLW2901  the same name, marked
        found[name] = value
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique)
