"""Loading: argument over environment over file over default, with the origin of every value."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from knotwork.config.secrets import SecretRef
from knotwork.config.settings import SettingField, Settings, sections, setting_fields
from knotwork.config.values import check_value, parse_variable, resolve_path
from knotwork.errors import ConfigError, UnknownName

CONFIG_FILE = "knotwork.toml"
_FILE_VARIABLE = "KNOTWORK_CONFIG"
_PREFIX = "KNOTWORK_"

ARGUMENT = "argument"
"""The origin of what a caller or an option of the command line set."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, where each came from ("section.key" to `default`, `file NAME`,
    `environment VARIABLE` or `argument`), and the file that was read, if any.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None = None

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield (name, value as text, origin) of every setting; secrets appear as references."""
        for entry in setting_fields():
            value = getattr(getattr(self.settings, entry.section), entry.key)
            yield entry.name, _show(value), self.origins[entry.name]

    def described(self) -> dict[str, dict[str, object]]:
        """Return value and origin of every setting as JSON holds them, secrets as references."""
        return {
            entry.name: {
                "value": _plain(getattr(getattr(self.settings, entry.section), entry.key)),
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
    """Load the settings; ``overrides`` maps "section.key" to a value, and None means not given.

    Without ``file``, the file that KNOTWORK_CONFIG names, else `knotwork.toml` of the working
    folder if there is one. Raises ConfigError for an unreadable file or a wrong value, and
    UnknownName for a key or variable that no setting has.
    """
    variables = os.environ if environ is None else environ
    source = _find_file(file, variables)
    known = {entry.name: entry for entry in setting_fields()}
    values: dict[str, object] = {name: entry.default for name, entry in known.items()}
    origins = dict.fromkeys(known, "default")
    if source is not None:
        origin = f"file {source}"
        for name, raw in _flatten(_read_toml(source), source):
            value = check_value(known[name], raw, origin)
            values[name] = _located(known[name], value, source.parent)
            origins[name] = origin
    _apply_environment(known, variables, values, origins)
    for name, raw in (overrides or {}).items():
        if name not in known:
            raise UnknownName("setting", name, known)
        if raw is not None:
            value = check_value(known[name], raw, ARGUMENT)
            values[name] = _located(known[name], value, Path())
            origins[name] = ARGUMENT
    _check_together(values, origins)
    return Loaded(_build(values), origins, source)


def _find_file(file: str | Path | None, variables: Mapping[str, str]) -> Path | None:
    named = file if file is not None else variables.get(_FILE_VARIABLE) or None
    if named is not None:
        return Path(named)
    default = Path(CONFIG_FILE)
    return default if default.is_file() else None


def _read_toml(source: Path) -> dict[str, object]:
    try:
        with source.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise ConfigError(
            f"The settings file `{source}` cannot be read: {error.strerror}.",
            fix="Name another file, or write one with: knotwork init",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The settings file `{source}` is not valid TOML: {error}.") from error


def _flatten(table: Mapping[str, object], source: Path) -> Iterator[tuple[str, object]]:
    known = sections()
    for section, content in table.items():
        if section not in known:
            raise UnknownName("section", section, known, place=f" in {source}")
        if not isinstance(content, Mapping):
            raise ConfigError(
                f"`{section}` in `{source}` is `{content}`, but must be a table.",
                fix=f"Write [{section}] on a line of its own, and its settings below.",
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
    """Set what the environment sets. A KNOTWORK_ variable that sets nothing is refused, as a typing
    error would otherwise pass unseen; one that a secret refers to is not a setting.
    """
    by_variable = {entry.variable: entry for entry in known.values()}
    referred = {value.env for value in values.values() if isinstance(value, SecretRef)}
    for variable in sorted(variables):
        if not variable.startswith(_PREFIX) or variable in {_FILE_VARIABLE, *referred}:
            continue
        entry = by_variable.get(variable)
        if entry is None:
            raise UnknownName("environment variable", variable, [*by_variable, _FILE_VARIABLE])
        origin = f"environment {variable}"
        value = parse_variable(entry, variables[variable], origin)
        values[entry.name] = _located(entry, value, Path())
        origins[entry.name] = origin


def _located(entry: SettingField, value: object, folder: Path) -> object:
    if entry.rule.is_path and isinstance(value, str):
        return resolve_path(value, folder)
    return value


def _check_together(values: Mapping[str, object], origins: Mapping[str, str]) -> None:
    size, overlap = values["index.chunk_tokens"], values["index.overlap_tokens"]
    parent = values["index.parent_tokens"]
    assert isinstance(size, int)
    assert isinstance(overlap, int)
    assert isinstance(parent, int)
    if overlap >= size:
        raise ConfigError(
            f"`index.overlap_tokens` is `{overlap}` ({origins['index.overlap_tokens']}), but must "
            f"be less than `index.chunk_tokens`, which is `{size}` "
            f"({origins['index.chunk_tokens']})."
        )
    if parent < size:
        raise ConfigError(
            f"`index.parent_tokens` is `{parent}` ({origins['index.parent_tokens']}), but must be "
            f"at least `index.chunk_tokens`, which is `{size}` ({origins['index.chunk_tokens']})."
        )


def _build(values: Mapping[str, object]) -> Settings:
    built: dict[str, object] = {}
    for section, kind in sections().items():
        prefix = f"{section}."
        own = {
            name.removeprefix(prefix): value
            for name, value in values.items()
            if name.startswith(prefix)
        }
        built[section] = kind(**own)
    return Settings(**built)  # type: ignore[arg-type]  # each section was built by its own class


def _plain(value: object) -> object:
    if isinstance(value, SecretRef):
        return {"env": value.env}
    return list(value) if isinstance(value, tuple) else value


def _show(value: object) -> str:
    if isinstance(value, SecretRef):
        return f'{{ env = "{value.env}" }}'
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
