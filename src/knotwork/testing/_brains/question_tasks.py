"""Tasks of a brain that start from a question: answer, rewrite, rate, plan and translate it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork._retrieval.community_search import find_topic
from knotwork._retrieval.steps.decompose import split_question
from knotwork._retrieval.steps.query_transformation import without_politeness
from knotwork._synthesis.engine import choose_mode
from knotwork._synthesis.messages import no_answer
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import Span
from knotwork.testing._brains.prompts import (
    Assignment,
    LineForm,
    NumberedPassage,
    RankedSentence,
    cite,
    rank_sentences_of_passages,
    read_passages,
)
from knotwork.testing._brains.reading import key_words, language_of, read_text, sentences_of

_POINT = re.compile(r"^\s*(\d{1,3})\s*\|\s*(\S.*)$", re.MULTILINE)
_RATED = re.compile(r"^\s*(\d{1,4})\s*\|\s*(\S.*)$", re.MULTILINE)
_TITLE = re.compile(r"^#.*$", re.MULTILINE)
_PATH = re.compile(r"^(\[\d{1,4}\]).*\n(?!\[\d)", re.MULTILINE)
"""The line above a passage: its number, and its section path, which states nothing."""
_MOST = re.compile(r"at most (\d+)|最多(\d+)")
_FINDINGS = 5
_ANSWER_SENTENCES = 3
_ANSWER_TOKENS = 120
_BEST_RATING = 5
_RATING_OF_ANY = 3
_WHAT_IS = {"en": "What is said of {name}?", "zh": "关于{name}说了什么？"}


def answer_question(assignment: Assignment, form: LineForm) -> str:
    """Answer with the most relevant sentences of numbered lines, with citation marks."""
    del form
    question = _question(assignment)
    ranked = _ranked(assignment)[:_ANSWER_SENTENCES]
    if not ranked:
        return no_answer(language_of(question))
    # Far less relevant sentences would only blur the answer.
    least = 2 / 3 * ranked[0].score
    return " ".join(cite(s.text, s.number) for s in ranked if s.score >= least)


def map_reports(assignment: Assignment, form: LineForm) -> str:
    """Return the points of reports that help to answer a question, with their scores."""
    found = _ranked(assignment)[:_FINDINGS]
    lines = [form.point(round(100 * min(s.score, 1)), cite(s.text, s.number)) for s in found]
    return "\n".join(lines) or form.nothing


def reduce_points(assignment: Assignment, form: LineForm) -> str:
    """Join the best points of the map steps into an answer, with their citation marks."""
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
    """Rate each numbered report by the number of terms it shares with the question."""
    asked = set(content_terms(find_topic(_question(assignment))))
    lines = []
    for number, text in _RATED.findall(assignment.section("reports")):
        shared = len(asked & set(content_terms(text)))
        rating = min(_RATING_OF_ANY * shared, _BEST_RATING) if asked else _RATING_OF_ANY
        lines.append(form.join(number, str(rating)))
    return "\n".join(lines) or form.nothing


def ask_further(assignment: Assignment, form: LineForm) -> str:
    """Ask about each name in the material that is not in the question, one question per line."""
    question = _question(assignment)
    text = _TITLE.sub("", assignment.section("reports", "points", "context"))
    language = language_of(question)
    names = [n.name for n in read_text(text)[0] if n.name not in question]
    limit = _MOST.search(assignment.instructions)
    most = int(limit[1] or limit[2]) if limit else len(names)
    lines = [form.join(_WHAT_IS[language].format(name=name)) for name in names[:most]]
    return "\n".join(lines) or form.nothing


def route_question(assignment: Assignment, form: LineForm) -> str:
    """Return the mode that the rules of `choose_mode` select."""
    return form.join(choose_mode(_question(assignment)).value)


def _question(assignment: Assignment) -> str:
    return assignment.question or assignment.message


def _ranked(assignment: Assignment) -> list[RankedSentence]:
    """Return the sentences relevant to the question, best first.

    For a question about all reports, which has no topic, these are their first sentences.
    """
    question, passages = _question(assignment), _passages(assignment)
    ranked = rank_sentences_of_passages(question, passages)
    if not ranked and "reports" in assignment.sections and not find_topic(question):
        firsts: list[tuple[int, Sequence[str]]] = [
            (p.number, sentences_of(p.text)[:1]) for p in passages
        ]
        return [RankedSentence(0.5, first[0], number) for number, first in firsts if first]
    return ranked


def _passages(assignment: Assignment) -> list[NumberedPassage]:
    tags = [tag for tag in ("context", "facts", "reports") if tag in assignment.sections]
    if not tags:
        return read_passages(assignment.section("community", "text"))
    texts = [_TITLE.sub("", assignment.sections[tag]) for tag in tags]
    if tags[0] == "context":
        texts[0] = _PATH.sub(r"\1", texts[0])
    return [passage for text in texts if text.strip() for passage in read_passages(text.strip())]


_FORMS = {"en": ("{}s", "{}ed", "{}ing"), "zh": ("{}的",)}
_EXPANDED_WORDS = 4
_QUESTIONS_PER_PASSAGE = 3
_BEST_PASSAGE_RATING = 5
_NAMELESS = {"en": "What is said here: {}?", "zh": "这里说了什么：{}？"}


def split_task(assignment: Assignment, form: LineForm) -> str:
    """Split a question into simple ones by the rules of `split_question`, one per line."""
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
    """Return inflected forms of the question's words, one per line."""
    question = assignment.section("question", "text")
    forms = _FORMS[language_of(question)]
    words = key_words(question)[:_EXPANDED_WORDS]
    return "\n".join(form.join(f.format(word)) for word in words for f in forms) or form.nothing


