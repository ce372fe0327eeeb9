"""Packing evidence for a language model: numbered passages of sentences, under a budget of tokens.

Sentences compete for the budget by their relevance to the question, those beside a good one with
half of its worth, since they say who "she" is. Each passage then has its sentences in reading
order, and the passages keep the order of the hits, the most useful first. Rows of a query that
answers are put behind the first passage that states them, so that a model can cite them; rows of
the user's own query over the passages, behind the first passage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from knotwork.records import RETRIEVAL_QUERY, Chunk, Evidence, Hit, QueryResult, Span
from knotwork.retrieval.queries.citing import ROWS_SCORE
from knotwork.retrieval.queries.showing import show_row
from knotwork.synthesis.citing import gap_between, show_sentence
from knotwork.synthesis.query_answers import find_leading_result
from knotwork.synthesis.selection import is_title
from knotwork.text.tokens import count_tokens

HIT_POWER = 0.5
"""Exponent of a hit's score, relative to the best hit's, in the worth of its sentences."""
NEIGHBOUR_SHARE = 0.5
"""The worth of a sentence beside another, of that one's."""

LEAST_SHARE = 0.1
"""The worth of any sentence of a hit, of the hit's: it fills what the budget has left."""

ROWS_SHARE = 0.4
"""The share of the budget that the rows of a query may take."""
MOST_PACKED_ROWS = 50

_GAP = "…"
_MARK = re.compile(r"\[(\d{1,4})\]")
_TAG = re.compile(r"</?\s*(context|question|facts|reports|points|memory)\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Passage:
    """What a model reads of one hit: ``spans`` are the sentences, in order, ``text`` its line.

    ``best`` of the sentences bears most on the question.
    """

    number: int
    chunk: Chunk
    spans: tuple[Span, ...]
    text: str
    best: Span


@dataclass(frozen=True, slots=True)
class _Candidate:
    rank: int
    position: int
    span: Span
    text: str
    worth: float


def pack_evidence(
    evidence: Evidence, *, budget_tokens: int, count: Callable[[str], int] = count_tokens
) -> list[Passage]:
    """Return the passages, numbered from 1, whose lines have at most ``budget_tokens`` together.

    No sentence comes twice, though documents be copies. Tokens are those that ``count`` finds.
    """
    labels = [_label(hit.chunk) for hit in evidence.hits]
    chosen: dict[int, list[_Candidate]] = {}
    seen: set[str] = set()
    stating = [rank for rank, hit in enumerate(evidence.hits) if hit.scores.get(ROWS_SCORE)]
    leading = find_leading_result(evidence, least=0.0) if stating else None
    rows = _row_line(leading, int(ROWS_SHARE * budget_tokens), count)
    own = next((r for r in evidence.results if r.source == RETRIEVAL_QUERY), None)
    own_rows = _row_line(own, int(ROWS_SHARE * budget_tokens) - count(rows), count)
    left = budget_tokens - count(rows) - count(own_rows)
    for item in sorted(_candidates(evidence), key=lambda c: (-c.worth, c.rank, c.position)):
        cost = count(item.text) + count(_GAP)
        if item.rank not in chosen:
            cost += count(_line(len(evidence.hits), labels[item.rank], ""))
        key = " ".join(item.text.split()).casefold()
        if cost <= left and key not in seen:
            chosen.setdefault(item.rank, []).append(item)
            seen.add(key)
            left -= cost
    passages = []
    for number, rank in enumerate(sorted(chosen), start=1):
        items = sorted(chosen[rank], key=lambda item: item.position)
        spans = tuple(item.span for item in items)
        line = _line(number, labels[rank], _join(items))
        best = chosen[rank][0].span
        if rows and rank in stating:
            line, rows = f"{line} {rows}", ""
        if own_rows:
            line, own_rows = f"{line} {own_rows}", ""
        passages.append(Passage(number, evidence.hits[rank].chunk, spans, line, best))
    return passages


def holds_rows(evidence: Evidence) -> bool:
    """Return whether rows of a query answer, and a passage that is found states them."""
    is_stated = any(hit.scores.get(ROWS_SCORE) for hit in evidence.hits)
    return is_stated and find_leading_result(evidence, least=0.0) is not None


def _row_line(result: QueryResult | None, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Return the rows of a query on one line, as many as fit; "" without rows."""
    if result is None:
        return ""
    head = f"Rows of a query on {result.place}:" if result.place else "Rows of a query:"
    shown: list[str] = []
    left = budget_tokens - count(head) - count(_GAP)
    for row in result.rows[:MOST_PACKED_ROWS]:
        line = make_harmless(show_row(result.columns, row))
        left -= count(line) + 1
        if left < 0:
            break
        shown.append(line)
    if not shown:
        return ""
    rest = f" {_GAP}" if len(shown) < len(result.rows) or result.truncated else ""
    return f"{make_harmless(head)} {' / '.join(shown)}{rest}"


def make_harmless(text: str) -> str:
    """Return a text without what means something in a prompt: marks of citations, our tags."""
    return _TAG.sub(r"(\1)", _MARK.sub(r"(\1)", text))


def sentences_of(chunk: Chunk) -> tuple[Span, ...]:
    """Return the sentences of a chunk, or all of it where none are known."""
    return chunk.sentences or (chunk.span,)


def _candidates(evidence: Evidence) -> Iterator[_Candidate]:
    top = max((hit.score for hit in evidence.hits), default=0.0)
    for rank, hit in enumerate(evidence.hits):
        share = (max(hit.score, 0.0) / top) ** HIT_POWER if top > 0 else 1.0
        spans = sentences_of(hit.chunk)
        worths = _worths(hit, spans)
        for position, (span, worth) in enumerate(zip(spans, worths, strict=True)):
            start = hit.chunk.span.start
            text = hit.chunk.text[span.start - start : span.end - start]
            shown = make_harmless(show_sentence(text))
            if shown and not is_title(text, hit.chunk):
                yield _Candidate(rank, position, span, shown, share * worth)


def _worths(hit: Hit, spans: Sequence[Span]) -> list[float]:
    """Return the worth of each sentence of a hit, of the best one's."""
    relevance = dict(hit.sentences)
    best = max(relevance.values(), default=0.0) or 1.0
    own = [max(relevance.get(span, 0.0), 0.0) / best for span in spans]
    beside = [
        max((own[i] for i in (place - 1, place + 1) if 0 <= i < len(own)), default=0.0)
        for place in range(len(own))
    ]
    return [max(a, NEIGHBOUR_SHARE * b, LEAST_SHARE) for a, b in zip(own, beside, strict=True)]


def _label(chunk: Chunk) -> str:
    titles = dict.fromkeys(t for t in (chunk.document_title, *chunk.headings) if t)
    return make_harmless(" > ".join(" ".join(title.split()) for title in titles)).replace("|", "/")


def _line(number: int, label: str, body: str) -> str:
    return f"[{number}] {label} | {body}" if label else f"[{number}] {body}"


def _join(items: Sequence[_Candidate]) -> str:
    text = ""
    for place, item in enumerate(items):
        if place and item.position > items[place - 1].position + 1:
            text += f" {_GAP} "
        elif place:
            text += gap_between(items[place - 1].text, item.text)
        text += item.text
    return text
