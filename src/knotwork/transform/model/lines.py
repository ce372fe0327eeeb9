"""The line form: how a model says entities and relations, one record a line, and how it is read.

    entity | NAME | TYPE | SUMMARY
    relation | SOURCE | RELATION | TARGET | SUMMARY
    SUBJECT | RELATION | OBJECT                       (triplets)

A cut or garbled line costs that line alone. What models add of their own (bullets, numbers, fences,
tables, tabs, full-width signs, quotes) comes off; fields in another number or order are put right
where only one reading is possible; the rest is a complaint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from knotwork.text.names import normal_form
from knotwork.transform.model.cleaning import (
    LONGEST_RELATION,
    bare_line,
    clean_field,
    fold,
    is_idle,
    name_fault,
    plain_text,
)
from knotwork.transform.model.drafts import Complaint, Draft, EntityDraft, RelationDraft

ENTITY_WORDS = frozenset(
    "entity entities ent node 实体 實體 节点 節點".split()  # noqa: SIM905
)
RELATION_WORDS = frozenset(
    "relation relations relationship relationships rel edge fact triple triplet "  # noqa: SIM905
    "关系 關係 关联 三元组 事实".split()
)
NOTHING_WORDS = frozenset({"none", "nothing", "n a", "null", "无", "無", "没有", "沒有", "暂无"})
KNOWN_TYPES = frozenset(
    "person organization organisation place location geo event work product concept other object "  # noqa: SIM905
    "date number group technology 人物 人 组织 机构 地点 地方 事件 作品 产品 概念 其他 其它".split()
)
_HEADS = frozenset(
    "name type summary source relation target entity subject object description fact "  # noqa: SIM905
    "实体 关系 名称 类型 说明 主体 客体 事实 摘要".split()
)
_LONGEST_HEAD = 40
"""Characters of a head of a table, with all that may stand around it."""
_KIND_WORDS = "|".join(sorted(ENTITY_WORDS | RELATION_WORDS, key=len, reverse=True))
_KIND = re.compile(
    rf"[\W_]{{0,3}}({_KIND_WORDS})[*_`\"'”]{{0,3}}\s*([|:：\t,，;；]|-(?=\s))", re.IGNORECASE
)
_INNER = re.compile(
    r"(?<=[\s.。])(?=(?:entity|relation|relationship|实体|关系)\s*\|)", re.IGNORECASE
)
_NOTHING = re.compile(r"[\W_]*(?:none|nothing|n[\W_]+a|null)[\W_]*", re.IGNORECASE | re.ASCII)
"""The words of `NOTHING_WORDS` in a line of ASCII: most lines end the search at once."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class _Line(NamedTuple):
    """A line on its way to a record: as it stood, its kind ("" if it says none), its fields."""

    raw: str
    kind: str
    fields: tuple[str, ...]
    last: bool


class LineReader:
    """Reads replies in the line form.

    ``triplets`` says that a line of three fields without a kind is a fact. ``types`` are the entity
    types that the prompt asked for, beside the usual ones.
    """

    def __init__(self, *, triplets: bool = False, types: Collection[str] = ()) -> None:
        self._triplets = triplets
        self._types = KNOWN_TYPES | {fold(kind) for kind in types}

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        return _Reading(self._types, triplets=self._triplets, cut=cut).read(reply)


