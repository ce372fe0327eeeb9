"""Hypothetical passages: search for what an answer would look like (HyDE, Gao et al., ACL 2023)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from knotwork.errors import ConfigError, ModelError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.steps.asking import WAYS, ask_passage, require_model
from knotwork.retrieval.steps.searching import search_also, search_deep
from knotwork.stores.base import Store

SENTENCES = 3
"""Of the index, that stand for a model's passage where none is asked."""

_ASKING = re.compile(
    r"^\s*(?:in|on|at|for|from|to|of|by|with)?\s*(?:who(?:se|m)?|what|which|when|where|why"
    r"|how(?: (?:many|much|long|old|far))?)\s+(?:(?:is|was|are|were|did|does|do)\s+)?",
    re.IGNORECASE,
)


class Hyde:
    """The evidence for a question and, with less weight, for a passage that may answer it.

    With ``by="model"`` a language model writes the passage. With ``"rules"`` it is the question as
    a statement, followed by the sentences of the index that answer best: what is like them is found
    though it has none of the question's words.
    """

    name = "hyde"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        by: str = "rules",
        weight: float = 0.3,
    ) -> None:
        if by not in WAYS:
            raise UnknownName("way to imagine a passage", by, WAYS)
        if weight < 0:
            raise ConfigError(f"`weight` is `{weight}`, but must be at least 0.")
        del store, embedder
        self._base = base
        self._model = require_model(model, self.name) if by == "model" else None
        self._weight = weight
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the question and of a passage that may answer it."""
        notes: tuple[str, ...] = ()
        passage = ""
        own = search_deep(self._base, query)
        if self._model is not None:
            try:
                passage = ask_passage(query.text, self._model)
            except ModelError as error:
                notes = (f"No passage was imagined: {error.message}",)
        else:
            passage = _answer_from(query.text, own.hits[:SENTENCES])
        texts = [(passage, self._weight)] if passage else []
        evidence = search_also(self._base, own, query, texts, label=self.name)
        trace = (f"Searched also by: {passage}",) if passage else ()
        return replace(evidence, trace=(*evidence.trace, *trace), notes=(*evidence.notes, *notes))


def _answer_from(text: str, hits: Sequence[Hit]) -> str:
    """Return a question as a statement, and the sentence of each hit that answers it best."""
    sentences = []
    for hit in hits:
        for span, _ in hit.sentences[:1]:
            start = hit.chunk.span.start
            sentences.append(hit.chunk.text[span.start - start : span.end - start])
    statement = _ASKING.sub("", text).rstrip(" ?？")
    return " ".join([statement, *sentences]) if sentences else ""
