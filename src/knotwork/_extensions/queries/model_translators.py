"""Translators that use a language model: for a whole statement, or for fragments of a plan.

Prompts contain the schema, stored names, the most similar examples, and the problems of earlier
attempts.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from knotwork._extensions.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    PlanHop,
    PlanNode,
    PropertyCondition,
    QueryPlan,
    QueryTarget,
    Returned,
    SortOrder,
    Statement,
)
from knotwork._extensions.queries.target_schema import (
    LinkShape,
    PropertyShape,
    SchemaLinker,
    TargetSchema,
    ValueMention,
    describe_target_schema,
)
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.embedder import Embedder, FloatMatrix, to_similarity
from knotwork._inference.prompt_material import escape_tags, restore
from knotwork._questions.languages import Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.question import request_about
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms
from knotwork.errors import ConfigError, QueryRefused, Unparsable
from knotwork.records import PropertyValue

STATEMENT_STAGE = "translate"
SHOWN_EXAMPLES = 4
_STATEMENT_CONFIDENCE = 0.8
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
_BEGINNING = re.compile(
    r"\b(?:MATCH|OPTIONAL\s+MATCH|WITH|UNWIND|RETURN|SELECT|VALUES|CALL|CREATE|MERGE)\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"\W*(?:none|无法?|没有)\W*", re.IGNORECASE)


class ModelTranslator:
    """Lets a model write the statement, which runs only in the read-only engine."""

    def __init__(self, model: ChatModel, examples: ExampleBook) -> None:
        self._model = model
        self._examples = examples

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement that the model writes, or None if it replies with none.

        Raises ModelError as `complete_checked`.
        """
        near = self._examples.nearest(asked.text, k=SHOWN_EXAMPLES, mentions=asked.mentions)
        shown = "\n".join(
            f"{escape_tags(e.question)}\n{' '.join(e.statement.split())}" for e, _ in near
        )
        asked = replace(asked, schema=asked.schema.whole())
        request = make_request(
            "translate", asked, attempts, stage=STATEMENT_STAGE, more=shown, model=self._model
        )
        text = complete_checked(self._model, request, parse_statement)
        return (
            Statement(text, origin="by the model", sureness=_STATEMENT_CONFIDENCE) if text else None
        )


def parse_statement(reply: ChatReply) -> str:
    """Return the statement of a reply without the text around it; "" if the reply is "none".

    Raises Unparsable for a reply that is cut off or contains no statement.
    """
    text = restore(require_whole(reply).text)
    fenced = _FENCE.search(text)
    if fenced:
        text = fenced[1]
    if _NONE.fullmatch(text.strip()):
        return ""
    beginning = _BEGINNING.search(text)
    if beginning is None:
        raise Unparsable("The reply contains no statement.")
    return text[beginning.start() :].strip().removesuffix(";").strip()


FRAGMENT_STAGE = "fragments"
_FRAGMENT_CONFIDENCE = 0.8
_MOST_LINES = 20
_BULLET = re.compile(r"^[\s\-*•`>]+")
_RETURNED = {
    "return": Returned.THING,
    "count": Returned.COUNT,
    "max": Returned.MAXIMUM,
    "min": Returned.MINIMUM,
    "avg": Returned.AVERAGE,
    "sum": Returned.SUM,
}


