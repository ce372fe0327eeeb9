"""The word lists of a language, which rules share: ``data/words.LANGUAGE.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

_DATA = Path(__file__).with_name("data")


def word_list(language: str, name: str) -> tuple[str, ...]:
    """Return a list in the order of the file; bars part its entries if some have a blank."""
    listed = _read(language)[name]
    if "|" not in listed:
        return tuple(listed.split())
    return tuple(filter(None, (entry.strip() for entry in listed.replace("\n", "|").split("|"))))


def word_set(language: str, name: str) -> frozenset[str]:
    """Return a list as a set."""
    return frozenset(word_list(language, name))


@cache
def _read(language: str) -> dict[str, str]:
    return tomllib.loads((_DATA / f"words.{language}.toml").read_text("utf-8"))
