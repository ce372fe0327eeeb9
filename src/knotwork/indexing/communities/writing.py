"""Having a model write reports, several a call; the extractive report stands in where it fails."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from knotwork.indexing.communities.briefs import Brief, ReportBudgets
from knotwork.indexing.communities.drafts import ReportDraft, first_numbers, read_reports
from knotwork.indexing.communities.extractive import rate, report_title, write_extractive_report
from knotwork.indexing.communities.titles import names_a_theme
from knotwork.indexing.prompts import batches_by_language, make_messages
from knotwork.indexing.prompts.batches import BatchTask, ask_in_batch
from knotwork.inference.chat import ChatModel, ChatRequest
from knotwork.inference.halt import Halt
from knotwork.inference.ordered import work_ordered
from knotwork.records import CommunityReport, content_id
from knotwork.transform.model.drafts import Complaint
from knotwork.transform.model.pool import PATIENCE

STAGE = "report"
TASK = "report-community"
MISSING = "It has no report with a finding on a group."

_OUTPUT_TOKENS = 360
"""The most that one report may take: about twice what is asked for."""


@dataclass(frozen=True, slots=True)
class WrittenReports:
    """The reports of calls, those by which the documents' own sentences stand in among them.

    ``stood_in`` are the communities of these; ``complaints`` say what of the replies is not used.
    ``unanswered`` are communities for which no server answered, ``absence`` is why: they keep the
    report they have, and are asked about again.
    """

    reports: tuple[CommunityReport, ...] = ()
    stood_in: frozenset[str] = frozenset()
    complaints: tuple[Complaint, ...] = ()
    unanswered: frozenset[str] = frozenset()
    absence: str = ""

    def joined(self, other: WrittenReports) -> WrittenReports:
        """Return the reports of both."""
        return WrittenReports(
            (*self.reports, *other.reports),
            self.stood_in | other.stood_in,
            (*self.complaints, *other.complaints),
            self.unanswered | other.unanswered,
            other.absence or self.absence,
        )


@dataclass(frozen=True, slots=True)
class ReportWriter:
    """Writes reports by a model; ``concurrency`` calls run at a time.

    ``retry`` asks again about communities of which no reply could be used before. After
    ``patience`` calls in a row that no server answered the run is given up.
    """

    model: ChatModel
    concurrency: int = 4
    budgets: ReportBudgets = field(default_factory=ReportBudgets)
    retry: bool = False
    halt: Halt | None = field(default=None, repr=False)
    patience: int = PATIENCE

    def write(self, briefs: Sequence[Brief]) -> Generator[WrittenReports, None, None]:
        """Yield the reports of each call, in order, the Chinese ones last.

        Raises ModelError where no more calls can be made; what came before has been yielded.
        """
        batches = batches_by_language(
            briefs,
            lambda brief: "\n".join(line.text for line in brief.lines),
            size=self.budgets.reports_a_call,
        )
        yield from work_ordered(
            lambda batch: self._write_batch(*batch),
            batches,
            concurrency=self.concurrency,
            halt=self.halt,
        )

    def _write_batch(self, language: str, briefs: Sequence[Brief]) -> WrittenReports:
        def request(asked: Sequence[Brief], fault: str) -> ChatRequest:
            groups = zip(asked, first_numbers(asked), strict=True)
            material = "\n\n".join(
                brief.rendered(number, first=first)
                for number, (brief, first) in enumerate(groups, start=1)
            )
            return ChatRequest(
                make_messages(TASK, language, material, fault=fault),
                max_output_tokens=_OUTPUT_TOKENS * len(asked),
                stage=STAGE,
            )

        outcome = ask_in_batch(self.model, briefs, BatchTask(request, read_reports, MISSING))
        made = [_report(brief, draft, self.model.name) for brief, draft in outcome.made]
        stood_in = [stand_in(brief) for brief, _ in outcome.failed]
        told = [Complaint(brief.community_id, reason) for brief, reason in outcome.failed]
        return WrittenReports(
            (*made, *stood_in),
            frozenset(report.community_id for report in stood_in),
            (*outcome.complaints, *told),
            frozenset(brief.community_id for brief in outcome.unanswered),
            outcome.absence,
        )


def stand_in_key(brief: Brief) -> str:
    """Return the key of an extractive report that stands where a model's could not be had."""
    return content_id("stand-in", brief.key, brief.material.content_key)


def stand_in(brief: Brief) -> CommunityReport:
    """Return the extractive report that stands where a model's could not be had."""
    return write_extractive_report(brief.material, content_key=stand_in_key(brief))


def _report(brief: Brief, draft: ReportDraft, model: str) -> CommunityReport:
    """Return a report; a title that names no theme, and what is missing, come from the material.

    It is rated by extent, as the extractive ones are: a model that sees a few communities at a time
    has no measure for all of them, and ratings of two kinds could not be compared.
    """
    material = brief.material
    return CommunityReport(
        brief.community_id,
        draft.title if names_a_theme(draft.title) else report_title(material, brief.language),
        draft.summary or draft.findings[0].text,
        draft.findings,
        rate(material),
        brief.language,
        model,
        brief.key,
    )
