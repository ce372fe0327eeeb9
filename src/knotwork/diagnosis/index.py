"""Checks of the index: integrity, model readings and aliases of entities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from knotwork.config import StoreSettings
from knotwork.diagnosis.installation import Check, failed_check
from knotwork.errors import StoreError, StoreNotFound
from knotwork.indexing.embedding import (
    EMBEDDER_META,
    LANGUAGES_META,
    UNREAD_FIX,
    UNREAD_NOTE,
    holds_vectors,
)
from knotwork.indexing.resolution.resolver import read_same_names
from knotwork.records import ChunkReading, ReadingStatus
from knotwork.stores.base import Store
from knotwork.stores.extensions import ChecksItself, StoresReadings
from knotwork.stores.urls import open_store
from knotwork.text.languages import is_read

_SHOWN_FAULTS = 3


@dataclass(frozen=True, slots=True)
class IndexFindings:
    """What was found of an index: the checks, and what its vectors were made with (or "" and 0)."""

    checks: tuple[Check, ...]
    embedder: str = ""
    dimension: int = 0


def check_index(settings: StoreSettings) -> IndexFindings:
    """Check the index for reading, wholeness and agreement; that there is none yet is no fault."""
    try:
        store = open_store(settings.path, read_only=True)
    except StoreNotFound:
        detail = f"none yet at `{settings.path}`"
        folder = Path(settings.path).parent
        made = "" if folder.is_dir() else f"Create the folder `{folder}` first. "
        fix = f"{made}Make one with: knotwork index FOLDER"
        return IndexFindings((Check("Index", ok=True, detail=detail, fix=fix),))
    except StoreError as error:
        return IndexFindings((failed_check("Index", error),))
    try:
        return _check_store(store)
    except StoreError as error:
        return IndexFindings((failed_check("Index", error),))
    finally:
        store.close()


def _check_store(store: Store) -> IndexFindings:
    documents, chunks = store.documents.document_count(), store.documents.chunk_count()
    entities = store.graph.entity_count()
    counts = (
        f"{documents:,} document{'' if documents == 1 else 's'}",
        f"{chunks:,} chunk{'' if chunks == 1 else 's'}",
        f"{entities:,} {'entity' if entities == 1 else 'entities'}",
    )
    detail = f"`{store.url}`: {', '.join(counts)}"
    faults = store.check() if isinstance(store, ChecksItself) else []
    unread = _count_unread(store)
    vectors = store.vectors("chunk").count()
    missing = chunks - unread - vectors if holds_vectors(store) else 0
    is_mixed = missing > 0 and len({e.settings for e in store.ledger.entries() if not e.error}) > 1
    faults += _find_mismatches(store, chunks, vectors if is_mixed else chunks - unread)
    checks = [Check("Index", ok=True, detail=detail), _check_integrity(faults)]
    embedder = store.meta().get(EMBEDDER_META, "")
    if unread:
        note = UNREAD_NOTE.format(count=unread, chunks=chunks, embedder=embedder)
        checks.append(Check("Languages", ok=True, detail=note, fix=UNREAD_FIX))
    checks += check_readings(store)
    checks += check_aliases(store)
    if not holds_vectors(store):
        return IndexFindings(tuple(checks))
    if is_mixed:
        detail = f"{missing:,} of {chunks:,} chunks were indexed without an embedder"
        fix = "Index their folders again: knotwork index FOLDER"
        checks.append(Check("Vectors", ok=True, detail=detail, fix=fix))
    return IndexFindings(tuple(checks), embedder, _dimension(store))


def _count_unread(store: Store) -> int:
    """Return how many chunks have no vector because the embedder does not read their language."""
    languages = store.meta().get(LANGUAGES_META, "").split()
    if not languages:
        return 0
    unread = 0
    for document_id in store.documents.document_ids():
        ids = store.documents.chunk_ids(document_id)
        known = store.vectors("chunk").get(ids)
        chunks = store.documents.chunks([i for i in ids if i not in known])
        unread += sum(
            not chunk.is_parent and not is_read(chunk.text, languages) for chunk in chunks.values()
        )
    return unread


def _check_integrity(faults: list[str]) -> Check:
    if not faults:
        return Check("Integrity", ok=True, detail="file and tables agree")
    more = f"; and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
    return Check(
        "Integrity",
        ok=False,
        detail="; ".join(faults[:_SHOWN_FAULTS]) + more,
        fix="Delete the index and build it anew from the documents: knotwork index FOLDER",
    )


def _find_mismatches(store: Store, chunks: int, embedded: int) -> list[str]:
    """Return where full text or vectors, if any, do not cover the chunks to be ``embedded``."""
    faults = []
    texts = store.texts("chunk").count()
    if texts != chunks:
        faults.append(f"{texts} chunks in the full text, not {chunks}")
    vectors = store.vectors("chunk").count()
    if vectors not in (0, embedded):
        faults.append(f"{vectors} chunks with a vector, not {embedded}")
    return faults


def _dimension(store: Store) -> int:
    """Return the length of the index's vectors; 0 where there are none."""
    for document_id in store.documents.document_ids():
        ids = store.documents.chunk_ids(document_id)
        for matrix in store.vectors("chunk").get(ids).values():
            return int(matrix.shape[1])
    return 0


