"""The base of shapes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCORE_DIGITS = 4
"""Decimals of confidences, of scores that are shown, and of seconds."""


class Shape:
    """The base of shapes: what pydantic needs to derive a JSON schema from a plain dataclass.

    Docstrings of fields become descriptions. Fields with a default are always present in JSON; the
    default completes an object that an earlier version stored.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar = {
        "use_attribute_docstrings": True,
        "json_schema_serialization_defaults_required": True,
    }


def fields_of(record: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a record by name, for a shape that adds fields to it."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def rounded(value: float) -> float:
    """Return a number with the decimals that are shown."""
    return round(value, SCORE_DIGITS)
