"""From a question to its answer, with or without a language model, step by step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypedDict

from knotwork.config import Settings
from knotwork.inference.budget import Budget, parse_ceiling
from knotwork.inference.cached import CachedChatModel
from knotwork.inference.chat import ChatModel
from knotwork.inference.chat_registry import NO_CHAT_MODEL, chat_model_spec
from knotwork.inference.retries import RetryPolicy
from knotwork.inference.role_models import RoleModels, calls_path
from knotwork.records import Evidence
from knotwork.stores.base import Store
from knotwork.synthesis.answering import compose_answer
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.synthesis.writing import AnswerWriter
from knotwork.text.tokens import count_tokens

RETRIES = RetryPolicy(attempts=3, jitter=0.5, patience_s=20.0)
"""Fewer than elsewhere: somebody waits for the answer, and there is one without the model."""


class AskOptions(TypedDict, total=False):
    """How a language model takes part in an answer, where one is set.

    Without ``use_llm`` (by default it is on) none does. Without ``fallback`` (on) its failure is
    raised, and else noted. ``budget`` is a ceiling of tokens or money, as `parse_ceiling` reads it.
    With ``retry`` (off) the model is asked again for a reply that could not be used.
    """

    use_llm: bool
    fallback: bool
    budget: str
    retry: bool


class Asker:
    """Answers from what a search brings; safe for many threads.

    ``model`` takes the place of the one in the settings.
    """

    def __init__(self, store: Store, settings: Settings, *, model: ChatModel | None = None) -> None:
        self._store = store
        self._settings = settings
        self._model = model
        self._models: RoleModels | None = None
        self._lock = threading.Lock()

    def answer(self, search: Callable[[], Evidence], options: AskOptions) -> Iterator[AskEvent]:
        """Search, and yield the steps to an answer, the last one with it.

        Raises as ``search`` and `AnswerWriter.write`; ConfigError when the model is not set rightly
        and StoreError when its calls cannot be kept, both before the search.
        """
        started_s = time.perf_counter()
        model = self._open(options) if options.get("use_llm", True) else None
        evidence = search()
        yield AskEvent(AskEventKind.FOUND, evidence=evidence)
        for event in self._answer_from(evidence, model, options):
            if event.answer is None:
                yield event
            else:
                usage = replace(event.answer.usage, seconds=time.perf_counter() - started_s)
                yield replace(event, answer=replace(event.answer, usage=usage))

    def close(self) -> None:
        """Close the file of calls."""
        with self._lock:
            if self._models is not None:
                self._models.close()

    def _answer_from(
        self, evidence: Evidence, model: CachedChatModel | None, options: AskOptions
    ) -> Iterator[AskEvent]:
        settings = self._settings.answer
        if model is None:
            quoted = compose_answer(evidence, store=self._store, settings=settings)
            return iter([AskEvent(AskEventKind.FINISHED, answer=quoted)])
        writer = AnswerWriter(
            model,
            store=self._store,
            settings=settings,
            notes=self._models.notes if self._models else (),
            fallback=options.get("fallback", True),
        )
        return writer.write(evidence)

    def _open(self, options: AskOptions) -> CachedChatModel | None:
        """Return the model with a meter of its own, or None where none is set."""
        llm, ceiling = self._settings.llm, options.get("budget", "")
        budget = Budget(parse_ceiling(ceiling), count_tokens=count_tokens) if ceiling else None
        if self._model is None and chat_model_spec(llm, "answer") == NO_CHAT_MODEL:
            return None
        with self._lock:
            if self._models is None:
                path = calls_path(self._store.url)
                self._models = RoleModels(llm, path=path, model=self._model, retries=RETRIES)
        return self._models.open(
            "answer", budget=budget, retry_rejected=options.get("retry", False)
        )
