"""Count the relations that rules read from texts, and their precision by verdicts of a reader.

    python benchmarks/extraction/relations.py --data data/bench [--texts TEXT ...]
    python benchmarks/extraction/relations.py --data data/bench --draw 60 > drawn.jsonl

The texts are the story of the data set, any `--texts`, and 200 passages of the development sets.
`--draw` prints relations without a verdict, drawn at random, one JSON object a line; a reader sets
``verdict`` to "right" if the sentence states this between these two names in this direction,
"useless" if what is stated says nothing, else "wrong". `relations.jsonl` beside this script holds
the verdicts so far. A relation that no line holds counts as not judged.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knotwork._indexing.splitters import make_splitter
from knotwork._transform.rules import RuleExtractor
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    KEYWORD_TYPES,
    Document,
)

VERDICTS = Path(__file__).with_name("relations.jsonl")
STORY = "docs_dbgpt/tranformers_story.md"
SETS = (
    "musique_train100",
    "hotpot_train100",
    "twowiki_fg101",
    "multihoprag_lite",
    "popqa300",
    "drcd300_zh",
    "netoperator_zh",
    "cmrc2018_trial",
)
PASSAGES = 25
"""Passages of each set."""
UNSTATED = {ALIAS_RELATION, CO_OCCURRENCE_RELATION}


def read_documents(data: Path, texts: list[Path]) -> Iterator[tuple[str, Document]]:
    """Yield (name of the text, document)."""
    for path in (data / STORY, *texts):
        yield path.stem, Document(path.name, path.read_text(encoding="utf-8"), "")
    for name in SETS:
        lines = (data / "qa" / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        for line in random.Random(7).sample(lines, min(PASSAGES, len(lines))):
            passage = json.loads(line)
            yield name, Document(str(passage["pid"]), passage["text"], passage.get("title", ""))


def read_relations(extractor: RuleExtractor, text: str, document: Document) -> Iterator[Any]:
    """Yield each entity as (form, type), and each stated relation as a row without a verdict."""
    _, chunks = make_splitter("structure").split(document)
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    for extraction in extractor.extract(document, chunks):
        names = {m.entity_id: m for m in extraction.mentions}
        yield from ((m.normal_form, m.type) for m in names.values() if m.type not in KEYWORD_TYPES)
        for relation in extraction.relations:
            if relation.relation in UNSTATED:
                continue
            span = relation.span
            chunk = next(leaf for leaf in leaves if leaf.id == extraction.chunk_id)
            yield {
                "text": text,
                "sentence": " ".join((document.text[slice(*span)] if span else chunk.text).split())[
                    :160
                ],
                "source": names[relation.source].name,
                "relation": relation.relation,
                "target": names[relation.target].name,
            }


def key(row: dict[str, str]) -> tuple[str, ...]:
    return row["sentence"], row["source"], row["relation"], row["target"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--draw", type=int, default=0, help="relations to print for a reader")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--show", action="store_true", help="print the relations judged wrong")
    options = parser.parse_args()
    lines = VERDICTS.read_text(encoding="utf-8").splitlines() if VERDICTS.exists() else []
    judged = {key(row): row["verdict"] for row in map(json.loads, lines)}
    counts: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, str]] = []
    entities: dict[tuple[str, str], str] = {}
    extractor = RuleExtractor()
    for text, document in read_documents(options.data, options.texts):
        for found in read_relations(extractor, text, document):
            if isinstance(found, dict):
                rows.append(found)
            else:
                entities[text, found[0]] = entities.get((text, found[0])) or found[1]
    if options.draw:
        drawn = [row for row in rows if key(row) not in judged]
        for row in random.Random(options.seed).sample(drawn, min(options.draw, len(drawn))):
            print(json.dumps({**row, "verdict": ""}, ensure_ascii=False))
        return
    for (text, _), kind in entities.items():
        counts[text, "entities"] += 1
        counts[text, "typed"] += bool(kind)
    for row in rows:
        counts[row["text"], "relations"] += 1
        counts[row["text"], judged.get(key(row), "unread")] += 1
        if options.show and judged.get(key(row), "right") != "right":
            print(f"{row['source']} — {row['relation']} → {row['target']}: {row['sentence']}")
    print("| text | entities | typed | relations | right | wrong | useless | precision |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    names = dict.fromkeys(text for text, _ in counts)
    columns = ("entities", "typed", "relations", "right", "wrong", "useless")
    for name, of in [*((name, {name}) for name in names), ("all", set(names))]:
        found = [sum(counts[text, column] for text in of) for column in columns]
        read = sum(found[3:])
        share = f"{found[3] / read:.3f}" if read else "—"
        typed = f"{found[1] / found[0]:.2f}" if found[0] else "—"
        print(f"| {name} | {found[0]} | {typed} | {' | '.join(map(str, found[2:]))} | {share} |")


if __name__ == "__main__":
    main()
