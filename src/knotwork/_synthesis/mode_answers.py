"""Answer in a mode that reads more than passages: what each reads, and how a model is asked.

Modes local, hybrid and global have one call, whose context has passages, facts of the graph around
the question's entities and findings of reports, in shares that the mode states. Mode map-reduce
rates reports level by level, and reads each part of the relevant ones separately. Mode drift
derives questions from reports, and answers each locally. Both reduce the points that they collect:
lines of replies with a score, a text and the numbers that it cites. Without a model, sentences of
the passages answer, or themes of the nearest reports, each with cited findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from knotwork._inference.call_costs import count_request
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatReply, complete_checked, usable_lines
from knotwork._questions.reading import reading_of
from knotwork._retrieval.community_search import find_communities, find_topic, holds_written_reports
from knotwork._retrieval.entity_lookup import GraphFact, read_local_context
from knotwork._retrieval.steps.query_transformation import bare_lines, parse_ratings
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._stores.capabilities import CommunityStore
from knotwork._synthesis import messages
from knotwork._synthesis.answer_writer import (
    ANSWER_OUTPUT_TOKENS,
    ANSWER_STAGE,
    NOT_ASKED,
    bare_text,
)
from knotwork._synthesis.ask_request import (
    FIRST_REPORTS_TOKENS,
    FURTHER_REPORTS_TOKENS,
    GLOBAL_TOKENS,
    LOCAL_TOKENS,
    AskMode,
    Inquiry,
)
from knotwork._synthesis.extractive_answers import (
    FOUND_CONFIDENCE,
    compose_answer,
)
from knotwork._synthesis.overviews import (
    SummaryText,
    Theme,
    answer_with,
    cited_chunks,
    read_themes,
    theme_lines,
    write_lines,
)
from knotwork._synthesis.prompt_context import (
    GLOBAL_SHARES,
    HYBRID_SHARES,
    LOCAL_SHARES,
    MOST_MARKS,
    ContextShares,
    PassageNumbering,
    PromptPassage,
    clip,
    describe_report,
    make_sections,
    pack_context,
    pack_reports,
    says_nothing,
    sentences_of,
)
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.records import (
    Answer,
    CommunityReport,
    Entity,
    Evidence,
    Hit,
    Query,
)

NO_REPORTS_NOTE = (
    "There are no community reports, so this answer is from passages alone. `knotwork communities` "
    "builds reports."
)


def find_themes(
    inquiry: Inquiry, evidence: Evidence, *, most: int, spend_tokens: int = 0
) -> list[Theme]:
    """Return the communities relevant to a question, with their reports, best first.

    A model, if there is one, writes missing reports for at most ``spend_tokens`` tokens.
    """
    ranked = find_communities(
        inquiry.question,
        store=inquiry.store,
        evidence=evidence,
        embedder=inquiry.searcher.models.query_embedder,
        most=most,
    )
    return read_themes(
        inquiry.store,
        inquiry.reports,
        [item.id for item in ranked],
        spend_tokens=spend_tokens,
    )


MOST_THEMES = 6
_STATEMENTS = 2
_FEW_THEMES = 2
"""With as few themes, each has twice as many statements."""
_LEAST_COVERED = 0.3
"""The least share of the question's terms, those for the whole left out, that reports contain."""


def covered_share(question: str, reports: Sequence[CommunityReport]) -> float:
    """Return the share of a question's terms, those for the whole left out, in the reports."""
    asked = set(content_terms(find_topic(question)))
    if not asked:
        return 1.0 if reports else 0.0
    held = {term for report in reports for term in content_terms(report.text)}
    return len(asked & held) / len(asked)


