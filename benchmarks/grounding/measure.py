"""Measure the check that finds statements which the cited passages do not say.

    python benchmarks/grounding/measure.py --data data

False statements differ from true ones in a number, a name, a negation or the order of two names;
half of the numbers and names come from the same passage. Kinds of true statements: sentences
of the passages ("close"), questions turned into statements ("asked"), clauses of the passages in
both voices ("clauses", such as "Acme was founded by Ina Berg"), and answers about manuals that were
written by hand, with the quoted evidence as passage: near its words ("written"), and in words as
free as those of a good assistant ("free"). Prints the share of false statements
found, of true ones rejected, the precision if both are equally frequent, and CPU time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from statements import (
    KINDS,
    QUOTES,
    Statement,
    make_false,
    names_of,
    read_clauses,
    read_rows,
    read_sentences,
    rows_by_key,
    state,
)
from statements import read_statements as read_asked

from knotwork._synthesis.grounding.statement_check import CitedSources
from knotwork._text.sentences import split_sentences

TRAINED = ("train/squad_dev.jsonl.gz", "train/xquad_zh.jsonl.gz", "train/drcd_test.jsonl.gz")
FRESH = (
    "train/squadshifts_newwiki.jsonl.gz",
    "train/qamr.jsonl.gz",
    "bench/qa/cmrc2018_trial",
    "bench/qa/drcd300_zh",
)
MANUALS = ("postgresql", "handbook_en", "handbook_zh")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of train/ and bench/")
    parser.add_argument("--count", type=int, default=150, help="false statements of each set")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=0, help="errors to print of each set")
    options = parser.parse_args()
    print(
        "| set | statements | false | "
        + " | ".join(KINDS)
        + " | found | rejected | precision | ms |"
    )
    print("|---|---|--:|" + "--:|" * (len(KINDS) + 4))
    for name in (*TRAINED, *FRESH):
        rows = list(read_rows(options.data / name))
        asked = list(read_asked(rows))
        names = sorted({n for s in asked for n in names_of(s.answer, s.language) if n == s.answer})
        kinds = {"close": list(read_sentences(rows, every=3)), "asked": asked}
        shown = name.split("/")[-1].split(".")[0]
        for kind, statements in kinds.items():
            made = make_false(statements, names, seed=options.seed)
            _measure(shown, kind, statements, made, options)
        clauses = list(read_clauses(rows))
        made = {kind: [] for kind in KINDS} | {"roles": [false for _, false in clauses]}
        _measure(shown, "clauses", [true for true, _ in clauses], made, options)
    written = {
        "written": _read_written(options.data / "bench" / "realdocs"),
        "free": list(_read_free()),
    }
    for kind, statements in written.items():
        names = sorted({n for s in statements for n in names_of(s.passage, s.language)})
        made = make_false(statements, names, seed=options.seed)
        _measure("manuals", kind, statements, made, options)


def _read_free() -> Iterator[Statement]:
    for line in Path(__file__).with_name("free_answers.tsv").read_text("utf-8").splitlines():
        manual, question, text = line.split("\t")
        yield state(rows_by_key(QUOTES / f"{manual}.jsonl")[question], text)


def _read_written(folder: Path) -> list[Statement]:
    rows = {}
    for name in MANUALS:
        for line in (folder / name / "questions.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            rows[row["qid"]] = row
    found = []
    for line in Path(__file__).with_name("manual_answers.tsv").read_text("utf-8").splitlines():
        qid, text = line.split("\t")
        row = rows[qid]
        passage = "\n\n".join(part["quote"] for part in row["evidence"])
        found.append(Statement(text, passage, "", row["question"], row["lang"], ""))
    return found


def _measure(
    name: str,
    kind: str,
    statements: Sequence[Statement],
    made: Mapping[str, Sequence[Statement]],
    options: argparse.Namespace,
) -> None:
    chance = random.Random(options.seed)
    share = options.count // len(KINDS) + 1
    false = {k: chance.sample(made[k], min(len(made[k]), share)) for k in KINDS}
    count = sum(map(len, false.values()))
    true = chance.sample(list(statements), min(len(statements), max(count, 100)))
    started = time.process_time()
    rejected = [s for s in true if _is_rejected(s)]
    seconds = time.process_time() - started
    found = {k: [s for s in false[k] if _is_rejected(s)] for k in KINDS}
    recall = sum(map(len, found.values())) / max(count, 1)
    wrong = len(rejected) / len(true)
    cells = [f"{len(found[k])}/{len(false[k])}" for k in KINDS]
    print(
        f"| {name} | {kind} | {count} | {' | '.join(cells)} | {recall:.3f} | {wrong:.3f} | "
        f"{recall / max(recall + wrong, 1e-9):.3f} | {1_000 * seconds / len(true):.1f} |"
    )
    for statement in rejected[: options.show]:
        print("  rejected:", statement.text)
    for k in KINDS:
        missed = [s for s in false[k] if s not in found[k]]
        for statement in missed[: options.show]:
            print(f"  missed ({k}):", statement.text)


def _is_rejected(statement: Statement) -> bool:
    passage = statement.passage
    sources = [passage[start:end] for start, end in split_sentences(passage)]
    return bool(
        CitedSources(sources, statement.title, statement.question).find_fault(statement.text)
    )


if __name__ == "__main__":
    main()
