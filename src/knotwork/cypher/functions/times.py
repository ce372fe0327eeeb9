"""Functions of dates, times and durations."""

from __future__ import annotations

from knotwork.cypher.functions.signature import Function

TIMES: dict[str, Function] = {}
