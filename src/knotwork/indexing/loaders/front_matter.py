"""Front matter: the settings above a Markdown text.

It is YAML between lines of ``---``, or TOML between lines of ``+++``. It is read as metadata and
blanked in the text, character by character: an answer never cites a setting, and what is below
keeps the offsets and the lines that it has in the file. What cannot be read as settings stays in
the text.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any, NamedTuple

from knotwork.indexing.loaders.base import flat_metadata

_log = logging.getLogger("knotwork.indexing")
_LONGEST = 20_000
_YAML = re.compile(
    rf"\A---[ \t]*\n(.{{0,{_LONGEST}}}?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_TOML = re.compile(rf"\A\+\+\+[ \t]*\n(.{{0,{_LONGEST}}}?)(?<=\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
_INK = re.compile(r"\S")


class FrontMatter(NamedTuple):
    """The text with its front matter blanked, where the body begins, and what was read."""

    text: str
    body: int
    metadata: dict[str, str]


def read_front_matter(text: str, *, uri: str) -> FrontMatter:
    """Return what the front matter of a text says, and the text without it.

    Where nothing else has a text, as where the front matter is broken, the text stays as it is.
    """
    match = _YAML.match(text) or _TOML.match(text)
    if match is None:
        return FrontMatter(text, 0, {})
    values = _parse(match.group(1), is_toml=text.startswith("+"), uri=uri)
    if values is None:
        return FrontMatter(text, match.end(), {})
    if text[match.end() :].strip():
        text = _INK.sub(" ", match.group()) + text[match.end() :]
    return FrontMatter(text, match.end(), values)


def _parse(block: str, *, is_toml: bool, uri: str) -> dict[str, str] | None:
    import yaml

    try:
        # YAML's base loader keeps all values as strings: dates stay as they were written.
        values = (
            tomllib.loads(block) if is_toml else yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings only
        )
        return _flatten(values or {})
    except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        _log.info("keeping the front matter of %s as text: %s", uri, error)
        return None


def _flatten(values: object) -> dict[str, str]:
    """Return all values by dotted names, those of a list joined.

    Raises ValueError where the values are no mapping, or unfold to far more than can be written:
    aliases make nested values as large as one likes.
    """
    if not isinstance(values, Mapping):
        raise ValueError("it is not a mapping of names to values")  # noqa: TRY004 - of the file
    found: dict[str, list[str]] = {}
    size = 0
    for name, value in _leaves(values, ""):
        size += len(name) + len(value)
        if size > 2 * _LONGEST:
            raise ValueError("its values unfold to too much")
        found.setdefault(name, []).append(value)
    return flat_metadata({name: ", ".join(filter(None, items)) for name, items in found.items()})


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name)
        # An empty list counts too: a tower of aliases to one would take for ever.
        yield name, ""
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, date | time):
        yield name, value.isoformat()
    else:
        yield name, str(value)
