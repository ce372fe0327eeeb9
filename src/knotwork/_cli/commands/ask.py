"""`knotwork ask`, `search` and `retrievers`: answers and passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from knotwork._cli.session import (
    MIN_SCORE_OPTION,
    MODE_OPTION,
    PARAMETER_OPTION,
    RETRIEVAL_QUERY_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    Session,
    command,
    number_option,
    text_option,
    without_option,
)
from knotwork._cli.views import Line, Table, each, note
from knotwork._run import Stage
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._registry import Entry
    from knotwork._synthesis.ask_request import AskOptions
    from knotwork.records import Answer, Evidence


@command()
@click.argument("question")
@RETRIEVER_OPTION
@MODE_OPTION
@WHERE_OPTION
@MIN_SCORE_OPTION
@RETRIEVAL_QUERY_OPTION
@PARAMETER_OPTION
@click.option("--classify", is_flag=True, help="Let the model choose the mode.")
@click.option("--expand", is_flag=True, help="Also search for keywords that a model suggests.")
@click.option("--explain", is_flag=True, help="Show the passages, and why each was found.")
@without_option("--no-llm", "use_llm", help="Quote sentences; do not use the language model.")
@without_option(
    "--no-fallback", "fallback", help="Fail if the language model fails; quote nothing."
)
@click.option("--retry", is_flag=True, help="Ask the model again if its reply was unusable.")
@text_option("--budget", metavar="AMOUNT", help='Spending limit, such as 3k or "0.01 EUR".')
def ask_command(
    session: Session,
    *,
    question: str,
    explain: bool,
    **options: Unpack[AskOptions],
) -> None:
    """Answer a question from the index, with a citation for every sentence.

    If the documents hold no answer, the command says so and shows the nearest passages. With a
    language model (llm.model), the model writes the answer from the passages found; if it fails,
    sentences of the documents are quoted, and a note gives the reason. Questions about documents
    or a topic are answered with an outline or central sentences.
    $ knotwork ask "Who approves travel abroad?"
    $ knotwork ask "What are the main themes?" --mode global
    $ knotwork ask "When was the mine closed?" --where "date >= 2023" --json
    """
    from knotwork._cli.answers import AnswerView, note_usage

    if not question.strip():
        raise ConfigError("The question is empty.", fix='For example: knotwork ask "Who …?"')
    knowledge_base = session.open_to_ask()
    evidence: Evidence | None = None
    run = knowledge_base.ask.run(question, **options)
    with AnswerView(session.terminal, hidden=session.common.no_progress) as view:
        for step in run:
            view.show(step)
            evidence = step.value if step.stage == Stage.FOUND else evidence
    answer = run.result()
    passages = evidence if explain else None
    show_found(session, knowledge_base, answer, passages, is_shown=view.has_shown_answer)
    if not session.common.json:
        note_usage(session.terminal, answer)


def show_found(
    session: Session,
    knowledge_base: KnowledgeBase,
    answer: Answer,
    evidence: Evidence | None,
    *,
    is_shown: bool = False,
    **beside: object,
) -> None:
    """Print an answer, and the passages of ``evidence``; in JSON also what stands ``beside`` it."""
    from knotwork._cli.answers import (
        describe_evidence,
        note_empty_index,
        show_answer,
        show_evidence,
    )
    from knotwork._shapes.results import ANSWER

    payload = ANSWER(answer) | beside
    if evidence:
        payload["evidence"] = describe_evidence(evidence, knowledge_base.store)
    if session.emit(payload):
        return
    needed = session.settings.answer.abstain_below
    show_answer(session.terminal, answer, needed=needed, is_shown=is_shown)
    if evidence:
        session.terminal.say("\nPassages", style="bold")
        show_evidence(session.terminal, payload["evidence"], explain=True)
    note_empty_index(session.terminal, knowledge_base)


_REQUIREMENTS = {"model": "a language model", "embedder": "vectors", "reranker": "a reranker"}
"""What a retriever may need, as users read it."""


@command()
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
    """Find the passages that best match a question.

    $ knotwork search "salt layer"
    $ knotwork search "Kestrel designer birthplace" -k 5 --explain
    $ knotwork search "salt layer" --where "tags = lake" --retriever bm25 --json
    """
    from knotwork._cli.answers import describe_evidence, note_empty_index, show_evidence
    from knotwork._synthesis.ask_request import AskRequest

    knowledge_base = session.open()
    evidence = knowledge_base.search(AskRequest(question, **options))
    described = describe_evidence(evidence, knowledge_base.store)
    if not session.emit(described):
        show_evidence(session.terminal, described, explain=explain)
        note_empty_index(session.terminal, knowledge_base)


@command(hides_store=True)
def retrievers_command(session: Session) -> None:
    """List the retrievers for --retriever, and the steps to combine them with.

    docs/patterns.md describes the purpose, requirements and options of each.
    $ knotwork retrievers
    $ knotwork retrievers --json
    $ knotwork search "salt layer" --retriever "bm25 + graph > diversify"
    """
    from knotwork._retrieval.retriever_registry import (
        AUTO,
        AUTO_IS,
        AUTO_OVER_GRAPHS,
        RETRIEVERS,
        STEPS,
        USUAL_RETRIEVERS,
    )

    retrievers, steps = list(RETRIEVERS.entries()), list(STEPS.entries())
    usual = [entry for entry in retrievers if entry.name in USUAL_RETRIEVERS or entry.is_plugin]
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
        usual=list(map(_row, usual)),
        special=[_row(entry) for entry in retrievers if entry not in usual],
        combined=[_row(entry) for entry in steps],
    )


_COLUMNS = {" 1": "{name}", " 2": "{summary}", " 3": "[needs {needs}]", " 4": "[from {origin}]"}


def _row(entry: Entry) -> dict[str, object]:
    own = {"needs": _list_requirements(entry), "origin": entry.origin if entry.is_plugin else ""}
    return fields_of(entry, "name", "summary") | own


def _list_requirements(entry: Entry) -> list[str]:
    return [text for need, text in _REQUIREMENTS.items() if need in entry.needs]