def answer_from_themes(
    inquiry: Inquiry, found: Evidence, themes: Sequence[Theme]
) -> tuple[Answer, Evidence]:
    """Answer with the themes of reports, each finding cited, or say that there is no answer.

    If neither the reports nor the search (``found``) cover what is asked, no answer is given,
    unless `answer.abstain_below` is 0. The confidence falls with the share of the statements that
    are from passages about something else. An answer about the whole corpus has none: it states
    what the reports say. The evidence are the passages that the reports cite, by the rank of these.
    """
    question, store = inquiry.question, inquiry.store
    language = reading_of(question).language
    hits = _cited_hits(themes, store)
    covered = covered_share(question, [theme.report for theme in themes])
    confidence: float | None = max(covered, found.confidence) if hits else 0.0
    query = Query(question, found.query.k)
    retriever = AskMode.HYBRID if inquiry.mode is AskMode.HYBRID else AskMode.GLOBAL
    evidence = Evidence(query, retriever.value, hits, confidence or 0.0, found.notes)
    count = _STATEMENTS * (2 if len(themes) <= _FEW_THEMES else 1)
    lines = theme_lines(question, themes[:MOST_THEMES], store=store, language=language, count=count)
    has_focus = bool(find_topic(question))
    many = messages.one_theme_head if len(lines) == 1 else messages.themes_head
    intro = (messages.on_this_head if has_focus else many)(language, count=len(lines))
    written = write_lines(SummaryText(intro, lines), language, is_numbered=True)
    answered = bool(written.sources) and (
        covered >= _LEAST_COVERED
        or evidence.confidence >= FOUND_CONFIDENCE
        or inquiry.settings.abstain_below == 0
    )
    if answered:
        asked = set(content_terms(find_topic(question)))
        held = (asked & set(content_terms(s.chunk.searched_text)) for s in written.sources)
        most = len(asked) * len(written.sources)
        share = sum(map(len, held)) / most if most else 1.0
        confidence = evidence.confidence * share if has_focus else None
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return inquiry.label(answer), evidence


def _cited_hits(themes: Sequence[Theme], store: Store) -> tuple[Hit, ...]:
    chunks = cited_chunks([theme.report for theme in themes], store)
    hits: dict[str, Hit] = {}
    for rank, theme in enumerate(themes):
        for support in (s for finding in theme.report.findings for s in finding.supports):
            chunk = chunks.get(support.chunk_id)
            if chunk is not None and chunk.id not in hits:
                spans = (span for span in sentences_of(chunk) if span.overlaps(support.span))
                score, title = 1.0 / (1 + rank), theme.report.title
                cited = tuple((span, 1.0) for span in spans)
                hits[chunk.id] = Hit(chunk, score, {"report": score}, (title,), (), cited)
    return tuple(sorted(hits.values(), key=lambda hit: (-hit.score, hit.chunk.id)))


MAP_OUTPUT_TOKENS = 300
REDUCE_OUTPUT_TOKENS = 700

P = TypeVar("P")
T = TypeVar("T")


def ask_model(
    inquiry: Inquiry,
    task: str,
    parse: Callable[[ChatReply], T],
    *,
    output_tokens: int,
    material: str,
    **blanks: str,
) -> T | KnotworkError:
    """Return what ``parse`` makes of the reply to a task, or the error if there is none."""
    assert inquiry.model is not None, "a task is for a model"
    request = inquiry.make_request(task, output_tokens=output_tokens, material=material, **blanks)
    try:
        return complete_checked(inquiry.model, request, parse)
    except (ModelError, StoreError) as error:
        return error


def work_through(
    inquiry: Inquiry, label: str, work: Callable[[P], T], parts: Sequence[P]
) -> Generator[Progress, None, list[T]]:
    """Do a work for all parts concurrently; yield how many are finished, and return the results."""
    found: list[T] = []
    yield Progress(Stage.STEP, note=label, total=len(parts))
    workers = max(min(inquiry.concurrency, len(parts)), 1)
    for result in work_ordered(work, parts, concurrency=workers):
        found.append(result)
        yield Progress(Stage.STEP, note=label, done=len(found), total=len(parts))
    return found


class MaterialPart(NamedTuple):
    """A part of the material: the question for it, its text, and the passages that it numbers."""

    question: str
    material: str
    passages: Sequence[PromptPassage]


