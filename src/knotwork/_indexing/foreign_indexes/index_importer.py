"""Import the index of another system: detect its format, then store documents and communities.

To add a system, write a reader that returns a `ForeignIndex`, and add it to `_DETECTORS`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knotwork._indexing.commits import Batch, commit_documents, remove_sources
from knotwork._indexing.communities.detection import (
    OPTIONS_META,
    CommunityOptions,
    stored_communities,
)
from knotwork._indexing.communities.index_reports import (
    mark_current,
    publish_reports,
    put_missing_vectors,
)
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import (
    Embedding,
    check_embedder,
    check_not_switching,
)
from knotwork._indexing.foreign_indexes import graphrag, lightrag
from knotwork._indexing.foreign_indexes.chunk_contributions import Contributions, contribute
from knotwork._indexing.foreign_indexes.foreign_index import ForeignIndex
from knotwork._indexing.foreign_indexes.imported_communities import build_hierarchy, import_reports
from knotwork._indexing.foreign_indexes.unit_placement import (
    PlacedDocument,
    import_root,
    place_units,
)
from knotwork._indexing.prepared import Candidate, Prepared
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_communities, require_readings
from knotwork._stores.removal import remove_vectors
from knotwork.errors import IndexingError, UnknownName
from knotwork.records import content_id

AUTO = "auto"

_DETECTORS: Mapping[str, Callable[[Path], bool]] = {
    graphrag.FORMAT: graphrag.is_graphrag,
    lightrag.FORMAT: lightrag.is_lightrag,
}
_FOLDERS = ("", "output", "artifacts", "output/artifacts", "rag_storage")
_UNNAMED = frozenset({"", "output", "artifacts", "rag_storage"})

IMPORT_FORMATS = (AUTO, *_DETECTORS)
"""The valid values of ``format``."""


def open_foreign(folder: Path, *, format: str = AUTO, name: str = "") -> ForeignIndex:  # noqa: A002
    """Read the index of another system from a folder or one of its usual subfolders.

    ``name`` is its name here, by default that of the project folder. Raises UnknownName for an
    unknown format, IndexingError if no index is found or a file is missing or invalid, MissingExtra
    without the extra that its files need.
    """
    if format not in IMPORT_FORMATS:
        raise UnknownName("import format", format, IMPORT_FORMATS)
    if not folder.is_dir():
        raise IndexingError(
            f"`{folder}` is not a folder.", fix="Give the output folder of the other system."
        )
    place, found = _locate(folder, format)
    name = " ".join(name.replace("/", " ").split()) or import_name(place)
    if found == graphrag.FORMAT:
        return graphrag.read_graphrag(place, name=name)
    return lightrag.read_lightrag(place, name=name)


def import_name(folder: Path) -> str:
    """Return the name of an index: that of its project folder."""
    named = (part.name for part in (folder.absolute(), *folder.absolute().parents))
    return next((n for n in named if n not in _UNNAMED and not _is_time(n)), "index")


def _locate(folder: Path, wanted: str) -> tuple[Path, str]:
    runs = sorted((run for run in folder.glob("output/*/artifacts")), reverse=True)
    for place in (*(folder / part for part in _FOLDERS), *runs):
        for name, detect in _DETECTORS.items():
            if wanted in {AUTO, name} and detect(place):
                return place, name
    if wanted != AUTO:  # the reader reports which files are missing
        return folder, wanted
    raise IndexingError(
        f"`{folder}` has neither the tables of Microsoft GraphRAG nor a LightRAG index.",
        fix="Give the folder with `entities.parquet`, or with "
        f"`{lightrag.GRAPH}`, or set the --format to see which file is missing.",
    )


def _is_time(name: str) -> bool:
    """Return True for the folder of a run, such as 20240708-123456."""
    return name.replace("-", "").isdigit()


IMPORT_BATCH_CHUNKS = 256

_VERSION = "import-1"
"""Version of the import; increase it if the same files would give another index."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of an import.

    ``held`` counts the rows of the files by kind, ``brought`` the imported items. ``dropped`` lists
    items that were not imported as (kind, reason, count), by descending count. ``removed`` are
    documents of an earlier import that are no longer in this index. ``notes`` are for the user.
    """

    format: str
    name: str
    held: Mapping[str, int]
    brought: Mapping[str, int]
    dropped: tuple[tuple[str, str, int], ...]
    removed: tuple[str, ...] = ()
    embedder: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class _Outcome:
    """The result of the last stage of an import."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    removed: tuple[str, ...] = ()
    community_ids: tuple[str, ...] = ()


