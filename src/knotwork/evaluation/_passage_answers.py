"""Answer questions from given passages alone, as the index would that has no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.urls import open_store
from knotwork.errors import ModelUnavailable, Unparsable
from knotwork.evaluation._robustness import GivenPassage, Trial, TrialResult, read_result
from knotwork.records import Answer, Document

Counter = Callable[[str, int, int], object]
"""Shows progress: what is done, the number done, and the number in all."""


class PassageAnswerer:
    """Indexes passages in memory, each as a document, and asks about them.

    Settings and models are those of ``knowledge_base``; ``model`` writes the answers, without one
    they are quoted. If its reply cites no passage, sentences are quoted, as by `KnowledgeBase.ask`.
    """

    def __init__(self, knowledge_base: KnowledgeBase, model: ChatModel | None = None) -> None:
        self._has_model = model is not None
        self._k = knowledge_base.settings.retrieval.k
        models = knowledge_base.models
        self._base = KnowledgeBase(
            open_store("memory:", create=True),
            knowledge_base.settings,
            embedder=models.embedder,
            reranker=models.reranker,
            chat_model=model,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.close()

    def __call__(self, question: str, passages: Sequence[GivenPassage]) -> Answer:
        """Answer from these passages. Raises as `KnowledgeBase.ask` without ``fallback``."""
        self._base.index_documents(
            [
                Document(f"passage-{number}", passage.text, title=passage.title)
                for number, passage in enumerate(passages, start=1)
            ],
            remove_others=True,
            tier="none",
        )
        k = max(self._k, len(passages))
        try:
            return self._base.ask(
                question, mode="basic", k=k, use_llm=self._has_model, fallback=False
            )
        except Unparsable:
            return self._base.ask(question, mode="basic", k=k, use_llm=False)


@dataclass(frozen=True, slots=True)
class Foresight:
    """What is known of trials before any call: the ``requests`` to send, and the results.

    A result is None if it depends on a request.
    """

    requests: tuple[ChatRequest, ...]
    results: tuple[TrialResult | None, ...]


def foresee_trials(
    knowledge_base: KnowledgeBase,
    trials: Sequence[Trial],
    model: CachedChatModel | None,
    *,
    count: Counter | None = None,
) -> Foresight:
    """Run trials as far as cached replies go, without a call."""
    cached = _CachedRepliesOnly(model) if model is not None else None
    results: list[TrialResult | None] = []
    with PassageAnswerer(knowledge_base, cached) as answerer:
        for trial in trials:
            try:
                results.append(read_result(trial, answerer(trial.question.text, trial.passages)))
            except ModelUnavailable:
                results.append(None)
            if count is not None:
                count("Estimating", len(results), len(trials))
    return Foresight(tuple(cached.requests if cached else ()), tuple(results))


class _CachedRepliesOnly:
    """A chat model that has only the replies of a cache, and keeps the other requests."""

    def __init__(self, model: CachedChatModel) -> None:
        self.name = model.name
        self.prompts = model.prompts
        self.requests: list[ChatRequest] = []
        self._model = model

    def complete(self, request: ChatRequest) -> ChatReply:
        self._require(request)
        return self._model.complete(request)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        self._require(request)
        yield from self._model.stream(request)

    def _require(self, request: ChatRequest) -> None:
        if not self._model.is_settled(request):
            self.requests.append(request)
            raise ModelUnavailable("No call is made for an estimate.")
