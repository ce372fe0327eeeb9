"""Contexts for a model: facts of the graph and reports beside passages, under one token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from knotwork.records import EXTRACTIVE_SOURCE, CommunityReport, Evidence, Finding
from knotwork.retrieval.entities import Fact
from knotwork.stores.base import Store
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.numbering import Numbering, make_line
from knotwork.synthesis.packing import Passage, make_harmless, pack_evidence
from knotwork.synthesis.prose import weigh_prose
from knotwork.text.terms import content_terms
from knotwork.text.tokens import count_tokens

_SUMMARY_TOKENS = 60
_TITLE_TOKENS = 40
_SECTION_TOKENS = 12
"""The tags around a section."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Shares:
    """How a budget is divided among passages, facts and reports; what is left over goes on.

    The passages come first: no fact or report takes from their share.
    """

    passages: float
    facts: float
    reports: float


LOCAL = Shares(passages=0.58, facts=0.22, reports=0.2)
HYBRID = Shares(passages=0.46, facts=0.16, reports=0.38)


@dataclass(frozen=True, slots=True)
class Context:
    """The sections of a prompt, and what their numbers lead to."""

    material: str
    passages: tuple[Passage, ...]


def pack_context(
    evidence: Evidence,
    *,
    facts: Sequence[Fact] = (),
    reports: Sequence[CommunityReport] = (),
    store: Store,
    budget_tokens: int,
    shares: Shares = LOCAL,
    count: Count = count_tokens,
) -> Context:
    """Pack passages, facts and findings of reports into at most ``budget_tokens``.

    Facts and reports come by their use. What none of the documents in the store supports is left
    out.
    """
    left = budget_tokens - 3 * _SECTION_TOKENS
    passages = pack_evidence(evidence, budget_tokens=int(shares.passages * left), count=count)
    left -= sum(count(passage.text) for passage in passages)
    numbering = Numbering(store, passages)
    rest = shares.facts + shares.reports
    for_facts = int(left * shares.facts / rest) if reports else left
    for_facts = min(for_facts, int(2 * shares.facts * budget_tokens))
    lines = pack_facts(facts, numbering, budget_tokens=for_facts, count=count)
    left -= sum(count(line) for line in lines)
    for_reports = min(left, int(2 * shares.reports * budget_tokens))
    told = pack_reports(
        reports, numbering, evidence.query.text, budget_tokens=for_reports, count=count
    )
    sections = [("context", [p.text for p in passages]), ("facts", lines), ("reports", told)]
    return Context(make_sections(sections), tuple(numbering.passages()))


def make_sections(sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return sections between their tags; those without a line are left out."""
    return "\n".join(
        "\n".join([f"<{tag}>", *lines, f"</{tag}>"]) for tag, lines in sections if lines
    )


def pack_facts(
    facts: Iterable[Fact], numbering: Numbering, *, budget_tokens: int, count: Count = count_tokens
) -> list[str]:
    """Return the lines of facts, in order, as many as fit; none says what one before said."""
    facts = list(facts)
    numbering.read(support for fact in facts for support in fact.supports)
    lines: list[str] = []
    seen: set[str] = set()
    left = budget_tokens
    for fact in facts:
        key = fact.text.casefold()
        # A fact that does not fit must get no number, so its length is known before.
        if key in seen or count(make_line("[000][000]", fact.text)) > left:
            continue
        if mark := numbering.mark(fact.supports):
            lines.append(make_line(mark, fact.text))
            seen.add(key)
            left -= count(lines[-1])
    return lines


def pack_reports(
    reports: Sequence[CommunityReport],
    numbering: Numbering,
    question: str,
    *,
    budget_tokens: int,
    count: Count = count_tokens,
) -> list[str]:
    """Return reports as lines: a title, then findings, each with the numbers that support it.

    Each gets an equal part of the budget, and what those before it left. A report is left out when
    none of its findings fits, or none is supported by what is in the store.
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
    report: CommunityReport, numbering: Numbering, question: str, budget: int, count: Count
) -> list[str]:
    title = f"# {clip(make_harmless(show_sentence(report.title)), _TITLE_TOKENS, count)}"
    if report.source != EXTRACTIVE_SOURCE:  # an extractive summary repeats the findings
        summary = make_harmless(show_sentence(report.summary))
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
    """Return the findings, those that share most with the question first, prose before lists."""
    asked = set(content_terms(question))

    def worth(finding: Finding) -> float:
        shared = len(asked & set(content_terms(finding.text))) / max(len(asked), 1)
        return shared + 0.5 * weigh_prose(show_sentence(finding.text))

    # Their own order, the most important first, decides between equals; it is kept by sorted.
    return sorted((f for f in report.findings if f.text.strip()), key=lambda f: -round(worth(f), 2))


def describe_report(report: CommunityReport, *, tokens: int, count: Count = count_tokens) -> str:
    """Return a report in a line: its title and the beginning of what it says."""
    told = report.findings[0].text if report.source == EXTRACTIVE_SOURCE and report.findings else ""
    told = told or report.summary
    title = clip(make_harmless(show_sentence(report.title)), _TITLE_TOKENS, count)
    return clip(f"{title}: {make_harmless(show_sentence(told))}", tokens, count)


def clip(text: str, tokens: int, count: Count = count_tokens) -> str:
    """Return the beginning of a text that has at most so many tokens, cut between words."""
    if count(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) < tokens else (low, middle - 1)
    cut = text[:low]
    space = cut.rfind(" ")
    return (cut[:space] if space > 0.7 * len(cut) else cut).rstrip() + "…"
