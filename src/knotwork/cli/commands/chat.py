"""`knotwork chat` and `knotwork memory`: conversations, and the facts stated in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.session import (
    MODE_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    Session,
    keep_common,
    show_examples,
    with_session,
)
from knotwork.cli.terminal import Terminal, count_of, join_lines
from knotwork.errors import ConfigError, KnotworkError, UnknownName

if TYPE_CHECKING:
    from knotwork.agents.chat import Chat, ChatResponse, MemoryUpdate
    from knotwork.agents.fact_memory import FactMemory, RememberedFact


PROMPT = "> "
CHAT_COMMANDS = {
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
def chat_command(
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
    from knotwork.agents.chat import Chat
    from knotwork.cli.answers import note_empty_index

    knowledge_base = session.open()
    is_watched = sys.stdin.isatty() and not session.common.json
    options: dict[str, Any] = {"retriever": retriever, "mode": mode, "budget": budget}
    options["filters"] = filters
    with Chat(knowledge_base, use_llm=not no_llm, **options) as chat:
        for note in chat.notes:
            session.terminal.note(note, style="yellow")
        note_empty_index(session.terminal, knowledge_base)
        if is_watched:
            session.terminal.note(
                "Ask, or state a fact to remember. /help shows more.", style="dim"
            )
        for line in _read_lines(is_watched=is_watched):
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


def _read_lines(*, is_watched: bool) -> Iterator[str]:
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
    from knotwork.cli.answers import AnswerView

    reply: ChatResponse | None = None
    with AnswerView(session.terminal, hidden=session.common.no_progress) as view:
        for event in chat.events(line):
            if event.step is not None:
                view.show(event.step)
            reply = event.reply
    assert reply is not None, "the last event has the reply"
    if session.common.json:
        session.terminal.emit(_describe_reply(reply))
    elif reply.told is not None:
        print_stated_facts(session.terminal, reply.told, tokens=reply.tokens)
    else:
        _print_answer(session, reply, is_shown=view.has_shown_answer)


def _run_command(session: Session, chat: Chat, line: str) -> None:
    name, _, rest = line.partition(" ")
    if name not in CHAT_COMMANDS:
        raise UnknownName("command", name, CHAT_COMMANDS)
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
        terminal.table(list(CHAT_COMMANDS.items()))


def _print_answer(session: Session, reply: ChatResponse, *, is_shown: bool) -> None:
    from knotwork.cli.answers import print_answer, print_answer_usage

    assert reply.answer is not None, "a reply to a question has an answer"
    needed = session.settings.answer.abstain_below
    print_answer(session.terminal, reply.answer, needed=needed, is_shown=is_shown)
    if reply.remembered:
        session.terminal.say("\nTold before (no source of the answer)", style="bold")
        _print_facts(session.terminal, reply.remembered)
    print_answer_usage(session.terminal, reply.answer)
    session.terminal.say()


def print_stated_facts(terminal: Terminal, told: MemoryUpdate, *, tokens: int) -> None:
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


def _describe_reply(reply: ChatResponse) -> dict[str, Any]:
    """Return the object that --json prints for a message."""
    from knotwork.cli.json_output import describe_answer, describe_fact, describe_stated_facts

    if reply.told is not None:
        return {"message": reply.message, **describe_stated_facts(reply.told, tokens=reply.tokens)}
    assert reply.answer is not None and reply.evidence is not None, "both or neither"  # noqa: PT018
    return {
        "message": reply.message,
        "understood": reply.evidence.query.text,
        **describe_answer(reply.answer),
        "remembered": [describe_fact(fact) for fact in reply.remembered],
    }


@click.group(
    epilog=show_examples(
        'knotwork memory tell "Ann Lee leads the team since May 2024."',
        'knotwork memory list "Ann Lee"',
        'knotwork memory forget "Ann Lee"',
    )
)
@keep_common
def memory_command() -> None:
    """Show, add and delete facts stated in conversations (knotwork chat)."""


@memory_command.command(
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
def list_facts(session: Session, *, name: str | None, at: str | None) -> None:
    """List what is remembered, of a name or of all, also what no longer holds."""
    from knotwork.agents.fact_rules import read_moment

    moment = read_moment(at) if at else None
    if at and not moment:
        raise ConfigError(f"`{at}` is no date.", fix="Write it as 2024-02-01 or 2024.")
    with closing(_open_memory(session)) as memory:
        facts = memory.about([name], at=moment) if name else memory.facts(at=moment)
    _emit_facts(session, facts)


@memory_command.command(
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
    from knotwork.agents.chat import Chat
    from knotwork.cli.json_output import describe_stated_facts

    with Chat(session.open()) as chat:
        told = chat.tell(text)
        tokens = chat.tokens_for_memory
    if session.common.json:
        session.terminal.emit(describe_stated_facts(told, tokens=tokens))
        return
    print_stated_facts(session.terminal, told, tokens=tokens)


@memory_command.command(
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
    with closing(_open_memory(session)) as memory:
        count = memory.forget(name)
    if session.common.json:
        session.terminal.emit({"name": name, "deleted": count})
    else:
        session.terminal.note(f"Deleted {count_of(count, 'fact')} about {name}.")


def _open_memory(session: Session) -> FactMemory:
    from knotwork.agents.fact_memory import FactMemory, memory_path

    return FactMemory(memory_path(session.open().store.url))


def _emit_facts(session: Session, facts: list[RememberedFact]) -> None:
    from knotwork.cli.json_output import describe_fact

    if session.common.json:
        session.terminal.emit({"facts": [describe_fact(fact) for fact in facts]})
        return
    rows = [
        (f.subject, f.relation, f.object, f.valid_from, f.valid_to or "", f.source) for f in facts
    ]
    session.terminal.table(rows, header=("subject", "relation", "object", "since", "until", "from"))
    session.terminal.note(count_of(len(facts), "fact"), style="dim")
