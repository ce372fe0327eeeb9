"""Rewrite a question with a language model, so that it can be asked without earlier turns."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.checked import complete_checked, require_whole
from knotwork.synthesis.conversation.names import capital_names
from knotwork.synthesis.conversation.turns import Turn
from knotwork.synthesis.packing import make_harmless
from knotwork.synthesis.prompts import fill_prompt
from knotwork.text.languages import detect_language
from knotwork.text.names import normal_form
from knotwork.text.terms import content_terms

STAGE = "understand"
OUTPUT_TOKENS = 120
SHOWN_TURNS = 3
SHOWN_CHARACTERS = 300
LONGEST = 500
LEAST_SHARE = 0.6
"""Of the question's terms that were said before: it may only be put in other words."""


def ask_alone(question: str, turns: Sequence[Turn], model: ChatModel) -> str:
    """Ask for a question that can be understood without the turns before it.

    Raises ModelError as `complete_checked`; a question with a name that nobody said is rejected.
    """
    shown = turns[-SHOWN_TURNS:]
    told = "\n".join(f"- {turn.question}\n  {turn.answer[:SHOWN_CHARACTERS]}" for turn in shown)
    blanks = {"question": make_harmless(question.strip()), "turns": make_harmless(told)}
    messages = fill_prompt("understand", detect_language(question), blanks)
    request = ChatRequest(messages, max_output_tokens=OUTPUT_TOKENS, stage=STAGE)
    said = f"{question} {told}"
    return complete_checked(model, request, lambda reply: parse_question(reply, said))


def parse_question(reply: ChatReply, said: str) -> str:
    """Read the question; ``said`` is all that was said. Raises Unparsable."""
    lines = [line.strip() for line in require_whole(reply).text.splitlines() if line.strip()]
    text = lines[0].strip("\"“”'` ") if len(lines) == 1 else ""
    if not 0 < len(text) <= LONGEST:
        raise Unparsable("The reply is not one question.")
    form = normal_form(said)
    for name in capital_names(text):
        if normal_form(name.name) not in form:
            raise Unparsable(f"Nobody spoke of `{name.name}`.")
    terms = set(content_terms(text))
    if len(terms.intersection(content_terms(said))) < LEAST_SHARE * len(terms):
        raise Unparsable("The question is about something else.")
    return text
