"""`knotwork export`: write what the index holds for people to read."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork._cli.session import WHERE_OPTION, Session, command, command_group


@command_group()
def export_command() -> None:
    """Export the index for people to read. For programs: knotwork graph export.

    $ knotwork export wiki handbook-wiki
    $ knotwork export wiki handbook-wiki --force
    $ knotwork graph export --output graph.json    for programs
    """


@command(group=export_command, short_help="Write linked Markdown, which Obsidian opens.")
@click.argument("folder", type=click.Path(path_type=Path))
@WHERE_OPTION
@click.option("--force", is_flag=True, help="Write into a folder that holds other files.")
def wiki(session: Session, *, folder: Path, filters: tuple[str, ...], force: bool) -> None:
    """Write a page for each document, entity and topic into FOLDER, as linked Markdown.

    Open FOLDER as a vault in Obsidian, or read it with any editor. Each statement links to the
    document and section that it is from. No language model is used. The next export into FOLDER
    replaces its own pages and removes those that are gone; other files stay.
    $ knotwork export wiki handbook-wiki
    $ knotwork export wiki notes --where "date >= 2023"
    $ knotwork export wiki handbook-wiki --json
    """
    opened = session.open()
    if not opened.communities.is_current():
        session.terminal.note("Building communities and reports …", style="dim")
        opened = session.open(read_only=False)
    report = session.follow(
        opened.export_wiki.run(folder, filters=filters or None, overwrite=force)
    )
    session.show(
        report,
        "Wrote {folder}: {documents:#document}, {entities:#entity/entities}, {topics:#topic}."
        "[ Removed {removed:#page}.]",
    )
