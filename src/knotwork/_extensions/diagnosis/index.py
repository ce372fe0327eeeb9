"""Check the index: its integrity, what a model read, and the aliases of entities."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from knotwork._config import StoreSettings
from knotwork._extensions.diagnosis.installation import Check, failed_check
from knotwork._extensions.upkeep.backups import sqlite_file
from knotwork._extensions.upkeep.copies import store_digest
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    LANGUAGES_META,
    UNREAD_FIX,
    UNREAD_NOTE,
    holds_vectors,
    refused_chunks,
    refused_notes,
)
from knotwork._indexing.resolution.resolver import read_same_names
from knotwork._inference.call_cache import CallCache
from knotwork._sqlite_file import (
    CALLS_SUFFIX,
    FILE_KINDS,
    is_marked_protected,
    repair_advice,
    verify_file,
)
from knotwork._stores.base import Store, index_file
from knotwork._stores.copy_marks import require_finished
from knotwork._stores.links import linked_documents
from knotwork._stores.urls import open_store
from knotwork._text.languages import is_read
from knotwork.errors import KnotworkError, StoreNotFound
from knotwork.records import ChunkReading, ReadingStatus

_SHOWN_FAULTS = 3


@dataclass(frozen=True, slots=True)
class IndexFindings:
    """The checks of an index, and the embedder and dimension of its vectors ("" and 0 if none)."""

    checks: tuple[Check, ...]
    embedder: str = ""
    dimension: int = 0


def check_index(settings: StoreSettings, *, full: bool = False) -> IndexFindings:
    """Check that the index can be read and is consistent. A missing index passes.

    ``full`` reads every page and value, also of the files beside it, and computes again what
    follows from the documents.
    """
    try:
        store = open_store(settings.path, read_only=True, limits=settings)
    except StoreNotFound:
        fix = "Create one with: knotwork index FOLDER"
        path = index_file(settings.path)
        if path is not None and not path.parent.is_dir():
            fix = f"Create the folder `{path.parent}`, then the index: knotwork index FOLDER"
        detail = f"none yet at `{path or settings.shown_path}`"
        return IndexFindings((Check("Index", ok=True, detail=detail, fix=fix),))
    except KnotworkError as error:
        return IndexFindings((failed_check("Index", error),))
    try:
        return _check_store(store, full=full)
    except KnotworkError as error:
        return IndexFindings((failed_check("Index", error),))
    finally:
        store.close()


def _check_store(store: Store, *, full: bool) -> IndexFindings:
    require_finished(store)
    documents, chunks = store.documents.document_count(), store.documents.chunk_count()
    entities = store.graph.entity_count()
    counts = (
        f"{documents:,} document{'' if documents == 1 else 's'}",
        f"{chunks:,} chunk{'' if chunks == 1 else 's'}",
        f"{entities:,} {'entity' if entities == 1 else 'entities'}",
    )
    detail = f"`{store.url}`: {', '.join(counts)}"
    parts = store.capabilities
    check = (full and parts.full_check) or parts.self_check
    faults = check() if check is not None else []
    unread = _count_unread(store)
    refused = sum(refused_chunks(store).values())
    vectors = store.vectors("chunk").count() + refused
    missing = chunks - unread - vectors if holds_vectors(store) else 0
    is_mixed = missing > 0 and len({e.settings for e in store.ledger.entries() if not e.error}) > 1
    embedded = vectors if is_mixed else chunks - unread
    faults += _find_mismatches(store, chunks, embedded - refused)
    checks = [
        Check("Index", ok=True, detail=detail),
        *_check_protection(store.url),
        _check_integrity(store, faults, full=full),
    ]
    if full:
        checks += _check_files(store.url)
        checks += _hash_contents(store)
    embedder = store.meta().get(EMBEDDER_META, "")
    if unread:
        note = UNREAD_NOTE.format(count=unread, chunks=chunks, embedder=embedder)
        checks.append(Check("Languages", ok=True, detail=note, fix=UNREAD_FIX))
    checks += _check_links(store)
    checks += [Check("Vectors", ok=True, detail=note) for note in refused_notes(store)]
    checks += check_readings(store)
    checks += check_aliases(store)
    if not holds_vectors(store):
        return IndexFindings(tuple(checks))
    if is_mixed:
        detail = f"{missing:,} of {chunks:,} chunks were indexed without an embedder"
        fix = "Index their folders again: knotwork index FOLDER"
        checks.append(Check("Vectors", ok=True, detail=detail, fix=fix))
    return IndexFindings(tuple(checks), embedder, _read_dimension(store))


def _check_links(store: Store) -> list[Check]:
    """Say how many targets of links are not in the index, which is no fault."""
    dead = linked_documents(store).dead
    if not dead:
        return []
    shown = ", ".join(f"`{target}`" for target in sorted(dead)[:_SHOWN_FAULTS])
    detail = f"{len(dead):,} linked documents are not in the index, such as {shown}"
    return [Check("Links", ok=True, detail=detail, fix="List them with: knotwork graph links")]


def _hash_contents(store: Store) -> list[Check]:
    """Return the hash of all that the index holds, to compare it with a copy."""
    if store.capabilities.contents is None:
        return []
    found = store_digest(store)
    values = sum(part.count for part in found.parts.values())
    return [Check("Contents", ok=True, detail=f"{values:,} values with the hash {found.hash}")]


def _count_unread(store: Store) -> int:
    """Count the chunks without a vector because the embedder does not support their language."""
    languages = store.meta().get(LANGUAGES_META, "").split()
    if not languages:
        return 0
    unread = 0
    for document_id in store.documents.document_ids():
        ids = store.documents.chunk_ids_of([document_id]).get(document_id, [])
        known = store.vectors("chunk").get(ids)
        chunks = store.documents.chunks([i for i in ids if i not in known])
        unread += sum(
            not chunk.is_parent and not is_read(chunk.text, languages) for chunk in chunks.values()
        )
    return unread


def _check_integrity(store: Store, faults: list[str], *, full: bool) -> Check:
    if not faults:
        detail = "every page, value and derived part is as it should be"
        return Check("Integrity", True, detail if full else "file and tables agree")
    more = f"; and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
    return Check(
        "Integrity",
        ok=False,
        detail="; ".join(faults[:_SHOWN_FAULTS]) + more,
        fix=repair_advice(Path(store.url))
        if index_file(store.url)
        else "Restore a backup of the database, or index the documents again.",
    )


def _check_protection(store_url: str) -> list[Check]:
    """Check that the pages of an index file have checksums; an index without any passes."""
    index = index_file(store_url)
    if index is None:
        return []
    if is_marked_protected(index):
        detail = "each page has one, which is verified whenever the page is read"
        return [Check("Checksums", ok=True, detail=detail)]
    detail = "none, because the apsw that created the index has none: damage may go unnoticed"
    fix = f"Install a wheel of apsw, then: knotwork copy {shlex.quote(str(index))} NEW"
    return [Check("Checksums", ok=True, detail=detail, fix=fix)]


def _check_files(store_url: str) -> Iterator[Check]:
    """Check the files beside an index."""
    index = index_file(store_url)
    if index is None:
        return
    for suffix, kind in FILE_KINDS.items():
        path = index.with_name(index.name + suffix)
        if suffix and path.exists():
            yield _check_file(path, kind, suffix=suffix, index=index)


def _check_file(path: Path, kind: str, *, suffix: str, index: Path) -> Check:
    """Read a whole file beside an index."""
    name = kind.capitalize()
    try:
        faults = verify_file(sqlite_file(path, suffix))
        if suffix == CALLS_SUFFIX and not faults:
            with closing(CallCache(path)) as cache:
                faults = cache.check()
    except KnotworkError as error:
        return failed_check(name, error)
    if faults:
        return Check(
            name, ok=False, detail=f"`{path}`: {'; '.join(faults)}", fix=repair_advice(index)
        )
    return Check(name, ok=True, detail=f"`{path}`: every page is as it should be")


def _find_mismatches(store: Store, chunks: int, embedded: int) -> list[str]:
    """Return the faults if the full text does not cover all ``chunks``, or the vectors, if there
    are any, not the ``embedded`` ones.
    """
    faults = []
    texts = store.texts("chunk").count()
    if texts != chunks:
        faults.append(f"{texts} chunks in the full text, not {chunks}")
    vectors = store.vectors("chunk").count()
    if vectors not in (0, embedded):
        faults.append(f"{vectors} chunks with a vector, not {embedded}")
    return faults


def _read_dimension(store: Store) -> int:
    """Return the dimension of the vectors in the index, or 0 if it has none."""
    for document_id in store.documents.document_ids():
        ids = store.documents.chunk_ids_of([document_id]).get(document_id, [])
        for matrix in store.vectors("chunk").get(ids).values():
            return int(matrix.shape[1])
    return 0


_SHOWN_CHUNKS = 20
_RAW_CHARACTERS = 80


def check_readings(store: Store) -> list[Check]:
    """Return a check that counts the chunks a model read by outcome; empty if it read none."""
    readings = store.capabilities.readings
    if readings is None:
        return []
    counts = readings.counts()
    if not counts:
        return []
    outcomes = [f"{counts[status]:,} {status}" for status in ReadingStatus if status in counts]
    detail = f"a model read {sum(counts.values()):,} chunks: {', '.join(outcomes)}"
    quarantined = readings.quarantined()
    if not quarantined:
        return [Check("Readings", ok=True, detail=detail)]
    detail += f"; {_list_quarantined(store, quarantined)}"
    fix = (
        "Ask the model again with: knotwork index FOLDER --retry. Until then, these chunks have "
        "only what the rules found."
    )
    if set(counts) == {ReadingStatus.QUARANTINED}:
        if any(reading.raw for reading in quarantined):
            fix = f"No reply of the model could be used: use a larger one for llm.extract. {fix}"
        else:
            fix = f"The model did not answer: see the reasons and the check of the model. {fix}"
        return [Check("Readings", ok=False, detail=detail, fix=fix)]
    return [Check("Readings", ok=True, detail=detail, fix=fix)]


def _list_quarantined(store: Store, quarantined: list[ChunkReading]) -> str:
    """Return up to 20 quarantined chunks with document, reason and the start of the reply."""
    shown = quarantined[:_SHOWN_CHUNKS]
    chunks = store.documents.chunks([reading.chunk_id for reading in shown])
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    lines = []
    for reading in shown:
        chunk = chunks.get(reading.chunk_id)
        document = documents.get(chunk.document_id) if chunk else None
        place = f"{document.uri} at {chunk.span.start:,}" if document and chunk else "a lost chunk"
        raw = " ".join(reading.raw.split())
        reply = f" Reply: {raw[:_RAW_CHARACTERS]}" if raw else ""
        lines.append(f"{place} ({reading.reason.rstrip('.')}.{reply})")
    more = len(quarantined) - len(shown)
    return "; ".join(lines) + (f"; and {more:,} more" if more else "")


def check_aliases(store: Store) -> list[Check]:
    """Return a check that counts entities with aliases; empty if names were never compared."""
    known = read_same_names(store)
    if not (known.compared or known.things or known.apart):
        return []
    refused = sum(item.refused for item in known.apart)
    parts = [
        f"entities with aliases: {len(known.things):,}",
        f"pairs kept apart: {len(known.apart) - refused:,}",
    ]
    if refused:
        parts.append(f"merges refused because others contradict them: {refused:,}")
    if known.waiting:
        parts.append(f"names that changed since they were compared: {known.waiting:,}")
    fix = "Compare them: knotwork graph names --find" if known.waiting else ""
    return [Check("Names", ok=True, detail="; ".join(parts), fix=fix)]