class FragmentTranslator:
    """Lets a model choose fragments of a plan; its values are aligned to stored ones."""

    def __init__(self, target: QueryTarget, model: ChatModel) -> None:
        self._target = target
        self._model = model

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement of the fragments that the model chooses.

        Raises ModelError as `complete_checked`.
        """
        request = make_request(
            "fragments", asked, attempts, stage=FRAGMENT_STAGE, model=self._model
        )
        plan = complete_checked(self._model, request, lambda reply: parse_plan(reply, asked))
        statement = self._target.write(plan)
        return replace(statement, origin="fragments by the model", sureness=_FRAGMENT_CONFIDENCE)


def parse_plan(reply: ChatReply, asked: LinkedQuestion) -> QueryPlan:
    """Return the plan in a reply's lines; labels and types are matched case-insensitively.

    Raises Unparsable for lines that are not a plan. A plan that does not fit the schema is refused
    when it is written as a statement.
    """
    reader = _PlanReader(asked)
    for line in restore(reply.text).splitlines()[:_MOST_LINES]:
        name, *parts = (part.strip() for part in _BULLET.sub("", line).strip("`| ").split("|"))
        if parts:
            reader.read(name.lower(), [*parts, "", "", "", ""])
    if not reader.nodes or reader.answer < 0:
        raise Unparsable("The reply lacks a find line or a line that returns something.")
    return QueryPlan(
        tuple(reader.nodes),
        tuple(reader.hops),
        reader.answer,
        reader.returned,
        reader.property,
        reader.order,
    )


class _PlanReader:
    """Reads the lines of a plan; its parts have empty texts at the end. Raises Unparsable."""

    def __init__(self, asked: LinkedQuestion) -> None:
        self.nodes: list[PlanNode] = []
        self.hops: list[PlanHop] = []
        self.answer = -1
        self.returned = Returned.THING
        self.property = ""
        self.order: SortOrder | None = None
        self._schema = asked.schema
        self._mentions = asked.mentions
        self._letters: dict[str, int] = {}

    def read(self, name: str, parts: list[str]) -> None:
        """Read one line; a line that starts with none of the known words is ignored."""
        if name == "find":
            if self.nodes:
                raise Unparsable("Only the first line may be a find. Continue with hops.")
            self._letters[parts[0]] = 0
            self.nodes.append(PlanNode(self._kind(parts[1])))
        elif name == "hop":
            self._hop(parts)
        elif name == "where":
            self._where(parts)
        elif name == "order":
            if not parts[1]:
                raise Unparsable("An order needs a letter and a property.")
            limit = int(parts[3]) if parts[3].isdigit() else 1
            descending = not parts[2].lower().startswith("asc")
            self.order = SortOrder(self._node(parts[0]), parts[1], descending, limit)
        elif name in _RETURNED:
            self._return(name, parts)

    def _return(self, name: str, parts: list[str]) -> None:
        if name not in ("return", "count") and not parts[1]:
            raise Unparsable(f"{name} needs a letter and a property.")
        self.answer, self.returned = self._node(parts[0]), _RETURNED[name]
        if name == "return" and parts[1]:
            self.returned = Returned.VALUE
        if name != "count":
            self.property = parts[1]

    def _hop(self, parts: list[str]) -> None:
        if not parts[2]:
            raise Unparsable("A hop needs a letter, a type and a new letter.")
        source = self._node(parts[0])
        if parts[2] in self._letters:
            raise Unparsable(f"The hop to `{parts[2]}` must use a new letter.")
        here, there = self.nodes[source].kind, self._kind(parts[3])
        link = self._link(parts[1], here, there)
        reached = there or (link.target if here == link.source else link.source)
        self._letters[parts[2]] = len(self.nodes)
        self.nodes.append(PlanNode(reached))
        forward = None if link.source == link.target else here == link.source
        self.hops.append(PlanHop(source, len(self.nodes) - 1, link, forward))

    def _where(self, parts: list[str]) -> None:
        text = "|".join(parts[3:-4])
        if not text:
            raise Unparsable("A where needs a letter, a property, an operator and a value.")
        number, name = self._node(parts[0]), parts[1]
        try:
            operator = Operator(parts[2].lower())
        except ValueError as error:
            known = ", ".join(Operator)
            raise Unparsable(f"Unknown operator `{parts[2]}`. Known: {known}.") from error
        node = self.nodes[number]
        kind = self._schema.by_name.get(node.kind)
        shape = kind.property(name) if kind else None
        value = self._value(node.kind, name, shape, text.strip("\"' "))
        is_text = operator in (Operator.EQUALS, Operator.DIFFERS, Operator.CONTAINS)
        by_number = shape is not None and shape.quoted and not is_text
        condition = PropertyCondition(name, value, operator, number=by_number)
        self.nodes[number] = PlanNode(node.kind, (*node.conditions, condition))

    def _value(self, kind: str, name: str, shape: PropertyShape | None, text: str) -> PropertyValue:
        """Return the stored value that a text means, or the text as its property's type."""
        for mention in self._mentions:
            if normal_form(mention.surface) == normal_form(text):
                for near in mention.found:
                    if near.stored[:2] == (kind, name):
                        return near.stored.value
        if shape is not None and not shape.quoted and shape.type in {"integer", "number"}:
            try:
                return int(text) if shape.type == "integer" else float(text)
            except ValueError:
                return text
        return text

    def _node(self, letter: str) -> int:
        if letter not in self._letters:
            raise Unparsable(f"`{letter}` is used before it is defined.")
        return self._letters[letter]

    def _kind(self, name: str) -> str:
        name = name.strip(":() ")
        known = {kind.name.lower(): kind.name for kind in reversed(self._schema.kinds)}
        if name and name.lower() not in known:
            names = ", ".join(sorted(self._schema.by_name))
            raise Unparsable(f"Unknown kind `{name}`. Known: {names}.")
        return known.get(name.lower(), "")

    def _link(self, name: str, here: str, there: str) -> LinkShape:
        wanted = name.strip(":[]<>- ").lower()
        links = [link for link in self._schema.links if link.name.lower() == wanted]
        if not links:
            known = ", ".join(sorted({link.name for link in self._schema.links}))
            raise Unparsable(f"Unknown relationship `{name}`. Known: {known}.")
        for link in links:
            ends = link.source, link.target
            if ends in ((here, there), (there, here)) or (not there and here in ends):
                return link
        raise QueryRefused(f"`{name}` does not lead from `{here}` to `{there}`.")


ROOM = "knotwork._extensions.queries"
OUTPUT_TOKENS = 400
SCHEMA_TOKENS = 1_500
SHOWN_ATTEMPTS = 2
_MOST_NAMES = 12


