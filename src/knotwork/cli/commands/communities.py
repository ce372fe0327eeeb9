"""`knotwork communities`: what the documents are about as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knotwork.cli.answers import shorten
from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import Terminal, count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knotwork.indexing.communities.survey import Topic
    from knotwork.records import Chunk, Document

_COUNT = click.IntRange(min=1)


@click.command(
    epilog=show_examples(
        "knotwork communities",
        'knotwork communities "money and travel" -n 3',
        "knotwork communities --level 1 --json",
    )
)
@click.argument("topic", metavar="[TOPIC]", required=False, default="")
@click.option(
    "--level",
    metavar="N",
    type=click.IntRange(min=0),
    help="Of this level alone; 0 is the topmost.",
)
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=_COUNT,
    default=10,
    show_default=True,
    help="Communities, at most.",
)
@click.option("--rebuild", is_flag=True, help="Rebuild all communities; none is kept.")
@with_session()
def command(session: Session, *, topic: str, level: int | None, limit: int, rebuild: bool) -> None:
    """Show groups of entities that belong together, with reports made of the documents' sentences.

    With a TOPIC those whose reports match it, else the topmost ones. Communities are brought up to
    date with the documents first; no language model is asked.
    """
    from knotwork.cli.envelopes import describe_topics

    opened = session.open()
    if rebuild or not opened.has_communities:
        session.terminal.note("Finding communities and writing reports …", style="dim")
        opened = session.open(read_only=False)
    topics = opened.communities(topic, level=level, limit=limit, rebuild=rebuild)
    chunks = opened.store.documents.chunks(
        {chunk_id for topic in topics for chunk_id in topic.report.chunk_ids}
    )
    documents = opened.store.documents.documents({c.document_id for c in chunks.values()})
    names = opened.member_names(topics)
    if session.common.json:
        session.terminal.emit(describe_topics(topics, names, chunks, documents))
        return
    for item in topics:
        _print_topic(session.terminal, item, names, chunks, documents)
    total = count_of(len(topics), "community", "communities")
    session.terminal.note(total if topics else "No community fits.", style="dim")


def _print_topic(
    terminal: Terminal,
    topic: Topic,
    names: Mapping[str, str],
    chunks: Mapping[str, Chunk],
    documents: Mapping[str, Document],
) -> None:
    community, report = topic.community, topic.report
    terminal.say(report.title, style="bold")
    size = count_of(community.size, "entity", "entities")
    members = ", ".join(names[i] for i in community.entity_ids if i in names)
    terminal.say(f"level {community.level}, {size}: {members}", style="dim", indent=2)
    for finding in report.findings:
        cited = [chunks[s.chunk_id] for s in finding.supports if s.chunk_id in chunks]
        places = {documents[chunk.document_id].uri for chunk in cited}
        where = f" ({', '.join(sorted(places))})" if places else ""
        terminal.say(f"• {shorten(finding.text)}{where}", indent=2)
    terminal.say()
