"""Check of what a language model read: which chunks no reply could be used for."""

from __future__ import annotations

from knotwork.diagnosis.results import Check
from knotwork.records import ChunkReading, ReadingStatus
from knotwork.stores.base import Store
from knotwork.stores.readings import StoresReadings

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
    return [Check("Readings", ok=True, detail=f"{detail}; {_list(store, quarantined)}", fix=fix)]


def _list(store: Store, quarantined: list[ChunkReading]) -> str:
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