class _Reading:
    """One reply on its way to a draft."""

    def __init__(self, types: Collection[str], *, triplets: bool, cut: bool) -> None:
        self.types = types
        self.triplets = triplets
        self.cut = cut
        self.entities: dict[EntityDraft, None] = {}
        self.relations: dict[RelationDraft, None] = {}
        self.complaints: list[Complaint] = []
        self.repeated = self.idle = 0
        self.nothing = False
        self.forms: set[str] = set()

    def read(self, reply: str) -> Draft:
        lines = self._lines(reply)
        for line in lines:  # entities first: relations are put right by the names they give
            if self._is_entity(line):
                self._read_entity(line)
        for line in lines:
            if not self._is_entity(line):
                self._read_relation(line)
        return Draft(
            tuple(self.entities),
            tuple(self.relations),
            tuple(self.complaints),
            self.repeated,
            self.idle,
            cut=self.cut,
            says_nothing=self.nothing,
        )

    def _lines(self, reply: str) -> list[_Line]:
        raws = [piece for line in plain_text(reply).split("\n") for piece in _pieces(line)]
        raws = [raw for raw in raws if raw]
        seen: set[str] = set()
        lines: list[_Line] = []
        for position, raw in enumerate(raws):
            if raw in seen:
                self.repeated += 1
                continue
            bare = bare_line(raw)
            if is_idle(bare) or self._is_head(bare):
                self.idle += 1
                continue
            seen.add(raw)
            if _is_nothing(bare):
                self.idle += 1
                self.nothing = True
                continue
            lines.append(_as_line(raw, bare, last=self.cut and position == len(raws) - 1))
        return lines

    def _is_head(self, bare: str) -> bool:
        """Tell whether a line is the form that the prompt gave, said back."""
        folded: set[str] = set()
        for field in bare.split("|"):
            if field.strip():
                if len(field) > _LONGEST_HEAD or fold(field) not in _HEADS:
                    return False
                folded.add(fold(field))
        return len(folded) > 1

    def _is_entity(self, line: _Line) -> bool:
        if line.kind or self.triplets:
            return line.kind == "entity"
        names = line.fields
        return len(names) == 3 and fold(names[1]) in self.types

    def _complain(self, line: _Line, reason: str) -> None:
        self.complaints.append(Complaint(line.raw, reason))

    def _read_entity(self, line: _Line) -> None:
        fields = line.fields
        name = fields[0] if fields else ""
        fault = name_fault(name)
        if not fault and line.last and len(fields) < 2:
            fault = "cut off inside a name"
        if fault:
            self._complain(line, fault)
            return
        kind, summary = self._type_and_summary(fields[1:])
        self.forms.add(normal_form(name))
        self._keep_entity(EntityDraft(name, kind, summary))

    def _type_and_summary(self, fields: Sequence[str]) -> tuple[str, str]:
        if len(fields) == 1:
            (only,) = fields
            return (only, "") if fold(only) in self.types or len(only) < 24 else ("", only)
        if len(fields) == 2 and fold(fields[0]) not in self.types and fold(fields[1]) in self.types:
            return fields[1], fields[0]
        if not fields:
            return "", ""
        kind = fields[0] if len(fields[0]) <= 40 else ""
        rest = fields[1:] if kind or not fields[0] else fields
        return kind, " ".join(part for part in rest if part)

    def _keep_entity(self, entity: EntityDraft) -> None:
        self.repeated += entity in self.entities
        self.entities[entity] = None

    def _read_relation(self, line: _Line) -> None:
        if line.kind == "" and len(line.fields) < 3:
            self._complain(line, "no record: fewer fields than any has")
            return
        record = self._relation(line)
        if isinstance(record, str):
            self._complain(line, record)
            return
        self.repeated += record in self.relations
        self.relations[record] = None

    def _relation(self, line: _Line) -> RelationDraft | str:
        """Return the relation of a line, or why there is none."""
        fields = list(line.fields)
        if len(fields) < 3:
            return f"a relation of {len(fields)} fields, where 3 or 4 are needed"
        known = [normal_form(field) in self.forms for field in fields]
        if known[0] and known[1] and not known[2]:
            # The label stands behind the two names, or there is none but a description.
            label = fields.pop(2)
            fields.insert(1, label)
            if len(fields) == 3 and (len(label) > LONGEST_RELATION // 2 or label[-1:] in ".。"):
                fields = [fields[0], "", fields[2], label]
        elif (
            not line.kind and len(fields) == 3 and not self.triplets and not (known[0] and known[2])
        ):
            return "no kind, and its ends are no entities"
        source, relation, target, *rest = fields
        fault = name_fault(source) or name_fault(target)
        if (
            not fault
            and line.last
            and len(line.fields) == 3
            and normal_form(target) not in self.forms
        ):
            fault = "cut off inside a name"
        if fault:
            return fault
        summary = " ".join(part for part in rest if part and not _NUMBER.fullmatch(part))
        if len(relation) > LONGEST_RELATION:
            summary, relation = f"{relation} {summary}".strip(), ""
        if not relation and not summary:
            return "a relation that says nothing"
        return RelationDraft(source, relation, target, summary)


def _pieces(line: str) -> list[str]:
    """Return the records that stand on one line, as where a line break was forgotten."""
    line = line.strip()
    if line.isascii() and not _may_hold_more(line.lower()):
        return [line]
    starts = [match.start() for match in _INNER.finditer(line)]
    starts = [start for start in starts if "|" in line[:start].strip("| ")]
    cuts = [0, *starts, len(line)]
    return [line[a:b].strip() for a, b in pairwise(cuts)]


def _may_hold_more(lower: str) -> bool:
    """Tell whether a line of ASCII says behind its beginning what a record begins with."""
    return lower.find("entity", 1) > 0 or lower.find("relation", 1) > 0


def _is_nothing(bare: str) -> bool:
    if bare.isascii():
        return _NOTHING.fullmatch(bare) is not None
    return fold(bare) in NOTHING_WORDS


def _as_line(raw: str, bare: str, *, last: bool) -> _Line:
    kind, rest = "", bare
    listed = _json_fields(bare)
    if listed:
        kind = _kind_of(listed[0])
        return _Line(raw, kind, tuple(map(clean_field, listed[1:] if kind else listed)), last)
    match = _KIND.match(bare)
    mark = ""
    if match is not None:
        kind, mark = _kind_of(match[1]), match[2]
        rest = bare[match.end() :]
    fields = [clean_field(field) for field in _split(rest, mark, kind)]
    if kind and len(fields) > 1 and not fields[0]:
        fields = fields[1:]  # entity || NAME
    return _Line(raw, kind, tuple(fields), last)


def _split(text: str, mark: str, kind: str) -> list[str]:
    """Return the fields; commas part them only where nothing else does, and a kind is named."""
    if "|" in text:
        text = text.strip().removeprefix("|")
        return text.strip().removesuffix("|").split("|")
    if "\t" in text:
        return [field for field in text.split("\t") if field.strip()]
    if kind and mark and mark in ",，;；":
        return text.split(mark, 2 if kind == "entity" else 3)
    for comma in "，,":
        fields = text.split(comma, 2 if kind == "entity" else 3)
        told = len(fields) > 1 and fold(fields[1]) in KNOWN_TYPES
        if (kind == "entity" and told) or (kind == "relation" and len(fields) > 2):
            return fields
    return [text]


def _json_fields(bare: str) -> list[str]:
    """Return the texts of a JSON list on a line of its own, or nothing."""
    text = bare.rstrip(",，")
    if not (text.startswith("[") and text.endswith("]")):
        return []
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(items, list) or len(items) < 2:
        return []
    return [item if isinstance(item, str) else str(item) for item in items]


def _kind_of(word: str) -> str:
    word = fold(word)
    if word in ENTITY_WORDS:
        return "entity"
    return "relation" if word in RELATION_WORDS else ""
