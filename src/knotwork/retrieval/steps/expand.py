"""Expansion: search also by words and names that the question does not say."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from knotwork.errors import ConfigError, ModelError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.records import ALIAS_RELATION, ENTITY_EDGES, Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.question import read_question
from knotwork.retrieval.steps.asking import ask_words, require_model
from knotwork.retrieval.steps.searching import search_also, search_deep
from knotwork.retrieval.things import read_things_of
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Store
from knotwork.text.terms import content_terms

WAYS = ("feedback", "graph", "both", "model")

FEEDBACK_HITS = 5
SMOOTHING_HITS = 50
"""Of a term's frequency in all passages: a term in half of them says nothing."""

NEIGHBOURS = 4
"""Of each thing in question, the names of so many that are most strongly related."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


class Expand:
    """The evidence for a question and, with less weight, for it with further words.

    ``by="feedback"`` takes the ``terms`` that tell the best passages from all others (after the
    relevance models RM3 of Abdul-Jaleel et al., TREC 2004), ``"graph"`` the other names, and the
    strongest neighbours, of the entities named in the question, ``"both"`` both, ``"model"`` what
    a language model proposes.
    """

    name = "expand"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        by: str = "feedback",
        terms: int = 8,
        weight: float = 0.2,
    ) -> None:
        if by not in WAYS:
            raise UnknownName("way to expand", by, WAYS)
        if terms < 1 or weight < 0:
            raise ConfigError("`terms` must be at least 1, and `weight` at least 0.")
        del embedder
        self._store = store
        self._base = base
        self._model = require_model(model, self.name) if by == "model" else None
        self._by = by
        self._terms = terms
        self._weight = weight
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the question and of its expansion."""
        words: list[str] = []
        notes: tuple[str, ...] = ()
        own = search_deep(self._base, query)
        if self._model is not None:
            try:
                words += ask_words(query.text, self._model)
            except ModelError as error:
                notes = (f"The question was not expanded: {error.message}",)
        if self._by in {"graph", "both"}:
            words += self._related_names(query.text)
        if self._by in {"feedback", "both"}:
            words += self._telling_words(query.text, own.hits[:FEEDBACK_HITS])
        words = list(dict.fromkeys(words))[: self._terms]
        text = f"{query.text} {' '.join(words)}"
        texts = [(text, self._weight)] if words else []
        evidence = search_also(self._base, own, query, texts, label=self.name)
        trace = (f"Searched also by: {', '.join(words)}.",) if words else ()
        return replace(evidence, trace=(*evidence.trace, *trace), notes=(*evidence.notes, *notes))

    def _telling_words(self, text: str, hits: Sequence[Hit]) -> list[str]:
        """Return words of the best passages, the most telling first."""
        asked = set(content_terms(text))
        total = sum(max(hit.score, 0.0) for hit in hits) or 1.0
        shares: defaultdict[str, float] = defaultdict(float)
        holders: Counter[str] = Counter()
        surfaces: dict[str, Counter[str]] = {}
        for hit in hits:
            counts: Counter[str] = Counter()
            for match in _WORD.finditer(hit.chunk.text):
                for term in content_terms(match[0]):
                    counts[term] += 1
                    surfaces.setdefault(term, Counter())[match[0]] += 1
            length = counts.total() or 1
            for term, count in counts.items():
                shares[term] += max(hit.score, 0.0) / total * count / length
                holders[term] += 1
        # A word of one passage alone would only bring that passage again.
        found = [term for term in shares if term not in asked and holders[term] > 1]
        index = self._store.texts("chunk")
        frequencies = index.document_frequencies(found)
        items = max(index.count(), 1)
        worths = {
            term: shares[term] * math.log((items + SMOOTHING_HITS) / (frequencies.get(term, 1) + 1))
            for term in found
        }
        best = sorted(worths, key=lambda term: (-worths[term], term))[: self._terms]
        return [_shown(term, surfaces[term]) for term in best if worths[term] > 0]

    def _related_names(self, text: str) -> list[str]:
        """Return other names of the things in question, then of their strongest neighbours."""
        question = read_question(text, store=self._store, embedder=None, weights=DEFAULT_WEIGHTS)
        ids = [link.entity.id for link in question.links if link.trust == 1.0]
        if not ids:
            return []
        things = read_things_of(self._store, ids)
        same = [other for i in ids for other in things.members(things.of(i)) if other not in ids]
        edges = self._store.graph.neighbours(ids, types=ENTITY_EDGES, fan=NEIGHBOURS)
        ends = [
            (edge.relation != ALIAS_RELATION, edge.target if edge.source == i else edge.source)
            for i in ids
            for edge in edges.get(i, [])
        ]
        wanted = dict.fromkeys([*same, *(end for _, end in sorted(ends, key=lambda e: e[0]))])
        entities = self._store.graph.entities(wanted)
        return [entities[i].name for i in wanted if i in entities and i not in question.named]


def _shown(term: str, surfaces: Counter[str]) -> str:
    """Return a term as it is mostly written; a part of Chinese text stands for itself."""
    word = min(surfaces, key=lambda surface: (-surfaces[surface], surface))
    return word if word.isascii() else term