def rate_passages(assignment: Assignment, form: LineForm) -> str:
    """Rate each numbered passage by its most relevant sentence."""
    passages = read_passages(assignment.section("context", "text"))
    ranked = rank_sentences_of_passages(assignment.question, passages)
    best: dict[int, float] = {}
    for item in ranked:
        best[item.number] = max(item.score, best.get(item.number, 0.0))
    lines = [
        form.join(
            str(p.number), str(round(_BEST_PASSAGE_RATING * min(best.get(p.number, 0.0), 1.0)))
        )
        for p in passages
    ]
    return "\n".join(lines) or form.nothing


def write_questions(assignment: Assignment, form: LineForm) -> str:
    """Ask about the first sentences of each numbered passage, one question per line."""
    lines = []
    for passage in read_passages(assignment.section("context", "text")):
        for sentence in sentences_of(passage.text)[:_QUESTIONS_PER_PASSAGE]:
            bare = re.sub(r"[.。!！?？]+\s*$", "", sentence)
            asked = _NAMELESS[language_of(sentence)].format(bare)
            lines.append(form.join(str(passage.number), asked))
    return "\n".join(lines) or form.nothing


_TOOL = re.compile(r"^([\w+-]+) - ", re.MULTILINE)
_STEP_HEAD = re.compile(r"^# (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_LABEL = re.compile(r"\(:([A-Za-z]\w*)\) \d+ nodes")
_TABLE = re.compile(r"^table (\w+) ", re.MULTILINE)


def plan_step(assignment: Assignment, form: LineForm) -> str:
    """Search once for a name found that is not in the question, then finish."""
    found = assignment.section("context")
    tools = _TOOL.findall(assignment.section("memory"))
    if len(_STEP_HEAD.findall(found)) > 1 or not tools:
        return "finish"
    names = [thing.name for thing in read_text(_STEP_HEAD.sub("", found))[0]]
    new = next((name for name in names if name not in assignment.question), "")
    return form.join("search", tools[0], f"{assignment.question} {new}") if new else "finish"


def draft_steps(assignment: Assignment, form: LineForm) -> str:
    """Expect something of a name found that is not in the question, once, then finish."""
    found = assignment.section("context")
    if len(_STEP_HEAD.findall(found)) > 1:
        return "finish"
    names = [thing.name for thing in read_text(_STEP_HEAD.sub("", found))[0]]
    new = next((name for name in names if name not in assignment.question), "")
    return form.join("step", f"{assignment.question} {new}") if new else "finish"


def plan_relations(assignment: Assignment, form: LineForm) -> str:
    """Follow the relation with most words of the question from the first name."""
    names = assignment.section("memory").splitlines()
    relations = assignment.section("context").splitlines()
    asked = set(content_terms(assignment.question))
    best = max(relations, key=lambda r: len(asked & set(content_terms(r))), default="")
    if not names or not asked & set(content_terms(best)):
        return form.nothing
    return form.join("path", names[0], best)


def choose_template(assignment: Assignment, form: LineForm) -> str:
    """Choose the template that shares most words with the question, with empty slots."""
    asked = set(content_terms(assignment.question))
    offered = _NUMBERED.findall(assignment.section("context"))
    shared = [(len(asked & set(content_terms(text))), -int(n)) for n, text in offered]
    most, number = max(shared, default=(0, 0))
    return str(-number) if most else form.nothing


def choose_fragments(assignment: Assignment, form: LineForm) -> str:
    """Count the nodes with the first label, as fragments of a plan."""
    label = _LABEL.search(assignment.section("context"))
    return f"{form.join('find', 'x', label[1])}\n{form.join('count', 'x')}" if label else "none"


def translate_question(assignment: Assignment, form: LineForm) -> str:
    """Return a query that counts the rows of the first table or the nodes of the first label."""
    schema = assignment.section("context")
    table = _TABLE.search(schema)
    if table:
        return f"SELECT count(*) FROM {table[1]}"  # noqa: S608  a plain name
    label = _LABEL.search(schema)
    return f"MATCH (n:{label[1]}) RETURN count(n)" if label else form.nothing


_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them)\b|[他她它]们?", re.IGNORECASE)
UNNAMED_RELATION = {"en": "is related to", "zh": "相关"}


def understand_question(assignment: Assignment, form: LineForm) -> str:
    """Replace the question's first pronoun by the first name of the conversation."""
    question = assignment.question
    names = read_text(assignment.section("memory"))[0]
    asked = _PRONOUN.sub(names[0].name, question, count=1) if names else question
    return asked.strip() or form.nothing


def read_stated_facts(assignment: Assignment, form: LineForm) -> str:
    """Return one fact for each pair of adjacent names in a sentence, with the words between."""
    text = assignment.section("text")
    unnamed = UNNAMED_RELATION[language_of(text)]
    facts = read_text(text)[1]
    lines = [form.join("fact", f.source, f.relation or unnamed, f.target, "-", "-") for f in facts]
    return "\n".join(lines) or form.nothing