class PointCollector:
    """Collects the points of parts of the material, each read on its own, and reduces them.

    ``label`` is what steps call the reading of parts, ``noun`` what notes call the parts.
    """

    def __init__(self, inquiry: Inquiry, label: str, noun: str) -> None:
        self._inquiry = inquiry
        self._label = label
        self._noun = noun
        self._numbering = PassageNumbering(inquiry.store)
        self._errors: list[KnotworkError] = []
        self._parts = 0
        self._dropped = 0
        self.points: list[ReportPoint] = []

    def collect(self, parts: Sequence[MaterialPart]) -> Generator[Progress]:
        """Ask for the points of all parts concurrently; yield how many are finished.

        A part that fails has no points. If all parts fail and the inquiry has no fallback, raises
        ModelError as `complete_checked`, or StoreError.
        """

        def ask(part: MaterialPart) -> ParsedPoints | KnotworkError:
            return ask_model(
                replace(self._inquiry, question=part.question),
                "map",
                lambda reply: parse_points(reply, {passage.number for passage in part.passages}),
                output_tokens=MAP_OUTPUT_TOKENS,
                material=part.material,
            )

        outcomes = yield from work_through(self._inquiry, self._label, ask, parts)
        errors = [outcome for outcome in outcomes if isinstance(outcome, KnotworkError)]
        self._parts += len(parts)
        self._errors += errors
        if 0 < len(errors) == len(parts) and not self._inquiry.fallback:
            raise self._most_telling_error
        for part, outcome in zip(parts, outcomes, strict=True):
            if isinstance(outcome, KnotworkError):
                continue
            held = {passage.number: passage for passage in part.passages}
            for point in outcome.points:
                numbers = tuple(self._numbering.adopt(held[number]) for number in point.numbers)
                self.points.append(replace(point, numbers=numbers))
            self._dropped += outcome.dropped

    @property
    def _most_telling_error(self) -> KnotworkError:
        """The error of a failed call rather than of an unusable reply."""
        return min(self._errors, key=lambda error: isinstance(error, Unparsable))

    def reduce(
        self, quoted: Answer, *, budget_tokens: int, notes: Sequence[str] = ()
    ) -> Iterator[Progress]:
        """Yield the steps to an answer from the points.

        ``quoted`` is the answer if all parts have failed or the reduce fails. If the model found no
        point in what it read, the documents do not answer.
        """
        inquiry, writer, model = self._inquiry, self._inquiry.writer, self._inquiry.model
        assert writer is not None
        assert model is not None
        is_lost = 0 < len(self._errors) == self._parts
        notes = list(notes)
        if self._errors and not is_lost:
            notes.append(
                f"{len(self._errors)} of {self._parts} {self._noun} could not be read and are "
                f"missing from the answer: {self._most_telling_error}"
            )
        if self._dropped:
            lines = "line" if self._dropped == 1 else "lines"
            notes.append(f"Left out {self._dropped} {lines} of the model without a valid citation.")
        if not self.points:
            quoted = replace(quoted, notes=(*quoted.notes, *notes))
            if is_lost:
                lost = f"Sentences are quoted, because {model.name} gave no answer: "
                yield writer.finish(quoted, f"{lost}{self._most_telling_error}")
            else:  # without parts the model was not asked
                yield writer.finish(writer.decline(quoted) if self._parts else quoted)
            return
        kept = pack_points(self.points, budget_tokens=budget_tokens)
        passages = self._numbering.passages({number for point in kept for number in point.numbers})
        yield Progress(Stage.STEP, note="reduce", done=0, total=1)
        request = inquiry.make_request(
            "reduce",
            output_tokens=REDUCE_OUTPUT_TOKENS,
            points="\n".join(point.line for point in kept),
        )
        yield from writer.write_from(request, passages, quoted, notes=notes)


MOST_POINTS = 12
"""The maximum number of points read from one reply: twice as many as are asked for."""

_LEAD = re.compile(r"^[\s\-–*•>|｜`#(]*(?:\d{1,2}[.)]\s+(?=\d))?")
_POINT = re.compile(r"^\W{0,3}(\d{1,3})(?:\s*/\s*100)?\W{0,3}\s*[|｜\t:：]\s*(\S.*)$")
_MARK = re.compile(r"[ \t]*[\[【［]\s*(\d[\d\s,，、;；]*)[\]】］]")
_LONGEST_POINT = 600


@dataclass(frozen=True, slots=True)
class ReportPoint:
    """The text of one line without its marks; ``numbers`` are the passages that it cites."""

    score: int
    text: str
    numbers: tuple[int, ...]

    @property
    def line(self) -> str:
        """The line that a model reads in the reduce step."""
        marks = "".join(f"[{number}]" for number in self.numbers[:MOST_MARKS])
        return f"{self.score} | {self.text} {marks}"


