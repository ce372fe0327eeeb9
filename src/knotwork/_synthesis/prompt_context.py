"""Pack passages, graph facts and reports into the prompt of an answer, under a token budget.

Blocks compete for the budget by the relevance of their sentences to the question. The neighbours
of a relevant sentence get most of its worth, since they explain its pronouns; the parts of a list,
table or definition get most of that of the best part. A part comes with its lead-in, header and
term. Each passage is Markdown below a line with its number and its section path, and the passages
keep the order of the hits. Numbers in the prompt lead back to passages and sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._retrieval.entity_lookup import GraphFact
from knotwork._retrieval.query_rows import ROWS_SCORE, show_row
from knotwork._stores.base import Store
from knotwork._synthesis.extractive_answers import find_leading_result, is_title
from knotwork._text.block_index import BlockIndex
from knotwork._text.plain_text import show_sentence
from knotwork._text.statements import weigh_prose
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens, token_starts
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    RETRIEVAL_QUERY,
    Block,
    BlockKind,
    Chunk,
    CommunityReport,
    Evidence,
    Finding,
    Hit,
    QueryResult,
    Span,
    Support,
)

GAP = "…"
"""A line, or a word between sentences, in place of text that is left out."""

_WHOLE = (BlockKind.LIST, BlockKind.TABLE, BlockKind.DEFINITION)
"""Blocks whose parts belong together."""
_BLANK_LINE = re.compile(r"\n\s*\n")
_DELIMITER_ROW = re.compile(r"\s*\|[\s|:\-]+\|[ \t]*(?=\n|$)")
_FENCE = re.compile(r"```|~~~")
_MARKS = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?")
"""What is before a block on its line: an indent, and the marks of quotes and items."""
_LONGEST_HEAD = 200
"""Most characters of a text before the chunk that introduces what it begins with."""


def sentences_of(chunk: Chunk) -> tuple[Span, ...]:
    """Return the sentences of a chunk, or its whole span if they are unknown."""
    return chunk.sentences or (chunk.span,)


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """The smallest part of a chunk that is shown whole: a paragraph, an item, a row, code.

    ``sentences`` are positions. ``around`` are the blocks around it, outermost first. ``needs`` are
    the sentences that it cannot be understood without: lead-in, header, term, parent item.
    """

    sentences: range
    around: tuple[Block, ...]
    needs: frozenset[int] = frozenset()

    @property
    def kind(self) -> BlockKind:
        return self.around[-1].kind if self.around else BlockKind.PARAGRAPH


class ChunkParts:
    """The parts of a chunk in reading order; sentences that repeat a title are left out."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.sentences = [
            span
            for span in sentences_of(chunk)
            if chunk.text_at(span).strip() and not is_title(chunk.text_at(span), chunk)
        ]
        self._index = BlockIndex(b for b in chunk.blocks if b.kind is not BlockKind.SECTION)
        around = [tuple(self._index.around(span)) for span in self.sentences]
        self.parts = [
            ChunkPart(places, around[places[0]], self._needs(places[0], around))
            for places in self._divide(around)
        ]

    def groups(self) -> Iterator[set[int]]:
        """Yield the sentences of each list, table and definition, with what introduces it."""
        for block in self._index.blocks:
            if block.kind in _WHOLE:
                inside = [part for part in self.parts if block in part.around]
                yield {place for part in inside for place in (*part.sentences, *part.needs)}

    def write(self, chosen: Collection[int]) -> str:
        """Return the chosen sentences as the lines of their blocks, escaped for a prompt."""
        lines: list[str] = []
        opened: set[Block] = set()
        last = -1
        for part in self.parts:
            places = [place for place in part.sentences if place in chosen]
            if not places:
                continue
            if lines and places[0] > last + 1:
                lines.append(GAP)
            for block in part.around:
                if block not in opened:
                    opened.add(block)
                    lines += self._heads(block)
            lines.append(self._write_part(part, places))
            last = places[-1]
        return escape_passage("\n".join(lines))

    def _divide(self, around: Sequence[tuple[Block, ...]]) -> Iterator[range]:
        """Yield the runs of sentences in one innermost block; without one, in one paragraph."""
        first = 0
        for place in range(1, len(around) + 1):
            if place < len(around) and around[place] == around[first]:
                between = Span(self.sentences[place - 1].end, self.sentences[place].start)
                is_cut = _BLANK_LINE.search(self.chunk.text_at(between)) is not None
                if around[place] or not is_cut:
                    continue
            if place > first:
                yield range(first, place)
            first = place

    def _needs(self, first: int, around: Sequence[tuple[Block, ...]]) -> frozenset[int]:
        needed: set[int] = set()
        for block in around[first]:
            inside = next(place for place, blocks in enumerate(around) if block in blocks)
            if inside and self._is_lead(inside - 1, block):
                needed.add(inside - 1)
            if inside < first and around[inside][-1] == block:  # header, term or parent item
                needed.add(inside)
        return frozenset(needed)

    def _is_lead(self, place: int, block: Block) -> bool:
        text = " ".join(self.chunk.text_at(self.sentences[place]).split())
        return bool(block.lead) and (text in block.lead or block.lead in text)

    def _heads(self, block: Block) -> Iterator[str]:
        """Yield the lines that introduce a block and are before the chunk."""
        start = block.span.start - self.chunk.span.start
        titles = (*self.chunk.headings, self.chunk.document_title)
        before = " ".join((*titles, self.chunk.text[: max(start, 0)])).split()
        if " ".join(block.lead.split()) not in " ".join(before):
            yield _shorten(block.lead)
        if start >= 0 or not block.label:
            return
        if block.kind is BlockKind.TABLE:
            yield f"| {_shorten(block.label)} |"
            yield "|" + " --- |" * (block.label.count(" | ") + 1)
        elif block.kind is not BlockKind.CODE:
            yield _shorten(block.label)

    def _write_part(self, part: ChunkPart, places: Sequence[int]) -> str:
        if part.kind is BlockKind.CODE:
            return self._write_code(part, places)
        if len(places) == len(part.sentences):
            text = self._lines(part.sentences[0], part.sentences[-1])
            if part.kind is BlockKind.TABLE:
                end = self.sentences[places[-1]].end - self.chunk.span.start
                rule = _DELIMITER_ROW.match(self.chunk.text, end)
                text += rule[0].rstrip() if rule else ""
            return text
        text = ""
        for run in _runs(places):
            shown = self._lines(run[0], run[-1])
            if run[0] > part.sentences[0]:
                text += f"{GAP} " if not text else f" {GAP} "
            text += shown if not text else shown.lstrip()
        return text

    def _write_code(self, part: ChunkPart, places: Sequence[int]) -> str:
        block = part.around[-1]
        if len(places) == len(part.sentences):
            start = max(block.span.start - self.chunk.span.start, 0)
            line = self.chunk.text.rfind("\n", 0, start) + 1
            start = line if _MARKS.fullmatch(self.chunk.text[line:start]) else start
            text = self.chunk.text[start : block.span.end - self.chunk.span.start]
        else:
            text = f"\n{GAP}\n".join(self._lines(run[0], run[-1]) for run in _runs(places))
        lines = text.strip("\n").split("\n")
        if not _FENCE.search(lines[0]):
            lines.insert(0, "```")
        if len(lines) == 1 or not _FENCE.search(lines[-1]):
            lines.append("```")
        return "\n".join(lines)

    def _lines(self, first: int, last: int) -> str:
        """Return sentences with the marks and indents of the lines that they begin and end."""
        text, offset = self.chunk.text, self.chunk.span.start
        start, end = self.sentences[first].start - offset, self.sentences[last].end - offset
        before = self.sentences[first - 1].end - offset if first else 0
        after = self.sentences[last + 1].start - offset if last + 1 < len(self.sentences) else None
        line = text.rfind("\n", 0, start) + 1
        start = line if line >= before else start
        line = text.find("\n", end)
        line = line if line >= 0 else len(text)
        end = line if after is None or line <= after else end
        return text[start:end].rstrip()


