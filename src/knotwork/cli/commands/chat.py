"""`knotwork chat`: questions one after another, each understood with those before it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import MODE_OPTION, RETRIEVER_OPTION, WHERE_OPTION, with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import Terminal, join_lines
from knotwork.errors import KnotworkError, UnknownName

if TYPE_CHECKING:
    from knotwork.agents.chatting import Chat, ChatReply
    from knotwork.agents.memory import RememberedFact, Told

PROMPT = "> "
COMMANDS = {
    "/facts": "show what is remembered",
    "/undo": "forget the fact stated last",
    "/forget": "delete what is remembered of a name: /forget NAME",
    "/new": "begin anew; what is remembered stays",
    "/help": "show this",
    "/quit": "leave, as Ctrl-D does",
}


@click.command(
    epilog=show_examples(
        "knotwork chat",
        "knotwork chat --store papers.knot --no-llm",
        "knotwork chat --json < questions.txt    a line of JSON for each",
    )
)
@RETRIEVER_OPTION
@MODE_OPTION
@WHERE_OPTION
@click.option("--no-llm", is_flag=True, help="Quote sentences, though a language model is set.")
@click.option(
    "--budget", metavar="AMOUNT", default="", help="The most to spend on a question: as 3k."
)
@with_session()
def command(
    session: Session,
    *,
    retriever: str | None,
    mode: str,
    filters: tuple[str, ...],
    no_llm: bool,
    budget: str,
) -> None:
    """Ask one question after another; "and when was it built?" is understood.

    Questions are read from standard input, a line each. Statements, as "Ann Lee leads the team
    since May 2024", are remembered beside the index (INDEX.memory) with the time in which they
    hold; these facts are shown beside answers, never as their source. /help lists commands.
    """
    from knotwork.agents.chatting import Chat
    from knotwork.cli.evidence import note_emptiness

    knowledge_base = session.open()
    is_watched = sys.stdin.isatty() and not session.common.json
    options: dict[str, Any] = {"retriever": retriever, "mode": mode, "budget": budget}
    options["filters"] = filters
    with Chat(knowledge_base, use_llm=not no_llm, **options) as chat:
        for note in chat.notes:
            session.terminal.note(note, style="yellow")
        note_emptiness(session.terminal, knowledge_base)
        if is_watched:
            session.terminal.note(
                "Ask, or state a fact to remember. /help shows more.", style="dim"
            )
        for line in _lines(is_watched=is_watched):
            if line == "/quit":
                break
            try:
                _answer(session, chat, line)
            except KnotworkError as error:
                if not is_watched:
                    raise
                session.terminal.fail(join_lines(error.message), join_lines(error.fix))
            except KeyboardInterrupt:
                if not is_watched:
                    raise
                session.terminal.note("Stopped.", style="yellow")


def _lines(*, is_watched: bool) -> Iterator[str]:
    """Yield what is typed, or what comes on standard input, without empty lines."""
    if not is_watched:
        yield from filter(None, (line.strip() for line in sys.stdin))
        return
    with suppress(ImportError):
        import readline  # noqa: F401  lets `input` edit the line and recall earlier ones
    while True:
        try:
            line = input(PROMPT).strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if line:
            yield line


def _answer(session: Session, chat: Chat, line: str) -> None:
    """Do what one line asks for, and print what became of it."""
    if line.startswith("/"):
        _run_command(session, chat, line)
        return
    from knotwork.cli.streaming import AnswerView

    reply: ChatReply | None = None
    with AnswerView(session.terminal, hidden=session.common.no_progress) as view:
        for event in chat.events(line):
            if event.step is not None:
                view.show(event.step)
            reply = event.reply
    assert reply is not None, "the last event has the reply"
    if session.common.json:
        session.terminal.emit(_describe_reply(reply))
    elif reply.told is not None:
        print_told(session.terminal, reply.told, tokens=reply.tokens)
    else:
        _print_answer(session, reply, is_shown=view.has_shown_answer)


def _run_command(session: Session, chat: Chat, line: str) -> None:
    name, _, rest = line.partition(" ")
    if name not in COMMANDS:
        raise UnknownName("command", name, COMMANDS)
    terminal = session.terminal
    if name == "/facts":
        _print_facts(terminal, chat.facts())
    elif name == "/undo":
        fact = chat.undo()
        terminal.note(f"Taken back: {fact.text}." if fact else "Nothing was told.", style="dim")
    elif name == "/forget":
        count = chat.forget(rest)
        terminal.note(f"Forgot {count} of “{join_lines(rest)}”.", style="dim")
    elif name == "/new":
        chat.clear()
        terminal.note("A new conversation.", style="dim")
    else:
        terminal.table(list(COMMANDS.items()))


def _print_answer(session: Session, reply: ChatReply, *, is_shown: bool) -> None:
    from knotwork.cli.answers import print_answer, print_usage

    assert reply.answer is not None, "a reply to a question has an answer"
    needed = session.settings.answer.abstain_below
    print_answer(session.terminal, reply.answer, needed=needed, is_shown=is_shown)
    if reply.remembered:
        session.terminal.say("\nTold before (no source of the answer)", style="bold")
        _print_facts(session.terminal, reply.remembered)
    print_usage(session.terminal, reply.answer)
    session.terminal.say()


def print_told(terminal: Terminal, told: Told, *, tokens: int) -> None:
    """Print what a statement made known, what it ended, and what reading it cost."""
    for fact in told.learned:
        terminal.say(f"Remembered: {join_lines(fact.text)}.")
    for fact in told.ended:
        terminal.say(f"No longer so: {join_lines(fact.text)}.")
    if told.note:
        terminal.note(told.note, style="yellow")
    if tokens:
        terminal.note(f"{tokens:,} model tokens", style="dim")


def _print_facts(terminal: Terminal, facts: Sequence[RememberedFact]) -> None:
    """Print facts, a line each."""
    for fact in facts:
        terminal.say(join_lines(fact.text), indent=2)
    if not facts:
        terminal.note("Nothing is remembered.", style="dim")


def _describe_reply(reply: ChatReply) -> dict[str, Any]:
    """Return the object that --json prints for a message."""
    from knotwork.cli.envelopes import describe_answer, describe_fact, describe_told

    if reply.told is not None:
        return {"message": reply.message, **describe_told(reply.told, tokens=reply.tokens)}
    assert reply.answer is not None and reply.evidence is not None, "both or neither"  # noqa: PT018
    return {
        "message": reply.message,
        "understood": reply.evidence.query.text,
        **describe_answer(reply.answer),
        "remembered": [describe_fact(fact) for fact in reply.remembered],
    }
