"""Pack passages, graph facts and reports into the prompt of an answer, under a token budget.

Sentences compete for the budget by their relevance to the question. The neighbours of a relevant
sentence get half of its worth, since they explain its pronouns. Each passage has its sentences in
reading order, and the passages keep the order of the hits. Numbers in the prompt lead back to
passages and sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from knotwork._inference import prompt_files
from knotwork._inference.prompt_material import escape_passage
from knotwork._retrieval.local_context import GraphFact
from knotwork._retrieval.queries.query_rows import ROWS_SCORE, show_row
from knotwork._stores.base import Store
from knotwork._synthesis.citations import gap_between, show_sentence
from knotwork._synthesis.sentence_selection import is_title
from knotwork._synthesis.structured_answers import find_leading_result
from knotwork._text.prose import weigh_prose
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    RETRIEVAL_QUERY,
    Chunk,
    CommunityReport,
    Evidence,
    Finding,
    Hit,
    QueryResult,
    Span,
    Support,
)

HIT_POWER = 0.5
"""Exponent of a hit's score, relative to the best hit's, in the worth of its sentences."""
NEIGHBOUR_SHARE = 0.5
"""The worth of a sentence next to another, as a share of the other's worth."""

LEAST_SHARE = 0.1
"""The least worth of any sentence, as a share of its hit's: it fills the rest of the budget."""

ROWS_SHARE = 0.4
"""The largest share of the budget for the rows of a query."""
MOST_PACKED_ROWS = 50

_GAP = "…"


@dataclass(frozen=True, slots=True)
class PromptPassage:
    """The part of a hit that a model reads.

    ``text`` is its line in the prompt, ``spans`` are its sentences in reading order, ``best`` is
    the most relevant one. ``rows`` are the rows of queries that its line ends with, "" without any.
    """

    number: int
    chunk: Chunk
    spans: tuple[Span, ...]
    text: str
    best: Span
    rows: str = ""


@dataclass(frozen=True, slots=True)
class _SentenceCandidate:
    rank: int
    position: int
    span: Span
    text: str
    worth: float


def pack_evidence(
    evidence: Evidence, *, budget_tokens: int, count: Callable[[str], int] = count_tokens
) -> list[PromptPassage]:
    """Pack the best sentences into passages, numbered from 1, of at most ``budget_tokens``.

    A sentence that several documents repeat is included once. ``count`` counts the tokens of a
    text.
    """
    labels = [_passage_label(hit.chunk) for hit in evidence.hits]
    chosen: dict[int, list[_SentenceCandidate]] = {}
    seen: set[str] = set()
    stating = [rank for rank, hit in enumerate(evidence.hits) if hit.scores.get(ROWS_SCORE)]
    leading = find_leading_result(evidence, least=0.0) if stating else None
    rows = _row_line(leading, int(ROWS_SHARE * budget_tokens), count)
    own = next((r for r in evidence.results if r.source == RETRIEVAL_QUERY), None)
    own_rows = _row_line(own, int(ROWS_SHARE * budget_tokens) - count(rows), count)
    left = budget_tokens - count(rows) - count(own_rows)
    for item in sorted(
        _sentence_candidates(evidence), key=lambda c: (-c.worth, c.rank, c.position)
    ):
        cost = count(item.text) + count(_GAP)
        if item.rank not in chosen:
            cost += count(_passage_line(len(evidence.hits), labels[item.rank], ""))
        key = " ".join(item.text.split()).casefold()
        if cost <= left and key not in seen:
            chosen.setdefault(item.rank, []).append(item)
            seen.add(key)
            left -= cost
    passages = []
    for number, rank in enumerate(sorted(chosen), start=1):
        items = sorted(chosen[rank], key=lambda item: item.position)
        spans = tuple(item.span for item in items)
        line = _passage_line(number, labels[rank], _join_sentences(items))
        best = chosen[rank][0].span
        found = []
        if rows and rank in stating:
            found.append(rows)
            rows = ""
        if own_rows:
            found.append(own_rows)
            own_rows = ""
        line = " ".join((line, *found))
        chunk = evidence.hits[rank].chunk
        passages.append(PromptPassage(number, chunk, spans, line, best, " ".join(found)))
    return passages


