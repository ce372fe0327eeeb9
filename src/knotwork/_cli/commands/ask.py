"""`knotwork ask`: answer a question."""

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
    text_option,
    without_option,
)
from knotwork._run import Stage
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._synthesis.ask_request import AskOptions
    from knotwork.records import Answer, Evidence


@command(
    'knotwork ask "Who approves travel abroad?"',
    'knotwork ask "What are the main themes?" --mode global',
    'knotwork ask "When was the mine closed?" --where "date >= 2023" --json',
)
@click.argument("question")
@RETRIEVER_OPTION
@MODE_OPTION
@WHERE_OPTION
@MIN_SCORE_OPTION
@RETRIEVAL_QUERY_OPTION
@PARAMETER_OPTION
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
    sentences of the documents are quoted, and a note gives the reason. Questions about all
    documents, one document or a topic are answered with an outline or central sentences, and
    questions for numbers with counts.
    """
    from knotwork._cli.answers import AnswerView, print_answer_usage

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
    show_answer(session, knowledge_base, answer, passages, is_shown=view.has_shown_answer)
    if not session.common.json:
        print_answer_usage(session.terminal, answer)


def show_answer(
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
        find_documents,
        note_empty_index,
        print_answer,
        print_evidence,
    )
    from knotwork._shapes.results import ANSWER

    payload = ANSWER(answer) | beside
    if evidence:
        payload["evidence"] = describe_evidence(evidence, knowledge_base.store)
    if session.emit(payload):
        return
    needed = session.settings.answer.abstain_below
    print_answer(session.terminal, answer, needed=needed, is_shown=is_shown)
    if evidence:
        session.terminal.say("\nPassages", style="bold")
        documents = find_documents(knowledge_base, evidence)
        print_evidence(session.terminal, evidence, documents, explain=True)
    note_empty_index(session.terminal, knowledge_base)
