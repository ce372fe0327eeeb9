"""Latency of typical statements: `python -m benchmarks.cypher.latency [--index FILE]`.

Without an index, on a random graph of 100,000 nodes and 500,000 relationships with a skewed number
of neighbours, kept in an index file; with one, on its own graph.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import PropertyNode, Relationship

_TYPES = ("KNOWS", "WORKS_AT", "CITES", "LIKES")
_LABELS = (("Person",), ("Person", "Author"), ("Paper",), ("Place",))

IMPORTED = {
    "seek by property": "MATCH (n:Person {name: $name}) RETURN n.age",
    "one hop": "MATCH (n:Person {name: $name})-[:KNOWS]->(m) RETURN m.name",
    "one hop, either way, any type": "MATCH (n {name: $name})-[r]-(m) RETURN type(r), m.name",
    "two hops, distinct": (
        "MATCH (n:Person {name: $name})-[:KNOWS]-()-[:KNOWS]-(m) RETURN DISTINCT m.name LIMIT 50"
    ),
    "two hops, filter, order": (
        "MATCH (n:Person {name: $name})-[:KNOWS]->(f)-[:LIKES]->(p:Paper) WHERE p.year > 1990"
        " RETURN p.name, count(f) AS n ORDER BY n DESC, p.name LIMIT 10"
    ),
    "three hops, count": (
        "MATCH (n:Person {name: $name})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(m) RETURN count(m)"
    ),
    "one to three steps": "MATCH (n:Person {name: $name})-[:KNOWS*1..3]->(m) RETURN count(m)",
    "shortest path": (
        "MATCH (a:Person {name: $name}), (b:Person {name: $other}),"
        " p = shortestPath((a)-[:KNOWS*..6]-(b)) RETURN length(p)"
    ),
    "friends in common": (
        "MATCH (a:Person {name: $name})-[:KNOWS]-(c)-[:KNOWS]-(b:Person {name: $other})"
        " RETURN c.name"
    ),
    "exists, not exists": (
        "MATCH (n:Person {name: $name})-[:KNOWS]->(m) WHERE EXISTS { (m)-[:CITES]->() }"
        " AND NOT (m)-[:LIKES]->(:Place) RETURN m.name"
    ),
    "count a label": "MATCH (n:Author) RETURN count(n)",
    "filter a label by range": "MATCH (n:Place) WHERE n.age > 85 RETURN count(*)",
    "group a label": "MATCH (n:Place) RETURN n.age % 10 AS d, count(*) ORDER BY d",
    "contains": "MATCH (n:Place) WHERE n.name CONTAINS '999' RETURN n.name LIMIT 20",
}
WHOLE = {
    "group all nodes": "MATCH (n) RETURN n.age AS a, count(*) AS c ORDER BY c DESC LIMIT 5",
    "count relationships": "MATCH ()-[r:KNOWS]->() RETURN count(r)",
}
OWN = {
    "entity by name": "MATCH (e:Entity {name: $name}) RETURN e.type, e.chunk_count",
    "relations of an entity": (
        "MATCH (e:Entity {name: $name})-[r:RELATES]-(o) RETURN r.relation, o.name, r.weight"
        " ORDER BY r.weight DESC LIMIT 20"
    ),
    "chunks about an entity": (
        "MATCH (e:Entity {name: $name})<-[a:ABOUT]-(c:Chunk) RETURN c.id, a.weight"
        " ORDER BY a.weight DESC LIMIT 5"
    ),
    "two hops of relations": (
        "MATCH (e:Entity {name: $name})-[:RELATES]-()-[:RELATES]-(o:Entity)"
        " RETURN o.name, count(*) AS n ORDER BY n DESC LIMIT 10"
    ),
    "documents of an entity": (
        "MATCH (e:Entity {name: $name})<-[:MENTIONS]-(:Chunk)<-[:HAS_CHUNK]-(:Section)"
        "<-[:HAS_SECTION*1..6]-(d:Document) RETURN DISTINCT d.name"
    ),
}


def make_graph(store: EmbeddedStore, nodes: int, edges: int, seed: int = 7) -> None:
    """Put a random graph whose nodes differ much in their number of neighbours."""
    chance = random.Random(seed)
    made = [
        PropertyNode(
            str(i), _LABELS[i % 4], {"name": f"node {i}", "age": i % 90, "year": 1950 + i % 75}
        )
        for i in range(nodes)
    ]
    ends = [int(nodes * chance.random() ** 2) for _ in range(edges)]
    links = [
        Relationship(str(i), _TYPES[i % 4], str(chance.randrange(nodes)), str(end), {"w": i % 7})
        for i, end in enumerate(ends)
    ]
    store.property_graphs.put("random", made, links)


def measure(store: EmbeddedStore, graph: str, statements: dict[str, str], names: list[str]) -> None:
    """Print median and 95th percentile of every statement, each name once, in milliseconds.

    Time of the processor is what a machine with nothing else to do would take.
    """
    for title, statement in statements.items():
        taken, worked, rows = [], [], 0
        for place, name in enumerate(names):
            given = {"name": name, "other": names[place - 1]}
            started, before = time.perf_counter(), time.process_time()
            rows += len(store.cypher(statement, given, graph=graph, timeout_s=60).rows)
            taken.append(1_000 * (time.perf_counter() - started))
            worked.append(1_000 * (time.process_time() - before))
        high = statistics.quantiles(taken, n=20)[-1]
        figures = statistics.median(taken), high, statistics.median(worked)
        cells = "".join(f"{figure:9.2f}" for figure in figures)
        print(f"{title:32}{cells}{rows / len(names):10.1f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, help="an index file, opened for reading")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--times", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.index or Path(folder) / "random.knot"
        store = EmbeddedStore.open(path, create=not options.index, read_only=bool(options.index))
        graph = OWN_GRAPH if options.index else "random"
        started = time.perf_counter()
        if not options.index:
            make_graph(store, options.nodes, options.edges)
            print(f"put: {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        store.cypher("MATCH (n) RETURN n.id LIMIT 1", graph=graph)
        print(f"first statement: {time.perf_counter() - started:.2f} s")
        counts = store.cypher("MATCH (n) RETURN count(n)", graph=graph).rows[0][0]
        print(f"{counts} nodes\n{'milliseconds':32}{'p50':>9}{'p95':>9}{'cpu p50':>9}{'rows':>10}")
        chance = random.Random(3)
        if options.index:
            found = store.cypher("MATCH (e:Entity) RETURN e.name", row_limit=200_000).rows
            names = [str(row[0]) for row in chance.sample(found, min(options.times, len(found)))]
            measure(store, graph, OWN, names)
        else:
            picked = chance.sample(range(0, options.nodes, 4), options.times)
            names = [f"node {i + i % 2}" for i in picked]
            measure(store, graph, IMPORTED, names)
            measure(store, graph, WHOLE, names[:5])
        store.close()


if __name__ == "__main__":
    main()
