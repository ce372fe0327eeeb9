"""Read entities and relations from replies in lines or JSON.

The line form has one record per line, `entity | NAME | TYPE | SUMMARY` or `relation | SOURCE |
RELATION | TARGET | SUMMARY` (or `SUBJECT | RELATION | OBJECT`). Bullets, fences, tables and quotes
are ignored. A garbled record becomes a complaint and does not affect the others.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from knotwork._inference.prompt_material import restore
from knotwork._inference.thinking import strip_thinking
from knotwork._text.names import normal_form

UNNAMED_RELATION = {"en": "related to", "zh": "相关"}
"""The name of a relation for which a reply has only a summary."""


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as a reply names it, with a one-line summary."""

    name: str
    type: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as a reply names it; ``relation`` is "" if it has only a summary."""

    source: str
    relation: str
    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A part of a reply that was not used, verbatim, and a short reason."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The records of a reply in order, and complaints about the rest.

    Every line that is not empty is a record, a complaint, ``repeated`` (equal to an earlier line)
    or ``idle`` (fences, rules, table headers, "none"). ``cut`` is True if the reply was cut off at
    its token limit.
    """

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    repeated: int = 0
    idle: int = 0
    cut: bool = False
    says_nothing: bool = False
    """True if the reply explicitly says that there are no records."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.entities) + len(self.relations)

    def with_complaints(self, complaints: Iterable[Complaint]) -> Draft:
        """Return this draft with further complaints."""
        return replace(self, complaints=(*self.complaints, *complaints))

    def merged(self, other: Draft) -> Draft:
        """Return the records and complaints of two replies about one chunk, each record once."""
        return Draft(
            tuple(dict.fromkeys((*self.entities, *other.entities))),
            tuple(dict.fromkeys((*self.relations, *other.relations))),
            (*self.complaints, *other.complaints),
            self.repeated + other.repeated,
            self.idle + other.idle,
            cut=self.cut or other.cut,
            says_nothing=self.says_nothing and other.says_nothing,
        )


LONGEST_NAME = 120
"""Most characters of a name; a longer one is a sentence."""

LONGEST_RELATION = 80
"""Most characters of a relation; a longer one is a description."""

_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f]")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|<br\s*/?>", re.IGNORECASE)
_ODD = re.compile(r"[^\n\t -;=-~]")
"""Characters that may need normalising; ``<`` may begin a line break."""
_PIPES = str.maketrans(dict.fromkeys("｜¦│┃║∣❘", "|"))
_LEAD = re.compile(
    r"(?:[-*+•·●▪◦‣–—>#►]+(?=[\s|*`(\[\"“]|entity|relation|实体|关系)"
    r"|[(（\[]?\d{1,4}[.)、:：．）\]]+(?=\D)"
    r"|[①-⑳])[\s]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?:`{3,}|~{3,})\s*[\w+-]*")
_RULE = re.compile(r"[\s|:+=_*#.\-–—─]*")
_WRAPPERS = (
    ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("`", "`"),
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("<", ">"), ("[", "]"), ("【", "】"),
    ("{", "}"), ("（", "）"), ("(", ")"), ("``", "''"), ("＂", "＂"),
)  # fmt: skip
_LEFTS = frozenset(left[0] for left, _ in _WRAPPERS)
_RIGHTS = frozenset(right[-1] for _, right in _WRAPPERS)
_ORPHANS = '"“”`*＂'


def plain_text(reply: str) -> str:
    """Return a reply without thinking and invisible characters, with uniform pipes and line breaks.

    If there is nothing but thinking, return that. Control tokens and tags that it quotes are
    written as in the document again.
    """
    text = restore(strip_thinking(reply) or reply)
    if _ODD.search(text):
        text = _CONTROL.sub(" ", _INVISIBLE.sub("", text))
        text = _BREAKS.sub("\n", text).translate(_PIPES)
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n")
    return text


def bare_line(line: str) -> str:
    """Return a line without leading bullets and numbers."""
    line = line.strip()
    while match := _LEAD.match(line):
        line = line[match.end() :]
    for left, right in ("()", "（）", "``"):
        if line.startswith(left) and line.endswith(right) and right not in line[1:-1]:
            line = line[1:-1].strip()
    return line


def is_idle(line: str) -> bool:
    """Return True if a line is a code fence, a rule, or the line below a table header."""
    return bool(_FENCE.fullmatch(line) or _RULE.fullmatch(line))


def clean_field(field: str) -> str:
    """Return a field on one line, without quotes, brackets or emphasis around it."""
    field = " ".join(field.split())
    if field[:1].isalnum() and field[-1:].isalnum():
        return field
    changed = field[:1] in _LEFTS and field[-1:] in _RIGHTS
    while changed and field:
        changed = False
        for left, right in _WRAPPERS:
            wide = len(left) + len(right)
            if len(field) > wide and field.startswith(left) and field.endswith(right):
                inner = field[len(left) : -len(right)]
                if left not in inner and right not in inner:
                    field, changed = inner.strip(), True
    if sum(field.count(mark) for mark in _ORPHANS) == 1:  # its partner was cut off
        field = field.strip(_ORPHANS)
    return field.strip()


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """Return a word for comparison, without differences of width, case and punctuation."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split())