def _runs(places: Sequence[int]) -> list[list[int]]:
    by_gap = groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0])
    return [[place for _, place in run] for _, run in by_gap]


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_HEAD else f"{plain[:_LONGEST_HEAD]}{GAP}"


NEIGHBOUR_SHARE = 0.7
"""The worth of a sentence next to another, as a share of the other's worth."""
GROUP_SHARE = 0.8
"""The worth of a part of a list, table or definition, as a share of that of its best part."""
LEAST_SHARE = 0.5
"""The least worth of any sentence, as a share of that of the best one of its hit."""

ROWS_SHARE = 0.4
"""The largest share of the budget for the rows of a query."""
MOST_PACKED_ROWS = 50


@dataclass(frozen=True, slots=True)
class PromptPassage:
    """The part of a hit that a model reads.

    ``text`` is what the prompt has of it, ``spans`` are its sentences in reading order, ``best`` is
    the most relevant one. ``rows`` are the rows of queries that it ends with, "" without any.
    """

    number: int
    chunk: Chunk
    spans: tuple[Span, ...]
    text: str
    best: Span
    rows: str = ""


class _Candidate(NamedTuple):
    """A part of a hit, with the worths of its sentences by position."""

    rank: int
    part: ChunkPart
    worths: Mapping[int, float]


