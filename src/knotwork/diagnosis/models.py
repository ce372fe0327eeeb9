"""Checks of the models on this machine: that the embedder fits the index, and a reader it."""

from __future__ import annotations

import time

from knotwork.config import EmbeddingSettings, Settings
from knotwork.diagnosis.index import IndexFindings
from knotwork.diagnosis.results import Check, failed
from knotwork.errors import KnotworkError
from knotwork.indexing.embedding import REEMBED_COMMAND
from knotwork.inference import Passage, open_embedder
from knotwork.inference.reading import OFF, open_reader
from knotwork.inference.registry import explain_choice, follows_index

_PROBE = "A short text."


def check_embedder(settings: EmbeddingSettings, *, index: IndexFindings) -> Check:
    """Check that the embedder returns a vector that can be compared with those of the index.

    The detail names the model and why it is used.
    """
    started = time.perf_counter()
    try:
        embedder = open_embedder(settings.model, settings, stored=index.embedder)
        if embedder is None:
            return _without_embedder(index)
        dimension = int(embedder.embed([_PROBE]).shape[1])
    except KnotworkError as error:
        return failed("Embedder", error)
    seconds = time.perf_counter() - started
    reason = explain_choice(settings.model, index.embedder)
    detail = (
        f"{embedder.name}, {dimension} dimensions ({reason}), first vector after {seconds:.1f} s"
    )
    if index.embedder and index.embedder != embedder.name:
        detail += f"; but the index was made with {index.embedder}"
    elif index.dimension and index.dimension != dimension:
        detail += f"; but the index holds vectors of {index.dimension}"
    else:
        return Check("Embedder", ok=True, detail=detail)
    fix = (
        f"Set embedding.model to {_fitting_model(index.embedder)}, or embed the index again with "
        "this model: "
        f"{REEMBED_COMMAND} --model {embedder.name}"
    )
    return Check("Embedder", ok=False, detail=detail, fix=fix)


def check_reader(settings: Settings, *, index: IndexFindings) -> Check:
    """Check that the reader that answers can read; the detail says whether it is used."""
    started = time.perf_counter()
    try:
        reader = open_reader(settings.answer.reader)
        if reader is None:
            off = settings.answer.reader == OFF
            why = "answer.reader is off" if off else "multilingual-e5-small is not installed"
            return Check("Reader", ok=True, detail=f"none: {why}")
        embedder = index.embedder
        if not embedder:
            opened = open_embedder(settings.embedding.model, settings.embedding)
            embedder = opened.name if opened else ""
        if embedder != reader.embedder:
            with_embedder = f"the index is embedded with {embedder}" if embedder else "no vectors"
            return Check("Reader", ok=True, detail=f"not used: {with_embedder}")
        list(reader.read(_PROBE, [Passage(_PROBE)]))
    except KnotworkError as error:
        return failed("Reader", error)
    seconds = time.perf_counter() - started
    detail = f"on {reader.embedder}, first passage after {seconds:.1f} s"
    return Check("Reader", ok=True, detail=detail)


def _fitting_model(embedder: str) -> str:
    """Return the value of embedding.model that opens the embedder of an index."""
    if follows_index(embedder):
        return '"auto"'
    name, at, _ = embedder.partition("@")
    return f"the folder of {name}" if at else f'"{embedder}"'


def _without_embedder(index: IndexFindings) -> Check:
    if index.embedder:
        return Check(
            "Embedder",
            ok=False,
            detail=f"none, but the index was made with {index.embedder}",
            fix=f"Set embedding.model to {_fitting_model(index.embedder)}.",
        )
    return Check("Embedder", ok=True, detail="none: full text and graph only")
