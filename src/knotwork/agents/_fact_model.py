"""Read facts from a statement with a language model, each in words of the statement."""

from __future__ import annotations

import re
from collections.abc import Collection

from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_tags, restore
from knotwork._synthesis.memory_evidence import SPEAKER
from knotwork._text.languages import detect_language
from knotwork._text.moments import keep_precision, read_moment
from knotwork._text.terms import content_terms
from knotwork.agents._fact_rules import StatedFact
from knotwork.errors import Unparsable

REMEMBER_STAGE = "remember"
REMEMBER_OUTPUT_TOKENS = 300
MOST_FACTS = 12
LONGEST_FIELD = 120
_BAR = re.compile(r"\s*[|｜]\s*")
_NOTHING = re.compile(r"\W*(?:none|无|没有)\W*", re.IGNORECASE)
_FIELDS = 6
_KINDS = {"fact": False, "ended": True}


def ask_for_facts(text: str, model: ChatModel, *, today: str) -> list[StatedFact]:
    """Return the facts that a model reads from a statement.

    ``today`` is the ISO date that phrases such as "since last May" refer to. Facts that are not in
    words of the statement are dropped. Raises ModelError as `complete_checked`.
    """
    blanks = {"text": escape_tags(text.strip()), "today": today, "speaker": SPEAKER}
    messages = fill_prompt(
        "knotwork.agents", "told", detect_language(text), blanks, prompts_of(model)
    )
    request = ChatRequest(messages, max_output_tokens=REMEMBER_OUTPUT_TOKENS, stage=REMEMBER_STAGE)
    return complete_checked(model, request, lambda reply: parse_facts(reply, text))


def parse_facts(reply: ChatReply, statement: str) -> list[StatedFact]:
    """Parse the facts of a reply about a statement. Raises Unparsable.

    Times are no more precise than the statement is.
    """
    said = frozenset(content_terms(statement))
    text = restore(require_whole(reply).text).strip()
    if _NOTHING.fullmatch(text):
        return []
    facts, read = [], 0
    for line in text.splitlines():
        fields = _BAR.split(line.strip().strip("-*• "))
        if len(fields) != _FIELDS or fields[0].lower() not in _KINDS:
            continue
        read += 1
        kind, subject, relation, object_, since, until = fields
        whole = all(0 < len(field) <= LONGEST_FIELD for field in (subject, relation, object_))
        if whole and _was_said(subject, said) and _was_said(object_, said):
            ended = _KINDS[kind.lower()]
            since, until = (keep_precision(read_moment(t), statement) for t in (since, until))
            facts.append(StatedFact(subject, relation, object_, since, until, ended))
    if not read:
        raise Unparsable("The reply has no line with a fact.")
    return facts[:MOST_FACTS]


def _was_said(name: str, said: Collection[str]) -> bool:
    """Return True if a name consists of words of the statement, or means the speaker."""
    terms = content_terms(name.removeprefix(SPEAKER).removeprefix("'s"))
    return all(term in said for term in terms) and bool(terms or name.startswith(SPEAKER))
