"""`knotwork graph names`, `merge` and `split`: list aliases of entities, and decide on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command, number_option
from knotwork._cli.terminal import Terminal, count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import (
        MergedEntity,
        NamedDecision,
        NamedHomonym,
        SameNames,
    )
    from knotwork._knowledge_base import KnowledgeBase


FIND_COMMAND = "knotwork graph names --find"
_SHOWN_DOCUMENTS = 5


@command(
    "knotwork graph names --find",
    'knotwork graph names "World Health Organization"',
    "knotwork graph names --apart --json",
    short_help="List entities with aliases, and why they were merged.",
)
@click.argument("name", metavar="[NAME]", required=False, default="")
@click.option("--apart", is_flag=True, help="List pairs that must not be merged instead.")
@click.option("--homonyms", is_flag=True, help="List names with several meanings instead.")
@click.option("--find", is_flag=True, help="Compare names by rules first, without a model.")
@number_option("-n", "--limit", default=20, help="Entries shown.")
def names(
    session: Session, *, name: str, apart: bool, homonyms: bool, find: bool, limit: int
) -> None:
    """List the entities with aliases, and for each merge who decided it and why.

    NAME limits the list to one entity. With a language model, `knotwork index` compares names;
    --find compares them by rules, at no cost. To change a decision, use `graph merge` and `graph
    split`.
    """
    if apart and homonyms:
        raise ConfigError(
            "--apart and --homonyms cannot be combined.", fix="Give one of the two options."
        )
    opened = session.open()
    if find:
        opened = session.open(read_only=False)
        done = opened.entities.find_aliases()
        session.terminal.note(
            f"Compared {count_of(done.pairs, 'pair')} of names by rules: "
            f"{done.same:,} merged, {done.margin:,} undecided",
            style="dim",
        )
    if homonyms:
        _report_homonyms(session, opened.entities.homonyms(name), limit)
        _note_state(session.terminal, opened.entities.aliases(name))
        return
    known = opened.entities.aliases(name)
    if session.common.json:
        session.terminal.emit(
            {
                "things": [_describe_entity(entity) for entity in known.things[:limit]],
                "apart": list(map(_describe_decision, known.apart[:limit])),
                "total": {"things": len(known.things), "apart": len(known.apart)},
                "compared": known.compared,
                "waiting": known.waiting,
            }
        )
    elif apart:
        _print_split_pairs(session.terminal, known.apart, limit)
    else:
        _print_entities(session.terminal, known, name, limit)
    _note_state(session.terminal, known)


@command(
    'knotwork graph merge WHO "World Health Organization"',
    "knotwork graph merge 联通 中国联通",
    'knotwork graph merge WHO "World Health Organization" --json',
    short_help="Merge the entities of two names.",
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def merge(session: Session, *, one: str, other: str) -> None:
    """Merge the entities of two names. Indexing keeps them merged; `graph split` reverts it."""
    opened = session.open_existing()
    before = opened.entities.aliases()
    decided = opened.entities.merge(one, other)
    if not decided.refused:
        _report_decision(session, opened, decided, before, "are merged")
        return
    blocking = _find_blocking_decisions(opened, decided)
    if session.emit(
        _describe_decision(decided) | {"barred_by": list(map(_describe_decision, blocking))}
    ):
        return
    session.terminal.say(
        f"{decided.first} and {decided.second} are not merged. Blocked by:", style="bold"
    )
    _print_decisions(session.terminal, blocking)
    session.terminal.note("Merge these pairs too, and this merge takes effect.")


@command(
    'knotwork graph split Curie "Pierre Curie"',
    "knotwork graph split 吉林 吉林市",
    'knotwork graph split Curie "Pierre Curie" --json',
    short_help="Keep the entities of two names apart.",
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def split(session: Session, *, one: str, other: str) -> None:
    """Keep the entities of two names apart. Indexing never merges them; `graph merge` does."""
    opened = session.open_existing()
    before = opened.entities.aliases()
    _report_decision(session, opened, opened.entities.split(one, other), before, "are kept apart")


def _report_decision(
    session: Session,
    opened: KnowledgeBase,
    decided: NamedDecision,
    before: SameNames,
    outcome: str,
) -> None:
    """Print a decision, the entities of its names, and the merges that it overrules."""
    entities = opened.entities.aliases([decided.first, decided.second]).things
    refused_before = {item.decision.pair for item in before.apart if item.refused}
    overruled = [
        item
        for item in opened.entities.aliases().apart
        if item.refused and item.decision.pair not in refused_before
    ]
    if session.common.json:
        described = [_describe_entity(entity) for entity in entities]
        further = {"things": described, "lost": list(map(_describe_decision, overruled))}
        session.terminal.emit(_describe_decision(decided) | further)
        return
    session.terminal.say(f"{decided.first} and {decided.second} {outcome}", style="bold")
    for entity in entities:
        session.terminal.say(f"One entity: {', '.join(entity.names)}", indent=2)
    if overruled:
        session.terminal.say("No longer in effect:")
        _print_decisions(session.terminal, overruled)


def _find_blocking_decisions(opened: KnowledgeBase, decided: NamedDecision) -> list[NamedDecision]:
    """Return the decisions against a refused merge: those between its two groups of entities."""
    known = opened.entities.aliases([decided.first, decided.second])
    one, other = (
        next(({end, *e.entity_ids} for e in known.things if end in e.entity_ids), {end})
        for end in decided.decision.pair
    )
    return [
        item
        for item in known.apart
        if not item.decision.joins
        and one & set(item.decision.pair)
        and other & set(item.decision.pair)
    ]


def _print_entities(terminal: Terminal, known: SameNames, name: str, limit: int) -> None:
    for entity in known.things[:limit]:
        terminal.say(", ".join(entity.names), style="bold")
        _print_decisions(terminal, entity.decisions)
    if known.things:
        one, many = "entity with aliases", "entities with aliases"
        _note_count(terminal, len(known.things), limit, one, many)
    elif known.compared:
        terminal.say(f"{name} has no alias." if name else "No entity has an alias.")
        if known.apart:
            pairs = count_of(len(known.apart), "pair")
            terminal.note(f"{pairs} kept apart: see --apart", style="dim")


def _print_split_pairs(terminal: Terminal, apart: Sequence[NamedDecision], limit: int) -> None:
    _print_decisions(terminal, apart[:limit])
    if apart:
        _note_count(terminal, len(apart), limit, "pair kept apart", "pairs kept apart")
    else:
        terminal.say("No pair is kept apart.")


def _print_decisions(terminal: Terminal, decisions: Iterable[NamedDecision]) -> None:
    rows = []
    for item in decisions:
        decision = item.decision
        sign = "=" if decision.joins and not item.refused else "≠"
        why = decision.reason
        if decision.undone:
            why = f"undone: was {decision.verdict}, {why}"
        elif item.refused:
            why = f"refused, other decisions contradict it: {why}"
        by = "by hand" if decision.by_person else f"by {decision.source}"
        rows.append((item.first, sign, item.second, by, f"{decision.score:.2f}", why))
    terminal.table(rows, indent=2)


def _note_count(terminal: Terminal, total: int, limit: int, one: str, many: str) -> None:
    cut = f", {limit:,} shown (see --limit)" if total > limit else ""
    terminal.note(f"{count_of(total, one, many)}{cut}", style="dim")


def _note_state(terminal: Terminal, known: SameNames) -> None:
    """Note how to compare names if none, or not the latest, have been compared."""
    if not known.compared:
        terminal.note(
            f"No names were compared yet. To compare them by rules, at no cost: {FIND_COMMAND}. "
            "With a language model, `knotwork index` compares them too."
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
        one, many = "name with several meanings", "names with several meanings"
        _note_count(session.terminal, len(found), limit, one, many)
    else:
        session.terminal.say("No name with several meanings was found.")


def _describe_entity(entity: MergedEntity) -> dict[str, Any]:
    from knotwork._shapes.graph import THING

    decisions = list(map(_describe_decision, entity.decisions))
    return {**THING(entity), "ids": entity.entity_ids, "decisions": decisions}


def _describe_decision(item: NamedDecision) -> dict[str, Any]:
    from knotwork._shapes.graph import DECISION

    return {**DECISION(item), "names": [item.first, item.second], "by": item.decision.source}
