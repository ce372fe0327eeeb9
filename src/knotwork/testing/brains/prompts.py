"""Format of prompts and replies of a brain: tasks, marked sections, numbered passages and lines.

A prompt names its task in its first line::

    task: extract-graph

and puts its material between marks, anywhere in the conversation; each may be absent::

    <text> a chunk, or any other text to work on </text>
    <question> a question </question>
    <context> numbered passages, each starting a line with [1], [2] ... </context>
    <facts> lines about entities and relations, each starting with numbers as above </facts>
    <reports> findings in the same form, each report below # TITLE; to rate them, a line each,
        NUMBER | TITLE: TEXT </reports>
    <name> the entity that the descriptions are of </name>
    <descriptions> one a line; of several entities each below # NUMBER NAME </descriptions>
    <community> the names, relations and numbered lines of a community, one a line; of several
        communities each below # NUMBER </community>
    <pairs> 1. NAME: description || NAME: description, one numbered pair a line </pairs>
    <points> lines that the map steps gave </points>
    <memory> names and facts of similar earlier chunks </memory>

The task is in the first line of a message; if several messages have one, the last counts. Of a
section given twice the last counts. A conversation without the section that its task needs gives
its last user's message instead.

A reply is made of the lines of a `LineForm`; a brain takes another one as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork.inference.chat import Message
from knotwork.testing.brains.reading import sentences_of
from knotwork.text.terms import content_terms

_TASK = re.compile(r"\s*task:[ \t]*([a-z][a-z-]*)[ \t]*$", re.MULTILINE)
_SECTION = re.compile(
    r"<(text|question|context|facts|reports|name|descriptions|community|pairs|points|memory)>"
    r"(.*?)</\1>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a conversation asks: ``task`` is "" where no message names one."""

    task: str
    sections: Mapping[str, str]
    message: str
    """The last message of the user."""
    instructions: str = ""
    """The first message, if it is the system's."""

    def section(self, *names: str) -> str:
        """Return the first of these sections that is there, else the user's message."""
        for name in names:
            if name in self.sections:
                return self.sections[name]
        return self.message

    @property
    def question(self) -> str:
        """The question, or "" where there is none."""
        return self.sections.get("question", "")


def read_assignment(messages: Sequence[Message]) -> Assignment:
    """Return what the marks of a conversation say."""
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
    return Assignment(task, sections, message, first)


_UNSAFE = re.compile(r"\s*[\n\t|]+\s*")


class LineForm:
    """One method for each line; fields are joined by `` | ``, which they never hold themselves."""

    nothing = "none"
    """Said when there is nothing to say, so that silence is never taken for it."""

    def triplet(self, source: str, relation: str, target: str) -> str:
        """Return a fact."""
        return self.join(source, relation, target)

    def entity(self, name: str, kind: str, summary: str) -> str:
        """Return an entity with its type, such as PERSON or OTHER."""
        return self.join("entity", name, kind, summary)

    def relation(self, source: str, relation: str, target: str) -> str:
        """Return a relation."""
        return self.join("relation", source, relation, target)

    def keyword(self, word: str) -> str:
        """Return a keyword."""
        return self.join(word)

    def verdict(self, number: int, *, same: bool) -> str:
        """Return whether the two of a numbered pair are one."""
        return self.join(str(number), "same" if same else "different")

    def judgement(self, number: int, word: str, *corrected: str) -> str:
        """Return whether to keep, drop or fix a numbered relation, and what a fix makes of it."""
        return self.join(str(number), word, *corrected)

    def proposed_type(self, kind: str, meaning: str) -> str:
        """Return a type of entities that a schema should have."""
        return self.join("type", kind, meaning)

    def proposed_relation(self, source: str, relation: str, target: str) -> str:
        """Return a relation that a schema should have, between two types."""
        return self.join("relation", source, relation, target)

    def point(self, score: int, text: str) -> str:
        """Return a point of a map step, with how much it helps, 0 to 100."""
        return self.join(str(score), text)

    def report(self, title: str, summary: str, findings: Iterable[str]) -> list[str]:
        """Return the lines of a community report."""
        lines = [self.join("title", title), self.join("summary", summary)]
        return lines + [self.join("finding", finding) for finding in findings]

    def join(self, *fields: str) -> str:
        """Return fields as a line."""
        return " | ".join(_UNSAFE.sub(" ", field).strip() for field in fields)


_PASSAGE_NUMBER = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t]*", re.MULTILINE)
_CITATION_MARKS = re.compile(r"\s*\[\d{1,4}\]")
_FULL_STOPS = "。！？"
_MIN_SHARE = 0.3
"""A sentence that holds fewer of a question's terms says nothing about it."""


class NumberedPassage(NamedTuple):
    """A part of a context; ``number`` is 0 where it has none."""

    number: int
    text: str


class RankedSentence(NamedTuple):
    """A sentence, and which share of the question's terms it holds."""

    score: float
    text: str
    number: int


def read_passages(text: str) -> list[NumberedPassage]:
    """Cut a context at its numbers; without any, every line is a passage."""
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
    """Return the sentences that speak of a question, those with most of its terms first.

    A term that the passage holds outside the sentence counts half.
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
    """Return a sentence with its mark behind it; a space stands before the mark only in English."""
    if not number:
        return sentence
    bare = _CITATION_MARKS.sub("", sentence).strip()
    return f"{bare}[{number}]" if bare.endswith(tuple(_FULL_STOPS)) else f"{bare} [{number}]"


def _last_field(line: str) -> str:
    """Return what a line of fields says last: the summary of ``entity | name | type | summary``."""
    if "\n" in line:
        return line
    return line.rsplit("|", 1)[-1].strip()
