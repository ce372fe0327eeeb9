"""Fragments as a model writes them, a line each, read into a plan that is then checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from knotwork.errors import QueryRefused, Unparsable
from knotwork.inference.chat import ChatModel, ChatReply
from knotwork.inference.checked import complete_checked
from knotwork.records import PropertyValue
from knotwork.retrieval.queries.plans import (
    Operator,
    Order,
    PlanHop,
    PlanNode,
    PropertyCondition,
    QueryPlan,
    Returned,
)
from knotwork.retrieval.queries.prompting import make_request
from knotwork.retrieval.queries.schema import LinkShape, TargetSchema
from knotwork.retrieval.queries.statements import Asked, Attempt, QueryTarget, Statement
from knotwork.text.names import normal_form

STAGE = "fragments"
_SURENESS = 0.8
_MOST_LINES = 20
_BULLET = re.compile(r"^[\s\-*•`>]+")
_AGGREGATES = {
    "max": Returned.MAXIMUM,
    "min": Returned.MINIMUM,
    "avg": Returned.AVERAGE,
    "sum": Returned.SUM,
}


class FragmentTranslator:
    """Has a model choose fragments; values that it writes are aligned to those that are stored."""

    def __init__(self, target: QueryTarget, model: ChatModel) -> None:
        self._target = target
        self._model = model

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement of the fragments that the model chooses.

        Raises ModelError as `complete_checked`.
        """
        request = make_request("fragments", asked, attempts, stage=STAGE)
        plan = complete_checked(self._model, request, lambda reply: parse_plan(reply, asked))
        statement = self._target.write(plan)
        return replace(statement, origin="fragments by the model", sureness=_SURENESS)


@dataclass(slots=True)
class _Draft:
    """A plan while its lines are read; ``names`` are the numbers of its letters."""

    schema: TargetSchema
    asked: Asked
    names: dict[str, int] = field(default_factory=dict)
    nodes: list[PlanNode] = field(default_factory=list)
    hops: list[PlanHop] = field(default_factory=list)
    answer: int = -1
    returned: Returned = Returned.THING
    property: str = ""
    order: Order | None = None

    def node(self, letter: str) -> int:
        if letter not in self.names:
            raise Unparsable(f"`{letter}` is used before it is found.")
        return self.names[letter]


def parse_plan(reply: ChatReply, asked: Asked) -> QueryPlan:
    """Read a plan from lines of fragments; labels and types are found whatever their case.

    Raises Unparsable for lines that are no plan; what fits no schema is refused when written.
    """
    draft = _Draft(asked.schema, asked)
    for line in reply.text.splitlines()[:_MOST_LINES]:
        parts = [part.strip() for part in _BULLET.sub("", line).strip("`| ").split("|")]
        read = _READERS.get(parts[0].lower())
        if read is not None and len(parts) > 1:
            read(draft, parts[1:])
    if not draft.nodes or draft.answer < 0:
        raise Unparsable("The reply holds no find, or nothing that is returned.")
    return QueryPlan(
        tuple(draft.nodes),
        tuple(draft.hops),
        draft.answer,
        draft.returned,
        draft.property,
        draft.order,
    )


def _find(draft: _Draft, parts: list[str]) -> None:
    if draft.nodes:
        raise Unparsable("Only the first line may be a find: go on with hops.")
    draft.names[parts[0]] = 0
    draft.nodes.append(PlanNode(_kind(draft.schema, parts[1] if len(parts) > 1 else "")))


def _hop(draft: _Draft, parts: list[str]) -> None:
    if len(parts) < 3:
        raise Unparsable("A hop needs a letter, a type and a new letter.")
    source = draft.node(parts[0])
    if parts[2] in draft.names:
        raise Unparsable(f"The hop to `{parts[2]}` leads to what was found before.")
    kind = _kind(draft.schema, parts[3] if len(parts) > 3 else "")
    here = draft.nodes[source].kind
    links = _links(draft.schema, parts[1], here, kind)
    link = links[0]
    ends = (link.source, link.target)
    reached = kind or (link.target if here == link.source else link.source)
    draft.names[parts[2]] = len(draft.nodes)
    draft.nodes.append(PlanNode(reached))
    forward = None if ends[0] == ends[1] else here == link.source
    draft.hops.append(PlanHop(source, len(draft.nodes) - 1, link, forward))


