"""What all retrievers by statement do: read, translate, run, cite; and search the text beside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from knotwork.errors import ModelError, StoreNotFound
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.basic import HybridRetriever
from knotwork.retrieval.queries.citing import ROWS_SCORE, cite_rows
from knotwork.retrieval.queries.repair import ROUNDS, Outcome, run_until_right
from knotwork.retrieval.queries.statements import Asked, QueryTarget, Translator
from knotwork.retrieval.queries.values import find_mentions
from knotwork.stores.base import Capability, Store

_NO_STATEMENT = "No statement could be made of the question: found by its words alone."
_CITED_SHARE = 0.6
"""Of the best score of the text search, what a passage gains by stating what the rows say."""


class StatementRetriever(ABC):
    """Runs a statement for a question; hits are passages that its rows cite, then by text.

    Rows come in ``Evidence.results``, without how long they took, so that equal questions have
    equal evidence. A model that fails is noted, and what needs none goes on.
    """

    name = "statement"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(self, *, store: Store, embedder: Embedder | None, rounds: int = ROUNDS) -> None:
        self._store = store
        self._embedder = embedder
        self._rounds = rounds
        self._text = HybridRetriever(store=store, embedder=embedder)

    @abstractmethod
    def target(self) -> QueryTarget:
        """Return what statements run on."""

    @abstractmethod
    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return what makes statements, to be tried one after the other."""

    def retrieve(self, query: Query) -> Evidence:
        """Return rows, the passages that state them, and what the text search finds beside."""
        evidence = replace(self._text.retrieve(query), retriever=self.name)
        notes: list[str] = []
        trace: list[str] = []
        found = self._ask(query.text, notes, trace)
        if found is None:
            return replace(
                evidence,
                notes=(*evidence.notes, *notes),
                trace=tuple(trace),
            )
        asked, outcome = found
        assert outcome.result is not None
        assert outcome.statement is not None
        cited = self._cite(evidence, asked, outcome)
        confidence = evidence.confidence
        if outcome.result.rows:
            confidence = max(confidence, outcome.statement.sureness)
        return replace(
            evidence,
            hits=cited,
            confidence=confidence,
            notes=(*evidence.notes, *notes),
            results=(replace(outcome.result, seconds=0.0, confidence=outcome.statement.sureness),),
            trace=tuple(trace),
        )

    def _ask(
        self, question: str, notes: list[str], trace: list[str]
    ) -> tuple[Asked, Outcome] | None:
        if not question.strip():
            return None
        try:
            target = self.target()
            asked = Asked(question, target.schema(), find_mentions(question, target.values()))
        except StoreNotFound as error:
            notes.append(str(error))
            return None
        best: Outcome | None = None
        for translator in self.translators(target):
            try:
                outcome = run_until_right(
                    translator, target, asked, rounds=self._rounds, source=self.name
                )
            except ModelError as error:
                notes.append(f"The language model took no part: {error}")
                continue
            trace += _tell(outcome)
            if outcome.result is None and outcome.attempts and outcome.attempts[-1].problem:
                notes.append(outcome.attempts[-1].problem)
            if outcome.result is not None and (best is None or not _rows(best)):
                best = outcome
            if _rows(outcome):
                break
        if best is None:
            notes.append(_NO_STATEMENT)
            return None
        return asked, best

    def _cite(self, evidence: Evidence, asked: Asked, outcome: Outcome) -> tuple[Hit, ...]:
        assert outcome.result is not None
        names = [str(near.stored.value) for m in asked.mentions for near in m.found[:1]]
        worths, seeds = cite_rows(outcome.result, names, self._store)
        top = max((hit.score for hit in evidence.hits), default=1.0)
        known = {hit.chunk.id: hit for hit in evidence.hits}
        chunks = self._store.documents.chunks([i for i in worths if i not in known])
        hits = list(known.values())
        hits += [Hit(chunk, 0.0) for chunk in chunks.values()]
        raised = [
            replace(
                hit,
                score=hit.score + _CITED_SHARE * top * worths[hit.chunk.id],
                scores={**hit.scores, ROWS_SCORE: _CITED_SHARE * top * worths[hit.chunk.id]},
                seeds=(*hit.seeds, *seeds.get(hit.chunk.id, ())),
            )
            if hit.chunk.id in worths
            else hit
            for hit in hits
        ]
        ranked = sorted(raised, key=lambda hit: (-hit.score, hit.chunk.id))
        return tuple(ranked[: evidence.query.k])


def _rows(outcome: Outcome) -> bool:
    return outcome.result is not None and bool(outcome.result.rows)


def _tell(outcome: Outcome) -> list[str]:
    lines = []
    for attempt in outcome.attempts:
        said = " ".join(attempt.statement.text.split())
        lines.append(f"{attempt.statement.origin or 'statement'}: {said}")
        if attempt.result is not None:
            lines.append(f"rows: {len(attempt.result.rows)}")
        elif attempt.problem:
            lines.append(f"problem: {attempt.problem}")
    return lines
