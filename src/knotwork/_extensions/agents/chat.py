"""Chat with a knowledge base: answer follow-up questions, and remember stated facts."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact, open_facts
from knotwork._extensions.agents.fact_rules import (
    MessageParts,
    StatedFact,
    ask_for_facts,
    may_state,
    read_facts,
    read_offered,
    split_message,
    split_statements,
)
from knotwork._extensions.agents.moments import BEGINNING, is_before, moment_after, read_moment
from knotwork._inference.call_costs import UsageMeter
from knotwork._inference.chat import ChatModel
from knotwork._inference.role_models import open_budget
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Stage, Steps, Verb
from knotwork._synthesis.follow_ups import (
    MOST_TURNS,
    NameReader,
    capital_names,
    find_pronoun,
    index_names,
    read_turns,
    resolve_pronoun,
)
from knotwork._synthesis.memory_evidence import OF_SPEAKER, SPEAKER, describe_names
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.token_counts import count_tokens
from knotwork._text.visible import visible_text
from knotwork.errors import ModelError, NotFound, StoreBusy, StoreError
from knotwork.records import Answer, Evidence, MemoryCitation

MOST_OFFERS = 32


@dataclass(frozen=True, slots=True)
class MemoryOffer:
    """Facts of a statement that nobody has asked to remember.

    ``facts`` would be stored, and ``ended`` would get an end. ``id`` accepts or refuses the offer.
    """

    statement: str
    facts: tuple[RememberedFact, ...] = ()
    ended: tuple[RememberedFact, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(8))


class OpenOffers:
    """The offers of a conversation that are still open; the oldest are dropped. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, MemoryOffer] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, offer: MemoryOffer) -> None:
        """Keep an offer open. One with the same facts is replaced."""
        with self._lock:
            for known in [k for k in self._open.values() if k.statement == offer.statement]:
                del self._open[known.id]
            self._open[offer.id] = offer
            while len(self._open) > MOST_OFFERS:
                self._open.popitem(last=False)

    def take(self, identifier: str = "") -> MemoryOffer:
        """Remove and return an offer, by default the last one. Raises NotFound."""
        with self._lock:
            key = identifier or next(reversed(self._open), "")
            offer = self._open.pop(key, None)
        if offer is None:
            what = f"There is no open offer `{identifier}`." if identifier else "No offer is open."
            raise NotFound(what, fix="State the fact again, or begin with: Remember that …")
        return offer

    def clear(self) -> None:
        """Drop all offers."""
        with self._lock:
            self._open.clear()

    def open(self) -> tuple[MemoryOffer, ...]:
        """Return the open offers, oldest first."""
        with self._lock:
            return tuple(self._open.values())


def local_now() -> str:
    """Return the local time to the minute, as ISO text."""
    return datetime.now().astimezone().isoformat(timespec="minutes")[:16]


WINDOW_TOKENS = 1_200
SHOWN_FACTS = 8
RECALLED_FACTS = 50
"""The most facts about the names of a question among which the answer is looked for."""


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """The changes that a statement made to the memory: new facts, and facts that it ended.

    ``note`` explains why nothing was remembered, or why a model did not read the statement. Without
    ``saved``, the changes are lost when the conversation ends, and ``note`` says why. ``tokens`` is
    what the model used.
    """

    learned: tuple[RememberedFact, ...] = ()
    ended: tuple[RememberedFact, ...] = ()
    note: str = ""
    saved: bool = True
    tokens: int = 0


