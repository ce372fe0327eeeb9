"""Ask a model for words to search by, and for the answer mode of a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.own_prompts import prompts_of
from knotwork._retrieval.steps.step_prompts import ask_words
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.prompt_context import make_request
from knotwork._synthesis.report_points import says_nothing
from knotwork._text.terms import content_terms
from knotwork.errors import Unparsable
from knotwork.records import Evidence, Hit

EXPANDED_SHARE = 0.5
"""The factor on scores of hits that only the expanded search finds."""

_MODE = re.compile(
    r"\W*(?:(?:the )?(?:mode|answer|category|type|kind|模式|答案|类型)(?:\s+is\b|\s*是)?\W*)?"
    r"(?P<mode>global|local|basic)\W*(?:$|[\s*`\"'”]*[-–—:：;,，.。(（|\n].*)",
    re.IGNORECASE | re.DOTALL,
)

_MODE_NAME = re.compile(r"\b(global|local|basic)\b", re.IGNORECASE)


def find_keywords(question: str, model: ChatModel) -> tuple[str, ...]:
    """Ask a model for words that answering passages may have. Raises ModelError."""
    return tuple(word for word in ask_words(question, model) if not says_nothing(word))


def known_forms(forms: Sequence[str], store: Store) -> tuple[str, ...]:
    """Return the forms whose terms all occur in the index: others only dilute the search."""
    terms = {form: set(content_terms(form)) for form in forms}
    asked = {term for found in terms.values() for term in found}
    known = store.texts("chunk").document_frequencies(asked).keys()
    return tuple(form for form in forms if terms[form] <= known)


def add_found(evidence: Evidence, more: Evidence, *, keywords: Sequence[str]) -> Evidence:
    """Return evidence with the additional hits of a search by keywords.

    Hits of the question itself keep their scores. The additional ones are scaled to half of its
    best score.
    """
    own = {hit.chunk.id for hit in evidence.hits}
    top = max((hit.score for hit in evidence.hits), default=0.0)
    other = max((hit.score for hit in more.hits), default=0.0)
    scale = EXPANDED_SHARE * (top / other if top > 0 and other > 0 else 1.0)
    extra: list[Hit] = [
        replace(hit, score=hit.score * scale, scores={"keywords": hit.score * scale})
        for hit in more.hits
        if hit.chunk.id not in own
    ]
    return replace(
        evidence.with_found([*evidence.hits, *extra]),
        confidence=max(evidence.confidence, more.confidence),
        notes=(*evidence.notes, f"Also searched by: {', '.join(keywords)}."),
    )


def choose_mode_with_model(question: str, model: ChatModel) -> AskMode:
    """Ask a model for the mode: global, local or basic. Raises as `find_keywords`."""
    request = make_request("route", question, prompts_of(model), output_tokens=8)
    return complete_checked(model, request, parse_mode)


def parse_mode(reply: ChatReply) -> AskMode:
    """Parse the mode that a reply names, alone or at its start. Raises Unparsable."""
    found = _MODE.match(reply.text)
    named = {word.lower() for word in _MODE_NAME.findall(reply.text)}
    if found is None or len(named) != 1:
        raise Unparsable("The reply names no mode, or more than one.")
    return AskMode(found["mode"].lower())
