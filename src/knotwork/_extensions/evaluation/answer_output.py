"""Evaluate the answers to a file of questions under one or more settings (`knotwork eval FILE`).

A model may judge them (`--judge`), and conditions may be tried (`--robustness`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork._cli.answers import note_empty_index
from knotwork._cli.index_views import RUN_COST
from knotwork._cli.session import Session
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import NOTES, Line, Table, count_of, join_lines, note, shorten_excerpt
from knotwork._extensions.evaluation.answer_runs import (
    FIGURES,
    MEANS,
    PERCENT,
    AnswerRun,
    JudgedAnswer,
    SharedBudget,
    ask_questions,
    compare_answers,
    describe_answer_runs,
    measure_answers,
    missing_documents,
)
from knotwork._extensions.evaluation.judge import case_as_record
from knotwork._extensions.evaluation.judge_runs import (
    JudgedRun,
    JudgeRun,
    JudgingOptions,
    case_of,
    describe_judged_run,
    require_judge,
)
from knotwork._extensions.evaluation.questions import AnswerQuestion, read_answer_questions
from knotwork._extensions.evaluation.retriever_runs import read_retrievers
from knotwork._extensions.model_indexing.run_estimates import RunEstimate
from knotwork._shapes.base import fields_of
from knotwork._shapes.indexing import describe_estimate
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._config import Settings
    from knotwork._knowledge_base import KnowledgeBase


CURRENT_SETTINGS = "as set"
"""Name of the settings in force."""

_UNRELATED_SECTIONS = ("index", "extraction", "service")
"""Sections of settings that do not affect answers."""

_SHOWN_NAMES = 3

ESTIMATE_NOTE = (
    "Asking the questions is not part of it. The output is at most this; statements are counted "
    "as the sentences of the answers until they are known."
)


def evaluate_file(  # noqa: PLR0913  one for each option
    session: Session,
    path: Path,
    *,
    compared: Sequence[str],
    shown: str,
    limit: int | None,
    budget: str,
    filters: Sequence[str] = (),
    judging: JudgingOptions | None = None,
    only_estimate: bool = False,
    to_label: Path | None = None,
) -> None:
    """Ask the questions of a file under the settings in force and under each of ``compared``, and
    print the figures.

    The answers are judged with the options ``judging``, or with ``only_estimate`` the cost of that
    is told; ``to_label`` is a file that gets the first ones. ``budget`` limits the cost of all
    questions under one choice of settings; ``filters`` apply to every search. ``shown`` is "wrong",
    "changed", "all" or "". Before the first question, raises ConfigError for an invalid file or
    setting, UnknownName for an unknown retriever, and StoreNotFound for a missing index;
    afterwards, the errors of `KnowledgeBase.ask`.
    """
    sides = [
        (CURRENT_SETTINGS, session.settings),
        *((text, _settings(session, text)) for text in compared),
    ]
    if len(dict(sides)) < len(sides):
        raise ConfigError(
            "Two of the compared settings are the same.", fix="Give each --compare once."
        )
    if shown == "changed" and not compared:
        raise ConfigError("`--show changed` requires --compare.", fix="Add --compare KEY=VALUE.")
    questions = read_answer_questions(path)[:limit]
    opened = _open_all(session, sides, judging)
    for _, base in opened:
        base.filtered_store(filters)  # raises for an invalid filter before the first question
    runs: list[AnswerRun] = []
    judged: list[JudgedRun | RunEstimate | None] = []
    for name, base in opened:
        with closing(base):
            run = _ask_all(session, questions, name, base, budget, filters)
            if to_label is not None and not runs:
                cases = [case_as_record(case_of(item)) for item in run.answers]
                lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in cases]
                to_label.write_text("".join(lines), encoding="utf-8")
            runs.append(run)
            judged.append(
                _judge(session, base, run.answers, judging, name, only_estimate=only_estimate)
            )
    if session.common.json:
        payload = describe_answer_runs(questions, runs, file=str(path))
        for run, found in zip(runs, judged, strict=True):
            payload["settings"][run.name].update(_describe_judging(found))
        session.terminal.emit(payload)
        return
    print_runs(session.terminal, path, questions, runs, shown=shown)
    for run, found in zip(runs, judged, strict=True):
        _print_judging(session.terminal, run.name, found)


def _open_all(
    session: Session, sides: Sequence[tuple[str, Settings]], judging: JudgingOptions | None
) -> list[tuple[str, KnowledgeBase]]:
    """Open the index of each side; raises for what would fail after the first question."""
    opened = []
    for name, settings in sides:
        read_retrievers(settings.retrieval.retriever)
        if judging is not None and judging.with_judge:
            require_judge(settings)
        opened.append((name, session.open_to_ask(settings)))
    return opened


def _settings(session: Session, text: str) -> Settings:
    """Return the settings of a `--compare` value: assignments separated by semicolons."""
    assignments = [part.strip() for part in text.split(";") if part.strip()]
    for assignment in assignments:
        section = assignment.partition(".")[0]
        if section in _UNRELATED_SECTIONS:
            raise ConfigError(
                f"`--compare {assignment}` has no effect: settings of [{section}] do not change "
                "the answers from an index.",
                fix="Index the documents into another file, and compare with store.path=FILE.",
            )
    if not assignments:
        raise ConfigError("`--compare` is empty.", fix="Write it as --compare KEY=VALUE.")
    return session.settings_with(assignments)


def _ask_all(
    session: Session,
    questions: Sequence[AnswerQuestion],
    name: str,
    opened: KnowledgeBase,
    budget: str,
    filters: Sequence[str],
) -> AnswerRun:
    store = opened.settings.store.shown_path
    answers = []
    with session.progress() as counter:
        note_empty_index(session.terminal, opened)
        missing = missing_documents(opened, questions)
        unknown = [
            f"Line {question.line}: no document `{join_lines(uri)}` in {store}."
            for uri, question in missing.items()
        ]
        if len(unknown) > _SHOWN_NAMES:  # their names may be misspelt
            unknown[_SHOWN_NAMES:] = [f"… and {len(unknown) - _SHOWN_NAMES:,} more documents."]
        session.terminal.show({"notes": unknown}, NOTES)
        for item in ask_questions(opened, questions, filters=filters, budget=budget):
            answers.append(item)
            counter.count(f"Asking ({name})", len(answers), len(questions))
    notes = [note for item in answers for note in item.answer.notes]
    if notes:
        noted = count_of(sum(bool(item.answer.notes) for item in answers), "answer")
        session.terminal.note(f"{noted} with a note ({name}), as: {notes[0]}", style="yellow")
    return AnswerRun(name, store, tuple(answers), measure_answers(answers), tuple(missing))


def print_runs(
    terminal: Terminal,
    path: Path,
    questions: Sequence[AnswerQuestion],
    runs: Sequence[AnswerRun],
    *,
    shown: str,
) -> None:
    """Print the questions that ``shown`` selects with their answers, then all figures."""
    for number, question in enumerate(questions):
        results = [run.answers[number] for run in runs]
        if _is_shown(results, shown):
            _print_case(terminal, question, runs, results)
    unanswerable = sum(not question.is_answerable for question in questions)
    counted = f"{path}: {count_of(len(questions), 'question')}"
    if unanswerable:
        counted += f", {unanswerable:,} without an answer in the documents"
    terminal.say(counted, style="bold")
    header = ("", *(run.name for run in runs)) if len(runs) > 1 else ()
    table = [
        (
            f"{figure.label}{', %' if figure.scale == PERCENT else ''}",
            *(figure.show(run.measured.overall.figures.get(figure.name)) for run in runs),
        )
        for figure in FIGURES
    ]
    terminal.table([row for row in table if any(row[1:])], header=header)
    for run in runs:
        if (right := run.measured.right) is not None:
            low, high = 100 * right.low, 100 * right.high
            name = f" ({run.name})" if len(runs) > 1 else ""
            terminal.say(
                f"95 % interval of the right answers{name}: {low:.1f} to {high:.1f} %", style="dim"
            )
    for run in runs:
        _print_types(terminal, run, named=len(runs) > 1)
    first, *others = runs
    for other in others:
        _print_differences(terminal, first, other)


def _is_shown(results: Sequence[JudgedAnswer], shown: str) -> bool:
    if shown == "changed":
        return len({item.is_correct for item in results}) > 1
    return shown == "all" or (shown == "wrong" and not all(r.is_correct for r in results))


def _print_case(
    terminal: Terminal,
    question: AnswerQuestion,
    runs: Sequence[AnswerRun],
    results: Sequence[JudgedAnswer],
) -> None:
    labels = (question.id, f"line {question.line}", question.type)
    place = ", ".join(dict.fromkeys(filter(None, labels)))
    terminal.say(f"{join_lines(place)}: {join_lines(question.text)}", style="bold")
    expected = "; ".join(" | ".join(group) for group in question.answers)
    terminal.say(f"expected: {join_lines(expected) or 'no answer'}", indent=2)
    for run, item in zip(runs, results, strict=True):
        verdict = _verdict(item)
        if item.answer.confidence is not None:
            verdict += f", confidence {item.answer.confidence:.2f}"
        name = f"{run.name}: " if len(runs) > 1 else ""
        terminal.say(f"{name}{verdict}", style="green" if item.is_correct else "yellow", indent=2)
        terminal.markdown(item.answer.text, lead=item.answer.short, indent=4)
        for citation in item.answer.citations:
            quote = "" if item.judgement.answered else f" “{shorten_excerpt(citation.quote)}”"
            terminal.say(
                f"[{citation.number}] {join_lines(citation.document)}{quote}",
                style="cyan",
                indent=4,
            )
    terminal.say()


def _verdict(item: JudgedAnswer) -> str:
    """Describe what is right or wrong with an answer."""
    judgement = item.judgement
    if not item.question.is_answerable:
        return "refused rightly" if not judgement.answered else "answered without evidence"
    if judgement.right:
        return "right" if judgement.right_first else "right, but not in the first sentence"
    parts = ["wrong" if judgement.answered else "refused wrongly"]
    if judgement.cites_gold is not None and judgement.answered:
        parts.append(f"{'cites' if judgement.cites_gold else 'does not cite'} a gold document")
    there = "in" if judgement.found else "not in"
    return ", ".join([*parts, f"answer {there} the passages found"])


def _print_types(terminal: Terminal, run: AnswerRun, *, named: bool) -> None:
    if not run.measured.by_type:
        return
    terminal.say(f"\nBy type{f' ({run.name})' if named else ''}", style="bold")
    terminal.table(
        [
            (
                name or "(none)",
                group.questions,
                *(figure.show(group.figures.get(figure.name)) for figure in MEANS),
            )
            for name, group in run.measured.by_type.items()
        ],
        header=("type", "n", *(figure.column for figure in MEANS)),
    )


def _print_differences(terminal: Terminal, first: AnswerRun, second: AnswerRun) -> None:
    """Print the paired difference of each figure, the questions it rises and falls on, and p."""
    figures = {figure.name: figure for figure in MEANS}
    terminal.say(f"\nPaired difference of {second.name} to {first.name}", style="bold")
    terminal.table(
        [
            (
                figures[found.metric].label,
                figures[found.metric].show(0.0 - found.difference, sign="+"),
                found.losses,
                found.wins,
                f"{found.p_value:.4f}",
            )
            for found in compare_answers(
                first.answers, second.answers, names=(first.name, second.name)
            )
        ],
        header=("", "points", "higher", "lower", "p"),
    )


def _judge(
    session: Session,
    knowledge_base: KnowledgeBase,
    answers: Sequence[JudgedAnswer],
    options: JudgingOptions | None,
    name: str,
    *,
    only_estimate: bool,
) -> JudgedRun | RunEstimate | None:
    """Show the estimated cost, then judge, unless only the estimate is wanted.

    The budget of the options is what remains of it after the answers. Raises BudgetExceeded when it
    is reached, and as `JudgeRun`.
    """
    if options is None:
        return None
    budget = SharedBudget(options.budget)
    for item in answers:
        budget.spend(item.tokens, item.answer.usage.money)
    remaining = replace(options, budget=budget.remaining())
    with (
        JudgeRun(knowledge_base, answers, remaining) as run,
        session.progress() as counter,
    ):
        estimate = run.estimate(counter.count)
        if only_estimate:
            return estimate
        if estimate.calls:
            cost = "" if estimate.money is None else f", cost at most {estimate.money.high:,.4f}"
            session.terminal.note(
                f"Judging ({name}): {count_of(estimate.calls, 'call')}, "
                f"about {estimate.input_tokens.expected:,} tokens in, "
                f"at most {estimate.output_tokens.high:,} out{cost}."
            )
        return run.run(counter.count)


def _describe_judging(found: JudgedRun | RunEstimate | None) -> dict[str, Any]:
    if isinstance(found, JudgedRun):
        return describe_judged_run(found)
    return {} if found is None else {"estimate": describe_estimate(found)}


def _print_judging(terminal: Terminal, name: str, run: JudgedRun | RunEstimate | None) -> None:
    """Print all totals of what was judged, or what that would cost."""
    if run is None:
        return
    if isinstance(run, RunEstimate):
        terminal.say(f"Judging ({name})", style="bold")
        terminal.show(run, *RUN_COST)
        terminal.note(ESTIMATE_NOTE)
        return
    if (report := run.judged) is not None:
        replies = {"name": name, "replies": sum(report.unreadable_replies.values())}
        terminal.show(fields_of(report) | replies, *_JUDGED)
    if run.robustness is not None:
        terminal.show(fields_of(run.robustness) | {"name": name}, *_ROBUSTNESS)
    usage = fields_of(run.usage) | {"money": run.money}
    terminal.show(usage, _JUDGING_USAGE)


def _mean(path: str) -> dict[str, str]:
    """Return the columns of an estimate."""
    interval = f"[{{{path}:?}}{{{path}.low:.1%}} to {{{path}.high:.1%}}]"
    return {"mean": f"{{{path}.mean:.1%}}", "95 % interval": interval}


_JUDGED = (
    Line("\nJudged by {judge} ({name})", "bold"),
    Table(
        "metrics",
        {
            " metric": "{0:label}",
            **_mean("1.estimate"),
            "cases": "{1.scored}",
            "unreadable": "{1.unreadable}",
            "not applicable": "{1.inapplicable}",
        },
    ),
    note(
        "[{replies:#reply/replies} of the judge could not be read ({unreadable_replies}); these "
        "cases have no value. Ask again with --retry.]",
        "yellow",
    ),
    Line("[{agreement:?}\nThe judge against {labelled:#labelled answer}]", "bold"),
    Table(
        "agreement",
        {
            " metric": "{0:label}",
            "labels": "{1.compared}",
            "unreadable": "{1.unreadable}",
            "accuracy": "{1.accuracy:.1%}",
            "kappa": "{1.kappa:.2f}",
            **_mean("1.corrected"),
        },
    ),
)
_ROBUSTNESS = (
    Line("\nRobustness ({name}): {questions:#question} with gold passages", "bold"),
    note(
        "[{skipped:#question} skipped: no gold passage is in the index. Name `documents`, and "
        "quotes as `evidence`.]",
        "yellow",
    ),
    Table(
        "figures",
        {
            " figure": "{label}[{needs_judge:?} *]",
            **_mean("estimate"),
            "trials": "{trials}",
            "unreadable": "[{needs_judge:?}{unreadable}]",
        },
    ),
    Line("* by the judge model; all others compare strings", "dim"),
)
_JUDGING_USAGE = Line(
    "\n{calls:#call}[, {reused} cached], {input_tokens} tokens in, {output_tokens} out"
    "[, cost {money:,.4f}]",
    "dim",
)
