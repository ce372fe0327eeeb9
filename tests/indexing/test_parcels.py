"""A document that is sent in pieces arrives as it was."""

from __future__ import annotations

import gc
import pickle

import pytest

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._indexing.prepare import (
    PIECE_CHUNKS,
    Parcel,
    Recipe,
    Unprepared,
    collect_unpacked,
    document_source,
    pack,
    prepare,
    unpack,
)
from knotwork._indexing.splitters import make_splitter
from knotwork._transform.rules.rule_extractor import RuleExtractor
from knotwork.records import Document


@pytest.fixture(autouse=True)
def _collected():
    yield
    collect_unpacked()


@pytest.fixture(scope="module")
def recipe():
    return Recipe(make_splitter(chunk_tokens=32), RuleExtractor())


@pytest.fixture(scope="module")
def whole(recipe):
    """A document of several pieces; packing leaves it as it is."""
    return prepared(recipe, 2_000)


def prepared(recipe, lines):
    text = "\n\n".join(f"Ivo Brandt of Marrow Lane {n} sold lantern {n}." for n in range(lines))
    return prepare(document_source(Document("a.txt", text)), recipe)


def test_a_large_document_is_sent_in_pieces(whole):
    assert len(whole.chunks) > PIECE_CHUNKS
    parcel = pack(whole)
    assert isinstance(parcel, Parcel)
    assert max(map(len, parcel.pieces)) < 5 * sum(map(len, parcel.pieces)) / len(parcel.pieces)
    received = unpack(pickle.loads(pickle.dumps(parcel)))
    assert received.chunks == whole.chunks
    assert received.extractions == whole.extractions
    assert received.descriptions == whole.descriptions
    assert received.sections == whole.sections
    assert received.document == whole.document


def test_a_small_document_and_a_failure_are_sent_as_they_are(recipe):
    small = prepared(recipe, 3)
    failed = Unprepared(small.source)
    assert pack(small) is small
    assert unpack(small) is small
    assert unpack(pack(failed)) is failed


def test_a_cancellation_leaves_the_other_pieces_closed(whole):
    parcel = pack(whole)
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellation.scope(), pytest.raises(Cancelled):
        unpack(parcel)
    assert gc.isenabled()


def test_no_search_for_garbage_looks_at_a_large_document_in_progress(whole):
    parcel = pack(whole)
    searches = []

    def note(phase, _info):
        searches.append(phase)

    gc.callbacks.append(note)
    try:
        received = unpack(parcel)
    finally:
        gc.callbacks.remove(note)
    assert searches == []
    assert gc.get_freeze_count() > len(received.chunks)
    collect_unpacked()
    assert gc.get_freeze_count() == 0