class ParsedPoints(NamedTuple):
    """The points of a reply; ``dropped`` counts unusable lines."""

    points: tuple[ReportPoint, ...]
    dropped: int = 0


def parse_points(reply: ChatReply, numbers: Collection[int]) -> ParsedPoints:
    """Parse the points of a reply that may cite ``numbers``.

    Lines without a score or a valid number are dropped and counted. The last line of a reply that
    was cut off is ignored. Raises Unparsable for an empty reply, and for one without a usable line
    that does not say "none".
    """
    lines = usable_lines(reply)
    points: list[ReportPoint] = []
    for line in lines:
        match = _POINT.match(_LEAD.sub("", line).strip("|｜ "))
        if match is None:
            continue
        marks = " ".join(_MARK.findall(match[2]))
        found = [n for n in map(int, re.findall(r"\d+", marks)) if n in numbers]
        text = " ".join(_MARK.sub("", match[2]).split()).strip("|｜ ")
        score = min(int(match[1]), 100)
        if found and text and score and len(text) <= _LONGEST_POINT:
            points.append(ReportPoint(score, text, tuple(dict.fromkeys(found))))
    silent = sum(map(says_nothing, lines))
    if not points and not silent:
        raise Unparsable("The reply has no point that cites a source.")
    kept = tuple(points[:MOST_POINTS])
    return ParsedPoints(kept, len(lines) - len(kept) - silent)


def pack_points(points: Sequence[ReportPoint], *, budget_tokens: int) -> list[ReportPoint]:
    """Return the best points that fit the budget, best first, without repeated texts."""
    kept: list[ReportPoint] = []
    seen: set[str] = set()
    left = budget_tokens
    for point in sorted(points, key=lambda p: (-p.score, p.numbers, p.text)):
        key, cost = point.text.casefold(), count_tokens(point.line)
        if key not in seen and cost <= left:
            kept.append(point)
            seen.add(key)
            left -= cost
    return kept


class _Material(NamedTuple):
    """What a mode starts from: the evidence, the nearest themes, and the answer without a model.

    ``spent`` are the tokens that the question has cost and that its context makes room for.
    """

    evidence: Evidence
    themes: Sequence[Theme]
    quoted: Answer
    spent: int


@dataclass(frozen=True, slots=True)
class ModePolicy:
    """How a mode answers: by ``write``, and if this is one call, from which context.

    It ``updates_reports`` first if it needs them. ``reports`` is how many of the reports nearest to
    the question are read. ``leads_with_themes``: without a model, themes of reports answer rather
    than sentences of passages. ``writes_reports``: the model may write missing reports for a part
    of the tokens. ``share`` are the tokens of the context, as a multiple of
    ``answer.context_tokens``: passages still get about as many as in mode basic.
    """

    write: Callable[[Inquiry, _Material], Iterator[Progress]]
    reports: int = 0
    updates_reports: bool = False
    leads_with_themes: bool = False
    writes_reports: bool = False
    task: str = "local"
    shares: ContextShares = LOCAL_SHARES
    share: float = 1.0
    ceiling: int = LOCAL_TOKENS
    output_tokens: int = ANSWER_OUTPUT_TOKENS


def answer_in_mode(inquiry: Inquiry, evidence: Evidence) -> Iterator[Progress]:
    """Yield the steps to an answer in the mode of an inquiry.

    Kinds of context that the index lacks are left out. Without a model, or if it fails, the answer
    is composed of sentences of the passages, or of themes of the nearest reports.
    """
    policy = POLICIES[inquiry.mode]
    if policy.updates_reports:
        yield from inquiry.update_reports()
    spent = inquiry.spent_tokens()
    may_write = policy.writes_reports and inquiry.model is not None
    is_first = may_write and not holds_written_reports(inquiry.store)
    allowed = FIRST_REPORTS_TOKENS if is_first else FURTHER_REPORTS_TOKENS if may_write else 0
    themes = find_themes(inquiry, evidence, most=policy.reports, spend_tokens=allowed)
    if not is_first:  # the first question also pays for the reports that it has written
        spent = inquiry.spent_tokens()
    quoted, reported = _quote(inquiry, evidence, themes, policy)
    if policy.leads_with_themes and themes:
        yield Progress(Stage.FOUND, value=reported)
    if inquiry.writer is None:
        yield Progress(Stage.FINISHED, value=quoted)
        return
    yield from policy.write(inquiry, _Material(evidence, themes, quoted, spent))


