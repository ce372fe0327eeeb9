"""`knotwork demo`: index the bundled sample, and answer questions from it."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from platformdirs import user_cache_path

from knotwork._cli.answers import show_answer
from knotwork._cli.commands.index import run_indexing
from knotwork._cli.session import Session, command
from knotwork._cli.views import Line, each
from knotwork._indexing.report import IndexReport
from knotwork._shapes.base import fields_of
from knotwork._shapes.indexing import describe_report
from knotwork._shapes.results import ANSWER
from knotwork.demo import QUESTIONS, open_sample


@command()
def demo_command(session: Session) -> None:
    """Index about twenty bundled documents and answer three questions, with citations.

    Nothing leaves this machine, and no language model is used.
    $ knotwork demo
    $ knotwork demo --store demo.knot        keep the index in this file
    $ knotwork demo --json
    """
    started = time.perf_counter()
    cache = user_cache_path("knotwork", appauthor=False, ensure_exists=True)
    path = Path(session.common.store or cache / "demo.knot")
    session.terminal.note("Indexing the sample …", style="dim")
    report = _build(session, path)
    knowledge_base = session.open_at(path, read_only=True)
    answers = [knowledge_base.ask(question.text, use_llm=False) for question in QUESTIONS]
    seconds = time.perf_counter() - started
    described = {
        "store": str(path),
        "index": describe_report(report),
        "answers": list(map(ANSWER, answers)),
        "seconds": round(seconds, 3),
    }
    if session.emit(described):
        return
    session.terminal.show(described, *_INDEXED)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        session.terminal.show(
            fields_of(question), "", Line("{text}", "bold"), Line("({point})", "dim"), ""
        )
        show_answer(session.terminal, answer, needed=session.settings.answer.abstain_below)
    usages = [answer.usage for answer in answers]
    figures = {
        "store": path,
        "ms": median(usage.seconds for usage in usages) * 1000,
        "tokens": sum(usage.input_tokens + usage.output_tokens for usage in usages),
    }
    session.terminal.show(figures, *_NEXT)


_INDEXED = (
    Line(
        "Indexed {index.index.documents} documents of a fictional company, in English and "
        "Chinese: {index.index.chunks} chunks, {index.index.entities} entities, "
        "in {index.seconds.total:time}."
    ),
    "[Embedder: {index.embedder}, on this machine.]",
    "[{index.embedder:!}Embedder: none: full text and knowledge graph only.]",
    each("index.notes", Line("{}", "yellow")),
)
_NEXT = (
    Line("\n{ms:.0f} ms per answer, {tokens} model tokens.", "dim"),
    Line("\nNext", "bold"),
    Line(
        'knotwork ask "In which year was the lighthouse of Skarrow built?" --store {store}',
        indent=2,
    ),
    Line('knotwork explore "Oriane Keld" --store {store}', indent=2),
    Line("knotwork index YOUR-FOLDER && knotwork ask YOUR-QUESTION", indent=2),
)


def _build(session: Session, path: Path) -> IndexReport:
    """Index the sample into a new file."""
    for part in (path, *path.parent.glob(f"{path.name}-*")):
        part.unlink(missing_ok=True)
    with open_sample() as folder:
        knowledge_base = session.open_at(path, read_only=False)
        return run_indexing(knowledge_base, [str(folder)], session.progress())
