"""Evaluate the answers to a file of questions under one or more settings (`knotwork eval FILE`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._cli.answers import note_empty_index
from knotwork._cli.judged_evaluation import (
    AfterAsking,
    describe_judging,
    judge_run,
    print_judging,
    save_for_labelling,
)
from knotwork._cli.progress import choose_counter
from knotwork._cli.session import Session
from knotwork._cli.terminal import Terminal, count_of, join_lines, shorten_excerpt
from knotwork._inference.call_costs import RunEstimate
from knotwork.errors import ConfigError
from knotwork.evaluation._answer_figures import (
    FIGURES,
    AnswerFigures,
    AnswerRun,
    compare_answers,
    describe_answer_runs,
    measure_answers,
)
from knotwork.evaluation._answer_questions import AnswerQuestion, read_answer_questions
from knotwork.evaluation._answer_runs import JudgedAnswer, ask_questions, missing_documents
from knotwork.evaluation._judge_runs import JudgedRun, require_judge
from knotwork.evaluation._retriever_runs import read_retrievers

if TYPE_CHECKING:
    from knotwork._config import Settings
    from knotwork._knowledge_base import KnowledgeBase


CURRENT_SETTINGS = "as set"
"""Name of the settings in force."""

_UNRELATED_SECTIONS = ("index", "extraction", "service")
"""Sections of settings that do not affect answers."""

_SHOWN_NAMES = 3


def evaluate_file(
    session: Session,
    path: Path,
    *,
    compared: Sequence[str],
    shown: str,
    limit: int | None,
    budget: str,
    filters: Sequence[str] = (),
    after: AfterAsking,
) -> None:
    """Ask the questions of a file under the settings in force and under each of ``compared``, and
    print the figures.

    ``after`` says what is done with the answers besides.

    ``budget`` limits the cost of all questions under one choice of settings; ``filters`` apply to
    every search. ``shown`` is "wrong", "changed", "all" or "". Before the first question, raises
    ConfigError for an invalid file or setting, UnknownName for an unknown retriever, and
    StoreNotFound for a missing index; afterwards, the errors of `KnowledgeBase.ask`.
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
    texts = [question.text for question in questions]
    opened = _open_all(session, texts, sides, after)
    for _, base in opened:
        base.filtered_store(filters)  # raises for an invalid filter before the first question
    runs: list[AnswerRun] = []
    judged: list[JudgedRun | RunEstimate | None] = []
    for name, base in opened:
        with closing(base):
            run = _ask_all(session, questions, name, base, budget, filters)
            if after.to_label is not None and not runs:
                save_for_labelling(after.to_label, run.answers)
            runs.append(run)
            judged.append(judge_run(session, base, run.answers, after, name=name))
    if session.common.json:
        payload = describe_answer_runs(questions, runs, file=str(path))
        for run, found in zip(runs, judged, strict=True):
            payload["settings"][run.name].update(describe_judging(found))
        session.terminal.emit(payload)
        return
    print_runs(session.terminal, path, questions, runs, shown=shown)
    for run, found in zip(runs, judged, strict=True):
        print_judging(session.terminal, run.name, found)


def _open_all(
    session: Session,
    questions: Sequence[str],
    sides: Sequence[tuple[str, Settings]],
    after: AfterAsking,
) -> list[tuple[str, KnowledgeBase]]:
    """Open the index of each side; raises for what would fail after the first question."""
    opened = []
    for name, settings in sides:
        read_retrievers(settings.retrieval.retriever)
        if after.judging is not None and after.judging.with_judge:
            require_judge(settings)
        opened.append((name, session.open_to_ask(questions, settings=settings)))
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
    with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
        note_empty_index(session.terminal, opened)
        missing = missing_documents(opened, questions)
        _note_missing(session.terminal, missing, store)
        for item in ask_questions(opened, questions, filters=filters, budget=budget):
            answers.append(item)
            counter.count(f"Asking ({name})", len(answers), len(questions))
    notes = [note for item in answers for note in item.answer.notes]
    if notes:
        noted = count_of(sum(bool(item.answer.notes) for item in answers), "answer")
        session.terminal.note(f"{noted} with a note ({name}), as: {notes[0]}", style="yellow")
    return AnswerRun(name, store, tuple(answers), measure_answers(answers), tuple(missing))


def _note_missing(terminal: Terminal, missing: Mapping[str, AnswerQuestion], store: str) -> None:
    """Warn about gold documents that are not in the index. Their names may be misspelt."""
    for name, question in list(missing.items())[:_SHOWN_NAMES]:
        terminal.note(
            f"Line {question.line}: no document `{join_lines(name)}` in {store}.", style="yellow"
        )
    if len(missing) > _SHOWN_NAMES:
        terminal.note(f"… and {len(missing) - _SHOWN_NAMES:,} more documents.", style="yellow")


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
    rows = zip(*(_summarize(run.measured) for run in runs), strict=True)
    header = ("", *(run.name for run in runs)) if len(runs) > 1 else ()
    table = [(cells[0][0], *(value for _, value in cells)) for cells in rows]
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


def _summarize(measured: AnswerFigures) -> list[tuple[str, str]]:
    """Return the label and the formatted value of every figure."""
    rows = []
    for figure in FIGURES:
        value = measured.overall.figures.get(figure.name)
        label = f"{figure.label}, %" if figure.is_share else figure.label
        rows.append((label, _show(value, is_share=figure.is_share)))
    auroc = "" if measured.auroc is None else f"{measured.auroc:.3f}"
    ece = "" if measured.ece is None else f"{measured.ece:.3f}"
    return [
        *rows,
        ("AUROC of the confidence", auroc),
        ("ECE of the confidence", ece),
        ("ms a question", f"{measured.median_ms:,.0f}"),
        ("CPU ms a question", f"{measured.median_cpu_ms:,.0f}"),
        ("Model tokens a question", f"{measured.tokens:,.0f}"),
    ]


def _print_types(terminal: Terminal, run: AnswerRun, *, named: bool) -> None:
    if not run.measured.by_type:
        return
    terminal.say(f"\nBy type{f' ({run.name})' if named else ''}", style="bold")
    terminal.table(
        [
            (
                name or "(none)",
                f"{group.questions:,}",
                *(_show(group.figures.get(f.name), is_share=f.is_share) for f in FIGURES),
            )
            for name, group in run.measured.by_type.items()
        ],
        header=("type", "n", *(figure.column for figure in FIGURES)),
    )


def _print_differences(terminal: Terminal, first: AnswerRun, second: AnswerRun) -> None:
    """Print the paired difference of each figure, the questions it rises and falls on, and p."""
    figures = {figure.name: figure for figure in FIGURES}
    terminal.say(f"\nPaired difference of {second.name} to {first.name}", style="bold")
    terminal.table(
        [
            (
                figures[found.metric].label,
                _show(0.0 - found.difference, is_share=figures[found.metric].is_share, sign="+"),
                f"{found.losses:,}",
                f"{found.wins:,}",
                f"{found.p_value:.4f}",
            )
            for found in compare_answers(
                first.answers, second.answers, names=(first.name, second.name)
            )
        ],
        header=("", "points", "higher", "lower", "p"),
    )


def _show(value: float | None, *, is_share: bool, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{100 * value if is_share else value:{sign}.1f}"
