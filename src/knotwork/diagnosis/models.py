"""Checks of the embedder: that it can be had, and fits the index."""

from __future__ import annotations

import time

from knotwork.config import EmbeddingSettings
from knotwork.diagnosis.index import IndexFindings
from knotwork.diagnosis.results import Check, failed
from knotwork.errors import KnotworkError
from knotwork.indexing.embedding import REEMBED_COMMAND
from knotwork.inference import open_embedder
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