def pack_evidence(evidence: Evidence, *, budget_tokens: int) -> list[PromptPassage]:
    """Pack the best blocks into passages, numbered from 1, of at most ``budget_tokens``.

    A sentence that several documents repeat is included once.
    """
    found: dict[str, Hit] = {}
    for hit in (*evidence.hits, *evidence.further):
        found.setdefault(hit.chunk.id, hit)
    hits = list(found.values())
    stating = [rank for rank, hit in enumerate(hits) if hit.scores.get(ROWS_SCORE)]
    leading = find_leading_result(evidence, least=0.0) if stating else None
    for_rows = int(ROWS_SHARE * budget_tokens)
    rows = _row_line(leading, for_rows)
    own = next((r for r in evidence.results if r.source == RETRIEVAL_QUERY), None)
    own_rows = _row_line(own, for_rows - count_tokens(rows))
    packing = _Packing(hits, budget_tokens - count_tokens(rows) - count_tokens(own_rows))
    best_first = sorted(
        packing.candidates(), key=lambda c: (-max(c.worths.values()), c.rank, c.part.sentences[0])
    )
    for candidate in best_first:
        packing.add(candidate)
    passages = []
    for rank, passage in packing.passages():
        here = rank in stating
        stated = [line for line in (rows if here else "", own_rows) if line]
        rows, own_rows = "" if here else rows, ""
        text = "\n".join((passage.text, *stated))
        passages.append(replace(passage, text=text, rows=" ".join(stated)))
    return passages


