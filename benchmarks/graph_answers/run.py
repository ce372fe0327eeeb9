"""Measure answers from graphs: ask questions about 13 graphs and judge what plain `ask` prints.

    python benchmarks/graph_answers/run.py --data data/bench
    python benchmarks/graph_answers/run.py --graph northwind --show

An answer is right if all values of `answers` are printed and no other value of the same kind, such
as another person. Of a table, only the columns with the values are read for others; of an answer
with one value that has a headline or bold words, only these. A count must be the first number. An
answer of yes or no must begin with it; instead of "yes", the fact itself is right. A quarter of the
questions has no answer in the graph: these are right if they are refused.

The six graphs of the part `unseen`, Northwind and the triples of the articles are beside this
script, the other graphs in the folder of `--data`. `--check` compares the expected answers with the
rows of the statements beside them, and exits with 1 if they differ. Time is that of the processor.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.graph_answers.graphs import HERE, PREPARED, VALUES, open_graph

import knotwork
from knotwork import Answer

SURE = 0.6
"""A wrong answer with more confidence than this is counted as sure."""
PARTS = ("questions", "unseen")
"""The questions with which the rules were written, and later ones about other graphs."""
FIGURES = ("right", "wrong", "sure", "refused")
_MARK = re.compile(r"\s*\[\d+\]|\*\*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_YES = re.compile(r"\W*(?:yes\b|是|对|有)")
_NO = re.compile(r"\W*(?:no\b|not\b|不|否|没有)")
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)

Row = dict[str, Any]


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", _MARK.sub("", text)).casefold().split())


def find_values(text: str, values: Collection[str]) -> set[str]:
    """Return the values in a text, both folded; of overlapping ones the longest."""
    forms = []
    for value in sorted(filter(None, values), key=len, reverse=True):
        before = r"(?<![^\W_])" if value[0].isascii() and value[0].isalnum() else ""
        after = r"(?![^\W_])" if value[-1].isascii() and value[-1].isalnum() else ""
        forms.append(before + re.escape(value) + after)
    return set(re.findall("|".join(forms), text)) if forms else set()


def read_table(text: str, values: set[str]) -> str:
    """Return the cells of those columns of a table in Markdown that have one of the values."""
    lines = [line.strip().strip("|") for line in text.splitlines() if line.startswith("|")]
    rows = [[fold(cell) for cell in line.split("|")] for line in lines[2:]]
    columns = [column for column in zip(*rows, strict=False) if not values.isdisjoint(column)]
    return " | ".join(cell for column in columns for cell in column)


def is_right(row: Row, answer: Answer, values: Mapping[str, Collection[str]]) -> bool:
    """Return True if an answer prints what is wanted, and no other value of its kind."""
    if not row["answers"] or not answer.answered:
        return not row["answers"] and not answer.answered
    asked, text, of = fold(row["question"]), fold(answer.text), row["of"]
    wanted = [[fold(value) for value in group] for group in row["answers"]]
    lead = read_table(answer.text, {value for group in wanted for value in group})
    if len(wanted) == 1 and not lead:
        lead = fold(answer.short or " ".join(_EMPHASIS.findall(answer.text)))
    lead = lead or text
    if of == "yes/no":
        if wanted == [["no"]]:
            return bool(_NO.match(text))
        names = find_values(asked, {name for kind in values.values() for name in kind})
        states = len(names) > 1 and names <= find_values(text, names)
        return bool(_YES.match(text)) or (states and not _NO.match(text))
    if of == "number":
        names = {name for kind in values.values() for name in kind if not _NUMBER.fullmatch(name)}
        named = find_values(lead, names)
        for name in sorted(named, key=len, reverse=True):
            lead = lead.replace(name, " ")
        numbers = [number.replace(",", "") for number in _NUMBER.findall(lead)]
        # "53.8333333333" is as right as "53.8333".
        return [f"{float(number):g}" for number in numbers[:1]] == wanted[0]
    known = {value for group in wanted for value in group}
    kind = {*known, *values.get(of, ())}
    printed, allowed = find_values(text, kind), known | {fold(name) for name in row.get("may", ())}
    others = find_values(lead, kind) - allowed - find_values(asked, kind)
    return not others and all(not printed.isdisjoint(group) for group in wanted)


def read_values(kb: knotwork.KnowledgeBase, graph: str) -> dict[str, set[str]]:
    """Return all values of each kind of answer, folded."""
    return {
        kind: {fold(text) for text in read_column(kb, graph, statement)}
        for kind, statement in VALUES[graph].items()
    }


def read_column(kb: knotwork.KnowledgeBase, graph: str, statement: str) -> list[str]:
    """Return the first column of a statement as text."""
    rows = kb.graph.cypher(statement, graph=graph, row_limit=10_000).rows
    return [show(row[0]) for row in rows if row[0] is not None]


def show(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def ask_all(kb: knotwork.KnowledgeBase, graph: str, rows: Iterable[Row], retriever: str) -> None:
    """Add to each row what is printed, how it is judged, and the time of the processor."""
    values = read_values(kb, graph)
    kb.ask("Who?", retriever=retriever)  # what is loaded once is not measured
    for row in rows:
        start_s = time.process_time()
        answer = kb.ask(row["question"], retriever=retriever)
        row["ms"] = (time.process_time() - start_s) * 1000
        right = is_right(row, answer, values)
        confidence = float(answer.answered) if answer.confidence is None else answer.confidence
        row["confidence"] = confidence
        row["printed"] = answer.text if answer.answered else ""
        row["right"] = right
        row["wrong"] = answer.answered and not right
        row["sure"] = row["wrong"] and confidence > SURE
        row["refused"] = not answer.answered and not right


def check_answers(kb: knotwork.KnowledgeBase, graph: str, rows: Iterable[Row]) -> int:
    """Print the questions whose statement returns other values than their answers; count them."""
    faults = 0
    for row in rows:
        if "statement" in row:
            found = set(read_column(kb, graph, row["statement"]))
            if found != {group[0] for group in row["answers"]}:
                faults += 1
                print(f"{row['qid']}: the statement returns {sorted(found)}")
    return faults


def print_table(title: str, rows: Sequence[Row], key: str) -> None:
    groups = defaultdict(list)
    for row in rows:
        groups[row[key] if key else "all"].append(row)
    print(f"\n{title:<16}{'n':>5}" + "".join(name.rjust(9) for name in (*FIGURES, "ms")))
    for name, group in sorted(groups.items()):
        cells = [f"{sum(row[figure] for row in group) / len(group):.3f}" for figure in FIGURES]
        cells.append(f"{sum(row['ms'] for row in group) / len(group):.0f}")
        print(f"{name:<16}{len(group):>5}" + "".join(cell.rjust(9) for cell in cells))


def print_lost(rows: Iterable[Row]) -> None:
    """Print the questions whose answer is not right, as rows of a table in Markdown."""
    print("| question | expected | printed | confidence |\n|---|---|---|---|")
    for row in rows:
        if not row["right"]:
            wanted = ", ".join(group[0] for group in row["answers"]) or "nothing"
            printed = _EMPHASIS.sub(r"\1", row["printed"])
            cells = (row["question"], wanted, printed or "refused")
            short = (" ".join(cell.replace("|", " ").split()) for cell in cells)
            cut = (cell if len(cell) <= 110 else f"{cell[:109]}…" for cell in short)
            print(f"| {' | '.join(cut)} | {row['confidence']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=Path("data/bench"), help="folder of the graphs"
    )
    parser.add_argument("--graph", action="append", choices=PREPARED, help="by default all")
    parser.add_argument("--part", action="append", choices=PARTS, help="by default all")
    parser.add_argument("--limit", type=int, help="questions of each graph")
    parser.add_argument("--retriever", default="auto")
    parser.add_argument("--embedder", default="", help='by default that of Knotwork; or "none"')
    parser.add_argument("--cache", type=Path, help="folder that keeps the indexes")
    parser.add_argument("--show", action="store_true", help="show the answers that are not right")
    parser.add_argument("--check", action="store_true", help="check the expected answers, ask none")
    arguments = parser.parse_args()
    files = [HERE / f"{part}.jsonl" for part in arguments.part or PARTS]
    lines = (line for file in files for line in file.read_text("utf-8").splitlines())
    asked = [json.loads(line) for line in lines]
    graphs = arguments.graph or list(dict.fromkeys(row["graph"] for row in asked))
    keeping = nullcontext(arguments.cache) if arguments.cache else tempfile.TemporaryDirectory()
    rows, faults = list[Row](), 0
    with keeping as folder:
        for graph in graphs:
            wanted = [row for row in asked if row["graph"] == graph][: arguments.limit]
            with open_graph(graph, arguments.data, Path(folder), arguments.embedder) as kb:
                if arguments.check:
                    faults += check_answers(kb, graph, wanted)
                else:
                    ask_all(kb, graph, wanted, arguments.retriever)
                    rows += wanted
    if arguments.check:
        print(f"{faults} questions whose answers differ.")
        sys.exit(1 if faults else 0)
    if arguments.show:
        print_lost(rows)
    for title, key in (("kind", "kind"), ("graph", "graph"), ("language", "language"), ("", "")):
        print_table(title, rows, key)


if __name__ == "__main__":
    main()
