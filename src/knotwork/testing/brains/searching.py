"""The tasks of a brain that come before and behind a search: questions in other words, ratings."""

from __future__ import annotations

import re

from knotwork.records import Span
from knotwork.retrieval.steps.rewrite import without_politeness
from knotwork.retrieval.steps.splitting import split_question
from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment
from knotwork.testing.brains.passages import rank_sentences, read_passages
from knotwork.testing.brains.reading import key_words, language_of, read_text, sentences_of

_FORMS = {"en": ("{}s", "{}ed", "{}ing"), "zh": ("{}的",)}
_WORDS = 4
_QUESTIONS = 3
_BEST = 5
_NAMELESS = {"en": "What is said here: {}?", "zh": "这里说了什么：{}？"}


def split_task(assignment: Assignment, form: LineForm) -> str:
    """Return the simple questions in a question, as the rules of the framework see them."""
    question = assignment.section("question", "text")
    names = [
        Span(place, place + len(thing.name))
        for thing in read_text(question)[0]
        if (place := question.find(thing.name)) >= 0
    ]
    plan = split_question(question, names)
    lines = [form.join(part) for part in (plan.parts if plan else (question,))]
    return "\n".join(line for line in lines if line) or form.nothing


def imagine_passage(assignment: Assignment, form: LineForm) -> str:
    """Return the question's words as a statement."""
    question = assignment.section("question", "text")
    words = [thing.name for thing in read_text(question)[0]] + key_words(question)
    return form.join(" ".join(dict.fromkeys(words))) or form.nothing


def rewrite_question(assignment: Assignment, form: LineForm) -> str:
    """Return the question without phrases of politeness."""
    return form.join(without_politeness(assignment.section("question", "text"))) or form.nothing


def expand_question(assignment: Assignment, form: LineForm) -> str:
    """Return other forms of the question's words, one a line."""
    question = assignment.section("question", "text")
    forms = _FORMS[language_of(question)]
    words = key_words(question)[:_WORDS]
    return "\n".join(form.join(f.format(word)) for word in words for f in forms) or form.nothing


def rate_passages(assignment: Assignment, form: LineForm) -> str:
    """Rate each numbered passage by its sentence nearest to the question."""
    passages = read_passages(assignment.section("context", "text"))
    ranked = rank_sentences(assignment.question, passages)
    best: dict[int, float] = {}
    for item in ranked:
        best[item.number] = max(item.score, best.get(item.number, 0.0))
    lines = [
        form.join(str(p.number), str(round(_BEST * min(best.get(p.number, 0.0), 1.0))))
        for p in passages
    ]
    return "\n".join(lines) or form.nothing


def write_questions(assignment: Assignment, form: LineForm) -> str:
    """Ask about the first sentences of each numbered passage, one question a line."""
    lines = []
    for passage in read_passages(assignment.section("context", "text")):
        for sentence in sentences_of(passage.text)[:_QUESTIONS]:
            bare = re.sub(r"[.。!！?？]+\s*$", "", sentence)
            asked = _NAMELESS[language_of(sentence)].format(bare)
            lines.append(form.join(str(passage.number), asked))
    return "\n".join(lines) or form.nothing
