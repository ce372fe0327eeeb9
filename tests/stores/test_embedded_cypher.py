"""Statements on an index file: after reopening, by readers alone, beside a writer."""

from __future__ import annotations

import threading
from pathlib import Path

from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import PropertyNode, Relationship

_COUNT = "MATCH (n) RETURN count(n)"


def _people(count: int) -> tuple[list[PropertyNode], list[Relationship]]:
    nodes = [PropertyNode(str(i), ("Person",), {"i": i, "of": count}) for i in range(count)]
    edges = [Relationship(str(i), "NEXT_TO", str(i), str((i + 1) % count)) for i in range(count)]
    return nodes, edges


def test_graphs_are_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    store = EmbeddedStore.open(path, create=True)
    store.property_graphs.put("ring", *_people(5))
    before = store.cypher("MATCH (a)-[r]->(b) RETURN a, r, b", graph="ring").rows
    assert store.check() == []
    store.close()
    again = EmbeddedStore.open(path, read_only=True)
    assert again.cypher("MATCH (a)-[r]->(b) RETURN a, r, b", graph="ring").rows == before
    again.close()


def test_a_broken_graph_is_found(tmp_path: Path) -> None:
    store = EmbeddedStore.open(tmp_path / "index.knot", create=True)
    store.property_graphs.put("ring", *_people(3))
    with store._database.transaction():
        store._database.write("DELETE FROM property_node WHERE position = 1")
    assert any("imported relationships" in fault for fault in store.check())
    store.close()


def test_readers_see_one_whole_graph_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    writer = EmbeddedStore.open(path, create=True)
    writer.property_graphs.put("ring", *_people(3))
    reader = EmbeddedStore.open(path, read_only=True)
    over, faults, seen = threading.Event(), list[object](), set[int]()

    def ask() -> None:
        while not over.is_set():
            ((nodes, steps, sizes),) = reader.cypher(
                "MATCH (a)-[r]->() RETURN count(DISTINCT a), count(r), collect(DISTINCT a.of)",
                graph="ring",
            ).rows
            seen.add(nodes)
            if nodes != steps or sizes != [nodes]:
                faults.append((nodes, steps, sizes))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for size in range(4, 24):
        writer.property_graphs.put("ring", *_people(size))
    over.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert seen <= set(range(3, 24))
    assert reader.cypher(_COUNT, graph="ring").rows == ((23,),)
    reader.close()
    writer.close()
