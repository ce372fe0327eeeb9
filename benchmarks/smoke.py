"""Run each benchmark once, with one question or little data: `python benchmarks/smoke.py [DATA]`.

DATA is the folder that README.md describes, by default `data` in this repository. Its question sets
are cut to one question and what it needs. ``--only TEXT`` runs the benchmarks whose name has it.
Prints a line for each, and the end of the output of those that fail. Those that need what is not
here are skipped, and the line says what it is. Exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
README = HERE / "README.md"
LATER = "later"
"""The table of ``smoke.toml`` with what cannot be run, and what each needs."""

PASSAGES = 40
PAGES = 4
TRIPLES = 2_000
LONGEST_S = 600
SHOWN_LINES = 12


def cut_data(data: Path, target: Path) -> None:
    """Write a copy of the data with one question of each set. The rest is linked."""
    cuts = {"qa": _cut_passages, "realdocs": _cut_pages, "graph": _cut_triples}
    for place in (data / "bench").glob("*/*"):
        if place.parent.name in cuts and any(place.glob("questions*.jsonl")):
            cuts[place.parent.name](place, target / place.relative_to(data))
    for folder in (*(f"bench/{name}" for name in cuts), "bench", "."):
        _link_rest(data / folder, target / folder)


def _cut_passages(source: Path, target: Path) -> None:
    rows = [json.loads(line) for line in _lines(source / "questions.jsonl")]
    question = next(row for row in rows if row.get("gold_pids") or row is rows[-1])
    wanted = set(question.get("gold_pids") or ())
    texts = _lines(source / "corpus.jsonl")
    kept = [text for text in texts if json.loads(text).get("pid") in wanted]
    _write(target / "questions.jsonl", [json.dumps(question)])
    _write(target / "corpus.jsonl", dict.fromkeys([*kept, *texts[:PASSAGES]]))
    _link_rest(source, target)


def _cut_pages(source: Path, target: Path) -> None:
    question = _lines(source / "questions.jsonl")[0]
    pages = sorted((source / "docs").glob("*"))
    for page in [page for page in pages if page.name in question] + pages[:PAGES]:
        if not (target / "docs" / page.name).exists():
            _link(page, target / "docs" / page.name)
    _write(target / "questions.jsonl", [question])


def _cut_triples(source: Path, target: Path) -> None:
    """Keep the first question of each file, some triples, and those with a name in a question."""
    asked = ""
    for file in sorted(source.glob("questions*.jsonl")):
        question = _lines(file)[0]
        _write(target / file.name, [question])
        asked += question
    for file in source.glob("*.tsv"):
        triples = _lines(file)
        near = [line for line in triples if any(end in asked for end in line.split("\t")[::2])]
        _write(target / file.name, dict.fromkeys([*near, *triples[:TRIPLES]]))
    _link_rest(source, target)


def _link_rest(folder: Path, target: Path) -> None:
    for place in _entries(folder):
        if not (target / place.name).exists():
            _link(place, target / place.name)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source.resolve())


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8-sig").splitlines()


def _write(path: Path, lines: list[str] | dict[str, None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def run_once(name: str, arguments: str) -> str:
    """Run a benchmark of this source tree; return "" or the end of its output if it fails."""
    root = HERE.parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root))),
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / name), *shlex.split(arguments)],
            cwd=root,
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


def what_lacks(needs: list[str], data: Path) -> list[str]:
    """Return the folders, programs and Python packages that are not here."""

    def has(name: str) -> bool:
        if name.startswith("data/"):
            return (data / name.removeprefix("data/")).is_dir()
        if "/" in name:
            return (HERE.parent / name).is_dir()
        return bool(shutil.which(name) or find_spec(name))

    return [need for need in needs if not any(map(has, need.split("|")))]


def where_from(need: str) -> str:
    """Return where the table of README.md says that a folder of the data is from."""
    for line in README.read_text("utf-8").splitlines():
        if line.startswith("| `data/"):
            _, folders, _, origin, _ = line.split("|")
            if any(
                f"{need}/".startswith(name.removesuffix("SET/"))
                for name in re.findall("`(.+?)`", folders)
            ):
                return origin.strip()
    return "an installation; the first lines of the benchmark name it"


def tell_missing(missing: list[str], data: Path) -> None:
    """Print what is not here, by where it is from."""
    for origin in dict.fromkeys(map(where_from, missing)):
        print("Not here:", ", ".join(need for need in missing if where_from(need) == origin))
        print("    from:", origin)
    if any(need.startswith("data/") for need in missing):
        print(f"The data was looked for in {data}. benchmarks/README.md describes it.")


def main() -> None:
    """Run the benchmarks of ``smoke.toml``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="[default: data in this repository]")
    parser.add_argument("--only", default="", help="run those whose name has this")
    options = parser.parse_args()
    if options.data and not options.data.is_dir():
        parser.error(f"{options.data} is not a folder")
    data = (options.data or HERE.parent / "data").resolve()
    tables: dict[str, dict[str, str]] = tomllib.loads((HERE / "smoke.toml").read_text("utf-8"))
    if not any(options.only in name for commands in tables.values() for name in commands):
        parser.error(f"no benchmark has {options.only} in its name")
    later = tables.pop(LATER)
    done: Counter[str] = Counter()
    missing: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as scratch:
        cut = Path(scratch, "data")
        cut_data(data, cut)
        for needs, commands in tables.items():
            lacks = what_lacks(needs.split(), data)
            for name, arguments in commands.items():
                if options.only not in name:
                    continue
                if lacks:
                    missing |= dict.fromkeys(lacks)
                    fault, outcome = f"needs {', '.join(lacks)}", "skipped"
                else:
                    folder = Path(scratch, name.replace("/", "-"))
                    folder.mkdir()
                    begun = time.monotonic()
                    fault = run_once(name, arguments.format(data=cut, whole=data, folder=folder))
                    outcome = "FAILED" if fault else "ok"
                    fault = fault or f"{time.monotonic() - begun:.0f} s"
                done[outcome] += 1
                print(f"{outcome:8} {name}: {fault}", flush=True)
        for name, need in later.items():
            if options.only in name:
                done["skipped"] += 1
                print(f"skipped  {name}: needs {need}")
    print(f"{done['ok']} ran, {done['skipped']} skipped, {done['FAILED']} failed.")
    tell_missing(list(missing), data)
    sys.exit(1 if done["FAILED"] else 0)


if __name__ == "__main__":
    main()
