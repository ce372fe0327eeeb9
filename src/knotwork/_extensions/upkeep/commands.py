"""`knotwork backup`, `restore`, `repair`, `copy` and `embed`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from knotwork._cli.interruption import interrupted_exit_code
from knotwork._cli.session import Session, command, text_option
from knotwork._cli.views import NOTES, Line, count_of, each, note, show
from knotwork._shapes.base import fields_of

_FORCE = click.option("--force", is_flag=True, help="Replace what exists there.")


@command(hides_store=True)
@click.argument("index", type=click.Path())
@click.argument("target", type=click.Path(path_type=Path))
@_FORCE
def backup_command(session: Session, *, index: str, target: Path, force: bool) -> None:
    """Copy the index INDEX, with the files beside it, into the new folder TARGET.

    Other processes may search and index meanwhile: the backup is the state of one commit. Every
    page of the copy is verified before the folder gets its name.
    $ knotwork backup handbook.knot backups/handbook
    $ knotwork backup handbook.knot backups/today --force
    $ knotwork backup handbook.knot backups/today --json
    """
    from knotwork._extensions.upkeep.backups import back_up

    report = session.follow(back_up.run(index, target, overwrite=force))
    session.show(
        report,
        "Wrote {backup}: {documents:#document}, {size_mb:,.1f} MB, verified.",
        note("[{protected:!}The index has no checksums: damage may go unnoticed.]", "yellow"),
        size_mb=sum(file.size for file in report.files) / 1e6,
    )


@command(hides_store=True)
@click.argument("backup", type=click.Path(path_type=Path))
@click.argument("index", type=click.Path())
@_FORCE
def restore_command(session: Session, *, backup: Path, index: str, force: bool) -> None:
    """Restore the index INDEX, with the files beside it, from the folder BACKUP.

    The backup is verified before anything changes. Stop other processes that use the index.
    $ knotwork restore backups/handbook handbook.knot
    $ knotwork restore backups/handbook handbook.knot --force
    $ knotwork restore backups/handbook copy.knot --json
    """
    from knotwork._extensions.upkeep.backups import restore

    report = session.follow(restore.run(backup, index, overwrite=force))
    session.show(
        fields_of(report) | {"restored": index},
        "Restored {restored} with {documents:#document}, as of {created}.",
    )


@command(hides_store=True)
@click.argument("index", type=click.Path())
def repair_command(session: Session, *, index: str) -> None:
    """Repair the index INDEX and the files beside it, and list what could not be brought back.

    Full text, graph, communities and vectors are rebuilt. Documents that lost something are read
    again from their files. The damaged file stays beside the index. The exit code is 1 if something
    was lost.
    $ knotwork repair handbook.knot
    $ knotwork repair handbook.knot --config knotwork.toml
    $ knotwork repair handbook.knot --json
    """
    from knotwork._extensions.upkeep.repairs import repair

    report = session.follow(repair.run(index, settings=session.settings))
    session.show(
        fields_of(report) | {"changed": report.changed},
        Line("[{changed:!}{index} is intact.]", "green"),
        Line("[Damaged: {damaged}]", "yellow"),
        "[Rebuilt: {rebuilt}]",
        "[Read again: {reread}]",
        "[Indexed again from their stored text: {from_text}]",
        each("lost", Line("Lost: {}", "bold red")),
        note("[The damaged files are kept: {kept}]"),
    )
    if report.lost:
        raise click.exceptions.Exit(1)


@command(hides_store=True)
@click.argument("source")
@click.argument("target")
@click.option(
    "--without",
    metavar="PART",
    multiple=True,
    help="Leave out communities, readings, questions, resolutions, homonyms or property_graphs.",
)
@click.option("--verify/--no-verify", default=True, help="Compare both indexes afterwards.")
def copy_command(
    session: Session, *, source: str, target: str, without: tuple[str, ...], verify: bool
) -> None:
    """Copy the index SOURCE to the new index TARGET, each a file or the URL of a store.

    Other processes may use SOURCE meanwhile: the copy is of one state. Repeat an interrupted
    command to continue it. In the end both indexes are read and their hashes compared. Tables are
    copied between files only, cached model replies and remembered facts never: use `backup`.
    $ knotwork copy handbook.knot moved.knot
    $ knotwork copy handbook.knot small.knot --without communities
    $ knotwork copy handbook.knot moved.knot --no-verify --json
    """
    from knotwork._extensions.upkeep.copies import copy_index

    limits = session.settings.store
    run = copy_index.run(source, target, without=without, verify=verify, limits=limits)
    report = session.follow(run)
    session.show(
        report,
        "Copied {source} to {target}: {documents:#document}, "
        "[verified ({hash:.16})][{hash:!}not verified].",
        Line("[Left out: {left_out}]", "yellow"),
        note("[Not copied: {beside}]"),
        note("[{changed:?}The source has changed since; the copy is of its state before.]"),
    )


@command()
@text_option(
    "--model",
    metavar="MODEL",
    help="Embedding model, such as local:NAME or openai:NAME. Default: embedding.model; for auto, "
    "the model that a new index would use.",
)
def embed_command(session: Session, *, model: str) -> None:
    """Recompute all vectors with another model. The documents are not read again.

    Searches use the old vectors until all new ones are ready. You can stop the command at any time:
    run it again to continue.
    $ knotwork embed
    $ knotwork embed --model local:multilingual-e5-small
    $ knotwork embed --model openai:text-embedding-3-small --json
    """
    from knotwork._extensions.upkeep.reembedding import EmbeddingInterrupted

    opened = session.open_existing()
    try:
        report = session.follow(opened.embed.run(model))
    except EmbeddingInterrupted as interruption:
        report = interruption.report
        session.emit(replace(report, seconds=round(report.seconds, 3)))
        session.terminal.fail(
            f"Interrupted after {report.done:,} of {count_of(report.chunks, 'chunk')}. These are "
            "saved; searches use the old vectors until all are done.",
            "Run the same command again to continue.",
        )
        raise click.exceptions.Exit(interrupted_exit_code()) from None
    counts = {_VECTOR_NOUNS[name]: number for name, number in report.vectors.items()}
    session.show(
        replace(report, seconds=round(report.seconds, 3)),
        Line("Embedder   {embedder}[, previously {previous}]", "bold"),
        "Vectors    [{counts}][{counts:!}none]",
        "Embedded   {embedded:#text} in this run",
        "Time       {seconds:time}",
        NOTES,
        counts=[show(number, f"#{noun}") for noun, number in counts.items() if number],
    )


_VECTOR_NOUNS = {
    "chunk": "chunk",
    "sentence": "chunk with sentences/chunks with sentences",
    "entity": "entity/entities",
    "description": "description",
    "question": "chunk with questions/chunks with questions",
    "report": "report",
}
