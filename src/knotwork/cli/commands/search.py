"""`knotwork search`: passages, and why each is there."""

from __future__ import annotations

from typing import Any

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import (
    MIN_SCORE_OPTION,
    PARAMETER_OPTION,
    RETRIEVAL_QUERY_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    with_session,
)
from knotwork.cli.session import Session
from knotwork.cli.statements import read_parameters, read_statement


@click.command(
    epilog=show_examples(
        'knotwork search "salt layer"',
        'knotwork search "Kestrel designer birthplace" -k 5 --explain',
        'knotwork search "salt layer" --where "tags = lake" --retriever bm25 --json',
    )
)
@click.argument("question")
@RETRIEVER_OPTION
@click.option("-k", metavar="N", type=click.IntRange(min=1), help="How many passages.")
@WHERE_OPTION
@MIN_SCORE_OPTION
@RETRIEVAL_QUERY_OPTION
@PARAMETER_OPTION
@click.option("--explain", is_flag=True, help="Show why each passage is there.")
@with_session()
def command(
    session: Session,
    *,
    question: str,
    retrieval_query: str | None,
    parameters: tuple[str, ...],
    explain: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the passages nearest to a question."""
    from knotwork.cli.answers import print_evidence
    from knotwork.cli.envelopes import describe_evidence
    from knotwork.cli.evidence import find_documents, note_emptiness

    knowledge_base = session.open()
    evidence = knowledge_base.search(
        question,
        retrieval_query=read_statement(retrieval_query),
        query_params=read_parameters(parameters),
        **options,
    )
    documents = find_documents(knowledge_base, evidence)
    if session.common.json:
        session.terminal.emit(describe_evidence(evidence, documents))
    else:
        print_evidence(session.terminal, evidence, documents, explain=explain)
        note_emptiness(session.terminal, knowledge_base)
