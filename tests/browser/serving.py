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
from typing import Any
from unittest.mock import patch

from tests.indexing.office_files import make_docx, make_pdf, make_xlsx
from tests.indexing.sound_files import ScriptedTranscriber, sound_file, tone, words

import knotwork
from knotwork._config import load_settings
from knotwork._extensions.media import speech
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

SOURCES_WORKSPACE = "sources"
"""Holds one document of each format, and a hostile one."""

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


_MANUAL = """# Pump manual

Turn the **main valve** to *closed*, and run `pumpctl drain --all` before **you open** the lid.
See [the costs](costs.csv) or [elsewhere](https://example.com/pump).

| Part | Price |
| --- | --- |
| **Seal** | 40 |
| Lid | 75 |

```sh
pumpctl status
```
"""

_BOOK = """<!doctype html><title>Pump book</title><h1>Pump book</h1>
<p>Turn the <b>main valve</b> to <em>closed</em>, and run <code>pumpctl drain</code> before
<b>you open</b> the lid.</p>
<table><tr><th>Part</th><th>Price</th></tr><tr><td><b>Seal</b></td><td>40</td></tr>
<tr><td>Lid</td><td>75</td></tr></table>
"""

_EVIL = """# Evil manual

<script>alert(1)</script>

**Click** [here](javascript:alert(2)) or ![x](x" onerror="alert(3)).
<img src=x onerror=alert(4)> <iframe src="https://example.com"></iframe>

| <b onclick=alert(5)>a</b> | b |
| --- | --- |
"""

SAID = "The stone bridge opened in 1784. It has nine hundred lamps."
"""What is heard in the recording, two words a second."""


def _fill_sources(path: Path, folder: Path) -> None:
    """Index one document of each format, with a recording in which something is heard."""
    folder.mkdir()
    rows = "".join(f"| row {number} | {number} |\n" for number in range(3_000))
    texts = {"manual.md": _MANUAL, "book.html": _BOOK, "evil.md": _EVIL + rows}
    texts["costs.csv"] = "Part,Price\nSeal,40\nLid,75\n"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "report.docx").write_bytes(make_docx(_write_report))
    sheet = [["Part", "Price"], ["Seal", 40], ["Lid", 75]]
    (folder / "sheet.xlsx").write_bytes(make_xlsx({"Parts": sheet}))
    filling = [f"Line {number} of the report about the pump house." for number in range(40)]
    second = ["The pump house was built in 1921 from", "red brick, and burnt down in 1944."]
    (folder / "house.pdf").write_bytes(make_pdf([filling, second], title="Pump house"))
    (folder / "talk.wav").write_bytes(sound_file(tone(8.0), ".wav"))
    heard = ScriptedTranscriber([[words(SAID)]])
    settings = load_settings(
        overrides={"embedding.model": EMBEDDER, "index.workers": 0}, environ={}
    ).settings
    with (
        patch.object(speech, "open_transcriber", lambda source: heard),
        knotwork.open(path, settings=settings) as base,
    ):
        base.index(folder)


def _write_report(document: Any) -> None:
    document.add_heading("Pump report", 1)
    paragraph = document.add_paragraph("Turn the ")
    paragraph.add_run("main valve").bold = True
    paragraph.add_run(" to ")
    paragraph.add_run("closed").italic = True
    paragraph.add_run(" before you open the lid.")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Part", "Price", "Seal", "40"), strict=True):
        cell.text = text


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
    _fill_sources(folder / f"{SOURCES_WORKSPACE}.knot", folder / "pumps")


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
    overrides = {"embedding.model": embedder, "index.workers": 0}
    settings = load_settings(overrides=overrides, environ={}).settings
    return knotwork.open(path, settings=settings)


@contextmanager
def run_server(
    place: Path, port: int = 0, allowed: Path | None = None, **environ: str
) -> Iterator[str]:
    """Serve a folder or an index until the end, and yield the address; it must end well.

    People may choose the folder ``allowed``.
    """
    folder = place if place.is_dir() else place.parent
    served = ["serve", str(place), "--port", str(port), "--json"]
    served += ["--allow", str(allowed)] if allowed else []
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
