"""Ask the sample with models by rules, verbose models and broken models."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import knotwork
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.chat import ChatRequest
from knotwork._run import Stage
from knotwork.records import Document

THEMES = "What are the main themes of these documents?"
THEMES_ZH = "这些文档主要讲了什么？"
FOCUSED = "What damage by storms is mentioned across all documents?"
FOCUSED_ZH = "总结一下海雾观测计划的主要内容"
DETAIL = "Who approves trips abroad?"
DETAIL_ZH = "谁审批海外出差？"
UNKNOWN = "Which opera singers are discussed across all documents?"
QUESTIONS = (THEMES, THEMES_ZH, FOCUSED, FOCUSED_ZH, DETAIL, DETAIL_ZH)

FILLER = " and so on it goes" * 400
_VALLEYS = ("Alder", "Birch", "Cedar", "Dogwood", "Elder", "Fir", "Gorse", "Hazel")
_PLACES = ("Mill", "Bridge", "Chapel", "Quarry", "Ferry", "Weir", "Tower", "Lock")
_YEARS = range(1801, 1817)


def make_valleys() -> list[Document]:
    """Return documents, each about one river and its places, about 1,500 tokens long."""
    return [Document(f"{river}.txt", _tell_of(river), f"River {river}") for river in _VALLEYS]


def _tell_of(river: str) -> str:
    sentences = []
    for number, year in enumerate(_YEARS):
        place, other = _PLACES[number % 8], _PLACES[(number + 3) % 8]
        sentences.append(
            f"{river} {place} on the {river} was built in {year} by the family of {river} {other}, "
            f"and {river} {place} had {number + 2} wheels. The mills along the {river} sold their "
            f"flour to {river} {other} until {year + 40}. After the flood of {year + 45} stones of "
            f"{river} {place} were carried to {river} {other} on carts."
        )
    return "\n\n".join(sentences)


_TASK = re.compile(r"task: ([a-z-]+)")


def task_of(request: ChatRequest) -> str:
    """Return the task of a request."""
    return _TASK.match(request.messages[0].content)[1]


def by_rules(request: ChatRequest) -> str:
    """Reply by the rules of the test server."""
    return RuleBrain()(request.messages)


def long_winded(request: ChatRequest) -> str:
    """Reply by the rules of the test server, padded to the token limit."""
    return by_rules(request) + FILLER


def with_replies(**replies):
    """Return a script with replies for tasks (with _ for - in names), and rules for others."""

    def reply(request: ChatRequest):
        task = task_of(request).replace("-", "_")
        if task not in replies:
            return by_rules(request)
        given = replies[task]
        return given(request) if callable(given) else given

    return reply


class SampleIndex:
    """The sample's index; `ask` answers from it with a scripted model."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self.path = path
        self._opened = opened
        self.models: list[ScriptedChatModel] = []

    def open(self, script=None, *, read_only=False, **settings):
        """Open the knowledge base; without a script it has no model."""
        model = ScriptedChatModel(script, name=f"scripted:{len(self.models)}") if script else None
        if model:
            self.models.append(model)
        base = knotwork.open(
            self.path, embedding_model="none", chat_model=model, read_only=read_only, **settings
        )
        return self._opened.enter_context(base)

    def ask(self, question, mode, script=by_rules, *, settings=None, **options):
        """Return the answer and the events before it."""
        base = self.open(script, **(settings or {}))
        *events, last = base.ask.run(question, mode=mode, **options)
        assert last.stage is Stage.FINISHED
        check_citations(base, last.value)
        return last.value, events

    @property
    def requests(self):
        """The requests to the last model."""
        return self.models[-1].requests


def check_citations(base, answer) -> None:
    """Check that each citation quotes its document, is inside its chunk, and has a mark."""
    chunks = base.store.documents.chunks({c.chunk_id for c in answer.citations})
    texts = {
        d.uri: d.text
        for d in base.store.documents.documents({c.document_id for c in chunks.values()}).values()
    }
    for number, citation in enumerate(answer.citations, start=1):
        start, end = citation.span
        chunk = chunks[citation.chunk_id]
        assert citation.number == number
        assert texts[citation.document][start:end] == citation.quote
        assert chunk.span.start <= start < end <= chunk.span.end
        assert not answer.answered or f"[{number}]" in answer.text


def cost_of(answer) -> int:
    """Return the input and output tokens of an answer."""
    return answer.usage.input_tokens + answer.usage.output_tokens
