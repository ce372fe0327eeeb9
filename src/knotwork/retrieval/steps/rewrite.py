"""Rewriting: the question as the index would say it."""

from __future__ import annotations

import re
from dataclasses import replace

from knotwork.errors import ModelError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.records import Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.spelling import correct_spelling
from knotwork.retrieval.steps.asking import WAYS, ask_rewriting, require_model
from knotwork.stores.base import Store
from knotwork.text.terms import content_terms

_POLITE = re.compile(
    r"^\s*(?:(?:hi|hello|hey)\b[,! ]*)?(?:please[, ]+)?"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give|help)(?: me)?"
    r"|(?:i(?:'d| would)? (?:like|want|need) to (?:know|find out|understand))"
    r"|(?:do you (?:happen to )?know)|(?:tell me)|(?:i(?:'m| am) wondering))"
    r"\s*(?:about\s+|if\s+)?[,:]?\s*|^\s*(?:你好[，,。！! ]*)?"
    r"(?:请问|請問|麻烦问一下|我想知道|我想问|请告诉我|能不能告诉我|你知道)[，,：:]?\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,.]*(?:please|thanks?(?: you)?|谢谢|謝謝)\s*[.!。！]*\s*$", re.IGNORECASE)


class Rewrite:
    """The evidence for the question in better words.

    By ``"rules"`` phrases of politeness go, and slips of the keyboard are put right in names too,
    which retrievers leave alone (see `knotwork.retrieval.spelling`). By ``"model"`` a language
    model writes the question again.
    """

    name = "rewrite"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        by: str = "rules",
    ) -> None:
        if by not in WAYS:
            raise UnknownName("way to rewrite", by, WAYS)
        del embedder
        self._store = store
        self._base = base
        self._model = require_model(model, self.name) if by == "model" else None
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the question as it was rewritten, under the question as asked."""
        notes: tuple[str, ...] = ()
        text = query.text
        if self._model is not None:
            try:
                text = ask_rewriting(query.text, self._model)
            except ModelError as error:
                notes = (f"The question was not rewritten: {error.message}",)
        else:
            text, _ = correct_spelling(without_politeness(query.text), self._store, names=True)
        evidence = self._base.retrieve(Query(text, query.k))
        trace = (f"Asked as: {text}",) if text != query.text else ()
        return replace(
            evidence,
            query=query,
            trace=(*trace, *evidence.trace),
            notes=(*evidence.notes, *notes),
        )


def without_politeness(text: str) -> str:
    """Return a question without what is only said to be polite; never nothing."""
    bare = _THANKS.sub("", _POLITE.sub("", text, count=1))
    return bare if content_terms(bare) else text
