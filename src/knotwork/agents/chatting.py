"""A conversation with a knowledge base: questions that lean on earlier ones, facts remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from knotwork.agents.memory import Conversation, FactMemory, RememberedFact, Told
from knotwork.agents.memory.facts import IN_MEMORY, memory_path
from knotwork.errors import StoreError
from knotwork.inference.metered import UsageMeter
from knotwork.inference.model_run import open_budget
from knotwork.inference.role_models import RoleModels, calls_path
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Answer, Evidence
from knotwork.synthesis.conversation import index_names
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.text.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What became of one message: an answer with its evidence, or what was told.

    ``remembered`` are facts told before about what a question names. They are no sources of the
    answer, which comes from the documents alone. ``tokens`` are what a language model took to read
    what was told; the answer has its own usage.
    """

    message: str
    answer: Answer | None = None
    evidence: Evidence | None = None
    told: Told | None = None
    remembered: tuple[RememberedFact, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """A step to an answer, or, as the last of them, the reply."""

    step: AskEvent | None = None
    reply: ChatReply | None = None


class Chat:
    """Asks a knowledge base, with the turns before in mind, and remembers what it is told.

    ``memory`` is the file of facts, by default the one beside the index; ``options`` are those of
    `KnowledgeBase.ask`, of which ``budget`` holds for each question, and once for all that is told.
    ``notes`` say what a user should know, as that facts cannot be kept where nothing may be
    written. Close it, or use it in a ``with`` statement.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        *,
        memory: str | Path | None = None,
        now: Callable[[], str] | None = None,
        **options: Any,  # noqa: ANN401  those of `KnowledgeBase.ask`
    ) -> None:
        self._base = knowledge_base
        self._options = options
        self.notes: tuple[str, ...] = ()
        store, settings = knowledge_base.store, knowledge_base.settings
        self._memory = self._open_memory(memory or memory_path(store.url))
        self._models = RoleModels(settings.llm, path=calls_path(store.url))
        self._meter = UsageMeter()
        budget = open_budget(options.get("budget", ""), settings.llm, count_tokens=count_tokens)
        reads = options.get("use_llm", True)
        self._conversation = Conversation(
            self._memory,
            now=now or (lambda: datetime.now().astimezone().isoformat(timespec="minutes")[:16]),
            names=index_names(store),
            model=self._models.open("keyword", meter=self._meter, budget=budget) if reads else None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of facts and of calls."""
        self._memory.close()
        self._models.close()

    def say(self, message: str) -> ChatReply:
        """Return an answer to a question, or what a statement made known."""
        *_, last = self.events(message)
        assert last.reply is not None, "the last event has the reply"
        return last.reply

    def events(self, message: str) -> Iterator[ChatEvent]:
        """Do what `say` does, and yield every step; raises as `KnowledgeBase.ask_events`."""
        if self._conversation.is_told(message):
            before = self.tokens_for_memory
            told = self.tell(message)
            spent = self.tokens_for_memory - before
            yield ChatEvent(reply=ChatReply(message, told=told, tokens=spent))
            return
        evidence: Evidence | None = None
        answer: Answer | None = None
        turns = self._conversation.turns
        for event in self._base.ask_events(message, turns=turns, **self._options):
            evidence = event.evidence or evidence
            answer = event.answer or answer
            if event.kind is not AskEventKind.FINISHED:
                yield ChatEvent(step=event)
        assert answer is not None and evidence is not None, "an answer and what it is from"  # noqa: PT018
        understood = evidence.query.text
        self._conversation.add(understood, answer.text if answer.answered else "")
        remembered = tuple(self._conversation.recall(understood))
        yield ChatEvent(reply=ChatReply(message, answer, evidence, remembered=remembered))

    @property
    def tokens_for_memory(self) -> int:
        """What a language model took so far to read what was told."""
        total = self._meter.total()
        return total.input_tokens + total.output_tokens

    def tell(self, statement: str) -> Told:
        """Remember the facts of a statement, and return what became of it."""
        told = self._conversation.tell(statement)
        self._conversation.add("", statement)
        return told

    def facts(self) -> list[RememberedFact]:
        """Return all that is remembered, also what no longer holds."""
        return self._memory.facts()

    def forget(self, name: str) -> int:
        """Delete all facts about a name; return how many there were."""
        return self._memory.forget(name)

    def undo(self) -> RememberedFact | None:
        """Take back the fact that was told last, and return it."""
        return self._conversation.undo()

    def clear(self) -> None:
        """Begin anew: later questions lean on none of these. What is remembered stays."""
        self._conversation.clear()

    def _open_memory(self, path: str | Path) -> FactMemory:
        try:
            return FactMemory(path)
        except StoreError as error:
            self.notes = (f"Facts are kept for this conversation alone: {error.message}",)
            return FactMemory(IN_MEMORY)