class _Packing:
    """Fills a budget with parts of hits; ``left`` are the tokens that are not used yet."""

    def __init__(self, hits: Sequence[Hit], left: int) -> None:
        self.left = left
        self._hits = hits
        self._chunks = [ChunkParts(hit.chunk) for hit in hits]
        self._chosen: dict[int, set[int]] = {}
        self._costs: dict[int, int] = {}
        self._best: dict[int, int] = {}
        self._seen: set[tuple[str, ...]] = set()

    def candidates(self) -> Iterator[_Candidate]:
        """Yield the parts of all hits but headers, which come with the rows below them."""
        top = max((hit.score for hit in self._hits), default=0.0)
        for rank, (hit, chunk) in enumerate(zip(self._hits, self._chunks, strict=True)):
            share = max(hit.score, 0.0) / top if top > 0 else 1.0
            worths = _sentence_worths(hit, chunk)
            needed = {place for part in chunk.parts for place in part.needs}
            for part in chunk.parts:
                if part.kind is not BlockKind.TABLE or part.sentences[0] not in needed:
                    own = {place: share * worths[place] for place in part.sentences}
                    yield _Candidate(rank, part, own)

    def add(self, candidate: _Candidate) -> None:
        """Add a part with what it needs; if it does not fit, those of its sentences that do."""
        keys = {place: self._key(candidate, place) for place in candidate.worths}
        new = {place for place, key in keys.items() if key not in self._seen}
        if not new or self._add(candidate, new) or len(new) == 1:
            return
        for place in sorted(new, key=lambda place: (-candidate.worths[place], place)):
            self._add(candidate, {place})

    def passages(self) -> Iterator[tuple[int, PromptPassage]]:
        """Yield the passages in the order of the hits, each with the rank of its hit."""
        for number, rank in enumerate(sorted(self._chosen), start=1):
            chunk = self._chunks[rank]
            spans = tuple(chunk.sentences[place] for place in sorted(self._chosen[rank]))
            text = self._write(rank, self._chosen[rank], number)
            best = chunk.sentences[self._best[rank]]
            yield rank, PromptPassage(number, chunk.chunk, spans, text, best)

    def _add(self, candidate: _Candidate, places: set[int]) -> bool:
        rank = candidate.rank
        if count_tokens(self._said(rank, places)) > self.left:
            return False
        wanted = self._chosen.get(rank, set()) | places | candidate.part.needs
        cost = count_tokens(self._write(rank, wanted, len(self._hits)))
        added = cost - self._costs.get(rank, 0)
        if added > self.left:
            return False
        self.left -= added
        self._chosen[rank], self._costs[rank] = wanted, cost
        self._seen |= {self._key(candidate, place) for place in places}
        self._best.setdefault(rank, max(places, key=lambda place: candidate.worths[place]))
        return True

    def _key(self, candidate: _Candidate, place: int) -> tuple[str, ...]:
        """Return what makes a sentence a repetition: its words, and in a block also its names."""
        said = " ".join(self._said(candidate.rank, {place}).split()).casefold()
        return said, *(name for block in candidate.part.around for name in block.names)

    def _said(self, rank: int, places: Iterable[int]) -> str:
        chunk = self._chunks[rank]
        return "\n".join(chunk.chunk.text_at(chunk.sentences[place]) for place in places)

    def _write(self, rank: int, places: Collection[int], number: int) -> str:
        chunk = self._chunks[rank]
        return f"[{number}] {_section_path(chunk.chunk)}".rstrip() + "\n" + chunk.write(places)


def holds_rows(evidence: Evidence) -> bool:
    """Return True if rows of a query answer, and a passage of the evidence states them."""
    is_stated = any(hit.scores.get(ROWS_SCORE) for hit in evidence.hits)
    return is_stated and find_leading_result(evidence, least=0.0) is not None


def _row_line(result: QueryResult | None, budget_tokens: int) -> str:
    if result is None:
        return ""
    head = f"Rows of a query on {result.place}:" if result.place else "Rows of a query:"
    shown: list[str] = []
    left = budget_tokens - count_tokens(head) - count_tokens(GAP)
    for row in result.rows[:MOST_PACKED_ROWS]:
        line = escape_passage(show_row(result.columns, row))
        left -= count_tokens(line) + 1
        if left < 0:
            break
        shown.append(line)
    if not shown:
        return ""
    rest = f" {GAP}" if len(shown) < len(result.rows) or result.truncated else ""
    return f"{escape_passage(head)} {' / '.join(shown)}{rest}"


def _sentence_worths(hit: Hit, chunk: ChunkParts) -> list[float]:
    """Return the worth of each sentence of a hit, from its relevance and those around it."""
    relevance = dict(hit.sentences)
    own = [max(relevance.get(span, 0.0), 0.0) for span in chunk.sentences]
    best = max(own, default=0.0) or 1.0
    beside = [max(own[max(place - 1, 0) : place + 2]) for place in range(len(own))]
    worths = [
        max(a, NEIGHBOUR_SHARE * b, LEAST_SHARE * best) for a, b in zip(own, beside, strict=True)
    ]
    for group in chunk.groups():
        most = max((own[place] for place in group), default=0.0)
        for place in group:
            worths[place] = max(worths[place], GROUP_SHARE * most)
    return worths


