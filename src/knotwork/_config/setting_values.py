"""Values of settings beyond plain ones, the rules that constrain a setting, and URLs as shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from knotwork.errors import ConfigError

AUTO: Literal["auto"] = "auto"
"""A number that is chosen when it is needed."""
NumberOrAuto = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class SettingRule:
    """The explanation and constraints of a setting.

    ``bounds`` are the least and the greatest number. ``shapes_index`` marks settings that change
    the result of indexing a file. ``is_path`` values are relative to the file that sets them.
    ``is_server`` values are URLs, which are printed and so may not have a password. The entries of
    a table that ``holds_secrets`` are texts or names of environment variables.
    """

    explanation: str
    bounds: tuple[float, float] | None = None
    may_be_empty: bool = True
    shapes_index: bool = False
    is_path: bool = False
    is_server: bool = False
    holds_secrets: bool = False


def setting(default: object, explanation: str, **options: Any) -> Any:  # noqa: ANN401
    """Return the dataclass field of a setting, with the options of `SettingRule`."""
    return field(default=default, metadata={"rule": SettingRule(explanation, **options)})


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of the environment variable with a secret; written `{ env = "NAME" }`."""

    env: str

    def reveal(self, environ: Mapping[str, str] | None = None) -> str:
        """Return the current value. Raises ConfigError if the variable is unset or empty."""
        value = (os.environ if environ is None else environ).get(self.env, "").strip()
        if not value:
            raise ConfigError(
                f"The environment variable `{self.env}`, which a secret refers to, is not set.",
                fix=f"Set it before the run: export {self.env}=…",
            )
        return value

    def is_set(self, environ: Mapping[str, str] | None = None) -> bool:
        """Return True if the variable is set and not blank."""
        return bool((os.environ if environ is None else environ).get(self.env, "").strip())


class SettingTable(dict[str, Any]):
    """A table of a settings file, as a constant: equal tables are equal and have one hash."""

    def __hash__(self) -> int:  # type: ignore[override]  # nobody changes one
        return hash(self.text)

    def __repr__(self) -> str:
        return f"SettingTable({super().__repr__()})"

    @property
    def text(self) -> str:
        """The table as canonical JSON; secrets are references."""
        return json.dumps(as_json(self), sort_keys=True, ensure_ascii=False)


NO_ENTRIES = SettingTable()
RoleModel = str | SettingTable
"""The model of a role: its name, or a table of settings of [llm] that replace those."""


def as_json(value: object) -> Any:  # noqa: ANN401  any JSON value
    """Return a value of a setting as JSON; a secret is the name of its variable."""
    if isinstance(value, SecretRef):
        return {"env": value.env}
    if isinstance(value, Mapping):
        return {name: as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value


def as_toml(value: object) -> str:
    """Return a value of a setting as TOML."""
    if isinstance(value, SecretRef):
        return f"{{ env = {_quote(value.env)} }}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        parts = [f"{_quote(name)} = {as_toml(item)}" for name, item in value.items()]
        return "{ " + ", ".join(parts) + " }" if parts else "{}"
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, except that TOML requires DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


_SERVER = re.compile(r"(?!file:|memory:)([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)


def is_server_url(url: str) -> bool:
    """Return True if an index is on a server, and not a file or in memory."""
    return _SERVER.fullmatch(url) is not None


def shown_url(url: str) -> str:
    """Return the path or URL of an index as messages and names of files may have it.

    Of a server's URL, scheme, host, port, path and the name of the index are left.
    """
    found = _SERVER.fullmatch(url)
    if found is None:
        return url
    scheme, rest = found.groups()
    address, _, query = rest.partition("#")[0].partition("?")
    authority, slash, path = address.partition("/")
    host = authority.rpartition("@")[2]
    if "@" in path:  # an unescaped slash in a password
        host, path = "", path.rpartition("@")[2].partition("/")[2]
    named = [part for part in query.split("&") if part.startswith("index=")]
    return f"{scheme}://{host}{slash}{path}{''.join(f'?{part}' for part in named[-1:])}"
