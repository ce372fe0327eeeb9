"""Chat with a knowledge base: answer follow-up questions, and remember stated facts."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from knotwork._inference.call_costs import UsageMeter
from knotwork._inference.chat import ChatModel
from knotwork._inference.prompt_folder import read_prompt_folder
from knotwork._inference.role_models import RoleModels, open_budget
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.base import companions_of
from knotwork._synthesis.ask_request import AskEvent, AskEventKind
from knotwork._synthesis.questions.follow_ups import (
    MOST_TURNS,
    NameReader,
    capital_names,
    find_pronoun,
    index_names,
    read_turns,
    resolve_pronoun,
)
from knotwork._text.moments import BEGINNING, is_before, moment_after
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.token_counts import count_tokens
from knotwork.agents._fact_memory import FactMemory, RememberedFact, open_facts
from knotwork.agents._fact_model import ask_for_facts
from knotwork.agents._fact_rules import (
    SPEAKER,
    StatedFact,
    asks_to_remember,
    read_facts,
    split_statements,
)
from knotwork.errors import ModelError, StoreBusy, StoreError
from knotwork.records import Answer, Evidence


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The reply to a message: an answer with its evidence, or the facts of a statement (``told``).

    ``remembered`` are facts stated earlier about the entities of a question. The answer does not
    use them: it comes from the documents alone. ``tokens`` are those that a language model used to
    read a statement; the answer has its own usage.
    """

    message: str
    answer: Answer | None = None
    evidence: Evidence | None = None
    told: MemoryUpdate | None = None
    remembered: tuple[RememberedFact, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """A step of answering a message; the last event has the reply instead."""

    step: AskEvent | None = None
    reply: ChatResponse | None = None


class Chat:
    """A conversation that answers questions in context, and remembers stated facts.

    ``memory`` is the file of facts, by default those kept with the index. ``now`` returns the
    current time as ISO text. ``options`` are those of `KnowledgeBase.ask`; ``budget`` applies to
    each question, and once to all statements together. If the file is not writable, ``unsaved`` is
    the error, ``notes`` has it as a warning for the user, and facts are remembered until the
    conversation ends. Close it, or use it in a ``with`` statement.
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
        self.unsaved: StoreError | None = None
        store, settings = knowledge_base.store, knowledge_base.settings
        self._memory = self._open_memory(
            partial(FactMemory, memory) if memory else partial(open_facts, store)
        )
        self._models = RoleModels(
            settings.llm,
            companions=companions_of(store),
            prompts=read_prompt_folder(settings.prompts.dir),
        )
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
        """Close the file of facts and the cache of model calls."""
        self._memory.close()
        self._models.close()

    def say(self, message: str) -> ChatResponse:
        """Return the answer to a question, or the facts of a statement."""
        *_, last = self.events(message)
        assert last.reply is not None, "the last event has the reply"
        return last.reply

    def events(self, message: str) -> Iterator[ChatEvent]:
        """Yield each step of `say`. Raises as `KnowledgeBase.ask_events`."""
        if self._conversation.is_told(message):
            before = self.tokens_for_memory
            update = self.tell(message)
            spent = self.tokens_for_memory - before
            yield ChatEvent(reply=ChatResponse(message, told=update, tokens=spent))
            return
        evidence: Evidence | None = None
        answer: Answer | None = None
        turns = self._conversation.turns
        for event in self._base.ask_events(message, turns=turns, **self._options):
            evidence = event.evidence or evidence
            answer = event.answer or answer
            if event.kind is not AskEventKind.FINISHED:
                yield ChatEvent(step=event)
        assert answer is not None and evidence is not None, "the last event has both"  # noqa: PT018
        understood = evidence.query.text
        self._conversation.add(understood, answer.text if answer.answered else "")
        remembered = tuple(self._conversation.recall(understood))
        yield ChatEvent(reply=ChatResponse(message, answer, evidence, remembered=remembered))

    @property
    def tokens_for_memory(self) -> int:
        """The tokens that a language model has used so far to read statements."""
        total = self._meter.total()
        return total.input_tokens + total.output_tokens

    def tell(self, statement: str) -> MemoryUpdate:
        """Remember the facts of a statement, and return the changes to the memory.

        Raises StoreError if saving them fails; then none is remembered.
        """
        update = self._conversation.tell(statement)
        self._conversation.add("", statement)
        if self.unsaved is None:
            return update
        reason = f"Not saved: {self.unsaved.message} {self.unsaved.fix}".strip()
        note = f"{update.note} {reason}".strip() if update.learned or update.ended else update.note
        return replace(update, note=note, saved=False)

    def facts(self) -> list[RememberedFact]:
        """Return all remembered facts, including those that no longer hold."""
        return self._memory.facts()

    def forget(self, name: str) -> int:
        """Delete all facts about a name, and return their number.

        Raises StoreError if the file of facts is not writable.
        """
        if self.unsaved is not None:
            raise self.unsaved
        return self._memory.forget(name)

    def undo(self) -> RememberedFact | None:
        """Remove the fact that was stated last, and return it; None if there is no such fact."""
        return self._conversation.undo()

    def clear(self) -> None:
        """Start a new conversation: later questions cannot refer to earlier turns. Keeps facts."""
        self._conversation.clear()

    def _open_memory(self, opened: Callable[[], FactMemory]) -> FactMemory:
        """Return the facts, or a copy of them in memory if they cannot be written."""
        memory: FactMemory | None = None
        try:
            memory = opened()
            memory.check_writable()
        except StoreBusy:  # another conversation is saving a fact
            if memory is None:
                raise
        except StoreError as error:
            self.unsaved = error
            reason = f"{error.message} {error.fix}".strip()
            self.notes = (f"Facts are lost when this conversation ends: {reason}",)
            if memory is None:
                return FactMemory()
            with closing(memory):
                return memory.copy()
        return memory


WINDOW_TOKENS = 1_200
SHOWN_FACTS = 8
_ENDS_AS_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_ASKS_OR_COMMANDS = re.compile(
    r"^\W*(?:(?:please|请)\s*)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does"
    r"|did|can|could|has|have|had|will|would|should|list|show|find|tell me|give|explain|describe"
    r"|summari[sz]e|compare|define|translate)\b|谁|什么|哪|多少|怎么|如何|为何|^\W*(?:列出|说明|介绍|总结|比较)",
    re.IGNORECASE,
)
_STATES = re.compile(r"\S\s+\S+\s+\S.*[.!]\W*$|[。！]\W*$")
_OF_SPEAKER = re.compile(r"\b(?:I|my|me|mine|we|our)\b|我", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """The changes that a statement made to the memory: new facts, and facts that it ended.

    ``note`` explains why nothing was remembered, or why a model did not read the statement. Without
    ``saved``, the changes are lost when the conversation ends, and ``note`` says why.
    """

    learned: tuple[RememberedFact, ...] = ()
    ended: tuple[RememberedFact, ...] = ()
    note: str = ""
    saved: bool = True


class Conversation:
    """The last turns of a conversation, and a memory of facts that outlives it.

    At most `MOST_TURNS` turns with ``tokens`` tokens together are kept. ``now`` returns the current
    time as ISO text; facts without a time hold from then on. ``names`` reads the names in a text. A
    ``model`` reads statements that the rules cannot; nothing else here calls a model.
    """

    def __init__(
        self,
        memory: FactMemory,
        *,
        now: Callable[[], str],
        names: NameReader = capital_names,
        model: ChatModel | None = None,
        tokens: int = WINDOW_TOKENS,
    ) -> None:
        self._memory = memory
        self._now = now
        self._names = names
        self._model = model
        self._most_tokens = tokens
        self._turns: deque[tuple[str, str]] = deque(maxlen=MOST_TURNS)
        self._learned: list[RememberedFact] = []

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """The last questions with their answers, oldest first."""
        return tuple(self._turns)

    def add(self, question: str, answer: str) -> None:
        """Add a question that stands alone, and its answer; a statement has an empty question."""
        self._turns.append((question, answer))
        while len(self._turns) > 1 and self._size() > self._most_tokens:
            self._turns.popleft()

    def clear(self) -> None:
        """Remove the turns; facts are kept."""
        self._turns.clear()

    def is_told(self, text: str) -> bool:
        """Return True if a text is a statement to remember rather than a question.

        It is one if it asks to be remembered or the rules find a fact in it; with a model, also if
        it neither asks nor commands.
        """
        if asks_to_remember(text):
            return True
        if _ENDS_AS_QUESTION.search(text) or _ASKS_OR_COMMANDS.search(text):
            return False
        return bool(read_facts(self._resolve(text))) or (
            self._model is not None and bool(_STATES.search(text))
        )

    def tell(self, text: str, *, source: str = "conversation") -> MemoryUpdate:
        """Remember the facts of a statement, and close earlier facts that they end.

        Raises StoreError if that fails; then nothing is remembered.
        """
        found, note = self._read(self._resolve(text))
        learned, ended = [], []
        with self._memory.transaction():
            for stated in found:
                if stated.ended:
                    ended += self._end(stated)
                    continue
                times = _times(stated, self._now())
                fact = RememberedFact(
                    stated.subject, stated.relation, stated.object, *times, source
                )
                ended += self._memory.learn(fact)
                learned.append(fact)
        self._learned += learned
        if not found and not note:
            note = "Nothing to remember was found in this message."
        return MemoryUpdate(tuple(learned), tuple(ended), note)

    def undo(self) -> RememberedFact | None:
        """Remove the fact that was stated last in this conversation, and return it."""
        while self._learned:
            fact = self._learned.pop()
            if self._memory.retract(fact):
                return fact
        return None

    def recall(self, question: str, *, at: str | None = None) -> list[RememberedFact]:
        """Return the facts about the names in a question that hold now, or at the time ``at``."""
        forms = {form for form, _ in name_candidates(question)}
        known = self._memory.names()
        names = [name for name in known if normal_form(name) in forms]
        if _OF_SPEAKER.search(question):
            names += [name for name in known if name.startswith(SPEAKER)]
        return self._memory.about(names, at=at or self._now(), limit=SHOWN_FACTS)

    def _resolve(self, text: str) -> str:
        """Return a statement with its pronoun replaced by the name it refers to."""
        if find_pronoun(text) is None:
            return text
        return resolve_pronoun(text, read_turns(self.turns, self._names), self._names)

    def _read(self, text: str) -> tuple[list[StatedFact], str]:
        """Return the facts of a statement, by rules if they can read all of it, and a note."""
        found = read_facts(text)
        if self._model is None or len(found) == len(split_statements(text)):
            return found, ""
        try:
            return ask_for_facts(text, self._model, today=self._now()[:10]), ""
        except ModelError as error:
            return found, f"The model could not read this message: {error.message}"

    def _end(self, stated: StatedFact) -> list[RememberedFact]:
        at = stated.until or stated.since or self._now()
        before = self._memory.history(stated.subject, stated.relation)
        self._memory.end(stated.subject, stated.relation, stated.object, at=at)
        after = self._memory.history(stated.subject, stated.relation)
        return [fact for fact in after if fact not in before]

    def _size(self) -> int:
        return sum(count_tokens(f"{question} {answer}") for question, answer in self._turns)


def _times(stated: StatedFact, now: str) -> tuple[str, str | None]:
    """Return the moments from and until which a stated fact holds.

    A fact that is stated with its end alone has an unknown beginning if that end is past. A fact
    that holds in one year, month or day alone ends with it.
    """
    since, until = stated.since, stated.until
    if not until:
        return since or now, None
    if not since:
        return (BEGINNING if is_before(until, now) else now), until
    if since == until:
        return since, moment_after(until)
    return since, until if is_before(since, until) else None
