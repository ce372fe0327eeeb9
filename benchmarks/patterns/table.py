"""The table of patterns, from the results to Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from knotwork._extensions.evaluation.metrics import compare_paired

BASE = "hybrid"
LEVEL = 0.05
_MARKS = re.compile(r"(<!-- begin patterns -->\n).*?(\n<!-- end patterns -->)", re.DOTALL)
_SHORT = {
    "musique_train100": "MuSiQue",
    "hotpot_train100": "HotpotQA",
    "twowiki_fg101": "2Wiki",
    "twowiki_full6119": "2Wiki, whole",
    "popqa300": "PopQA",
    "multihoprag_lite": "MultiHop-RAG",
    "drcd300_zh": "DRCD",
    "cmrc2018_trial": "CMRC",
}
_SHORT_LONG = {"netoperator_zh": "NetOperator", "graphragbench_novel": "novels"}
_LONG = {
    "netoperator_zh": {
        "recall@5": "R@5 of documents",
        "gold_found": "gold texts",
        "gold_sentences_found": "their sentences",
    },
    "graphragbench_novel": {"word_recall": "content words"},
}
"""Of sets of long documents, the measures that are shown, with what they are called."""


def fill_table(path: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the table between its marks. Raises ValueError where the file has none."""
    text = path.read_text("utf-8")
    if not _MARKS.search(text):
        raise ValueError(f"{path} has no marks for the table of patterns.")
    table = f"{render_table(results)}\n\n{render_long(results)}"
    path.write_text(_MARKS.sub(lambda m: f"{m[1]}\n{table}\n{m[2]}", text), "utf-8")


def render_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each pattern: R@2 / R@5 / R@10, all@5 of each set."""
    sets = [name for name in _SHORT if name in results]
    patterns = list(dict.fromkeys(pattern for name in sets for pattern in results[name]))
    head = " | ".join(f"{_SHORT[name]} ({count(results[name])})" for name in sets)
    lines = [f"| pattern | {head} |", f"|---|{'---|' * len(sets)}"]
    for pattern in patterns:
        cells = [cell(results[name], pattern) for name in sets]
        lines.append(f"| `{pattern}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def render_long(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each pattern: what it brings of long documents within a budget of text."""
    sets = [name for name in _LONG if name in results]
    measures = [(name, measure) for name in sets for measure in _LONG[name]]
    heads = [
        f"{_SHORT_LONG[name]} ({count(results[name])}): {_LONG[name][measure]}"
        for name, measure in measures
    ]
    lines = [f"| pattern | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for pattern in list(dict.fromkeys(pattern for name in sets for pattern in results[name])):
        cells = [
            budget_cell(results[name], pattern, measure) if pattern in results[name] else ""
            for name, measure in measures
        ]
        lines.append(f"| `{pattern}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def budget_cell(entry: Mapping[str, Any], pattern: str, measure: str) -> str:
    values = entry[pattern][measure]
    compared = compare_paired(values, entry[BASE][measure])
    mark = ""
    if pattern != BASE and compared.p_value < LEVEL:
        mark = " ▲" if compared.difference > 0 else " ▼"
    return f"{100 * fmean(values):.1f}{mark}"


def count(entry: Mapping[str, Any]) -> int:
    return max(len(found["all_gold@5"]) for found in entry.values())


def cell(entry: Mapping[str, Any], pattern: str) -> str:
    """Return the measures of a pattern; ▲ and ▼ mark all@5 that differs from the base's."""
    if pattern not in entry:
        return ""
    found = entry[pattern]
    recalls = " / ".join(f"{100 * fmean(found[f'recall@{k}']):.1f}" for k in (2, 5, 10))
    mark = ""
    if pattern != BASE and BASE in entry:
        compared = compare_paired(found["all_gold@5"], entry[BASE]["all_gold@5"])
        if compared.p_value < LEVEL:
            mark = " ▲" if compared.difference > 0 else " ▼"
    return f"{recalls}, {100 * fmean(found['all_gold@5']):.0f}{mark}"
