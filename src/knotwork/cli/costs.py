"""What language models cost, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from knotwork.cli.terminal import Terminal, count_of
from knotwork.indexing.report import IndexReport
from knotwork.inference.chat import TokenUsage
from knotwork.records import ReadingStatus

if TYPE_CHECKING:
    from knotwork.indexing.enrichment import Enrichment
    from knotwork.indexing.estimation import IndexEstimate
    from knotwork.inference.estimates import Range

NO_PRICE = "price not known: see llm.prices"
WITHOUT_EXTRAS = (
    "This is extraction alone. Descriptions, doubtful names and reports, which come afterwards, "
    "cost 15 to 30 % as much again."
)


def describe_usage(usage: Mapping[str, TokenUsage]) -> dict[str, Any]:
    """Return tokens and calls by stage."""
    return {stage: asdict(used) for stage, used in usage.items()}


def describe_money(money: Decimal | None) -> str | None:
    """Return money as text: a float would not be the sum to the last digit."""
    return None if money is None else str(money)


def describe_estimate(estimate: IndexEstimate) -> dict[str, Any]:
    """Return the object of `index --estimate --json`."""
    described = asdict(estimate)
    described["run"] = {
        "calls": estimate.run.calls,
        "input_tokens": asdict(estimate.run.input_tokens),
        "output_tokens": asdict(estimate.run.output_tokens),
        "money": None
        if estimate.run.money is None
        else {key: str(value) for key, value in asdict(estimate.run.money).items()},
        "without_price": list(estimate.run.without_price),
    }
    return described


def describe_made(done: Enrichment | None) -> dict[str, int]:
    """Return how much a model made of the index once the documents were in."""
    names = done.names if done else None
    descriptions = done.descriptions if done else None
    reports = done.reports if done else None
    return {
        "several_names": names.groups if names else 0,
        "left_apart": names.left if names else 0,
        "descriptions": descriptions.summarised if descriptions else 0,
        "reports": reports.by_model if reports else 0,
    }


def print_estimate(terminal: Terminal, estimate: IndexEstimate) -> None:
    """Print what a run would cost, and what it cost to find out."""
    run = estimate.run
    chunks = count_of(estimate.chunks, "chunk")
    if not estimate.chunks:
        terminal.say("A model would read nothing: no tokens would be spent.", style="bold")
        terminal.say("Choose the tier with --tier full, or see llm.tier.")
        return
    terminal.say(
        f"To read   {count_of(estimate.documents, 'document')}, {chunks}, "
        f"about {estimate.text_tokens:,} tokens of text",
        style="bold",
    )
    if estimate.kept:
        terminal.say(f"Kept      {estimate.kept:,} were asked before, and cost nothing")
    spent = estimate.spent.input_tokens + estimate.spent.output_tokens
    if estimate.sampled:
        terminal.say(f"Sample    {estimate.sampled:,} were asked just now, for {spent:,} tokens")
    else:
        terminal.say("Sample    none was asked: the replies that are kept tell enough")
    terminal.say(f"Calls     {run.calls:,} to make")
    terminal.say(f"Tokens    {_between(run.input_tokens)} in")
    terminal.say(f"          {_between(run.output_tokens)} out")
    if run.money is None:
        terminal.say(f"Money     {NO_PRICE}")
    else:
        low, high = run.money.low, run.money.high
        terminal.say(f"Money     {run.money.expected:,.4f} ({low:,.4f} to {high:,.4f})")
    terminal.note(WITHOUT_EXTRAS)


def print_usage(terminal: Terminal, report: IndexReport) -> None:
    """Print what a model did and cost in a run; nothing where none was asked."""
    if not report.usage:
        return
    total = sum(report.usage.values(), TokenUsage())
    reused = f", {count_of(total.reused, 'known reply', 'known replies')}" if total.reused else ""
    calls = f"{count_of(total.calls, 'call')}{reused}"
    money = "" if report.money is None or not total.calls else f", {report.money:,.4f} of money"
    terminal.say(
        f"Model      {calls}: {total.input_tokens:,} tokens in, {total.output_tokens:,} out{money}"
    )
    for stage, used in report.usage.items():
        tokens = f"{used.input_tokens:,} in, {used.output_tokens:,} out"
        terminal.say(f"{stage:<10} {count_of(used.calls, 'call')}, {tokens}", indent=2)
    _print_enrichment(terminal, report)
    quarantined = report.readings.get(ReadingStatus.QUARANTINED, 0)
    if quarantined:
        terminal.note(
            f"No reply could be used for {count_of(quarantined, 'chunk')}: what the rules found is "
            "there. See knotwork doctor; ask again with --retry.",
            style="yellow",
        )


def _print_enrichment(terminal: Terminal, report: IndexReport) -> None:
    """Print what the model made of the index once the documents were in."""
    done = report.enrichment
    if done is None:
        return
    told = []
    if done.names and done.names.pairs:
        told.append(f"{count_of(done.names.groups, 'thing')} with several names")
        if done.names.left:
            told.append(f"{count_of(done.names.left, 'doubtful pair')} left apart to save tokens")
    if done.descriptions and done.descriptions.summarised:
        told.append(f"{count_of(done.descriptions.summarised, 'description')} written")
    if done.reports and done.reports.by_model:
        told.append(f"{count_of(done.reports.by_model, 'report')} written")
    if told:
        terminal.say(f"Made       {', '.join(told)}")
    waiting = sum(part.unanswered for part in (done.descriptions, done.reports) if part)
    if waiting:
        terminal.note(
            f"{count_of(waiting, 'text')} wait for the model, which did not answer: what "
            "the rules found stands there until the next run.",
            style="yellow",
        )


def _between(tokens: Range) -> str:
    return f"about {tokens.expected:,} ({tokens.low:,} to {tokens.high:,})"
