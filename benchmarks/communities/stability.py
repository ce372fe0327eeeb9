"""Measure how many entities change their community when documents come and go.

    python benchmarks/communities/stability.py --data data/bench/qa --set musique_train100

Documents are removed, then added back, in rounds; each round is compared with a search from scratch
on the same graph, whose communities are matched to the earlier ones in the best possible way. An
entity counts when none of the chunks that mention it came or went: it did not have to move.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

import knotwork
from knotwork._graph.communities import modularity, numbered
from knotwork._graph.hierarchy import DivisionOptions, match_groups
from knotwork._indexing.communities.detection import (
    CommunityOptions,
    Network,
    detect_communities,
    read_network,
    refresh_communities,
    stored_communities,
)
from knotwork._indexing.communities.index_reports import refresh_reports
from knotwork._stores.base import Store
from knotwork.records import Community, Document

ROUNDS = (("removed", 0.0), ("removed", 0.01), ("removed", 0.05), ("added", 0.05), ("added", 0.01))
"""What happens in each round, and to which share of the documents; 0 is a single one."""
HEADER = (
    "| documents | entities that moved | from scratch | ratio | time ratio "
    "| modularity ratio | reports written |\n|---|---|---|---|---|---|---|"
)


def read_documents(path: Path) -> list[Document]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Document(str(row["pid"]), row["text"], row.get("title") or "") for row in rows]


def lowest(communities: Sequence[Community]) -> list[Community]:
    parents = {community.parent_id for community in communities}
    return [community for community in communities if community.id not in parents]


def places(communities: Sequence[Community]) -> dict[str, str]:
    return {entity: c.id for c in lowest(communities) for entity in c.entity_ids}


def renamed(found: Sequence[Community], before: Sequence[Community]) -> dict[str, str]:
    """Return the places of a search from scratch, under the best matching earlier ids."""
    groups = lowest(found)
    old = {community.id: community.entity_ids for community in lowest(before)}
    matched = match_groups([community.entity_ids for community in groups], old)
    return {
        entity: matched.get(position, community.id)
        for position, community in enumerate(groups)
        for entity in community.entity_ids
    }


def top_modularity(network: Network, communities: Sequence[Community]) -> float:
    position = {node: place for place, node in enumerate(network.node_ids)}
    labels = np.full(len(position), -1)
    for number, community in enumerate(c for c in communities if c.level == 0):
        for node in (*community.entity_ids, *community.chunk_ids):
            labels[position[node]] = number
    return modularity(network.adjacency, numbered(labels))


def mentioned_by(store: Store, documents: Sequence[Document]) -> set[str]:
    found = store.documents.chunk_ids_of([document.id for document in documents])
    chunks = [chunk for ids in found.values() for chunk in ids]
    mentions = store.graph.mentions(chunks).values()
    return {mention.entity_id for group in mentions for mention in group}


def run_round(
    base: knotwork.KnowledgeBase, documents: Sequence[Document], *, removed: bool
) -> list[float]:
    """Change the index by these documents and return the columns of the table."""
    store = base.store
    before = stored_communities(store.communities)
    touched = mentioned_by(store, documents) if removed else set()
    if removed:
        base.delete([document.uri for document in documents])
    else:
        base.index_documents(documents)
        touched = mentioned_by(store, documents)
    begun = time.perf_counter()
    refresh_communities(store)
    kept_s = time.perf_counter() - begun
    written = refresh_reports(store).written
    after = stored_communities(store.communities)
    network = read_network(store)
    begun = time.perf_counter()
    scratch = detect_communities(network, DivisionOptions(**asdict(CommunityOptions())))
    scratch_s = time.perf_counter() - begun
    old, kept, fresh = places(before), places(after), renamed(scratch, before)
    counted = [entity for entity in old.keys() & kept.keys() if entity not in touched]
    moved = sum(old[entity] != kept[entity] for entity in counted) / len(counted)
    anew = sum(old[entity] != fresh[entity] for entity in counted) / len(counted)
    quality = top_modularity(network, after) / top_modularity(network, scratch)
    ratio = anew / moved if moved else float("inf")
    return [moved, anew, ratio, kept_s / scratch_s, quality, written / len(after)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/bench/qa"))
    parser.add_argument("--set", action="append", dest="sets")
    arguments = parser.parse_args()
    for name in arguments.sets or ["musique_train100", "netoperator_zh"]:
        documents = read_documents(arguments.data / name / "corpus.jsonl")
        folder = tempfile.TemporaryDirectory()
        base = knotwork.open(f"{folder.name}/{name}.knot", embedding_model="none")
        base.index_documents(documents)
        refresh_communities(base.store)
        refresh_reports(base.store)
        print(f"\n{name}: {len(documents)} documents\n{HEADER}", flush=True)
        shuffle, out = random.Random(0), []
        for kind, share in ROUNDS:
            count = max(1, round(share * len(documents)))
            if kind == "removed":
                chosen = shuffle.sample([d for d in documents if d not in out], count)
                out.extend(chosen)
            else:
                chosen, out = out[:count], out[count:]
            moved, anew, ratio, times, quality, written = run_round(
                base, chosen, removed=kind == "removed"
            )
            print(
                f"| {count} {kind} | {moved:.2%} | {anew:.1%} | {ratio:.0f} | {times:.1f} "
                f"| {quality:.3f} | {written:.1%} |",
                flush=True,
            )
        base.close()
        folder.cleanup()


if __name__ == "__main__":
    main()
