"""Import the index of another system: detect its format, then store documents and communities.

To add a system, write a reader that returns a `ForeignIndex`, and add it to `_READERS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork._extensions.graphs.foreign_indexes import graphrag, lightrag
from knotwork._extensions.graphs.foreign_indexes.chunk_contributions import Contributions
from knotwork._extensions.graphs.foreign_indexes.foreign_index import ForeignIndex
from knotwork._extensions.graphs.foreign_indexes.imported_communities import (
    build_hierarchy,
    import_reports,
)
from knotwork._extensions.graphs.foreign_indexes.unit_placement import (
    PlacedDocument,
    import_root,
    place_units,
)
from knotwork._extensions.graphs.imported_documents import (
    embed_batch,
    imported_source,
    remove_others,
)
from knotwork._indexing.commit import Batch, commit_documents
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
from knotwork._indexing.embedding import (
    Embedding,
    check_embedder,
    check_not_switching,
)
from knotwork._indexing.prepare import Prepared
from knotwork._indexing.reembedding import embed_descriptions
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_communities, require_readings
from knotwork._stores.removal import remove_vectors
from knotwork.errors import IndexingError, UnknownName
from knotwork.records import content_id

AUTO = "auto"

_READERS: Mapping[str, tuple[Callable[[Path], bool], Callable[[Path, str], ForeignIndex]]] = {
    graphrag.FORMAT: (graphrag.is_graphrag, graphrag.read_graphrag),
    lightrag.FORMAT: (lightrag.is_lightrag, lightrag.read_lightrag),
}
"""How to detect and read the index of each system."""
_FOLDERS = ("", "output", "artifacts", "output/artifacts", "rag_storage")
_UNNAMED = frozenset({"", "output", "artifacts", "rag_storage"})

IMPORT_FORMATS = (AUTO, *_READERS)
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
    _, read = _READERS[found]
    return read(place, " ".join(name.replace("/", " ").split()) or import_name(place))


def import_name(folder: Path) -> str:
    """Return the name of an index: that of its project folder."""
    for part in (folder.absolute(), *folder.absolute().parents):
        is_run = part.name.replace("-", "").isdigit()  # such as 20240708-123456
        if part.name not in _UNNAMED and not is_run:
            return part.name
    return "index"


def _locate(folder: Path, wanted: str) -> tuple[Path, str]:
    runs = sorted((run for run in folder.glob("output/*/artifacts")), reverse=True)
    for place in (*(folder / part for part in _FOLDERS), *runs):
        for name, (detect, _) in _READERS.items():
            if wanted in {AUTO, name} and detect(place):
                return place, name
    if wanted != AUTO:  # the reader reports which files are missing
        return folder, wanted
    raise IndexingError(
        f"`{folder}` has neither the tables of Microsoft GraphRAG nor a LightRAG index.",
        fix="Give the folder with `entities.parquet`, or with "
        f"`{lightrag.GRAPH}`, or set the --format to see which file is missing.",
    )


IMPORT_BATCH_CHUNKS = 256

_VERSION = "import-1"
"""Version of the import; increase it if the same files would give another index."""

_OTHER_DOCUMENTS = (
    "The index has other documents too. On first use communities are updated for all documents;"
    " reports of unchanged communities are kept."
)


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
    found = Contributions(index, placement)
    total = sum(len(made.chunks) for made in placement.documents)
    yield Progress("chunks", 0, total)
    done = 0
    for batch in _batches(placement.documents, found, import_root(index), using):
        for embedded in embed_batch(store, batch, using):
            yield Progress("chunks", done + embedded, total)
        commit_documents(store, batch.prepared, vectors=batch.vectors, embedding=using)
        done += batch.chunks
        yield Progress("chunks", done, total)
    brought = {
        "documents": len(placement.documents),
        "text units": len(placement.chunks_of),
        "text units as documents of their own": placement.apart,
        "chunks": total,
    }
    notes: list[str] = []
    communities: tuple[str, ...] = ()
    with store.transaction():
        root = import_root(index)
        alone = all(entry.root == root for entry in store.ledger.entries() if entry.chunks)
        removed = remove_others(store, root, {made.document.uri for made in placement.documents})
        if index.communities:
            communities = _store_communities(store, index, found, alone=alone)
            if not alone:
                notes.append(_OTHER_DOCUMENTS)
        else:
            notes.append("The index has no communities; they are detected on first use.")
    if using:
        embed_descriptions(store, using)
        if communities:
            put_missing_vectors(store, communities, using)
    brought |= found.counts
    report = ImportReport(
        index.format,
        index.name,
        held,
        {kind: count for kind, count in brought.items() if count or kind in held},
        tuple((kind, why, n) for (kind, why), n in index.losses.most_common()),
        removed,
        using.name,
        tuple(notes),
        time.monotonic() - begun,
    )
    yield Progress("chunks", total, total)
    return report


def _batches(
    documents: Sequence[PlacedDocument], found: Contributions, root: str, embedding: Embedding
) -> Iterator[Batch]:
    """Yield the documents with all that their chunks contribute, in batches of one commit."""
    batch = Batch()
    for made in documents:
        batch.add(
            Prepared(
                imported_source(made.document, root),
                made.document,
                (made.section,),
                tuple(made.chunks),
                tuple(found.extractions[chunk.id] for chunk in made.chunks),
                settings=content_id(_VERSION),
                keys=tuple(map(embedding.chunk_key, made.chunks)) if embedding else (),
                readings=tuple(found.readings[chunk.id] for chunk in made.chunks),
                descriptions=tuple(d for c in made.chunks for d in found.descriptions[c.id]),
            )
        )
        if batch.chunks >= IMPORT_BATCH_CHUNKS:
            yield batch
            batch = Batch()
    if batch.prepared:
        yield batch


def _store_communities(
    store: Store, index: ForeignIndex, found: Contributions, *, alone: bool
) -> tuple[str, ...]:
    """Store communities with their reports beside those of other documents; return their ids.

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
    communities = [*kept, *hierarchy.values()]
    held.replace(communities)
    gone = before - {community.id for community in communities}
    store.texts("report").remove(gone)
    remove_vectors(store, "report", gone)
    reports = {}
    for report in index.reports:
        if report.community_id in hierarchy:
            reports[hierarchy[report.community_id].id] = report
        else:
            index.losses["reports", "its community was not imported"] += 1
    imported = list(hierarchy.values())
    found.counts["communities"] = len(imported)
    written = import_reports(
        store, imported, reports, found.counts, cited=found.cited, source=index.format
    )
    publish_reports(store, written)
    # `replace` clears stale marks, so "" makes the next detection start from scratch.
    store.set_meta({OPTIONS_META: options})
    if alone:
        mark_current(store)
    return tuple(community.id for community in imported)