def make_request(
    task: str,
    asked: LinkedQuestion,
    attempts: Sequence[Attempt],
    *,
    stage: str,
    model: ChatModel,
    more: str = "",
) -> ChatRequest:
    """Return the request for a statement: schema, stored names, examples, earlier problems."""
    language = "Cypher" if asked.schema.language == "cypher" else "SQL (SQLite)"
    last = attempts[-SHOWN_ATTEMPTS:]
    tried = [f"{' '.join(a.statement.text.split())}\n{a.problem}" for a in last]
    return request_about(
        asked.text,
        ROOM,
        task,
        model,
        stage=stage,
        output_tokens=OUTPUT_TOKENS,
        question=escape_tags(asked.text.strip()),
        schema=escape_tags(describe_linked_schema(asked)),
        names=describe_stored_names(asked),
        examples=more or "none",
        attempts=escape_tags("\n".join(tried)) or "none",
        language=language,
    )


def describe_linked_schema(asked: LinkedQuestion) -> str:
    """Return the schema as text, with the kinds that the question mentions first.

    They are mentioned by a value, or else by word, link or property, the most likely first.
    """
    order = {near.stored.kind: None for m in asked.mentions for near in m.found}
    schema: TargetSchema = asked.schema
    for mention in sorted(SchemaLinker(schema).link(asked.text), key=lambda m: -m.score):
        if mention.element == "kind":
            order[mention.name] = None
        elif mention.element == "link":
            ends = [(k.source, k.target) for k in schema.links if k.name == mention.name]
            order.update({kind: None for pair in ends for kind in pair})
        else:
            owners = [kind.name for kind in schema.kinds if kind.property(mention.name)]
            order.update(dict.fromkeys(owners))
    return describe_target_schema(schema, budget_tokens=SCHEMA_TOKENS, first=list(order))


def describe_stored_names(asked: LinkedQuestion) -> str:
    """Return the stored values that a question may mean, one per line."""
    lines = [
        f'"{m.surface}" may be {near.stored.kind}.{near.stored.property} = {near.stored.value!r}'
        for m in asked.mentions
        for near in m.found[:4]
    ]
    return escape_tags("\n".join(lines[:_MOST_NAMES])) or "none"


VALUE_MARK = "VALUE"
"""Replaces stored values, so that questions are compared by what they ask."""

_VECTOR_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Example:
    """A question and a statement that answers it."""

    question: str
    statement: str


class ExampleBook:
    """Finds similar examples by words, weighted by rarity, and by vectors if there is an
    embedder.
    """

    def __init__(self, examples: Sequence[Example], *, embedder: Embedder | None = None) -> None:
        self.examples = tuple(examples)
        self._embedder = embedder
        self._terms = [frozenset(content_terms(item.question)) for item in self.examples]
        frequency = Counter(term for found in self._terms for term in found)
        total = max(len(self.examples), 1)
        self._weights = {term: math.log1p(total / n) for term, n in frequency.items()}
        self._unknown = math.log1p(total)
        self._vectors: FloatMatrix | None = None

    def nearest(
        self, question: str, *, k: int = 3, mentions: Sequence[ValueMention] = ()
    ) -> list[tuple[Example, float]]:
        """Return the ``k`` most similar examples with their similarity from 0 to 1."""
        scores = self.likeness(question, mentions)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.examples[int(i)], float(scores[int(i)])) for i in order]

    def likeness(self, question: str, mentions: Sequence[ValueMention] = ()) -> FloatMatrix:
        """Return the similarity of a question to each example, from 0 to 1."""
        masked = mask_values(question, mentions)
        wanted = set(reading_of(masked).terms)
        total = sum(self._weights.get(term, self._unknown) for term in wanted) or 1.0
        shares = []
        for terms in self._terms:
            shared = sum(self._weights[term] for term in wanted & terms)
            own = sum(self._weights[term] for term in terms) or 1.0
            shares.append(2 * shared / (total + own))
        scores = np.array(shares, dtype=np.float32)
        if self._embedder is not None and self.examples:
            if self._vectors is None:
                self._vectors = self._embedder.embed([item.question for item in self.examples])
            cosines = self._vectors @ self._embedder.embed([masked])[0]
            near = np.clip(to_similarity(cosines, self._embedder.name), 0.0, 1.0)
            scores = (1 - _VECTOR_SHARE) * scores + _VECTOR_SHARE * near
        return scores


def mask_values(question: str, mentions: Sequence[ValueMention], mark: str = VALUE_MARK) -> str:
    """Return the question with each stored value replaced by a mark."""
    for mention in sorted(mentions, key=lambda m: -m.span.start):
        start, end = mention.span
        question = f"{question[:start]}{mark}{question[end:]}"
    return question


def read_examples(path: Path) -> list[Example]:
    """Read examples from lines of JSON with ``question`` and ``statement``.

    Raises ConfigError with the line that is invalid.
    """
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{path}, line {number} is not valid JSON: {error.msg}.") from error
        if not isinstance(record, Mapping) or not {"question", "statement"} <= record.keys():
            raise ConfigError(f"{path}, line {number} lacks `question` or `statement`.")
        found.append(Example(str(record["question"]), str(record["statement"])))
    return found
