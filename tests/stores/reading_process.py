"""Run as a process of its own: read until stopped; fail when a read shows half a commit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore

CHUNKS_PER_DOCUMENT = 3


def check_once(store: Store) -> int:
    """Check what holds after every commit; return how many chunks there are."""
    schema = store.graph.schema()
    chunks = schema.labels.get("Chunk", 0)
    assert chunks == CHUNKS_PER_DOCUMENT * schema.labels.get("Document", 0)
    assert schema.edge_types.get("ABOUT", 0) == chunks
    assert schema.edge_types.get("MENTIONS", 0) == chunks + schema.labels.get("Document", 0)
    near = store.vectors("chunk").search(np.ones(4, dtype=np.float32), k=10_000)
    assert len(near) % CHUNKS_PER_DOCUMENT == 0
    assert len({scored.id for scored in near}) == len(near)
    found = store.texts("chunk").search("Ada Bob Cy", k=10_000)
    assert len(found) % CHUNKS_PER_DOCUMENT == 0
    return chunks


def main(path: str, stop: str) -> None:
    store = EmbeddedStore.open(path, read_only=True)
    reads = 0
    while not Path(stop).exists():
        check_once(store)
        reads += 1
    assert check_once(store) == int(Path(stop).read_text())
    sys.stdout.write(f"{reads}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
