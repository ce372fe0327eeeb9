"""Read prompts and write reply lines: tasks, tagged sections and numbered passages.

The first line of a prompt names its task::

    task: extract-graph

Its material is in tagged sections anywhere in the conversation. All are optional::

    <text> a chunk, or any other text to work on </text>
    <question> a question </question>
    <context> numbered passages, each starting a line with [1], [2] ... </context>
    <facts> lines about entities and relations, numbered in the same way </facts>
    <reports> findings in the same form, each report below # TITLE; to rate them, one per line as
        NUMBER | TITLE: TEXT </reports>
    <name> the entity of the descriptions </name>
    <descriptions> one per line; with several entities, each below # NUMBER NAME </descriptions>
    <community> the names, relations and numbered lines of a community, one per line; with several
        communities, each below # NUMBER </community>
    <pairs> 1. NAME: description || NAME: description, one numbered pair per line </pairs>
    <points> the lines of the map steps </points>
    <memory> names and facts of similar earlier chunks </memory>

If several messages name a task, or a section occurs twice, the last one is used. If the section
that a task needs is missing, the last message of the user is used instead.

A reply consists of the lines of a `LineForm`, which is an argument of a brain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._extensions.testing.brains.reading import sentences_of
from knotwork._inference.chat import Message, MessagePicture
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.terms import content_terms

_TASK = re.compile(r"\s*task:[ \t]*([a-z][a-z-]*)[ \t]*$", re.MULTILINE)
_SECTION = re.compile(
    r"<(text|question|context|facts|reports|name|descriptions|community|pairs|points|memory)>"
    r"(.*?)</\1>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The task and the sections of a conversation. ``task`` is "" if no message names one."""

    task: str
    sections: Mapping[str, str]
    message: str
    """The last message of the user."""
    instructions: str = ""
    """The first message if it is a system message, else ""."""
    pictures: tuple[MessagePicture, ...] = ()

    def section(self, *names: str) -> str:
        """Return the first of these sections that exists, else the user's message."""
        for name in names:
            if name in self.sections:
                return self.sections[name]
        return self.message

    @property
    def question(self) -> str:
        """The question, or "" without one."""
        return self.sections.get("question", "")


def read_assignment(messages: Sequence[Message]) -> Assignment:
    """Return the task and the sections of a conversation."""
    task, message = "", ""
    sections: dict[str, str] = {}
    for turn in messages:
        if turn.role == "assistant":
            continue
        found = _TASK.match(turn.content)
        if found is not None:
            task = found[1]
        for section in _SECTION.finditer(turn.content):
            sections[section[1]] = section[2].strip()
        if turn.role == "user":
            message = turn.content[found.end() :].strip() if found else turn.content
    first = messages[0].content if messages and messages[0].role == "system" else ""
    pictures = tuple(picture for turn in messages for picture in turn.pictures)
    return Assignment(task, sections, message, first, pictures)


_UNSAFE = re.compile(r"\s*[\n\t|]+\s*")


class LineForm:
    """Formats the lines of a reply, one method per kind. Fields are separated by `` | ``."""

    nothing = "none"
    """The reply without results, to distinguish it from an empty reply."""

    def triplet(self, source: str, relation: str, target: str) -> str:
        """Return the line of a fact."""
        return self.join(source, relation, target)

    def entity(self, name: str, kind: str, summary: str) -> str:
        """Return the line of an entity with its type, such as PERSON or OTHER."""
        return self.join("entity", name, kind, summary)

    def relation(self, source: str, relation: str, target: str) -> str:
        """Return the line of a relation."""
        return self.join("relation", source, relation, target)

    def verdict(self, number: int, *, same: bool) -> str:
        """Return the line that says whether a numbered pair is one entity."""
        return self.join(str(number), "same" if same else "different")

    def judgement(self, number: int, word: str, *corrected: str) -> str:
        """Return the line that keeps, drops or fixes a numbered relation, with the fixed fields."""
        return self.join(str(number), word, *corrected)

    def proposed_type(self, kind: str, meaning: str) -> str:
        """Return the line of an entity type proposed for a schema."""
        return self.join("type", kind, meaning)

    def proposed_relation(self, source: str, relation: str, target: str) -> str:
        """Return the line of a relation between two types proposed for a schema."""
        return self.join("relation", source, relation, target)

    def point(self, score: int, text: str) -> str:
        """Return the line of a point of a map step, with its score from 0 to 100."""
        return self.join(str(score), text)

    def report(self, title: str, summary: str, findings: Iterable[str]) -> list[str]:
        """Return the lines of a community report."""
        lines = [self.join("title", title), self.join("summary", summary)]
        return lines + [self.join("finding", finding) for finding in findings]

    def join(self, *fields: str) -> str:
        """Join fields into a line. Separators and line breaks in a field become spaces."""
        return " | ".join(_UNSAFE.sub(" ", field).strip() for field in fields)


_PASSAGE_NUMBER = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t]*", re.MULTILINE)
_FULL_STOPS = "。！？"
_MIN_SHARE = 0.3
"""Minimum share of the question's terms for a sentence to be relevant."""


class NumberedPassage(NamedTuple):
    """A part of a context. ``number`` is 0 if it has none."""

    number: int
    text: str


class RankedSentence(NamedTuple):
    """A sentence with the share of the question's terms that it contains."""

    score: float
    text: str
    number: int


def read_passages(text: str) -> list[NumberedPassage]:
    """Split a context at its numbers. Without numbers, every line is a passage."""
    found = list(_PASSAGE_NUMBER.finditer(text))
    if not found:
        return [NumberedPassage(0, _last_field(line)) for line in text.splitlines() if line.strip()]
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        NumberedPassage(int(match[1]), _last_field(text[match.end() : end].strip()))
        for match, end in zip(found, ends, strict=True)
    ]


def rank_sentences_of_passages(
    question: str, passages: list[NumberedPassage]
) -> list[RankedSentence]:
    """Return the sentences relevant to a question, those with most of its terms first.

    A term elsewhere in the passage counts half.
    """
    asked = set(content_terms(question))
    if not asked:
        return []
    ranked: dict[str, RankedSentence] = {}
    for passage in passages:
        around = asked & set(content_terms(passage.text))
        for sentence in sentences_of(passage.text):
            inside = asked & set(content_terms(sentence))
            if not inside:
                continue
            score = (len(inside) + len(around - inside) / 2) / len(asked)
            if score >= _MIN_SHARE:
                ranked.setdefault(sentence, RankedSentence(score, sentence, passage.number))
    return sorted(ranked.values(), key=lambda item: -item.score)


def cite(sentence: str, number: int) -> str:
    """Append a citation mark to a sentence, without a space after Chinese punctuation."""
    if not number:
        return sentence
    bare = CITATION_MARK.sub("", sentence).strip()
    return f"{bare}[{number}]" if bare.endswith(tuple(_FULL_STOPS)) else f"{bare} [{number}]"


def _last_field(line: str) -> str:
    """Return the last field of a line: the summary of ``entity | name | type | summary``."""
    if "\n" in line:
        return line
    return line.rsplit("|", 1)[-1].strip()
