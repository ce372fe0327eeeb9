"""The prompts of extraction, one file a language."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

from knotwork.records import content_id
from knotwork.text.languages import detect_language

LANGUAGES = ("en", "zh")
_ASIDE = frozenset({"propose", "proposed"})
"""Prompts that ask about a collection: what was read of its chunks does not depend on them."""

_MARKS = re.compile(r"<(/?(?:text|question|context|memory|names?)\s*)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model is told in one language; braces hold what is filled in."""

    graph: str
    triplets: str
    types: str
    relation_types: str
    patterns: str
    question: str
    memory: str
    repair: str
    glean: str
    check: str
    propose: str
    proposed: str

    @property
    def fingerprint(self) -> str:
        """A hash that changes with any word by which chunks are read."""
        names = [field.name for field in fields(self) if field.name not in _ASIDE]
        return content_id(*(getattr(self, name) for name in names))


@cache
def prompts_in(language: str) -> Prompts:
    """Return the prompts in a language; in English where there are none in it."""
    known = language if language in LANGUAGES else "en"
    text = files("knotwork.transform.model.prompts").joinpath(f"{known}.toml").read_text("utf-8")
    return Prompts(**{key: value.strip() for key, value in tomllib.loads(text).items()})


@cache
def prompts_fingerprint() -> str:
    """Return a hash that changes with any word of any prompt."""
    return content_id(*(prompts_in(language).fingerprint for language in LANGUAGES))


def prompt_language(text: str) -> str:
    """Return the language in which a model is asked about a text: "zh" or "en"."""
    return "zh" if not text.isascii() and detect_language(text) == "zh" else "en"


def mark(name: str, text: str) -> str:
    """Set a mark around material that the reader of the prompt is to work on.

    Marks inside the material are made harmless, so that a text cannot end itself.
    """
    return f"<{name}>\n{harmless(text).strip()}\n</{name}>"


def harmless(text: str) -> str:
    """Return a text in which no mark of ours stands any more."""
    return _MARKS.sub("‹\\1›", text)
