"""Patterns against independent references: networkx, and every assignment tried."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cypher.graphs import PEOPLE, Edge, make_graph, rows

from knotwork._extensions.cypher.language import PropertyGraph, run_statement

pytestmark = pytest.mark.slow


_NODES = 6
_edges = st.lists(
    st.tuples(st.sampled_from(["A", "B"]), st.integers(0, _NODES - 1), st.integers(0, _NODES - 1)),
    max_size=9,
)


def _graph(edges: list[tuple[str, int, int]]) -> PropertyGraph:
    nodes = [((("X",), ("Y",), ("X", "Y"))[i % 3], {"i": i, "half": i // 2}) for i in range(_NODES)]
    full: list[Edge] = [(*edge, {"e": place}) for place, edge in enumerate(edges)]
    return make_graph(nodes, full)


def _network(edges: list[tuple[str, int, int]]) -> nx.MultiDiGraph:
    made = nx.MultiDiGraph()
    made.add_nodes_from(range(_NODES))
    made.add_edges_from((source, target) for _, source, target in edges)
    return made


@given(_edges)
def test_two_hops_equal_all_assignments(edges: list[tuple[str, int, int]]) -> None:
    found = rows(
        _graph(edges),
        "MATCH (a:X)-[r:A]->(b)<-[s]-(c) WHERE a.half <> c.i RETURN a.i, b.i, c.i, r.e, s.e",
    )
    expected = [
        (one[1], one[2], other[1], i, j)
        for (i, one), (j, other) in permutations(enumerate(edges), 2)
        if one[0] == "A" and one[1] % 3 != 1 and one[2] == other[2] and one[1] // 2 != other[1]
    ]
    assert Counter(found) == Counter(expected)


@given(_edges)
def test_undirected_steps_equal_all_assignments(edges: list[tuple[str, int, int]]) -> None:
    found = rows(_graph(edges), "MATCH (a)-[r]-(b)-[s:B]-(c:Y) RETURN a.i, b.i, c.i")
    expected: list[tuple[int, int, int]] = []
    for (i, one), (j, other) in product(enumerate(edges), repeat=2):
        if i == j or other[0] != "B":
            continue
        for a, b in {(one[1], one[2]), (one[2], one[1])}:
            for near, c in {(other[1], other[2]), (other[2], other[1])}:
                if near == b and c % 3 != 0:
                    expected.append((a, b, c))
    assert Counter(found) == Counter(expected)


@given(_edges, st.integers(0, 2), st.integers(0, 3))
def test_walks_equal_those_found_by_hand(
    edges: list[tuple[str, int, int]], least: int, more: int
) -> None:
    most = least + more

    def walks(node: int, used: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        here = [(node, used)] if least <= len(used) else []
        if len(used) == most:
            return here
        for place, (_, source, target) in enumerate(edges):
            if source == node and place not in used:
                here += walks(target, (*used, place))
        return here

    statement = f"MATCH (a {{i: 0}})-[r*{least}..{most}]->(b) RETURN b.i, [x IN r | x.e]"
    found = [(end, tuple(places)) for end, places in rows(_graph(edges), statement)]
    assert Counter(found) == Counter(walks(0, ()))
    back = f"MATCH (b)<-[r*{least}..{most}]-(a) WHERE a.i = 0 RETURN b.i, [x IN r | x.e]"
    reverse = [(end, tuple(reversed(places))) for end, places in rows(_graph(edges), back)]
    assert Counter(reverse) == Counter(walks(0, ()))


@given(_edges)
def test_shortest_paths_match_networkx(edges: list[tuple[str, int, int]]) -> None:
    graph, network = _graph(edges), _network(edges)
    for directed, arrow in ((True, "-[*]->"), (False, "-[*]-")):
        known = network if directed else network.to_undirected()
        for a, b in ((0, 1), (2, 5), (4, 0)):
            pattern = f"((x {{i: {a}}}){arrow}(y {{i: {b}}}))"
            one = rows(graph, f"MATCH p = shortestPath{pattern} RETURN length(p)")
            every = rows(graph, f"MATCH p = allShortestPaths{pattern} RETURN [n IN nodes(p) | n.i]")
            if not nx.has_path(known, a, b):
                assert one == every == []
                continue
            assert one == [nx.shortest_path_length(known, a, b)]
            expected = {tuple(path) for path in nx.all_shortest_paths(known, a, b)}
            assert {tuple(path) for path in every} == expected


@given(_edges, st.permutations(["(a:X)-[r]->(b)", "(b)-[s]-(c:Y)", "(d {i: 3})", "(c)-[t:A]->(e)"]))
def test_the_order_of_patterns_changes_nothing(
    edges: list[tuple[str, int, int]], order: list[str]
) -> None:
    graph = _graph(edges)
    ending = "WHERE a.i <= c.i OR d.half = 1 RETURN a.i, b.i, c.i, d.i, e.i, r.e, s.e, t.e"
    plain = rows(
        graph, f"MATCH (a:X)-[r]->(b), (b)-[s]-(c:Y), (d {{i: 3}}), (c)-[t:A]->(e) {ending}"
    )
    found = rows(graph, f"MATCH {', '.join(order)} {ending}")
    assert Counter(found) == Counter(plain)


@given(_edges)
def test_counts_known_beforehand_equal_counted_ones(edges: list[tuple[str, int, int]]) -> None:
    graph = _graph(edges)
    for pattern in ("(n)", "(n:X)", "(n:Absent)", "()-[n]->()", "()-[n:A]->()", "(a)<-[n:A|B]-(b)"):
        (known,) = rows(graph, f"MATCH {pattern} RETURN count(n)")
        assert known == len(rows(graph, f"MATCH {pattern} RETURN n"))
    (loops,) = rows(graph, "MATCH (a)-[n]->(a) RETURN count(n)")
    assert loops == sum(source == target for _, source, target in edges)


@given(_edges)
def test_optional_and_exists_agree(edges: list[tuple[str, int, int]]) -> None:
    graph = _graph(edges)
    by_exists = rows(graph, "MATCH (a) WHERE NOT EXISTS { (a)-[:A]->(:Y) } RETURN a.i")
    by_optional = rows(
        graph, "MATCH (a) OPTIONAL MATCH (a)-[:A]->(b:Y) WITH a, b WHERE b IS NULL RETURN a.i"
    )
    by_count = rows(graph, "MATCH (a) WHERE COUNT { (a)-[:A]->(:Y) } = 0 RETURN a.i")
    by_list = rows(graph, "MATCH (a) WHERE size([(a)-[:A]->(b:Y) | b]) = 0 RETURN a.i")
    assert by_exists == by_optional == by_count == by_list


@pytest.mark.parametrize(
    ("types", "count"),
    [
        ("!KNOWS", 2),
        ("!KNOWS&!LIVES", 0),
        ("!LIVES&!OWNS", 4),
        ("KNOWS|!KNOWS", 6),
        ("(KNOWS|LIVES)&!LIVES", 4),
        ("KNOWS&LIVES", 0),
        ("!(KNOWS|LIVES)", 0),
        ("!%", 0),
        ("%", 6),
        ("KNOWS|:LIVES", 6),
    ],
)
def test_types_of_relationships_are_combined_as_labels_are(types: str, count: int) -> None:
    statement = f"MATCH (a)-[r:{types}]->(b)"
    assert rows(PEOPLE, f"{statement} RETURN count(*)") == [count]
    assert len(rows(PEOPLE, f"{statement} RETURN r, a.name")) == count
    assert rows(PEOPLE, f"MATCH (a)-[r]->(b) WHERE r:{types} RETURN count(*)") == [count]


def test_a_walk_follows_every_type_but_those_that_are_denied() -> None:
    walk = "MATCH (a {name: 'Ada'})-[rels:!LIVES*0..2]->(n:!City) RETURN n.name ORDER BY n.name"
    assert rows(PEOPLE, walk) == ["Ada", "Bob", "Di"]


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        (
            "MATCH (n:__person__) RETURN n",
            "No node has the label `__person__`. Did you mean `Person`?",
        ),
        (
            "MATCH (n) WHERE n:persons RETURN n",
            "Nothing has the label or type `persons`. Did you mean `Person`?",
        ),
        (
            "MATCH ()-[r:PART_OF]->() RETURN r",
            "No relationship has the type `PART_OF`. The graph has `KNOWS`, `LIVES`.",
        ),
        (
            "MATCH (n:Person) RETURN n.full_name, n.age",
            "No node or relationship has the property `full_name`. Did you mean `name`?",
        ),
        (
            "MATCH (n {alter: 3}) RETURN n",
            "No node or relationship has the property `alter`. The graph has `age`, `name`, `w`.",
        ),
    ],
)
def test_names_that_the_graph_lacks_are_reported(statement: str, note: str) -> None:
    assert run_statement(PEOPLE, statement).notes == (note,)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n:Person)-[:KNOWS]->(m) RETURN n.name, m.age, m.w",
        "MATCH (n:City) WHERE n.name = 'Oslo' RETURN n",
        "WITH {deep: 1} AS m RETURN m.other",
        "MATCH (n:!Person&!City) RETURN n.name",
    ],
)
def test_names_of_the_graph_are_not_reported(statement: str) -> None:
    assert run_statement(PEOPLE, statement).notes == ()
