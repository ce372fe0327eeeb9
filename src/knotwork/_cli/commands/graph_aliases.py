"""`knotwork graph names`, `merge` and `split`: list aliases of entities, and decide on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command, number_option
from knotwork._cli.views import Line, Table, count_of, each, note
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import (
        MergedEntity,
        NamedDecision,
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
    known = opened.entities.aliases(name)
    if homonyms:
        found = opened.entities.homonyms(name)
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
        shown = [
            fields_of(item, "name")
            | {
                "reason": item.homonym.reason,
                "meanings": [
                    (documents[:_SHOWN_DOCUMENTS], max(len(documents) - _SHOWN_DOCUMENTS, 0))
                    for documents in item.documents
                ],
            }
            for item in found[:limit]
        ]
        total = len(found)
        session.show({"homonyms": described}, *_HOMONYMS, shown=shown, total=total, limit=limit)
    else:
        session.show(
            {
                "things": [_describe_entity(entity) for entity in known.things[:limit]],
                "apart": list(map(_describe_decision, known.apart[:limit])),
                "total": {"things": len(known.things), "apart": len(known.apart)},
                "compared": known.compared,
                "waiting": known.waiting,
            },
            *(_APART if apart else _ALIASES),
            name=name,
            things=known.things[:limit],
            apart=known.apart[:limit],
            limit=limit,
        )
    if not known.compared:
        session.terminal.note(
            f"No names were compared yet. To compare them by rules, at no cost: {FIND_COMMAND}. "
            "With a language model, `knotwork index` compares them too."
        )
    elif known.waiting:
        changed = count_of(known.waiting, "name")
        session.terminal.note(
            f"{changed} changed since they were compared: {FIND_COMMAND}", style="yellow"
        )


def _decisions(items: str) -> Table:
    """Return a table of decisions about two names."""
    columns = {
        " 1": "{first}",
        " 2": "[{decision.joins:!}≠][{decision.joins:?}[{refused:?}≠][{refused:!}=]]",
        " 3": "{second}",
        " 4": "by [{decision.by_person:?}hand][{decision.by_person:!}{decision.source}]",
        " 5": "{decision.score:.2f}",
        " 6": "[{decision.undone:?}undone: was {decision.verdict}, ]"
        "[{decision.undone:!}{refused:?}refused, other decisions contradict it: ]{decision.reason}",
    }
    return Table(items, columns, indent=2)


_LIMIT = ", at most {limit} shown (see --limit)"
_HOMONYMS = (
    each(
        "shown",
        Line("{name}: {reason}", "bold"),
        each("meanings", Line("{#}. in {0}[ and {1} more]", indent=2)),
    ),
    "[{homonyms:!}No name with several meanings was found.]",
    note("[{total:#name with several meanings/names with several meanings}" + _LIMIT + "]"),
)
_APART = (
    _decisions("apart"),
    "[{apart:!}No pair is kept apart.]",
    note("[{total.apart:#pair kept apart/pairs kept apart}" + _LIMIT + "]"),
)
_ALIASES = (
    each("things", Line("{names}", "bold"), _decisions("decisions")),
    "[{things:!}{compared:?}[{name} has no alias.][{name:!}No entity has an alias.]]",
    note("[{total.things:#entity with aliases/entities with aliases}" + _LIMIT + "]"),
    note("[{things:!}{compared:?}{total.apart:#pair} kept apart: see --apart]"),
)


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
    session.show(
        _describe_decision(decided) | {"barred_by": list(map(_describe_decision, blocking))},
        Line("{first} and {second} are not merged. Blocked by:", "bold"),
        _decisions("barred_by"),
        note("Merge these pairs too, and this merge takes effect.", ""),
        barred_by=blocking,
    )


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
    session.show(
        _describe_decision(decided)
        | {
            "things": [_describe_entity(entity) for entity in entities],
            "lost": list(map(_describe_decision, overruled)),
        },
        Line("{first} and {second} {outcome}", "bold"),
        each("things", Line("One entity: {names}", indent=2)),
        "[{lost:?}No longer in effect:]",
        _decisions("lost"),
        outcome=outcome,
        lost=overruled,
    )


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


def _describe_entity(entity: MergedEntity) -> dict[str, Any]:
    from knotwork._shapes.graph import ThingShape

    decisions = list(map(_describe_decision, entity.decisions))
    known = fields_of(ThingShape.of(entity))
    return {**known, "ids": entity.entity_ids, "decisions": decisions}


def _describe_decision(item: NamedDecision) -> dict[str, Any]:
    from knotwork._shapes.graph import DecisionShape

    shape = DecisionShape.of(item)
    return {**fields_of(shape), "names": [shape.first, shape.second], "by": shape.source}
