"""Measure how well questions become statements without a model, on graphs with gold answers.

    python benchmarks/queries/translators.py --data data/bench --output translators.json

ZOGRASCOPE's questions about crimes come with gold Cypher: a question counts as right when the rows
of the statement made of it equal those of the gold one, as sets; of several first ones, any will
do. Its schema comes with a few words for every name, which may be given (`words`) or not. MetaQA's
questions come with gold answers. Templates are made of the gold statements of one half of the
questions, and asked with the other half. Linking is the share of the labels, types, properties and
values of a gold statement that stand in the prompt a model would get.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import re
import time
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from knotwork._extensions.queries.cypher_templates import (
    MatchingTranslator,
    SlotShape,
    Template,
    TemplateBook,
)
from knotwork._extensions.queries.model_translators import (
    describe_linked_schema,
    describe_stored_names,
)
from knotwork._extensions.queries.query_plans import LinkedQuestion, Statement, Translator
from knotwork._extensions.queries.query_retrievers import (
    RuleTranslator,
    best_attempt,
    run_until_right,
)
from knotwork._extensions.queries.query_targets import CypherGraph
from knotwork._extensions.queries.target_schema import find_mentions
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.records import PropertyNode, PropertyValue, Relationship

CRIMES = "crimes"
FILMS = "films"
_INLINE = re.compile(r'(\w+)\.(\w+) = "([^"]*)"')
_NODE = re.compile(r"\((\w+):(\w+)")
_FIRST = re.compile(r"RETURN (\S+) ORDER BY (\S+) (ASC|DESC) LIMIT 1\s*$")

Rows = frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--embedder", default="local:multilingual-e5-small", help="or none: words alone"
    )
    parser.add_argument("--parts", default="crimes,templates,films")
    options = parser.parse_args()
    embedder = open_embedder(options.embedder)
    results: dict[str, Any] = {}
    parts = options.parts.split(",")
    if "crimes" in parts or "templates" in parts:
        measure_crimes(options, embedder, results, parts)
    if "films" in parts:
        measure_films(options, embedder, results)
    options.output.write_text(json.dumps(results, indent=1), "utf-8")


def measure_crimes(
    options: argparse.Namespace,
    embedder: Embedder | None,
    results: dict[str, Any],
    parts: Sequence[str],
) -> None:
    folder = options.data / "text2cypher" / "zograscope"
    store = open_store("memory:", create=True)
    put_crimes(store, folder / "pole-data-importer.zip")
    words = read_words(folder / "graph_schema.json")
    with (folder / "zograscope_train_v1.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    random.Random(options.seed).shuffle(rows)
    asked = rows[: options.limit]
    gold_of = Gold(CypherGraph(store, graph=CRIMES, timeout_s=30.0))
    settings: list[tuple[str, Mapping[str, tuple[str, ...]], Embedder | None]] = [
        ("rules", {}, None),
        ("rules, words", words, None),
        ("rules, words, vectors", words, embedder),
    ]
    if "crimes" in parts:
        for name, given, vectors in settings:
            if "vectors" in name and vectors is None:
                continue
            target = CypherGraph(store, graph=CRIMES, words=given)
            translator = RuleTranslator(target, vectors)
            results[name] = ask_all(asked, target, translator, gold_of)
            report(f"zograscope {name}", results[name])
        target = CypherGraph(store, graph=CRIMES, words=words)
        results["linking"] = measure_linking(asked, target)
        print("linking", results["linking"], flush=True)
    if "templates" in parts:
        target = CypherGraph(store, graph=CRIMES, words=words)
        templates = make_templates(rows[len(rows) // 2 :], target)
        print(len(templates), "templates", flush=True)
        for name, vectors in (("templates", None), ("templates, vectors", embedder)):
            if "vectors" in name and vectors is None:
                continue
            book = TemplateBook(templates, target.values(), embedder=vectors)
            results[name] = ask_all(asked, target, MatchingTranslator(book), gold_of)
            report(f"zograscope {name}", results[name])


class Gold:
    """Rows of gold statements; of one that asks for the first, all that share its place."""

    def __init__(self, target: CypherGraph) -> None:
        self._target = target

    def rows(self, statement: str) -> tuple[Rows, bool]:
        """Return the rows, and whether any one of them will do."""
        first = _FIRST.search(statement)
        if first is None:
            return show(self._run(statement)), False
        returned, by, direction = first.groups()
        body = statement[: first.start()]
        found = self._run(f"{body}RETURN {returned}, {by}")
        pairs = [(value, sort_key(key)) for value, key in found if key is not None]
        if not pairs:
            return frozenset(), False
        best = (max if direction == "DESC" else min)(key for _, key in pairs)
        return show([(value,) for value, key in pairs if key == best]), True

    def _run(self, statement: str) -> Sequence[tuple[PropertyValue, ...]]:
        return self._target.run(Statement(statement)).rows


def ask_all(
    asked: Sequence[Mapping[str, str]], target: CypherGraph, translator: Translator, gold_of: Gold
) -> list[dict[str, Any]]:
    outcomes = []
    schema, values = target.schema(), target.values()
    for row in asked:
        gold, any_will_do = gold_of.rows(row["mr"])
        started = time.perf_counter()
        question = LinkedQuestion(row["nl"], schema, find_mentions(row["nl"], values))
        attempts = run_until_right(translator, target, question)
        seconds = time.perf_counter() - started
        best = best_attempt(attempts)
        found = show(best.result.rows) if best and best.result else frozenset()
        right = bool(found) and (found <= gold if any_will_do else found == gold)
        said = best.statement.text if best else ""
        outcomes.append(
            {
                "question": row["nl"],
                "type": row["type"],
                "nodes": int(row["num_nodes"]),
                "right": right or (not found and not gold and bool(said)),
                "said": bool(said),
                "tries": len(attempts),
                "ms": 1000 * seconds,
                "statement": said,
                "gold": row["mr"],
            }
        )
    return outcomes


def report(name: str, outcomes: Sequence[Mapping[str, Any]]) -> None:
    right = 100 * fmean(o["right"] for o in outcomes)
    said = 100 * fmean(o["said"] for o in outcomes)
    took = median(o["ms"] for o in outcomes)
    line = f"{name}: {right:.1f} % right, {said:.1f} % with a statement, {took:.0f} ms"
    for key in ("nodes", "type"):
        groups = defaultdict(list)
        for outcome in outcomes:
            if key in outcome:
                groups[outcome[key]].append(outcome["right"])
        line += "".join(f"; {k} {100 * fmean(v):.0f} ({len(v)})" for k, v in sorted(groups.items()))
    print(line, flush=True)


def measure_linking(asked: Sequence[Mapping[str, str]], target: CypherGraph) -> dict[str, float]:
    """Return the shares of what gold statements need that a model would see."""
    schema, values = target.schema(), target.values()
    found: dict[str, list[float]] = defaultdict(list)
    for row in asked:
        question = LinkedQuestion(row["nl"], schema, find_mentions(row["nl"], values))
        shown, names = describe_linked_schema(question), describe_stored_names(question)
        labels = set(re.findall(r"\(\w+:(\w+)", row["mr"]))
        types = set(re.findall(r"\[:(\w+)\]", row["mr"]))
        owned = [(kind, name, value) for kind, name, value in conditions(row["mr"])]
        found["labels"].append(fmean(f"(:{x})" in shown for x in labels))
        found["types"].append(fmean(f"[:{x}]" in shown for x in types))
        if owned:
            found["properties"].append(fmean(f"{x[1]} " in shown for x in owned))
            exact = [f"{k}.{p} = {v!r}" in names for k, p, v in owned]
            found["values"].append(fmean(exact))
            found["all values"].append(float(all(exact)))
        found["prompt tokens"].append(len((shown + names).split()) * 1.3)
    return {name: fmean(values) for name, values in found.items()}


def conditions(statement: str) -> list[tuple[str, str, str]]:
    kinds = dict(_NODE.findall(statement))
    return [(kinds.get(v, ""), name, value) for v, name, value in _INLINE.findall(statement)]


def make_templates(rows: Sequence[Mapping[str, str]], target: CypherGraph) -> list[Template]:
    """Return gold statements with slots for values, each with the questions that asked it."""
    del target
    questions: dict[str, list[str]] = defaultdict(list)
    slots: dict[str, dict[str, SlotShape]] = {}
    for row in rows:
        shapes: dict[str, SlotShape] = {}
        kinds = dict(_NODE.findall(row["mr"]))

        def replace_value(match: re.Match[str]) -> str:
            name = f"v{len(shapes)}"  # noqa: B023  used at once
            shapes[name] = SlotShape(kinds.get(match[1], ""), match[2])  # noqa: B023
            return f"{match[1]}.{match[2]} = ${name}"

        statement = _INLINE.sub(replace_value, row["mr"])
        questions[statement].append(row["nl"])
        slots[statement] = shapes
    return [
        Template(f"t{n}", "", statement, slots[statement], tuple(asked[:8]))
        for n, (statement, asked) in enumerate(sorted(questions.items()))
    ]


def measure_films(
    options: argparse.Namespace, embedder: Embedder | None, results: dict[str, Any]
) -> None:
    folder = options.data / "graph" / "metaqa_khop"
    store = open_store("memory:", create=True)
    put_films(store, folder / "kb.tsv")
    for name, vectors in (("rules", None), ("rules, vectors", embedder)):
        if "vectors" in name and vectors is None:
            continue
        target = CypherGraph(store, graph=FILMS)
        schema, values = target.schema(), target.values()
        translator = RuleTranslator(target, vectors)
        for hops in (1, 2, 3):
            path = folder / f"questions_{hops}hop.jsonl"
            records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            random.Random(options.seed).shuffle(records)
            outcomes = []
            for record in records[: options.limit]:
                started = time.perf_counter()
                text = record["question"]
                asked = LinkedQuestion(text, schema, find_mentions(text, values))
                best = best_attempt(run_until_right(translator, target, asked))
                seconds = time.perf_counter() - started
                found = names_of(best.result.rows) if best and best.result else set()
                gold = set(record["answers"])
                outcomes.append(
                    {
                        "question": text,
                        "right": found - {record["seed"]} == gold,
                        "held": gold <= found,
                        "said": best is not None,
                        "ms": 1000 * seconds,
                        "type": record["path"],
                        "statement": best.statement.text if best else "",
                        "parameters": dict(best.statement.parameters) if best else {},
                    }
                )
            results[f"films {hops} {name}"] = outcomes
            report(f"metaqa {hops} hops {name}", outcomes)


def names_of(rows: Sequence[tuple[PropertyValue, ...]]) -> set[str]:
    found = set()
    for row in rows:
        for value in row:
            name = value.get("properties", {}).get("name") if isinstance(value, Mapping) else value
            found.add(str(name))
    return found


def show(rows: Sequence[tuple[PropertyValue, ...]]) -> Rows:
    """Return rows as a set of texts; a node counts by its id."""
    return frozenset(show_value(row[0]) for row in rows if row[0] is not None)


def show_value(value: PropertyValue) -> str:
    if isinstance(value, Mapping) and "id" in value:
        return f"node {value['id']}"
    return str(value)


def sort_key(value: PropertyValue) -> str | float:
    text = str(value)
    parts = text.split("/")
    if len(parts) == 3:
        return "".join(part.zfill(2) for part in reversed(parts))
    return text


def put_crimes(store: Store, archive: Path) -> None:
    nodes, relationships = [], []
    with zipfile.ZipFile(archive) as packed:
        for name in sorted(packed.namelist()):
            if not name.endswith(".csv"):
                continue
            for row in csv.DictReader(io.TextIOWrapper(packed.open(name), "utf-8-sig")):
                properties = {
                    key.partition(":")[0]: value
                    for key, value in row.items()
                    if value and key.partition(":")[0]
                }
                if ".nodes." in name:
                    nodes.append(PropertyNode(row[":ID"], (row[":LABEL"],), properties))
                else:
                    ends = row[":START_ID"], row[":END_ID"]
                    number = str(len(relationships))
                    relationships.append(Relationship(number, row[":TYPE"], *ends, properties))
    with store.transaction():
        store.property_graphs.put(CRIMES, nodes, relationships)


def put_films(store: Store, path: Path) -> None:
    triples = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()]
    names = dict.fromkeys(name for s, _, o in triples for name in (s, o))
    nodes = [PropertyNode(name, (), {"name": name}) for name in names]
    edges = [Relationship(str(n), r, s, o) for n, (s, r, o) in enumerate(triples)]
    with store.transaction():
        store.property_graphs.put(FILMS, nodes, edges)


def read_words(path: Path) -> dict[str, tuple[str, ...]]:
    record = json.loads(path.read_text("utf-8"))
    found: dict[str, tuple[str, ...]] = {}
    for group in ("classes", "properties", "relations"):
        for name, told in record[group].items():
            texts = (told.get("description"), told.get("reverse_description"))
            found[name] = tuple(text for text in texts if text)
    return found


if __name__ == "__main__":
    main()