def _where(draft: _Draft, parts: list[str]) -> None:
    if len(parts) < 4:
        raise Unparsable("A where needs a letter, a property, an operator and a value.")
    number = draft.node(parts[0])
    try:
        operator = Operator(parts[2].lower())
    except ValueError as error:
        known = ", ".join(Operator)
        raise Unparsable(f"`{parts[2]}` is no operator. Known: {known}.") from error
    node = draft.nodes[number]
    value = _value(draft, node.kind, parts[1], "|".join(parts[3:]).strip("\"' "))
    kind = draft.schema.by_name.get(node.kind)
    shape = kind.property(parts[1]) if kind else None
    number_text = shape is not None and shape.quoted and operator not in _PLAIN
    condition = PropertyCondition(parts[1], value, operator, number=number_text)
    draft.nodes[number] = PlanNode(node.kind, (*node.conditions, condition))


_PLAIN = (Operator.EQUALS, Operator.DIFFERS, Operator.CONTAINS)


def _value(draft: _Draft, kind: str, name: str, text: str) -> PropertyValue:
    """Return the stored value that a text means, or the text as its property's type."""
    for mention in draft.asked.mentions:
        if normal_form(mention.surface) != normal_form(text):
            continue
        for near in mention.found:
            if near.stored.kind == kind and near.stored.property == name:
                return near.stored.value
    known = draft.schema.by_name.get(kind)
    shape = known.property(name) if known else None
    if shape is not None and not shape.quoted and shape.type in {"integer", "number"}:
        try:
            return int(text) if shape.type == "integer" else float(text)
        except ValueError:
            return text
    return text


def _return(draft: _Draft, parts: list[str]) -> None:
    draft.answer = draft.node(parts[0])
    draft.returned = Returned.VALUE if len(parts) > 1 and parts[1] else Returned.THING
    draft.property = parts[1] if len(parts) > 1 else ""


def _count(draft: _Draft, parts: list[str]) -> None:
    draft.answer, draft.returned = draft.node(parts[0]), Returned.COUNT


def _aggregate(name: str) -> Callable[[_Draft, list[str]], None]:
    def read(draft: _Draft, parts: list[str]) -> None:
        if len(parts) < 2:
            raise Unparsable(f"{name} needs a letter and a property.")
        draft.answer, draft.property = draft.node(parts[0]), parts[1]
        draft.returned = _AGGREGATES[name]

    return read


def _order(draft: _Draft, parts: list[str]) -> None:
    if len(parts) < 2:
        raise Unparsable("An order needs a letter and a property.")
    descending = len(parts) < 3 or not parts[2].lower().startswith("asc")
    limit = int(parts[3]) if len(parts) > 3 and parts[3].isdigit() else 1
    draft.order = Order(draft.node(parts[0]), parts[1], descending, limit)


_READERS: dict[str, Callable[[_Draft, list[str]], None]] = {
    "find": _find,
    "hop": _hop,
    "where": _where,
    "return": _return,
    "count": _count,
    "order": _order,
    **{name: _aggregate(name) for name in _AGGREGATES},
}


def _kind(schema: TargetSchema, name: str) -> str:
    name = name.strip(":() ")
    found = next((k.name for k in schema.kinds if k.name.lower() == name.lower()), None)
    if name and found is None:
        known = ", ".join(sorted(schema.by_name))
        raise Unparsable(f"There is no kind `{name}`. Known: {known}.")
    return found or ""


def _links(schema: TargetSchema, name: str, here: str, there: str) -> list[LinkShape]:
    wanted = name.strip(":[]<>- ").lower()
    links = [link for link in schema.links if link.name.lower() == wanted]
    if not links:
        known = ", ".join(sorted({link.name for link in schema.links}))
        raise Unparsable(f"There is no relationship `{name}`. Known: {known}.")
    fitting = [
        link
        for link in links
        if (link.source, link.target) in ((here, there), (there, here))
        or (not there and here in (link.source, link.target))
    ]
    if not fitting:
        raise QueryRefused(f"`{name}` does not lead from `{here}` to `{there}`.")
    return fitting