_SHOWN_CHUNKS = 20
_RAW_CHARACTERS = 80


def check_readings(store: Store) -> list[Check]:
    """Return what became of the chunks that a model read; nothing where it read none."""
    if not isinstance(store, StoresReadings):
        return []
    counts = store.readings.counts()
    if not counts:
        return []
    told = ", ".join(f"{counts[status]:,} {status}" for status in ReadingStatus if status in counts)
    detail = f"a model read {sum(counts.values()):,} chunks: {told}"
    quarantined = store.readings.quarantined()
    if not quarantined:
        return [Check("Readings", ok=True, detail=detail)]
    fix = "Ask again with: knotwork index FOLDER --retry. Until then they have what the rules found"
    return [
        Check(
            "Readings",
            ok=True,
            detail=f"{detail}; {_list_quarantined(store, quarantined)}",
            fix=fix,
        )
    ]


def _list_quarantined(store: Store, quarantined: list[ChunkReading]) -> str:
    """Return the quarantined chunks with their documents and reasons, some of them if many."""
    shown = quarantined[:_SHOWN_CHUNKS]
    chunks = store.documents.chunks([reading.chunk_id for reading in shown])
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    lines = []
    for reading in shown:
        chunk = chunks.get(reading.chunk_id)
        document = documents.get(chunk.document_id) if chunk else None
        place = f"{document.uri} at {chunk.span.start:,}" if document and chunk else "a lost chunk"
        raw = " ".join(reading.raw.split())
        said = f" It said: {raw[:_RAW_CHARACTERS]}" if raw else ""
        lines.append(f"{place} ({reading.reason.rstrip('.')}.{said})")
    more = len(quarantined) - len(shown)
    return "; ".join(lines) + (f"; and {more:,} more" if more else "")


def check_aliases(store: Store) -> list[Check]:
    """Return how many things have several names; nothing where names were never compared."""
    known = read_same_names(store)
    if not (known.compared or known.things or known.apart):
        return []
    refused = sum(item.refused for item in known.apart)
    parts = [
        f"things with several names: {len(known.things):,}",
        f"pairs held apart: {len(known.apart) - refused:,}",
    ]
    if refused:
        parts.append(f"joins that do not count, for they contradict others: {refused:,}")
    if known.waiting:
        parts.append(f"names that changed since they were compared: {known.waiting:,}")
    fix = "Compare them: knotwork graph names --find" if known.waiting else ""
    return [Check("Names", ok=True, detail="; ".join(parts), fix=fix)]
