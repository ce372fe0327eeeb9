"""Chains of links that use the words of a question, and the statements written from them.

A chain begins at a named node, or at the nodes of a kind, and ends at the answer. Each word adds a
link, a property or a kind of nodes; at most two links may have no word, where the graph leaves no
choice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Any, NamedTuple

from knotwork._extensions.queries.graph_words import ANY, GraphLink, GraphModel, Item, Meaning
from knotwork._extensions.queries.query_plans import (
    Statement,
    conditions_of,
)
from knotwork._extensions.queries.query_targets import quote_name, sort_key
from knotwork._extensions.queries.target_schema import PropertyShape
from knotwork._questions.languages import AmountComparison
from knotwork._retrieval.query_rows import COUNT, HOLDS, SHOWN_NAMES
from knotwork._text.schema_words import Role
from knotwork.records import PropertyValue, Span

MOST_ITEMS = 5
SOURCED_ROWS = 60
"""The maximum number of rows of the statement for the sources of an answer."""
_FREE = 0.6
"""The cost of a link that no word of the question means."""
_MOST_FREE = 2
_SAME_LINK = 0.3
_REPEATED = 0.35
_REPEATED_NEAR = 0.2
_HELD = 0.1
_TURNED = 0.3
"""The cost of each two words whose order on the chain is not that of their distance."""
_MOST_TURNED = 2
_MOST_CHAINS = 60
ASKING = re.compile(
    r"\b(?:which|what|how many|whose)\b(?:['’]s)?(?:\s+(?:is|are|was|were|of|the|other))*"
    r"(?:\s+(?:(?:total|overall)\s+)?(?:number|count)\s+of(?:\s+the)?)?"
    r"|哪(?:一?[个部位名家本些首种]|些)?|什么|多少|几[个部位名家本首种]?",
    re.IGNORECASE,
)
WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day)\b|哪一?[年天]|什么时候|何时", re.IGNORECASE
)
WHERE = re.compile(r"\bwhere\b|哪里|哪儿|何处|什么地方", re.IGNORECASE)
_QUESTION_WORD = re.compile(
    r"\b(?:who(?:m|se)?|which|what|when|where|how)\b|哪|什么|谁|何时|何处|多少|几", re.IGNORECASE
)
_PASSIVE = re.compile(
    r"\b(?:(?:is|are|was|were)(?:n['’]t)?|been|being|be)\b(?:\s+\w+)?\s*$|被\S{0,4}$",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(r"\s*\w+ed\b")
_OF = re.compile(r"s?\s+of\b")
_BY = re.compile(r"\bby\s+(?:the\s+)?(?:\w+\s+)?$|[由被]$", re.IGNORECASE)
_BY_WHOM_ZH = re.compile(r"(?:是|由|被)?(?:谁|哪位|哪些人|哪个人|什么人)")
_WHOSE = re.compile(r"\bwhose\s+$", re.IGNORECASE)
_BEING_A = re.compile(r"\W+an?\s+", re.IGNORECASE)
_OF_WHICH = re.compile(r"\s+(?:of|for|in|on)(?:\s+(?:which|what|whom)\b|\W*$)", re.IGNORECASE)
_OF_WHICH_ZH = re.compile(r"是(?:哪|什么|谁)\S{0,6}的$")

Parameters = dict[str, PropertyValue]


class Name(NamedTuple):
    """A node, or several of one name, that a question names."""

    span: Span
    surface: str
    kind: str
    property: str
    value: PropertyValue


class Step(NamedTuple):
    """A link of a chain, and True if it is followed from its source to its target."""

    link: GraphLink
    forward: bool

    @property
    def end(self) -> str:
        """The kind that it leads to."""
        return self.link.target if self.forward else self.link.source

    @property
    def back(self) -> Step:
        """The same link in the other direction."""
        return Step(self.link, not self.forward)

    @property
    def reaches_doer(self) -> bool | None:
        """True if it leads to who does what the link says, None if that is unclear."""
        return None if self.link.doer is None else self.link.doer != self.forward

    @property
    def reaches_doer_or_source(self) -> bool:
        """True if it leads to who does what the link says, its source if that is unclear."""
        return not self.forward if self.reaches_doer is None else self.reaches_doer

    @property
    def is_within(self) -> bool:
        """True if both ends are of one kind."""
        return self.link.source == self.link.target


@dataclass(frozen=True)
class Chain:
    """Links from a node of a kind.

    ``properties`` are those named, with their place on the way; ``conditions`` are links to times
    and numbers to compare, ``held`` the named properties of links. ``free`` is the number of links
    that no word means. A chain from the ``subject`` of a verb leads to what that does or undergoes.
    """

    kind: str
    steps: tuple[Step, ...] = ()
    properties: tuple[tuple[int, PropertyShape, Item], ...] = ()
    conditions: tuple[Step, ...] = ()
    held: tuple[tuple[GraphLink, PropertyShape], ...] = ()
    cost: float = 0.0
    free: int = 0
    subject: Span | None = None

    @property
    def end(self) -> str:
        """The kind of its last node."""
        return self.steps[-1].end if self.steps else self.kind

    @property
    def types(self) -> list[str]:
        """The types of its links."""
        return [step.link.type for step in self.steps]

    def held_by(self, nodes: Sequence[str]) -> list[tuple[str, PropertyShape]]:
        """Return the named properties of links, each with the one of ``nodes`` behind its link."""
        return [
            (node, shape)
            for node, step in zip(nodes[1:], self.steps, strict=True)
            for link, shape in self.held
            if link.type == step.link.type
        ]

    @property
    def back(self) -> Chain:
        """The same links from the other end."""
        steps = tuple(step.back for step in reversed(self.steps))
        return replace(self, kind=self.end, steps=steps, properties=())

    def with_step(self, step: Step, cost: float, *, is_free: bool = False) -> Chain:
        """Return the chain with one more link."""
        steps = (*self.steps, step)
        return replace(self, steps=steps, cost=self.cost + cost, free=self.free + is_free)


@dataclass(frozen=True)
class GraphPlan:
    """A statement with its cost, and one for the nodes on the way to each of its rows.

    ``hops`` are the columns of the latter that a link joins, or twice the same for a property.
    ``limit`` is the number of first rows wanted, with all equal to the last of them; 0 for all.
    ``names`` are those of a question with yes or no. With ``numbers``, rows are sorted by those of
    the names in their last column, ``descending`` or not. ``is_value`` marks a mean or a sum.
    Rows begin with ``value``; if that is the name of a node, it is the property ``naming``.
    """

    text: str
    parameters: Parameters
    cost: float
    sources: str = ""
    hops: tuple[tuple[int, int], ...] = ()
    is_count: bool = False
    is_check: bool = False
    is_value: bool = False
    wants_time: bool = False
    limit: int = 0
    names: tuple[str, ...] = ()
    numbers: Mapping[str, float] | None = None
    descending: bool = False
    value: str = ""
    naming: str = ""

    @property
    def of_nodes(self) -> str:
        """The statement whose rows begin with nodes rather than their names."""
        node = self.value.partition(".")[0] if self.naming else self.value
        return self.text.replace(f"{self.value} AS", f"{node} AS")


class ChainFinder:
    """Finds the chains that use words of a question, the cheapest for the nearest words first."""

    def __init__(self, model: GraphModel, text: str, *, compares: bool, asks_held: bool) -> None:
        self._model = model
        self._text = text
        self._compares = compares
        self._asks_held = asks_held
        self._widest_ways: dict[tuple[Span, str, str], Step | None] = {}

    def find(
        self,
        start: Chain,
        name: Name | None,
        items: Sequence[Item],
        *,
        origin: Span | None = None,
        is_turned: bool = False,
        may_be_free: bool = False,
    ) -> Iterator[Chain]:
        """Yield chains that begin with ``start`` and use all items, each once.

        Without a name, the words nearest to ``origin`` are used first. With ``is_turned``, nouns
        are about the named node itself. With ``may_be_free``, a chain without items may consist of
        one link that no word means.
        """
        if len(items) > MOST_ITEMS:
            return
        at = name.span if name else origin or Span(0, 0)
        asking = _QUESTION_WORD.search(self._text) if name else None
        # "The films directed by A were written by whom": what describes the films comes first.
        is_last = asking is not None and asking.start() >= at.end
        near = sorted(
            items,
            key=lambda item: (is_last and item.span.start >= at.end, item.span.distance(at)),
        )
        for order in permutations(range(len(near))):
            turned = sum(a > b for n, a in enumerate(order) for b in order[n + 1 :])
            if turned <= _MOST_TURNED:
                first = replace(start, cost=start.cost + _TURNED * turned)
                walk = self._walk(first, name, [near[n] for n in order], is_turned=is_turned)
                yield from islice(walk, _MOST_CHAINS)
        if may_be_free and not items and not start.steps:
            for way in self._free_ways(start, name):
                yield start.with_step(way, _FREE, is_free=True)

    def _walk(
        self, chain: Chain, name: Name | None, items: list[Item], *, is_turned: bool
    ) -> Iterator[Chain]:
        if not items:
            yield chain
            return
        item, *rest = items
        for meaning in item.meanings:
            for longer in self._extend(chain, name, item, meaning, is_turned=is_turned):
                yield from self._walk(longer, name, rest, is_turned=is_turned)

    def _extend(
        self, chain: Chain, name: Name | None, item: Item, meaning: Meaning, *, is_turned: bool
    ) -> Iterator[Chain]:
        """Yield the chain with what a word means added, over at most one link without a word."""
        if meaning.property is not None:
            for reached in self._reach(chain, name, meaning.kind or ""):
                place = (len(reached.steps), meaning.property, item)
                properties = (*reached.properties, place)
                yield replace(reached, cost=reached.cost + meaning.cost, properties=properties)
        elif meaning.kind is not None:
            reach = (
                self._reach_any(chain, name, is_person=meaning.is_person)
                if meaning.kind == ANY
                else self._reach(chain, name, meaning.kind)
            )
            for reached in reach:
                yield replace(reached, cost=reached.cost + meaning.cost)
        elif meaning.link is not None:
            yield from self._extend_link(chain, name, item, meaning, is_turned=is_turned)

    def _extend_link(
        self, chain: Chain, name: Name | None, item: Item, meaning: Meaning, *, is_turned: bool
    ) -> Iterator[Chain]:
        """Yield the chain with a link, a property of one, or a condition on what it leads to."""
        link = meaning.link
        if link is None:
            return
        if meaning.held is not None:
            if meaning.role is Role.RESULT:
                held = (*chain.held, (link, meaning.held))
                cost = chain.cost + meaning.cost
                if link.type in chain.types:
                    yield replace(chain, cost=cost, held=held)
                elif not chain.steps:
                    for way in (Step(link, True), Step(link, False)):
                        if way.back.end == chain.end and not way.is_within:
                            yield replace(chain, held=held).with_step(way, meaning.cost + _HELD)
        elif link.has_values and self._compares:
            # "Released before 1988" is a condition on the node at hand.
            if chain.end == link.source:
                conditions = (*chain.conditions, Step(link, True))
                yield replace(chain, cost=chain.cost + meaning.cost, conditions=conditions)
        else:
            yield from self._follow(chain, name, item, meaning, is_turned=is_turned)

    def _follow(
        self, chain: Chain, name: Name | None, item: Item, meaning: Meaning, *, is_turned: bool
    ) -> Iterator[Chain]:
        """Yield the chain with the link that a word means."""
        if meaning.role is not Role.DEED and any(s.link == meaning.link for s in chain.steps):
            # "Which actor plays", "who wrote the script": the noun is a node of the chain.
            cost = _REPEATED_NEAR if self.is_asked(item) else _REPEATED
            yield replace(chain, cost=chain.cost + meaning.cost + cost)
        for way in self._ways(chain, name, item, meaning, is_turned=is_turned):
            yield chain.with_step(way, meaning.cost)
            for other in item.meanings if self._asks_held else ():
                if other.held and other.link == meaning.link and meaning.role is Role.DEED:
                    longer = chain.with_step(way, meaning.cost + _HELD)
                    yield replace(longer, held=(*chain.held, (way.link, other.held)))
        if chain.free >= _MOST_FREE:
            return
        for free in self._free_ways(chain, name):
            is_back = bool(chain.steps) and free == chain.steps[-1].back
            if free.link != meaning.link and not is_back:
                longer = chain.with_step(free, _FREE, is_free=True)
                for way in self._ways(longer, name, item, meaning, is_turned=is_turned):
                    yield longer.with_step(way, meaning.cost)

    def is_asked(self, item: Item) -> bool:
        """Return True if a noun is behind the question word."""
        before = self._text[: item.span.start]
        asking = list(ASKING.finditer(before))
        return bool(asking) and not before[asking[-1].end() :].strip()

    def _reach(self, chain: Chain, name: Name | None, kind: str) -> Iterator[Chain]:
        """Yield the chain if its end is of a kind, or with the only link to such nodes."""
        if chain.end == kind:
            yield chain
            if not chain.steps or chain.steps[-1].is_within:
                return
        if chain.free < _MOST_FREE:
            for way in self._free_ways(chain, name):
                if way.end == kind:
                    yield chain.with_step(way, _FREE, is_free=True)

    def _reach_any(self, chain: Chain, name: Name | None, *, is_person: bool) -> Iterator[Chain]:
        """Yield the chain if its end may be a person, or else a thing, without a label."""
        if not chain.steps:
            if name is None:
                yield chain
            else:
                yield replace(chain, cost=chain.cost + _SAME_LINK)
                for way in self._free_ways(chain, name):
                    if bool(way.reaches_doer) == is_person:
                        yield chain.with_step(way, _FREE, is_free=True)
            return
        last = chain.steps[-1]
        if last.link.has_values:
            return
        is_unclear = last.is_within or last.reaches_doer is None or not last.link.has_agents
        if is_unclear or last.reaches_doer == is_person:
            yield chain
        elif not is_person and last.back.end != chain.end:
            # "The films of the director" are those that the same link leads to.
            yield chain.with_step(last.back, _SAME_LINK, is_free=True)

    def _free_ways(self, chain: Chain, name: Name | None) -> Iterator[Step]:
        """Yield the links without a word that may follow: the only one between two kinds.

        From a named node with several, it is the one that leads to all that the others lead to.
        """
        if chain.steps and not chain.steps[-1].is_within:
            yield chain.steps[-1].back
        by_kind = defaultdict[str, list[Step]](list)
        for link in self._model.links:
            for forward in (True, False):
                way = Step(link, forward)
                if way.back.end == chain.end and not way.is_within:
                    by_kind[way.end].append(way)
        for ways in by_kind.values():
            if len(ways) == 1:
                yield ways[0]
            elif not chain.steps and name is not None:
                key = name.span, chain.end, ways[0].end
                if key not in self._widest_ways:  # other orders of the words ask again
                    self._widest_ways[key] = self._widest(name, ways)
                if widest := self._widest_ways[key]:
                    yield widest

    def _widest(self, name: Name, ways: Sequence[Step]) -> Step | None:
        """Return the way from a node that leads to all nodes that the other ways lead to."""
        reached = []
        for way in ways:
            writer = StatementWriter(self._model)
            nodes = writer.follow(writer.named(name), (way,))
            text = writer.text(f"RETURN DISTINCT id({nodes[-1]})")
            rows = self._model.target.run(Statement(text, writer.parameters)).rows
            reached.append({row[0] for row in rows})
        every = set[PropertyValue]().union(*reached)
        whole = [way for way, found in zip(ways, reached, strict=True) if found == every]
        return whole[0] if every and len(whole) == 1 else None

    def _ways(
        self, chain: Chain, name: Name | None, item: Item, meaning: Meaning, *, is_turned: bool
    ) -> Iterator[Step]:
        """Yield the directions in which a link can be followed from the end of a chain.

        Between nodes of one kind, none of which is named or the subject of the verb, its voice
        decides nothing.
        """
        link = meaning.link
        is_open = name is None and meaning.role is Role.DEED
        subject = None if chain.steps else chain.subject
        if link is None or (is_open and subject is None and link.source == link.target):
            return
        first = name if not chain.steps else None
        for way in (Step(link, True), Step(link, False)):
            if way.back.end != chain.end:
                continue
            if link.is_placed:
                fits = self._fits_place(way, first, meaning)
            elif meaning.role is Role.DEED and subject and way.is_within:
                is_undergone = _PASSIVE.search(self._text[subject.end : item.span.start])
                fits = way.reaches_doer_or_source == bool(is_undergone)
            elif meaning.role is Role.DEED:
                fits = self._fits_deed(way, first, item)
            else:
                fits = self._fits_noun(way, first, item, meaning, is_turned=is_turned)
            if fits:
                yield way

    def _fits_place(self, way: Step, first: Name | None, meaning: Meaning) -> bool:
        """Return True if the time or place of an event is asked for, or the event at one."""
        if not way.forward:
            return first is not None
        is_noun = meaning.role is not Role.DEED
        asks = WHEN.search(self._text) or WHERE.search(self._text)
        return way.link.has_values or is_noun or asks is not None

    def _fits_deed(self, way: Step, first: Name | None, item: Item) -> bool:
        """Return True if a verb may lead this way; between nodes of one kind, its voice decides.

        A name that no word list has is read as a verb, as in "A follows B", and before "of" as a
        noun: "the mentor of A" is what its link leads to.
        """
        if not way.is_within or first is None:
            return True
        is_of = _OF.match(self._text[item.span.end : first.span.start])
        if way.reaches_doer is None and is_of:
            return way.forward
        return self._is_undergone(first, item) == way.reaches_doer_or_source

    def _fits_noun(
        self, way: Step, first: Name | None, item: Item, meaning: Meaning, *, is_turned: bool
    ) -> bool:
        """Return True if a way leads to what a noun means, or from the node that it describes."""
        if way.reaches_doer is None:
            return True
        before, after = self._text[: item.span.start], self._text[item.span.end :]
        wants_doer = meaning.role is Role.DOER
        if _WHOSE.search(before):
            wants_doer = not wants_doer  # "whose son" is the parent
        # "Which films was A a writer on", "is the director of which films"
        is_a = first and _BEING_A.fullmatch(self._text[first.span.end : item.span.start])
        if is_a or _OF_WHICH.match(after) or _OF_WHICH_ZH.search(before) or is_turned:
            wants_doer = not wants_doer
        if wants_doer == way.reaches_doer:
            return True
        # "The director Nora Ephron" is she herself.
        between = self._text[item.span.end : first.span.start] if first else "-"
        return first is not None and item.span.end <= first.span.start and not between.strip()

    def _is_undergone(self, name: Name, item: Item) -> bool:
        """Return True if the named node undergoes a deed, so that its doer is asked for."""
        text = self._text
        before = text[: name.span.start]
        if item.span.start < name.span.start:
            return not _BY.search(text[item.span.end : name.span.start])
        if _BY.search(before):
            return False
        between = text[name.span.end : item.span.start]
        is_participle = _PARTICIPLE.match(text[name.span.end :])
        if _PASSIVE.search(between) or (_PASSIVE.search(before) and is_participle):
            return True
        return not text.isascii() and _BY_WHOM_ZH.search(between) is not None


class StatementWriter:
    """Writes a statement for chains; values are parameters.

    ``shown`` are the expressions for the names of the nodes, ``hops`` the pairs that a link joins.
    """

    def __init__(self, model: GraphModel) -> None:
        self.parameters: Parameters = {}
        self.where: list[str] = []
        self.shown: list[str] = []
        self.hops: list[tuple[int, int]] = []
        self._model = model
        self._patterns: list[str] = []
        self._namings: dict[str, str] = {}

    def parameter(self, value: PropertyValue) -> str:
        """Return the name of a new parameter with a value."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"

    def kind(self, kind: str) -> str:
        """Return a new node of a kind, as the start of a chain."""
        node = self._node(kind)
        self._patterns.append(f"({node}{_label(kind)})")
        return node

    def named(self, name: Name) -> str:
        """Return a new node with a name, as the start of a chain."""
        node = self._node(name.kind)
        value = self.parameter(name.value)
        self._patterns.append(
            f"({node}{_label(name.kind)} {{{quote_name(name.property)}: {value}}})"
        )
        return node

    def around(self, start: str, links: Sequence[GraphLink]) -> str:
        """Return a new node that one of some links joins to a node, in any direction."""
        node, types = self._node(""), "|".join(link.pattern for link in links)
        self._patterns.append(f"({start})-[r{node}:{types}]-({node})")
        self.hops.append((int(start[1:]), int(node[1:])))
        return node

    def follow(self, start: str, steps: Sequence[Step], *, end: str = "") -> list[str]:
        """Return the nodes of a chain from a node; the last one is ``end`` if that is given."""
        nodes = [start]
        for number, step in enumerate(steps, 1):
            is_end = bool(end) and number == len(steps)
            node = end if is_end else self._node(step.end)
            link = _arrow(step, f"r{node}" if not is_end else "")
            self._patterns.append(
                f"({nodes[-1]}){link}({node}{'' if is_end else _label(step.end)})"
            )
            self.hops.append((int(nodes[-1][1:]), int(node[1:])))
            nodes.append(node)
        return nodes

    def deny(self, start: str, steps: Sequence[Step], end: str) -> None:
        """Require that a chain does not lead from a node to another one."""
        text = f"({start})"
        for number, step in enumerate(steps, 1):
            node = f"({end})" if number == len(steps) else f"({_label(step.end)})"
            text += _arrow(step, "") + node
        self.where.append(f"NOT {text}" if steps else f"{start} <> {end}")

    def lack(self, start: str, steps: Sequence[Step]) -> None:
        """Require that a chain from a node leads nowhere."""
        text = "".join(f"{_arrow(step, '')}({_label(step.end)})" for step in steps)
        self.where.append(f"NOT ({start}){text}")

    def compare(self, node: str, shape: PropertyShape, comparison: AmountComparison) -> None:
        """Compare a property of a node or of a link."""
        key = sort_key(f"{node}.{quote_name(shape.name)}", shape)
        for condition in conditions_of(comparison, shape):
            self.where.append(f"{key} {condition.operator} {self.parameter(condition.value)}")

    def compare_name(self, node: str, step: Step, comparison: AmountComparison) -> None:
        """Compare the number in the name of the node that a link leads to."""
        conditions = conditions_of(comparison, PropertyShape("", "number"))
        fitting = [
            name
            for name, number in self._model.numbers_of(step.link).items()
            if all(
                replace(comparison, operator=c.operator, number=c.value).is_met_by(number)
                for c in conditions
            )
        ]
        end = self.follow(node, (step,))[-1]
        self.where.append(f"{self.name_of(end, step.end)} IN {self.parameter(fitting)}")

    def name_of(self, node: str, kind: str) -> str:
        """Return the expression for the name of a node."""
        return f"{node}.{quote_name(self._model.naming_of(kind))}"

    def text(self, *ending: str) -> str:
        """Return the statement with what it returns."""
        where = [f"WHERE {' AND '.join(self.where)}"] if self.where else []
        return "\n".join([f"MATCH {', '.join(self._patterns)}", *where, *ending])

    def plan(
        self,
        value: str,
        cost: float,
        *ending: str,
        **options: Any,  # noqa: ANN401  fields of `GraphPlan`
    ) -> GraphPlan:
        """Return the plan of a statement whose rows begin with ``value``."""
        shown = ", ".join(f"{text} AS s{n}" for n, text in enumerate(self.shown))
        sources = self.text(f"RETURN {value} AS answer, {shown} LIMIT {SOURCED_ROWS}")
        plan = GraphPlan(self.text(*ending), self.parameters, cost, sources, tuple(self.hops))
        given = {"value": value, "naming": self._namings.get(value, "")} | options
        return replace(plan, **given)

    def _node(self, kind: str) -> str:
        node = f"n{len(self.shown)}"
        self.shown.append(self.name_of(node, kind))
        self._namings[self.shown[-1]] = self._model.naming_of(kind)
        return node


def count_ending(node: str, name: str, label: str) -> str:
    """Return what counts nodes, and lists the first of their names."""
    names = f"collect(DISTINCT {name})[..{SHOWN_NAMES}]"
    return f"RETURN count(DISTINCT {node}) AS {COUNT}, {names} AS {quote_name(label)}"


def check_ending(name: str, wanted: str, label: str) -> str:
    """Return what tests whether a name is among those of nodes, and lists the first of them."""
    names = f"collect(DISTINCT {name})[..{SHOWN_NAMES}]"
    return f"RETURN max({name} = {wanted}) AS {HOLDS}, {names} AS {quote_name(label)}"


def _label(kind: str) -> str:
    return f":{quote_name(kind)}" if kind and not kind.startswith("~") else ""


def _arrow(step: Step, name: str) -> str:
    left, right = ("-", "->") if step.forward else ("<-", "-")
    return f"{left}[{name}:{step.link.pattern}]{right}"
