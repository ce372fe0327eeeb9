"""`knotwork ask`: an answer with its sources."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_retrievers, with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        'knotwork ask "Who approves travel abroad?"',
        'knotwork ask "谁审批海外出差？" --store handbook.knot',
        'knotwork ask "When was the mine closed?" --json | jq .citations',
    )
)
@click.argument("question")
@click.option(
    "--retriever",
    metavar="NAME",
    shell_complete=complete_retrievers,
    help="How passages are found, as auto, hybrid or bm25.",
)
@click.option("--explain", is_flag=True, help="Show the passages found, and why each is there.")
@with_session()
def command(session: Session, *, question: str, retriever: str | None, explain: bool) -> None:
    """Answer a question from the index, with a citation for every sentence.

    When the documents hold no answer it says so and shows the nearest passages.
    """
    from knotwork.cli.answers import print_answer, print_evidence, print_usage
    from knotwork.cli.envelopes import describe_answer, describe_evidence
    from knotwork.cli.evidence import find_documents, note_emptiness

    knowledge_base = session.open()
    answer = knowledge_base.ask(question, retriever=retriever)
    evidence = knowledge_base.search(question, retriever=retriever) if explain else None
    documents = find_documents(knowledge_base, evidence) if evidence else {}
    if session.common.json:
        payload = describe_answer(answer)
        if evidence:
            payload["evidence"] = describe_evidence(evidence, documents)
        session.terminal.emit(payload)
        return
    print_answer(session.terminal, answer, needed=session.settings.answer.abstain_below)
    if evidence:
        session.terminal.say("\nPassages", style="bold")
        print_evidence(session.terminal, evidence, documents, explain=True)
    note_emptiness(session.terminal, knowledge_base)
    print_usage(session.terminal, answer)
