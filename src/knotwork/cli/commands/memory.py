"""`knotwork memory`: facts stated in conversations, with the time for which they hold."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import keep_common, with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.agents.memory import FactMemory, RememberedFact


@click.group(
    epilog=show_examples(
        'knotwork memory tell "Ann Lee leads the team since May 2024."',
        'knotwork memory list "Ann Lee"',
        'knotwork memory forget "Ann Lee"',
    )
)
@keep_common
def command() -> None:
    """Show, add and delete facts stated in conversations (knotwork chat)."""


@command.command(
    name="list",
    short_help="List what is remembered.",
    epilog=show_examples(
        "knotwork memory list",
        'knotwork memory list "Ann Lee"',
        "knotwork memory list --at 2024-02-01 --json | jq .facts",
    ),
)
@click.argument("name", required=False)
@click.option("--at", metavar="DATE", help="Only what holds at a moment, as 2024-02-01.")
@with_session()
def show(session: Session, *, name: str | None, at: str | None) -> None:
    """List what is remembered, of a name or of all, also what no longer holds."""
    from knotwork.agents.memory.told import read_moment

    moment = read_moment(at) if at else None
    if at and not moment:
        raise ConfigError(f"`{at}` is no date.", fix="Write it as 2024-02-01 or 2024.")
    with closing(_open(session)) as memory:
        facts = memory.about([name], at=moment) if name else memory.facts(at=moment)
    _show(session, facts)


@command.command(
    short_help="Remember what a statement says.",
    epilog=show_examples(
        'knotwork memory tell "Ann Lee lives in Oslo."',
        'knotwork memory tell "Ann Lee no longer lives in Oslo."',
        'knotwork memory tell "请记住：我负责采购。"',
    ),
)
@click.argument("text")
@with_session()
def tell(session: Session, *, text: str) -> None:
    """Remember the facts of a statement; a new value of one ends the old."""
    from knotwork.agents.chatting import Chat
    from knotwork.cli.commands.chat import print_told
    from knotwork.cli.envelopes import describe_told

    with Chat(session.open()) as chat:
        told = chat.tell(text)
        tokens = chat.tokens_for_memory
    if session.common.json:
        session.terminal.emit(describe_told(told, tokens=tokens))
        return
    print_told(session.terminal, told, tokens=tokens)


@command.command(
    short_help="Delete what is remembered of a name.",
    epilog=show_examples(
        'knotwork memory forget "Ann Lee"',
        'knotwork memory forget "the user"',
        'knotwork memory forget "Ann Lee" --store papers.knot',
    ),
)
@click.argument("name")
@with_session()
def forget(session: Session, *, name: str) -> None:
    """Delete all facts with a name at either end."""
    with closing(_open(session)) as memory:
        count = memory.forget(name)
    if session.common.json:
        session.terminal.emit({"name": name, "deleted": count})
    else:
        session.terminal.note(f"Deleted {count_of(count, 'fact')} about {name}.")


def _open(session: Session) -> FactMemory:
    from knotwork.agents.memory.facts import FactMemory, memory_path

    return FactMemory(memory_path(session.open().store.url))


def _show(session: Session, facts: list[RememberedFact]) -> None:
    from knotwork.cli.envelopes import describe_fact

    if session.common.json:
        session.terminal.emit({"facts": [describe_fact(fact) for fact in facts]})
        return
    rows = [
        (f.subject, f.relation, f.object, f.valid_from, f.valid_to or "", f.source) for f in facts
    ]
    session.terminal.table(rows, header=("subject", "relation", "object", "since", "until", "from"))
    session.terminal.note(count_of(len(facts), "fact"), style="dim")
