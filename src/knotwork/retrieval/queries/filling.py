"""Slots of templates filled with what a question names, aligned to what is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping

from knotwork.records import PropertyValue
from knotwork.retrieval.queries.statements import Asked
from knotwork.retrieval.queries.templates import SlotShape, Template
from knotwork.retrieval.queries.values import StoredValues, ValueMention, find_mentions
from knotwork.text.dates import read_date
from knotwork.text.names import normal_form

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_QUOTED = re.compile(r"[\"“「《'‘]([^\"”」》'’]+)[\"”」》'’]")


def fill_slots(template: Template, asked: Asked) -> dict[str, PropertyValue] | None:
    """Return values for all slots of a template, or None where the question lacks one.

    Stored values fill slots of their kind and property in the order in which they are named; each
    is used once.
    """
    found: dict[str, PropertyValue] = {}
    used: set[int] = set()
    numbers = [match[0].replace(",", "") for match in _NUMBER.finditer(_unnamed(asked))]
    for name, shape in template.slots.items():
        value = _stored(shape, asked, used) if shape.is_stored() else _typed(shape, asked, numbers)
        if value is None:
            value = shape.default
        if value is None:
            return None
        found[name] = value
    return found


def align_values(
    template: Template, given: Mapping[str, str], values: StoredValues
) -> dict[str, PropertyValue] | None:
    """Return the values that a model gave for slots, as they are stored; None where one lacks."""
    found: dict[str, PropertyValue] = {}
    for name, shape in template.slots.items():
        text = given.get(name, "").strip().strip("\"'“”")
        if not text:
            if shape.default is None:
                return None
            found[name] = shape.default
            continue
        found[name] = _aligned(shape, text, values) if shape.is_stored() else _cast(shape, text)
    return found


def covered(template: Template, asked: Asked) -> float:
    """Return the share of the stored values that a question names which a template can use."""
    if not asked.mentions:
        return 1.0 if not template.slots else 0.0
    wanted = {(s.kind, s.property) for s in template.slots.values() if s.is_stored()}
    usable = sum(
        any((n.stored.kind, n.stored.property) in wanted for n in m.found) for m in asked.mentions
    )
    return usable / len(asked.mentions)


def _stored(shape: SlotShape, asked: Asked, used: set[int]) -> PropertyValue:
    for number, mention in enumerate(asked.mentions):
        if number in used:
            continue
        for near in mention.found:
            if (near.stored.kind, near.stored.property) == (shape.kind, shape.property):
                used.add(number)
                return near.stored.value
    return None


def _typed(shape: SlotShape, asked: Asked, numbers: list[str]) -> PropertyValue:
    if shape.type == "date":
        return read_date(asked.text) or None
    if shape.type in {"integer", "number"}:
        return _cast(shape, numbers.pop(0)) if numbers else None
    quoted = _QUOTED.search(asked.text)
    return quoted[1] if quoted else None


def _cast(shape: SlotShape, text: str) -> PropertyValue:
    if shape.type == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if shape.type in {"integer", "number"}:
        try:
            return float(text)
        except ValueError:
            return None
    return (read_date(text) or text) if shape.type == "date" else text


def _aligned(shape: SlotShape, text: str, values: StoredValues) -> PropertyValue:
    for stored in values.exact([normal_form(text)]).values():
        for item in stored:
            if (item.kind, item.property) == (shape.kind, shape.property):
                return item.value
    for mention in find_mentions(f'"{text}"', values):
        for near in mention.found:
            if (near.stored.kind, near.stored.property) == (shape.kind, shape.property):
                return near.stored.value
    return text


def _unnamed(asked: Asked) -> str:
    """Return the question without the stored values that it names."""
    text = asked.text
    mentions: list[ValueMention] = sorted(asked.mentions, key=lambda m: -m.span.start)
    for mention in mentions:
        text = text[: mention.span.start] + " " * len(mention.surface) + text[mention.span.end :]
    return text
