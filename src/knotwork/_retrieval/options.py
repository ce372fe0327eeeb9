"""Options of retrievers and steps: frozen dataclasses whose annotations bound their values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

from knotwork.errors import ConfigError, UnknownName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most of an option; the least itself is left out if ``is_open``."""

    least: float
    most: float = math.inf
    is_open: bool = False
    is_whole: bool = False

    def check(self, name: str, value: float | None) -> None:
        """Raise ConfigError for a value outside the bounds; None is no value."""
        if value is None:
            return
        low = value > self.least if self.is_open else value >= self.least
        if low and value <= self.most and not (self.is_whole and isinstance(value, float)):
            return
        if self.is_open:
            allowed = f"above {self.least:g} and at most {self.most:g}"
        elif self.most < math.inf:
            allowed = f"from {self.least:g} to {self.most:g}"
        else:
            allowed = f"{'a whole number of ' if self.is_whole else ''}at least {self.least:g}"
        raise ConfigError(f"`{name}` is `{value}`, but must be {allowed}.")


@dataclass(frozen=True, slots=True)
class OneOf:
    """The valid names of an option; ``kind`` is what errors call it, by default its own name."""

    names: tuple[str, ...]
    kind: str = ""

    def check(self, name: str, value: str) -> None:
        """Raise UnknownName for another name."""
        if value not in self.names:
            raise UnknownName(self.kind or name, value, self.names)


RulesOrModel = Annotated[str, OneOf(("rules", "model"), "method")]
Whole = Annotated[int, Bounds(0, is_whole=True)]
Positive = Annotated[int, Bounds(1, is_whole=True)]
Weight = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]


@lru_cache(maxsize=128)
def _bounds_of(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple((n, found) for n, h in hints.items() for found in getattr(h, "__metadata__", ()))


def _check(self: object) -> None:
    cls: Any = type(self)
    for name, found in _bounds_of(cls):
        found.check(name, getattr(self, name))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def bounded(cls: type[T]) -> type[T]:
    """Make a class the options of a retriever: a frozen dataclass that checks its values.

    An instance raises ConfigError for a value outside `Bounds`, UnknownName for none of `OneOf`.
    """
    cls.__post_init__ = _check  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
