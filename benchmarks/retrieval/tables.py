"""The tables of benchmarks/results/retrieval.md, from the results file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from abstention import abstention_curve, share_below
from figure import draw_abstention
from measures import CHARACTER_BUDGET, TOKEN_BUDGET
from sets import MULTI_HOP, SETS, UNTITLED
from summary import Results, difference, mean, percent, points, show_p

from knotwork._config import AnswerSettings
from knotwork._extensions.evaluation.metrics import separation

METRICS = ("recall@2", "recall@5", "recall@10", "all_gold@5", "all_gold@8", "mrr")
ABSTENTION_SET = "multihoprag_lite"
TYPED = ("musique_train100", "hotpot_train100", "twowiki_fg101", "multihoprag_lite")
LONG = ("netoperator_zh", "graphragbench_novel")

Row = Sequence[str]


def fill_tables(path: Path, results: Results) -> None:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` in a file."""
    fill_marks(path, {name: render(results) for name, render in TABLES.items()})
    confidences = results["sets"].get(ABSTENTION_SET, {}).get("retrievers", {}).get("auto")
    if confidences:
        draw_abstention(confidences, path.parent / "abstention.svg")


def fill_marks(path: Path, tables: Mapping[str, Iterable[str]]) -> None:
    """Put the lines of each table between the marks of its name."""
    text = path.read_text("utf-8")
    for name, lines in tables.items():
        marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        body = "\n".join(lines)
        text = marked.sub(lambda m, body=body: f"{m[1]}\n{body}\n\n{m[2]}", text)
    path.write_text(text, "utf-8")


