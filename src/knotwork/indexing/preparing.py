"""Splitting a document and finding in it what rules can find."""

from __future__ import annotations

import logging

from knotwork.errors import KnotworkError, LoadError
from knotwork.indexing.stages import Candidate, Prepared, Stages
from knotwork.indexing.tally import Tally
from knotwork.records import Document

_log = logging.getLogger("knotwork.indexing")


def prepare(
    source: Candidate, document: Document, stages: Stages, *, wanted: bool, tally: Tally
) -> Prepared:
    """Return a document as it can be embedded and stored, or given to a model if that is wanted.

    Raises LoadError for a document that our own code meets a fault in.
    """
    try:
        with tally.timed("split"):
            sections, chunks = stages.splitter.split(document)
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        with tally.timed("extract"):
            extractions = stages.extractor.extract(document, leaves)
    except KnotworkError:
        raise
    except Exception as fault:
        # One document that meets a fault of ours must not keep all others out of the index.
        _log.exception("cannot index %s", source.uri)
        raise LoadError("fault", f"{type(fault).__name__}: {fault}") from fault
    embedding = stages.embedding
    keys = tuple(embedding.chunk_key(chunk) for chunk in leaves) if embedding else ()
    return Prepared(
        source,
        document,
        tuple(sections),
        tuple(chunks),
        tuple(extractions),
        stages.tiers.settings(wanted, read=False),
        keys,
    )
