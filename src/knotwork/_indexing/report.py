"""Reports of an indexing run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from knotwork._inference.chat import TokenUsage
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork.records import ReadingStatus

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.description_writer import DescriptionChanges
    from knotwork._indexing.communities.index_reports import ReportChanges
    from knotwork._indexing.prepare import LeftOut
    from knotwork._indexing.resolution.resolver import ResolutionChanges


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that could not be indexed; ``kept`` if its earlier content is still searchable."""

    uri: str
    reason: str
    message: str
    kept: bool = False


@dataclass(slots=True)
class Enrichment:
    """The result and seconds of each step of enrichment; None for a step that was not due."""

    names: ResolutionChanges | None = None
    descriptions: DescriptionChanges | None = None
    reports: ReportChanges | None = None
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The outcome of a run.

    ``chunks``, ``sentences``, ``mentions`` and ``relations`` were written by this run; the
    ``total_*`` fields count the index afterwards. ``embedded`` texts went through the embedder,
    ``reused`` ones kept their vectors. ``without_vectors`` counts the chunks of the index without
    one, if there is an embedder. ``readings`` counts the chunks that a model read in this run, by
    status, ``unanswered`` those of them for which no server answered, ``left_out`` what a strict
    schema left out, and ``usage`` the tokens by stage; ``money`` is None if the price of a model is
    unknown. ``prompts`` are the user's own.
    ``enrichment`` is the work done after all documents. ``seconds`` are by stage. ``notes`` are for
    the user.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    chunks: int = 0
    sentences: int = 0
    mentions: int = 0
    relations: int = 0
    readings: Mapping[ReadingStatus, int] = field(default_factory=dict)
    unanswered: int = 0
    left_out: LeftOut | None = None
    prompts: OwnPrompts = BUILT_IN
    usage: Mapping[str, TokenUsage] = field(default_factory=dict)
    money: Decimal | None = None
    enrichment: Enrichment | None = None
    total_documents: int = 0
    total_chunks: int = 0
    total_entities: int = 0
    embedder: str = ""
    embedded: int = 0
    reused: int = 0
    without_vectors: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def documents(self) -> int:
        """The number of documents written by this run."""
        return self.added + self.changed

    @property
    def failed(self) -> int:
        """The number of sources that could not be indexed."""
        return len(self.failures)

    def __str__(self) -> str:
        counts = [
            f"{self.added} added",
            f"{self.changed} changed",
            f"{self.unchanged} unchanged",
            f"{len(self.removed)} removed",
            f"{self.failed} failed",
        ]
        totals = [
            f"{self.total_documents} documents",
            f"{self.total_chunks} chunks",
            f"{self.total_entities} entities",
        ]
        texts = f"{self.embedded} texts embedded, {self.reused} reused"
        lines = [
            f"Documents: {', '.join(counts)}.",
            f"Index: {', '.join(totals)}.",
            f"Embedder: {self.embedder or 'none'} ({texts}).",
        ]
        lines += [f"Failed: {f.uri}: {f.message}" for f in self.failures]
        lines += self.notes
        return "\n".join(lines)


class IndexingInterrupted(KeyboardInterrupt):
    """The user stopped a run. All that ``report`` counts is committed; the same call continues.

    A KeyboardInterrupt, so that code that stops on Ctrl-C still does.
    """

    def __init__(self, report: IndexReport) -> None:
        written = report.documents + len(report.removed)
        super().__init__(
            f"Interrupted; {written} changes are kept. Run the same command again to continue."
        )
        self.report = report
