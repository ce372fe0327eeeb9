"""Count the statements that questions and documents send to the store.

    python benchmarks/speed/statements.py --data DIR --cache FOLDER --limit 100

`--data` is a folder with `corpus.jsonl` ({pid, title, text}) and `questions.jsonl` ({question}).
Each passage becomes a document of an index with hashed vectors, which is kept in the cache folder.
Statements are counted as a server would receive them: queries, writes, and the begin and the end
of a transaction; `executemany` counts once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import knotwork
from knotwork._extensions.testing.statement_counts import count_statements
from knotwork.testing import HashingEmbedder

RETRIEVERS = (
    "auto",
    "paths",
    "bm25",
    "hybrid",
    "pagerank",
    "siblings",
    "top_down",
    "summaries",
    "explore",
    "graph_vector",
    "ontology",
    "drill_down",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with a corpus")
    parser.add_argument("--cache", type=Path, required=True, help="where the index is kept")
    parser.add_argument("--limit", type=int, default=100, help="questions asked")
    parser.add_argument("--documents", type=int, default=100, help="documents indexed for a count")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    texts = read_texts(options.data)
    path = options.cache / f"{options.data.name}.knot"
    is_new = not path.exists()
    with open_base(path) as base:
        if is_new:
            fill(base, texts)
            base.communities.update()
        questions = read_questions(options.data)[: options.limit]
        print("| retriever | median | p95 | most |\n|---|---|---|---|")
        for name in RETRIEVERS:
            report(name, base, questions, lambda q, name=name: base.search(q, retriever=name))
        report("ask", base, questions, base.ask)
    measure_indexing(texts[: options.documents])


def open_base(path: Path) -> knotwork.KnowledgeBase:
    return knotwork.open(path, embedder=HashingEmbedder(), embedding_model="none")


def read_texts(data: Path) -> list[str]:
    rows = map(json.loads, (data / "corpus.jsonl").read_text("utf-8").splitlines())
    return [f"# {row.get('title') or row['pid']}\n\n{row['text']}\n" for row in rows]


def read_questions(data: Path) -> list[str]:
    lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def fill(base: knotwork.KnowledgeBase, texts: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number:06}.md").write_text(text, "utf-8")
        base.index(folder)


def report(
    name: str,
    base: knotwork.KnowledgeBase,
    questions: Sequence[str],
    ask: Callable[[str], object],
) -> None:
    """Print the statements of each question, after one that fills what a process keeps."""
    ask(questions[-1])
    counts = []
    for question in questions:
        with count_statements(base.store) as sent:
            ask(question)
        counts.append(len(sent))
    median, high = np.percentile(counts, [50, 95])
    print(f"| `{name}` | {median:.0f} | {high:.0f} | {max(counts)} |")


def measure_indexing(texts: Sequence[str]) -> None:
    """Print the statements for each document of a folder: added, unchanged, removed."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "documents")
        folder.mkdir()
        for number, text in enumerate(texts):
            Path(folder, f"{number:06}.md").write_text(text, "utf-8")
        with open_base(Path(place, "index.knot")) as base:
            steps: dict[str, Callable[[object], object]] = {
                "added": base.index,
                "unchanged": base.index,
                "removed": base.delete,
            }
            for step, run in steps.items():
                with count_statements(base.store) as sent:
                    run(folder)
                print(f"{step}: {len(sent) / len(texts):.1f} statements a document")


if __name__ == "__main__":
    main()
