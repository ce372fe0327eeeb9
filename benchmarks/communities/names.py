"""Measure what it does to communities that names of one thing hold together.

    python benchmarks/communities/names.py --data data/bench/qa --set multihoprag_lite

A folder named with --folder is indexed as files. Names are joined by rules alone. For each weight
of the edge between a name and the canonical one: the share of names in one community with it, at
the topmost and at the lowest level; the modularity of both levels on the network *without* these
edges, so that it tells what is given up; the number of lowest communities, and how many entities
the largest has. Means of seeds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

import knotwork
from knotwork._graph.communities import modularity, numbered
from knotwork._graph.hierarchy import DivisionOptions
from knotwork._indexing.communities import detection
from knotwork._indexing.communities.detection import (
    NAME_WEIGHT,
    CommunityOptions,
    Network,
    detect_communities,
    read_network,
)
from knotwork._stores.base import Store
from knotwork._stores.resolutions import read_groups
from knotwork.records import Community, Document

WEIGHTS = (0.0, 2.0, NAME_WEIGHT, 2 * NAME_WEIGHT, 8 * NAME_WEIGHT)
SEEDS = range(5)
HEADER = (
    "| weight | together: topmost | lowest | modularity: topmost | lowest | communities | largest |"
    "\n|--:|--:|--:|--:|--:|--:|--:|"
)


def read_documents(path: Path) -> list[Document]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Document(str(row["pid"]), row["text"], row.get("title") or "") for row in rows]


def lowest(communities: Sequence[Community]) -> list[Community]:
    parents = {community.parent_id for community in communities}
    return [community for community in communities if community.id not in parents]


def network_with(store: Store, weight: float) -> Network:
    """Return the network of an index with edges of this weight between names."""
    detection.NAME_WEIGHT = weight
    read = read_network(store)
    if weight == 0.0:
        read.adjacency.eliminate_zeros()
    return read


def together(communities: Sequence[Community], groups: Mapping[str, str]) -> float:
    """Return the share of names in one community with the canonical one."""
    at = {entity: c.id for c in communities for entity in c.entity_ids}
    pairs = [pair for pair in groups.items() if pair[0] != pair[1]]
    return sum(at[one] == at[other] for one, other in pairs) / len(pairs)


def quality(plain: Network, communities: Sequence[Community]) -> float:
    place = {node: position for position, node in enumerate(plain.node_ids)}
    labels = np.full(len(place), -1)
    for number, community in enumerate(communities):
        labels[[place[node] for node in (*community.entity_ids, *community.chunk_ids)]] = number
    return modularity(plain.adjacency, numbered(labels))


def measure(store: Store) -> Iterator[list[float]]:
    """Yield the columns of the table for each weight."""
    groups = read_groups(store)
    plain = network_with(store, 0.0)
    for weight in WEIGHTS:
        read = network_with(store, weight)
        rows = []
        for seed in SEEDS:
            options = replace(CommunityOptions(), seed=seed)
            found = detect_communities(read, DivisionOptions(**asdict(options)))
            tops, lows = [c for c in found if c.level == 0], lowest(found)
            rows.append(
                [
                    together(tops, groups),
                    together(lows, groups),
                    quality(plain, tops),
                    quality(plain, lows),
                    len(lows),
                    max(c.size for c in tops),
                ]
            )
        yield [weight, *np.mean(rows, axis=0).tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/bench/qa"))
    parser.add_argument("--set", action="append", dest="sets", default=[])
    parser.add_argument("--folder", action="append", dest="folders", type=Path, default=[])
    arguments = parser.parse_args()
    for name in [*arguments.folders, *arguments.sets]:
        with (
            tempfile.TemporaryDirectory() as folder,
            knotwork.open(f"{folder}/names.knot", embedding_model="none") as base,
        ):
            if isinstance(name, Path):
                base.index(name)
            else:
                base.index_documents(read_documents(arguments.data / name / "corpus.jsonl"))
            groups = base.entities.find_aliases().groups
            print(f"\n{name}: {base.store.graph.entity_count()} entities, {groups} groups")
            print(HEADER, flush=True)
            for weight, top, low, *rest in measure(base.store):
                counts = f"{rest[2]:.0f} | {rest[3]:.0f}"
                print(
                    f"| {weight:g} | {top:.1%} | {low:.1%} | {rest[0]:.4f} | {rest[1]:.4f} "
                    f"| {counts} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
