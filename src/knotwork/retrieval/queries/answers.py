"""What a plan returns: things or a property of them, a count, the newest or the largest."""

from __future__ import annotations

from dataclasses import replace

from knotwork.errors import QueryRefused
from knotwork.retrieval.queries.comparisons import AmountComparison, conditions_of
from knotwork.retrieval.queries.linking import SchemaMention, split_name
from knotwork.retrieval.queries.plans import Operator, Order, PropertyCondition, QueryPlan, Returned
from knotwork.retrieval.queries.schema import (
    KindShape,
    PropertyShape,
    TargetSchema,
    is_day_first,
)
from knotwork.retrieval.queries.slots import Reading
from knotwork.retrieval.queries.wording import DIMENSIONS, Superlative, Wording
from knotwork.text.dates import read_date


def choose_answer(
    plan: QueryPlan, reading: Reading, wording: Wording, schema: TargetSchema
) -> QueryPlan:
    """Return a plan that returns what the words of the question ask for.

    Raises QueryRefused if it cannot honour what the question compares with a number or a date.
    """
    kind = schema.by_name.get(plan.nodes[plan.answer].kind)
    if kind is None:
        return plan
    plan = _compare(plan, reading, wording, schema)
    asked = _asked_property(kind, reading, wording)
    if asked is not None and _is_compared(plan, asked) and not wording.asks_when:
        asked = None  # "who was born before 1935" asks for persons, not for years
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
    """Return a plan with a condition for each comparison. Raises QueryRefused for one without."""
    for comparison in wording.comparisons:
        if _is_held(plan, comparison):
            continue
        found = _compared_property(plan, comparison, reading, schema)
        if found is None:
            raise QueryRefused(
                f"Nothing that is found can be compared with “{comparison.surface}”."
            )
        node, conditions = found
        for condition in conditions:
            plan = plan.with_condition(node, condition)
    return plan


def _is_compared(plan: QueryPlan, shape: PropertyShape) -> bool:
    return any(
        condition.property == shape.name and condition.operator is not Operator.EQUALS
        for condition in plan.nodes[plan.answer].conditions
    )


def _is_held(plan: QueryPlan, comparison: AmountComparison) -> bool:
    """Return whether a time is the stored value that a condition already asks for."""
    if comparison.operator is not Operator.EQUALS or not comparison.first:
        return False
    times = {comparison.first}
    if comparison.number is not None and comparison.first[:4] == comparison.last[:4]:
        times = {f"{comparison.number:.0f}"}
    held = (str(condition.value) for node in plan.nodes for condition in node.conditions)
    return any(value in times or read_date(value) in times for value in held)


def _compared_property(
    plan: QueryPlan, comparison: AmountComparison, reading: Reading, schema: TargetSchema
) -> tuple[int, tuple[PropertyCondition, ...]] | None:
    """Return which node has the property that is compared, and the conditions on it.

    That is the property that is named nearest, a time for a time, or an age for another number.
    """

    def place(mention: SchemaMention) -> int:
        span = comparison.span
        return max(mention.span.start - span.end, span.start - mention.span.end)

    named = sorted((m for m in reading.mentions if m.element == "property"), key=place)
    nearest = {mention.name: rank for rank, mention in reversed(list(enumerate(named)))}
    found: list[tuple[tuple[int, bool, int], int, tuple[PropertyCondition, ...]]] = []
    for number, node in enumerate(plan.nodes):
        kind = schema.by_name.get(node.kind)
        # A thing that is named needs no range besides.
        is_named = any(c.operator is Operator.EQUALS for c in node.conditions)
        for shape in kind.properties if kind else ():
            conditions = conditions_of(comparison, shape)
            if not conditions or (schema.language == "sql" and is_day_first(shape)):
                continue
            if shape.name in nearest:
                found.append(((0, is_named, nearest[shape.name]), number, conditions))
            elif _is_of_kind(comparison, shape):
                found.append(((1, is_named, number), number, conditions))
    best = min(found, key=lambda item: item[0], default=None)
    return (best[1], best[2]) if best else None


def _is_of_kind(comparison: AmountComparison, shape: PropertyShape) -> bool:
    """Return whether a property measures what an amount is: a time, or else an age."""
    words = set(split_name(shape.name).split())
    if comparison.is_time:
        return shape.type == "date" or bool({"year", "born", "released"} & words)
    return "age" in words


def _number_of(kind: KindShape) -> PropertyShape | None:
    return next((s for s in kind.properties if s.type in {"integer", "number"}), None)
