"""Statements and what became of them; the places that statements run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from knotwork.records import PropertyValue, QueryResult
from knotwork.retrieval.queries.plans import QueryPlan
from knotwork.retrieval.queries.schema import TargetSchema
from knotwork.retrieval.queries.values import StoredValues, ValueMention


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its parameters; ``origin`` says how it came to be, for a person.

    ``sureness`` in [0, 1] is how sure its translator is that it asks what the question asks.
    ``is_planned`` is True for the statement of a plan that honours all numbers of the question.
    """

    text: str
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    origin: str = ""
    sureness: float = 0.5
    is_planned: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A statement that ran, or did not: its result or what was wrong, told for a translator."""

    statement: Statement
    result: QueryResult | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it shares with the target: its schema, and stored values it names."""

    text: str
    schema: TargetSchema
    mentions: tuple[ValueMention, ...] = ()


class QueryTarget(Protocol):
    """A graph, or tables, that statements can read and do no more.

    ``language`` is "cypher" or "sql".
    """

    @property
    def language(self) -> str: ...

    def schema(self) -> TargetSchema:
        """Return what there is; made once for each state of the data."""

    def values(self) -> StoredValues:
        """Return what finds stored values by how a question writes them."""

    def write(self, plan: QueryPlan) -> Statement:
        """Return the statement of a plan. Raises QueryRefused for one that does not fit."""

    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement; raises QuerySyntaxError, QueryRefused, QueryTimeout."""


class Translator(Protocol):
    """Turns a question into a statement; asked again with what became of the earlier ones."""

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the next statement to try, or None where it has no (other) one."""
