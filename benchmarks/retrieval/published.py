"""The recorded runs of other systems over the same passages and questions."""

from __future__ import annotations

import json
from pathlib import Path

from knotwork._extensions.evaluation.metrics import all_gold, recall

SYSTEMS = {
    "vdb": "VectorDB",
    "lightrag": "LightRAG (local)",
    "nano": "nano-GraphRAG (local)",
    "graph": "fast-graphrag",
}


def read_published(folder: Path) -> dict[str, dict[str, float]]:
    """Score the titles that each system recorded among its first eight; empty without records."""
    runs = folder / "published_runs"
    found: dict[str, dict[str, float]] = {}
    for key, name in SYSTEMS.items():
        for path in sorted((runs / key).glob("*_101*.json")):
            records = json.loads(path.read_text("utf-8"))
            rows = [(r["evidence"], [[title] for title in r["ground_truth"]]) for r in records]
            found[name] = {
                "questions": len(rows),
                "recall@5": sum(recall(e, g, k=5) for e, g in rows) / len(rows),
                "all_gold@8": sum(all_gold(e, g, k=8) for e, g in rows) / len(rows),
            }
    return found
