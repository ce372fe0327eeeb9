"""`knotwork search` and `knotwork retrievers`: find passages, and list the retrievers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from knotwork._cli.session import (
    MIN_SCORE_OPTION,
    PARAMETER_OPTION,
    RETRIEVAL_QUERY_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    Session,
    command,
    number_option,
)

if TYPE_CHECKING:
    from knotwork._registry import Entry
    from knotwork._synthesis.ask_request import AskOptions

_REQUIREMENTS = {"model": "a language model", "embedder": "vectors", "reranker": "a reranker"}
"""What a retriever may need, as users read it."""


@command(
    'knotwork search "salt layer"',
    'knotwork search "Kestrel designer birthplace" -k 5 --explain',
    'knotwork search "salt layer" --where "tags = lake" --retriever bm25 --json',
)
@click.argument("question")
@RETRIEVER_OPTION
@number_option("-k", help="Number of passages.")
@WHERE_OPTION
@MIN_SCORE_OPTION
@RETRIEVAL_QUERY_OPTION
@PARAMETER_OPTION
@click.option("--explain", is_flag=True, help="Show why each passage was found.")
def search_command(
    session: Session,
    *,
    question: str,
    explain: bool,
    **options: Unpack[AskOptions],
) -> None:
    """Find the passages that best match a question."""
    from knotwork._cli.answers import (
        describe_evidence,
        find_documents,
        note_empty_index,
        print_evidence,
    )
    from knotwork._synthesis.ask_request import AskRequest

    knowledge_base = session.open()
    evidence = knowledge_base.search(AskRequest(question, **options))
    if not session.emit(describe_evidence(evidence, knowledge_base.store)):
        documents = find_documents(knowledge_base, evidence)
        print_evidence(session.terminal, evidence, documents, explain=explain)
        note_empty_index(session.terminal, knowledge_base)


@command(
    "knotwork retrievers",
    "knotwork retrievers --json",
    'knotwork search "salt layer" --retriever "bm25 + graph > diversify"',
    hides_store=True,
)
def retrievers_command(session: Session) -> None:
    """List the retrievers for --retriever, and the steps to combine them with.

    docs/patterns.md describes the purpose, requirements and options of each.
    """
    from knotwork._retrieval.retriever_registry import (
        AUTO,
        AUTO_IS,
        AUTO_OVER_GRAPHS,
        RETRIEVERS,
        STEPS,
        USUAL_RETRIEVERS,
    )

    retrievers, steps = RETRIEVERS.entries(), STEPS.entries()
    faults = [*RETRIEVERS.faults(), *STEPS.faults()]
    if session.emit(
        {
            "auto": AUTO_IS,
            "auto_over_graphs": AUTO_OVER_GRAPHS,
            "retrievers": {
                entry.name: {
                    "summary": entry.summary,
                    "needs": _list_requirements(entry),
                    "distribution": entry.distribution,
                }
                for entry in retrievers
            },
            "steps": {entry.name: entry.summary for entry in steps},
            "faults": [str(fault) for fault in faults],
        }
    ):
        return
    terminal = session.terminal
    terminal.say("Retrievers", style="bold")
    rows = [(AUTO, f"{AUTO_IS}; {AUTO_OVER_GRAPHS} if a graph was imported", "")]
    patterns: list[tuple[str, str, str]] = []
    for entry in retrievers:
        is_usual = entry.name in USUAL_RETRIEVERS or entry.is_plugin
        described = (entry.name, entry.summary, _describe_needs(entry))
        (rows if is_usual else patterns).append(described)
    terminal.table(rows, indent=2)
    terminal.say("\nPatterns, for special cases", style="bold")
    terminal.table(patterns, indent=2)
    terminal.say("\nSteps before or after a retriever", style="bold")
    terminal.table([(e.name, e.summary, _describe_needs(e)) for e in steps], indent=2)
    terminal.say("\nExample of a combination: decompose > bm25 + graph > diversify")
    for fault in faults:
        terminal.note(str(fault), style="yellow")


def _describe_needs(entry: Entry) -> str:
    """Return what a retriever needs, and the distribution of a plugin."""
    needs = _list_requirements(entry)
    parts = [f"needs {' and '.join(needs)}"] if needs else []
    return "; ".join([*parts, *([f"from {entry.origin}"] if entry.is_plugin else [])])


def _list_requirements(entry: Entry) -> list[str]:
    return [text for need, text in _REQUIREMENTS.items() if need in entry.needs]
