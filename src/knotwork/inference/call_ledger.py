"""The ledger of calls: what every stage, document and model has cost, for as long as the file is.

Counts are sums by (stage, source, model), raised in the transaction that keeps the reply: a reply
that is kept is counted, a call that is counted was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import apsw

from knotwork.inference.call_database import CallDatabase
from knotwork.inference.chat import ChatRequest, TokenUsage
from knotwork.inference.prices import PriceTable

Dimension = Literal["stage", "source", "model"]
DIMENSIONS: tuple[Dimension, ...] = ("stage", "source", "model")

_COUNT = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stage, source, model) DO UPDATE SET
    calls = calls + excluded.calls, rejected = rejected + excluded.rejected,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reused = reused + excluded.reused,
    saved_input_tokens = saved_input_tokens + excluded.saved_input_tokens,
    saved_output_tokens = saved_output_tokens + excluded.saved_output_tokens
"""


@dataclass(frozen=True, slots=True)
class CallTotal:
    """The calls of one group, such as one stage, or of all.

    ``group`` are its values of what was asked by, in that order. ``usage`` is what was paid for,
    with the count of calls that were reused; ``saved`` are the tokens that reusing did not cost.
    ``rejected`` of the calls had a reply that was not kept. ``money`` is None when a price is not
    known.
    """

    group: tuple[str, ...]
    usage: TokenUsage
    saved: TokenUsage
    rejected: int
    money: Decimal | None


class CallLedger:
    """Reads what calls have cost. ``prices`` are those of today, for calls of any day."""

    def __init__(self, database: CallDatabase, *, prices: PriceTable | None = None) -> None:
        self._database = database
        self._prices = prices or PriceTable()

    def totals(
        self,
        *by: Dimension,
        stage: str | None = None,
        source: str | None = None,
        model: str | None = None,
    ) -> list[CallTotal]:
        """Return a total for each group of ``by``, ordered by group, of what the filters leave.

        Without ``by`` there is one total, of all.
        """
        wanted = {"stage": stage, "source": source, "model": model}
        filters = {name: storable(value) for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        # Money needs the model even where the groups do not; names are from DIMENSIONS alone.
        columns = ", ".join([_dimension(name) for name in by] + ["model"])
        rows = self._database.rows(
            f"SELECT {columns}, SUM(calls), SUM(rejected), SUM(input_tokens), "  # noqa: S608
            "SUM(output_tokens), SUM(reused), SUM(saved_input_tokens), SUM(saved_output_tokens) "
            f"FROM spent WHERE {where} GROUP BY {columns} ORDER BY {columns}",
            tuple(filters.values()),
        )
        groups: dict[tuple[str, ...], list[_Counted]] = {} if by else {(): []}
        for row in rows:
            counted = _Counted.of(row, width=len(by))
            groups.setdefault(counted.group, []).append(counted)
        return [self._sum(group, parts) for group, parts in groups.items()]

    def total(self) -> CallTotal:
        """Return the total of all calls ever made."""
        (total,) = self.totals()
        return total

    def _sum(self, group: tuple[str, ...], parts: Sequence[_Counted]) -> CallTotal:
        return CallTotal(
            group=group,
            usage=sum((part.usage for part in parts), TokenUsage()),
            saved=sum((part.saved for part in parts), TokenUsage()),
            rejected=sum(part.rejected for part in parts),
            money=self._prices.money((part.model, part.usage) for part in parts),
        )


@dataclass(frozen=True, slots=True)
class _Counted:
    group: tuple[str, ...]
    model: str
    usage: TokenUsage
    saved: TokenUsage
    rejected: int

    @classmethod
    def of(cls, row: Sequence[object], *, width: int) -> _Counted:
        group = tuple(str(value) for value in row[:width])
        counts = [int(str(value)) for value in row[width + 1 :]]
        calls, rejected, tokens_in, tokens_out, reused, saved_in, saved_out = counts
        return cls(
            group,
            str(row[width]),
            TokenUsage(tokens_in, tokens_out, calls, reused),
            TokenUsage(saved_in, saved_out, 0, reused),
            rejected,
        )


def add_call(
    connection: apsw.Connection,
    model: str,
    request: ChatRequest,
    usage: TokenUsage,
    *,
    rejected: bool = False,
) -> None:
    """Count a call that was made, inside the open transaction."""
    counts = (usage.calls, int(rejected), usage.input_tokens, usage.output_tokens, 0, 0, 0)
    connection.execute(_COUNT, (*_names(model, request), *counts))


def add_reuse(
    connection: apsw.Connection, model: str, request: ChatRequest, saved: TokenUsage
) -> None:
    """Count a call that was not made, inside the open transaction."""
    counts = (0, 0, 0, 0, 1, saved.input_tokens, saved.output_tokens)
    connection.execute(_COUNT, (*_names(model, request), *counts))


def storable(name: str) -> str:
    """Return a name as SQLite can hold it: half characters, as in odd file names, are spelt out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _names(model: str, request: ChatRequest) -> Iterator[str]:
    return (storable(name) for name in (request.stage, request.source, model))


def _dimension(name: str) -> str:
    if name not in DIMENSIONS:
        raise ValueError(f"`{name}` is none of {', '.join(DIMENSIONS)}")
    return name
