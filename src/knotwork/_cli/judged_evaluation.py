"""Judge answers with a model and try conditions, for `knotwork eval FILE --judge --robustness`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from knotwork._cli.index_summary import print_run_estimate
from knotwork._cli.progress import choose_counter
from knotwork._cli.session import Session
from knotwork._cli.terminal import Terminal, count_of
from knotwork._inference.call_costs import RunEstimate
from knotwork._knowledge_base import KnowledgeBase
from knotwork._shapes.indexing import describe_estimate
from knotwork.evaluation._answer_runs import JudgedAnswer, SharedBudget
from knotwork.evaluation._judge import JudgeReport
from knotwork.evaluation._judge_labels import case_as_record
from knotwork.evaluation._judge_reports import describe_judged_run
from knotwork.evaluation._judge_runs import (
    JudgedRun,
    JudgeRun,
    JudgingOptions,
    RobustnessReport,
    case_of,
)
from knotwork.evaluation._judge_statistics import PoweredMean
from knotwork.evaluation._metrics import MeanEstimate

ESTIMATE_NOTE = (
    "Asking the questions is not part of it. The output is at most this; statements are counted "
    "as the sentences of the answers until they are known."
)


@dataclass(frozen=True, slots=True)
class AfterAsking:
    """What to do with the answers: judge them, only estimate its cost, save them to label."""

    judging: JudgingOptions | None = None
    only_estimate: bool = False
    to_label: Path | None = None


def judge_run(
    session: Session,
    knowledge_base: KnowledgeBase,
    answers: Sequence[JudgedAnswer],
    after: AfterAsking,
    *,
    name: str,
) -> JudgedRun | RunEstimate | None:
    """Show the estimated cost, then judge, unless only the estimate is wanted.

    The budget of the options is what remains of it after the answers. Raises BudgetExceeded when it
    is reached, and as `JudgeRun`.
    """
    options = after.judging
    if options is None:
        return None
    budget = SharedBudget(options.budget)
    for item in answers:
        budget.spend(item.tokens, item.answer.usage.money)
    remaining = replace(options, budget=budget.remaining())
    with (
        JudgeRun(knowledge_base, answers, remaining) as run,
        choose_counter(session.terminal, hidden=session.common.no_progress) as counter,
    ):
        estimate = run.estimate(counter.count)
        if after.only_estimate:
            return estimate
        if estimate.calls:
            session.terminal.note(f"Judging ({name}): {summarize_estimate(estimate)}.")
        return run.run(counter.count)


def summarize_estimate(estimate: RunEstimate) -> str:
    """Return an estimate in one line."""
    parts = [
        count_of(estimate.calls, "call"),
        f"about {estimate.input_tokens.expected:,} tokens in",
        f"at most {estimate.output_tokens.high:,} out",
    ]
    if estimate.money is not None:
        parts.append(f"cost at most {estimate.money.high:,.4f}")
    return ", ".join(parts)


def save_for_labelling(path: Path, answers: Sequence[JudgedAnswer]) -> None:
    """Save answers as a file to label; raises OSError if it cannot be written."""
    lines = [json.dumps(case_as_record(case_of(item)), ensure_ascii=False) for item in answers]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def describe_judging(found: JudgedRun | RunEstimate | None) -> dict[str, Any]:
    """Return what was judged, or what that would cost, as JSON."""
    if isinstance(found, JudgedRun):
        return describe_judged_run(found)
    return {} if found is None else {"estimate": describe_estimate(found)}


def print_judging(terminal: Terminal, name: str, found: JudgedRun | RunEstimate | None) -> None:
    """Print what was judged, or what that would cost."""
    if isinstance(found, JudgedRun):
        print_judged_run(terminal, name, found)
    elif found is not None:
        print_judging_estimate(terminal, name, found)


def print_judging_estimate(terminal: Terminal, name: str, estimate: RunEstimate) -> None:
    """Print what judging would cost."""
    terminal.say(f"Judging ({name})", style="bold")
    print_run_estimate(terminal, estimate)
    terminal.note(ESTIMATE_NOTE)


def print_judged_run(terminal: Terminal, name: str, run: JudgedRun) -> None:
    """Print all totals of a run."""
    if run.judged is not None:
        _print_metrics(terminal, name, run.judged)
    if run.robustness is not None:
        _print_robustness(terminal, name, run.robustness)
    usage = run.usage
    if usage.calls or usage.reused:
        cost = "" if run.money is None else f", cost {run.money:,.4f}"
        cached = f", {usage.reused:,} cached" if usage.reused else ""
        tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
        terminal.say(f"\n{count_of(usage.calls, 'call')}{cached}, {tokens}{cost}", style="dim")


def _print_metrics(terminal: Terminal, name: str, report: JudgeReport) -> None:
    terminal.say(f"\nJudged by {report.judge} ({name})", style="bold")
    terminal.table(
        [
            (
                _label(metric),
                *_show(found.estimate),
                f"{found.scored:,}",
                f"{found.unreadable:,}",
                f"{found.inapplicable:,}",
            )
            for metric, found in report.metrics.items()
        ],
        header=("", "%", "95 % interval", "cases", "unreadable", "not applicable"),
    )
    if report.unreadable_replies:
        replies = sum(report.unreadable_replies.values())
        stages = ", ".join(f"{n:,} {stage}" for stage, n in report.unreadable_replies.items())
        terminal.note(
            f"{count_of(replies, 'reply', 'replies')} of the judge could not be read ({stages}); "
            "these cases have no value. Ask again with --retry.",
            style="yellow",
        )
    if not report.agreement:
        return
    terminal.say(f"\nThe judge against {count_of(len(report.labelled), 'labelled answer')}",
                 style="bold")  # fmt: skip
    terminal.table(
        [
            (
                _label(metric),
                f"{found.compared:,}",
                f"{found.unreadable:,}",
                "" if found.accuracy is None else f"{100 * found.accuracy:.1f}",
                "" if found.kappa is None else f"{found.kappa:.2f}",
                *_show(found.corrected),
            )
            for metric, found in report.agreement.items()
        ],
        header=("", "labels", "unreadable", "accuracy, %", "kappa", "corrected, %",
                "95 % interval"),
    )  # fmt: skip


def _print_robustness(terminal: Terminal, name: str, report: RobustnessReport) -> None:
    questions = count_of(report.questions, "question")
    terminal.say(f"\nRobustness ({name}): {questions} with gold passages", style="bold")
    if report.skipped:
        terminal.note(
            f"{count_of(report.skipped, 'question')} skipped: no gold passage is in the index. "
            "Name `documents`, and quotes as `evidence`.",
            style="yellow",
        )
    terminal.table(
        [
            (
                f"{figure.label}{' *' if figure.needs_judge else ''}",
                *_show(figure.estimate),
                f"{figure.trials:,}",
                f"{figure.unreadable:,}" if figure.needs_judge else "",
            )
            for figure in report.figures
            if figure.trials or figure.unreadable
        ],
        header=("", "%", "95 % interval", "trials", "unreadable"),
    )
    if any(figure.needs_judge for figure in report.figures):
        terminal.say("* by the judge model; all others compare strings", style="dim")


def _label(metric: str) -> str:
    return metric.replace("_", " ").capitalize()


def _show(estimate: MeanEstimate | PoweredMean | None) -> tuple[str, str]:
    if estimate is None:
        return "", ""
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.mean:.1f}", f"{low:.1f} to {high:.1f}"
