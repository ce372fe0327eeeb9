"""A conversation: the last turns, which later questions lean on, and facts that outlast it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from knotwork.agents.memory.facts import FactMemory, RememberedFact
from knotwork.agents.memory.telling import ask_told
from knotwork.agents.memory.told import (
    SPEAKER,
    ToldFact,
    asks_to_remember,
    read_told,
    split_statements,
)
from knotwork.errors import ModelError
from knotwork.inference.chat import ChatModel
from knotwork.synthesis.conversation import (
    MOST_TURNS,
    NameReader,
    capital_names,
    find_pronoun,
    read_turns,
    resolve_pronoun,
)
from knotwork.text.names import name_candidates, normal_form
from knotwork.text.tokens import count_tokens

WINDOW_TOKENS = 1_200
SHOWN_FACTS = 8
_ENDS_AS_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_ASKS = re.compile(
    r"^\W*(?:(?:please|请)\s*)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does"
    r"|did|can|could|has|have|had|will|would|should|list|show|find|tell me|give|explain|describe"
    r"|summari[sz]e|compare|define|translate)\b|谁|什么|哪|多少|怎么|如何|为何|^\W*(?:列出|说明|介绍|总结|比较)",
    re.IGNORECASE,
)
_STATES = re.compile(r"\S\s+\S+\s+\S.*[.!]\W*$|[。！]\W*$")
_OF_SPEAKER = re.compile(r"\b(?:I|my|me|mine|we|our)\b|我", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a statement: facts that are new, and facts that it ended.

    ``note`` says why nothing was remembered, or why a model did not read it.
    """

    learned: tuple[RememberedFact, ...] = ()
    ended: tuple[RememberedFact, ...] = ()
    note: str = ""


class Conversation:
    """What was said in a conversation, and what is remembered of this one and of earlier ones.

    The last turns are kept up to ``MOST_TURNS`` and ``tokens``. ``now`` gives the moment, as ISO
    text: facts without a time of their own hold from then. A ``model`` reads statements that the
    rules cannot; nothing else here costs a token.
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
        self._told: list[RememberedFact] = []

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """The questions of the window with their answers, oldest first."""
        return tuple(self._turns)

    def add(self, question: str, answer: str) -> None:
        """Add a question that stands alone, and its answer; what was told answers no question."""
        self._turns.append((question, answer))
        while len(self._turns) > 1 and self._size() > self._most_tokens:
            self._turns.popleft()

    def clear(self) -> None:
        """Drop the turns; what is remembered stays."""
        self._turns.clear()

    def is_told(self, text: str) -> bool:
        """Tell whether a text is a statement to remember rather than a question.

        So is what asks to be remembered, and what states a fact; with a model, any sentence that
        neither asks nor commands.
        """
        if asks_to_remember(text):
            return True
        if _ENDS_AS_QUESTION.search(text) or _ASKS.search(text):
            return False
        return bool(read_told(self._resolve(text))) or (
            self._model is not None and bool(_STATES.search(text))
        )

    def tell(self, text: str, *, source: str = "conversation") -> Told:
        """Remember the facts of a statement; facts that they end are closed."""
        found, note = self._read(self._resolve(text))
        learned, ended = [], []
        for told in found:
            if told.ended:
                ended += self._end(told)
                continue
            since = told.since or self._now()
            until = told.until if told.until > since else None
            fact = RememberedFact(told.subject, told.relation, told.object, since, until, source)
            ended += self._memory.learn(fact)
            learned.append(fact)
        self._told += learned
        if not found and not note:
            note = "Nothing to remember was found in this."
        return Told(tuple(learned), tuple(ended), note)

    def undo(self) -> RememberedFact | None:
        """Take back the fact that was told last in this conversation, and return it."""
        while self._told:
            fact = self._told.pop()
            if self._memory.retract(fact):
                return fact
        return None

    def recall(self, question: str, *, at: str | None = None) -> list[RememberedFact]:
        """Return the facts about what a question names that hold now, or at a moment."""
        forms = {form for form, _ in name_candidates(question)}
        known = self._memory.names()
        names = [name for name in known if normal_form(name) in forms]
        if _OF_SPEAKER.search(question):
            names += [name for name in known if name.startswith(SPEAKER)]
        return self._memory.about(names, at=at or self._now(), limit=SHOWN_FACTS)

    def _resolve(self, text: str) -> str:
        """Return a statement with the name that its pronoun stands for."""
        if find_pronoun(text) is None:
            return text
        return resolve_pronoun(text, read_turns(self.turns, self._names), self._names)

    def _read(self, text: str) -> tuple[list[ToldFact], str]:
        """Return the facts of a statement, by rules where they read all of it, and a note."""
        found = read_told(text)
        if self._model is None or len(found) == len(split_statements(text)):
            return found, ""
        try:
            return ask_told(text, self._model, today=self._now()[:10]), ""
        except ModelError as error:
            return found, f"The model could not read this: {error.message}"

    def _end(self, told: ToldFact) -> list[RememberedFact]:
        at = told.until or told.since or self._now()
        known = self._memory.history(told.subject, told.relation)
        self._memory.end(told.subject, told.relation, told.object, at=at)
        after = self._memory.history(told.subject, told.relation)
        return [fact for fact in after if fact not in known]

    def _size(self) -> int:
        return sum(count_tokens(f"{question} {answer}") for question, answer in self._turns)
