"""From a question to plans of queries by rules: what it names, what it asks, how they connect.

Stored values and kinds that a question names become things to find, in the order of its words; the
thing that stands behind the question word is the answer; the others are connected to it over the
cheapest links of the schema, those that the question mentions being cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue
from knotwork.retrieval.queries.answers import choose_answer
from knotwork.retrieval.queries.chains import assemble_chains
from knotwork.retrieval.queries.comparisons import (
    AmountComparison,
    require_no_negation,
    require_numbers,
)
from knotwork.retrieval.queries.connecting import Way, find_ways
from knotwork.retrieval.queries.linking import SchemaLinker
from knotwork.retrieval.queries.plans import Operator, PlanHop, PlanNode, QueryPlan
from knotwork.retrieval.queries.schema import TargetSchema
from knotwork.retrieval.queries.slots import Slot, read_slots
from knotwork.retrieval.queries.statements import Asked
from knotwork.retrieval.queries.wording import read_wording

MOST_PLANS = 4
_BACK_COST = 0.35
"""The cost of going on from a thing that was named earlier than the last one, for each between."""
_MERGE_COST = 0.3


def assemble_plans(asked: Asked, linker: SchemaLinker) -> list[QueryPlan]:
    """Return plans that a question may mean, the best first; none where it names nothing.

    Raises QueryRefused if no plan honours all numbers, dates, comparisons and negations of the
    question.
    """
    require_no_negation(asked.text, [m.span for m in asked.mentions])
    wording = read_wording(asked.text)
    compared = [c for c in wording.comparisons if not _is_in_name(c, asked)]
    wording = replace(wording, comparisons=tuple(compared))
    kinds = [kind for kind in asked.schema.kinds if asked.schema.links_of(kind.name)]
    if len(kinds) == 1 and asked.schema.links:
        plans = assemble_chains(asked, linker, wording)
        for plan in plans:  # which compare nothing
            require_numbers(asked.text, _values_of(plan), compared=True)
        return plans
    reading = read_slots(asked, linker, wording)
    if reading is None:
        return []
    plans = []
    refusal: QueryRefused | None = None
    for tree in _connect(reading.slots, reading.answer, asked.schema):
        try:
            plan = choose_answer(tree, reading, wording, asked.schema)
            require_numbers(asked.text, _values_of(plan))
        except QueryRefused as error:
            refusal = refusal or error
        else:
            plans.append(plan)
    if refusal is not None and not plans:
        raise refusal
    return sorted(plans, key=lambda plan: -plan.score)[:MOST_PLANS]


def _is_in_name(comparison: AmountComparison, asked: Asked) -> bool:
    """Return whether an amount is (a part of) a name: "2001: A Space Odyssey", "badge 74-96"."""
    span = comparison.span
    around = [
        m.span for m in asked.mentions if m.span.start <= span.start and span.end <= m.span.end
    ]
    return any(name != span or comparison.operator is not Operator.EQUALS for name in around)


def _values_of(plan: QueryPlan) -> Iterator[PropertyValue]:
    yield from (condition.value for node in plan.nodes for condition in node.conditions)
    if plan.order is not None:
        yield plan.order.limit


@dataclass(frozen=True, slots=True)
class _Tree:
    """A plan that grows: ``slots`` maps the things of the question to the nodes of the plan."""

    plan: QueryPlan
    slots: tuple[tuple[int, int], ...]
    cost: float = 0.0


def _connect(slots: Sequence[Slot], answer: int, schema: TargetSchema) -> list[QueryPlan]:
    """Return plans that connect all slots, the first node being the answer's."""
    first = PlanNode(slots[answer].kind, slots[answer].conditions)
    trees = [_Tree(QueryPlan((first,)), ((answer, 0),))]
    rest = [number for number in range(len(slots)) if number != answer]
    for number in rest:
        grown = [new for tree in trees for new in _attach(tree, number, slots, schema)]
        if not grown:  # what cannot be connected is left out, at a price
            grown = [replace(tree, cost=tree.cost + 4.0) for tree in trees]
        trees = sorted(grown, key=lambda tree: tree.cost)[:MOST_PLANS]
    return [replace(tree.plan, score=-tree.cost) for tree in trees]


def _attach(
    tree: _Tree, number: int, slots: Sequence[Slot], schema: TargetSchema
) -> Iterator[_Tree]:
    slot = slots[number]
    order = [node for _, node in tree.slots]
    for back, node in enumerate(reversed(order)):
        cost = tree.cost + _BACK_COST * back
        kind = tree.plan.nodes[node].kind
        if kind == slot.kind and not slot.is_named and _can_merge(tree.plan.nodes[node], slot):
            skipped = sum(max(group.values()) for group in slot.wanted)
            plan = tree.plan
            for condition in slot.conditions:
                plan = plan.with_condition(node, condition)
            yield _Tree(plan, (*tree.slots, (number, node)), cost + _MERGE_COST + skipped)
        for way in find_ways(schema, kind, slot.kind, slot.wanted, most=2):
            plan, end = _extend(tree.plan, node, way, slot)
            yield _Tree(plan, (*tree.slots, (number, end)), cost + way.cost)


def _can_merge(node: PlanNode, slot: Slot) -> bool:
    taken = {condition.property for condition in node.conditions}
    return not any(condition.property in taken for condition in slot.conditions)


def _extend(plan: QueryPlan, node: int, way: Way, slot: Slot) -> tuple[QueryPlan, int]:
    """Return a plan with the nodes of a way, and the number of the last one."""
    nodes, hops = list(plan.nodes), list(plan.hops)
    here = node
    for place, step in enumerate(way.steps):
        kind = step.link.target if step.forward else step.link.source
        is_last = place == len(way.steps) - 1
        nodes.append(PlanNode(kind, slot.conditions if is_last else ()))
        symmetric = step.link.source == step.link.target
        hops.append(PlanHop(here, len(nodes) - 1, step.link, None if symmetric else step.forward))
        here = len(nodes) - 1
    return replace(plan, nodes=tuple(nodes), hops=tuple(hops)), here
