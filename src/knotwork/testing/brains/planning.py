"""The tasks of a brain that plan: steps of a search, relations to follow, statements."""

from __future__ import annotations

import re

from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment
from knotwork.testing.brains.reading import read_text
from knotwork.text.terms import content_terms

_TOOL = re.compile(r"^([\w+-]+) - ", re.MULTILINE)
_HEAD = re.compile(r"^# (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_LABEL = re.compile(r"\(:([A-Za-z]\w*)\) \d+ nodes")
_TABLE = re.compile(r"^table (\w+) ", re.MULTILINE)


def plan_step(assignment: Assignment, form: LineForm) -> str:
    """Search once for a name that was found and not asked for, then finish."""
    found = assignment.section("context")
    tools = _TOOL.findall(assignment.section("memory"))
    if len(_HEAD.findall(found)) > 1 or not tools:
        return "finish"
    names = [thing.name for thing in read_text(_HEAD.sub("", found))[0]]
    new = next((name for name in names if name not in assignment.question), "")
    return form.join("search", tools[0], f"{assignment.question} {new}") if new else "finish"


def plan_relations(assignment: Assignment, form: LineForm) -> str:
    """Follow the relation that shares most words with the question, from the first name."""
    names = assignment.section("memory").splitlines()
    relations = assignment.section("context").splitlines()
    asked = set(content_terms(assignment.question))
    best = max(relations, key=lambda r: len(asked & set(content_terms(r))), default="")
    if not names or not asked & set(content_terms(best)):
        return form.nothing
    return form.join("path", names[0], best)


def choose_template(assignment: Assignment, form: LineForm) -> str:
    """Choose the query that shares most words with the question; its slots are left empty."""
    asked = set(content_terms(assignment.question))
    offered = _NUMBERED.findall(assignment.section("context"))
    shared = [(len(asked & set(content_terms(text))), -int(n)) for n, text in offered]
    most, number = max(shared, default=(0, 0))
    return str(-number) if most else form.nothing


def choose_fragments(assignment: Assignment, form: LineForm) -> str:
    """Find all there is of the first label."""
    label = _LABEL.search(assignment.section("context"))
    return f"{form.join('find', 'x', label[1])}\n{form.join('count', 'x')}" if label else "none"


def translate_question(assignment: Assignment, form: LineForm) -> str:
    """Count what there is of the first label or table."""
    schema = assignment.section("context")
    table = _TABLE.search(schema)
    if table:
        return f"SELECT count(*) FROM {table[1]}"  # noqa: S608  a plain name
    label = _LABEL.search(schema)
    return f"MATCH (n:{label[1]}) RETURN count(n)" if label else form.nothing
