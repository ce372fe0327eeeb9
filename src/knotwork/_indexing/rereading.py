"""Find what ``retry`` reads again of an index: documents that were read in part."""

from __future__ import annotations

from knotwork._indexing.embedding import refused_chunks
from knotwork._indexing.loaders.recognition import is_available
from knotwork._indexing.loaders.unread import UNREAD_PAGES, UNREAD_PICTURES
from knotwork._stores.base import Store
from knotwork.records import AnyOf, Comparison, Condition


def documents_read_in_part(store: Store, *, has_model: bool) -> frozenset[str]:
    """Return the ids of documents of which more can be read now.

    These have a chunk without a usable reply, if there is a model, a chunk that the embedder did
    not take, and scanned pages or pictures
    that were not read, if their text can be recognised.
    """
    quarantined = _quarantined(store) if has_model else frozenset()
    refused = frozenset(refused_chunks(store))
    unrecognised = _with_unread_pictures(store) if is_available() else frozenset()
    return quarantined | refused | unrecognised


def _quarantined(store: Store) -> frozenset[str]:
    readings = store.capabilities.readings
    if readings is None:
        return frozenset()
    chunks = [reading.chunk_id for reading in readings.quarantined()]
    return frozenset(chunk.document_id for chunk in store.documents.chunks(chunks).values())


def _with_unread_pictures(store: Store) -> frozenset[str]:
    fields = store.capabilities.fields
    if fields is None:
        return frozenset()
    known = {field.name for field in fields.fields()}
    wanted = [name for name in (UNREAD_PAGES, UNREAD_PICTURES) if name in known]
    if not wanted:
        return frozenset()
    conditions = tuple(Condition(name, Comparison.PRESENT) for name in wanted)
    return frozenset(fields.select(AnyOf(conditions)).documents)
