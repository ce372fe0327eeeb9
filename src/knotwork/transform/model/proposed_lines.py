"""The lines in which a model proposes a schema, and how they are read.

    type | NAME | what belongs to it
    relation | SOURCE TYPE | RELATION | TARGET TYPE

A garbled line costs itself alone: every line ends as a record, a complaint or an idle line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork.transform.model.cleaning import (
    LONGEST_RELATION,
    bare_line,
    clean_field,
    fold,
    is_idle,
    name_fault,
    plain_text,
)
from knotwork.transform.model.drafts import Complaint
from knotwork.transform.model.lines import NOTHING_WORDS, RELATION_WORDS
from knotwork.transform.model.schema_examples import LONGEST_TYPE

SAYS_NOTHING = frozenset(
    "other others misc miscellaneous unknown thing things entity entities object item "  # noqa: SIM905
    "其他 其它 其余 未知 事物 实体 对象".split()
)
"""Types to which anything belongs: a relation with such an end may join whatever."""

_ANYTHING = "a type to which anything belongs"

_TYPE_WORDS = frozenset({"type", "entity type", "entity", "类型", "实体类型", "实体"})
_HEADS = frozenset(
    {"name", "type name", "类型名称", "名称", "source type", "主体类型", "source", "主体"}
)


@dataclass(frozen=True, slots=True)
class ProposedLines:
    """What a reply proposes: types with their meanings, and relations between types.

    An end that is "" may be of any type. ``says_nothing`` tells that the reply says so in
    words, or names a type to which anything belongs.
    """

    types: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    complaints: tuple[Complaint, ...] = ()
    idle: int = 0
    says_nothing: bool = False

    @property
    def records(self) -> int:
        """The number of types and relations."""
        return len(self.types) + len(self.relations)


def read_proposal(reply: str, *, cut: bool = False) -> ProposedLines:
    """Return what a reply proposes; never fails. ``cut`` says that its end is missing."""
    types: list[tuple[str, str]] = []
    relations: list[tuple[str, str, str]] = []
    complaints: list[Complaint] = []
    idle, nothing = 0, False
    lines = [line.strip() for line in plain_text(reply).split("\n") if line.strip()]
    for place, line in enumerate(lines):
        bare = bare_line(line)
        if fold(bare) in NOTHING_WORDS:
            idle, nothing = idle + 1, True
            continue
        if is_idle(bare):
            idle += 1
            continue
        fields = [clean_field(f) for f in re.split(r"[|\t]", bare.strip().strip("|"))]
        kind, rest = fold(fields[0]), fields[1:]
        if rest and fold(rest[0]) in _HEADS:
            idle += 1  # the form that the prompt gave, said back
            continue
        last = cut and place == len(lines) - 1
        if kind in _TYPE_WORDS:
            fault = _take_type(rest, types, last=last)
            nothing |= fault == _ANYTHING
        elif kind in RELATION_WORDS:
            fault = _take_relation(rest, relations, last=last)
        else:
            fault = "neither a type nor a relation"
        if fault:
            complaints.append(Complaint(line, fault))
    return ProposedLines(tuple(types), tuple(relations), tuple(complaints), idle, nothing)


def _take_type(fields: list[str], types: list[tuple[str, str]], *, last: bool) -> str:
    """Add the type of a line; return why there is none, or ""."""
    if not fields or (last and len(fields) < 2):
        return "a type without a name"
    name, *rest = fields
    fault = _type_fault(name)
    if not fault and fold(name) in SAYS_NOTHING:
        fault = _ANYTHING
    if not fault:
        types.append((name, " ".join(part for part in rest if part)))
    return fault


def _take_relation(fields: list[str], relations: list[tuple[str, str, str]], *, last: bool) -> str:
    """Add the relation of a line; return why there is none, or ""."""
    if len(fields) < 3 or (last and len(fields) == 3):
        return f"a relation of {len(fields)} fields, where 3 are needed"
    source, relation, target = fields[:3]
    fault = _type_fault(source) or _type_fault(target)
    if not fault and not any(character.isalnum() for character in relation):
        fault = "a relation without a name"
    if not fault and len(relation) > LONGEST_RELATION:
        fault = "a relation is a whole sentence"
    if not fault:
        ends = ["" if fold(end) in SAYS_NOTHING else end for end in (source, target)]
        relations.append((ends[0], relation, ends[1]))
    return fault


def _type_fault(name: str) -> str:
    return name_fault(name) or ("a type is a whole sentence" if len(name) > LONGEST_TYPE else "")
