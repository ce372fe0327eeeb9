"""The tasks of a brain in a conversation: what a question leans on, and what is told."""

from __future__ import annotations

import re

from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment
from knotwork.testing.brains.reading import language_of, read_text

_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them)\b|[他她它]们?", re.IGNORECASE)
_UNNAMED = {"en": "is related to", "zh": "相关"}


def understand_question(assignment: Assignment, form: LineForm) -> str:
    """Put the first name of the conversation in the place of the question's first pronoun."""
    question = assignment.question
    names = read_text(assignment.section("memory"))[0]
    asked = _PRONOUN.sub(names[0].name, question, count=1) if names else question
    return asked.strip() or form.nothing


def read_told(assignment: Assignment, form: LineForm) -> str:
    """Return a line for each two names of a sentence, with the words between them."""
    text = assignment.section("text")
    unnamed = _UNNAMED[language_of(text)]
    facts = read_text(text)[1]
    lines = [form.join("fact", f.source, f.relation or unnamed, f.target, "-", "-") for f in facts]
    return "\n".join(lines) or form.nothing
