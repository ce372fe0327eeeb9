"""Remove paths of the server from texts that clients see."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

_ROUTES = r"(?:api/v1|v1|ui|mcp|health|metrics)\b"


def hide_paths(text: str) -> str:
    """Return a text in which only the last part of each path of this machine is left.

    A path begins with a folder that exists in the root of the file system, so that routes and
    other texts with slashes stay as they are. Document URIs are relative, and stay too.
    """
    return _paths().sub(_last_part, text) if "/" in text or "\\" in text else text


def hide_paths_within(value: Any) -> Any:  # noqa: ANN401
    """Return a JSON value with `hide_paths` applied to all of its strings."""
    if isinstance(value, str):
        return hide_paths(value)
    if isinstance(value, dict):
        return {name: hide_paths_within(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide_paths_within(item) for item in value]
    return value


@cache
def _paths() -> re.Pattern[str]:
    root = Path(Path.cwd().anchor)
    names = "|".join(sorted((re.escape(item.name) for item in root.iterdir()), reverse=True))
    start = rf"(?:file://)?/(?!{_ROUTES})(?:{names})(?=[/\W]|$)"
    quoted = rf"(?<=[`'\"]){start}[^`'\"\n]*|(?<=[`'\"])[A-Za-z]:\\[^`'\"\n]*"
    bare = rf"(?<![\w.~/:`'\"-]){start}[^\s`'\",;:()]*|(?<!\w)[A-Za-z]:\\[^\s`'\",;()]*"
    return re.compile(f"{quoted}|{bare}")


def _last_part(found: re.Match[str]) -> str:
    path = found[0]
    end = "." if path.endswith(".") else ""
    return re.split(r"[/\\]", path.rstrip("/\\."))[-1] + end
