"""The schema of a query target: kinds of nodes or rows, their properties, their links.

Labels and relationship types have the same form as tables and the columns that join them, so
translators need not distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from knotwork._text.token_counts import count_tokens
from knotwork.records import PropertyValue

ANY_KIND = ""
"""The kind of nodes without a label."""

SHOWN_SAMPLES = 4
SAMPLE_CHARACTERS = 40
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{4}")
_DAY_FIRST = re.compile(r"\d{2}[/.]\d{2}[/.]\d{4}")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    ((list, tuple), "list"),
    (dict, "map"),
)


@dataclass(frozen=True, slots=True)
class PropertyShape:
    """A property or column: the type of its values, and distinct samples.

    ``type`` is "text", "integer", "number", "boolean", "date", "time", "list" or "map". ``quoted``
    means that numbers or dates are stored as text.
    """

    name: str
    type: str
    samples: tuple[PropertyValue, ...] = ()
    quoted: bool = False

    @property
    def is_ordered(self) -> bool:
        """True if values can be compared by size."""
        return self.type in {"integer", "number", "date", "time"}


@dataclass(frozen=True, slots=True)
class KindShape:
    """A label or table, with the number of its nodes or rows."""

    name: str
    count: int
    properties: tuple[PropertyShape, ...] = ()

    def property(self, name: str) -> PropertyShape | None:
        """Return the property of this name."""
        return next((item for item in self.properties if item.name == name), None)


@dataclass(frozen=True, slots=True)
class LinkShape:
    """Relationships of a type between two kinds, or a pair of columns that joins two tables.

    ``relation`` is the value of a property that distinguishes relationships of the same type, as
    with the relations of documents. ``columns`` are the source and target column in tables.
    """

    type: str
    source: str
    target: str
    count: int = 0
    relation: str = ""
    columns: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The relation, or else the type."""
        return self.relation or self.type


@dataclass(frozen=True)
class TargetSchema:
    """All kinds and links of a target; ``words`` are a user's synonyms for their names.

    ``model_kinds`` and ``model_links`` are only for models that write whole statements. Plans leave
    them out, because their names ("level", "title") are too frequent in questions.
    """

    language: str
    kinds: tuple[KindShape, ...] = ()
    links: tuple[LinkShape, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    model_kinds: tuple[KindShape, ...] = ()
    model_links: tuple[LinkShape, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, KindShape]:
        """The kinds by name."""
        return {kind.name: kind for kind in self.kinds}

    def links_of(self, kind: str) -> list[LinkShape]:
        """Return the links that start or end at a kind."""
        return [link for link in self.links if kind in (link.source, link.target)]

    def whole(self) -> TargetSchema:
        """Return the schema including the kinds and links for models."""
        kinds, links = (*self.kinds, *self.model_kinds), (*self.links, *self.model_links)
        return TargetSchema(self.language, kinds, links, self.words)


def is_day_first(shape: PropertyShape) -> bool:
    """Return True if the dates of a property are written as DD/MM/YYYY."""
    return shape.type == "date" and any(_DAY_FIRST.fullmatch(str(v)) for v in shape.samples)


def shape_property(name: str, values: Iterable[PropertyValue]) -> PropertyShape:
    """Return the shape of a property with the most frequent type of some of its values."""
    present = [value for value in values if value is not None]
    types: dict[str, int] = {}
    quoted = 0
    for value in present:
        kind = _type_of(value)
        types[kind] = types.get(kind, 0) + 1
        quoted += isinstance(value, str) and kind != "text"
    main = max(sorted(types), key=lambda kind: types[kind]) if types else "text"
    if types.get("text", 0) * 20 > len(present) and main in {"integer", "number", "date", "time"}:
        main = "text"  # codes that are mostly numbers
    samples = list(dict.fromkeys(v for v in present if not isinstance(v, list | dict)))
    return PropertyShape(name, main, tuple(samples[:SHOWN_SAMPLES]), quoted * 2 > len(present))


def _type_of(value: PropertyValue) -> str:
    for types, name in _TYPES:
        if isinstance(value, types):
            return name
    text = str(value).strip()
    if _NUMBER.fullmatch(text) and (len(text) == 1 or text[0] != "0"):
        return "number" if "." in text else "integer"
    if _DATE.fullmatch(text):
        return "date"
    return "time" if _TIME.fullmatch(text) else "text"


def describe_target_schema(
    schema: TargetSchema, *, budget_tokens: int = 1_500, first: Sequence[str] = ()
) -> str:
    """Return the schema as text for a model: kinds with counts, properties with samples, links.

    Kinds in ``first`` are listed first, then the most frequent. If the budget is exceeded, the rest
    is left out and a last line states how much.
    """
    order = {name: number for number, name in enumerate(first)}
    kinds = sorted(schema.kinds, key=lambda k: (order.get(k.name, len(order)), -k.count, k.name))
    table = schema.language == "sql"
    lines: list[str] = []
    left, omitted = budget_tokens, 0
    shown = {kind.name for kind in kinds}
    texts = [(kind.name, _kind_line(kind, table=table, words=schema.words)) for kind in kinds]
    links = sorted(
        schema.links,
        key=lambda k: (
            min(order.get(k.source, len(order)), order.get(k.target, len(order))),
            -k.count,
            k.name,
        ),
    )
    for name, line in texts:
        cost = count_tokens(line)
        if cost > left:
            omitted += 1
            shown.discard(name)
            continue
        lines.append(line)
        left -= cost
    for link in links:
        line = _link_line(link, table=table, words=schema.words)
        cost = count_tokens(line)
        if cost > left or not {link.source, link.target} <= shown:
            omitted += 1
            continue
        lines.append(line)
        left -= cost
    if omitted:
        lines.append(f"({omitted} more are not shown)")
    return "\n".join(lines)


def _kind_line(kind: KindShape, *, table: bool, words: Mapping[str, tuple[str, ...]]) -> str:
    parts = [
        f"{item.name} {item.type}{_samples(item)}{_meaning(item.name, words)}"
        for item in kind.properties
    ]
    name = f"table {kind.name}" if table else (f"(:{kind.name})" if kind.name else "()")
    unit = "rows" if table else "nodes"
    return f"{name} {kind.count} {unit}{_meaning(kind.name, words)}: {'; '.join(parts)}"


def _link_line(link: LinkShape, *, table: bool, words: Mapping[str, tuple[str, ...]]) -> str:
    if table:
        return f"{link.source}.{link.columns[0]} = {link.target}.{link.columns[1]}"
    source, target = (f"(:{kind})" if kind else "()" for kind in (link.source, link.target))
    inner = f"{link.type} {{relation: '{link.relation}'}}" if link.relation else link.type
    return f"{source}-[:{inner}]->{target} {link.count} times{_meaning(link.name, words)}"


def _samples(item: PropertyShape) -> str:
    shown = [_sample(value) for value in item.samples]
    return f" (as {', '.join(shown)})" if shown else ""


def _sample(value: PropertyValue) -> str:
    text = " ".join(str(value).split())
    short = text if len(text) <= SAMPLE_CHARACTERS else text[: SAMPLE_CHARACTERS - 1] + "…"
    return f'"{short}"' if isinstance(value, str) else short


def _meaning(name: str, words: Mapping[str, tuple[str, ...]]) -> str:
    found = words.get(name, ())
    return f" [{', '.join(found)}]" if found else ""