def _section_path(chunk: Chunk) -> str:
    titles = dict.fromkeys(t for t in (chunk.document_title, *chunk.headings) if t)
    return escape_passage(" > ".join(" ".join(title.split()) for title in titles))


_SUMMARY_TOKENS = 60
_TITLE_TOKENS = 40
_SECTION_TOKENS = 12
"""The tokens of the tags around a section."""


class ContextShares(NamedTuple):
    """How a budget is divided among passages, facts and reports, in this order.

    Tokens that one of them does not use are available to the next.
    """

    passages: float
    facts: float
    reports: float


LOCAL_SHARES = ContextShares(passages=0.58, facts=0.22, reports=0.2)
HYBRID_SHARES = ContextShares(passages=0.46, facts=0.16, reports=0.38)
GLOBAL_SHARES = ContextShares(passages=0.0, facts=0.0, reports=1.0)


class PromptContext(NamedTuple):
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
) -> PromptContext:
    """Pack passages, facts and findings of reports into at most ``budget_tokens``.

    ``facts`` and ``reports`` are in order of relevance. Those without support in the documents of
    the store are left out.
    """
    shared = (shares.passages, shares.facts, shares.reports)
    left = budget_tokens - _SECTION_TOKENS * sum(share > 0 for share in shared)
    passages = pack_evidence(evidence, budget_tokens=int(shares.passages * left))
    left -= sum(count_tokens(passage.text) for passage in passages)
    numbering = PassageNumbering(store, passages)
    rest = shares.facts + shares.reports
    for_facts = int(left * shares.facts / rest) if reports else left
    for_facts = min(for_facts, int(2 * shares.facts * budget_tokens))
    lines = pack_facts(facts, numbering, budget_tokens=for_facts)
    left -= sum(count_tokens(line) for line in lines)
    for_reports = min(left, int(2 * shares.reports * budget_tokens))
    found = pack_reports(reports, numbering, evidence.query.text, budget_tokens=for_reports)
    sections = (("context", [p.text for p in passages]), ("facts", lines), ("reports", found))
    return PromptContext(make_sections(sections), tuple(numbering.passages()))