def holds_rows(evidence: Evidence) -> bool:
    """Return True if rows of a query answer, and a passage of the evidence states them."""
    is_stated = any(hit.scores.get(ROWS_SCORE) for hit in evidence.hits)
    return is_stated and find_leading_result(evidence, least=0.0) is not None


def _row_line(result: QueryResult | None, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Return as many rows of a query as fit, on one line; "" without rows."""
    if result is None:
        return ""
    head = f"Rows of a query on {result.place}:" if result.place else "Rows of a query:"
    shown: list[str] = []
    left = budget_tokens - count(head) - count(_GAP)
    for row in result.rows[:MOST_PACKED_ROWS]:
        line = escape_passage(show_row(result.columns, row))
        left -= count(line) + 1
        if left < 0:
            break
        shown.append(line)
    if not shown:
        return ""
    rest = f" {_GAP}" if len(shown) < len(result.rows) or result.truncated else ""
    return f"{escape_passage(head)} {' / '.join(shown)}{rest}"


def sentences_of(chunk: Chunk) -> tuple[Span, ...]:
    """Return the sentences of a chunk, or its whole span if they are unknown."""
    return chunk.sentences or (chunk.span,)


def _sentence_candidates(evidence: Evidence) -> Iterator[_SentenceCandidate]:
    top = max((hit.score for hit in evidence.hits), default=0.0)
    for rank, hit in enumerate(evidence.hits):
        share = (max(hit.score, 0.0) / top) ** HIT_POWER if top > 0 else 1.0
        spans = sentences_of(hit.chunk)
        worths = _sentence_worths(hit, spans)
        for position, (span, worth) in enumerate(zip(spans, worths, strict=True)):
            text = hit.chunk.text_at(span)
            shown = escape_passage(show_sentence(text))
            if shown and not is_title(text, hit.chunk):
                yield _SentenceCandidate(rank, position, span, shown, share * worth)


def _sentence_worths(hit: Hit, spans: Sequence[Span]) -> list[float]:
    """Return the worth of each sentence of a hit, relative to its best sentence."""
    relevance = dict(hit.sentences)
    best = max(relevance.values(), default=0.0) or 1.0
    own = [max(relevance.get(span, 0.0), 0.0) / best for span in spans]
    beside = [
        max((own[i] for i in (place - 1, place + 1) if 0 <= i < len(own)), default=0.0)
        for place in range(len(own))
    ]
    return [max(a, NEIGHBOUR_SHARE * b, LEAST_SHARE) for a, b in zip(own, beside, strict=True)]


def _passage_label(chunk: Chunk) -> str:
    titles = dict.fromkeys(t for t in (chunk.document_title, *chunk.headings) if t)
    return escape_passage(" > ".join(" ".join(title.split()) for title in titles)).replace("|", "/")


def _passage_line(number: int, label: str, body: str) -> str:
    return f"[{number}] {label} | {body}" if label else f"[{number}] {body}"


def _join_sentences(items: Sequence[_SentenceCandidate]) -> str:
    text = ""
    for place, item in enumerate(items):
        if place and item.position > items[place - 1].position + 1:
            text += f" {_GAP} "
        elif place:
            text += gap_between(items[place - 1].text, item.text)
        text += item.text
    return text


_SUMMARY_TOKENS = 60
_TITLE_TOKENS = 40
_SECTION_TOKENS = 12
"""The tokens of the tags around a section."""

TokenCounter = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ContextShares:
    """How a budget is divided among passages, facts and reports, in this order.

    Tokens that one of them does not use are available to the next.
    """

    passages: float
    facts: float
    reports: float


LOCAL_SHARES = ContextShares(passages=0.58, facts=0.22, reports=0.2)
HYBRID_SHARES = ContextShares(passages=0.46, facts=0.16, reports=0.38)


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The sections of a prompt, and the passages that their numbers cite."""

    material: str
    passages: tuple[PromptPassage, ...]


def pack_context(
    evidence: Evidence,
    *,
    facts: Sequence[GraphFact] = (),
    reports: Sequence[CommunityReport] = (),
    store: Store,
    budget_tokens: int,
    shares: ContextShares = LOCAL_SHARES,
    count: TokenCounter = count_tokens,
) -> PromptContext:
    """Pack passages, facts and findings of reports into at most ``budget_tokens``.

    ``facts`` and ``reports`` are in order of relevance. Those without support in the documents of
    the store are left out.
    """
    left = budget_tokens - 3 * _SECTION_TOKENS
    passages = pack_evidence(evidence, budget_tokens=int(shares.passages * left), count=count)
    left -= sum(count(passage.text) for passage in passages)
    numbering = PassageNumbering(store, passages)
    rest = shares.facts + shares.reports
    for_facts = int(left * shares.facts / rest) if reports else left
    for_facts = min(for_facts, int(2 * shares.facts * budget_tokens))
    lines = pack_facts(facts, numbering, budget_tokens=for_facts, count=count)
    left -= sum(count(line) for line in lines)
    for_reports = min(left, int(2 * shares.reports * budget_tokens))
    found = pack_reports(
        reports, numbering, evidence.query.text, budget_tokens=for_reports, count=count
    )
    sections = (
        ("context", [p.text for p in passages]),
        ("facts", lines),
        ("reports", found),
    )
    return PromptContext(make_sections(sections), tuple(numbering.passages()))


def make_sections(sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return sections enclosed in their tags; empty sections are left out."""
    return "\n".join(
        "\n".join([f"<{tag}>", *lines, f"</{tag}>"]) for tag, lines in sections if lines
    )


def pack_facts(
    facts: Iterable[GraphFact],
    numbering: PassageNumbering,
    *,
    budget_tokens: int,
    count: TokenCounter = count_tokens,
) -> list[str]:
    """Return the lines of facts, in order, as many as fit, without repetitions."""
    facts = list(facts)
    numbering.read(support for fact in facts for support in fact.supports)
    lines: list[str] = []
    seen: set[str] = set()
    left = budget_tokens
    for fact in facts:
        key = fact.text.casefold()
        # A fact that does not fit must not get a number, so its length is checked first.
        if key in seen or count(make_line("[000][000]", fact.text)) > left:
            continue
        if mark := numbering.mark(fact.supports):
            lines.append(make_line(mark, fact.text))
            seen.add(key)
            left -= count(lines[-1])
    return lines


def pack_reports(
    reports: Sequence[CommunityReport],
    numbering: PassageNumbering,
    question: str,
    *,
    budget_tokens: int,
    count: TokenCounter = count_tokens,
) -> list[str]:
    """Return reports as lines: a title, then findings, each with the numbers that support it.

    Each gets an equal share of the rest of the budget. A report is left out if none of its findings
    fits, or none is supported by the documents of the store.
    """
    numbering.read(s for report in reports for f in report.findings for s in f.supports)
    lines: list[str] = []
    left = budget_tokens
    for place, report in enumerate(reports):
        found = _report_lines(report, numbering, question, left // (len(reports) - place), count)
        lines += found
        left -= sum(count(line) for line in found)
    return lines


def _report_lines(
    report: CommunityReport,
    numbering: PassageNumbering,
    question: str,
    budget: int,
    count: TokenCounter,
) -> list[str]:
    title = f"# {clip(escape_passage(show_sentence(report.title)), _TITLE_TOKENS, count)}"
    if report.source != EXTRACTIVE_SOURCE:  # an extractive summary repeats the findings
        summary = escape_passage(show_sentence(report.summary))
        title += f": {clip(summary, _SUMMARY_TOKENS, count)}"
    left = budget - count(title)
    lines: list[str] = []
    for finding in rank_findings(report, question):
        if count(make_line("[000][000]", finding.text)) > left:
            continue
        if mark := numbering.mark(finding.supports):
            lines.append(make_line(mark, finding.text))
            left -= count(lines[-1])
    return [title, *lines] if lines else []


def rank_findings(report: CommunityReport, question: str) -> list[Finding]:
    """Return the findings by the terms that they share with the question, prose before lists."""
    asked = set(content_terms(question))

    def worth(finding: Finding) -> float:
        shared = len(asked & set(content_terms(finding.text))) / max(len(asked), 1)
        return shared + 0.5 * weigh_prose(show_sentence(finding.text))

    # The sort is stable: among equals the own order of the report, most important first, decides.
    return sorted((f for f in report.findings if f.text.strip()), key=lambda f: -round(worth(f), 2))


def describe_report(report: CommunityReport, *, tokens: int) -> str:
    """Return a report in a line of at most ``tokens``: its title and the beginning of its text."""
    is_extractive = report.source == EXTRACTIVE_SOURCE
    said = (report.findings[0].text if is_extractive and report.findings else "") or report.summary
    title = clip(escape_passage(show_sentence(report.title)), _TITLE_TOKENS, count_tokens)
    return clip(f"{title}: {escape_passage(show_sentence(said))}", tokens, count_tokens)


def clip(text: str, tokens: int, count: TokenCounter = count_tokens) -> str:
    """Return the beginning of a text with at most ``tokens`` tokens, cut between words."""
    if count(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) < tokens else (low, middle - 1)
    cut = text[:low]
    space = cut.rfind(" ")
    return (cut[:space] if space > 0.7 * len(cut) else cut).rstrip() + "…"


_LEADING = re.compile(r"(?:\[\d+\])+")
_DIGITS = re.compile(r"\d+")
MOST_MARKS = 2
"""The maximum number of passages that one line cites: models copy few numbers more reliably."""


class PassageNumbering:
    """Numbers the chunks that support the lines of a prompt; a chunk always has the same number.

    Passages that are already ``shown`` keep their numbers. A number leads to the sentences that
    were cited with it, so that citations of facts are as exact as those of passages.
    """

    def __init__(self, store: Store, shown: Sequence[PromptPassage] = ()) -> None:
        self._store = store
        self._shown = {passage.chunk.id: passage for passage in shown}
        self._numbers = {passage.chunk.id: passage.number for passage in shown}
        self._spans = {passage.chunk.id: list(passage.spans) for passage in shown}
        self._chunks: dict[str, Chunk] = {passage.chunk.id: passage.chunk for passage in shown}

    def read(self, supports: Iterable[Support]) -> None:
        """Read the chunks of supports in one batch, before they are marked one by one."""
        missing = {support.chunk_id for support in supports} - self._chunks.keys()
        if missing:
            self._chunks.update(self._store.documents.chunks(missing))

    def mark(self, supports: Sequence[Support]) -> str:
        """Return the marks, as "[3][7]", of the supports of a line; "" if the store has none."""
        self.read(supports)
        numbers: list[int] = []
        for support in supports:
            chunk = self._chunks.get(support.chunk_id)
            spans = [s for s in sentences_of(chunk) if s.overlaps(support.span)] if chunk else []
            if not spans or len(numbers) >= MOST_MARKS:
                continue
            known = self._spans.setdefault(support.chunk_id, [])
            known += [span for span in spans if span not in known]
            number = self._numbers.setdefault(support.chunk_id, len(self._numbers) + 1)
            if number not in numbers:
                numbers.append(number)
        return "".join(f"[{number}]" for number in numbers)

    def adopt(self, passage: PromptPassage) -> int:
        """Return the number for a passage that was numbered in another prompt."""
        identifier = passage.chunk.id
        self._chunks.setdefault(identifier, passage.chunk)
        known = self._spans.setdefault(identifier, [])
        known += [span for span in passage.spans if span not in known]
        return self._numbers.setdefault(identifier, len(self._numbers) + 1)

    @staticmethod
    def numbers_in(lines: Iterable[str]) -> frozenset[int]:
        """Return the numbers that lines begin with."""
        marks = (_LEADING.match(line) for line in lines)
        return frozenset(int(n) for mark in marks if mark for n in _DIGITS.findall(mark[0]))

    def passages(self, used: Collection[int] | None = None) -> list[PromptPassage]:
        """Return the passages by number, ascending; with ``used``, only those with these."""
        found = []
        for chunk_id, number in self._numbers.items():
            if used is not None and number not in used:
                continue
            shown, chunk = self._shown.get(chunk_id), self._chunks[chunk_id]
            spans = tuple(sorted(self._spans[chunk_id]))
            best = shown.best if shown else self._spans[chunk_id][0]
            text = shown.text if shown else " ".join(map(chunk.text_at, spans))
            found.append(PromptPassage(number, chunk, spans, text, best))
        return sorted(found, key=lambda passage: passage.number)


def make_line(mark: str, text: str) -> str:
    """Return a line of a prompt: the marks of its passages, then its escaped text."""
    return f"{mark} {escape_passage(show_sentence(text))}"


fill_prompt = partial(prompt_files.fill_prompt, "knotwork._synthesis")
"""Return the messages of a prompt of answers, given its task, a language and its blanks."""