@Verb
def import_index(
    store: Store,
    folder: Path,
    *,
    format: str = AUTO,  # noqa: A002
    name: str = "",
    embedding: Embedding | None = None,
) -> Steps[ImportReport]:
    """Import the index of another system from a folder, and return the report.

    A document is written in one transaction with its chunks, mentions, relations, descriptions and
    vectors; communities and reports follow in another one. A second import with the same ``name``,
    by default that of the project folder, replaces the first. Raises UnknownName, IndexingError and
    MissingExtra as `open_foreign` does, MissingCapability if the store cannot hold descriptions or
    communities, SchemaMismatch if the index has vectors of another embedder, StoreBusy while
    another process writes, ModelError if the embedder fails.
    """
    begun = time.monotonic()
    using = embedding or Embedding()
    check_not_switching(store)
    check_embedder(store, using.name)
    require_readings(store)
    index = open_foreign(folder, format=format, name=name)
    if index.communities:
        require_communities(store)
    held = index.held()
    placement = place_units(index)
    found = contribute(index, placement)
    total = sum(len(made.chunks) for made in placement.documents)
    yield Progress("chunks", 0, total)
    done = 0
    for documents in _batches(placement.documents):
        batch = Batch()
        for made in documents:
            batch.add(_prepare_document(made, found, import_root(index), using))
        missing = batch.recall(store, using)
        for embedded in batch.embed(missing, using):
            yield Progress("chunks", done + embedded, total)
            batch.keep_vectors(store, using)
        commit_documents(store, batch.prepared, vectors=batch.vectors, embedding=using)
        done += batch.chunks
        yield Progress("chunks", done, total)
    outcome = _finish(store, index, found, {made.document.uri for made in placement.documents})
    if using:
        embed_descriptions(store, using)
        if outcome.counts["communities"]:
            put_missing_vectors(store, outcome.community_ids, using)
    brought = {
        "documents": len(placement.documents),
        "text units": len(placement.chunks_of),
        "text units as documents of their own": placement.apart,
        "chunks": total,
        **found.counts,
        **outcome.counts,
    }
    report = ImportReport(
        index.format,
        index.name,
        held,
        {kind: count for kind, count in brought.items() if count or kind in held},
        tuple((kind, why, n) for (kind, why), n in index.losses.most_common()),
        outcome.removed,
        using.name,
        tuple(outcome.notes),
        time.monotonic() - begun,
    )
    yield Progress("chunks", total, total)
    return report


def _batches(documents: Sequence[PlacedDocument]) -> Iterator[list[PlacedDocument]]:
    batch: list[PlacedDocument] = []
    for made in documents:
        batch.append(made)
        if sum(len(one.chunks) for one in batch) >= IMPORT_BATCH_CHUNKS:
            yield batch
            batch = []
    if batch:
        yield batch


def _prepare_document(
    made: PlacedDocument, found: Contributions, root: str, embedding: Embedding
) -> Prepared:
    document = made.document
    return Prepared(
        Candidate(document.uri, lambda: document, root=root, size=len(document.text)),
        document,
        (made.section,),
        tuple(made.chunks),
        tuple(found.extractions[chunk.id] for chunk in made.chunks),
        settings=content_id(_VERSION),
        keys=tuple(embedding.chunk_key(chunk) for chunk in made.chunks) if embedding else (),
        readings=tuple(found.readings[chunk.id] for chunk in made.chunks),
        descriptions=tuple(d for chunk in made.chunks for d in found.descriptions[chunk.id]),
    )


def _finish(store: Store, index: ForeignIndex, found: Contributions, present: set[str]) -> _Outcome:
    """Remove the leftovers of an earlier import of this index, and store communities."""
    outcome = _Outcome()
    root = import_root(index)
    with store.transaction():
        entries = list(store.ledger.entries())
        gone = [e for e in entries if e.root == root and e.uri not in present]
        if gone:
            remove_sources(store, gone)
            outcome.removed = tuple(entry.uri for entry in gone)
        if not index.communities:
            outcome.notes.append("The index has no communities; they are detected on first use.")
        else:
            alone = all(entry.root == root for entry in entries if entry.chunks)
            _store_communities(store, index, found, outcome, alone=alone)
    return outcome


def _store_communities(
    store: Store, index: ForeignIndex, found: Contributions, outcome: _Outcome, *, alone: bool
) -> None:
    """Store communities with their reports, in addition to those of other documents.

    If the index has no other documents (``alone``), these communities are current. Otherwise the
    next detection starts from them.
    """
    held = require_communities(store)
    kept = [] if alone else stored_communities(held)
    options = "" if kept and held.stale() else CommunityOptions().fingerprint
    taken = {member.entity_id for community in kept for member in community.members}
    hierarchy = build_hierarchy(
        index.communities, found.forms, found.extractions, index.losses, taken=taken
    )
    before = {key for level in held.levels() for key in level}
    communities = [*kept, *hierarchy.communities]
    held.replace(communities)
    gone = before - {community.id for community in communities}
    store.texts("report").remove(gone)
    remove_vectors(store, "report", gone)
    reports = {}
    for report in index.reports:
        if report.community_id in hierarchy.ids:
            reports[hierarchy.ids[report.community_id]] = report
        else:
            index.losses["reports", "its community was not imported"] += 1
    written = import_reports(
        store, hierarchy.communities, reports, cited=found.cited, source=index.format
    )
    publish_reports(store, written.reports)
    # `replace` clears stale marks, so "" makes the next detection start from scratch.
    store.set_meta({OPTIONS_META: options})
    outcome.counts["communities"] = len(hierarchy.communities)
    outcome.community_ids = tuple(community.id for community in hierarchy.communities)
    outcome.counts.update(written.counts)
    if alone:
        mark_current(store)
    else:
        outcome.notes.append(
            "The index has other documents too. On first use communities are updated for all "
            "documents; reports of unchanged communities are kept."
        )
