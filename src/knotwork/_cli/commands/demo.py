"""`knotwork demo`: index the bundled sample and answer three questions about it."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from knotwork._cli.session import Session, command

if TYPE_CHECKING:
    from knotwork._indexing.report import IndexReport
    from knotwork.demo import DemoQuestion
    from knotwork.records import Answer


@command(
    "knotwork demo",
    "knotwork demo --store demo.knot        keep the index in this file",
    "knotwork demo --json",
)
def demo_command(session: Session) -> None:
    """Index about twenty bundled documents and answer three questions, with citations.

    Nothing leaves this machine, and no language model is used.
    """
    from platformdirs import user_cache_path

    from knotwork._shapes.indexing import describe_report
    from knotwork._shapes.results import ANSWER
    from knotwork.demo import QUESTIONS

    started = time.perf_counter()
    cache = user_cache_path("knotwork", appauthor=False, ensure_exists=True)
    path = Path(session.common.store or cache / "demo.knot")
    session.terminal.note("Indexing the sample …", style="dim")
    report = build_demo(session, path)
    knowledge_base = session.open_at(path, read_only=True)
    answers = [knowledge_base.ask(question.text, use_llm=False) for question in QUESTIONS]
    seconds = time.perf_counter() - started
    described = {
        "store": str(path),
        "index": describe_report(report),
        "answers": list(map(ANSWER, answers)),
        "seconds": round(seconds, 3),
    }
    if not session.emit(described):
        print_demo(session, path, report, list(zip(QUESTIONS, answers, strict=True)))


def build_demo(session: Session, path: Path) -> IndexReport:
    """Index the sample into a new file."""
    from knotwork._cli.commands.index import run_indexing
    from knotwork._cli.progress import choose_view
    from knotwork.demo import open_sample

    for part in (path, *path.parent.glob(f"{path.name}-*")):
        part.unlink(missing_ok=True)
    quiet_log = "auto" if session.terminal.is_interactive else "none"
    view = choose_view(session.terminal, quiet_log, hidden=session.common.no_progress)
    with open_sample() as folder:
        knowledge_base = session.open_at(path, read_only=False)
        return run_indexing(knowledge_base, [str(folder)], view)


def print_demo(
    session: Session,
    path: Path,
    report: IndexReport,
    answers: list[tuple[DemoQuestion, Answer]],
) -> None:
    """Print the counts of the index, the answers with their sources, and commands to try next."""
    from knotwork._cli.answers import print_answer
    from knotwork._cli.index_summary import NO_EMBEDDER_LABEL
    from knotwork._cli.progress import format_seconds

    terminal = session.terminal
    terminal.say(
        f"Indexed {report.total_documents} documents of a fictional company, in English and "
        f"Chinese: {report.total_chunks} chunks, {report.total_entities} entities, "
        f"in {format_seconds(report.seconds.get('total', 0.0))}."
    )
    embedder = f"{report.embedder}, on this machine" if report.embedder else NO_EMBEDDER_LABEL
    terminal.say(f"Embedder: {embedder}.")
    for note in report.notes:
        terminal.say(note, style="yellow")
    for number, (question, answer) in enumerate(answers, start=1):
        terminal.say()
        terminal.say(f"Question {number}: {question.text}", style="bold")
        terminal.say(f"({question.point})", style="dim")
        terminal.say()
        print_answer(terminal, answer, needed=session.settings.answer.abstain_below)
    milliseconds = median(answer.usage.seconds for _, answer in answers) * 1000
    tokens = sum(a.usage.input_tokens + a.usage.output_tokens for _, a in answers)
    terminal.say()
    terminal.say(f"{milliseconds:.0f} ms per answer, {tokens} model tokens.", style="dim")
    terminal.say("\nNext", style="bold")
    again = "In which year was the lighthouse of Skarrow built?"
    terminal.say(f'knotwork ask "{again}" --store {path}', indent=2)
    terminal.say(f'knotwork explore "Oriane Keld" --store {path}', indent=2)
    terminal.say("knotwork index YOUR-FOLDER && knotwork ask YOUR-QUESTION", indent=2)
