"""The base of shapes."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Shape:
    """The base of shapes: what pydantic needs to derive a JSON schema from a plain dataclass.

    Docstrings of fields become descriptions. Fields with a default are always present in JSON.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar = {
        "use_attribute_docstrings": True,
        "json_schema_serialization_defaults_required": True,
    }
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # for type checkers: subclasses set it

    @classmethod
    def copy(cls, record: object, **further: object) -> Self:
        """Build the shape: fields and properties are copied by name, ``further`` ones are given."""
        names = [field.name for field in fields(cls)]
        return cls(**{n: further[n] if n in further else getattr(record, n) for n in names})


def fields_of(record: DataclassInstance, *names: str) -> dict[str, Any]:
    """Return the fields of a record or shape by name, or the fields and properties ``names``."""
    return {name: getattr(record, name) for name in names or [f.name for f in fields(record)]}


def rounded(value: float) -> float:
    """Return a confidence, score or time with the decimals that are shown."""
    return round(value, 4)
