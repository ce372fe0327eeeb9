"""Adding, subtracting and scaling dates, times and durations."""

from __future__ import annotations

from knotwork.cypher.values import Temporal, kind_of, value_error


def add_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Add a duration to a date or time, or to another duration."""
    raise value_error(f"`+` cannot work on {kind_of(left)} and {kind_of(right)}.")


def subtract_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Take a duration from a date or time, or from another duration."""
    raise value_error(f"`-` cannot work on {kind_of(left)} and {kind_of(right)}.")


def scale_duration(value: Temporal, factor: float) -> Temporal:
    """Multiply a duration."""
    raise value_error(f"{kind_of(value)} cannot be multiplied by {factor}.")
