"""`knotwork graph correct`, `corrections` and `undo`: change the graph by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command, path_option, text_option
from knotwork._cli.views import Line, Table, note
from knotwork._stores.corrections import CORRECTION_KINDS, SHOW
from knotwork.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from knotwork._extensions.graphs.corrections import RecordedCorrection

_SAID = (
    "{entity}[ → {name}][ in {documents:.3}][ is of the type {type}]"
    "[{relation:!}{other:?}, {other}][{relation:?} — {relation} → {other}]"
)
_COLUMNS = {
    " 1": "{id}",
    " 2": "{kind}",
    " 3": _SAID,
    " 4": "by {author}",
    " 5": "{made}",
    " 6": "{note}",
}
_VALUES = {
    "name": "NEW-NAME",
    "other": "OTHER-NAME",
    "type": "TYPE",
    "relation": "RELATION",
    "documents": "DOCUMENT...",
}
"""What the values of each field are called."""
_WRITTEN = {kind: kind.replace("_", "-") for kind in (*CORRECTION_KINDS, SHOW)}


@command(short_help="Rename, merge, split, divide, retype or hide entities; add relations.")
@click.argument("kind", metavar="KIND")
@click.argument("entity", metavar="NAME")
@click.argument("values", metavar="[VALUE...]", nargs=-1)
@text_option("--author", help="Who corrects. Default: local.")
def correct(
    session: Session, *, kind: str, entity: str, values: tuple[str, ...], author: str
) -> None:
    """Correct the graph by hand. Indexing keeps the correction; `graph undo` reverts it.

    KIND is rename or retype (to VALUE), merge or split (with VALUE), divide (new name, documents
    that mean it), hide, show, pin, add-relation or remove-relation (relation, other name). A stated
    relation is cited as "Stated by" its author.
    $ knotwork graph correct rename "O. Keld" "Oriane Keld"
    $ knotwork graph correct add-relation "Oriane Keld" founded "Tarn Works"
    $ knotwork graph correct hide "Chapter 3" --json
    """
    kinds = {written: known for known, written in _WRITTEN.items()}
    known = kinds.get(kind.replace("_", "-"))
    if known is None:
        raise UnknownName("kind of correction", kind, kinds)
    needed = CORRECTION_KINDS.get(known, ())
    given: dict[str, Any] = dict(zip(needed, values, strict=False))
    is_open = "documents" in needed
    if len(values) < len(needed) or (len(values) > len(needed) and not is_open):
        wanted = [_VALUES[field] for field in needed]
        missing = wanted[len(values) :]
        raise ConfigError(
            f"`graph correct {kind}` takes {' '.join(['NAME', *wanted])}, {1 + len(values)} given.",
            fix=f"Add {' and '.join(missing)}."
            if missing
            else "Put a name of several words into quotation marks.",
        )
    if is_open:
        given["documents"] = values[needed.index("documents") :]
    graph = session.open_existing().graph
    _show(session, graph.correct(known, entity, author=author, **given))


@command(short_help="List the corrections of the graph, or import them.")
@click.option("--lines", is_flag=True, help="Print a line of JSON for each.")
@path_option("--load", metavar="FILE", help="Record those that --lines wrote.")
def corrections(session: Session, *, lines: bool, load: Path | None) -> None:
    """List the corrections of the graph, the newest first.

    --lines and --load carry them to another index: they apply to what it has of the same names.
    $ knotwork graph corrections
    $ knotwork graph corrections --lines > corrections.jsonl
    $ knotwork graph corrections --load corrections.jsonl --json
    """
    from knotwork._extensions.graphs.shapes import CORRECTION

    if load is not None:
        text = load.expanduser().read_text(encoding="utf-8")
        found = session.open_existing().graph.import_corrections(text.splitlines())
    else:
        found = session.open().graph.corrections()
    if lines:
        for item in found:
            click.echo(json.dumps(asdict(item.correction), ensure_ascii=True))
        return
    session.show(
        {"corrections": [CORRECTION(item) for item in found[::-1]]},
        Table("corrections", _COLUMNS),
        "[{corrections:!}No corrections.]",
        note("[{corrections:#correction}]"),
    )


@command(short_help="Undo a correction of the graph.")
@click.argument("correction", metavar="ID")
def undo(session: Session, *, correction: str) -> None:
    """Undo a correction: the graph is as before.

    $ knotwork graph corrections
    $ knotwork graph undo 5c1d3f0a7b2e4d68
    $ knotwork graph undo 5c1d3f0a7b2e4d68 --json
    """
    _show(session, session.open_existing().graph.undo(correction))


def _show(session: Session, found: RecordedCorrection) -> None:
    from knotwork._extensions.graphs.shapes import CORRECTION

    session.show(
        CORRECTION(found),
        Line("{kind}: " + _SAID, "bold"),
        "[{applied:?}To undo it: knotwork graph undo {id}]",
        note("[{note}]"),
    )
