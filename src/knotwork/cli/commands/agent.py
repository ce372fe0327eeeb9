"""`knotwork agent`: an answer that is searched for step by step, with every step shown."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import WHERE_OPTION, complete_from, with_session
from knotwork.cli.session import Session
from knotwork.errors import ConfigError

KINDS = ("iterative", "corrective", "reasoning")


@click.command(
    epilog=show_examples(
        'knotwork agent "Where did the director of Silver Lantern grow up?"',
        'knotwork agent "Who approves travel abroad?" --kind corrective --explain',
        'knotwork agent "What did Ann Lee direct?" --where "date >= 2023"',
    )
)
@click.argument("question")
@click.option(
    "--kind",
    metavar="NAME",
    default="iterative",
    show_default=True,
    shell_complete=complete_from(KINDS),
    help="iterative, corrective or reasoning.",
)
@click.option(
    "--tools",
    metavar="NAMES",
    default="graph,hybrid,bm25",
    show_default=True,
    help="Retrievers that it may use, the main one first.",
)
@click.option(
    "--steps",
    metavar="N",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Searches, at most.",
)
@click.option(
    "--tokens",
    metavar="N",
    type=click.IntRange(min=0),
    default=8_000,
    show_default=True,
    help="Tokens of a language model, at most.",
)
@click.option("-k", metavar="N", type=click.IntRange(min=1), help="How many passages.")
@WHERE_OPTION
@click.option("--explain", is_flag=True, help="Show the passages found, and every step.")
@click.option("--no-llm", is_flag=True, help="Plan by rules, though a language model is set.")
@with_session()
def command(  # noqa: PLR0913  one for each option
    session: Session,
    *,
    question: str,
    kind: str,
    tools: str,
    steps: int,
    tokens: int,
    k: int | None,
    filters: tuple[str, ...],
    explain: bool,
    no_llm: bool,
) -> None:
    """Answer a question step by step: plan, search, judge, and search again.

    A language model, if one is set, chooses the steps; without one rules do, at no tokens. The
    answer is made of sentences of the documents.
    """
    from knotwork.agents.asking import ask_agent
    from knotwork.cli.answers import print_answer, print_evidence
    from knotwork.cli.envelopes import describe_answer, describe_evidence
    from knotwork.cli.evidence import find_documents, note_emptiness

    if not question.strip():
        raise ConfigError("The question is empty.", fix='Ask in words: knotwork agent "Who …?"')
    knowledge_base = session.open()
    answer, evidence = ask_agent(
        knowledge_base,
        question,
        kind=kind,
        tools=[name.strip() for name in tools.split(",") if name.strip()],
        steps=steps,
        tokens=tokens,
        k=k,
        use_llm=not no_llm,
        filters=filters,
    )
    documents = find_documents(knowledge_base, evidence)
    if session.common.json:
        payload = describe_answer(answer)
        payload["steps"] = list(evidence.trace)
        if explain:
            payload["evidence"] = describe_evidence(evidence, documents)
        session.terminal.emit(payload)
        return
    print_answer(session.terminal, answer, needed=session.settings.answer.abstain_below)
    if explain:
        session.terminal.say("\nPassages", style="bold")
        print_evidence(session.terminal, evidence, documents, explain=True)
    note_emptiness(session.terminal, knowledge_base)