def _quote(
    inquiry: Inquiry, evidence: Evidence, themes: Sequence[Theme], policy: ModePolicy
) -> tuple[Answer, Evidence]:
    if not (policy.leads_with_themes and themes):
        quoted = compose_answer(evidence, store=inquiry.store, settings=inquiry.settings)
        if quoted.answered or not themes:
            notes = (NO_REPORTS_NOTE,) if policy.leads_with_themes else ()
            return inquiry.label(quoted, notes), evidence
    return answer_from_themes(inquiry, evidence, themes)


def _write_from_context(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    policy, writer, quoted = POLICIES[inquiry.mode], inquiry.writer, material.quoted
    assert writer is not None
    if policy.leads_with_themes and not material.themes:
        for event in writer.write(material.evidence):
            is_last = event.stage == Stage.FINISHED
            value = inquiry.label(event.value, quoted.notes) if is_last else event.value
            yield replace(event, value=value)
        return
    task, output_tokens = policy.task, policy.output_tokens
    reports = [theme.report for theme in material.themes]
    facts: Sequence[GraphFact] = ()
    if policy.shares.facts:
        around = read_local_context(inquiry.question, material.evidence, store=inquiry.store)
        facts = around.facts
        reports = reports if policy.reports else _reports_around(inquiry, around.entities)
    empty = inquiry.make_request(task, output_tokens=output_tokens, material="")
    wanted = inquiry.settings.context_tokens
    most = int(policy.ceiling * max(wanted / _USUAL_CONTEXT_TOKENS, 1.0))
    room = most - material.spent - count_request(empty, count_tokens) - output_tokens
    context = pack_context(
        material.evidence,
        facts=facts,
        reports=reports,
        store=inquiry.store,
        budget_tokens=max(min(int(policy.share * wanted), room), _LEAST_MATERIAL_TOKENS),
        shares=policy.shares,
    )
    if not context.passages:
        yield writer.finish(quoted, NOT_ASKED)
        return
    request = inquiry.make_request(
        task, stage=ANSWER_STAGE, output_tokens=output_tokens, material=context.material
    )
    yield from writer.write_from(request, context.passages, quoted)


_USUAL_CONTEXT_TOKENS = 4_000
"""The ``answer.context_tokens`` for which the ceilings of modes are stated; they grow with it."""
_LEAST_MATERIAL_TOKENS = 200
_AROUND_REPORTS = 2
_LEADING_ENTITIES = 4


def _reports_around(inquiry: Inquiry, entities: Sequence[Entity]) -> list[CommunityReport]:
    """Return the reports of the lowest communities that hold most of the leading entities."""
    held, leading = inquiry.store.capabilities.communities, entities[:_LEADING_ENTITIES]
    if held is None or not leading:
        return []
    worths: defaultdict[str, float] = defaultdict(float)
    around = held.of_entities([entity.id for entity in leading])
    for rank, entity in enumerate(leading):
        for community in around.get(entity.id, ())[-1:]:
            worths[community] += 1.0 / (1 + rank)
    ids = sorted(worths, key=lambda i: (-worths[i], i))[:_AROUND_REPORTS]
    reports = inquiry.reports.reports(ids) if ids else {}
    return [reports[i] for i in ids if i in reports]


MOST_DEPTH = 3
MOST_RATED = 60
"""The maximum number of communities of one level that are rated, the largest first."""
RATED_AT_ONCE = 30
MOST_PARTS = 8
RELEVANT = 3
"""The rating, from 0 to 5, from which a community is relevant."""

_RATE_OUTPUT_TOKENS = 5 * RATED_AT_ONCE
_LINE_TOKENS = 40
_REPORTS_PART_TOKENS = 1_200
_REPORTS_IN_PART = 4
_REDUCE_REPORTS_TOKENS = 1_600


def _write_from_parts(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    """Yield the steps to an answer from all relevant reports, read in parts.

    If a call fails, its part is missing and a note says so.
    """
    if not material.themes:
        assert inquiry.writer is not None
        yield inquiry.writer.finish(material.quoted)
        return
    reports, notes = yield from _select_reports(inquiry)
    reports = reports or [theme.report for theme in material.themes]
    read = MOST_PARTS * _REPORTS_IN_PART
    if len(reports) > read:
        notes.append(f"The {read} best rated of {len(reports)} relevant reports were read.")
    parts = []
    for start in range(0, min(len(reports), read), _REPORTS_IN_PART):
        own = PassageNumbering(inquiry.store)
        lines = pack_reports(
            reports[start : start + _REPORTS_IN_PART],
            own,
            inquiry.question,
            budget_tokens=_REPORTS_PART_TOKENS,
        )
        if lines:
            text = make_sections([("reports", lines)])
            parts.append(MaterialPart(inquiry.question, text, own.passages()))
    collector = PointCollector(inquiry, "map", "parts of the reports")
    yield from collector.collect(parts)
    yield from collector.reduce(material.quoted, budget_tokens=_REDUCE_REPORTS_TOKENS, notes=notes)


def _select_reports(
    inquiry: Inquiry,
) -> Generator[Progress, None, tuple[list[CommunityReport], list[str]]]:
    """Rate reports level by level; return those to read, best rated first, and notes."""
    held = inquiry.store.capabilities.communities
    assert held is not None, "there are reports"
    levels = held.levels()
    notes: list[str] = []
    rated: dict[str, float] = {}
    parents: dict[str, str] = {}
    frontier = _largest_communities(held, levels[0] if levels else ())
    for depth in range(min(len(levels), MOST_DEPTH)):
        if not frontier:
            break
        ratings, failed = yield from _rate(inquiry, frontier, depth=depth)
        notes += failed
        relevant = [i for i in frontier if ratings.get(i, 0) >= RELEVANT]
        rated.update({i: ratings[i] for i in relevant})
        below = held.communities(levels[depth + 1]).values() if depth + 1 < len(levels) else ()
        inside = {c.id: c.parent_id for c in below if c.parent_id in relevant}
        parents.update({child: parent for child, parent in inside.items() if parent})
        frontier = _largest_communities(held, inside)
    # A community with relevant children is covered by them.
    whole = {parents[i] for i in rated if i in parents}
    chosen = sorted(rated.keys() - whole, key=lambda i: (-rated[i], i))
    reports = inquiry.reports.reports(chosen, spend_tokens=FIRST_REPORTS_TOKENS) if chosen else {}
    return [reports[i] for i in chosen if i in reports], notes


def _largest_communities(held: CommunityStore, ids: Collection[str]) -> list[str]:
    known = held.communities(list(ids)).values()
    ranked = sorted(known, key=lambda c: (-(c.size + len(c.chunk_ids)), c.id))
    return [community.id for community in ranked[:MOST_RATED]]


def _rate(
    inquiry: Inquiry, ids: Sequence[str], *, depth: int
) -> Generator[Progress, None, tuple[dict[str, float], list[str]]]:
    """Return the ratings of communities, and notes on calls that failed."""
    reports = inquiry.reports.reports(ids)
    known = [i for i in ids if i in reports]
    batches = [known[i : i + RATED_AT_ONCE] for i in range(0, len(known), RATED_AT_ONCE)]

    def rate(batch: Sequence[str]) -> dict[int, float] | KnotworkError:
        numbered = enumerate(batch, start=1)
        lines = (f"{n} | {describe_report(reports[i], tokens=_LINE_TOKENS)}" for n, i in numbered)
        return ask_model(
            inquiry,
            "rate",
            lambda reply: parse_ratings(reply, range(1, len(batch) + 1)),
            output_tokens=_RATE_OUTPUT_TOKENS,
            material="\n".join(lines),
        )

    ratings: dict[str, float] = {}
    notes: list[str] = []
    outcomes = yield from work_through(inquiry, f"rate level {depth}", rate, batches)
    for batch, found in zip(batches, outcomes, strict=True):
        if isinstance(found, KnotworkError):
            notes.append(f"Some reports could not be rated and were not read: {found}")
        else:
            ratings |= {batch[number - 1]: rating for number, rating in found.items()}
    return ratings, notes


MOST_FURTHER = (3, 2)
"""The maximum number of further questions in the first round, and in the second."""

_PRIMER_TOKENS = 900
_QUESTION_PART_TOKENS = 900
_KNOWN_TOKENS = 800
_REDUCE_QUESTIONS_TOKENS = 1_200
_FURTHER_OUTPUT_TOKENS = 120
_QUESTION_TOKENS = 60


def _write_from_questions(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    """Yield the steps to an answer from the question and the questions that it leads to.

    Without reports, only the passages found for the question are read.
    """
    lines = pack_reports(
        [theme.report for theme in material.themes],
        PassageNumbering(inquiry.store),
        inquiry.question,
        budget_tokens=_PRIMER_TOKENS,
    )
    questions, failed = _ask_further(inquiry, "reports", lines, MOST_FURTHER[0])
    parts = [_search_locally(inquiry, inquiry.question, material.evidence)]
    parts += [_search_locally(inquiry, question) for question in questions]
    collector = PointCollector(inquiry, "follow up", "questions on the way")
    yield from collector.collect(parts)
    more: list[str] = []
    if collector.points and not failed:
        known = pack_points(collector.points, budget_tokens=_KNOWN_TOKENS)
        lines = [point.line for point in known]
        more, failed = _ask_further(inquiry, "points", lines, MOST_FURTHER[1], questions)
    if more:
        yield from collector.collect([_search_locally(inquiry, question) for question in more])
    yield from collector.reduce(
        material.quoted,
        budget_tokens=_REDUCE_QUESTIONS_TOKENS,
        notes=[f"No further questions were asked: {failed}"] if failed else [],
    )


def _ask_further(
    inquiry: Inquiry, tag: str, lines: Sequence[str], most: int, before: Sequence[str] = ()
) -> tuple[list[str], str]:
    """Return further questions, and an error message if the model gave no usable ones."""
    if not lines:
        return [], ""
    known = (inquiry.question, *before)
    found = ask_model(
        inquiry,
        "further",
        lambda reply: parse_questions(reply, known=known, most=most),
        output_tokens=_FURTHER_OUTPUT_TOKENS,
        material=make_sections([(tag, lines)]),
        most=str(most),
    )
    return ([], str(found)) if isinstance(found, KnotworkError) else (found, "")


def parse_questions(reply: ChatReply, *, known: Sequence[str], most: int) -> list[str]:
    """Return at most ``most`` questions of a reply, one a line, without those ``known``.

    Raises Unparsable for an empty reply.
    """
    seen = {bare_text(question) for question in known}
    found: list[str] = []
    for line in bare_lines(reply):
        text = line.strip("\"“”' ")
        if says_nothing(text) or not content_terms(text) or bare_text(text) in seen:
            continue
        seen.add(bare_text(text))
        found.append(clip(text, _QUESTION_TOKENS))
    return found[:most]


def _search_locally(
    inquiry: Inquiry, question: str, evidence: Evidence | None = None
) -> MaterialPart:
    """Return what is found for a question; ``evidence`` is used instead of a search."""
    found = evidence or inquiry.searcher.search(question)
    around = read_local_context(question, found, store=inquiry.store)
    context = pack_context(
        found,
        facts=around.facts,
        store=inquiry.store,
        budget_tokens=_QUESTION_PART_TOKENS,
        shares=LOCAL_SHARES,
    )
    return MaterialPart(question, context.material, context.passages)


_PRIMER_REPORTS = 4
_HYBRID_REPORTS = 5
_GLOBAL_REPORTS = 12
"""As many as fit the usual budget: the answer is as broad as the reports that it reads."""

POLICIES = {
    AskMode.LOCAL: ModePolicy(_write_from_context, share=1.75),
    AskMode.HYBRID: ModePolicy(
        _write_from_context, reports=_HYBRID_REPORTS, shares=HYBRID_SHARES, share=1.9
    ),
    AskMode.GLOBAL: ModePolicy(
        _write_from_context,
        reports=_GLOBAL_REPORTS,
        updates_reports=True,
        leads_with_themes=True,
        writes_reports=True,
        task="global",
        shares=GLOBAL_SHARES,
        share=1.5,
        ceiling=GLOBAL_TOKENS,
        output_tokens=700,
    ),
    AskMode.MAP_REDUCE: ModePolicy(
        _write_from_parts, reports=MOST_THEMES, updates_reports=True, leads_with_themes=True
    ),
    AskMode.DRIFT: ModePolicy(_write_from_questions, reports=_PRIMER_REPORTS, updates_reports=True),
}
