"""Making a document ready: reading it, splitting it, and finding in it what rules can find.

What is done here depends on the document and the `Recipe` alone, and nothing here knows the store,
so that it can be done in another process.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from knotwork.errors import KnotworkError, LoadError
from knotwork.indexing.splitters import Splitter
from knotwork.indexing.stages import Candidate, Prepared, Stages
from knotwork.records import Chunk, Document, Extraction, Section
from knotwork.transform.base import Extractor
from knotwork.transform.model.memory import recall_similar

_log = logging.getLogger("knotwork.indexing")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents are made ready; ``memory_tokens`` are those of a prompt about a chunk."""

    splitter: Splitter
    extractor: Extractor
    memory_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """A document to be made ready.

    One whose revision is ``known_revision`` is read and left at that. ``for_model`` has what the
    prompt about each chunk recalls made ready too. ``size`` is about that of its text, in bytes.
    """

    uri: str
    read: Callable[[], Document]
    size: int = 0
    known_revision: str = ""
    for_model: bool = False


@dataclass(frozen=True, slots=True)
class Preparation:
    """What became of an order: ``error`` says why there is no document, or nothing but it.

    ``trace`` tells of a fault of ours. ``is_known`` is a document of the known revision.
    """

    document: Document | None = None
    is_known: bool = False
    sections: tuple[Section, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    memories: Mapping[str, str] = field(default_factory=dict)
    error: KnotworkError | None = None
    trace: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)


def recipe_of(stages: Stages) -> Recipe:
    """Return the part of the stages that is done before a model or the store comes in."""
    memory_tokens = stages.reader.memory_tokens if stages.reader else 0
    return Recipe(stages.splitter, stages.extractor, memory_tokens)


def prepare(order: Order, recipe: Recipe) -> Preparation:
    """Make one document ready; what goes wrong with it is told in the result."""
    seconds: defaultdict[str, float] = defaultdict(float)
    try:
        with timed(seconds, "load"):
            document = order.read()
        if document.revision == order.known_revision:
            return Preparation(document, is_known=True, seconds=seconds)
        return _prepare(document, order, recipe, seconds)
    except KnotworkError as error:
        return Preparation(error=error, seconds=seconds)
    except Exception as fault:  # noqa: BLE001
        # One document that meets a fault of ours must not keep all others out of the index.
        refusal = LoadError("fault", f"{type(fault).__name__}: {fault}")
        return Preparation(error=refusal, trace=traceback.format_exc(), seconds=seconds)


def _prepare(
    document: Document, order: Order, recipe: Recipe, seconds: dict[str, float]
) -> Preparation:
    with timed(seconds, "split"):
        sections, chunks = recipe.splitter.split(document)
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    memories: Mapping[str, str] = {}
    with timed(seconds, "extract"):
        extractions = recipe.extractor.extract(document, leaves)
        if order.for_model:
            memories = recall_similar(leaves, extractions, limit_tokens=recipe.memory_tokens)
    return Preparation(
        document,
        sections=tuple(sections),
        chunks=tuple(chunks),
        extractions=tuple(extractions),
        memories=memories,
        seconds=seconds,
    )


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] += time.perf_counter() - start


def finish(source: Candidate, made: Preparation, stages: Stages, *, wanted: bool) -> Prepared:
    """Return a document as it can be embedded and stored, or given to a model if that is wanted.

    Raises what went wrong with it: LoadError for what concerns this document alone.
    """
    if made.error is not None:
        if made.trace:
            _log.error("cannot index %s\n%s", source.uri, made.trace)
        raise made.error
    assert made.document is not None, "what has no error has a document"
    embedding = stages.embedding
    leaves = [chunk for chunk in made.chunks if not chunk.is_parent]
    return Prepared(
        source,
        made.document,
        made.sections,
        made.chunks,
        made.extractions,
        stages.tiers.settings(wanted, read=False),
        tuple(embedding.chunk_key(chunk) for chunk in leaves) if embedding else (),
        descriptions=tuple(d for extraction in made.extractions for d in extraction.descriptions),
        memories=made.memories,
    )
