"""Measure the retriever `paths` on questions to knowledge bases, without any language model.

    python benchmarks/paths/measure.py quality --data data/bench --cache FOLDER
    python benchmarks/paths/measure.py left-out --data data/bench --cache FOLDER
    python benchmarks/paths/measure.py latency --cache FOLDER

`quality` asks the shipped model, `left-out` models that were trained without the graph, or without
the kind of question, that they are asked about. `ship` trains the model that ships. A path is right
when its end is an answer; a pattern is right when its answers are the known ones (F1 of 0.9).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from graphs import Triple, open_graph, read_questions, read_triples

from knotwork._extensions.evaluation.path_training import (
    EQUAL_OVERLAP,
    PathExamples,
    PathQuestion,
    collect_examples,
    fit_ranker,
    make_path_questions,
    measure_ranker,
    overlap,
)
from knotwork._extensions.paths.path_ranking import SHIPPED_MODEL
from knotwork._extensions.paths.path_retriever import PathsRetriever, Stages
from knotwork._inference.boosted_trees import parse_trees
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.base import Store
from knotwork._text.names import normal_form
from knotwork.records import Query, entity_id

GRAPHS = {"metaqa": "metaqa_khop/kb.tsv", "prqa": "prqa_zh/triples.tsv"}
MADE = {"wikidata": 1_200, "metaqa": 600, "prqa": 600}
SEED = 5
RELATIONS = [
    "directed_by",
    "written_by",
    "starred_actors",
    "produced_by",
    "composed_by",
    "member_of",
    "born_in",
    "lives_in",
    "works_for",
    "owns",
    "founded_by",
    "located_in",
]
NODES, EDGES = 100_000, 500_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["quality", "left-out", "ship", "latency"])
    parser.add_argument("--data", type=Path, help="the folder with `graph` and `extraction`")
    parser.add_argument("--cache", type=Path, required=True, help="where graphs are kept")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--embedder", default="", help="for the precise stage")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    steps: dict[str, Callable[[argparse.Namespace], None]] = {
        "quality": measure_quality,
        "left-out": measure_left_out,
        "ship": ship,
        "latency": measure_latency,
    }
    steps[options.what](options)


def open_stores(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Store]:
    stores = {}
    for name in names:
        path = options.cache / f"{name}.knot"
        triples = [] if path.exists() else read_graph(options.data, name)
        stores[name] = open_graph(triples, path)
    return stores


def read_graph(data: Path, name: str) -> list[Triple]:
    if name in GRAPHS:
        return read_triples(data / "graph" / GRAPHS[name])
    found: dict[Triple, None] = {}
    for path in sorted((data / "extraction/text2kgbench_wikidata_tekgen").glob("*/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if "rel_label" in row:
                found[row["sub_label"], row["rel_label"], row["obj_label"]] = None
            for triple in row.get("triples", ()):
                found[triple["sub"], triple["rel"], triple["obj"]] = None
    return list(found)


def asked(options: argparse.Namespace, name: str, *, marked: bool) -> dict[str, list[PathQuestion]]:
    """Return the questions of a graph by set; unless ``marked`` without brackets around names."""
    folder = (options.data / "graph" / GRAPHS[name]).parent
    sets = {}
    for kind, questions in read_questions(folder).items():
        texts = [q.text if marked else q.text.replace("[", "").replace("]", "") for q in questions]
        answers = [frozenset(entity_id(normal_form(a)) for a in q.answers) for q in questions]
        pairs = zip(texts, answers, strict=True)
        sets[kind] = [PathQuestion(text, found) for text, found in pairs][: options.limit]
    return sets


def measure_quality(options: argparse.Namespace) -> None:
    """Print right paths among the first one and three, by how paths are ranked."""
    embedder = open_embedder(options.embedder) if options.embedder else None
    stages: tuple[Stages, ...] = ("none", "coarse", "both") if embedder else ("none", "coarse")
    for name, store in open_stores(options, GRAPHS).items():
        for marked in (False, True):
            for kind, questions in asked(options, name, marked=marked).items():
                if marked and not any("[" in question.text for question in questions):
                    continue
                for stage in stages:
                    retriever = PathsRetriever(
                        store=store, embedder=embedder, options=PathsRetriever.Options(stages=stage)
                    )
                    shares = score(retriever, questions)
                    label = f"{kind}{' marked' if marked else ''}"
                    print(f"{label:14} {stage:7}", " ".join(f"{v:6.1%}" for v in shares.values()))
    print("columns:", ", ".join(shares))


def score(retriever: PathsRetriever, questions: Sequence[PathQuestion]) -> dict[str, float]:
    counts = dict.fromkeys(("path@1", "path@3", "pattern@1", "pattern@3"), 0)
    for question in questions:
        paths = retriever.retrieve(Query(question.text)).paths
        ends = [bool(path.answers) and _id(path.answers[0]) in question.answers for path in paths]
        found = [overlap(frozenset(map(_id, path.answers)), question.answers) for path in paths]
        for k in (1, 3):
            counts[f"path@{k}"] += any(ends[:k])
            counts[f"pattern@{k}"] += max(found[:k], default=0.0) >= EQUAL_OVERLAP
    return {key: count / len(questions) for key, count in counts.items()}


def _id(name: str) -> str:
    return entity_id(normal_form(name))


def collect(options: argparse.Namespace) -> dict[str, list[PathExamples]]:
    """Return the examples of every source: made questions by graph, labelled ones by set."""
    stores = open_stores(options, MADE)
    examples = {}
    for name, store in stores.items():
        made = make_path_questions(store, count=options.limit or MADE[name], seed=SEED)
        examples[f"made {name}"] = list(collect_examples(store, made))
        if name in GRAPHS:
            for kind, questions in asked(options, name, marked=False).items():
                examples[kind] = list(collect_examples(store, questions))
    return examples


def measure_left_out(options: argparse.Namespace) -> None:
    """Print how a model ranks what it has seen nothing of."""
    examples = collect(options)
    kinds = [kind for kind in examples if kind.endswith("hop")]
    runs = [
        ("nothing labelled, other graph", ["made wikidata"], [*kinds, "prqa_zh"]),
        ("graph", ["made wikidata", "made prqa", "prqa_zh"], kinds),
        ("graph", ["made wikidata", "made metaqa", *kinds], ["prqa_zh"]),
        *[("kind", [key for key in examples if key != kind], [kind]) for kind in kinds],
    ]
    for what, trained, tested in runs:
        trees = parse_trees(fit_ranker([one for key in trained for one in examples[key]]))
        for kind in tested:
            found = [measure_ranker(trees, examples[kind], k=k) for k in (1, 3)]
            shares = " ".join(f"{share:6.1%}" for share in found)
            print(f"left out: {what:30} {kind:8} pattern@1, @3: {shares}", flush=True)


def ship(options: argparse.Namespace) -> None:
    """Train the model that ships on all there is, and print what its trees split on."""
    model = fit_ranker([one for found in collect(options).values() for one in found])
    place = Path(__file__).parents[2] / "src/knotwork/_extensions/paths" / SHIPPED_MODEL
    place.write_text(model, "utf-8")
    trees = parse_trees(model)
    total = sum(trees.gains)
    for gain, name in sorted(zip(trees.gains, trees.features, strict=True), reverse=True):
        print(f"{name:22} {gain / total:6.1%}")


def measure_latency(options: argparse.Namespace) -> None:
    """Print milliseconds a question on a random graph with hubs, without embedder."""
    chance = random.Random(SEED)
    path = options.cache / f"random-{NODES}.knot"
    names = [f"Thing Number {number}" for number in range(NODES)]
    if not path.exists():
        open_graph(make_graph(names, chance), path).close()
    store = open_graph([], path)
    texts = [
        f"{how} {chance.choice(names)}"
        for how in (
            "who directed",
            "who wrote the ones directed by the director of",
            "where were born the actors that starred in the ones written by the writer of",
        )
        for _ in range(options.limit or 30)
    ]
    for name in ("graph", "paths"):
        times: list[tuple[float, float]] = []
        retriever: Any = build_retriever(name, store=store)
        for text in texts:
            start, own = time.perf_counter(), time.thread_time()
            retriever.retrieve(Query(text))
            times.append((time.perf_counter() - start, time.thread_time() - own))
        walls, owns = (sorted(values) for values in zip(*times, strict=True))
        late = int(0.95 * len(walls))
        print(
            f"{name}: p50 {1_000 * median(walls):.1f} ms, p95 {1_000 * walls[late]:.1f} ms, "
            f"own time p50 {1_000 * median(owns):.1f} ms, p95 {1_000 * owns[late]:.1f} ms"
        )


def make_graph(names: Sequence[str], chance: random.Random) -> list[Triple]:
    """Return triples whose ends are drawn unevenly: the k-th thing about as often as 1/sqrt(k)."""
    triples = {
        (names[_uneven(chance)], chance.choice(RELATIONS), names[_uneven(chance)])
        for _ in range(int(1.02 * EDGES))
    }
    return sorted(triple for triple in triples if triple[0] != triple[2])[:EDGES]


def _uneven(chance: random.Random) -> int:
    return int(NODES * chance.random() ** 2)


if __name__ == "__main__":
    main()
