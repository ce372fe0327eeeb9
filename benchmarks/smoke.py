"""Run each benchmark once, with one question or little data: `python benchmarks/smoke.py [DATA]`.

DATA is the folder that README.md describes, by default `data` in this repository. Its question sets
are cut to one question and what it needs. ``--only TEXT`` runs the benchmarks whose name has it.
Prints a line for each, and the end of the output of those that fail. Exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PASSAGES = 40
PAGES = 4
LONGEST_S = 600
SHOWN_LINES = 12


def cut_data(data: Path, target: Path) -> None:
    """Write a copy of the data with one question of each set. What has no questions is linked."""
    for folder in ("qa", "realdocs"):
        for place in (data / "bench" / folder).iterdir():
            if not (place / "questions.jsonl").is_file():
                _link(place, target / "bench" / folder / place.name)
            elif folder == "qa":
                _cut_passages(place, target / "bench" / folder / place.name)
            else:
                _cut_pages(place, target / "bench" / folder / place.name)
    for place in (*(data / "bench").iterdir(), *data.iterdir()):
        if not (target / place.relative_to(data)).exists():
            _link(place, target / place.relative_to(data))


def _cut_passages(source: Path, target: Path) -> None:
    rows = [json.loads(line) for line in _lines(source / "questions.jsonl")]
    question = next(row for row in rows if row.get("gold_pids") or row is rows[-1])
    wanted = set(question.get("gold_pids") or ())
    texts = _lines(source / "corpus.jsonl")
    kept = [text for text in texts if json.loads(text).get("pid") in wanted]
    for file in source.iterdir():
        if file.name not in {"questions.jsonl", "corpus.jsonl"}:
            _link(file, target / file.name)
    _write(target / "questions.jsonl", [json.dumps(question)])
    _write(target / "corpus.jsonl", dict.fromkeys([*kept, *texts[:PASSAGES]]))


def _cut_pages(source: Path, target: Path) -> None:
    question = _lines(source / "questions.jsonl")[0]
    pages = sorted((source / "docs").glob("*"))
    for page in [page for page in pages if page.name in question] + pages[:PAGES]:
        if not (target / "docs" / page.name).exists():
            _link(page, target / "docs" / page.name)
    _write(target / "questions.jsonl", [question])


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source.resolve())


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8-sig").splitlines()


def _write(path: Path, lines: list[str] | dict[str, None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def run_once(name: str, arguments: str) -> str:
    """Run a benchmark; return "" or the end of its output if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / name), *shlex.split(arguments)],
            cwd=HERE.parent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {LONGEST_S} seconds"
    ending = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
    return "" if done.returncode == 0 else f"exit code {done.returncode}\n{ending}"


def main() -> None:
    """Run the benchmarks of ``smoke.toml``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=HERE.parent / "data")
    parser.add_argument("--only", default="", help="run those whose name has this")
    options = parser.parse_args()
    commands: dict[str, str] = tomllib.loads((HERE / "smoke.toml").read_text("utf-8"))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        cut = Path(scratch, "data")
        has_data = (options.data / "bench").is_dir()
        if has_data:
            cut_data(options.data, cut)
        for name, arguments in commands.items():
            if options.only not in name:
                continue
            if "{data}" in arguments and not has_data:
                print(f"left out  {name}: {options.data} is not there, see benchmarks/README.md")
                continue
            folder = Path(scratch, name.replace("/", "-"))
            folder.mkdir()
            fault = run_once(name, arguments.format(data=cut, folder=folder))
            failed += bool(fault)
            print(f"{'FAILED   ' if fault else 'ok       '} {name} {fault}", flush=True)
    sys.exit(f"{failed} failed." if failed else 0)


if __name__ == "__main__":
    main()
