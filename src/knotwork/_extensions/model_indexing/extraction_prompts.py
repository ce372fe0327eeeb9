"""Load the prompts of extraction, one file per language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from knotwork._inference.own_prompts import BUILT_IN, EXTRACTION, OwnPrompts
from knotwork._inference.prompt_files import PROMPT_LANGUAGES
from knotwork._inference.prompt_material import escape_tags

_NOT_FOR_CHUNKS = frozenset({"propose", "proposed"})
"""Prompts about a collection; the extractions of chunks do not depend on them."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts in one language, with placeholders in braces."""

    graph: str
    triplets: str
    types: str
    relation_types: str
    patterns: str
    question: str
    memory: str
    examples: str
    repair: str
    graph_example: str
    oneke_entities: str
    oneke_relations: str
    oneke_graph: str
    glean: str
    check: str
    propose: str
    proposed: str


def prompts_in(language: str, own: OwnPrompts = BUILT_IN) -> Prompts:
    """Return the prompts in a language, or in English if there is no translation.

    The parts that ``own`` has replace the built-in ones.
    """
    known = language if language in PROMPT_LANGUAGES else "en"
    prompts = _built_in(known)
    return replace(prompts, **own.extraction[known]) if known in own.extraction else prompts


@cache
def _built_in(known: str) -> Prompts:
    file = files("knotwork._extensions.model_indexing").joinpath(
        "prompts", f"extraction.{known}.toml"
    )
    text = file.read_text("utf-8")
    return Prompts(**{key: value.strip() for key, value in tomllib.loads(text).items()})


def own_version(own: OwnPrompts) -> str:
    """Return the version of the user's own prompts that are used to read chunks; "" for none."""
    return own.version_of({EXTRACTION}, without=_NOT_FOR_CHUNKS)


def mark(name: str, text: str) -> str:
    """Wrap the material of a prompt in a tag, such as <text>.

    Tags inside the material are escaped, so that a document cannot close its own tag.
    """
    return f"<{name}>\n{escape_tags(text).strip()}\n</{name}>"