def name_fault(name: str) -> str:
    """Return the reason why a field cannot be a name, or "" if it can."""
    if not name[:1].isalnum() and not any(character.isalnum() for character in name):
        return "a name is missing"
    if len(name) > LONGEST_NAME:
        return "a name is a whole sentence"
    return ""


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
_TABLE_HEADS = frozenset(
    "name type summary source relation target entity subject object description fact "  # noqa: SIM905
    "实体 关系 名称 类型 说明 主体 客体 事实 摘要".split()
)
_LONGEST_HEAD = 40
"""Most characters of a cell of a table header."""
_KIND_WORDS = "|".join(sorted(ENTITY_WORDS | RELATION_WORDS, key=len, reverse=True))
_KIND = re.compile(
    rf"[\W_]{{0,3}}({_KIND_WORDS})[*_`\"'”]{{0,3}}\s*([|:：\t,，;；]|-(?=\s))", re.IGNORECASE
)
_INNER = re.compile(
    r"(?<=[\s.。])(?=(?:entity|relation|relationship|实体|关系)\s*\|)", re.IGNORECASE
)
_NOTHING = re.compile(r"[\W_]*(?:none|nothing|n[\W_]+a|null)[\W_]*", re.IGNORECASE | re.ASCII)
"""The words of `NOTHING_WORDS` in a line of ASCII, as a pattern that most lines fail quickly."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class _Line(NamedTuple):
    """A line of a reply: verbatim, its kind ("" without one), its fields, True if it is cut off."""

    raw: str
    kind: str
    fields: tuple[str, ...]
    last: bool


def read_lines(
    reply: str, *, triplets: bool = False, types: Collection[str] = (), cut: bool = False
) -> Draft:
    """Return the records of a reply in the line form, and complaints about the rest; never fails.

    With ``triplets``, a line of three fields without a kind is a fact. ``types`` are entity types
    of the prompt, in addition to the usual ones. ``cut`` is True if the reply was cut off at its
    token limit.
    """
    known = KNOWN_TYPES | {fold_word(kind) for kind in types}
    return _LineReading(known, triplets=triplets, cut=cut).read(reply)


class _LineReading:
    """The state of reading one reply."""

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
        for line in lines:  # entities first, since their names help to order fields of relations
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
        """Return True if a line is a table header, or repeats the form in the prompt."""
        headings: set[str] = set()
        for field in bare.split("|"):
            if field.strip():
                if len(field) > _LONGEST_HEAD or fold_word(field) not in _TABLE_HEADS:
                    return False
                headings.add(fold_word(field))
        return len(headings) > 1

    def _is_entity(self, line: _Line) -> bool:
        if line.kind or self.triplets:
            return line.kind == "entity"
        return len(line.fields) == 3 and fold_word(line.fields[1]) in self.types

    def _complain(self, line: _Line, reason: str) -> None:
        self.complaints.append(Complaint(line.raw, reason))

    def _read_entity(self, line: _Line) -> None:
        fields = line.fields
        name = fields[0] if fields else ""
        fault = _fault_in(NAME=name)
        if not fault and line.last and len(fields) < 2:
            fault = "cut off inside a name"
        if fault:
            self._complain(line, fault)
            return
        kind, summary = self._type_and_summary(fields[1:])
        self.forms.add(normal_form(name))
        entity = EntityDraft(name, kind, summary)
        self.repeated += entity in self.entities
        self.entities[entity] = None

    def _type_and_summary(self, fields: Sequence[str]) -> tuple[str, str]:
        if len(fields) == 1:
            (only,) = fields
            return (only, "") if fold_word(only) in self.types or len(only) < 24 else ("", only)
        if (
            len(fields) == 2
            and fold_word(fields[0]) not in self.types
            and fold_word(fields[1]) in self.types
        ):
            return fields[1], fields[0]
        if not fields:
            return "", ""
        kind = fields[0] if len(fields[0]) <= 40 else ""
        rest = fields[1:] if kind or not fields[0] else fields
        return kind, " ".join(part for part in rest if part)

    def _read_relation(self, line: _Line) -> None:
        if line.kind == "" and len(line.fields) < 3:
            count = len(line.fields)
            self._complain(
                line, f"a record has 3 or more fields parted by |, this line has {count}"
            )
            return
        record = self._relation(line)
        if isinstance(record, str):
            self._complain(line, record)
            return
        self.repeated += record in self.relations
        self.relations[record] = None

    def _relation(self, line: _Line) -> RelationDraft | str:
        """Return the relation of a line, or the reason why it has none."""
        fields = list(line.fields)
        if len(fields) < 3:
            return f"a relation with {len(fields)} fields, where 3 or 4 are needed"
        known = [normal_form(field) in self.forms for field in fields]
        if known[0] and known[1] and not known[2]:
            # The label follows the two names, or there is only a description.
            label = fields.pop(2)
            fields.insert(1, label)
            if len(fields) == 3 and (len(label) > LONGEST_RELATION // 2 or label[-1:] in ".。"):
                fields = [fields[0], "", fields[2], label]
        elif (
            not line.kind and len(fields) == 3 and not self.triplets and not (known[0] and known[2])
        ):
            return "neither a kind nor known entities"
        source, relation, target, *rest = fields
        fault = _fault_in(SOURCE=source, TARGET=target)
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
            return "a relation without a name and a summary"
        return RelationDraft(source, relation, target, summary)


def _fault_in(**names: str) -> str:
    return next(
        (f"{fault} ({field})" for field, n in names.items() if (fault := name_fault(n))), ""
    )


def _pieces(line: str) -> list[str]:
    """Return the records on one line, of which there are several if a line break is missing."""
    line = line.strip()
    lower = line.lower()
    # In ASCII, first look for the start of another record, which is fast.
    if line.isascii() and lower.find("entity", 1) < 0 and lower.find("relation", 1) < 0:
        return [line]
    starts = [match.start() for match in _INNER.finditer(line)]
    starts = [start for start in starts if "|" in line[:start].strip("| ")]
    cuts = [0, *starts, len(line)]
    return [line[a:b].strip() for a, b in pairwise(cuts)]


def _is_nothing(bare: str) -> bool:
    if bare.isascii():
        return _NOTHING.fullmatch(bare) is not None
    return fold_word(bare) in NOTHING_WORDS


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
    fields = [clean_field(field) for field in _split_line(rest, mark, kind)]
    if kind and len(fields) > 1 and not fields[0]:
        fields = fields[1:]  # entity || NAME
    return _Line(raw, kind, tuple(fields), last)


def _split_line(text: str, mark: str, kind: str) -> list[str]:
    """Return the fields; commas count only in a record with a kind and no other separator."""
    if "|" in text:
        text = text.strip().removeprefix("|")
        return text.strip().removesuffix("|").split("|")
    if "\t" in text:
        return [field for field in text.split("\t") if field.strip()]
    if kind and mark and mark in ",，;；":
        return text.split(mark, 2 if kind == "entity" else 3)
    for comma in "，,":
        fields = text.split(comma, 2 if kind == "entity" else 3)
        is_typed = len(fields) > 1 and fold_word(fields[1]) in KNOWN_TYPES
        if (kind == "entity" and is_typed) or (kind == "relation" and len(fields) > 2):
            return fields
    return [text]


def _json_fields(bare: str) -> list[str]:
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
    word = fold_word(word)
    if word in ENTITY_WORDS:
        return "entity"
    return "relation" if word in RELATION_WORDS else ""


NO_JSON = "no JSON in it"
_JSON_FENCE = re.compile(r"```\s*\w*")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_JSON_START = re.compile(r"[\[{]")
_DEPTH = 8
_MOST_FAILURES = 200
"""Most brackets that do not open JSON before reading stops, since each one costs a scan."""

_SOURCE = ("source", "subject", "head", "from", "start", "主体", "主语", "头实体")
_TARGET = ("target", "object", "tail", "to", "end", "客体", "宾语", "尾实体")
_RELATION = ("relation", "predicate", "relationship", "label", "关系", "谓语", "type")
_NAME = ("name", "entity", "entity_name", "title", "名称", "实体")
_TYPE = ("type", "entity_type", "label", "category", "类型")
_SUMMARY = ("summary", "description", "desc", "描述", "说明")


def read_json(reply: str, *, cut: bool = False) -> Draft:
    """Return the records of a reply in JSON, with any prose or fences around it; never fails.

    It accepts lists of records under the usual keys, and two kinds of mappings: of a type to names
    of entities, and of a relation to objects with a subject and an object.
    """
    text = plain_text(reply)
    reading = _JsonReading()
    position, behind, failures, found = 0, 0, 0, False
    beside: list[str] = []
    while match := _JSON_START.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            # Try one level deeper: the complete items of a truncated list are still readable.
            position = match.end()
            failures += 1
            if failures > _MOST_FAILURES:
                break
            continue
        found = True
        beside.append(text[behind : match.start()])
        behind = position
        reading.take(value, key="", depth=0)
    if found:
        reading.complaints += [
            Complaint(part.strip(), "text beside the JSON")
            for part in (*beside, text[behind:])
            if _LETTER_OR_DIGIT.search(_JSON_FENCE.sub("", part))
        ]
    elif text.strip():
        reading.complaints.append(Complaint(text.strip(), NO_JSON))
    return Draft(
        tuple(dict.fromkeys(reading.entities)),
        tuple(dict.fromkeys(reading.relations)),
        tuple(reading.complaints),
        cut=cut,
        says_nothing=found and not (reading.entities or reading.relations or reading.complaints),
    )


class _JsonReading:
    """Collects records from nested values."""

    def __init__(self) -> None:
        self.entities: list[EntityDraft] = []
        self.relations: list[RelationDraft] = []
        self.complaints: list[Complaint] = []

    def take(self, value: Any, *, key: str, depth: int) -> None:  # noqa: ANN401  # any JSON
        """Collect the records of a value under ``key``."""
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
            self._complain(value, "not a record")

    def _take_object(self, value: Mapping[str, Any], key: str, depth: int) -> None:
        fields = _JsonFields(value)
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
                # The key of a container is not a type or a relation.
                is_container = inner.casefold() in _CONTAINERS
                self.take(content, key="" if is_container else inner, depth=depth + 1)
            return
        if kept:
            self._take_rest(fields.left, depth)

    def _take_rest(self, left: Mapping[str, Any], depth: int) -> None:
        """Collect the records inside a record, and complain about unknown fields with words."""
        for name, content in left.items():
            inner = content if isinstance(content, list) else [content]
            if any(isinstance(item, Mapping | list) for item in inner):
                self.take(content, key="" if name in _CONTAINERS else name, depth=depth + 1)
            elif name not in _IGNORED_FIELDS and any(
                isinstance(item, str) and _LETTER_OR_DIGIT.search(item) for item in inner
            ):
                self._complain({name: content}, "an unknown field")

    def _entity(self, name: str, kind: str, summary: str, value: object) -> bool:
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
        """Add a relation and return True, or complain."""
        ends = clean_field(source), clean_field(target)
        fault = name_fault(ends[0]) or name_fault(ends[1])
        if not fault and not (relation.strip() or summary.strip()):
            fault = "a relation without a name and a summary"
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


_IGNORED_FIELDS = frozenset(
    "id index weight strength score confidence rank importance language".split()  # noqa: SIM905
)
"""Fields without content from the text."""


class _JsonFields:
    """The fields of an object by case-folded name; ``left`` are those not taken yet."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.left = _unique_keys((name.casefold(), content) for name, content in value.items())

    def has(self, names: tuple[str, ...]) -> bool:
        return any(map(self._is_text, names))

    def take(self, names: tuple[str, ...]) -> str:
        """Remove the first of these fields that has text, and return the text; "" if none has."""
        name = next(filter(self._is_text, names), "")
        return str(self.left.pop(name)) if name else ""

    def _is_text(self, name: str) -> bool:
        value = self.left.get(name)
        return isinstance(value, str) and bool(value.strip())


def _unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dictionary; mark a repeated name with ', so that no value is lost."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        while name in found:
            name += "'"  # noqa: PLW2901  the same name, marked
        found[name] = value
    return found


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique_keys)
