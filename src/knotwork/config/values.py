"""Checking of values: a raw value from a file, the environment or a caller becomes a typed one."""

from __future__ import annotations

import contextlib
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from knotwork.config.secrets import SecretRef
from knotwork.config.settings import SettingField
from knotwork.errors import ConfigError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|:")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_SECRET_KIND = SecretRef | None
_EXPECTED: dict[object, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "a list of texts",
}


def check_value(entry: SettingField, value: object, origin: str) -> object:
    """Return the typed value. Raises ConfigError that names the value, the valid ones and its
    origin; a secret is never shown.
    """
    if entry.kind == _SECRET_KIND:
        return _check_secret(entry, value, origin)
    typed = _convert(entry.kind, value)
    if typed is None:
        raise _refusal(entry, value, origin, f"must be {_EXPECTED[entry.kind]}")
    if isinstance(typed, float) and not math.isfinite(typed):
        raise _refusal(entry, value, origin, "must be a finite number")
    if isinstance(typed, int | float):
        _check_range(entry, typed, origin)
    if isinstance(typed, str) and not typed.strip() and not entry.rule.may_be_empty:
        raise _refusal(entry, value, origin, "must not be empty")
    return typed


def parse_variable(entry: SettingField, text: str, origin: str) -> object:
    """Return the typed value of an environment variable's text, as `parse_text` does.

    The variable of a secret holds the secret, so that its value is a reference to that variable.
    """
    if entry.kind == _SECRET_KIND:
        return SecretRef(entry.variable) if text.strip() else None
    return parse_text(entry, text, origin)


def parse_text(entry: SettingField, text: str, origin: str) -> object:
    """Return the typed value of a text; a list is split at commas or written as in the file, and a
    secret is given by the name of its variable. Raises ConfigError as `check_value` does.
    """
    if entry.kind == _SECRET_KIND:
        return check_value(entry, {"env": text.strip()}, origin)
    raw: object = text
    if entry.kind is bool:
        word = text.strip().lower()
        raw = True if word in _TRUE else False if word in _FALSE else text
    elif entry.kind in (int, float):
        raw = _number(text)
    elif entry.kind == tuple[str, ...]:
        raw = _list(text)
    return check_value(entry, raw, origin)


def resolve_path(value: str, folder: Path) -> str:
    """Return a path relative to ``folder``, with ``~`` expanded; a URL stays as it is."""
    if not value or _URL.match(value):
        return value
    return str(folder / Path(value).expanduser())


def _convert(kind: object, value: object) -> str | bool | float | tuple[str, ...] | None:
    if kind is bool or isinstance(value, bool):
        return value if kind is bool and isinstance(value, bool) else None
    if kind is str:
        return value if isinstance(value, str) else None
    if kind is int:
        return value if isinstance(value, int) else None
    if kind is float:
        return float(value) if isinstance(value, int | float) else None
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _list(text: str) -> object:
    if text.strip().startswith("["):
        # Also the beginning of a pattern such as `[ab]*.md`, which is no list in TOML.
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"list = {text.strip()}")["list"]
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return text


def _check_range(entry: SettingField, value: float, origin: str) -> None:
    low, high = entry.rule.minimum, entry.rule.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        raise _refusal(entry, value, origin, f"must be from {low:g} to {high:,.15g}")


def _check_secret(entry: SettingField, value: object, origin: str) -> SecretRef | None:
    if value is None or isinstance(value, SecretRef):
        return value
    if isinstance(value, Mapping) and set(value) == {"env"}:
        name = value["env"]
        if isinstance(name, str) and _VARIABLE.fullmatch(name):
            return SecretRef(name)
    raise ConfigError(
        f"`{entry.name}` ({origin}) must name the environment variable that holds the secret; "
        "a secret itself is not accepted here.",
        fix=f'Write {entry.key} = {{ env = "NAME" }} and set NAME, or set {entry.variable}.',
    )


def _refusal(entry: SettingField, value: object, origin: str, rule: str) -> ConfigError:
    return ConfigError(
        f"`{entry.name}` is `{value}` ({origin}), but {rule}.",
        fix=f"It is {entry.rule.explanation.replace(chr(10), ' ')}.",
    )
