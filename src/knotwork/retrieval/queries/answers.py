"""What a plan returns: things or a property of them, a count, the newest or the largest."""

from __future__ import annotations

from dataclasses import replace

from knotwork.retrieval.queries.linking import SchemaMention, split_name
from knotwork.retrieval.queries.plans import Condition, Order, QueryPlan, Returned
from knotwork.retrieval.queries.schema import KindShape, PropertyShape, TargetSchema
from knotwork.retrieval.queries.slots import Reading
from knotwork.retrieval.queries.wording import DIMENSIONS, Comparison, Superlative, Wording

_YEARS = range(1000, 2101)


def choose_answer(
    plan: QueryPlan, reading: Reading, wording: Wording, schema: TargetSchema
) -> QueryPlan:
    """Return a plan that returns what the words of the question ask for."""
    kind = schema.by_name.get(plan.nodes[plan.answer].kind)
    if kind is None:
        return plan
    plan = _compare(plan, reading, wording, schema)
    asked = _asked_property(kind, reading, wording)
    if wording.returned is Returned.COUNT:
        return replace(plan, returned=Returned.COUNT)
    if wording.returned in (Returned.AVERAGE, Returned.SUM):
        number = asked if asked and asked.type in {"integer", "number"} else _number_of(kind)
        if number is not None:
            return replace(plan, returned=wording.returned, property=number.name)
    found = _superlative(kind, reading, wording)
    if found is not None:
        superlative, by = found
        if (asked is not None and asked.name == by.name) or (asked is None and wording.asks_when):
            end = Returned.MAXIMUM if superlative.descending else Returned.MINIMUM
            return replace(plan, returned=end, property=by.name)
        order = Order(plan.answer, by.name, superlative.descending, superlative.limit)
        plan = replace(plan, order=order)
    else:
        plan = _by_count(plan, reading, wording)
    if asked is not None:
        return replace(plan, returned=Returned.VALUE, property=asked.name)
    return plan


def _asked_property(kind: KindShape, reading: Reading, wording: Wording) -> PropertyShape | None:
    """Return the property of the answer that is asked for, if one is."""
    answer = reading.slots[reading.answer]
    best: SchemaMention | None = None
    for mention in reading.properties:
        shape = kind.property(mention.name)
        if shape is None or mention.span.start < wording.asked_at - 1:
            continue
        distance = max(mention.span.start - answer.span.end, answer.span.start - mention.span.end)
        close = distance <= 12 or mention.span.start <= answer.span.start
        if close and (best is None or mention.score > best.score):
            best = mention
    if best is not None:
        return kind.property(best.name)
    if wording.asks_when:
        return _by_dimension(kind, "time")
    return None


def _superlative(
    kind: KindShape, reading: Reading, wording: Wording
) -> tuple[Superlative, PropertyShape] | None:
    for superlative in wording.superlatives:
        by = _by_dimension(kind, superlative.dimension)
        if by is None and superlative.dimension == "size":
            by = next(
                (
                    shape
                    for mention in reading.properties
                    if (shape := kind.property(mention.name)) and shape.is_ordered
                ),
                None,
            )
        if by is not None:
            return superlative, by
    return None


def _by_dimension(kind: KindShape, dimension: str) -> PropertyShape | None:
    """Return the property whose name tells that it measures this, the plainest word first."""
    for word in DIMENSIONS[dimension]:
        for shape in kind.properties:
            if shape.is_ordered and word in split_name(shape.name).split():
                return shape
    return None


def _by_count(plan: QueryPlan, reading: Reading, wording: Wording) -> QueryPlan:
    """Order by how many of the next thing there are, where "most" stands before its name."""
    for superlative in wording.superlatives:
        if superlative.dimension != "size":
            continue
        after = [
            number
            for number, slot in enumerate(reading.slots)
            if slot.span.start >= superlative.start and number != reading.answer
        ]
        node = next(
            (
                number
                for number, item in enumerate(plan.nodes)
                if after and number and item.kind == reading.slots[after[0]].kind
            ),
            None,
        )
        if node is not None:
            order = Order(node, "", superlative.descending, superlative.limit)
            return replace(plan, order=order)
    return plan


def _compare(
    plan: QueryPlan, reading: Reading, wording: Wording, schema: TargetSchema
) -> QueryPlan:
    for comparison in wording.comparisons:
        place = _compared_property(plan, comparison, reading, schema)
        if place is not None:
            node, shape = place
            value = int(comparison.value) if comparison.value.is_integer() else comparison.value
            condition = Condition(shape.name, value, comparison.operator, number=shape.quoted)
            plan = plan.with_condition(node, condition)
    return plan


def _compared_property(
    plan: QueryPlan, comparison: Comparison, reading: Reading, schema: TargetSchema
) -> tuple[int, PropertyShape] | None:
    """Return which number of which node is compared: the one named before it, or a year."""
    before = [m.name for m in reading.mentions if m.element == "property"]
    for number, node in enumerate(plan.nodes):
        kind = schema.by_name.get(node.kind)
        for shape in kind.properties if kind else ():
            if shape.type not in {"integer", "number"}:
                continue
            words = split_name(shape.name).split()
            if shape.name in before:
                return number, shape
            if comparison.value in _YEARS and {"year", "born", "released"} & set(words):
                return number, shape
            if comparison.value not in _YEARS and "age" in words:
                return number, shape
    return None


def _number_of(kind: KindShape) -> PropertyShape | None:
    return next((s for s in kind.properties if s.type in {"integer", "number"}), None)
