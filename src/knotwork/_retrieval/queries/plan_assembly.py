"""Assemble query plans from a question by rules, without a model.

Stored values and kinds that a question mentions become nodes in the order of its words; the one
after the question word is the answer. The others are connected to it over the cheapest links of the
schema, where links that the question mentions are cheap. In a graph whose
nodes all have one kind, plans are chains of relations from an entity.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._questions.amounts import AmountComparison, Operator
from knotwork._retrieval.queries.comparisons import (
    conditions_of,
    require_no_negation,
    require_numbers,
)
from knotwork._retrieval.queries.query_plans import (
    LinkedQuestion,
    PlanHop,
    PlanNode,
    PropertyCondition,
    QueryPlan,
    Returned,
    SortOrder,
)
from knotwork._retrieval.queries.question_slots import (
    DIMENSIONS,
    AnswerWording,
    Slot,
    SlotReading,
    Superlative,
    read_answer_wording,
    read_slots,
)
from knotwork._retrieval.queries.schema_linker import SchemaLinker, SchemaMention, split_name
from knotwork._retrieval.queries.stored_values import ValueMention
from knotwork._retrieval.queries.target_schema import (
    KindShape,
    LinkShape,
    PropertyShape,
    TargetSchema,
    is_day_first,
)
from knotwork._text.dates import read_date
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, Span

MOST_PLANS = 4
_EARLIER_NODE_COST = 0.35
"""The cost of each slot passed over when a slot is attached to an earlier one."""
_MERGE_COST = 0.3


def assemble_plans(asked: LinkedQuestion, linker: SchemaLinker) -> list[QueryPlan]:
    """Return plans that a question may mean, best first; none if it mentions nothing of the schema.

    Raises QueryRefused if no plan uses all numbers, dates, comparisons and negations of the
    question.
    """
    require_no_negation(asked.text, [m.span for m in asked.mentions])
    wording = read_answer_wording(asked.text)
    compared = [c for c in wording.comparisons if not _is_in_name(c, asked)]
    wording = replace(wording, comparisons=tuple(compared))
    kinds = [kind for kind in asked.schema.kinds if asked.schema.links_of(kind.name)]
    if len(kinds) == 1 and asked.schema.links:
        plans = assemble_chains(asked, linker, wording)
        for plan in plans:  # chains have no comparisons
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


def _is_in_name(comparison: AmountComparison, asked: LinkedQuestion) -> bool:
    """Return True if an amount is part of a name: "2001: A Space Odyssey", "badge 74-96"."""
    span = comparison.span
    around = [m.span for m in asked.mentions if m.span.contains(span)]
    return any(name != span or comparison.operator is not Operator.EQUALS for name in around)


def _values_of(plan: QueryPlan) -> Iterator[PropertyValue]:
    yield from (condition.value for node in plan.nodes for condition in node.conditions)
    if plan.order is not None:
        yield plan.order.limit


@dataclass(frozen=True, slots=True)
class _Tree:
    """A partial plan; ``slots`` are pairs of slot number and node number."""

    plan: QueryPlan
    slots: tuple[tuple[int, int], ...]
    cost: float = 0.0


def _connect(slots: Sequence[Slot], answer: int, schema: TargetSchema) -> list[QueryPlan]:
    """Return plans that connect all slots, with the answer as first node."""
    first = PlanNode(slots[answer].kind, slots[answer].conditions)
    trees = [_Tree(QueryPlan((first,)), ((answer, 0),))]
    rest = [number for number in range(len(slots)) if number != answer]
    for number in rest:
        grown = [new for tree in trees for new in _attach(tree, number, slots, schema)]
        if not grown:  # a slot that cannot be connected is left out at a cost
            grown = [replace(tree, cost=tree.cost + 4.0) for tree in trees]
        trees = sorted(grown, key=lambda tree: tree.cost)[:MOST_PLANS]
    return [replace(tree.plan, score=-tree.cost) for tree in trees]


def _attach(
    tree: _Tree, number: int, slots: Sequence[Slot], schema: TargetSchema
) -> Iterator[_Tree]:
    slot = slots[number]
    order = [node for _, node in tree.slots]
    for back, node in enumerate(reversed(order)):
        cost = tree.cost + _EARLIER_NODE_COST * back
        kind = tree.plan.nodes[node].kind
        taken = {condition.property for condition in tree.plan.nodes[node].conditions}
        is_free = taken.isdisjoint(condition.property for condition in slot.conditions)
        if kind == slot.kind and not slot.is_named and is_free:
            skipped = sum(max(group.values()) for group in slot.wanted)
            plan = tree.plan
            for condition in slot.conditions:
                plan = plan.with_condition(node, condition)
            yield _Tree(plan, (*tree.slots, (number, node)), cost + _MERGE_COST + skipped)
        for path in find_schema_paths(schema, kind, slot.kind, slot.wanted, most=2):
            plan, end = _extend(tree.plan, node, path, slot)
            yield _Tree(plan, (*tree.slots, (number, end)), cost + path.cost)


def _extend(plan: QueryPlan, node: int, path: SchemaPath, slot: Slot) -> tuple[QueryPlan, int]:
    """Return the plan with the nodes of a path, and the number of the last one."""
    nodes, hops = list(plan.nodes), list(plan.hops)
    here = node
    for number, step in enumerate(path.steps, start=1):
        kind = step.link.target if step.forward else step.link.source
        is_last = number == len(path.steps)
        nodes.append(PlanNode(kind, slot.conditions if is_last else ()))
        symmetric = step.link.source == step.link.target
        hops.append(PlanHop(here, len(nodes) - 1, step.link, None if symmetric else step.forward))
        here = len(nodes) - 1
    return replace(plan, nodes=tuple(nodes), hops=tuple(hops)), here


def choose_answer(
    plan: QueryPlan, reading: SlotReading, wording: AnswerWording, schema: TargetSchema
) -> QueryPlan:
    """Return the plan with what the question asks to return.

    Raises QueryRefused if a comparison of the question cannot be applied.
    """
    kind = schema.by_name.get(plan.nodes[plan.answer].kind)
    if kind is None:
        return plan
    plan = _compare(plan, reading, wording, schema)
    asked = _asked_property(kind, reading, wording)
    ranges = [c for c in plan.nodes[plan.answer].conditions if c.operator is not Operator.EQUALS]
    if asked is not None and not wording.asks_when and asked.name in {c.property for c in ranges}:
        asked = None  # "who was born before 1935" asks for persons, not for years
    if wording.returned is Returned.COUNT:
        return replace(plan, returned=Returned.COUNT)
    if wording.returned in (Returned.AVERAGE, Returned.SUM):
        shapes = (shape for shape in (asked, *kind.properties) if shape is not None)
        number = next((s for s in shapes if s.type in {"integer", "number"}), None)
        if number is not None:
            return replace(plan, returned=wording.returned, property=number.name)
    found = _superlative(kind, reading, wording)
    if found is not None:
        superlative, by = found
        if (asked is not None and asked.name == by.name) or (asked is None and wording.asks_when):
            end = Returned.MAXIMUM if superlative.descending else Returned.MINIMUM
            return replace(plan, returned=end, property=by.name)
        order = SortOrder(plan.answer, by.name, superlative.descending, superlative.limit)
        plan = replace(plan, order=order)
    else:
        plan = _by_count(plan, reading, wording)
    if asked is not None:
        return replace(plan, returned=Returned.VALUE, property=asked.name)
    return plan


def _asked_property(
    kind: KindShape, reading: SlotReading, wording: AnswerWording
) -> PropertyShape | None:
    """Return the property of the answer that the question asks for, or None."""
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
    kind: KindShape, reading: SlotReading, wording: AnswerWording
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
    """Return the property whose name indicates this dimension, by the most common word first."""
    for word in DIMENSIONS[dimension]:
        for shape in kind.properties:
            if shape.is_ordered and word in split_name(shape.name).split():
                return shape
    return None


def _by_count(plan: QueryPlan, reading: SlotReading, wording: AnswerWording) -> QueryPlan:
    """Sort by the number of related nodes if a superlative precedes their name ("most films")."""
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
            order = SortOrder(node, "", superlative.descending, superlative.limit)
            return replace(plan, order=order)
    return plan


def _compare(
    plan: QueryPlan, reading: SlotReading, wording: AnswerWording, schema: TargetSchema
) -> QueryPlan:
    """Return the plan with a condition for each comparison. Raises QueryRefused if one fits
    nothing.
    """
    for comparison in wording.comparisons:
        if _is_held(plan, comparison):
            continue
        found = _compared_property(plan, comparison, reading, schema)
        if found is None:
            raise QueryRefused(f"No property can be compared with “{comparison.surface}”.")
        node, conditions = found
        for condition in conditions:
            plan = plan.with_condition(node, condition)
    return plan


def _is_held(plan: QueryPlan, comparison: AmountComparison) -> bool:
    """Return True if a time is the stored value of an existing condition."""
    if comparison.operator is not Operator.EQUALS or not comparison.first:
        return False
    times = {comparison.first}
    if comparison.number is not None and comparison.first[:4] == comparison.last[:4]:
        times = {f"{comparison.number:.0f}"}
    held = (str(condition.value) for node in plan.nodes for condition in node.conditions)
    return any(value in times or read_date(value) in times for value in held)


def _compared_property(
    plan: QueryPlan, comparison: AmountComparison, reading: SlotReading, schema: TargetSchema
) -> tuple[int, tuple[PropertyCondition, ...]] | None:
    """Return the node whose property is compared, and the conditions on it.

    This is the property mentioned nearest, or a date for a time, or an age for another number.
    """

    def distance(mention: SchemaMention) -> int:
        span = comparison.span
        return max(mention.span.start - span.end, span.start - mention.span.end)

    named = sorted((m for m in reading.mentions if m.element == "property"), key=distance)
    nearest = {mention.name: rank for rank, mention in reversed(list(enumerate(named)))}
    found: list[tuple[tuple[int, bool, int], int, tuple[PropertyCondition, ...]]] = []
    for number, node in enumerate(plan.nodes):
        kind = schema.by_name.get(node.kind)
        # A node with an exact value needs no range as well.
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
    """Return True if a property measures the same as an amount: a time, or else an age."""
    words = set(split_name(shape.name).split())
    if comparison.is_time:
        return shape.type == "date" or bool({"year", "born", "released"} & words)
    return "age" in words


LONGEST_PATH = 4
_PLAIN_COST = 1.0
_SELF_COST = 2.5
"""The cost of a link from a kind to itself that is not mentioned; such links are rarely meant."""
_MENTIONED_COST = 0.25
_SKIPPED_COST = 1.3
_WALK_BACK_COST = 1.0
"""The extra cost of an unmentioned link that was just followed."""


@dataclass(frozen=True, slots=True)
class SchemaPathStep:
    """A link of a path; ``forward`` means from its source to its target."""

    link: LinkShape
    forward: bool


@dataclass(frozen=True, slots=True)
class SchemaPath:
    """Links that lead from one kind to another, with their cost."""

    steps: tuple[SchemaPathStep, ...]
    cost: float


def find_schema_paths(
    schema: TargetSchema,
    start: str,
    end: str,
    wanted: Sequence[Mapping[str, float]],
    *,
    most: int = 3,
) -> list[SchemaPath]:
    """Return the cheapest paths between two kinds that use ``wanted`` links in their order.

    Each item of ``wanted`` maps the links that some words may mean to scores. A skipped item raises
    the cost of a path.
    """
    links = _steps_from(schema)
    found: list[SchemaPath] = []
    queue: list[tuple[float, int, str, int, tuple[SchemaPathStep, ...]]] = [(0.0, 0, start, 0, ())]
    serial = 0
    seen: dict[tuple[str, int, int], int] = {}
    while queue and len(found) < most:
        cost, _, kind, matched, steps = heapq.heappop(queue)
        if kind == end and steps and matched == len(wanted):
            if all(path.steps != steps for path in found):
                found.append(SchemaPath(steps, cost))
            continue
        state = (kind, matched, len(steps))
        seen[state] = seen.get(state, 0) + 1
        if seen[state] > most:
            continue
        if matched < len(wanted):
            serial += 1
            skipped = cost + _SKIPPED_COST * max(wanted[matched].values())
            heapq.heappush(queue, (skipped, serial, kind, matched + 1, steps))
        if len(steps) == LONGEST_PATH:
            continue
        for step in links.get(kind, ()):
            serial += 1
            following = step.link.target if step.forward else step.link.source
            names = matched < len(wanted) and step.link.name in wanted[matched]
            mentioned = wanted[matched][step.link.name] if names else 0.0
            plain = _SELF_COST if step.link.source == step.link.target else _PLAIN_COST
            price = plain + mentioned * (_MENTIONED_COST - plain)
            if steps and steps[-1].link == step.link and not names:
                price += _WALK_BACK_COST
            entry = (cost + price, serial, following, matched + names, (*steps, step))
            heapq.heappush(queue, entry)
    return found


def _steps_from(schema: TargetSchema) -> dict[str, list[SchemaPathStep]]:
    links: dict[str, list[SchemaPathStep]] = {}
    for link in schema.links:
        links.setdefault(link.source, []).append(SchemaPathStep(link, forward=True))
        if link.source != link.target:
            links.setdefault(link.target, []).append(SchemaPathStep(link, forward=False))
    return links


LEAST_LINK = 0.4
LONGEST_CHAIN = 4
MOST_CHAINS = 4
MOST_ALTERNATIVES = 12
_AS_GOOD = 0.1
_CLOSE = 14
_WHOLE = 0.75
_PARTING = re.compile(r"\b(?:by|of|with|whose|that)\b", re.IGNORECASE)
_OPENING = tuple("[\"“「《'‘")


@dataclass(frozen=True, slots=True)
class _Link:
    """Relations that some words may mean."""

    span: Span
    names: tuple[str, ...]
    score: float


def assemble_chains(
    asked: LinkedQuestion, linker: SchemaLinker, wording: AnswerWording
) -> list[QueryPlan]:
    """Return chains of mentioned relations from the entity that a question names most clearly."""
    anchor = _find_anchor(asked)
    if anchor is None:
        return []
    mentions = [
        m
        for m in linker.link(asked.text, taken=[anchor.span])
        if m.element == "link" and m.score >= LEAST_LINK
    ]
    links = _order(_group(mentions), anchor, wording, asked.text)
    chains = [chain[:LONGEST_CHAIN] for chain in _readings(links, wording)]
    count = wording.returned is Returned.COUNT
    plans = [
        _plan(anchor, chain, asked.schema, count=count, score=-float(number))
        for number, chain in enumerate(dict.fromkeys(chains))
    ]
    return [plan for plan in plans if plan is not None][:MOST_CHAINS]


def _find_anchor(asked: LinkedQuestion) -> ValueMention | None:
    """Return the most clearly named entity: in quotes, with a capital, or with a long name.

    Ordinary words of the question may also be names; they are not preferred.
    """

    def doubt(mention: ValueMention) -> tuple[float, bool, bool, int]:
        before = asked.text[max(mention.span.start - 1, 0) : mention.span.start]
        is_name = any(c.isupper() or c.isdigit() or ord(c) > 127 for c in mention.surface)
        length = mention.span.start - mention.span.end
        return -mention.found[0].nearness, before not in _OPENING, not is_name, length

    return min(asked.mentions, key=doubt, default=None)


def _group(mentions: Sequence[SchemaMention]) -> list[_Link]:
    """Merge overlapping mentions, keeping the names that fit their words best."""
    groups: list[list[SchemaMention]] = []
    for mention in sorted(mentions, key=lambda m: (m.span.start, m.span.end)):
        if groups and mention.span.start < max(m.span.end for m in groups[-1]):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    found = []
    for group in groups:
        best = max(m.score for m in group)
        ranked = sorted(group, key=lambda m: (-m.score, m.name))
        names = dict.fromkeys(m.name for m in ranked if m.score >= best - _AS_GOOD)
        span = Span(group[0].span.start, max(m.span.end for m in group))
        found.append(_Link(span, tuple(names)[:MOST_ALTERNATIVES], best))
    return found


def _order(
    links: Sequence[_Link], anchor: ValueMention, wording: AnswerWording, text: str
) -> list[_Link]:
    """Return relations in the order in which they lead away from the anchor.

    Words before it are read backwards, words after it forwards. If the question word follows the
    anchor, the answer does too, and the words before the anchor are read first.
    """
    before = [link for link in links if link.span.end <= anchor.span.start][::-1]
    after = [link for link in links if link.span.start >= anchor.span.end]
    asked_after = wording.asked_at > anchor.span.end
    ordered = [*before, *after] if asked_after else [*after, *before]
    kept: list[_Link] = []
    for link in ordered:
        is_repeated = kept and _is_same_relation(kept[-1], link, text, shares=wording.shares)
        if not is_repeated:
            kept.append(link)
    return kept


def _is_same_relation(first: _Link, second: _Link, text: str, *, shares: bool) -> bool:
    """Return True if two mentions mean one relation, as both words in "starred which actors"."""
    if not set(first.names) & set(second.names) or first.span.distance(second.span) > _CLOSE:
        return False
    if first.score < _WHOLE and second.score < _WHOLE:
        return not _PARTING.search(_between(first.span, second.span, text))
    return not shares and not _PARTING.search(_between(first.span, second.span, text))


def _between(first: Span, second: Span, text: str) -> str:
    return text[min(first.end, second.end) : max(first.start, second.start)]


def _readings(links: Sequence[_Link], wording: AnswerWording) -> list[tuple[tuple[str, ...], ...]]:
    """Return the chains that the words may mean, most likely first."""
    names = tuple(link.names for link in links)
    found = [names]
    if wording.shares and names:
        doubled = (names[0], *names) if len(names) < 2 or names[0] != names[1] else names
        found.insert(0, doubled)
    sure = tuple(link.names for link in links if link.score >= 0.75)
    if sure and sure != names:
        found.append(sure)
    if len(names) > 1:
        found += [names[:1], names[-1:]]
    return found


def _plan(
    anchor: ValueMention,
    chain: Sequence[Sequence[str]],
    schema: TargetSchema,
    *,
    count: bool,
    score: float,
) -> QueryPlan | None:
    stored = anchor.found[0].stored
    by_name: dict[str, list[LinkShape]] = {}
    for link in schema.links:
        by_name.setdefault(link.name, []).append(link)
    nodes = [PlanNode(stored.kind, (PropertyCondition(stored.property, stored.value),))]
    hops = []
    for names in chain:
        links = [link for name in names for link in by_name[name]]
        nodes.append(PlanNode(stored.kind))
        hops.append(PlanHop(len(nodes) - 2, len(nodes) - 1, links[0], None, tuple(links[1:])))
    if not hops:
        return None
    plan = QueryPlan(tuple(nodes), tuple(hops), answer=len(nodes) - 1, score=score)
    return replace(plan, returned=Returned.COUNT) if count else plan
