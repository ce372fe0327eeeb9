"""Load settings from arguments, environment and file, and write the file.

Arguments override environment variables, which override `knotwork.toml`, which overrides the
defaults. Each value keeps its origin for messages and `knotwork config show --origin`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knotwork._config.setting_values import (
    AUTO,
    NumberOrAuto,
    RoleModel,
    SecretRef,
    SettingTable,
    as_json,
    as_toml,
)
from knotwork._config.settings import (
    SettingField,
    Settings,
    named_settings,
    sections,
    setting_fields,
)
from knotwork.errors import ConfigError, UnknownName

CONFIG_FILE = "knotwork.toml"
_FILE_VARIABLE = "KNOTWORK_CONFIG"
_PREFIX = "KNOTWORK_"

ARGUMENT = "argument"
"""The origin of a value that a caller or a command line option sets."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Loaded settings with their origins.

    ``origins`` maps "section.key" to `default`, `file NAME`, `environment VARIABLE` or `argument`.
    ``file`` is the settings file that was read, if any.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None = None

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield (name, value as text, origin) of every setting.

        Secrets appear as references, and the URL of an index without user and password.
        """
        for entry in setting_fields():
            yield entry.name, _show(entry.shown(self.settings)), self.origins[entry.name]

    def described(self) -> dict[str, dict[str, object]]:
        """Return value and origin of every setting for JSON, without secrets; see `rows`."""
        return {
            entry.name: {
                "value": as_json(entry.shown(self.settings)),
                "origin": self.origins[entry.name],
            }
            for entry in setting_fields()
        }


def load_settings(
    *,
    file: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Loaded:
    """Load the settings; ``overrides`` maps "section.key" to a value, or to None for no override.

    ``file`` defaults to the value of KNOTWORK_CONFIG, or else to `knotwork.toml` in the working
    folder, if it exists. Raises ConfigError for an unreadable file or an invalid value, UnknownName
    for an unknown key or variable.
    """
    variables = os.environ if environ is None else environ
    named = file if file is not None else variables.get(_FILE_VARIABLE) or None
    source = Path(CONFIG_FILE if named is None else named)
    is_read = named is not None or source.is_file()
    known = named_settings()
    values: dict[str, object] = {entry.name: entry.default for entry in setting_fields()}
    origins = dict.fromkeys(values, "default")
    if is_read:
        origin = f"file {source}"
        for name, raw in _flatten(_read_toml(source), source):
            value = check_value(known[name], raw, origin)
            value = _resolve(known[name], value, source.parent)
            _assign(known[name], value, origin, values, origins)
    _apply_environment(known, variables, values, origins)
    for name, raw in (overrides or {}).items():
        if name not in known:
            raise UnknownName("setting", name, known)
        if raw is not None:
            value = _resolve(known[name], check_value(known[name], raw, ARGUMENT), Path())
            _assign(known[name], value, ARGUMENT, values, origins)
    _check_together(values, origins)
    return Loaded(_build(values), origins, source if is_read else None)


def _read_toml(source: Path) -> dict[str, object]:
    try:
        with source.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise ConfigError(
            f"The settings file `{source}` cannot be read: {error.strerror}.",
            fix="Specify another file, or create one with: knotwork init",
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The settings file `{source}` is not valid TOML: {error}.") from error


def _flatten(table: Mapping[str, object], source: Path) -> Iterator[tuple[str, object]]:
    known = sections()
    for section, content in table.items():
        if section not in known:
            raise UnknownName("section", section, known, place=f" in {source}")
        if not isinstance(content, Mapping):
            raise ConfigError(
                f"`{section}` in `{source}` is `{content}`, but must be a table.",
                fix=f"Write [{section}] on a line of its own, followed by its settings.",
            )
        keys = {entry.key for entry in setting_fields() if entry.section == section}
        for key, value in content.items():
            if key not in keys:
                raise UnknownName("setting", key, keys, place=f" of [{section}] in {source}")
            yield f"{section}.{key}", value


def _apply_environment(
    known: Mapping[str, SettingField],
    variables: Mapping[str, str],
    values: dict[str, object],
    origins: dict[str, str],
) -> None:
    """Override ``values`` with environment variables.

    An unknown KNOTWORK_ variable is an error, as it is probably a misspelt one, unless a secret
    refers to it.
    """
    by_variable = {entry.variable: entry for entry in known.values()}
    referred = {secret.env for value in values.values() for secret in _secrets_in(value)}
    for variable in sorted(variables):
        if not variable.startswith(_PREFIX) or variable in {_FILE_VARIABLE, *referred}:
            continue
        entry = by_variable.get(variable)
        if entry is None:
            raise UnknownName("environment variable", variable, [*by_variable, _FILE_VARIABLE])
        origin = f"environment {variable}"
        value = _resolve(entry, parse_variable(entry, variables[variable], origin), Path())
        _assign(entry, value, origin, values, origins)


def _assign(
    entry: SettingField,
    value: object,
    origin: str,
    values: dict[str, object],
    origins: dict[str, str],
) -> None:
    """Set a value; the settings of a role are entries of its table."""
    role, _, key = entry.key.partition(".")
    name = f"{entry.section}.{role}"
    before = values[name]
    if key:
        table = before if isinstance(before, SettingTable) else {"model": before} if before else {}
        value = SettingTable({**table, key: value})
    elif isinstance(before, SettingTable) and isinstance(value, str) and entry.kind == RoleModel:
        value = SettingTable({**before, "model": value})
    values[name] = value
    origins[name] = origin


def _secrets_in(value: object) -> Iterator[SecretRef]:
    if isinstance(value, SecretRef):
        yield value
    elif isinstance(value, SettingTable):
        for item in value.values():
            yield from _secrets_in(item)


def _resolve(entry: SettingField, value: object, folder: Path) -> object:
    """Return the value; a path that is not a URL is resolved against ``folder``."""
    if not entry.rule.is_path or not isinstance(value, str) or not value or _URL.match(value):
        return value
    return str(folder / Path(value).expanduser())


def _check_together(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    size = values["index.chunk_tokens"]
    for name, fits, rule in (
        ("index.overlap_tokens", values["index.overlap_tokens"] < size, "less than"),
        ("index.parent_tokens", values["index.parent_tokens"] >= size, "at least"),
    ):
        if not fits:
            raise ConfigError(
                f"`{name}` is `{values[name]}` ({origins[name]}), but must be {rule} "
                f"`index.chunk_tokens`, which is `{size}` ({origins['index.chunk_tokens']})."
            )


def _build(values: Mapping[str, object]) -> Settings:
    own: dict[str, dict[str, object]] = {section: {} for section in sections()}
    for name, value in values.items():
        section, _, key = name.partition(".")
        own[section][key] = value
    built: dict[str, Any] = {section: kind(**own[section]) for section, kind in sections().items()}
    return Settings(**built)


def _show(value: object) -> str:
    if isinstance(value, SecretRef | SettingTable):
        return as_toml(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|:")
_PASSWORD = re.compile(r"[^/]*//[^/@]*:[^@]*@")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_SECRET_KIND = SecretRef | None
_EXPECTED: dict[object, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    NumberOrAuto: f'an integer, or "{AUTO}"',
    tuple[str, ...]: "a list of strings",
    SettingTable: 'a table, such as { name = "value" }',
    RoleModel: "the name of a model, or a table of settings of a role",
}
_SECRET_NAME = re.compile(r"auth|key|token|secret|password|cookie", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_value(entry: SettingField, value: object, origin: str) -> object:
    """Return the typed value of a setting.

    Raises ConfigError with the value, its origin and the valid values, but never with a secret.
    """
    if entry.kind == _SECRET_KIND:
        return _check_secret(entry, value, origin)
    if isinstance(value, Mapping) and entry.kind in (SettingTable, RoleModel):
        return _check_table(entry, value, origin)
    typed = _convert(entry.kind, value)
    if typed is None:
        raise _invalid_value(entry, value, origin, f"must be {_EXPECTED[entry.kind]}")
    if isinstance(typed, float) and not math.isfinite(typed):
        raise _invalid_value(entry, value, origin, "must be a finite number")
    if entry.rule.bounds and isinstance(typed, int | float):
        low, high = entry.rule.bounds
        if not low <= typed <= high:
            raise _invalid_value(entry, typed, origin, f"must be from {low:g} to {high:,.15g}")
    if isinstance(typed, str) and not typed.strip() and not entry.rule.may_be_empty:
        raise _invalid_value(entry, value, origin, "must not be empty")
    if entry.rule.is_server and isinstance(typed, str) and _PASSWORD.match(typed):
        raise ConfigError(
            f"`{entry.name}` ({origin}) has a password in its URL, where it would be printed.",
            fix=f"Leave it out of the URL, and name the variable that has it in"
            f" {entry.name}_password.",
        )
    return typed


def parse_variable(entry: SettingField, text: str, origin: str) -> object:
    """Return the typed value of the text of an environment variable or command line option.

    A list is split at commas, or has the syntax of the file. The variable of a secret contains the
    secret itself, so the value is a reference to that variable. Raises ConfigError like
    `check_value`.
    """
    if entry.kind == _SECRET_KIND:
        return SecretRef(entry.variable) if text.strip() else None
    raw: object = text
    if entry.kind is bool:
        word = text.strip().lower()
        raw = True if word in _TRUE else False if word in _FALSE else text
    elif entry.kind in (int, float, NumberOrAuto):
        for number in (float, int):  # an integer if it is one
            with contextlib.suppress(ValueError):
                raw = number(text.strip())
    elif entry.kind == tuple[str, ...]:
        raw = _parse_list(text)
    elif entry.kind == SettingTable or (entry.kind == RoleModel and text.strip().startswith("{")):
        raw = _parse_table(text)
    return check_value(entry, raw, origin)


def _convert(kind: object, value: object) -> str | bool | float | tuple[str, ...] | None:
    if kind == NumberOrAuto:
        kind = str if value == AUTO else int
    if kind == RoleModel:
        kind = str
    if kind is bool or isinstance(value, bool):
        return value if kind is bool and isinstance(value, bool) else None
    if kind is str:
        return value if isinstance(value, str) else None
    if kind is int:
        return value if isinstance(value, int) else None
    if kind is float:
        return float(value) if isinstance(value, int | float) else None
    if not isinstance(value, list | tuple) or kind is SettingTable:
        return None
    return tuple(value) if all(isinstance(item, str) for item in value) else None


def _parse_list(text: str) -> object:
    if text.strip().startswith("["):
        # A glob such as `[ab]*.md` also begins with a bracket, but is not a TOML list.
        with contextlib.suppress(ValueError, RecursionError):
            return tomllib.loads(f"list = {text.strip()}")["list"]
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_table(text: str) -> object:
    """Return the table that JSON or an inline table of TOML states, else the text itself."""
    if not text.strip():
        return {}
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    with contextlib.suppress(ValueError, RecursionError):
        return tomllib.loads(f"table = {text.strip()}")["table"]
    return text


def _check_table(entry: SettingField, table: Mapping[object, object], origin: str) -> SettingTable:
    if entry.kind == RoleModel:
        return _check_role(entry, table, origin)
    if entry.rule.holds_secrets:
        return SettingTable(
            {name: _check_header(entry, name, item, origin) for name, item in table.items()}  # type: ignore[misc]  # checked
        )
    try:
        json.dumps(as_json(table), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _invalid_value(entry, table, origin, f"must be valid as JSON: {error}") from None
    return SettingTable(table)  # type: ignore[arg-type]  # the keys of TOML and JSON are texts


def _check_role(entry: SettingField, table: Mapping[object, object], origin: str) -> SettingTable:
    prefix = f"{entry.name}."
    known = {
        name.removeprefix(prefix): field
        for name, field in named_settings().items()
        if name.startswith(prefix)
    }
    for key in table:
        if key not in known:
            raise UnknownName("setting", str(key), known, place=f" of `{entry.name}` ({origin})")
    checked = {str(key): check_value(known[str(key)], item, origin) for key, item in table.items()}
    return SettingTable(checked)


def _check_header(entry: SettingField, name: object, value: object, origin: str) -> object:
    """Return the value of a header; one that looks like a secret must be a reference."""
    where = f"`{entry.name}` ({origin})"
    if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
        raise ConfigError(f"{where} has `{name}`, which is not a valid name of a header.")
    if secret := _read_secret(value):
        return secret
    if _SECRET_NAME.search(name):
        raise ConfigError(
            f"The header `{name}` of {where} looks like a secret, which is not accepted here.",
            fix=f'Name the environment variable with it: {name} = {{ env = "NAME" }}',
        )
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise ConfigError(
            f"The header `{name}` of {where} must be a line of ASCII text.",
            fix=f'Write {name} = "TEXT", or {name} = {{ env = "NAME" }} for a secret.',
        )
    return value


def _check_secret(entry: SettingField, value: object, origin: str) -> SecretRef | None:
    secret = _read_secret(value)
    if secret is None and value is not None:
        raise ConfigError(
            f"`{entry.name}` ({origin}) must name the environment variable with the secret; "
            "the secret itself is not accepted here.",
            fix=f'Write {entry.key} = {{ env = "NAME" }} and set NAME, or set {entry.variable}.',
        )
    return secret


def _read_secret(value: object) -> SecretRef | None:
    """Return a reference to a secret, also as a table; None if the value is none."""
    if isinstance(value, Mapping) and set(value) == {"env"}:
        name = value["env"]
        return SecretRef(name) if isinstance(name, str) and _VARIABLE.fullmatch(name) else None
    return value if isinstance(value, SecretRef) else None


def _invalid_value(entry: SettingField, value: object, origin: str, rule: str) -> ConfigError:
    return ConfigError(
        f"`{entry.name}` is `{value}` ({origin}), but {rule}.",
        fix=f"It is {entry.rule.explanation.replace(chr(10), ' ')}.",
    )


_HEAD = """\
# Settings of Knotwork. A line that begins with "#" shows a default: remove the "#" to change it.
# Environment variables (KNOTWORK_STORE_PATH for path in [store]) and command line options override
# this file. `knotwork config show --origin` lists the effective values.
"""


def render_config(settings: Settings | None = None) -> str:
    """Return TOML that loads to these settings; values that equal their default are comments.

    The user and the password in the URL of an index are left out.
    """
    settings = settings or Settings()
    blocks = [_HEAD]
    for section, kind in sections().items():
        lines = [f"# {kind.__doc__}", f"[{section}]"]
        for entry in setting_fields():
            if entry.section == section:
                lines.extend(_render_setting(entry, entry.shown(settings)))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def write_default_config(path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a settings file with all defaults as comments, and return its path.

    Raises ConfigError if the file exists and ``overwrite`` is off, or if it is not writable.
    """
    target = Path(path)
    try:
        with target.open("w" if overwrite else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(render_config())
    except FileExistsError:
        raise ConfigError(
            f"The settings file `{target}` already exists.",
            fix="Edit it, or replace it with: knotwork init --force",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"The settings file `{target}` cannot be written: {error.strerror}.",
            fix="Choose an existing folder that is writable.",
        ) from error
    return target


def _render_setting(entry: SettingField, value: object) -> list[str]:
    lines = [f"## {line}" for line in entry.rule.explanation.split("\n")]
    if value == entry.default:
        shown = '{ env = "NAME" }' if value is None else as_toml(value)
        return [*lines, f"# {entry.key} = {shown}"]
    return [*lines, f"{entry.key} = {as_toml(value)}"]
