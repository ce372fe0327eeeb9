"""`knotwork ask`: an answer with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import (
    MIN_SCORE_OPTION,
    MODE_OPTION,
    PARAMETER_OPTION,
    RETRIEVAL_QUERY_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    with_session,
)
from knotwork.cli.session import Session
from knotwork.cli.statements import read_parameters, read_statement
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.knowledge_base import KnowledgeBase
    from knotwork.records import Answer, Evidence


@click.command(
    epilog=show_examples(
        'knotwork ask "Who approves travel abroad?"',
        'knotwork ask "What are the main themes?" --mode global',
        'knotwork ask "When was the mine closed?" --where "date >= 2023" --json',
    )
)
@click.argument("question")
@RETRIEVER_OPTION
@MODE_OPTION
@WHERE_OPTION
@MIN_SCORE_OPTION
@RETRIEVAL_QUERY_OPTION
@PARAMETER_OPTION
@click.option("--expand", is_flag=True, help="Search by the model's keywords too.")
@click.option("--explain", is_flag=True, help="Show the passages found, and why each is there.")
@click.option("--no-llm", is_flag=True, help="Quote sentences, though a language model is set.")
@click.option(
    "--no-fallback", is_flag=True, help="Fail when the language model does, and quote nothing."
)
@click.option("--retry", is_flag=True, help="Ask the model again if its reply was unusable.")
@click.option(
    "--budget", metavar="AMOUNT", default="", help='The most to spend: as 3k, or "0.01 EUR".'
)
@with_session()
def command(session: Session, **arguments: Any) -> None:  # noqa: ANN401
    """Answer a question from the index, with a citation for every sentence.

    When the documents hold no answer it says so and shows the nearest passages. A language model,
    if one is set (llm.model), writes the answer from the passages found; when it fails, sentences
    of the documents are quoted, and a note says why. Questions about all documents, one document or
    a topic are answered by an outline or central sentences, questions that count by numbers.
    """
    from knotwork.cli.answers import print_answer, print_evidence, print_usage
    from knotwork.cli.envelopes import describe_answer, describe_evidence
    from knotwork.cli.evidence import find_documents, note_emptiness

    if not arguments["question"].strip():
        raise ConfigError("The question is empty.", fix='Ask in words: knotwork ask "Who …?"')
    knowledge_base = session.open_to_ask(
        [arguments["question"]], mode=arguments["mode"], use_llm=not arguments["no_llm"]
    )
    answer, found, is_shown = _ask(session, knowledge_base, arguments)
    evidence = found if arguments["explain"] else None
    documents = find_documents(knowledge_base, evidence) if evidence else {}
    if session.common.json:
        payload = describe_answer(answer)
        if evidence:
            payload["evidence"] = describe_evidence(evidence, documents)
        session.terminal.emit(payload)
        return
    needed = session.settings.answer.abstain_below
    print_answer(session.terminal, answer, needed=needed, is_shown=is_shown)
    if evidence:
        session.terminal.say("\nPassages", style="bold")
        print_evidence(session.terminal, evidence, documents, explain=True)
    note_emptiness(session.terminal, knowledge_base)
    print_usage(session.terminal, answer)


def _ask(
    session: Session, knowledge_base: KnowledgeBase, arguments: dict[str, Any]
) -> tuple[Answer, Evidence, bool]:
    """Return the answer, what was found, and whether the answer's text was shown as it came."""
    from knotwork.cli.streaming import AnswerView

    answer: Answer | None = None
    evidence: Evidence | None = None
    events = knowledge_base.ask_events(
        arguments["question"],
        retriever=arguments["retriever"],
        filters=arguments["filters"],
        min_score=arguments["min_score"],
        retrieval_query=read_statement(arguments["retrieval_query"]),
        query_params=read_parameters(arguments["parameters"]),
        mode=arguments["mode"],
        expand=arguments["expand"],
        use_llm=not arguments["no_llm"],
        fallback=not arguments["no_fallback"],
        retry=arguments["retry"],
        budget=arguments["budget"],
    )
    with AnswerView(session.terminal, hidden=session.common.no_progress) as view:
        for event in events:
            view.show(event)
            answer = event.answer or answer
            evidence = event.evidence or evidence
    assert answer is not None
    assert evidence is not None
    return answer, evidence, view.has_shown_answer
