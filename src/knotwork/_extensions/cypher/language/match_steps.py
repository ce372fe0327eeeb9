"""Run the planned steps of a MATCH: node scans, expansions, walks and shortest paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from knotwork._extensions.cypher.language.kept_values import KeptValues
from knotwork._extensions.cypher.language.limits import Budget
from knotwork._extensions.cypher.language.match_planner import (
    BoundRelationship,
    Expansion,
    NodePart,
    NodeScan,
    PathPart,
    PatternParts,
    RelationshipPart,
)
from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphPath,
    GraphRelationship,
    PropertyGraph,
    Value,
    index_key,
)
from knotwork._extensions.cypher.language.runtime import Evaluate, Row, Runtime
from knotwork._extensions.cypher.language.syntax_tree import Direction
from knotwork._extensions.cypher.language.values import kind_of, truth
from knotwork.errors import QuerySyntaxError

Rows: TypeAlias = Iterator[Row]
Pipe: TypeAlias = Callable[[Rows], Rows]
Test: TypeAlias = Callable[[Row], bool]

_NODES_BETWEEN_CHECKS = 200
_STEP_BYTES = 800
"""Memory of one step of a walk, with the relationships that are still to follow."""
_WALKED_BYTES = 40
"""Memory of one relationship of a walk, in the row."""
_FOUND_BYTES = 250
"""Memory of one node that the search of a shortest path has found."""


def test_of(conditions: Sequence[Evaluate]) -> Test | None:
    """Return a test that all conditions are true, None for no conditions."""
    if not conditions:
        return None
    if len(conditions) == 1:
        only = conditions[0]

        def holds_one(row: Row) -> bool:
            value = only(row)
            if value is True:
                return True
            return value is not False and value is not None and truth(value, "WHERE") is True

        return holds_one

    def holds(row: Row) -> bool:
        return all(truth(condition(row), "WHERE") is True for condition in conditions)

    return holds


class MatchSteps:
    """Builds the pipes for the steps of one MATCH."""

    def __init__(self, runtime: Runtime, parts: PatternParts) -> None:
        self._runtime = runtime
        self._graph = runtime.graph
        self._parts = parts
        self._bound: list[RelationshipPart] = []

    def scan(self, step: NodeScan, value: Evaluate | None, test: Test | None) -> Pipe:
        """Return the pipe of a node scan."""
        node = step.node
        if node.bound:
            return self._check_bound(node, test)
        candidates = self._candidates(step, value)
        slot, nodes, budget = node.slot, self._graph.nodes, self._runtime.budget

        def run(rows: Rows) -> Rows:
            left = 1
            for row in rows:
                before = budget.transient
                for index in candidates(row):
                    left -= 1
                    if not left:
                        left = _NODES_BETWEEN_CHECKS
                        budget.check_time()
                    budget.transient = before
                    row[slot] = nodes[index]
                    if test is None or test(row):
                        yield row

        return run

    def _check_bound(self, node: NodePart, test: Test | None) -> Pipe:
        slot, name = node.slot, node.name

        def run(rows: Rows) -> Rows:
            for row in rows:
                if _node_at(row, slot, name) is not None and (test is None or test(row)):
                    yield row

        return run

    def _candidates(self, step: NodeScan, value: Evaluate | None) -> Callable[[Row], Iterable[int]]:
        graph, label, key = self._graph, step.node.label, step.key
        tick = self._runtime.budget.step
        if step.seek is None or value is None:
            every = graph.labelled(label)
            return lambda _: every
        if step.seek == "equal":
            return lambda row: self._seek(label, key, value(row))
        if step.seek == "in":
            return lambda row: self._seek_each(label, key, value(row))
        count = len(graph.nodes)

        def by_id(row: Row) -> Iterable[int]:
            tick()
            wanted = value(row)
            if step.seek == "element":
                position = graph.position(wanted) if isinstance(wanted, str) else None
                return () if position is None else (position,)
            whole = isinstance(wanted, int) and not isinstance(wanted, bool)
            return (wanted,) if whole and 0 <= wanted < count else ()

        return by_id

    def _seek(self, label: str | None, key: str, value: Value) -> Iterable[int]:
        if value is None:
            return ()
        if isinstance(value, str | int | float):
            return self._graph.seek(label, key, value, self._runtime.budget.step)
        return self._graph.labelled(label)

    def _seek_each(self, label: str | None, key: str, values: Value) -> Iterable[int]:
        if not isinstance(values, list):
            return self._graph.labelled(label) if values is not None else ()
        plain = [value for value in values if value is not None]
        if not all(isinstance(value, str | int | float) for value in plain):
            return self._graph.labelled(label)
        found: dict[int, None] = {}
        for value in {index_key(value): value for value in plain}.values():
            found.update(dict.fromkeys(self._seek(label, key, value)))
        return found

    def bind_ends(  # noqa: C901 - one loop, run for every row
        self, step: BoundRelationship, test: Test | None
    ) -> Pipe:
        """Return the pipe that binds both ends of a relationship bound before."""
        part = step.relationship
        left, right = self._parts.nodes[part.left], self._parts.nodes[part.right]
        others = self._rivals(part)
        self._bound.append(part)
        nodes, slot = self._graph.nodes, part.slot
        assert slot is not None  # it has a name

        def fits(row: Row, pair: tuple[GraphNode, GraphNode]) -> bool:
            if left is right and pair[0] != pair[1]:
                return False
            ends = zip((left, right), pair, strict=True)
            return all(row[n.slot] == end for n, end in ends if n.name in step.known)

        def run(rows: Rows) -> Rows:
            for row in rows:
                edge = row[slot]
                if edge is None or (part.types is not None and edge.type not in part.types):
                    continue
                if not isinstance(edge, GraphRelationship):
                    raise QuerySyntaxError(f"`{part.name}` is {kind_of(edge)}, not a relationship.")
                row[part.index_slot] = edge.index
                if others and _is_used(row, edge.index, others):
                    continue
                known = [_known(row, end) for end in (left, right) if end.name in step.known]
                if None in known:
                    continue
                for ends in _orientations(edge, part):
                    pair = nodes[ends[0]], nodes[ends[1]]
                    if not fits(row, pair):
                        continue
                    row[left.slot], row[right.slot] = pair
                    if test is None or test(row):
                        yield row

        return run

    def expand(  # noqa: C901 - one loop, run for every row
        self, step: Expansion, test: Test | None, each: Test | None
    ) -> Pipe:
        """Return the pipe that follows a relationship, or a walk of variable length.

        ``each`` tests every relationship of a walk.
        """
        part = step.relationship
        others = self._rivals(part)
        self._bound.append(part)
        if part.lengths is not None:
            return self._walk(step, test, each, others)
        graph, nodes = self._graph, self._graph.nodes
        near, far = self._parts.nodes[step.near].slot, self._parts.nodes[step.far].slot
        direction, types = _direction(step), part.types
        index_slot, slot, into = part.index_slot, part.slot, step.into
        budget, expand = self._runtime.budget, graph.expand
        tick = budget.step
        bound = self._parts.nodes[step.far].bound

        def run(rows: Rows) -> Rows:
            for row in rows:
                tick()
                target = -1
                if into:
                    end = _node_at(row, far, step.far) if bound else row[far]
                    if end is None:
                        continue
                    target = end.index
                before = budget.transient
                for relationship, other in expand(row[near].index, direction, types):
                    tick()
                    budget.transient = before
                    if into and other != target:
                        continue
                    if others and _is_used(row, relationship, others):
                        continue
                    row[index_slot] = relationship
                    if not into:
                        row[far] = nodes[other]
                    if slot is not None:
                        row[slot] = graph.relationship(relationship)
                    if test is None or test(row):
                        yield row

        return run

    def _walk(  # noqa: C901 - one loop, run for every row
        self, step: Expansion, test: Test | None, each: Test | None, others: list[int]
    ) -> Pipe:
        part, graph = step.relationship, self._graph
        near, far = self._parts.nodes[step.near], self._parts.nodes[step.far]
        least, most = part.lengths or (1, None)
        backwards = step.near != part.left
        direction, types = _direction(step), part.types
        budget = self._runtime.budget

        def run(rows: Rows) -> Rows:
            for row in rows:
                start = row[near.slot]
                end = _known(row, far) if step.into else None
                if start is None or (step.into and end is None):
                    continue
                target = -1 if end is None else end.index
                before = budget.transient

                def allowed(relationship: int, row: Row = row) -> bool:
                    row[part.each_slot] = graph.relationship(relationship)
                    return each is None or each(row)

                walker = Walker(
                    graph,
                    budget,
                    direction=direction,
                    types=types,
                    allowed=None if each is None else allowed,
                )
                if part.shortest:
                    found = walker.shortest(start.index, target, least, most)
                else:
                    found = walker.walks(start.index, least, most, _used(row, others))
                for node, walk in found:
                    if step.into and node != target:
                        continue
                    budget.transient = before
                    budget.charge(200 + _WALKED_BYTES * len(walk))
                    row[far.slot] = graph.nodes[node]
                    walk_forward = walk[::-1] if backwards else walk
                    row[part.index_slot] = walk_forward
                    if part.slot is not None:
                        row[part.slot] = [graph.relationship(i) for i in walk_forward]
                    if test is None or test(row):
                        yield row
                        if part.shortest == "one":
                            break

        return run

    def path(self, path: PathPart, test: Test | None) -> Pipe:
        """Return the pipe that assembles a named path."""
        graph, nodes = self._graph, [self._parts.nodes[name].slot for name in path.nodes]
        edges = [self._parts.relationships[name].index_slot for name in path.relationships]
        charge = self._runtime.budget.charge

        def run(rows: Rows) -> Rows:
            for row in rows:
                relationships: list[GraphRelationship] = []
                for slot in edges:
                    found = row[slot]
                    indexes = found if isinstance(found, tuple) else (found,)
                    relationships += [graph.relationship(index) for index in indexes]
                passed: list[GraphNode] = [row[nodes[0]]]
                for edge in relationships:
                    here = passed[-1].index
                    passed.append(graph.nodes[edge.target if edge.source == here else edge.source])
                charge(300 + _WALKED_BYTES * len(relationships))
                row[path.slot] = GraphPath(tuple(passed), tuple(relationships))
                if test is None or test(row):
                    yield row

        return run

    def _rivals(self, part: RelationshipPart) -> list[int]:
        """Return the index slots of earlier relationships, which this one must not repeat."""
        return [
            other.index_slot
            for other in self._bound
            if None in (other.types, part.types) or set(other.types or ()) & set(part.types or ())
        ]


def _direction(step: Expansion) -> Direction:
    """Return the direction of a relationship as seen from the near node."""
    direction = step.relationship.direction
    if direction == "both" or step.near == step.relationship.left:
        return direction
    return "in" if direction == "out" else "out"


def _node_at(row: Row, slot: int, name: str) -> GraphNode | None:
    value = row[slot]
    if value is None or isinstance(value, GraphNode):
        return value
    raise QuerySyntaxError(f"`{name}` is {kind_of(value)}, not a node.")


def _known(row: Row, node: NodePart) -> GraphNode | None:
    return _node_at(row, node.slot, node.name)


def _is_used(row: Row, relationship: int, slots: list[int]) -> bool:
    for slot in slots:
        taken = row[slot]
        if taken == relationship or (isinstance(taken, tuple) and relationship in taken):
            return True
    return False


def _used(row: Row, slots: list[int]) -> set[int]:
    found: set[int] = set()
    for slot in slots:
        taken = row[slot]
        found.update(taken if isinstance(taken, tuple) else (taken,))
    return found


def _orientations(edge: GraphRelationship, part: RelationshipPart) -> list[tuple[int, int]]:
    forward, back = (edge.source, edge.target), (edge.target, edge.source)
    if part.direction == "out":
        return [forward]
    if part.direction == "in":
        return [back]
    return [forward] if edge.source == edge.target else [forward, back]


Walk = tuple[int, tuple[int, ...]]
"""The index of the last node, and the indices of the relationships that lead to it."""

Allowed = Callable[[int], bool]

_OPPOSITE: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


class Walker:
    """Searches walks along relationships of given types in one direction, none of them twice."""

    def __init__(
        self,
        graph: PropertyGraph,
        budget: Budget,
        *,
        direction: Direction,
        types: tuple[str, ...] | None,
        allowed: Allowed | None,
    ) -> None:
        self._graph = graph
        self._budget = budget
        self._direction = direction
        self._types = types
        self._allowed = allowed

    def _steps(self, node: int, *, back: bool = False) -> Iterator[tuple[int, int]]:
        direction: Direction = _OPPOSITE[self._direction] if back else self._direction
        found = self._graph.expand(node, direction, self._types)
        allowed = self._allowed
        return found if allowed is None else (step for step in found if allowed(step[0]))

    def walks(self, start: int, least: int, most: int | None, used: set[int]) -> Iterator[Walk]:
        """Yield all walks of ``least`` to ``most`` steps without the relationships ``used``."""
        if least == 0:
            yield start, ()
        if most == 0:
            return
        taken = set(used)
        path: list[int] = []
        waiting = [self._steps(start)]
        step, kept, counted = self._budget.step, KeptValues(self._budget), 100
        try:
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
                        if len(path) > counted:
                            kept.grow(_STEP_BYTES * counted)
                            counted *= 2
                        break
                    path.pop()
                else:
                    waiting.pop()
                    if path:
                        taken.discard(path.pop())
        finally:
            kept.clear()

    def shortest(self, start: int, end: int, least: int, most: int | None) -> Iterator[Walk]:
        """Yield all shortest walks between two nodes, none longer than ``most`` steps."""
        if start == end:
            if least == 0:
                yield end, ()
            return
        kept = KeptValues(self._budget)
        try:
            levels = self._levels(start, end, most, kept)
            if levels is not None and len(levels) - 1 >= least:
                for path in self._paths_back(levels, end):
                    yield end, path
        finally:
            kept.clear()

    def _levels(
        self, start: int, end: int, most: int | None, kept: KeptValues
    ) -> list[dict[int, int]] | None:
        """Return the nodes on shortest walks by their distance from ``start``, None if none exist.

        Searches breadth first from both ends.
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
            kept.grow(_FOUND_BYTES * len(front[-1] if forward else back[-1]))
            if front[-1].keys() & back[-1].keys():
                middle = {node: 0 for node in front[-1] if node in back[-1]}
                return self._on_shortest_walks(front[:-1], middle, back[:-1])
        return None

    def _next_level(self, level: dict[int, int], seen: set[int], *, back: bool) -> dict[int, int]:
        found: dict[int, int] = {}
        for node in level:
            for _, other in self._steps(node, back=back):
                self._budget.step()
                if other not in seen:
                    seen.add(other)
                    found[other] = 0
        return found

    def _on_shortest_walks(
        self, front: list[dict[int, int]], middle: dict[int, int], back: list[dict[int, int]]
    ) -> list[dict[int, int]]:
        """Return the levels of both searches, reduced to nodes that lead to the middle."""
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
        """Return the nodes of a level that are neighbours of ``nodes``."""
        found: dict[int, int] = {}
        for node in nodes:
            for _, other in self._steps(node, back=back):
                self._budget.step()
                if other in level:
                    found[other] = 0
        return found

    def _paths_back(self, levels: list[dict[int, int]], end: int) -> Iterator[tuple[int, ...]]:
        """Yield the walks through all levels, as relationships in the order from the start."""
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
