"""Draw entities and relations of indexes at random for a person to judge, and count the verdicts.

    python benchmarks/graph/precision.py draw manual=manual.knot wiki=wiki.knot --output drawn.tsv
    python benchmarks/graph/precision.py score drawn.tsv

`draw` writes one line for each entity and relation, with a sentence that names it and an empty
column ``verdict``. Keywords and co-occurrences are neither entities nor relations, and are not
drawn. `score` reads the verdicts that a person has entered: ``+`` is right, ``-`` is wrong.

An entity is right if its name is complete and denotes a thing, person, place, organization, work,
date or technical term that the sentence speaks of, and its type, if it has one, is right. A
relation is right if the sentence states it, between these two entities and in this direction.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._text.visible import neutralize_cell
from knotwork.records import Chunk, EdgeType, Label, Span

ENTITY, RELATION = "entity", "relation"
COLUMNS = ("corpus", "kind", "verdict", "drawn", "sentence")
VERDICTS = {"+": True, "-": False}
LONGEST_SENTENCE = 400


class Drawn(NamedTuple):
    """An entity or a relation as it is shown to a person, and a sentence that names it."""

    text: str
    sentence: str


def main() -> None:
    options = parse_options()
    if options.command == "draw":
        wanted = {ENTITY: options.entities, RELATION: options.relations}
        draw(options.indexes, options.output, wanted=wanted, seed=options.seed)
    else:
        score(options.judged)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="draw from indexes")
    drawing.add_argument("indexes", nargs="+", metavar="NAME=FILE", help="an index, and its name")
    drawing.add_argument("--entities", type=int, default=80, help="of each index")
    drawing.add_argument("--relations", type=int, default=95, help="of each index, if it has them")
    drawing.add_argument("--seed", type=int, default=13)
    drawing.add_argument("--output", type=Path, required=True)
    scoring = commands.add_parser("score", help="count the verdicts")
    scoring.add_argument("judged", type=Path)
    return parser.parse_args()


def draw(indexes: Sequence[str], output: Path, *, wanted: Mapping[str, int], seed: int) -> None:
    """Write so many entities and relations of each index, in an order that depends on the seed."""
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for index in indexes:
            corpus, _, path = index.partition("=")
            store = open_store(path)
            for kind, drawer in ((ENTITY, draw_entities), (RELATION, draw_relations)):
                for item in drawer(store, wanted[kind], random.Random(seed)):
                    shown = neutralize_cell(item.text), neutralize_cell(item.sentence)
                    writer.writerow((corpus, kind, "", *shown))
            store.close()


def draw_entities(store: Store, most: int, chance: random.Random) -> Iterator[Drawn]:
    nodes = store.graph.find(label=Label.ENTITY, limit=store.graph.entity_count())
    for node in chance.sample(nodes, min(most, len(nodes))):
        kind = node.properties["type"]
        edges = store.graph.neighbours([node.id], direction="in", types=[EdgeType.MENTIONS], fan=1)
        chunk_id = edges[node.id][0].source
        chunk = store.documents.chunks([chunk_id])[chunk_id]
        spans = [
            m.spans for m in store.graph.mentions([chunk_id])[chunk_id] if m.entity_id == node.id
        ]
        sentence = sentence_at(chunk, spans[0][0]) if spans[0] else f"(title) {chunk.context}"
        yield Drawn(f"{node.name} ({kind or 'no type'})", sentence)


def draw_relations(store: Store, most: int, chance: random.Random) -> Iterator[Drawn]:
    edges = list(store.graph.edges(types=[EdgeType.RELATES]))
    for edge in chance.sample(edges, min(most, len(edges))):
        names = store.graph.entities([edge.source, edge.target])
        chunk = store.documents.chunks(edge.chunks[:1])[edge.chunks[0]]
        stated = next(
            relation
            for relation in store.graph.relations([chunk.id])[chunk.id]
            if (relation.source, relation.relation, relation.target)
            == (edge.source, edge.relation, edge.target)
        )
        text = f"{names[edge.source].name} — {edge.relation} → {names[edge.target].name}"
        yield Drawn(text, sentence_at(chunk, stated.span) if stated.span else one_line(chunk.text))


def sentence_at(chunk: Chunk, span: Span) -> str:
    """Return the sentence of a chunk that holds the start of a span."""
    for number, sentence in enumerate(chunk.sentences):
        if sentence.start <= span.start < sentence.end:
            return one_line(chunk.sentence_text(number))
    return one_line(chunk.text)


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SENTENCE else f"{line[:LONGEST_SENTENCE]} …"


def score(judged: Path) -> None:
    """Print the precision of each kind, by corpus and over all. Raises SystemExit on a gap."""
    right: Counter[tuple[str, str]] = Counter()
    drawn: Counter[tuple[str, str]] = Counter()
    with judged.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t"), start=2):
            if row["verdict"] not in VERDICTS:
                raise SystemExit(
                    f"{judged}:{number}: the verdict is `{row['verdict']}`; enter + or -."
                )
            for corpus in (row["corpus"], "all"):
                drawn[corpus, row["kind"]] += 1
                right[corpus, row["kind"]] += VERDICTS[row["verdict"]]
    print("| corpus | entities | right | relations | right |\n|---|--:|--:|--:|--:|")
    for corpus in sorted({corpus for corpus, _ in drawn}, key=lambda name: (name == "all", name)):
        cells = [corpus]
        for kind in (ENTITY, RELATION):
            count = drawn[corpus, kind]
            share = f"{right[corpus, kind] / count:.1%}" if count else "—"
            cells += [str(count), share]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
