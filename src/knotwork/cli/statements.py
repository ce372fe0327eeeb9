"""Statements of Cypher and their parameters, as they are written on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.records import PropertyValue

_SUFFIXES = (".cypher", ".cql")


def read_statement(given: str | None) -> str | None:
    """Return a statement, or what the file says whose path is given: one word, or *.cypher.

    Raises ConfigError for a file that cannot be read.
    """
    if given is None or (len(given.split()) > 1 and not given.endswith(_SUFFIXES)):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"`{given}` cannot be read as a file with a statement: {reason}.",
            fix="Give the path of a text file (UTF-8), or the statement itself in quotes.",
        ) from None


def read_parameters(given: Iterable[str]) -> dict[str, PropertyValue]:
    """Return parameters by name; raises as `read_parameter`."""
    return dict(read_parameter(text) for text in given)


def read_parameter(text: str) -> tuple[str, PropertyValue]:
    """Return the name and the value of a parameter: JSON, or else text.

    Raises ConfigError for one without a name or a value.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"`{text}` gives no parameter a value.", fix="Write it as --param n=Ada.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
