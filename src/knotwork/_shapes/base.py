"""Shapes: the JSON of records as data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from functools import cached_property, reduce
from operator import attrgetter, or_
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)


class Record(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Json: TypeAlias = dict[str, Any]
Convert: TypeAlias = Callable[[Any], Any]


def rounded(value: float) -> float:
    """Return a confidence, score or time with the decimals that are shown."""
    return round(value, 4)


Rounded = Annotated[float, rounded]

_SHAPES: dict[object, Shape] = {}
"""The shape of each class of records that has one."""


class Shape:
    """The JSON of a record: its keys in order, and where their values come from.

    ``keys`` are fields and properties of ``record``, or KEY=NAME for another name or a part of a
    part, as in "span=chunk.span"; by default all fields. ``further`` has the type of a key that the
    caller gives or that is shown in another type, or a pair of its type and of what computes it. A
    type annotated with a text has this description, and with a function or a shape, values are
    converted by it. A value of a class with a shape of its own gets that shape, which is the first
    one of the class.
    """

    is_first: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        record: type | None,
        doc: str,
        keys: str = "",
        /,
        **further: Any,  # noqa: ANN401
    ) -> None:
        self.name = name
        self._record = record
        self._doc = doc
        if not keys and record is not None:
            keys = " ".join(field.name for field in fields(record))
        named = [part.partition("=") for part in keys.split()]
        self._paths = {key: path or key for key, _, path in named}
        self._paths |= {key: key for key in further if key not in self._paths}
        self._further = further
        if record is not None and self.is_first:
            _SHAPES[record] = self

    def __call__(self, record: Any = None, /, **given: object) -> Json:  # noqa: ANN401
        """Return the JSON of a record, or of a mapping with the same keys.

        Further values that are ``given`` come before those of the record.
        """
        values = record | given if isinstance(record, dict) else given
        found = {}
        for key, (read, convert) in self._plan.items():
            value = values[key] if key in values else read(record)
            found[key] = convert(value) if convert else value
        return found

    @property
    def keys(self) -> tuple[str, ...]:
        """KEY=NAME for each key, as `View` takes them."""
        return tuple(f"{key}={path}" for key, path in self._paths.items())

    @property
    def json(self) -> Any:  # noqa: ANN401  a type
        """The type of a value that is shown in this shape."""
        return Annotated[Json, self]

    @property
    def many(self) -> Any:  # noqa: ANN401  a type
        """The type of a list of these."""
        return list[Annotated[(Json, self)]]

    @property
    def named(self) -> Any:  # noqa: ANN401  a type
        """The type of a mapping of names to these."""
        return dict[str, Annotated[(Json, self)]]

    @cached_property
    def model(self) -> Any:  # noqa: ANN401  a type
        """The type of the JSON as a `TypedDict`, for pydantic."""
        from typing_extensions import TypedDict

        make: Any = TypedDict
        made = self.__dict__["model"] = make(self.name, {})  # what is inside it may refer to it
        made.__annotations__ = {key: model_type(kind) for key, kind in self._types.items()}
        made.__required_keys__ = frozenset(self._types)
        made.__doc__ = self._doc
        made.__pydantic_config__ = {"json_schema_serialization_defaults_required": True}
        return made

    def __get_pydantic_core_schema__(self, _: object, handler: Any) -> Any:  # noqa: ANN401
        """Return the schema of a value whose type is annotated with this shape."""
        return handler.generate_schema(self.model)

    @cached_property
    def _types(self) -> dict[str, Any]:
        types = {}
        for key, path in self._paths.items():
            kind = self._further.get(key)
            kind = kind[0] if isinstance(kind, tuple) else kind
            types[key] = _type_at(self._record, path) if kind is None else kind
        return types

    @cached_property
    def _plan(self) -> dict[str, tuple[Convert, Convert | None]]:
        plan = {}
        for key, path in self._paths.items():
            kind = self._further.get(key)
            read = kind[1] if isinstance(kind, tuple) else attrgetter(path)
            plan[key] = read, converter(self._types[key])
        return plan


class View(Shape):
    """Another shape of records: with fewer keys, or for another surface."""

    is_first = False


def _type_at(kind: Any, path: str) -> Any:  # noqa: ANN401
    """Return the type of a field or property, or of one of a part.

    Other types of the class may be known to type checkers only.
    """
    for name in path.split("."):
        member = getattr(kind, name, None)
        if isinstance(member, property):
            kind = get_type_hints(member.fget, include_extras=True)["return"]
            continue
        owner = next(one for one in kind.__mro__ if name in vars(one).get("__annotations__", ()))
        field = SimpleNamespace(__annotations__={name: owner.__annotations__[name]})
        known = vars(sys.modules[owner.__module__])
        kind = get_type_hints(field, known, include_extras=True)[name]
    return kind


def converter(kind: Any) -> Convert | None:  # noqa: ANN401
    """Return what makes a value of a type ready for JSON; None for one that is."""
    marks = getattr(kind, "__metadata__", ())
    convert: Convert | None = next(filter(callable, marks), _SHAPES.get(kind))
    if convert is not None:
        return convert
    inner = next(filter(None, map(converter, get_args(kind))), None)
    origin = get_origin(kind)
    if inner is None or origin is Annotated:
        return inner
    if origin in (Union, UnionType):
        return lambda value: None if value is None else inner(value)
    if origin in (dict, Mapping):
        return lambda values: {key: inner(value) for key, value in values.items()}
    several = tuple if origin is tuple else list
    return lambda values: several(map(inner, values))


def model_type(kind: Any) -> Any:  # noqa: ANN401
    """Return a type with the models of pydantic in place of records that have a shape."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _SHAPES:
        return _SHAPES[kind].model
    if origin is Annotated:
        from pydantic import Field as Described

        if isinstance(kind.__metadata__[0], Shape):
            return kind.__metadata__[0].model
        marks = (Described(description=m) if isinstance(m, str) else m for m in kind.__metadata__)
        return Annotated[(model_type(parts[0]), *marks)]
    if origin is None or origin is Literal:
        return kind
    types = tuple(map(model_type, parts))
    return reduce(or_, types) if origin in (Union, UnionType) else origin[types]


def typed(kind: Any, keys: str) -> dict[str, Any]:  # noqa: ANN401
    """Return a type for each of some keys of a `Shape`."""
    return dict.fromkeys(keys.split(), kind)


def fields_of(record: Record, *names: str) -> dict[str, Any]:
    """Return the fields of a record by name, or the fields and properties ``names``."""
    return {name: getattr(record, name) for name in names or [f.name for f in fields(record)]}
