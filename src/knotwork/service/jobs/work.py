"""What jobs do. A job that was broken off can be begun again, and does only what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork.errors import InvalidRequest
from knotwork.indexing.changes import entry_path
from knotwork.indexing.report import IndexReport
from knotwork.indexing.selection import select_entries
from knotwork.indexing.sources import stored_roots
from knotwork.service.evaluations.running import run_evaluation
from knotwork.service.jobs.graphs import import_graph
from knotwork.service.jobs.progress import Progress
from knotwork.service.jobs.reports import report_of
from knotwork.service.workspaces import Workspace
from knotwork.stores.base import LedgerEntry

if TYPE_CHECKING:
    from knotwork.indexing.runs import IndexOptions

Report = dict[str, Any]


def index_uploads(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> Report:
    """Bring the index up to date with the uploaded files."""
    workspace.uploads.mkdir(parents=True, exist_ok=True)
    return _index(workspace, [workspace.uploads], arguments, progress)


def index_again(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> Report:
    """Look again at documents that are in the index, or at all folders it was made from.

    Files are read again where they, or the settings, changed, or could not be read before.
    """
    store = workspace.base.store
    if not arguments["documents"]:
        paths = [Path(root) for root in stored_roots(store) if Path(root).exists()]
    else:
        paths = [Path(entry_path(e)) for e in _entries(workspace, arguments) if e.root]
    options = {**arguments, "retry": True}
    return _index(workspace, paths, options, progress) if paths else report_of(IndexReport())


def delete_documents(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> Report:
    """Remove documents from the index, and their files where they were uploaded."""
    progress.enter("remove")
    entries = _entries(workspace, arguments)
    for entry in entries:
        if is_upload(workspace, entry):
            Path(entry_path(entry)).unlink(missing_ok=True)
    removed = workspace.base.delete([entry.uri for entry in entries]) if entries else ()
    _renew_communities(workspace, progress)
    return {"removed": list(removed)}


def bring_in_graph(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> Report:
    """Import a graph that was sent."""
    report = import_graph(workspace, arguments, progress)
    _renew_communities(workspace, progress)
    return report


def find_communities(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> Report:
    """Bring communities and their reports up to date; no language model is asked."""
    progress.enter("communities")
    workspace.base.communities(limit=1, rebuild=bool(arguments["rebuild"]))
    workspace.map.of(workspace.base.store)
    return {}


WORK: Mapping[str, Callable[[Workspace, Mapping[str, Any], Progress], Report]] = {
    "index": index_uploads,
    "reindex": index_again,
    "delete": delete_documents,
    "communities": find_communities,
    "evaluate": run_evaluation,
    "import_graph": bring_in_graph,
}
"""What each kind of job does."""


def is_upload(workspace: Workspace, entry: LedgerEntry) -> bool:
    """Return whether a document lies in the folder of uploads."""
    return bool(entry.root) and Path(entry_path(entry)).is_relative_to(workspace.uploads.absolute())


def known_entries(workspace: Workspace, uris: Sequence[str]) -> list[LedgerEntry]:
    """Return the documents of these uris. Raises InvalidRequest for one that is not there."""
    known = workspace.base.store.ledger.get(uris)
    missing = [uri for uri in uris if uri not in known]
    if missing:
        raise InvalidRequest(
            f"There is no document `{missing[0]}`.", fix="List those there are: GET …/documents"
        )
    return [known[uri] for uri in dict.fromkeys(uris)]


def _entries(workspace: Workspace, arguments: Mapping[str, Any]) -> list[LedgerEntry]:
    """Return those of the documents that are still there: the job may be running a second time."""
    store = workspace.base.store
    there = list(store.ledger.get(arguments["documents"]))
    return select_entries(store, there) if there else []


def _index(
    workspace: Workspace, paths: Sequence[Path], arguments: Mapping[str, Any], progress: Progress
) -> Report:
    options: IndexOptions = {
        "retry": bool(arguments.get("retry")),
        "tier": arguments.get("tier"),
        "budget": str(arguments.get("budget", "")),
    }
    report = IndexReport()
    events = workspace.base.index_events([str(path) for path in paths], **options)
    with closing(events) as steps:  # type: ignore[type-var]
        for event in steps:
            report = event.report or report
            progress.show(event)
    _renew_communities(workspace, progress)
    return report_of(report)


def _renew_communities(workspace: Workspace, progress: Progress) -> None:
    """Have communities, and the map of them, ready before somebody asks for them."""
    if not workspace.base.has_communities:
        progress.enter("communities")
        workspace.base.communities(limit=1)
    workspace.map.of(workspace.base.store)
