"""Shortest ways between kinds of a schema that use the links which a question mentions."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.retrieval.queries.schema import LinkShape, TargetSchema

LONGEST_WAY = 4
_PLAIN_COST = 1.0
_SELF_COST = 2.5
"""The cost of a link from a kind to itself that is not mentioned: such links are seldom meant."""
_MENTIONED_COST = 0.25
_SKIPPED_COST = 1.3
_BACK_COST = 1.0
"""The further cost of walking back over the kind of link just walked, where none says so."""


@dataclass(frozen=True, slots=True)
class WayStep:
    """One link of a way; ``forward`` tells whether it is walked from its source to its target."""

    link: LinkShape
    forward: bool


@dataclass(frozen=True, slots=True)
class Way:
    """Links that lead from one kind to another, with the cost that makes a way worse."""

    steps: tuple[WayStep, ...]
    cost: float
    used: int = 0


def find_ways(
    schema: TargetSchema,
    start: str,
    end: str,
    wanted: Sequence[Mapping[str, float]],
    *,
    most: int = 3,
) -> list[Way]:
    """Return the cheapest ways from a kind to another, using ``wanted`` links in their order.

    Each of ``wanted`` has the names of links that some words may mean, with how surely they do;
    what a way leaves out of them makes it cost more.
    """
    links = _steps_from(schema)
    found: list[Way] = []
    queue: list[tuple[float, int, str, int, tuple[WayStep, ...], int]] = [(0.0, 0, start, 0, (), 0)]
    serial = 0
    seen: dict[tuple[str, int, int], int] = {}
    while queue and len(found) < most:
        cost, _, kind, place, steps, used = heapq.heappop(queue)
        if kind == end and steps and place == len(wanted):
            if all(way.steps != steps for way in found):
                found.append(Way(steps, cost, used))
            continue
        state = (kind, place, len(steps))
        seen[state] = seen.get(state, 0) + 1
        if seen[state] > most:
            continue
        if place < len(wanted):
            serial += 1
            skipped = cost + _SKIPPED_COST * max(wanted[place].values())
            heapq.heappush(queue, (skipped, serial, kind, place + 1, steps, used))
        if len(steps) == LONGEST_WAY:
            continue
        for step in links.get(kind, ()):
            serial += 1
            following = step.link.target if step.forward else step.link.source
            names = place < len(wanted) and step.link.name in wanted[place]
            price = _price(step.link, wanted[place][step.link.name] if names else 0.0)
            if steps and steps[-1].link == step.link and not names:
                price += _BACK_COST
            entry = (cost + price, serial, following, place + names, (*steps, step), used + names)
            heapq.heappush(queue, entry)
    return found


def _steps_from(schema: TargetSchema) -> dict[str, list[WayStep]]:
    links: dict[str, list[WayStep]] = {}
    for link in schema.links:
        links.setdefault(link.source, []).append(WayStep(link, forward=True))
        if link.source != link.target:
            links.setdefault(link.target, []).append(WayStep(link, forward=False))
    return links


def _price(link: LinkShape, mentioned: float) -> float:
    plain = _SELF_COST if link.source == link.target else _PLAIN_COST
    return plain + mentioned * (_MENTIONED_COST - plain)
