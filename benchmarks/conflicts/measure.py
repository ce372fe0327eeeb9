"""Measure how answers and `knotwork graph conflicts` handle documents that disagree.

Run ``python -m benchmarks.conflicts.measure [CASES]``. A case has small files, a question, the
values of its answer in their order, and whether the documents disagree. It is right if the answer
gives the values in this order, has a note only if the documents disagree, and the list of conflicts
has them only then.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import knotwork

CASES = Path(__file__).with_name("cases.jsonl")


def read_cases(path: Path = CASES) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def find_faults(case: dict[str, Any], folder: Path) -> Iterator[str]:
    """Yield what is wrong with the answer to a case and with the list of conflicts."""
    for name, text in case["files"].items():
        place = folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        if day := case.get("saved", {}).get(name):
            seconds = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
            os.utime(place, (seconds, seconds))
    with knotwork.open(folder / "index.knot") as kb:
        kb.index(folder / "files")
        answer, listed = kb.ask(case["question"]), kb.graph.conflicts()
    end = 0
    for value in case["values"]:
        start = answer.text.find(value, end)
        if start < 0:
            yield f"the answer lacks {value!r} at its place: {answer.text!r}"
            break
        end = start + len(value)
    noted = [n for n in answer.notes if n.startswith(("The documents disagree", "各文档说法不一"))]
    if bool(noted) != case["disagree"]:
        yield f"the note is {noted or 'missing'}: {answer.text!r}"
    if bool(listed) != case["listed"]:
        yield f"the list has {[[c.quote for c in each.claims] for each in listed]}"


def main() -> None:
    """Print the faults of each case and the share of cases without one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", type=Path, nargs="?", default=CASES)
    cases = read_cases(parser.parse_args().cases)
    right = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            faults = list(find_faults(case, Path(folder)))
        right += not faults
        for fault in faults:
            print(f"{case['kind']} ({case['question']}): {fault}", flush=True)
    print(f"{right} of {len(cases)} right: {right / len(cases):.3f}")


if __name__ == "__main__":
    main()
