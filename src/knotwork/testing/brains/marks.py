"""How a brain without a model knows what a prompt asks: by marks that real models ignore.

A prompt says its task in its first line::

    task: extract-graph

and sets what it works on between marks, wherever in the conversation, each of which may be absent::

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

The task stands in the first line of a message, the last message that has one counting: a later turn
may ask for something else. Of a section given twice the last counts. A conversation without the
section that its task needs gives its last user's message instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.inference.chat import Message

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
