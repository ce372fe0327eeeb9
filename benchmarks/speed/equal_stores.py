"""Compare what questions find in an index file and in its copy on PostgreSQL.

    python benchmarks/speed/equal_stores.py --data DIR --data DIR --cache FOLDER --url URL

`--data` is a folder as `statements.py` takes it. Its index has hashed vectors and communities, is
kept in the cache folder, and is copied to a schema of the set's name. "equal" counts the questions
with the same hits in the same order and with scores that differ by less than a millionth; "ties"
those whose hits differ only in the order of such scores.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from statements import RETRIEVERS, fill, open_base, read_questions, read_texts

import knotwork
from knotwork.records import Evidence
from knotwork.testing import HashingEmbedder

TOLERANCE = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", required=True, help="repeatable")
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept")
    parser.add_argument("--url", required=True, help="postgresql://…, without an index")
    parser.add_argument("--limit", type=int, default=100, help="questions of each set")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    print("| set | passages | questions x retrievers | equal | ties | different |")
    print("|---|--:|--:|--:|--:|--:|")
    for data in options.data:
        print(compare(data, options.cache, options.url, options.limit), flush=True)


def compare(data: Path, cache: Path, url: str, limit: int) -> str:
    """Return the row of one set."""
    path, texts = cache / f"{data.name}.knot", read_texts(data)
    name = re.sub(r"\W", "_", data.name.lower())
    place = f"{url}{'&' if '?' in url else '?'}index={name}"
    is_new = not path.exists()
    with open_base(path) as base:
        if is_new:
            fill(base, texts)
            base.communities.update()
        base.copy(place)
        questions = read_questions(data)[:limit]
        counts = {"equal": 0, "ties": 0, "different": 0}
        with knotwork.open(place, embedder=HashingEmbedder(), embedding_model="none") as copied:
            for retriever in RETRIEVERS:
                for question in questions:
                    pair = (kb.search(question, retriever=retriever) for kb in (base, copied))
                    counts[judge(*pair)] += 1
        listed = " | ".join(f"{count:,}" for count in counts.values())
        asked = len(questions) * len(RETRIEVERS)
        return f"| {data.name} | {base.store.documents.chunk_count():,} | {asked:,} | {listed} |"


def judge(one: Evidence, other: Evidence) -> str:
    """Return how the hits of two stores compare."""
    ids = [[hit.chunk.id for hit in evidence.hits] for evidence in (one, other)]
    scores = [[hit.score for hit in evidence.hits] for evidence in (one, other)]
    same_scores = len(scores[0]) == len(scores[1]) and all(
        abs(a - b) <= TOLERANCE * max(1.0, abs(a)) for a, b in zip(*scores, strict=True)
    )
    if not same_scores:
        return "different"
    if ids[0] == ids[1]:
        return "equal"
    return "ties" if tied(ids[0], scores[0]) == tied(ids[1], scores[0]) else "different"


def tied(ids: Sequence[str], scores: Sequence[float]) -> list[set[str]]:
    """Return the ids of each score; those of the last score may be cut off, and are left out."""
    pairs = zip(ids, scores, strict=True)
    groups = [{i for i, _ in group} for _, group in groupby(pairs, lambda p: round(p[1], 6))]
    return groups[:-1]


if __name__ == "__main__":
    main()