def make_sections(sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return sections enclosed in their tags; empty sections are left out."""
    return "\n".join(
        "\n".join([f"<{tag}>", *lines, f"</{tag}>"]) for tag, lines in sections if lines
    )


def pack_facts(
    facts: Sequence[GraphFact], numbering: PassageNumbering, *, budget_tokens: int
) -> list[str]:
    """Return the lines of facts, in order, as many as fit, without repetitions."""
    numbering.read(support for fact in facts for support in fact.supports)
    return _pack_lines(facts, numbering, budget_tokens)


def _pack_lines(
    stated: Iterable[GraphFact | Finding], numbering: PassageNumbering, left: int
) -> list[str]:
    lines: list[str] = []
    seen: set[str] = set()
    for item in stated:
        key = item.text.casefold()
        # What does not fit must not get a number, so its length is checked first.
        if key in seen or count_tokens(make_line("[000][000]", item.text)) > left:
            continue
        if mark := numbering.mark(item.supports):
            lines.append(make_line(mark, item.text))
            seen.add(key)
            left -= count_tokens(lines[-1])
    return lines


def pack_reports(
    reports: Sequence[CommunityReport],
    numbering: PassageNumbering,
    question: str,
    *,
    budget_tokens: int,
) -> list[str]:
    """Return reports as lines: a title, then findings, each with the numbers that support it.

    Each gets an equal share of the rest of the budget. A report is left out if none of its findings
    fits, or none is supported by the documents of the store.
    """
    numbering.read(s for report in reports for f in report.findings for s in f.supports)
    packed: list[str] = []
    left = budget_tokens
    for place, report in enumerate(reports):
        title = f"# {clip(escape_passage(show_sentence(report.title)), _TITLE_TOKENS)}"
        if report.source != EXTRACTIVE_SOURCE:  # an extractive summary repeats the findings
            summary = escape_passage(show_sentence(report.summary))
            title += f": {clip(summary, _SUMMARY_TOKENS)}"
        room = left // (len(reports) - place) - count_tokens(title)
        if lines := _pack_lines(rank_findings(report, question), numbering, room):
            packed += [title, *lines]
            left -= sum(map(count_tokens, (title, *lines)))
    return packed


def rank_findings(report: CommunityReport, question: str) -> list[Finding]:
    """Return the findings by the terms that they share with the question, prose before lists."""
    asked = set(reading_of(question).terms)

    def worth(finding: Finding) -> float:
        shared = len(asked & set(content_terms(finding.text))) / max(len(asked), 1)
        return shared + 0.5 * weigh_prose(show_sentence(finding.text))

    # The sort is stable: among equals the own order of the report, most important first, decides.
    return sorted((f for f in report.findings if f.text.strip()), key=lambda f: -round(worth(f), 2))


def describe_report(report: CommunityReport, *, tokens: int) -> str:
    """Return a report in a line of at most ``tokens``: its title and the beginning of its text."""
    is_extractive = report.source == EXTRACTIVE_SOURCE
    said = (report.findings[0].text if is_extractive and report.findings else "") or report.summary
    title = clip(escape_passage(show_sentence(report.title)), _TITLE_TOKENS)
    return clip(f"{title}: {escape_passage(show_sentence(said))}", tokens)


def clip(text: str, tokens: int) -> str:
    """Return the beginning of a text with at most ``tokens`` tokens, cut between words."""
    if count_tokens(text) <= tokens:
        return text
    cut = text[: token_starts(text)[tokens - 1]]
    space = cut.rfind(" ")
    return (cut[:space] if space > 0.7 * len(cut) else cut).rstrip() + "…"


MOST_MARKS = 2
"""The maximum number of passages that one line cites: models copy few numbers more reliably."""


class PassageNumbering:
    """Numbers the chunks that support the lines of a prompt; a chunk always has the same number.

    Passages that are already ``shown`` keep their numbers. A number leads to the sentences that
    were cited with it, so that citations of facts are as exact as those of passages.
    """

    def __init__(self, store: Store, shown: Sequence[PromptPassage] = ()) -> None:
        self._store = store
        self._numbered = {passage.chunk.id: passage for passage in shown}
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
            number = self._add(support.chunk_id, spans)
            if number not in numbers:
                numbers.append(number)
        return "".join(f"[{number}]" for number in numbers)

    def adopt(self, passage: PromptPassage) -> int:
        """Return the number for a passage that was numbered in another prompt."""
        self._chunks.setdefault(passage.chunk.id, passage.chunk)
        return self._add(passage.chunk.id, passage.spans)

    def _add(self, chunk_id: str, spans: Sequence[Span]) -> int:
        passage = self._numbered.get(chunk_id)
        if passage is None:
            number, chunk = len(self._numbered) + 1, self._chunks[chunk_id]
            passage = PromptPassage(number, chunk, (), "", spans[0])
        cited = tuple(dict.fromkeys((*passage.spans, *spans)))
        self._numbered[chunk_id] = replace(passage, spans=cited)
        return passage.number

    def passages(self, used: Collection[int] | None = None) -> list[PromptPassage]:
        """Return the passages by number, ascending; with ``used``, only those with these."""
        found = []
        for passage in sorted(self._numbered.values(), key=lambda passage: passage.number):
            if used is None or passage.number in used:
                spans = tuple(sorted(passage.spans))
                text = passage.text or " ".join(map(passage.chunk.text_at, spans))
                found.append(replace(passage, spans=spans, text=text, rows=""))
        return found


def make_line(mark: str, text: str) -> str:
    """Return a line of a prompt: the marks of its passages, then its escaped text."""
    return f"{mark} {escape_passage(show_sentence(text))}"


_NOTHING = re.compile(r"\W*(?:none|nothing|no points?|无|没有|沒有)\W*", re.IGNORECASE)


def says_nothing(line: str) -> bool:
    """Return True for a text by which a model says that it has nothing to name."""
    return _NOTHING.fullmatch(line) is not None
