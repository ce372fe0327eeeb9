"""The extractor that adds what a model reads to what the rules find."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from knotwork.inference.chat import ChatModel, ChatRequest
from knotwork.inference.halt import Halt
from knotwork.inference.ordered import work_ordered
from knotwork.records import Chunk, Document, Extraction, ReadingStatus, content_id
from knotwork.transform.base import Extractor
from knotwork.transform.model.memory import MEMORY_TOKENS, recall_similar
from knotwork.transform.model.methods import ExtractionMethod, LineMethod
from knotwork.transform.model.outcomes import ChunkOutcome
from knotwork.transform.model.pool import PATIENCE, give_up_without_server
from knotwork.transform.model.prompts import prompts_fingerprint
from knotwork.transform.model.turns import ChunkJob, Turns, extract_chunk, first_request
from knotwork.transform.rules import RuleExtractor

VERSION = 1
"""Raised with every change of what is made of equal replies."""

_log = logging.getLogger("knotwork.transform")


class ModelExtractor:
    """Asks a model about each chunk and adds to what the rules find; implements `Extractor`.

    `jobs` and `extract_chunk` are the way of a pipeline, which sees every outcome. Safe to use from
    many threads if the model is. ``memory_tokens`` are those of each prompt, 0 for no memory.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        method: ExtractionMethod | None = None,
        turns: Turns | None = None,
        rules: Extractor | None = None,
        memory_tokens: int = MEMORY_TOKENS,
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
        self.memory_tokens = memory_tokens
        self.concurrency = concurrency
        self.halt = halt
        shaping = (self.method.name, repr(self.turns), str(memory_tokens), prompts_fingerprint())
        parts = "\n".join((self.model.name, *shaping))
        self.name = f"model-{VERSION}-{content_id(parts)}+{self.rules.name}"

    def jobs(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        bases: Sequence[Extraction] | None = None,
        memories: Mapping[str, str] | None = None,
    ) -> list[ChunkJob]:
        """Return a job for each leaf chunk of a document, with its memory.

        ``bases`` are what the rules found in the leaves, in order, and ``memories`` what
        `recall_similar` makes of that; both are made if not given.
        """
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        found = self.rules.extract(document, leaves) if bases is None else bases
        if memories is None:
            memories = recall_similar(leaves, found, limit_tokens=self.memory_tokens)
        return [
            ChunkJob(document, chunk, base, memories.get(chunk.id, ""))
            for chunk, base in zip(leaves, found, strict=True)
        ]

    def request(self, job: ChunkJob) -> ChatRequest | None:
        """Return the first request for a chunk; None for one without words, which is not asked."""
        return first_request(self.method, job)

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