def table(header: Row, rows: Iterable[Row], *, left: int = 1) -> Iterator[str]:
    """Render rows in Markdown, the first ``left`` columns to the left and numbers to the right."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'|'.join('---' if n < left else '--:' for n in range(len(header)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def state(results: Results) -> Iterator[str]:
    codes = {
        found["code"] for _, entry in _measured(results) for found in entry["retrievers"].values()
    }
    yield f"Measured on {results.get('machine', '')}, embedder `{results['embedder']}`."
    if len(codes) > 1:
        yield f"The results are of {len(codes)} states of the code; `--again` repeats them."


def quality(results: Results) -> Iterator[str]:
    header = ("set", "retriever", "R@2", "R@5", "R@10", "all@5", "all@8", "MRR")
    rows = []
    for name, entry in _measured(results):
        if SETS[name].kind != "passages":
            continue
        rows += [
            (_label(name, entry), retriever, *_bolded(entry, retriever, METRICS))
            for retriever in entry["retrievers"]
        ]
    yield from table(header, _once(rows), left=2)


def paired(results: Results) -> Iterator[str]:
    header = ("set", "R@5 auto", "− hybrid", "won/lost", "p", "− dense", "won/lost", "p")
    rows = []
    for name, entry in _measured(results):
        auto = entry["retrievers"].get("auto")
        if SETS[name].kind != "passages" or not auto:
            continue
        row = [name, percent(mean(auto, "recall@5"))]
        for other in ("hybrid", "dense"):
            found = difference(entry, other, "recall@5")
            row += (
                [points(found.difference), f"{found.wins}/{found.losses}", show_p(found.p_value)]
                if found
                else ["", "", ""]
            )
        rows.append(row)
    yield from table(header, rows)


def untitled(results: Results) -> Iterator[str]:
    header = ("set", "hybrid", "auto", "gain", "hidden: hybrid", "auto", "gain", "gain kept")
    rows = []
    for name in MULTI_HOP:
        values = [
            mean(_result(results, place, retriever), "recall@5")
            for place in (name, f"{name}{UNTITLED}")
            for retriever in ("hybrid", "auto")
        ]
        hybrid, auto, bare, kept = values
        gain = auto - hybrid if auto is not None and hybrid is not None else None
        left = kept - bare if kept is not None and bare is not None else None
        share = percent(left / gain) + " %" if gain and left is not None and gain > 0 else ""
        rows.append((name, percent(hybrid), percent(auto), points(gain), percent(bare),
                     percent(kept), points(left), share))  # fmt: skip
    yield from table(header, rows)


def published(results: Results) -> Iterator[str]:
    header = ("system", "passages", "R@5", "all@8")
    rows = []
    for name in ("twowiki_fg101", "twowiki_full6119"):
        entry = results["sets"].get(name, {})
        found = {f"{s}, recorded": v for s, v in results.get("published", {}).get(name, {}).items()}
        for retriever, result in entry.get("retrievers", {}).items():
            measures = ("recall@5", "all_gold@8")
            found[f"Knotwork `{retriever}`"] = {m: mean(result, m) for m in measures}
        rows += [
            (system, f"{entry['documents']:,}", percent(v["recall@5"]), percent(v["all_gold@8"]))
            for system, v in found.items()
        ]
    yield from table(header, rows)


def types(results: Results) -> Iterator[str]:
    header = ("set", "type", "questions", "hybrid R@5", "auto R@5", "won/lost")
    rows = []
    for name in TYPED:
        entry = results["sets"].get(name, {})
        for kind in sorted(set(entry.get("types", []))):
            places = [n for n, other in enumerate(entry["types"]) if other == kind]
            means = [
                percent(mean(_result(results, name, retriever), "recall@5", places))
                for retriever in ("hybrid", "auto")
            ]
            found = difference(entry, "hybrid", "recall@5", places)
            split = f"{found.wins}/{found.losses}" if found else ""
            rows.append((name, kind, str(len(places)), *means, split))
    yield from table(header, _once(rows), left=2)


def multihop(results: Results) -> Iterator[str]:
    columns = ("recall@2", "recall@5", "recall@10", "hits@4", "hits@10")
    header = ("retriever", "evidence R@2", "R@5", "R@10", "any-fact Hits@4", "Hits@10")
    entry = results["sets"].get("multihoprag_lite", {"retrievers": {}})
    rows = [(name, *_bolded(entry, name, columns)) for name in entry["retrievers"]]
    yield from table(header, rows)


def long_documents(results: Results) -> Iterator[str]:
    chinese = f"in {CHARACTER_BUDGET:,} characters"
    header = ("set", "type", "questions", "measure", "auto", "hybrid", "dense", "bm25", "pagerank")
    rows = []
    for name in LONG:
        entry = results["sets"].get(name, {})
        kinds = sorted(set(entry.get("types", [])))
        measures = {
            "gold_found": f"gold texts whole {chinese}",
            "gold_sentences_found": f"their sentences {chinese}",
            "recall@5": "recall@5 of documents",
            "word_recall": f"content words in {TOKEN_BUDGET:,} tokens",
        }
        present = {m for r in entry.get("retrievers", {}).values() for m in r["values"]}
        for metric in (m for m in measures if m in present):
            groups = ["all", *kinds] if metric == "word_recall" else ["all"]
            for kind in groups:
                places = [n for n, k in enumerate(entry["types"]) if kind in {"all", k}]
                values = [
                    percent(mean(_result(results, name, retriever), metric, places))
                    for retriever in header[4:]
                ]
                rows.append((name, kind, str(len(places)), measures[metric], *values))
    yield from table(header, _once(rows), left=4)


def abstention(results: Results) -> Iterator[str]:
    found = _result(results, ABSTENTION_SET, "auto")
    if not found:
        return
    known, unknown = found["confidence"], found["unanswerable_confidence"]
    yield (
        f"{len(unknown)} questions without an answer, {len(known)} with one; an answerable one"
        f" has the higher confidence in {percent(separation(known, unknown))} % of pairs."
    )
    yield ""
    header = ("abstain below", "right: no answer, abstained", "wrong: answerable, abstained")
    default = AnswerSettings().abstain_below
    rows = []
    for point in abstention_curve(known, unknown):
        mark = " (default)" if point.threshold == default else ""
        shares = (percent(point.unanswerable), percent(point.answerable))
        rows.append((f"{point.threshold:.2f}{mark}", *shares))
    yield from table(header, rows)


def wrong_abstention(results: Results) -> Iterator[str]:
    default = AnswerSettings().abstain_below
    rows = []
    for name, entry in _measured(results):
        found = entry["retrievers"].get("auto")
        if found and not name.endswith(UNTITLED):
            share = percent(share_below(found["confidence"], default))
            rows.append((name, str(entry["questions"]), share))
    yield from table(("set", "questions", f"abstained on (below {default})"), rows)


def answers(results: Results) -> Iterator[str]:
    header = ("set", "questions", "retriever", "in the answer", "characters", "in 5 passages")
    rows = []
    for name, entry in _measured(results):
        for retriever, found in entry["retrievers"].items():
            if "answer_contained" not in found["values"]:
                continue
            asked = sum(x is not None for x in found["values"]["answer_contained"])
            length = mean(found, "answer_characters") or 0.0
            rows.append((name, str(asked), retriever, percent(mean(found, "answer_contained")),
                         f"{length:.0f}", percent(mean(found, "answer_in_passages"))))  # fmt: skip
    yield from table(header, _once(rows), left=1)


def durations(results: Results) -> Iterator[str]:
    retrievers = ("auto", "hybrid", "dense", "bm25", "pagerank")
    header = ("set", "documents", "chunks", "questions", "index s", *(f"{r} s" for r in retrievers))
    rows = []
    for name, entry in _measured(results):
        seconds = [entry["retrievers"].get(r, {}).get("seconds", "") for r in retrievers]
        counts = (entry["documents"], entry["chunks"], entry["questions"])
        index = str(entry.get("index_seconds", ""))
        rows.append((name, *(f"{count:,}" for count in counts), index, *map(str, seconds)))
    yield from table(header, rows)


TABLES: dict[str, Callable[[Results], Iterator[str]]] = {
    "state": state,
    "quality": quality,
    "paired": paired,
    "untitled": untitled,
    "published": published,
    "types": types,
    "multihop": multihop,
    "long": long_documents,
    "abstention": abstention,
    "wrong": wrong_abstention,
    "answers": answers,
    "durations": durations,
}


def _measured(results: Results) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sets that have results, in the order of `SETS`."""
    for name in SETS:
        entry = results["sets"].get(name)
        if entry and entry.get("retrievers"):
            yield name, entry


def _result(results: Results, name: str, retriever: str) -> dict[str, Any]:
    entry: dict[str, Any] = results["sets"].get(name, {})
    found: dict[str, Any] = entry.get("retrievers", {}).get(retriever, {})
    return found


def _bolded(entry: dict[str, Any], retriever: str, metrics: Sequence[str]) -> list[str]:
    """Return a retriever's means, in bold where no other is better on this set."""
    cells = []
    for metric in metrics:
        shown = percent(mean(entry["retrievers"][retriever], metric))
        best = max(mean(found, metric) or 0.0 for found in entry["retrievers"].values())
        cells.append(f"**{shown}**" if shown and shown == percent(best) else shown)
    return cells


def _label(name: str, entry: dict[str, Any]) -> str:
    return f"{name} ({entry['questions']:,})"


def _once(rows: Iterable[Row]) -> Iterator[Row]:
    """Leave out what a row's first column repeats from the row above."""
    before = ""
    for row in rows:
        yield ("" if row[0] == before else row[0], *row[1:])
        before = row[0]
