"""Statements written by a model, from the schema, stored names, examples and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatModel, ChatReply
from knotwork.inference.checked import complete_checked, require_whole
from knotwork.retrieval.queries.examples import ExampleBook
from knotwork.retrieval.queries.prompting import make_harmless, make_request
from knotwork.retrieval.queries.statements import Asked, Attempt, Statement

STAGE = "translate"
SHOWN_EXAMPLES = 4
_SURENESS = 0.8
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
_BEGINNING = re.compile(
    r"\b(?:MATCH|OPTIONAL\s+MATCH|WITH|UNWIND|RETURN|SELECT|VALUES|CALL|CREATE|MERGE)\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"\W*(?:none|无法?|没有)\W*", re.IGNORECASE)


class ModelTranslator:
    """Has a model write the statement; it reaches data only through the read-only engine."""

    def __init__(self, model: ChatModel, examples: ExampleBook) -> None:
        self._model = model
        self._examples = examples

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return what the model writes, or None where it says that there is no statement.

        Raises ModelError as `complete_checked`.
        """
        near = self._examples.nearest(asked.text, k=SHOWN_EXAMPLES, mentions=asked.mentions)
        shown = "\n".join(
            f"{make_harmless(e.question)}\n{' '.join(e.statement.split())}" for e, _ in near
        )
        asked = replace(asked, schema=asked.schema.whole())
        request = make_request("translate", asked, attempts, stage=STAGE, more=shown)
        text = complete_checked(self._model, request, parse_statement)
        return Statement(text, origin="by the model", sureness=_SURENESS) if text else None


def parse_statement(reply: ChatReply) -> str:
    """Return the statement of a reply, without what models write around one; "" for none.

    Raises Unparsable for a reply that is cut off or holds no statement.
    """
    text = require_whole(reply).text
    fenced = _FENCE.search(text)
    if fenced:
        text = fenced[1]
    if _NONE.fullmatch(text.strip()):
        return ""
    beginning = _BEGINNING.search(text)
    if beginning is None:
        raise Unparsable("The reply holds no statement.")
    return text[beginning.start() :].strip().removesuffix(";").strip()
