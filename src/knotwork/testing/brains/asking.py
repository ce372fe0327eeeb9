"""The tasks of a brain that begin with a question: answering it, and what leads to an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork.retrieval.focus import find_focus
from knotwork.synthesis.messages import no_answer
from knotwork.synthesis.routing import choose_mode
from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment
from knotwork.testing.brains.passages import Passage, Ranked, cite, rank_sentences, read_passages
from knotwork.testing.brains.reading import language_of, read_text, sentences_of
from knotwork.text.terms import content_terms
from knotwork.text.tokens import count_tokens

_POINT = re.compile(r"^\s*(\d{1,3})\s*\|\s*(\S.*)$", re.MULTILINE)
_RATED = re.compile(r"^\s*(\d{1,4})\s*\|\s*(\S.*)$", re.MULTILINE)
_TITLE = re.compile(r"^#.*$", re.MULTILINE)
_MOST = re.compile(r"at most (\d+)|最多(\d+)")
_FINDINGS = 5
_ANSWER_SENTENCES = 3
_ANSWER_TOKENS = 120
_BEST_RATING = 5
_RATING_OF_ANY = 3
_WHAT_IS = {"en": "What is said of {name}?", "zh": "关于{name}说了什么？"}


def answer(assignment: Assignment, form: LineForm) -> str:
    """Answer from numbered lines by their sentences nearest to the question, with [n] marks."""
    del form
    question = _question(assignment)
    ranked = _ranked(assignment)[:_ANSWER_SENTENCES]
    if not ranked:
        return no_answer(language_of(question))
    # What speaks of the question by far less than the best does would only blur the answer.
    least = 2 / 3 * ranked[0].score
    return " ".join(cite(s.text, s.number) for s in ranked if s.score >= least)


def map_reports(assignment: Assignment, form: LineForm) -> str:
    """Return the points of reports that help with a question, each with how much."""
    found = _ranked(assignment)[:_FINDINGS]
    lines = [form.point(round(100 * min(s.score, 1)), cite(s.text, s.number)) for s in found]
    return "\n".join(lines) or form.nothing


def reduce_points(assignment: Assignment, form: LineForm) -> str:
    """Join the best points of the map steps into one answer, with their marks."""
    del form
    points = [(int(score), text) for score, text in _POINT.findall(assignment.section("points"))]
    best = sorted(points, key=lambda point: -point[0])
    texts = list(dict.fromkeys(text.strip() for score, text in best if score > 0))
    kept = texts[:1]
    for text in texts[1:]:
        if count_tokens(" ".join([*kept, text])) <= _ANSWER_TOKENS:
            kept.append(text)
    apart = "" if kept and language_of("".join(kept)) == "zh" else " "
    return apart.join(kept) or no_answer(language_of(_question(assignment)))


def rate_reports(assignment: Assignment, form: LineForm) -> str:
    """Rate each numbered report by the share of the question's terms that it has."""
    asked = set(content_terms(find_focus(_question(assignment))))
    lines = []
    for number, text in _RATED.findall(assignment.section("reports")):
        shared = len(asked & set(content_terms(text)))
        rating = min(_RATING_OF_ANY * shared, _BEST_RATING) if asked else _RATING_OF_ANY
        lines.append(form.join(number, str(rating)))
    return "\n".join(lines) or form.nothing


def ask_further(assignment: Assignment, form: LineForm) -> str:
    """Ask about what the material names and the question does not, one question a line."""
    question = _question(assignment)
    text = _TITLE.sub("", assignment.section("reports", "points", "context"))
    language = language_of(question)
    names = [n.name for n in read_text(text)[0] if n.name not in question]
    limit = _MOST.search(assignment.instructions)
    most = int(limit[1] or limit[2]) if limit else len(names)
    lines = [form.join(_WHAT_IS[language].format(name=name)) for name in names[:most]]
    return "\n".join(lines) or form.nothing


def route_question(assignment: Assignment, form: LineForm) -> str:
    """Return the mode that the rules of the framework choose."""
    return form.join(choose_mode(_question(assignment)).value)


def _question(assignment: Assignment) -> str:
    return assignment.question or assignment.message


def _ranked(assignment: Assignment) -> list[Ranked]:
    """Return the sentences nearest to the question; of all in reports, for one about the whole."""
    question, passages = _question(assignment), _passages(assignment)
    ranked = rank_sentences(question, passages)
    if not ranked and "reports" in assignment.sections and not find_focus(question):
        firsts: list[tuple[int, Sequence[str]]] = [
            (p.number, sentences_of(p.text)[:1]) for p in passages
        ]
        return [Ranked(0.5, first[0], number) for number, first in firsts if first]
    return ranked


def _passages(assignment: Assignment) -> list[Passage]:
    tags = [tag for tag in ("context", "facts", "reports") if tag in assignment.sections]
    if not tags:
        return read_passages(assignment.section("community", "text"))
    texts = [_TITLE.sub("", assignment.sections[tag]) for tag in tags]
    return [passage for text in texts if text.strip() for passage in read_passages(text.strip())]
