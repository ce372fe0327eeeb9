"""`knotwork serve` as a process of its own, on an index of the demo's documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import knotwork
from knotwork._config import load_settings
from knotwork.demo import open_sample

SAMPLE_WORKSPACE = "demo"
"""Stays as it is."""

MEASURED_WORKSPACE = "measured"
"""Holds the same; evaluations are made of it."""

HOSTILE_WORKSPACE = "hostile"
HOSTILE_NAME = "<img src=x onerror=alert(1)>"
"""A name that does something where a page takes it for markup."""

BLOCKS_WORKSPACE = "blocks"
"""Holds a document with a list, code, a table and a quote, and one that links to it."""

EMBEDDER = "hashing:64"
"""Needs no model to load, and makes the same vectors everywhere."""

_STOP_S = 40.0
_HOSTILE_PAGE = f"""<!doctype html><title>{escape(HOSTILE_NAME)}</title>
<h1>{escape(HOSTILE_NAME)}</h1>
<p>The station of {escape(HOSTILE_NAME)} lies at Lake Ashmere. Oriane Keld built the station at Lake
Ashmere. Oriane Keld was born in Tarnby. {escape(HOSTILE_NAME)} approves every trip of Oriane Keld
to Tarnby. [{escape(HOSTILE_NAME)}](javascript:alert(2)) &lt;script&gt;alert(3)&lt;/script&gt;</p>
"""


_GUIDE = """# Lock guide

To open the lock:

1. Sound the horn.
   - Wait for the lamp.
2. Open the gate.

```sh
lockctl open --gate outer --wait-for-lamp green --log /var/log/harbour/lockctl.log --timeout 120
```

| Length | Fee |
| --- | --- |
| 8 m | 40 |
| 16 m | 75 |

> Never open both gates.

## After closing

Turn off the lamp.
"""

_RULES = """# Harbour rules

The harbour of Oriane Keld has one lock.
Read [the last steps of Oriane Keld](guide.md#after-closing) before you leave.
Read **[the guide](guide.md)** once a year.
"""


def fill_folder(folder: Path) -> None:
    """Make the workspaces that tests look at."""
    sample = folder / f"{SAMPLE_WORKSPACE}.knot"
    fill_sample(sample)
    (folder / f"{MEASURED_WORKSPACE}.knot").write_bytes(sample.read_bytes())
    (folder / "locks").mkdir()
    (folder / "locks" / "guide.md").write_text(_GUIDE, encoding="utf-8")
    (folder / "locks" / "rules.md").write_text(_RULES, encoding="utf-8")
    with _open(folder / f"{BLOCKS_WORKSPACE}.knot", EMBEDDER) as base:
        base.index(folder / "locks")
    _fill_hostile(folder / f"{HOSTILE_WORKSPACE}.knot", folder / "documents")


def fill_sample(path: Path, *, embedder: str = EMBEDDER) -> None:
    """Index the demo's documents, with the names and communities that people look at."""
    with open_sample() as folder, _open(path, embedder) as base:
        base.index(folder)
        base.entities.find_aliases()
        base.communities.update()


def _fill_hostile(path: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "hostile.html").write_text(_HOSTILE_PAGE, encoding="utf-8")
    triples = folder / "hostile.tsv"
    facts = [
        (HOSTILE_NAME, HOSTILE_NAME, "Oriane Keld"),
        ("Oriane Keld", "born in", HOSTILE_NAME + "2"),
        (HOSTILE_NAME, "built", "Lake Ashmere"),
    ]
    triples.write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")
    with _open(path, EMBEDDER) as base:
        base.index(folder / "hostile.html")
        base.graph.import_files(triples)
        base.communities.update()


def _open(path: Path, embedder: str) -> knotwork.KnowledgeBase:
    settings = load_settings(overrides={"embedding.model": embedder}, environ={}).settings
    return knotwork.open(path, settings=settings)


@contextmanager
def run_server(place: Path, port: int = 0, **environ: str) -> Iterator[str]:
    """Serve a folder or an index until the end, and yield the address; it must end well."""
    folder = place if place.is_dir() else place.parent
    served = ["serve", str(place), "--port", str(port), "--json"]
    command = [sys.executable, "-m", "knotwork", *served]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KNOTWORK_")}
    mine = {"KNOTWORK_EMBEDDING_MODEL": EMBEDDER, "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0"}
    with subprocess.Popen(
        command, env={**kept, **mine, **environ}, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line, "the server said nothing"
            yield json.loads(line)["address"]
        finally:
            process.terminate()
            process.wait(_STOP_S)
    assert process.returncode == 0
