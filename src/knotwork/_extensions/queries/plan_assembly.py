"""Assemble query plans from a question by rules, without a model.

A question has a form of answer (a count, a value, an extreme, or nodes) and slots: the nodes that
it mentions, in the order of its words, with conditions and the links before them. The slot after
the question word is the answer. The others are connected to it over the cheapest links of the
schema, where links that the question mentions are cheap. In a graph whose nodes all have one kind,
plans are chains of relations from an entity.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from knotwork._extensions.queries.query_plans import (
    LinkedQuestion,
    PlanHop,
    PlanNode,
    PropertyCondition,
    QueryPlan,
    Returned,
    SortOrder,
    conditions_of,
    require_no_negation,
    require_numbers,
)
from knotwork._extensions.queries.target_schema import (
    KindShape,
    LinkShape,
    NearValue,
    PropertyShape,
    SchemaLinker,
    SchemaMention,
    StoredValue,
    TargetSchema,
    ValueMention,
    is_day_first,
    split_name,
)
from knotwork._questions.languages import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.evidence_builder import is_in_han
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
    reading = _read_slots(asked, linker, wording)
    if reading is None:
        return []
    plans = []
    refusal: QueryRefused | None = None
    for tree in _connect(reading):
        try:
            plan = _choose_answer(tree, reading)
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


class _Tree(NamedTuple):
    """A partial plan; ``ends`` are the numbers of the nodes that slots became, in their order."""

    plan: QueryPlan
    ends: tuple[int, ...]
    cost: float = 0.0


def _connect(reading: SlotReading) -> list[QueryPlan]:
    """Return plans that connect all slots, with the answer as first node."""
    answer = reading.slots[reading.answer]
    trees = [_Tree(QueryPlan((PlanNode(answer.kind, tuple(answer.conditions)),)), (0,))]
    for slot in (slot for slot in reading.slots if slot is not answer):
        grown = [new for tree in trees for new in _attach(tree, slot, reading.schema)]
        if not grown:  # a slot that cannot be connected is left out at a cost
            grown = [tree._replace(cost=tree.cost + 4.0) for tree in trees]
        trees = sorted(grown, key=lambda tree: tree.cost)[:MOST_PLANS]
    return [replace(tree.plan, score=-tree.cost) for tree in trees]


def _attach(tree: _Tree, slot: Slot, schema: TargetSchema) -> Iterator[_Tree]:
    for back, node in enumerate(reversed(tree.ends)):
        cost = tree.cost + _EARLIER_NODE_COST * back
        kind = tree.plan.nodes[node].kind
        taken = {condition.property for condition in tree.plan.nodes[node].conditions}
        is_free = taken.isdisjoint(condition.property for condition in slot.conditions)
        if kind == slot.kind and not slot.is_named and is_free:
            skipped = sum(max(group.values()) for group in slot.wanted)
            plan = tree.plan
            for condition in slot.conditions:
                plan = plan.with_condition(node, condition)
            yield _Tree(plan, (*tree.ends, node), cost + _MERGE_COST + skipped)
        for steps, price in _find_schema_paths(schema, kind, slot.kind, slot.wanted, most=2):
            nodes, hops, here = list(tree.plan.nodes), list(tree.plan.hops), node
            for link, forward in steps:
                nodes.append(PlanNode(link.target if forward else link.source))
                is_symmetric = link.source == link.target
                hops.append(PlanHop(here, len(nodes) - 1, link, None if is_symmetric else forward))
                here = len(nodes) - 1
            nodes[here] = replace(nodes[here], conditions=tuple(slot.conditions))
            plan = replace(tree.plan, nodes=tuple(nodes), hops=tuple(hops))
            yield _Tree(plan, (*tree.ends, here), cost + price)


def _choose_answer(plan: QueryPlan, reading: SlotReading) -> QueryPlan:
    """Return the plan with what the question asks to return.

    Raises QueryRefused if a comparison of the question cannot be applied.
    """
    wording = reading.wording
    kind = reading.schema.by_name.get(plan.nodes[plan.answer].kind)
    if kind is None:
        return plan
    plan = _compare(plan, reading)
    asked = _asked_property(kind, reading)
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
    found = _superlative(kind, reading)
    if found is not None:
        superlative, by = found
        if (asked is not None and asked.name == by.name) or (asked is None and wording.asks_when):
            end = Returned.MAXIMUM if superlative.descending else Returned.MINIMUM
            return replace(plan, returned=end, property=by.name)
        order = SortOrder(plan.answer, by.name, superlative.descending, superlative.limit)
        plan = replace(plan, order=order)
    else:
        plan = _by_count(plan, reading)
    if asked is not None:
        return replace(plan, returned=Returned.VALUE, property=asked.name)
    return plan


def _asked_property(kind: KindShape, reading: SlotReading) -> PropertyShape | None:
    """Return the property of the answer that the question asks for, or None."""
    answer, wording = reading.slots[reading.answer], reading.wording
    best: SchemaMention | None = None
    for mention in reading.properties:
        shape = kind.property(mention.name)
        if shape is None or mention.span.start < wording.asked_at - 1:
            continue
        close = mention.span.distance(answer.span) <= 12 or mention.span.start <= answer.span.start
        if close and (best is None or mention.score > best.score):
            best = mention
    if best is not None:
        return kind.property(best.name)
    return _by_dimension(kind, "time") if wording.asks_when else None


def _superlative(kind: KindShape, reading: SlotReading) -> tuple[Superlative, PropertyShape] | None:
    for superlative in reading.wording.superlatives:
        by = _by_dimension(kind, superlative.dimension)
        if by is None and superlative.dimension == "size":
            named = (kind.property(mention.name) for mention in reading.properties)
            by = next((shape for shape in named if shape and shape.is_ordered), None)
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


def _by_count(plan: QueryPlan, reading: SlotReading) -> QueryPlan:
    """Sort by the number of related nodes if a superlative precedes their name ("most films")."""
    others = [slot for slot in reading.slots if slot is not reading.slots[reading.answer]]
    for superlative in reading.wording.superlatives:
        if superlative.dimension == "size":
            kinds = [slot.kind for slot in others if slot.span.start >= superlative.start][:1]
            nodes = (n for n, item in enumerate(plan.nodes) if n and item.kind in kinds)
            if (node := next(nodes, None)) is not None:
                order = SortOrder(node, "", superlative.descending, superlative.limit)
                return replace(plan, order=order)
    return plan


def _compare(plan: QueryPlan, reading: SlotReading) -> QueryPlan:
    """Return the plan with conditions for comparisons. Raises QueryRefused if one fits nothing."""
    for comparison in reading.wording.comparisons:
        if _is_held(plan, comparison):
            continue
        found = _compared_property(plan, comparison, reading)
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
    plan: QueryPlan, comparison: AmountComparison, reading: SlotReading
) -> tuple[int, tuple[PropertyCondition, ...]] | None:
    """Return the node whose property is compared, and the conditions on it.

    This is the property mentioned nearest, or a date for a time, or an age for another number.
    """

    def distance(mention: SchemaMention) -> int:
        span = comparison.span
        return max(mention.span.start - span.end, span.start - mention.span.end)

    schema = reading.schema
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


_SchemaStep = tuple[LinkShape, bool]
"""A link of a path, and True if it leads from its source to its target."""


def _find_schema_paths(
    schema: TargetSchema,
    start: str,
    end: str,
    wanted: Sequence[Mapping[str, float]],
    *,
    most: int,
) -> list[tuple[tuple[_SchemaStep, ...], float]]:
    """Return the cheapest paths between two kinds that use ``wanted`` links in their order.

    Each item of ``wanted`` maps the links that some words may mean to scores. A skipped item raises
    the cost of a path.
    """
    links: defaultdict[str, list[_SchemaStep]] = defaultdict(list)
    for link in schema.links:
        links[link.source].append((link, True))
        if link.source != link.target:
            links[link.target].append((link, False))
    found: dict[tuple[_SchemaStep, ...], float] = {}
    queue: list[tuple[float, int, str, int, tuple[_SchemaStep, ...]]] = [(0.0, 0, start, 0, ())]
    serial = 0
    seen: dict[tuple[str, int, int], int] = {}
    while queue and len(found) < most:
        cost, _, kind, matched, steps = heapq.heappop(queue)
        if kind == end and steps and matched == len(wanted):
            found.setdefault(steps, cost)
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
        for link, forward in links.get(kind, ()):
            serial += 1
            following = link.target if forward else link.source
            names = matched < len(wanted) and link.name in wanted[matched]
            mentioned = wanted[matched][link.name] if names else 0.0
            plain = _SELF_COST if link.source == link.target else _PLAIN_COST
            price = plain + mentioned * (_MENTIONED_COST - plain)
            if steps and steps[-1][0] == link and not names:
                price += _WALK_BACK_COST
            entry = (cost + price, serial, following, matched + names, (*steps, (link, forward)))
            heapq.heappush(queue, entry)
    return list(found.items())


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

    @classmethod
    def of(cls, mentions: Sequence[SchemaMention]) -> _Link:
        """Merge overlapping mentions, keeping the names that fit their words best."""
        best = max(m.score for m in mentions)
        ranked = sorted(mentions, key=lambda m: (-m.score, m.name))
        names = dict.fromkeys(m.name for m in ranked if m.score >= best - _AS_GOOD)
        return cls(_around(mentions), tuple(names)[:MOST_ALTERNATIVES], best)


def _overlapping(mentions: Sequence[SchemaMention]) -> list[list[SchemaMention]]:
    """Return groups of mentions that overlap, in order."""
    groups: list[list[SchemaMention]] = []
    for mention in sorted(mentions, key=lambda m: (m.span.start, m.span.end)):
        if groups and mention.span.start < _around(groups[-1]).end:
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _around(mentions: Sequence[SchemaMention]) -> Span:
    return Span(mentions[0].span.start, max(m.span.end for m in mentions))


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
    links = _order(
        [_Link.of(group) for group in _overlapping(mentions)], anchor, wording, asked.text
    )
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
    between = text[min(first.span.end, second.span.end) : max(first.span.start, second.span.start)]
    is_part = first.score < _WHOLE and second.score < _WHOLE
    return (is_part or not shares) and not _PARTING.search(between)


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


LEAST_KIND = 0.5
_LEAST_LINK_OF_SLOT = 0.5
LEAST_PROPERTY = 0.7
_NEAR_CHARACTERS = 30
_ADJACENT_CHARACTERS = 4
_NAMING = ("name", "title", "label")
_RELATIVE = ("who", "whom", "where")
_HINT_SCORE = 0.6
"""Score of a link whose words also name a kind."""


@dataclass(slots=True)
class Slot:
    """A node that a question mentions: its kind, conditions, and the links mentioned before it.

    ``is_named`` means that the question contains a word for its kind, not only its value.
    """

    kind: str
    span: Span
    is_named: bool
    conditions: list[PropertyCondition] = field(default_factory=list)
    wanted: list[dict[str, float]] = field(default_factory=list)


class SlotReading(NamedTuple):
    """The slots of a question, the number of the one asked for, and the properties asked for."""

    slots: list[Slot]
    answer: int
    properties: list[SchemaMention]
    mentions: tuple[SchemaMention, ...]
    wording: AnswerWording
    schema: TargetSchema


def _read_slots(
    asked: LinkedQuestion, linker: SchemaLinker, wording: AnswerWording
) -> SlotReading | None:
    """Return the slots of a question, or None if it mentions nothing of the schema."""
    compared = [c.span for c in wording.comparisons if c.operator is not Operator.EQUALS]
    named = [m for m in asked.mentions if not any(m.span.overlaps(span) for span in compared)]
    values = [m for m in named if _is_sure(m)]
    mentions = linker.link(asked.text, taken=[m.span for m in values])
    unsure = [
        m
        for m in named
        if m not in values
        and m.found[0].nearness == 1.0
        and not any(s.score >= 0.75 and s.span.overlaps(m.span) for s in mentions)
    ]
    values = sorted([*values, *unsure], key=lambda m: m.span.start)
    kinds = _best_apart(
        [
            m
            for m in mentions
            if m.element == "kind"
            and m.score >= LEAST_KIND
            # "Who" and the like behind the question word are relative pronouns.
            and not (
                asked.text[slice(*m.span)].lower() in _RELATIVE
                and m.span.end > max(wording.asked_at, m.span.end - m.span.start)
            )
        ],
        [m for m in mentions if m.element == "property" and m.score >= 0.85],
    )
    properties = _best_apart(
        [m for m in mentions if m.element == "property" and m.score >= LEAST_PROPERTY], []
    )
    links = [m for m in mentions if m.element == "link" and m.score >= _LEAST_LINK_OF_SLOT]
    # Links from a kind to itself separate two nodes of that kind.
    own = {k.name: k.source for k in asked.schema.links if k.source == k.target}
    parted = [(m.span, own[m.name]) for m in links if m.name in own and m.score >= 0.6]
    slots = _fill_slots(values, kinds, properties, parted)
    properties = [m for m in properties if not _is_hint(m, values)]
    if not slots:
        owned = ((k, m) for m in properties for k in asked.schema.kinds if k.property(m.name))
        slots = [Slot(kind.name, m.span, is_named=False) for kind, m in islice(owned, 1)]
    if not slots:
        return None
    answer = _find_answer(
        slots, properties, wording, asked.schema, parted, head_last=is_in_han(asked.text)
    )
    # A slot wants the links mentioned before it; the last one also those behind it.
    for group in _overlapping(links):
        names: dict[str, float] = {}
        for mention in group:
            in_kind = any(mention.span.overlaps(kind.span) for kind in kinds)
            score = mention.score * (_HINT_SCORE if in_kind else 1.0)
            names[mention.name] = max(score, names.get(mention.name, 0.0))
        start = group[0].span.start
        number = next((n for n, s in enumerate(slots) if s.span.start >= start), len(slots) - 1)
        if number == answer:
            number = answer - 1 if answer > 0 else min(1, len(slots) - 1)
        slots[number].wanted.append(names)
    return SlotReading(slots, answer, properties, mentions, wording, asked.schema)


def _is_sure(mention: ValueMention) -> bool:
    """Return True if a value is written as a name: with a digit, a capital or several words."""
    surface = mention.surface
    if not surface.isascii() or any(c.isdigit() for c in surface) or " " in surface.strip():
        return True
    return surface[:1].isupper() and (mention.span.start > 0 or mention.found[0].nearness == 1.0)


def _best_apart(
    mentions: Sequence[SchemaMention], stronger: Sequence[SchemaMention]
) -> list[SchemaMention]:
    """Return the best of overlapping mentions; a longer one of ``stronger`` replaces them."""
    kept: list[SchemaMention] = []
    for mention in sorted(mentions, key=lambda m: (-m.score, m.span.start - m.span.end, m.name)):
        beaten = any(
            mention.span.overlaps(s.span)
            and s.span.end - s.span.start > mention.span.end - mention.span.start
            for s in stronger
        )
        if not beaten and not any(mention.span.overlaps(k.span) for k in kept):
            kept.append(mention)
    return sorted(kept, key=lambda m: m.span.start)


def _fill_slots(
    values: Sequence[ValueMention],
    kinds: Sequence[SchemaMention],
    properties: Sequence[SchemaMention],
    parted: Sequence[tuple[Span, str]],
) -> list[Slot]:
    drafts: list[Slot] = []
    items: list[ValueMention | SchemaMention] = sorted(
        [*values, *kinds], key=lambda item: item.span.start
    )
    for item in items:
        last = drafts[-1] if drafts else None
        if isinstance(item, SchemaMention):
            gap = item.span.start - last.span.end if last else 0
            near = _ADJACENT_CHARACTERS if last and last.is_named else _NEAR_CHARACTERS
            if last and gap <= near and _is_one(last, item.name, item.span, parted):
                last.span, last.is_named = Span(last.span.start, item.span.end), True
            else:
                drafts.append(Slot(item.name, item.span, is_named=True))
            continue
        stored = _choose_value(item, drafts, kinds, properties)
        condition = PropertyCondition(stored.property, stored.value)
        same = last is not None and _is_one(last, stored.kind, item.span, parted)
        is_free = last and all(c.property != condition.property for c in last.conditions)
        if last is not None and same and is_free:
            last.conditions.append(condition)
            last.span = Span(last.span.start, item.span.end)
        else:
            drafts.append(Slot(stored.kind, item.span, False, [condition]))
    return drafts


def _choose_value(
    mention: ValueMention,
    drafts: Sequence[Slot],
    kinds: Sequence[SchemaMention],
    properties: Sequence[SchemaMention],
) -> StoredValue:
    """Return the stored value that a mention means, by the words around it."""
    near_words = {
        m.name: m.score
        for m in properties
        if -_NEAR_CHARACTERS / 2 <= mention.span.start - m.span.end <= _NEAR_CHARACTERS
    }
    named = {kind.name for kind in kinds}
    beside = {
        kind.name
        for kind in kinds
        if kind.span.start >= mention.span.end
        and kind.span.start - mention.span.end <= _ADJACENT_CHARACTERS
    }

    def worth(near: NearValue) -> tuple[float, str]:
        stored = near.stored
        total = near.nearness + 0.6 * near_words.get(stored.property, 0.0)
        total += 0.45 * bool(drafts and drafts[-1].kind == stored.kind)
        total += 0.5 * (stored.kind in beside) + 0.25 * (stored.kind in named)
        total += 0.1 * (stored.property.lower() in _NAMING)
        return -total, str(stored)

    return min(mention.found, key=worth).stored


def _is_one(slot: Slot, kind: str, span: Span, parted: Sequence[tuple[Span, str]]) -> bool:
    return slot.kind == kind and not _is_parted(slot.span, span, kind, parted)


def _is_parted(one: Span, other: Span, kind: str, parted: Sequence[tuple[Span, str]]) -> bool:
    """Return True if a link from this kind to itself is between two spans."""
    return any(of == kind and one.end <= s.start and s.end <= other.start for s, of in parted)


def _is_hint(mention: SchemaMention, values: Sequence[ValueMention]) -> bool:
    """Return True if a property only describes a value next to it."""
    return any(
        0 <= value.span.start - mention.span.end <= _NEAR_CHARACTERS / 2
        and any(near.stored.property == mention.name for near in value.found)
        for value in values
    )


def _find_answer(
    slots: list[Slot],
    properties: Sequence[SchemaMention],
    wording: AnswerWording,
    schema: TargetSchema,
    parted: Sequence[tuple[Span, str]],
    *,
    head_last: bool,
) -> int:
    """Return the number of the slot asked for; one is added for a property that no slot has.

    With ``head_last`` the answer follows its description, as in Chinese.
    """
    after = [n for n, slot in enumerate(slots) if slot.span.end >= wording.asked_at]
    if head_last and (not after or not wording.asked_at):
        return max((n for n, slot in enumerate(slots) if slot.is_named), default=len(slots) - 1)
    first = after[0] if after else 0
    leading = [
        m
        for m in properties
        if wording.asked_at <= m.span.start < slots[first].span.start and m.score >= 0.85
    ]
    if not leading:
        return first
    wanted = leading[0].name
    owners = [kind.name for kind in schema.kinds if kind.property(wanted)]
    has_it = [n for n, s in enumerate(slots) if s.kind in owners and n >= first]
    if has_it and has_it[0] == first:
        if _is_parted(leading[0].span, slots[first].span, slots[first].kind, parted):
            slots.insert(first, Slot(slots[first].kind, leading[0].span, is_named=True))
        return first
    if has_it and len(owners) > 1:
        return has_it[0]
    slots.insert(first, Slot(owners[0], leading[0].span, is_named=True))
    return first


_COUNT = re.compile(
    r"\bhow (?:many|often|frequently)\b|\bcount (?:the|how)\b"
    r"|^\W*(?:\w+\W+){0,6}?(?:the|a|total|what) (?:total )?(?:number|count|tally|quantity)"
    r" (?:of|for)\b"
    r"|\bin total\b|多少|几(?:个|位|部|名|次|条)|数量|个数|总数",
    re.IGNORECASE,
)
_AVERAGE = re.compile(r"\b(?:average|mean)\b|平均", re.IGNORECASE)
_SUM = re.compile(r"\b(?:sum|total (?!number|count))\b|总(?:和|计|共)", re.IGNORECASE)
_SUPERLATIVES: tuple[tuple[str, str, bool], ...] = (
    (
        r"most recent(?:ly)?|latest|newest|last(?! name)|most lately|最近|最新|最晚|最后",
        "time",
        True,
    ),
    (r"earliest|first(?! name)|oldest|original|initial(?:ly)?|最早|最先|第一", "time", False),
    (r"youngest|最年轻|最小的?", "age", False),
    (r"oldest|eldest|最年长|最老", "age", True),
    (r"longest|最长", "length", True),
    (r"shortest|briefest|quickest|最短", "length", False),
    (r"largest|biggest|highest|greatest|most expensive|maximum|most|最大|最高|最多", "size", True),
    (r"smallest|lowest|least|fewest|cheapest|minimum|最低|最少", "size", False),
)
_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE), dimension, descending)
    for words, dimension, descending in _SUPERLATIVES
    for latin in ("|".join(word for word in words.split("|") if word[0].isascii()),)
    for han in ("|".join(word for word in words.split("|") if not word[0].isascii()),)
    for pattern in (rf"\b(?:{latin})\b", han)
)
_SHARES = re.compile(r"\b(?:shar(?:e|es|ed|ing)|same|also|co-?\w+)\b|共同|相同|同一", re.IGNORECASE)
_TOP = re.compile(r"\b(?:top|first|best|last|latest) (\d{1,3})\b|前\s*(\d{1,3})", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:how many|which|what|who|whom|whose|where|when|list|show|name|give|find|provide"
    r"|identify|number of|count of)\b|哪些?|什么|谁|多少|几",
    re.IGNORECASE,
)
DIMENSIONS = {
    "time": ("date", "time", "year", "day", "when", "born", "released"),
    "age": ("age", "born", "birth"),
    "length": ("duration", "length", "runtime", "seconds", "minutes", "hours"),
    "size": ("size", "amount", "count", "total", "price", "rating", "score", "number"),
}
"""Words in property names that indicate what they measure."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """The end of a scale that a question asks for; ``dimension`` is a key of `DIMENSIONS`."""

    dimension: str
    descending: bool
    start: int
    limit: int = 1


@dataclass(frozen=True, slots=True)
class AnswerWording:
    """The form of the answer; ``asked_at`` is the end of the question word."""

    returned: Returned
    superlatives: tuple[Superlative, ...]
    comparisons: tuple[AmountComparison, ...]
    asked_at: int
    asks_when: bool
    shares: bool


def read_answer_wording(text: str) -> AnswerWording:
    """Return the form of answer that the words of a question ask for."""
    returned = Returned.THING
    if _COUNT.search(text):
        returned = Returned.COUNT
    elif _AVERAGE.search(text):
        returned = Returned.AVERAGE
    elif _SUM.search(text):
        returned = Returned.SUM
    asked = _ASKING.search(text)
    top = _TOP.search(text)
    limit = int(next(g for g in top.groups() if g)) if top else 1
    superlatives = [  # an ambiguous one such as "oldest" has two
        Superlative(dimension, descending, match.start(), limit)
        for pattern, dimension, descending in _PATTERNS
        for match in pattern.finditer(text)
    ]
    return AnswerWording(
        returned,
        tuple(sorted(superlatives, key=lambda s: s.start)),
        reading_of(text).comparisons,
        asked.end() if asked else 0,
        reading_of(text).asked_when is not None,
        bool(_SHARES.search(text)),
    )
