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
from knotwork._cli.views import Line, Table, each, note
from knotwork._shapes.base import fields_of

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
    from knotwork._cli.answers import describe_evidence, note_empty_index, show_evidence
    from knotwork._synthesis.ask_request import AskRequest

    knowledge_base = session.open()
    evidence = knowledge_base.search(AskRequest(question, **options))
    described = describe_evidence(evidence, knowledge_base.store)
    if not session.emit(described):
        show_evidence(session.terminal, described, explain=explain)
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
    )

    retrievers, steps = list(RETRIEVERS.entries()), list(STEPS.entries())
    session.show(
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
            "faults": [str(fault) for fault in [*RETRIEVERS.faults(), *STEPS.faults()]],
        },
        Line("Retrievers", "bold"),
        Line(f"{AUTO}  {{auto}}; {{auto_over_graphs}} if a graph was imported", indent=2),
        Table("usual", _COLUMNS, 2),
        Line("\nPatterns, for special cases", "bold"),
        Table("special", _COLUMNS, 2),
        Line("\nSteps before or after a retriever", "bold"),
        Table("combined", _COLUMNS, 2),
        "\nExample of a combination: decompose > bm25 + graph > diversify",
        each("faults", note("{}", "yellow")),
        usual=[_row(entry) for entry in retrievers if not entry.is_special],
        special=[_row(entry) for entry in retrievers if entry.is_special],
        combined=[_row(entry) for entry in steps],
    )


_COLUMNS = {" 1": "{name}", " 2": "{summary}", " 3": "[needs {needs}]", " 4": "[from {origin}]"}


def _row(entry: Entry) -> dict[str, object]:
    own = {"needs": _list_requirements(entry), "origin": entry.origin if entry.is_plugin else ""}
    return fields_of(entry, "name", "summary") | own


def _list_requirements(entry: Entry) -> list[str]:
    return [text for need, text in _REQUIREMENTS.items() if need in entry.needs]
