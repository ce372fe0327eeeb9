"""Walks of variable length, and the shortest ones between two nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from knotwork.cypher.graph import PropertyGraph, Towards
from knotwork.cypher.limits import Budget

Walk = tuple[int, tuple[int, ...]]
"""The node at the end, and the relationships that lead there, by position."""

Allowed = Callable[[int], bool]

_OPPOSITE: dict[Towards, Towards] = {"out": "in", "in": "out", "both": "both"}


class Walker:
    """Follows relationships of some types one way through a graph, never one of them twice."""

    def __init__(
        self,
        graph: PropertyGraph,
        budget: Budget,
        *,
        towards: Towards,
        types: tuple[str, ...],
        allowed: Allowed | None,
    ) -> None:
        self._graph = graph
        self._budget = budget
        self._towards = towards
        self._types = types
        self._allowed = allowed

    def _steps(self, node: int, *, back: bool = False) -> Iterator[tuple[int, int]]:
        towards: Towards = _OPPOSITE[self._towards] if back else self._towards
        found = self._graph.expand(node, towards, self._types)
        allowed = self._allowed
        return found if allowed is None else (step for step in found if allowed(step[0]))

    def walks(self, start: int, least: int, most: int | None, used: set[int]) -> Iterator[Walk]:
        """Yield all walks of ``least`` to ``most`` steps that avoid the relationships ``used``."""
        if least == 0:
            yield start, ()
        if most == 0:
            return
        taken = set(used)
        path: list[int] = []
        waiting = [self._steps(start)]
        step = self._budget.step
        while waiting:
            for relationship, node in waiting[-1]:
                step()
                if relationship in taken:
                    continue
                path.append(relationship)
                if len(path) >= least:
                    yield node, tuple(path)
                if most is None or len(path) < most:
                    taken.add(relationship)
                    waiting.append(self._steps(node))
                    self._budget.hold()
                    break
                path.pop()
            else:
                waiting.pop()
                if path:
                    taken.discard(path.pop())

    def shortest(self, start: int, end: int, least: int, most: int | None) -> Iterator[Walk]:
        """Yield all shortest walks between two nodes, none longer than ``most`` steps."""
        if start == end:
            if least == 0:
                yield end, ()
            return
        levels = self._levels(start, end, most)
        if levels is not None and len(levels) - 1 >= least:
            for path in self._paths_back(levels, end):
                yield end, path

    def _levels(self, start: int, end: int, most: int | None) -> list[dict[int, int]] | None:
        """Search breadth first from both ends; return nodes by steps from ``start``, up to ``end``.

        Only nodes that lie on a shortest walk are returned.
        """
        front, back = [{start: 0}], [{end: 0}]
        seen, seen_back = {start}, {end}
        while front[-1] and back[-1]:
            if most is not None and len(front) + len(back) - 2 >= most:
                return None
            forward = len(front[-1]) <= len(back[-1])
            if forward:
                front.append(self._next_level(front[-1], seen, back=False))
            else:
                back.append(self._next_level(back[-1], seen_back, back=True))
            if front[-1].keys() & back[-1].keys():
                middle = {node: 0 for node in front[-1] if node in back[-1]}
                return self._on_the_way(front[:-1], middle, back[:-1])
        return None

    def _next_level(self, level: dict[int, int], seen: set[int], *, back: bool) -> dict[int, int]:
        found: dict[int, int] = {}
        for node in level:
            for _, other in self._steps(node, back=back):
                self._budget.step()
                if other not in seen:
                    seen.add(other)
                    found[other] = 0
        self._budget.hold(len(found))
        return found

    def _on_the_way(
        self, front: list[dict[int, int]], middle: dict[int, int], back: list[dict[int, int]]
    ) -> list[dict[int, int]]:
        """Keep of both searches what leads to the nodes where they met."""
        before: list[dict[int, int]] = [middle]
        for level in reversed(front):
            before.append(self._leading(before[-1], level, back=True))
        after: list[dict[int, int]] = [middle]
        for level in reversed(back):
            after.append(self._leading(after[-1], level, back=False))
        return [*reversed(before), *after[1:]]

    def _leading(
        self, nodes: dict[int, int], level: dict[int, int], *, back: bool
    ) -> dict[int, int]:
        found: dict[int, int] = {}
        for node in nodes:
            for _, other in self._steps(node, back=back):
                self._budget.step()
                if other in level:
                    found[other] = 0
        return found

    def _paths_back(self, levels: list[dict[int, int]], end: int) -> Iterator[tuple[int, ...]]:
        """Yield the walks over levels of nodes, each as relationships from the start."""
        depth = len(levels) - 1
        path: list[int] = []
        waiting = [self._steps(end, back=True)]
        while waiting:
            for relationship, node in waiting[-1]:
                self._budget.step()
                if node not in levels[depth - len(waiting)]:
                    continue
                path.append(relationship)
                if len(path) == depth:
                    yield tuple(reversed(path))
                    path.pop()
                    continue
                waiting.append(self._steps(node, back=True))
                break
            else:
                waiting.pop()
                if path:
                    path.pop()
