"""The base of shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_args, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FOUR_DECIMALS = "four decimals"
Rounded = Annotated[float, _FOUR_DECIMALS]
"""A confidence, score or time, with the decimals that are shown."""

Convert = Callable[[Any], Any]


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
    def of(cls, record: Any, **given: object) -> Self:  # noqa: ANN401  of any type
        """Build the shape of a record.

        A field has the value that is ``given``, else that of `derived`, else the field or property
        of the record with its name. A record in a field for a shape becomes that shape.
        """
        derived = cls.derived(record)
        values = {
            name: convert(derived[name] if name in derived else getattr(record, name))
            for name, convert in _converters(cls).items()  # type: ignore[arg-type]  # a class
            if name not in given
        }
        return cls(**values | given)

    @classmethod
    def derived(cls, record: Any) -> dict[str, object]:  # noqa: ANN401
        """Return the values of fields that the record has in another form, or by another name."""
        del record
        return {}


@cache
def _converters(shape: type[Shape]) -> dict[str, Convert]:
    """Return the conversion of each field of a shape from that of a record."""
    hints = get_type_hints(shape, include_extras=True)
    return {field.name: _converter(hints[field.name]) or _keep for field in fields(shape)}


def _converter(hint: Any) -> Convert | None:  # noqa: ANN401
    if isinstance(hint, type):
        return hint.of if issubclass(hint, Shape) else None
    if _FOUR_DECIMALS in getattr(hint, "__metadata__", ()):
        return rounded
    parts = get_args(hint)
    inner = _converter(parts[0]) if parts else None
    if inner is None:
        return None
    if NoneType in parts:
        return lambda value: None if value is None else inner(value)
    return lambda values: tuple(map(inner, values))


def _keep(value: object) -> object:
    return value


def fields_of(record: DataclassInstance, *names: str) -> dict[str, Any]:
    """Return the fields of a record or shape by name, or the fields and properties ``names``."""
    return {name: getattr(record, name) for name in names or [f.name for f in fields(record)]}


def rounded(value: float) -> float:
    """Return a confidence, score or time with the decimals that are shown."""
    return round(value, 4)
