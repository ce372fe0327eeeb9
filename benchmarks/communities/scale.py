"""Measure communities on a large made-up graph, in units of one bare run of native Leiden.

    python benchmarks/communities/scale.py --entities 100000 --edges 500000

Each line is one step, with its time as a multiple of that run on the same graph, and the peak of
memory that numpy and Python took for it as a multiple of the graph's own arrays. Louvain of
networkx stands beside ours on a graph a tenth as large.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import graspologic_native
import networkx as nx
import numpy as np

from knotwork._graph.communities import COMMUNITY_ALGORITHMS, find_communities, modularity
from knotwork._graph.hierarchy import DivisionOptions
from knotwork._indexing.communities.detection import (
    Meaning,
    Network,
    detect_communities,
    make_network,
)
from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import content_id

Value = TypeVar("Value")
MENTIONS_PER_CHUNK = 10
RELATIONS_SHARE = 0.2
HUB_SHARE = 0.1
ENTITIES_PER_TOPIC = 40


class World(NamedTuple):
    mentions: list[tuple[str, str]]
    relations: list[tuple[str, str, float]]


def make_world(entities: int, edges: int, *, seed: int = 0) -> World:
    """Return chunks that name entities of one topic, with hubs in a tenth of the places."""
    draw = np.random.default_rng(seed)
    topics = max(1, entities // ENTITIES_PER_TOPIC)
    names = [content_id("entity", n) for n in range(entities)]
    chunks = int(edges * (1 - RELATIONS_SHARE)) // MENTIONS_PER_CHUNK
    hubs = (entities * draw.random(200) ** 2).astype(int)
    mentions: dict[tuple[str, str], None] = {}
    relations: list[tuple[str, str, float]] = []
    for number in range(chunks):
        topic = int(draw.integers(topics))
        named = topic + topics * draw.integers(entities // topics, size=MENTIONS_PER_CHUNK)
        stray = draw.random(MENTIONS_PER_CHUNK) < HUB_SHARE
        named[stray] = draw.choice(hubs, size=int(stray.sum()))
        chunk = content_id("chunk", number)
        mentions.update(dict.fromkeys((names[n], chunk) for n in named.tolist()))
        linked = int(MENTIONS_PER_CHUNK * RELATIONS_SHARE / (1 - RELATIONS_SHARE))
        relations += [(names[a], names[b], 1.0) for a, b in pairwise(named[: linked + 1].tolist())]
    return World(list(mentions), relations)


def measured(step: Callable[[], Value]) -> tuple[Value, float, float]:
    """Return a step's result, its seconds, and its peak of bytes (from a second run)."""
    begun = time.perf_counter()
    result = step()
    seconds = time.perf_counter() - begun
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result, seconds, float(peak)


def native_seconds(network: Network) -> float:
    graph = network.adjacency
    begun = time.perf_counter()
    graspologic_native.leiden_csr(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int32),
        graph.data,
        graph.shape[0],
        iterations=1,
        seed=0,
    )
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=500_000)
    arguments = parser.parse_args()
    world = make_world(arguments.entities, arguments.edges)
    network = network_of(*world)
    unit = min(native_seconds(network) for _ in range(3))
    graph = network.adjacency
    own_bytes = graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes
    print(f"{len(network.entity_ids)} entities, {graph.nnz // 2} edges; unit {unit:.2f} s")
    print("| step | times native Leiden | memory, times the graph |\n|---|---|---|")

    def report(name: str, step: Callable[[], Value]) -> Value:
        result, seconds, peak = measured(step)
        print(f"| {name} | {seconds / unit:.1f} | {peak / own_bytes:.1f} |", flush=True)
        return result

    options = DivisionOptions()
    report("network from mentions and relations", lambda: network_of(*world))
    found = report("all levels, from scratch", lambda: detect_communities(network, options))
    report("the same graph again", lambda: detect_communities(network, options, earlier=found))
    gone = {chunk for _, chunk in world.mentions[:50]}
    fewer = network_of([m for m in world.mentions if m[1] not in gone], world.relations)
    touched = {entity for entity, chunk in world.mentions if chunk in gone}
    stale = [c.id for c in found if touched & set(c.entity_ids)]
    update = report(
        "five chunks removed",
        lambda: detect_communities(fewer, options, earlier=found, stale=stale),
    )
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore.open(Path(folder) / "scale.knot", create=True)
        begun = time.perf_counter()
        store.communities.replace(found)
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        store.communities.replace(update)
        second = time.perf_counter() - begun
        store.close()
    print(f"| storing all | {first / unit:.1f} | |\n| storing the update | {second / unit:.1f} | |")
    compare_algorithms(arguments.entities // 10, arguments.edges // 10)


def network_of(
    mentions: Iterable[tuple[str, str]], relations: Iterable[tuple[str, str, float]]
) -> Network:
    """Return the network of entities with one meaning each."""
    return make_network(
        ((Meaning(entity), chunk) for entity, chunk in mentions),
        ((Meaning(one), Meaning(other), weight) for one, other, weight in relations),
        {},
    )


def compare_algorithms(entities: int, edges: int) -> None:
    """Print modularity and time of each algorithm as a share of Louvain of networkx."""
    graph = network_of(*make_world(entities, edges)).adjacency
    other = nx.from_scipy_sparse_array(graph)
    begun = time.perf_counter()
    communities = nx.community.louvain_communities(other, seed=0)
    unit = time.perf_counter() - begun
    best = nx.community.modularity(other, communities)
    print(f"\n{entities} entities; networkx Louvain: modularity {best:.3f}, {unit:.1f} s")
    print("| algorithm | modularity ratio | time ratio |\n|---|---|---|")
    for name in COMMUNITY_ALGORITHMS:
        begun = time.perf_counter()
        labels = find_communities(graph, algorithm=name)
        seconds = time.perf_counter() - begun
        print(f"| {name} | {modularity(graph, labels) / best:.3f} | {seconds / unit:.3f} |")


if __name__ == "__main__":
    main()
