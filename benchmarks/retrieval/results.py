"""The results file: everything that was measured, question by question, as it is finished."""

from __future__ import annotations

import json
import os
import platform
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

FORMAT = 1


def open_results(path: Path, *, embedder: str) -> dict[str, Any]:
    """Read what was measured before; an empty frame when there is nothing of this embedder."""
    frame: dict[str, Any] = {"format": FORMAT, "embedder": embedder, "sets": {}}
    if not path.exists():
        return frame
    found = json.loads(path.read_text("utf-8"))
    if found.get("format") != FORMAT or found.get("embedder") != embedder:
        raise SystemExit(f"{path} holds results of {found.get('embedder')!r}: name another file.")
    return found


def save_results(path: Path, results: dict[str, Any]) -> None:
    """Write the file in one step, so that an interrupted run leaves a whole one."""
    results["machine"] = describe_machine()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f"{path.suffix}.new")
    beside.write_text(json.dumps(results, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(path)


def describe_machine() -> str:
    """Return the processor and the Python in words."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    model = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), model)
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def code_fingerprint() -> str:
    """Change with any line of the package below the command line: results are of one state."""
    digest = blake2b(digest_size=6)
    root = Path(str(files("knotwork")))
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in {"cli", "demo", "diagnosis", "testing"}:
            digest.update(f"{place}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def is_done(results: dict[str, Any], name: str, retriever: str, questions: int) -> bool:
    """Return True if this retriever was asked this many questions of this set."""
    found = results["sets"].get(name, {})
    return found.get("questions") == questions and retriever in found.get("retrievers", {})
