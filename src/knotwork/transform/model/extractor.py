"""The extractor that adds what a model reads to what the rules find."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from knotwork.inference.chat import ChatModel
from knotwork.inference.halt import Halt
from knotwork.records import Chunk, Document, Extraction, ReadingStatus, content_id
from knotwork.transform.base import Extractor
from knotwork.transform.model.methods import ExtractionMethod, LineMethod
from knotwork.transform.model.outcomes import ChunkOutcome
from knotwork.transform.model.pool import PATIENCE, give_up_without_server, work_ordered
from knotwork.transform.model.prompts import prompts_fingerprint
from knotwork.transform.model.turns import ChunkJob, Turns, extract_chunk
from knotwork.transform.rules import RuleExtractor

VERSION = 1
"""Raised with every change of what is made of equal replies."""

_log = logging.getLogger("knotwork.transform")


class ModelExtractor:
    """Asks a model about each chunk and adds to what the rules find; implements `Extractor`.

    `jobs` and `extract_chunks` are the way of a pipeline: it sees every outcome, and may give each
    chunk a memory. Safe to use from many threads if the model is.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        method: ExtractionMethod | None = None,
        turns: Turns | None = None,
        rules: Extractor | None = None,
        concurrency: int = 8,
        halt: Halt | None = None,
    ) -> None:
        self.model = model
        self.method = method or LineMethod()
        self.turns = turns or Turns()
        if not self.turns.schema:
            schema = getattr(self.method, "schema", self.turns.schema)
            self.turns = replace(self.turns, schema=schema)
        self.rules = rules or RuleExtractor()
        self.concurrency = concurrency
        self.halt = halt
        parts = f"{self.model.name}\n{self.method.name}\n{self.turns!r}\n{prompts_fingerprint()}"
        self.name = f"model-{VERSION}-{content_id(parts)}+{self.rules.name}"

    def jobs(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        memories: Mapping[str, str] | None = None,
    ) -> list[ChunkJob]:
        """Return a job for each leaf chunk of a document, with what the rules found in it.

        ``memories`` are by chunk id: see `recall`.
        """
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        found = self.rules.extract(document, leaves)
        known = memories or {}
        return [
            ChunkJob(document, chunk, base, known.get(chunk.id, ""))
            for chunk, base in zip(leaves, found, strict=True)
        ]

    def extract_chunk(self, job: ChunkJob) -> ChunkOutcome:
        """Return what became of one chunk; raises as `turns.extract_chunk`."""
        return extract_chunk(self.model, self.method, job, turns=self.turns)

    def extract_chunks(
        self, jobs: Iterable[ChunkJob], *, patience: int = PATIENCE
    ) -> Iterator[ChunkOutcome]:
        """Yield the outcome of each job in order, several chunks at a time.

        Raises as `extract_chunk`, and ModelUnavailable when no server answers any more.
        """
        work = partial(work_ordered, concurrency=self.concurrency, halt=self.halt)
        yield from give_up_without_server(work(self.extract_chunk, jobs), patience=patience)

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        A quarantined chunk has what the rules found, and is logged: whoever must list and retry
        such chunks takes `extract_chunks`.
        """
        extractions: list[Extraction] = []
        for outcome in self.extract_chunks(self.jobs(document, chunks)):
            if outcome.status is ReadingStatus.QUARANTINED:
                _log.warning(
                    "%s: chunk %s has no model extraction: %s",
                    document.uri,
                    outcome.chunk_id,
                    outcome.reason,
                )
            extractions.append(outcome.extraction)
        return extractions
