"""Plans for graphs whose nodes all have one kind: chains of relations from an entity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._retrieval.queries.query_plans import (
    LinkedQuestion,
    PlanHop,
    PlanNode,
    PropertyCondition,
    QueryPlan,
    Returned,
)
from knotwork._retrieval.queries.question_slots import AnswerWording
from knotwork._retrieval.queries.schema_linker import SchemaLinker, SchemaMention
from knotwork._retrieval.queries.stored_values import ValueMention
from knotwork._retrieval.queries.target_schema import LinkShape, TargetSchema
from knotwork.records import Span

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
