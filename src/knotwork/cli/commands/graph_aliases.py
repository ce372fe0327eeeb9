"""`knotwork graph names`, `join` and `part`: list, merge and split the aliases of entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.session import Session, show_examples, with_session
from knotwork.cli.terminal import Terminal, count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.indexing.resolution.resolver import (
        MergedEntity,
        NamedDecision,
        NamedHomonym,
        SameNames,
    )
    from knotwork.knowledge_base import KnowledgeBase


FIND_COMMAND = "knotwork graph names --find"
_COUNT = click.IntRange(min=1)
_SHOWN_DOCUMENTS = 5


@click.command(
    short_help="List things with several names, and why.",
    epilog=show_examples(
        "knotwork graph names --find",
        'knotwork graph names "World Health Organization"',
        "knotwork graph names --apart --json",
    ),
)
@click.argument("name", metavar="[NAME]", required=False, default="")
@click.option("--apart", is_flag=True, help="Pairs that are held apart instead.")
@click.option("--homonyms", is_flag=True, help="Names that mean several things instead.")
@click.option("--find", is_flag=True, help="Compare names by rules first; no model is asked.")
@click.option(
    "-n", "--limit", metavar="N", type=_COUNT, default=20, show_default=True, help="At most."
)
@with_session()
def names(
    session: Session, *, name: str, apart: bool, homonyms: bool, find: bool, limit: int
) -> None:
    """List the things that have several names, with each decision: who made it, and why.

    With a NAME, that thing alone. Where a language model is set, `knotwork index` compares names;
    --find does it by rules, at no cost. Change a decision with `graph join` and `graph part`.
    """
    if apart and homonyms:
        raise ConfigError("--apart and --homonyms are two lists.", fix="Give one of them.")
    opened = session.open()
    if find:
        opened = session.open(read_only=False)
        done = opened.find_same_names()
        session.terminal.note(
            f"Compared {count_of(done.pairs, 'pair')} of names by rules: "
            f"{done.same:,} are the same, {done.margin:,} open",
            style="dim",
        )
    if homonyms:
        _report_homonyms(session, opened.homonyms(name), limit)
        _note_state(session.terminal, opened.same_names(name))
        return
    known = opened.same_names(name)
    if session.common.json:
        session.terminal.emit(_describe_aliases(known, limit))
    elif apart:
        _print_split_pairs(session.terminal, known.apart, limit)
    else:
        _print_entities(session.terminal, known, name, limit)
    _note_state(session.terminal, known)


@click.command(
    short_help="Decide that two names mean one thing.",
    epilog=show_examples(
        'knotwork graph join WHO "World Health Organization"',
        "knotwork graph join 联通 中国联通",
        'knotwork graph join WHO "World Health Organization" --json',
    ),
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
@with_session()
def join(session: Session, *, one: str, other: str) -> None:
    """Decide by hand that two names mean one thing. No later run changes it; `graph part` does."""
    opened = _open_to_write(session)
    before = opened.same_names()
    decided = opened.join(one, other)
    if not decided.refused:
        _report_decision(session, opened, decided, before, "are one thing")
        return
    barring = _find_blocking_decisions(opened, decided)
    if session.common.json:
        session.terminal.emit(
            _describe_decision(decided) | {"barred_by": _describe_decisions(barring)}
        )
        return
    session.terminal.say(f"{decided.first} and {decided.second} stay apart:", style="bold")
    _print_decisions(session.terminal, barring)
    session.terminal.note("Join these too, if they are one thing: then this join counts.")


@click.command(
    short_help="Hold two names apart, whatever joined them.",
    epilog=show_examples(
        'knotwork graph part Curie "Pierre Curie"',
        "knotwork graph part 吉林 吉林市",
        'knotwork graph part Curie "Pierre Curie" --json',
    ),
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
@with_session()
def part(session: Session, *, one: str, other: str) -> None:
    """Undo that two names mean one thing. No later run joins them again; `graph join` does."""
    opened = _open_to_write(session)
    before = opened.same_names()
    _report_decision(session, opened, opened.part(one, other), before, "are held apart")


def _open_to_write(session: Session) -> KnowledgeBase:
    session.open()  # raises where there is no index, which opening to write would make
    return session.open(read_only=False)


def _report_decision(
    session: Session,
    opened: KnowledgeBase,
    decided: NamedDecision,
    before: SameNames,
    outcome: str,
) -> None:
    """Print a decision, the things that its names are now, and what it takes the force from."""
    things = opened.same_names([decided.first, decided.second]).things
    were = {item.decision.pair for item in before.apart if item.refused}
    now = [item for item in opened.same_names().apart if item.refused]
    lost = [item for item in now if item.decision.pair not in were]
    if session.common.json:
        described = [_describe_entity(thing) for thing in things]
        further = {"things": described, "lost": _describe_decisions(lost)}
        session.terminal.emit(_describe_decision(decided) | further)
        return
    session.terminal.say(f"{decided.first} and {decided.second} {outcome}", style="bold")
    for thing in things:
        session.terminal.say(f"One thing: {', '.join(thing.names)}", indent=2)
    if lost:
        session.terminal.say("No longer counts:")
        _print_decisions(session.terminal, lost)


def _find_blocking_decisions(opened: KnowledgeBase, decided: NamedDecision) -> list[NamedDecision]:
    """Return the decisions that hold apart what a refused one would join."""
    known = opened.same_names([decided.first, decided.second])
    sides = []
    for end in decided.decision.pair:
        of_thing = (thing.entity_ids for thing in known.things if end in thing.entity_ids)
        sides.append({end, *next(of_thing, ())})
    one, other = sides
    return [
        item
        for item in known.apart
        if not item.decision.joins
        and one & set(item.decision.pair)
        and other & set(item.decision.pair)
    ]


def _print_entities(terminal: Terminal, known: SameNames, name: str, limit: int) -> None:
    for thing in known.things[:limit]:
        terminal.say(", ".join(thing.names), style="bold")
        _print_decisions(terminal, thing.decisions)
    if known.things:
        _note_count(terminal, len(known.things), limit, "thing with several names")
    elif known.compared:
        terminal.say(f"{name} has no other name." if name else "No thing has several names.")
        if known.apart:
            held = f"{count_of(len(known.apart), 'pair')} held apart"
            terminal.note(f"{held}: see --apart", style="dim")


def _print_split_pairs(terminal: Terminal, apart: Sequence[NamedDecision], limit: int) -> None:
    _print_decisions(terminal, apart[:limit])
    if apart:
        _note_count(terminal, len(apart), limit, "pair held apart", "pairs held apart")
    else:
        terminal.say("No pair is held apart.")


def _print_decisions(terminal: Terminal, decisions: Iterable[NamedDecision]) -> None:
    rows = []
    for item in decisions:
        decision = item.decision
        sign = "=" if decision.joins and not item.refused else "≠"
        why = decision.reason
        if decision.undone:
            why = f"undone: was {decision.verdict}, {why}"
        elif item.refused:
            why = f"refused, for others are held apart: {why}"
        by = "by hand" if decision.by_person else f"by {decision.source}"
        rows.append((item.first, sign, item.second, by, f"{decision.score:.2f}", why))
    terminal.table(rows, indent=2)


def _note_count(terminal: Terminal, total: int, limit: int, one: str, many: str = "") -> None:
    plural = many or one.replace("thing ", "things ")
    cut = f", {limit:,} shown (see --limit)" if total > limit else ""
    terminal.note(f"{count_of(total, one, plural)}{cut}", style="dim")


def _note_state(terminal: Terminal, known: SameNames) -> None:
    """Tell how to get decisions where there are none, or none yet of what changed."""
    if not known.compared:
        terminal.note(
            f"No names were compared yet. By rules, at no cost: {FIND_COMMAND}; "
            "`knotwork index` also asks a language model, where one is set."
        )
    elif known.waiting:
        changed = count_of(known.waiting, "name")
        terminal.note(f"{changed} changed since they were compared: {FIND_COMMAND}", style="yellow")


def _report_homonyms(session: Session, found: Sequence[NamedHomonym], limit: int) -> None:
    if session.common.json:
        described = [
            {
                "id": item.homonym.entity_id,
                "name": item.name,
                "reason": item.homonym.reason,
                "meanings": [
                    {"documents": list(documents), "chunks": list(chunks)}
                    for documents, chunks in zip(item.documents, item.homonym.senses, strict=True)
                ],
            }
            for item in found[:limit]
        ]
        session.terminal.emit({"homonyms": described})
        return
    for item in found[:limit]:
        session.terminal.say(f"{item.name}: {item.homonym.reason}", style="bold")
        for number, documents in enumerate(item.documents, start=1):
            more = len(documents) - _SHOWN_DOCUMENTS
            rest = f" and {more:,} more" if more > 0 else ""
            shown = ", ".join(documents[:_SHOWN_DOCUMENTS])
            session.terminal.say(f"{number}. in {shown}{rest}", indent=2)
    if found:
        one, many = "name that means several things", "names that mean several things"
        _note_count(session.terminal, len(found), limit, one, many)
    else:
        session.terminal.say("No name is known to mean several things.")


def _describe_aliases(known: SameNames, limit: int) -> dict[str, Any]:
    return {
        "things": [_describe_entity(thing) for thing in known.things[:limit]],
        "apart": _describe_decisions(known.apart[:limit]),
        "total": {"things": len(known.things), "apart": len(known.apart)},
        "compared": known.compared,
        "waiting": known.waiting,
    }


def _describe_entity(thing: MergedEntity) -> dict[str, Any]:
    return {
        "ids": list(thing.entity_ids),
        "names": list(thing.names),
        "chunks": thing.chunks,
        "decisions": _describe_decisions(thing.decisions),
    }


def _describe_decisions(decisions: Iterable[NamedDecision]) -> list[dict[str, Any]]:
    return [_describe_decision(item) for item in decisions]


def _describe_decision(item: NamedDecision) -> dict[str, Any]:
    decision = item.decision
    return {
        "names": [item.first, item.second],
        "ids": list(decision.pair),
        "verdict": str(decision.verdict),
        "by": decision.source,
        "reason": decision.reason,
        "score": round(decision.score, 4),
        "undone": decision.undone,
        "refused": item.refused,
    }
