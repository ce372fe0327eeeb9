"""The turns of a conversation that a further question may lean on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork.synthesis.conversation.names import NameReader, SpokenName
from knotwork.text.names import normal_form

QUESTION_CHARACTERS = 600
ANSWER_CHARACTERS = 600
ANSWER_NAMES = 4
_MARK = re.compile(r"\s*\[\d+\](?:\([^)]*\))?")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question as it was understood, its answer, and what each of them names.

    ``answer_names`` are those that the question did not name. What was told without a question is
    the answer to an empty one.
    """

    question: str
    answer: str = ""
    names: tuple[SpokenName, ...] = ()
    answer_names: tuple[SpokenName, ...] = ()


def read_turn(question: str, answer: str, names: NameReader) -> Turn:
    """Return a turn with what it names; of what is long only the beginning is read."""
    question = " ".join(question.split())[:QUESTION_CHARACTERS]
    said = _MARK.sub("", " ".join(answer.split())[:ANSWER_CHARACTERS])
    asked = tuple(names(question))
    forms = {normal_form(name.name) for name in asked}
    new = [name for name in names(said) if normal_form(name.name) not in forms] if said else []
    return Turn(question, said, asked, tuple(new[:ANSWER_NAMES]))
