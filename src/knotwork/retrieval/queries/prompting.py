"""The prompts of translators, one file for each task and language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from knotwork.inference import prompts
from knotwork.inference.chat import ChatRequest
from knotwork.retrieval.queries.linking import SchemaLinker
from knotwork.retrieval.queries.schema import TargetSchema, describe_schema
from knotwork.retrieval.queries.statements import Asked, Attempt
from knotwork.text.languages import detect_language

OUTPUT_TOKENS = 400
SCHEMA_TOKENS = 1_500
SHOWN_ATTEMPTS = 2
_TAG = re.compile(r"</?\s*(question|context|facts|text|memory)\s*>", re.IGNORECASE)
_MOST_NAMES = 12

fill_prompt = partial(prompts.fill_prompt, "knotwork.retrieval.queries")
"""Returns the messages of a prompt of translators, of its task, a language and its blanks."""


def make_request(
    task: str, asked: Asked, attempts: Sequence[Attempt], *, stage: str, more: str = ""
) -> ChatRequest:
    """Return the request for a statement: schema, stored names, examples, what went wrong."""
    language = detect_language(asked.text)
    blanks = {
        "question": make_harmless(asked.text.strip()),
        "schema": describe_for(asked),
        "names": describe_names(asked),
        "examples": more or "none",
        "attempts": describe_attempts(attempts),
        "language": "Cypher" if asked.schema.language == "cypher" else "SQL (SQLite)",
    }
    messages = fill_prompt(task, language, blanks)
    return ChatRequest(messages, max_output_tokens=OUTPUT_TOKENS, stage=stage)


def describe_for(asked: Asked, *, budget_tokens: int = SCHEMA_TOKENS) -> str:
    """Return the schema, the kinds that the question mentions first."""
    return describe_schema(asked.schema, budget_tokens=budget_tokens, first=linked_kinds(asked))


def linked_kinds(asked: Asked) -> list[str]:
    """Return the kinds that a question names by word, value, link or property, likeliest first."""
    order = {near.stored.kind: None for m in asked.mentions for near in m.found}
    schema: TargetSchema = asked.schema
    for mention in sorted(SchemaLinker(schema).link(asked.text), key=lambda m: -m.score):
        if mention.element == "kind":
            order[mention.name] = None
        elif mention.element == "link":
            ends = [(k.source, k.target) for k in schema.links if k.name == mention.name]
            order.update({kind: None for pair in ends for kind in pair})
        else:
            owners = [kind.name for kind in schema.kinds if kind.property(mention.name)]
            order.update(dict.fromkeys(owners))
    return list(order)


def describe_names(asked: Asked) -> str:
    """Return the stored values that a question may mean, one a line."""
    lines = [
        f'"{m.surface}" may be {near.stored.kind}.{near.stored.property} = {near.stored.value!r}'
        for m in asked.mentions
        for near in m.found[:4]
    ]
    return make_harmless("\n".join(lines[:_MOST_NAMES])) or "none"


def describe_attempts(attempts: Sequence[Attempt]) -> str:
    """Return what was tried last, and what was wrong with it."""
    lines = [
        f"{' '.join(a.statement.text.split())}\n{a.problem}" for a in attempts[-SHOWN_ATTEMPTS:]
    ]
    return make_harmless("\n".join(lines)) or "none"


def make_harmless(text: str) -> str:
    """Return a text without what means something in a prompt."""
    return _TAG.sub(r"(\1)", text)
