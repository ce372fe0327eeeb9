"""Measure what damage does to an index, and what its checksums cost.

    python benchmarks/integrity/measure.py flips docs --flips 60
    PYTHONPATH=OTHER/src python benchmarks/integrity/measure.py flips docs --flips 60
    python benchmarks/integrity/measure.py repairs docs --pages 30
    python benchmarks/integrity/measure.py costs docs --other OTHER/src --rounds 5

``flips`` changes one bit in a copy of an index for each case, spread over all tables and indexes of
the file, and asks questions: each case gives the right answers, is reported, or is wrong. With
``--doctor`` it also runs the checks of `knotwork doctor`. ``repairs`` overwrites whole pages and
compares the repaired index with the intact one. ``costs`` compares two source trees in turns: the
size of the file, the time to index, and the time of a question in a new and in an open index. On a
busy machine, compare the processor times.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import apsw

import knotwork
from knotwork._config import Settings, StoreSettings, load_settings
from knotwork._extensions.diagnosis.index import check_index
from knotwork.errors import KnotworkError

ROUNDS_OF_QUESTIONS = 8
QUESTIONS = (
    "How do I index a folder?",
    "Which retriever is the default?",
    "How are entities merged?",
    "What does a filter compare?",
    "How is a backup made?",
    "Which formats can be read?",
    "What is a community report?",
)


def main() -> None:
    """Run a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("flips", "repairs", "costs", "once"))
    parser.add_argument("documents", type=Path)
    parser.add_argument("--flips", type=int, default=60)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--doctor", action="store_true")
    parser.add_argument("--other", type=Path, help="Source tree to compare with.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if given.what == "costs":
            compare_costs(given.documents, place, given.other, rounds=given.rounds)
        elif given.what == "once":
            print(json.dumps(measure_once(given.documents, place)))
        elif given.what == "flips":
            count_outcomes(
                given.documents, place, flips=given.flips, seed=given.seed, doctor=given.doctor
            )
        else:
            count_repairs(given.documents, place, pages=given.pages, seed=given.seed)


def settings() -> Settings:
    """Return settings that need no model."""
    return load_settings(overrides={"embedding.model": "hashing:64"}).settings


def build(documents: Path, place: Path) -> Path:
    """Index documents, with communities, and return the path of the index."""
    path = place / "index.knot"
    with knotwork.open(path, settings=settings()) as kb:
        kb.index(documents)
        kb.communities.update()
    return path


def ask(path: Path) -> list[object]:
    """Return what questions to all parts of an index find."""
    found: list[object] = []
    with knotwork.open(path, settings=settings(), read_only=True) as kb:
        for question in QUESTIONS:
            evidence = kb.search(question)
            found.append([(hit.chunk.id, round(hit.score, 6)) for hit in evidence.hits])
            found.append(kb.ask(question).text)
        found.append(list(kb.communities.stored()))
        rows = kb.graph.cypher("MATCH (e:Entity) RETURN e.name AS name, e.id AS id ORDER BY id")
        found.append(rows.rows)
        found.append([(entry.uri, entry.chunks, entry.revision) for entry in kb.documents()])
        store = kb.store
        for document_id in store.documents.document_ids():
            chunks = store.documents.chunk_ids_of([document_id])[document_id]
            found.append(store.documents.documents([document_id]))
            found.append(store.documents.chunks(chunks))
            found.append(store.graph.relations(chunks))
    return found


def page_kinds(path: Path) -> dict[str, list[int]]:
    """Return the pages of each table and index of a file."""
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for name, page in connection.execute("SELECT name, pageno FROM dbstat ORDER BY pageno"):
        kinds[str(name)].append(int(page))
    connection.close()
    return dict(kinds)


def damage_cases(path: Path, *, flips: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield (table or index, offset, mask) of bits, so that each kind of page has its turn."""
    chance = random.Random(seed)
    kinds = list(page_kinds(path).items())
    page_bytes = 8_192
    for number in range(flips):
        if not number % len(kinds):
            chance.shuffle(kinds)
        name, pages = kinds[number % len(kinds)]
        offset = (chance.choice(pages) - 1) * page_bytes + chance.randrange(page_bytes)
        yield name, offset, 1 << chance.randrange(8)


def count_outcomes(documents: Path, place: Path, *, flips: int, seed: int, doctor: bool) -> None:
    """Print how questions to damaged indexes end."""
    path = build(documents, place)
    right = ask(path)
    intact = path.read_bytes()
    outcomes: Counter[str] = Counter()
    for name, offset, mask in damage_cases(path, flips=flips, seed=seed):
        damaged = bytearray(intact)
        damaged[offset] ^= mask
        path.write_bytes(damaged)
        try:
            outcome = "right answers" if ask(path) == right else "WRONG ANSWERS"
        except KnotworkError as error:
            outcome = f"reported ({type(error).__name__})"
        except Exception as error:  # noqa: BLE001  counted
            outcome = f"RAW ERROR ({type(error).__name__})"
        outcomes[outcome] += 1
        checked = ""
        if doctor:
            passed = run_doctor(path)
            checked = "doctor passes" if passed else "doctor reports it"
            outcomes[f"{checked}, {outcome.partition(' (')[0]}"] += 1
        print(f"{name:28} {offset:>10} {mask:>4}  {outcome}  {checked}")
        for journal in ("-wal", "-shm"):
            path.with_name(path.name + journal).unlink(missing_ok=True)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:>4}  {outcome}")


def run_doctor(path: Path) -> bool:
    """Return True if the checks of the index pass; all of them, if this version has more."""
    options = {"full": True} if "full" in check_index.__code__.co_varnames else {}
    try:
        checks = check_index(StoreSettings(path=str(path)), **options).checks
    except Exception:  # noqa: BLE001  a crash is a report of a kind
        return False
    return all(check.ok for check in checks)


def count_repairs(documents: Path, place: Path, *, pages: int, seed: int) -> None:
    """Print what `knotwork repair` brings back after whole pages were overwritten."""
    path = build(documents, place)
    right = ask(path)
    intact = path.read_bytes()
    chance = random.Random(seed)
    kinds = list(page_kinds(path).items())
    outcomes: Counter[str] = Counter()
    for number in range(pages):
        name, numbers = kinds[number % len(kinds)]
        page = chance.choice(numbers)
        damaged = bytearray(intact)
        damaged[(page - 1) * 8_192 : page * 8_192] = chance.randbytes(8_192)
        path.write_bytes(damaged)
        started_s = time.monotonic()
        try:
            report = knotwork.repair(path, settings=settings())
            found, answers = ask(path), 2 * len(QUESTIONS)
            outcome = "as before" if found == right else "changed"
            if found != right and found[:answers] == right[:answers]:
                outcome = "answers as before, communities or failed files not"
            detail = f"read again: {len(report.reread)}, lost: {report.lost}"
        except KnotworkError as error:
            outcome, detail = f"reported ({type(error).__name__})", error.message
        outcomes[outcome] += 1
        print(f"{name:28} {page:>6}  {outcome}, {time.monotonic() - started_s:.1f} s, {detail}")
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:>4}  {outcome}")


def measure_once(documents: Path, place: Path) -> dict[str, float]:
    """Index documents and ask questions; return the size in bytes and the times in seconds."""
    started_s, started_cpu_s = time.perf_counter(), cpu_s()
    path = place / "index.knot"
    with knotwork.open(path, settings=settings()) as kb:
        kb.index(documents)
    indexed_s, indexed_cpu_s = time.perf_counter() - started_s, cpu_s() - started_cpu_s
    size = path.stat().st_size
    started_s = time.perf_counter()
    with knotwork.open(path, settings=settings(), read_only=True) as kb:
        kb.search(QUESTIONS[0])
        first_s = time.perf_counter() - started_s
        times: list[float] = []
        asked_cpu_s = cpu_s()
        for _ in range(ROUNDS_OF_QUESTIONS):
            for question in QUESTIONS:
                begun_s = time.perf_counter()
                kb.ask(question)
                times.append(time.perf_counter() - begun_s)
        asked_cpu_s = cpu_s() - asked_cpu_s
    return {
        "bytes": size,
        "index_s": indexed_s,
        "index_cpu_s": indexed_cpu_s,
        "first_search_s": first_s,
        "question_s": statistics.median(times),
        "question_cpu_s": asked_cpu_s / len(times),
    }


def cpu_s() -> float:
    """Return the processor seconds of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def compare_costs(documents: Path, place: Path, other: Path, *, rounds: int) -> None:
    """Print the costs of this source tree and of another one, measured in turns."""
    own = Path(knotwork.__file__).parents[1]
    found: dict[Path, list[dict[str, float]]] = {other: [], own: []}
    for number in range(rounds):
        for source in (other, own) if number % 2 else (own, other):
            folder = place / f"{number}-{len(found[source])}-{source == own}"
            folder.mkdir()
            command = [sys.executable, __file__, "once", str(documents.resolve())]
            environment = {**os.environ, "PYTHONPATH": str(source)}
            run = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
            found[source].append(json.loads(run.stdout.splitlines()[-1]))
            shutil.rmtree(folder)
    for key in found[own][0]:
        before = [values[key] for values in found[other]]
        after = [values[key] for values in found[own]]
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        print(
            f"{key:16} {statistics.median(before):>14.4f} -> {statistics.median(after):>14.4f}"
            f"   ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        )


if __name__ == "__main__":
    main()
