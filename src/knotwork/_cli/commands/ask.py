"""`knotwork ask` and `knotwork agent`: answer a question from one search, or from several."""

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
    choice_option,
    command,
    number_option,
    text_option,
    without_option,
)
from knotwork._run import Stage
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._synthesis.ask_request import AskOptions
    from knotwork.agents._agent import AgentOptions
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
    _show(session, knowledge_base, answer, passages, is_shown=view.has_shown_answer)
    if not session.common.json:
        note_usage(session.terminal, answer)


def _show(
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
    from knotwork._shapes.answers import AnswerShape
    from knotwork._shapes.base import fields_of

    payload = fields_of(AnswerShape.of(answer)) | beside
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


AGENT_KINDS = ("iterative", "corrective", "reasoning", "revising")


@command(
    'knotwork agent "Where did the director of Silver Lantern grow up?"',
    'knotwork agent "Who approves travel abroad?" --kind corrective --explain',
    'knotwork agent "What did Ann Lee direct?" --where "date >= 2023"',
)
@click.argument("question")
@choice_option(
    "--kind",
    metavar="NAME",
    default="iterative",
    show_default=True,
    valid=AGENT_KINDS,
    help="iterative, corrective, reasoning or revising.",
)
@click.option(
    "--tools",
    "names",
    metavar="NAMES",
    default="graph,hybrid,bm25",
    show_default=True,
    help="Retrievers that the agent may use, the main one first.",
)
@number_option("--steps", default=6, help="Maximum number of searches.")
@number_option(
    "--tokens", default=8_000, least=0, help="Maximum number of tokens of the language model."
)
@number_option("-k", help="Number of passages.")
@WHERE_OPTION
@click.option("--explain", is_flag=True, help="Show the passages, and every step.")
@without_option("--no-llm", "use_llm", help="Plan by rules; do not use the language model.")
def agent_command(
    session: Session, *, question: str, names: str, explain: bool, **options: Unpack[AgentOptions]
) -> None:
    """Answer a question step by step: plan, search, judge, and search again.

    A language model, if one is set, chooses the steps; otherwise rules do, without tokens. The
    answer consists of sentences from the documents.
    """
    from knotwork.agents._agent import ask_agent

    if not question.strip():
        raise ConfigError("The question is empty.", fix='For example: knotwork agent "Who …?"')
    knowledge_base = session.open()
    options["tools"] = [name.strip() for name in names.split(",") if name.strip()]
    answer, evidence = ask_agent(knowledge_base, question, **options)
    passages = evidence if explain else None
    _show(session, knowledge_base, answer, passages, steps=list(evidence.trace))
