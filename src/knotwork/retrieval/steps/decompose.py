"""Decomposition: ask the parts of a question, each with what the one before it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import ConfigError, ModelError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.mentions import mentions_by_sentence
from knotwork.retrieval.question import Question, rarity, read_question
from knotwork.retrieval.sentences import SHOWN_SENTENCES
from knotwork.retrieval.steps.asking import WAYS, ask_parts, require_model
from knotwork.retrieval.steps.searching import DEPTH, cut_evidence, search_deep
from knotwork.retrieval.steps.splitting import BLANK, NUMBER, Plan, split_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Store

MOST_FILLINGS = 5
"""Of a blank: each is a search."""

READ_HITS = 3
"""First hits of a part in which what fills the next one's blank is looked for."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What may fill a blank, and how well, from 0 to 1."""

    name: str
    entity_id: str
    worth: float


class Decompose:
    """The evidence for a question and for its parts.

    Parts are asked in order; in each the names found by the one before it, at most ``beam`` of
    them, stand in the place of the blank. Names come from the sentences that answer the part best.
    A hit gains ``weight`` times the best score that a part gives it, in units of the part's best
    and of how well the blanks were filled. Simple questions go through unchanged.
    """

    name = "decompose"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        by: str = "rules",
        beam: int = 2,
        weight: float = 0.4,
    ) -> None:
        if by not in WAYS:
            raise UnknownName("way to decompose", by, WAYS)
        if not 1 <= beam <= MOST_FILLINGS:
            raise ConfigError(f"`beam` is `{beam}`, but must be from 1 to {MOST_FILLINGS}.")
        del embedder
        self._store = store
        self._base = base
        self._model = require_model(model, self.name) if by == "model" else None
        self._beam = beam
        self._weight = weight
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the question, with what its parts found worked in."""
        own = search_deep(self._base, query)
        question = read_question(
            query.text, store=self._store, embedder=None, weights=DEFAULT_WEIGHTS
        )
        plan, notes = self._plan(query.text, question)
        if plan is None:
            return cut_evidence(replace(own, notes=(*own.notes, *notes)), query)
        gains: dict[str, float] = {}
        found: dict[str, Hit] = {hit.chunk.id: hit for hit in own.hits}
        trace = [*own.trace]
        fillings = [Filling("", "", 1.0)]
        for place, part in enumerate(plan.parts):
            evidences = self._ask(part, fillings, trace)
            for worth, evidence in evidences:
                self._work_in(evidence, worth, gains, found)
            if plan.side_by_side:
                continue
            if place + 1 < len(plan.parts):
                fillings = self._fill(question, evidences)
                if not fillings:
                    break
        done = self._combine(own, gains, found, query)
        return replace(done, trace=tuple(trace), notes=(*own.notes, *notes))

    def _plan(self, text: str, question: Question) -> tuple[Plan | None, tuple[str, ...]]:
        if self._model is not None:
            try:
                parts = ask_parts(text, self._model)
            except ModelError as error:
                return None, (f"The question was not taken apart: {error.message}",)
            nested = any(BLANK in part for part in parts)
            return (Plan(parts, side_by_side=not nested) if len(parts) > 1 else None), ()
        names = [link.span for link in question.links if link.trust == 1.0]
        return split_question(text, names), ()

    def _ask(
        self, part: str, fillings: Sequence[Filling], trace: list[str]
    ) -> list[tuple[float, Evidence]]:
        """Return the evidence for a part with each filling, and what it is worth."""
        found = []
        for filling in fillings if BLANK in part else fillings[:1]:
            text = part.replace(BLANK, filling.name)
            evidence = self._base.retrieve(Query(text, DEPTH))
            found.append((filling.worth if BLANK in part else 1.0, evidence))
            first = evidence.hits[0].chunk if evidence.hits else None
            title = (first.document_title or first.text[:40]) if first else "nothing"
            trace.append(f"Asked “{text}”: {title}.")
        return found

    def _work_in(
        self,
        evidence: Evidence,
        worth: float,
        gains: dict[str, float],
        found: dict[str, Hit],
    ) -> None:
        best = max((hit.score for hit in evidence.hits), default=0.0)
        for hit in evidence.hits if best > 0 else ():
            key = hit.chunk.id
            gains[key] = max(gains.get(key, 0.0), worth * max(hit.score, 0.0) / best)
            found.setdefault(key, hit)

    def _combine(
        self, own: Evidence, gains: Mapping[str, float], found: Mapping[str, Hit], query: Query
    ) -> Evidence:
        scores = {hit.chunk.id: hit.score for hit in own.hits}
        best = max(scores.values(), default=0.0)
        scale = best if best > 0 else 1.0
        hits = []
        for key, hit in found.items():
            gain = self._weight * scale * gains.get(key, 0.0)
            parts = hit.scores if key in scores else {}
            score = scores.get(key, 0.0) + gain
            hits.append(replace(hit, score=score, scores=parts | {"parts": gain}))
        hits.sort(key=lambda hit: (-hit.score, hit.chunk.id))
        return cut_evidence(replace(own, hits=tuple(hits)), query)

    def _fill(
        self, question: Question, evidences: Sequence[tuple[float, Evidence]]
    ) -> list[Filling]:
        """Return the names in the best sentences of evidence that the question does not hold.

        Numbers and years stand in many sentences, and are seldom what a question goes on from.
        """
        worths: dict[str, float] = {}
        for worth, evidence in evidences:
            hits = evidence.hits[:READ_HITS]
            chunks = {hit.chunk.id: hit.chunk for hit in hits}
            named = mentions_by_sentence(chunks, self._store, known=DEFAULT_WEIGHTS.link.known)
            best = max((hit.score for hit in hits), default=0.0) or 1.0
            for hit in hits:
                for step in hit.path[-1:]:
                    value = worth * max(hit.score, 0.0) / best
                    worths[step.entity_id] = max(worths.get(step.entity_id, 0.0), value)
                places = {span: n for n, span in enumerate(hit.chunk.sentences)}
                for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
                    value = worth * max(hit.score, 0.0) / best * relevance
                    for entity in named[hit.chunk.id][places[span]] if span in places else ():
                        worths[entity] = max(worths.get(entity, 0.0), value)
        open_ids = [identifier for identifier in worths if identifier not in question.named]
        entities = self._store.graph.entities(open_ids)
        ranked = sorted(
            (
                Filling(e.name, i, worths[i] * rarity(e.chunk_count, question.chunk_count))
                for i, e in entities.items()
                if not NUMBER.fullmatch(e.name)
            ),
            key=lambda filling: (-filling.worth, filling.entity_id),
        )[: self._beam]
        top = ranked[0].worth if ranked and ranked[0].worth > 0 else 1.0
        return [replace(filling, worth=filling.worth / top) for filling in ranked]