class Conversation:
    """The last turns of a conversation, and a memory of facts that outlives it.

    At most `MOST_TURNS` turns with ``tokens`` tokens together are kept. ``now`` returns the current
    time as ISO text; facts without a time hold from then on. ``names`` reads the names in a text. A
    ``model`` reads statements that the rules cannot; nothing else here calls a model. ``offers``
    are those that are open.
    """

    def __init__(
        self,
        memory: FactMemory,
        *,
        now: Callable[[], str],
        names: NameReader = capital_names,
        model: ChatModel | None = None,
        tokens: int = WINDOW_TOKENS,
        offers: OpenOffers | None = None,
    ) -> None:
        self._memory = memory
        self._now = now
        self._names = names
        self._model = model
        self._most_tokens = tokens
        self._turns: deque[tuple[str, str]] = deque(maxlen=MOST_TURNS)
        self._learned: list[RememberedFact] = []
        self._open_offers = OpenOffers() if offers is None else offers

    @property
    def offers(self) -> tuple[MemoryOffer, ...]:
        """The offers that were neither accepted nor refused, oldest first."""
        return self._open_offers.open()

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
        """Start a new conversation: later questions cannot refer to earlier turns. Keeps facts."""
        self._turns.clear()

    def tell(self, text: str, *, source: str = "conversation") -> MemoryUpdate:
        """Remember the facts of a statement, and close earlier facts that they end.

        Raises StoreError if that fails; then nothing is remembered.
        """
        found, note = self._read(self._resolve(text))
        update = self._apply(*self._changes(found, source))
        self.add("", text)
        if not found and not note:
            note = "Nothing to remember was found in this message."
        return replace(update, note=f"{note} {update.note}".strip())

    def offer(self, text: str, *, source: str = "conversation") -> MemoryOffer | None:
        """Return an offer to remember the facts of a statement; None if it has nothing new.

        Nothing is stored before `accept`. The model reads a statement that the rules cannot.
        """
        resolved = self._resolve(text)
        found = read_offered(resolved)
        if not found and self._model is not None and may_state(resolved):
            found, _ = self._read(resolved)
        facts, ended = self._changes(found, source)
        facts = [fact for fact in facts if not self._memory.holds(fact)]
        if not facts and not ended:
            return None
        offer = MemoryOffer(text, tuple(facts), tuple(ended))
        self._open_offers.add(offer)
        self.add("", text)
        return offer

    def accept(self, offer_id: str = "") -> MemoryUpdate:
        """Store the facts of an offer, by default of the last one.

        Raises NotFound if it is not open, StoreError if saving fails; then none is remembered.
        """
        offer = self.refuse(offer_id)
        try:
            return self._apply(offer.facts, offer.ended)
        except StoreError:
            self._open_offers.add(offer)
            raise

    def refuse(self, offer_id: str = "") -> MemoryOffer:
        """Drop an offer, by default the last one, and return it. Raises NotFound."""
        return self._open_offers.take(offer_id)

    def undo(self) -> RememberedFact | None:
        """Remove the fact that was stated last, and return it; None if there is no such fact."""
        while self._learned:
            fact = self._learned.pop()
            if self._memory.retract(fact):
                return fact
        return None

    def recall(
        self, question: str, *, at: str | None = None, limit: int = SHOWN_FACTS
    ) -> list[RememberedFact]:
        """Return the facts about the names in a question, newest first.

        They hold at the time ``at``, by default at the time that the question names, or now. What
        the question describes, as "my manager", counts as named.
        """
        at = at or read_moment(question) or self._now()
        forms = {form for form, _ in name_candidates(question)}
        known = self._memory.names()
        names = [name for name in known if normal_form(name) in forms]
        if OF_SPEAKER.search(question):
            names += [name for name in known if name.startswith(SPEAKER)]
        found = self._memory.about(names, at=at, limit=RECALLED_FACTS)
        cited = [fact.cite(number) for number, fact in enumerate(found)]
        if more := describe_names(question, cited):
            found = self._memory.about([*names, *more], at=at, limit=RECALLED_FACTS)
        return found[:limit]

    def cite(self, question: str) -> list[MemoryCitation]:
        """Return the facts about the names in a question as sources of an answer."""
        found = self.recall(question, limit=RECALLED_FACTS)
        return [fact.cite(number) for number, fact in enumerate(found, start=1)]

    def _resolve(self, text: str) -> str:
        """Return a statement with its pronoun replaced by the name it refers to."""
        text = visible_text(text)
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

    def _changes(
        self, found: Sequence[StatedFact], source: str
    ) -> tuple[list[RememberedFact], list[RememberedFact]]:
        """Return the facts of a statement, and the known facts that it says to have ended."""
        now = self._now()
        facts = [
            RememberedFact(s.subject, s.relation, s.object, *_times(s, now), source)
            for s in found
            if not s.ended
        ]
        ended = [
            replace(known, valid_to=s.until or s.since or now)
            for s in found
            if s.ended
            for known in self._memory.ending(
                s.subject, s.relation, s.object, at=s.until or s.since or now
            )
        ]
        return facts, ended

    def _apply(
        self, facts: Sequence[RememberedFact], ended: Sequence[RememberedFact]
    ) -> MemoryUpdate:
        closed = list(ended)
        with self._memory.transaction():
            for fact in ended:
                self._memory.end(fact.subject, fact.relation, fact.object, at=fact.valid_to or "")
            for fact in facts:
                closed += self._memory.learn(fact)
        self._learned += facts
        return MemoryUpdate(tuple(facts), tuple(closed))

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


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The reply to a message: an answer with its evidence, facts that were stored, or an offer.

    ``told`` are the changes of a statement that asks to be remembered. Another statement of facts
    is only offered (``offer``): `Chat.accept` stores it. A message that also asks has an answer,
    too. ``remembered`` are facts stated earlier about the entities of a question; those that the
    answer states are its ``memory``. ``tokens`` are those that a language model used
    to read a statement; the answer has its own usage.
    """

    message: str
    answer: Answer | None = None
    evidence: Evidence | None = None
    told: MemoryUpdate | None = None
    offer: MemoryOffer | None = None
    remembered: tuple[RememberedFact, ...] = ()
    tokens: int = 0


class Chat(Conversation):
    """A conversation that answers questions in context, and remembers stated facts.

    "Remember that …" stores facts at once. Facts that a message states without asking for that are
    offered: `accept` stores them, `refuse` drops them. ``memory`` is the file of facts, or the open
    facts of one owner; by default those kept with the index. ``now`` returns the current time as
    ISO text. ``turns`` are earlier messages with their answers, and ``offers`` are open ones of
    earlier conversations. Without ``stores``, messages are questions only: nothing is stored or
    offered. With ``offers_only``, facts of "Remember that …" are offered too. ``options`` are those
    of `KnowledgeBase.ask`; ``budget`` applies to each question, and once to all statements
    together. If the file is not writable, ``unsaved`` is the error, ``notes`` has it as a warning
    for the user, and facts are remembered until the conversation ends. Close it, or use it in a
    ``with`` statement.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        *,
        memory: str | Path | FactMemory | None = None,
        now: Callable[[], str] | None = None,
        turns: Sequence[tuple[str, str]] = (),
        offers: OpenOffers | None = None,
        stores: bool = True,
        offers_only: bool = False,
        **options: Any,  # noqa: ANN401  those of `KnowledgeBase.ask`
    ) -> None:
        self._base = knowledge_base
        self._options = options
        self._stores = stores
        self._offers_only = offers_only
        self.notes: tuple[str, ...] = ()
        self.unsaved: StoreError | None = None
        store, settings = knowledge_base.store, knowledge_base.settings
        if not isinstance(memory, FactMemory):
            memory = self._open_memory(
                partial(FactMemory, memory) if memory else partial(open_facts, store)
            )
        self._models = knowledge_base.open_chat_models()
        self._meter = UsageMeter()
        budget = open_budget(options.get("budget", ""), settings.llm, count_tokens=count_tokens)
        reads = options.get("use_llm", True)
        super().__init__(
            memory,
            now=now or local_now,
            names=index_names(store),
            model=self._models.open("keyword", meter=self._meter, budget=budget) if reads else None,
            offers=offers,
        )
        for question, answer in turns[-MOST_TURNS:]:
            self.add(question, answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file of facts and the cache of model calls."""
        self._memory.close()
        self._models.close()

    @Verb
    def say(self, message: str) -> Steps[ChatResponse]:
        """Return the answer to a question, or the facts of a statement.

        A run yields what that of `KnowledgeBase.ask` does, without the last step. Raises as `ask`.
        """
        before = self.tokens_for_memory
        said = split_message(message) if self._stores else MessageParts("", message)
        statement, question, is_explicit = said
        is_stored = is_explicit and not self._offers_only
        told = self.tell(statement) if is_stored else None
        offer = self.offer(statement) if statement and not is_stored else None
        heard = ChatResponse(
            message, told=told, offer=offer, tokens=self.tokens_for_memory - before
        )
        if told is None and offer is None:
            question = message
        if not question:
            return heard
        evidence: Evidence | None = None
        options = {"recall": self.cite, **self._options}
        asked = self._base.ask.run(question, turns=self.turns, **options)
        for step in asked:
            if step.stage == Stage.FOUND:
                evidence = step.value
            if step.stage != Stage.FINISHED:
                yield step
        answer = asked.result()
        assert evidence is not None, "each answer is from what was found"
        understood = evidence.query.text
        self.add(understood, answer.text if answer.answered else "")
        remembered = tuple(self.recall(understood))
        return replace(heard, answer=answer, evidence=evidence, remembered=remembered)

    @property
    def tokens_for_memory(self) -> int:
        """The tokens that a language model has used so far to read statements."""
        return self._meter.total().tokens

    def tell(self, text: str, *, source: str = "conversation") -> MemoryUpdate:
        """Remember the facts of a statement as `Conversation.tell`, and count the tokens."""
        before = self.tokens_for_memory
        update = super().tell(text, source=source)
        return replace(update, tokens=self.tokens_for_memory - before)

    def _apply(
        self, facts: Sequence[RememberedFact], ended: Sequence[RememberedFact]
    ) -> MemoryUpdate:
        """Return an update that says so if it is lost when the conversation ends."""
        update = super()._apply(facts, ended)
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
