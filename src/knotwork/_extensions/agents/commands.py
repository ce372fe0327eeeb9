"""`knotwork chat`, `memory` and `agent`: conversations, their facts, and answers in steps."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from knotwork._cli.commands.ask import show_found
from knotwork._cli.session import (
    MODE_OPTION,
    RETRIEVER_OPTION,
    WHERE_OPTION,
    Session,
    choice_option,
    command,
    command_group,
    number_option,
    text_option,
    without_option,
)
from knotwork._cli.views import NOTES, Line, Part, Table, count_of, each, join_lines, note
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError, KnotworkError, UnknownName

if TYPE_CHECKING:
    from knotwork._extensions.agents.agent import AgentOptions
    from knotwork._extensions.agents.chat import Chat, ChatResponse, MemoryOffer, MemoryUpdate
    from knotwork._extensions.agents.fact_memory import FactMemory
    from knotwork._synthesis.ask_request import AskOptions
    from knotwork.records import Answer


PROMPT = "> "


CHAT_COMMANDS = {
    "/accept": "remember what was offered last, or by its id: /accept ID",
    "/refuse": "do not remember what was offered last: /refuse [ID]",
    "/facts": "list the remembered facts",
    "/undo": "forget the last fact",
    "/forget": "delete the facts about a name: /forget NAME",
    "/save": "save the answers since the beginning as Markdown or JSON: /save FILE.md",
    "/new": "start a new conversation; facts are kept",
    "/help": "show this help",
    "/quit": "quit (or Ctrl-D)",
}


@command(handles_signals=True)
@RETRIEVER_OPTION
@MODE_OPTION
@WHERE_OPTION
@without_option("--no-llm", "use_llm", help="Quote sentences; do not use the language model.")
@text_option("--budget", metavar="AMOUNT", help="Spending limit per question, such as 3k.")
@click.option(
    "--yes", "-y", "accepts", is_flag=True, help="Remember the facts of all statements unasked."
)
def chat_command(
    session: Session,
    *,
    accepts: bool,
    **options: Unpack[AskOptions],
) -> None:
    """Ask questions in a conversation; follow-ups such as "and when was it built?" work.

    Each line of standard input is a message. "Remember that Ann Lee leads the team since May 2024"
    is stored beside the index (INDEX.memory) as a fact with a period of validity. The facts of
    other statements are offered: at a terminal you are asked; without one they are stored only
    with --yes or by the line /accept. Facts that answer a question come first in the answer, cited
    as [M1]. Type /help for a list of commands.
    $ knotwork chat
    $ knotwork chat --store papers.knot --no-llm
    $ knotwork chat --json < questions.txt    prints a JSON line for each
    """
    from knotwork._cli.answers import note_empty_index
    from knotwork._extensions.agents.chat import Chat

    knowledge_base = session.open()
    is_watched = sys.stdin.isatty() and not session.common.json
    with Chat(knowledge_base, **options) as chat:
        session.terminal.show(chat, NOTES)
        note_empty_index(session.terminal, knowledge_base)
        if is_watched:
            session.terminal.note(
                "Ask a question, or state a fact to remember. Type /help for help.", style="dim"
            )
        replies: list[ChatResponse] = []
        for line in _read_lines(is_watched=is_watched):
            if line == "/quit":
                break
            try:
                if line.split(maxsplit=1)[0] == "/save":
                    _save(session, replies, line.removeprefix("/save").strip())
                    continue
                reply = _answer(session, chat, line)
                replies += [reply] if reply is not None else []
                if reply is not None and reply.offer is not None:
                    _settle_offer(session, chat, reply.offer, accepts=accepts, asks=is_watched)
            except KnotworkError as error:
                if not is_watched:
                    raise
                session.terminal.fail(error.message, error.fix)
            except KeyboardInterrupt:
                if not is_watched:
                    raise
                session.terminal.note("Stopped.", style="yellow")


def _read_lines(*, is_watched: bool) -> Iterator[str]:
    """Yield the lines typed at a prompt, or those of standard input, without empty ones."""
    if not is_watched:
        yield from filter(None, (line.strip() for line in sys.stdin))
        return
    with suppress(ImportError):
        import readline  # noqa: F401  gives `input` line editing and a history
    while True:
        try:
            line = input(PROMPT).strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if line:
            yield line


def _answer(session: Session, chat: Chat, line: str) -> ChatResponse | None:
    """Process one message or command, print the result, and return the reply to a message."""
    if line.startswith("/"):
        _run_command(session, chat, line)
        return None
    from knotwork._cli.answers import AnswerView

    run = chat.say.run(line)
    with AnswerView(session.terminal, hidden=session.common.no_progress) as view:
        for step in run:
            view.show(step)
    reply = run.result()
    if session.common.json:
        session.terminal.emit(_describe_reply(reply))
        return reply
    if reply.told is not None:
        session.terminal.show(reply.told, *_stated(reply.told))
    if reply.answer is not None:
        _show_answer(session, reply, reply.answer, is_shown=view.has_shown_answer)
    return reply


def _settle_offer(
    session: Session, chat: Chat, offer: MemoryOffer, *, accepts: bool, asks: bool
) -> None:
    """Store the facts of an offer if the user agrees; without a terminal only if ``accepts``."""
    terminal = session.terminal
    is_json = session.common.json
    if not is_json and not accepts:
        terminal.show(offer, *_OFFERED)
    if asks and not accepts:
        accepts = _agrees()
        if not accepts:
            chat.refuse(offer.id)
            terminal.note("Not remembered.", style="dim")
            return
    if accepts:
        _accept(session, chat, offer.id)
    elif not is_json:
        terminal.note(
            "Not remembered. Answer /accept, begin with “Remember that”, or use --yes.", style="dim"
        )


def _agrees() -> bool:
    try:
        return input("Remember this? [y/N] ").strip().lower() in {"y", "yes", "j", "ja", "是", "好"}
    except EOFError:
        print()
        return False


def _run_command(session: Session, chat: Chat, line: str) -> None:
    name, _, rest = line.partition(" ")
    if name not in CHAT_COMMANDS:
        raise UnknownName("command", name, CHAT_COMMANDS)
    terminal = session.terminal
    if name == "/facts":
        terminal.show({"facts": chat.facts()}, *_FACTS)
    elif name == "/accept":
        _accept(session, chat, rest.strip())
    elif name == "/refuse":
        refused = chat.refuse(rest.strip())
        session.emit({"refused": refused.id})
        terminal.note("Not remembered.", style="dim")
    elif name == "/undo":
        fact = chat.undo()
        undone = f"Forgot: {fact.text}." if fact else "There is no fact to undo."
        terminal.note(undone, style="dim")
    elif name == "/forget":
        count = chat.forget(rest)
        terminal.note(f"Deleted {count_of(count, 'fact')} about “{join_lines(rest)}”.", style="dim")
    elif name == "/new":
        chat.clear()
        terminal.note("New conversation.", style="dim")
    else:
        terminal.table(CHAT_COMMANDS.items())


def _save(session: Session, replies: Sequence[ChatResponse], name: str) -> None:
    """Save the replies to a new file, as JSON if its name ends so, else as Markdown."""
    from knotwork._cli.terminal import write_json

    if not name:
        raise ConfigError("`/save` has no file.", fix="Write it as /save FILE.md or FILE.json.")
    path = Path(name).expanduser()
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            if path.suffix.lower() == ".json":
                write_json({"messages": [_describe_reply(reply) for reply in replies]}, file)
            else:
                file.write("\n".join(_as_markdown(item.message, item.answer) for item in replies))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"Cannot save to `{path}`: {reason}.", fix="Name another file."
        ) from error
    session.terminal.note(f"Saved {count_of(len(replies), 'message')} to {path}.", style="dim")


def _as_markdown(message: str, answer: Answer | None) -> str:
    """Return a question and its answer with the quoted sources as Markdown."""
    lines = [f"## {join_lines(message)}", ""]
    if answer is not None:
        lines += [answer.text, ""]
        for cited in answer.citations:
            place = ", ".join(filter(None, (cited.document, cited.section, cited.page)))
            lines.append(f"- [{cited.number}] {place}: “{join_lines(cited.quote)}”")
        lines += [f"- [M{fact.number}] {fact.text}" for fact in answer.memory]
    return "\n".join(lines).rstrip() + "\n"


def _accept(session: Session, chat: Chat, offer_id: str) -> None:
    from knotwork._extensions.agents.shapes import MEMORY_UPDATE

    offer_id = offer_id or next((offer.id for offer in reversed(chat.offers)), "")
    update = chat.accept(offer_id)
    described = {"accepted": offer_id, **MEMORY_UPDATE(update)}
    session.show(described, *_stated(update), **fields_of(update))


def _show_answer(session: Session, reply: ChatResponse, answer: Answer, *, is_shown: bool) -> None:
    from knotwork._cli.answers import note_usage, show_answer

    show_answer(
        session.terminal, answer, needed=session.settings.answer.abstain_below, is_shown=is_shown
    )
    cited = {(fact.subject, fact.relation, fact.object) for fact in answer.memory}
    others = [f for f in reply.remembered if (f.subject, f.relation, f.object) not in cited]
    if others:
        title = Line("\nOther remembered facts", "bold")
        session.terminal.show({"facts": others}, title, *_FACTS)
    note_usage(session.terminal, answer)
    session.terminal.say()


def _stated(update: MemoryUpdate) -> tuple[Part, ...]:
    """Return the view of the facts that a statement added and ended."""
    lead = "Remembered" if update.saved else "Remembered until this conversation ends"
    return (
        each("learned", lead + ": {text}."),
        each("ended", "No longer valid: {text}."),
        note("{note}", "yellow"),
        note("[{tokens} model tokens]"),
    )


_OFFERED = (
    each("facts", "Remember “{text}”?"),
    each("ended", "Remember as no longer valid: “{text}”?"),
)


_FACTS = (
    each("facts", Line("{text}", indent=2)),
    note("[{facts:!}No facts are remembered.]"),
)


def _describe_reply(reply: ChatResponse) -> dict[str, Any]:
    """Return the object that --json prints for a message."""
    from knotwork._extensions.agents.shapes import FACT, MEMORY_UPDATE, OFFER
    from knotwork._shapes.results import ANSWER

    described: dict[str, Any] = {"message": reply.message}
    if reply.told is not None:
        described |= MEMORY_UPDATE(reply.told)
    if reply.offer is not None:
        described |= {"offer": OFFER(reply.offer), "tokens": reply.tokens}
    if reply.answer is None or reply.evidence is None:
        return described
    return {
        **described,
        "understood": reply.evidence.query.text,
        **ANSWER(reply.answer),
        "remembered": list(map(FACT, reply.remembered)),
    }


@command_group()
def memory_command() -> None:
    """List, add and delete the facts that conversations remember (knotwork chat).

    $ knotwork memory tell "Ann Lee leads the team since May 2024."
    $ knotwork memory list "Ann Lee"
    $ knotwork memory forget "Ann Lee"
    """


@command(group=memory_command, name="list", short_help="List the remembered facts.")
@click.argument("name", required=False)
@click.option(
    "--at",
    metavar="DATE",
    help="List only facts valid at some time of a day, month or year: 2024-02-01, 2024-02, 2024.",
)
def list_facts(session: Session, *, name: str | None, at: str | None) -> None:
    """List all remembered facts, or those about NAME (`me` is you), including those no longer
    valid.

    $ knotwork memory list
    $ knotwork memory list "Ann Lee"
    $ knotwork memory list --at 2024-02-01 --json | jq .facts
    """
    from knotwork._extensions.agents.moments import read_moment
    from knotwork._extensions.agents.shapes import FACT

    moment = read_moment(at) if at else None
    if at and not moment:
        raise ConfigError(f"`{at}` is not a date.", fix="Write it as 2024-02-01, 2024-02 or 2024.")
    with closing(_open_memory(session)) as memory:
        facts = memory.about([name], at=moment) if name else memory.facts(at=moment)
    session.show(
        {"facts": list(map(FACT, facts))},
        Table("facts", "subject relation object since until from=source"),
        note("{facts:#fact}"),
    )


@command(group=memory_command, short_help="Remember the facts of a statement.")
@click.argument("text")
def tell(session: Session, *, text: str) -> None:
    """Remember the facts of a statement. A new value ends the validity of the old one.

    $ knotwork memory tell "Ann Lee lives in Oslo."
    $ knotwork memory tell "Ann Lee no longer lives in Oslo."
    $ knotwork memory tell "请记住：我负责采购。"
    """
    from knotwork._extensions.agents.chat import Chat
    from knotwork._extensions.agents.shapes import MEMORY_UPDATE

    with Chat(session.open()) as chat:
        if chat.unsaved is not None:
            raise chat.unsaved
        update = chat.tell(text)
    session.show(MEMORY_UPDATE(update), *_stated(update), **fields_of(update))


@command(group=memory_command, short_help="Delete the facts about a name.")
@click.argument("name")
def forget(session: Session, *, name: str) -> None:
    """Delete all facts with NAME as subject or object; `me` is you.

    $ knotwork memory forget "Ann Lee"
    $ knotwork memory forget me
    $ knotwork memory forget "Ann Lee" --store papers.knot
    """
    with closing(_open_memory(session)) as memory:
        count = memory.forget(name)
    deleted = note("Deleted {deleted:#fact} about {name}.", "")
    session.show({"name": name, "deleted": count}, deleted)


def _open_memory(session: Session) -> FactMemory:
    from knotwork._extensions.agents.fact_memory import open_facts

    return open_facts(session.open().store)


AGENT_KINDS = ("iterative", "corrective", "reasoning", "revising")


@command()
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
    "--tokens", default=8_000, least=0, help="Maximum number of tokens for choosing steps."
)
@number_option("-k", help="Number of passages.")
@WHERE_OPTION
@click.option("--explain", is_flag=True, help="Show the passages, and every step.")
@without_option("--no-llm", "use_llm", help="Plan by rules; do not use the language model.")
def agent_command(
    session: Session, *, question: str, names: str, explain: bool, **options: Unpack[AgentOptions]
) -> None:
    """Answer a question step by step: plan, search, judge, and search again.

    A language model, if one is set, chooses the steps and writes the answer. Otherwise rules
    choose, and the answer consists of sentences from the documents.
    $ knotwork agent "Where did the director of Silver Lantern grow up?"
    $ knotwork agent "Who approves travel abroad?" --kind corrective --explain
    $ knotwork agent "What did Ann Lee direct?" --where "date >= 2023"
    """
    from knotwork._extensions.agents.agent import ask_agent

    if not question.strip():
        raise ConfigError("The question is empty.", fix='For example: knotwork agent "Who …?"')
    knowledge_base = session.open()
    options["tools"] = [name.strip() for name in names.split(",") if name.strip()]
    answer, evidence = ask_agent(knowledge_base, question, **options)
    passages = evidence if explain else None
    show_found(session, knowledge_base, answer, passages, steps=list(evidence.trace))
