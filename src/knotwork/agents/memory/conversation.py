"""A conversation: questions that lean on the turns before, and facts that outlast it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from knotwork.agents.memory.facts import FactMemory, RememberedFact
from knotwork.agents.memory.told import SPEAKER, read_told
from knotwork.records import Evidence, Query
from knotwork.text.names import name_candidates, normal_form
from knotwork.text.tokens import count_tokens

WINDOW_TURNS = 6
WINDOW_TOKENS = 1_200
SHOWN_FACTS = 8
_PRONOUN = re.compile(
    r"\b(?P<possessive>his|its|their)\b|\b(?P<plain>he|she|it|they|him|them|her|this|that one)\b",
    re.IGNORECASE,
)
_CHINESE_PRONOUN = re.compile("他们|她们|它们|他|她|它")
_GOES_ON = re.compile(r"^\s*(?:(?:and|but|what about|how about)\b|那么?)\s*", re.IGNORECASE)
_FEW_WORDS = 6
_NAME = re.compile(
    r"[A-Z][\w'’.-]*(?:\s+(?:(?:of|the|de|van|von|for)\s+)*[A-Z0-9][\w'’.-]*)*|《[^》]+》"
)
_ASKING_WORDS = "what who when where which why how is are was were do does did can and"
_ASKING = frozenset(_ASKING_WORDS.split())


class Searcher(Protocol):
    """What finds evidence for a question: a retriever or an agent."""

    def retrieve(self, query: Query) -> Evidence: ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One question as asked, as understood, its answer, and the names that it was about."""

    question: str
    understood: str
    answer: str = ""
    names: tuple[str, ...] = ()


class Conversation:
    """Asks a searcher with the turns before in mind, and remembers what it is told.

    The last turns are kept up to ``WINDOW_TURNS`` and ``WINDOW_TOKENS``. ``now`` gives the moment,
    as ISO text: facts without a time of their own hold from then. Costs no token.
    """

    def __init__(
        self,
        searcher: Searcher,
        memory: FactMemory,
        *,
        now: Callable[[], str],
        turns: int = WINDOW_TURNS,
        tokens: int = WINDOW_TOKENS,
    ) -> None:
        self._searcher = searcher
        self._memory = memory
        self._now = now
        self._most_turns = turns
        self._most_tokens = tokens
        self._turns: deque[Turn] = deque()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the window, oldest first."""
        return tuple(self._turns)

    def tell(self, text: str, *, source: str = "conversation") -> list[RememberedFact]:
        """Remember the facts of a statement, and return them; facts that they end are closed."""
        learned = []
        for told in read_told(text):
            at = told.since or self._now()
            if told.ended:
                self._memory.end(told.subject, told.relation, told.object, at=at)
                continue
            fact = RememberedFact(told.subject, told.relation, told.object, at, source=source)
            self._memory.learn(fact)
            learned.append(fact)
        return learned

    def understand(self, question: str) -> str:
        """Return a question that can be understood alone.

        A pronoun becomes the name that the last turn was about; a few words that go on from the
        last question take its place beside it.
        """
        last = next((turn for turn in reversed(self._turns) if turn.names), None)
        if last is None:
            return question
        name = last.names[0]
        if _CHINESE_PRONOUN.search(question):
            return _CHINESE_PRONOUN.sub(name, question, count=1)
        if _PRONOUN.search(question) and not _names_in(question):
            return _PRONOUN.sub(
                lambda m: f"{name}'s" if m["possessive"] else name, question, count=1
            )
        if _GOES_ON.match(question) and len(question.split()) <= _FEW_WORDS:
            rest = _GOES_ON.sub("", question).rstrip("?？ ")
            return f"{last.understood.rstrip('?？ ')}: {rest}?"
        return question

    def ask(self, question: str, *, k: int = 10, at: str | None = None) -> Evidence:
        """Return evidence for a question, understood with the turns before.

        Facts that are remembered of what it names, and hold at the moment (or at ``at``), stand in
        the trace and the notes, so that whoever answers sees them.
        """
        understood = self.understand(question)
        evidence = self._searcher.retrieve(Query(understood, k))
        facts = self.recall(understood, at=at)
        trace = [f"understood as: {understood}"] if understood != question else []
        trace += [f"remembered: {fact.text}" for fact in facts]
        names = tuple(_names_in(understood)) or tuple(
            seed for hit in evidence.hits[:1] for seed in hit.seeds
        )
        self._turns.append(Turn(question, understood, names=names))
        self._shorten()
        return replace(
            evidence,
            notes=(*evidence.notes, *(f"Told before: {fact.text}" for fact in facts)),
            trace=(*trace, *evidence.trace),
        )

    def answer(self, text: str) -> None:
        """Add to the last turn what was answered; what the answer names comes behind its names."""
        if not self._turns:
            return
        last = self._turns.pop()
        more = [name for name in _names_in(text) if name not in last.names]
        self._turns.append(replace(last, answer=text, names=(*last.names, *more[:3])))
        self._shorten()

    def recall(self, question: str, *, at: str | None = None) -> list[RememberedFact]:
        """Return the facts about what a question names that hold now, or at a moment."""
        forms = {form for form, _ in name_candidates(question)}
        names = [name for name in self._memory.names() if normal_form(name) in forms]
        if re.search(r"\b(?:I|my|me)\b|我", question):
            names += [n for n in self._memory.names() if n.startswith(SPEAKER)]
        return self._memory.about(names, at=at or self._now(), limit=SHOWN_FACTS)

    def _shorten(self) -> None:
        def size() -> int:
            return sum(count_tokens(f"{t.understood} {t.answer}") for t in self._turns)

        while len(self._turns) > self._most_turns:
            self._turns.popleft()
        while len(self._turns) > 1 and size() > self._most_tokens:
            self._turns.popleft()


def _names_in(text: str) -> list[str]:
    """Return the names in a text by their capitals, without a first word that only asks."""
    found = []
    for match in _NAME.finditer(text):
        words = match[0].split()
        while words and words[0].lower() in _ASKING:
            words = words[1:]
        if words and (match.start() > 0 or len(words) > 1):
            found.append(" ".join(words).removesuffix("'s").removesuffix("’s"))
    return list(dict.fromkeys(found))
