"""The base of retrievers by statement: translate, run, repair, cite the rows, search the text.

A translator is called again with the problem until a statement finds rows or it gives up.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.basic_retrievers import HybridRetriever
from knotwork._retrieval.queries.comparisons import require_numbers
from knotwork._retrieval.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    QueryTarget,
    Statement,
    Translator,
)
from knotwork._retrieval.queries.query_rows import ROWS_SCORE, cite_rows
from knotwork._retrieval.queries.stored_values import find_mentions
from knotwork._stores.base import Store
from knotwork.errors import (
    ModelError,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    StoreNotFound,
    Unparsable,
)
from knotwork.records import Evidence, Hit, Query, QueryResult

ROUNDS = 3
"""Maximum number of statements tried for a question."""

_NOTHING_FOUND = (
    "It ran but found nothing. Check the direction of relationships, and write values exactly as"
    " they are stored."
)
_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bapoc\.|\bgds\.|\bCALL\s+db\.|\bCALL\s+[a-z]\w*\.", "Procedures are not supported."),
    (r"\bCALL\s*\{", "CALL { } is not supported: use WITH, or OPTIONAL MATCH."),
    (r"\b(?:size|length)\s*\(\s*\(", "size((a)--(b)) is not supported: use count() after a MATCH."),
    (r"\bexists\s*\(\s*\w+\.", "exists(n.p) is not supported: use n.p IS NOT NULL."),
    (r"\belementId\s*\(|\bid\s*\(", "Ids are not stable: compare properties."),
    (r"\b(?:ILIKE|REGEXP)\b|=~", "Use CONTAINS, STARTS WITH or ENDS WITH with toLower()."),
    (r"\bdatetime\s*\(|\bdate\s*\(", "Compare dates in the format in which they are stored."),
    (
        r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE|DETACH|LOAD\s+CSV|FOREACH)\b",
        "Only read statements are supported.",
    ),
)
_SQL_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bILIKE\b", "SQLite has no ILIKE: LIKE is case-insensitive."),
    (r"\b(?:EXTRACT|DATE_TRUNC|YEAR|MONTH)\s*\(", "Use strftime('%Y', column) and the like."),
    (r"\bTOP\s+\d", "SQLite has no TOP: end with LIMIT."),
    (r"::\w+", "SQLite has no ::type: use CAST(x AS type)."),
)


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The best statement that ran, if any, with its result and all attempts."""

    result: QueryResult | None
    statement: Statement | None
    attempts: tuple[Attempt, ...]


def run_until_right(
    translator: Translator,
    target: QueryTarget,
    asked: LinkedQuestion,
    *,
    rounds: int = ROUNDS,
    source: str = "",
) -> QueryOutcome:
    """Try the statements of a translator until one has rows, at most ``rounds``.

    A statement that runs without finding rows counts if no other does better. A reply that cannot
    be parsed counts as a failed statement. Raises other errors of a translator's model.
    """
    attempts: list[Attempt] = []
    for _ in range(max(rounds, 1)):
        try:
            statement = translator.translate(asked, attempts)
        except (QueryRefused, Unparsable) as error:
            problem = str(error)
            reply = error.text if isinstance(error, Unparsable) else ""
            attempts.append(Attempt(Statement(reply, origin="reply"), None, problem))
            if any(attempt.problem == problem for attempt in attempts[:-1]):
                break  # rules fail in the same way each time
            continue
        if statement is None or _is_repeated(statement, attempts):
            break
        attempts.append(_attempt(statement, target, asked, source))
        if _has_rows(attempts[-1].result):
            break
    ran = [attempt for attempt in attempts if attempt.result is not None]
    best = next((a for a in ran if _has_rows(a.result)), ran[0] if ran else None)
    if best is None:
        return QueryOutcome(None, None, tuple(attempts))
    return QueryOutcome(best.result, best.statement, tuple(attempts))


def _attempt(
    statement: Statement, target: QueryTarget, asked: LinkedQuestion, source: str
) -> Attempt:
    try:
        if not statement.is_planned:
            held = [statement.text, *statement.parameters.values()]
            require_numbers(asked.text, held, compared=True)
        result = target.run(statement, source=source)
    except QueryTimeout as error:
        return Attempt(statement, None, f"{error} Match fewer nodes, or start from a named one.")
    except (QuerySyntaxError, QueryRefused) as error:
        advice = _advise(statement.text, target.language)
        return Attempt(statement, None, " ".join([str(error), *advice]))
    return Attempt(statement, result, "" if _has_rows(result) else _NOTHING_FOUND)


def _has_rows(result: QueryResult | None) -> bool:
    return result is not None and not result.is_empty


def _is_repeated(statement: Statement, attempts: Sequence[Attempt]) -> bool:
    return any(
        a.statement.text == statement.text and a.statement.parameters == statement.parameters
        for a in attempts
    )


def _advise(text: str, language: str) -> list[str]:
    """Return advice on constructs of other dialects in the statement."""
    known = _DIALECT if language == "cypher" else _SQL_DIALECT
    return [advice for pattern, advice in known if re.search(pattern, text, re.IGNORECASE)]


_NO_STATEMENT = "No statement fits the question, so passages were found by its words only."
_CITED_SHARE = 0.6
"""Gain of a passage that states what rows contain, as a share of the best text score."""


class StatementRetriever(ABC):
    """Runs a statement for a question; hits are the passages that state its rows, then those by
    text.

    ``Evidence.results`` has the rows, without their run time, so that equal questions have equal
    evidence. If a model fails, this is noted and translators without a model continue.
    """

    name = "statement"

    def __init__(self, *, store: Store, embedder: Embedder | None, rounds: int = ROUNDS) -> None:
        self._store = store
        self._embedder = embedder
        self._rounds = rounds
        self._text = HybridRetriever(store=store, embedder=embedder)

    @abstractmethod
    def target(self) -> QueryTarget:
        """Return the graph or tables on which statements run."""

    @abstractmethod
    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the translators to try, in order."""

    def retrieve(self, query: Query) -> Evidence:
        """Return the rows, the passages that state them, and those of the text search."""
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
    ) -> tuple[LinkedQuestion, QueryOutcome] | None:
        if not question.strip():
            return None
        try:
            target = self.target()
            asked = LinkedQuestion(
                question, target.schema(), find_mentions(question, target.values())
            )
        except StoreNotFound as error:
            notes.append(str(error))
            return None
        best: QueryOutcome | None = None
        for translator in self.translators(target):
            try:
                outcome = run_until_right(
                    translator, target, asked, rounds=self._rounds, source=self.name
                )
            except ModelError as error:
                notes.append(f"The language model failed: {error}")
                continue
            trace += _trace_lines(outcome)
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

    def _cite(
        self, evidence: Evidence, asked: LinkedQuestion, outcome: QueryOutcome
    ) -> tuple[Hit, ...]:
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


def _rows(outcome: QueryOutcome) -> bool:
    return outcome.result is not None and bool(outcome.result.rows)


def _trace_lines(outcome: QueryOutcome) -> list[str]:
    lines = []
    for attempt in outcome.attempts:
        text = " ".join(attempt.statement.text.split())
        lines.append(f"{attempt.statement.origin or 'statement'}: {text}")
        if attempt.result is not None:
            lines.append(f"rows: {len(attempt.result.rows)}")
        elif attempt.problem:
            lines.append(f"problem: {attempt.problem}")
    return lines
