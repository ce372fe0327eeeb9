"""The job that brings in a graph that others made, from files that were sent for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork.errors import IndexingError, InvalidRequest
from knotwork.indexing.domain.telling import describe_graph_import
from knotwork.service.workspaces import Workspace

if TYPE_CHECKING:
    from knotwork.indexing.domain import GraphImportReport
    from knotwork.service.jobs.progress import Progress

_FIX = "Name the `format` of the files, or the `columns` of a table."


def import_graph(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Import the graph of a folder, and remove the folder once it is in the index."""
    folder = workspace.graphs / str(arguments["folder"])
    if not folder.is_dir():
        raise InvalidRequest("The files of the graph are gone.", fix="Send them again.")
    progress.enter("read")
    report: GraphImportReport | None = None
    with hiding(folder):
        steps = workspace.base.import_graph_steps(
            graph_files(folder, arguments["files"]),
            format=arguments["format"],
            name=arguments["name"],
            columns=arguments["columns"],
            delimiter=arguments["delimiter"],
            vectors=arguments["vectors"],
        )
        with closing(steps) as told:  # type: ignore[type-var]
            for step in told:
                report = step.report or report
                progress.count(step.stage, step.done, step.total)
    assert report is not None, "the last step has the report"
    shutil.rmtree(folder)
    return describe_graph_import(report)


def graph_files(folder: Path, names: list[str]) -> list[Path]:
    """Return the files of a folder, in the order in which they were sent."""
    return [folder / name for name in names]


@contextmanager
def hiding(folder: Path) -> Iterator[None]:
    """Have errors tell files by their names, and not where they lie on the server."""
    try:
        yield
    except IndexingError as error:
        raise IndexingError(error.message.replace(f"{folder}/", ""), fix=_FIX) from error
