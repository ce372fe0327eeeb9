"""Running what a translator says, and telling it what was wrong until it is right or gives up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout, Unparsable
from knotwork.records import QueryResult
from knotwork.retrieval.queries.comparisons import require_numbers
from knotwork.retrieval.queries.statements import Asked, Attempt, QueryTarget, Statement, Translator

ROUNDS = 3
"""Statements that are tried for a question, the first one included."""

_NOTHING_FOUND = (
    "It ran, and found nothing. Check the direction of relationships, and write values exactly as"
    " they are stored."
)
_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bapoc\.|\bgds\.|\bCALL\s+db\.|\bCALL\s+[a-z]\w*\.", "There are no procedures here."),
    (r"\bCALL\s*\{", "CALL { } is not supported: use WITH, or OPTIONAL MATCH."),
    (r"\b(?:size|length)\s*\(\s*\(", "size((a)--(b)) is not supported: use count() after a MATCH."),
    (r"\bexists\s*\(\s*\w+\.", "exists(n.p) is not supported: use n.p IS NOT NULL."),
    (r"\belementId\s*\(|\bid\s*\(", "Ids are not stable: compare properties."),
    (r"\b(?:ILIKE|REGEXP)\b|=~", "Use CONTAINS, STARTS WITH or ENDS WITH with toLower()."),
    (r"\bdatetime\s*\(|\bdate\s*\(", "Compare dates as they are stored, in their own form."),
    (r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE|DETACH|LOAD\s+CSV|FOREACH)\b", "Only reading works."),
)
_SQL_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bILIKE\b", "SQLite has no ILIKE: LIKE does not mind case."),
    (r"\b(?:EXTRACT|DATE_TRUNC|YEAR|MONTH)\s*\(", "Use strftime('%Y', column) and the like."),
    (r"\bTOP\s+\d", "SQLite has no TOP: end with LIMIT."),
    (r"::\w+", "SQLite has no ::type: use CAST(x AS type)."),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last statement that ran, if one did, with all that was tried."""

    result: QueryResult | None
    statement: Statement | None
    attempts: tuple[Attempt, ...]


def run_until_right(
    translator: Translator,
    target: QueryTarget,
    asked: Asked,
    *,
    rounds: int = ROUNDS,
    source: str = "",
) -> Outcome:
    """Try the statements of a translator until one has rows, at most ``rounds`` of them.

    A statement that runs and finds nothing is better than none, and counts where no other does
    better. A reply that cannot be read is told like a statement that does not run. Raises what
    else a translator's model raises.
    """
    attempts: list[Attempt] = []
    for _ in range(max(rounds, 1)):
        try:
            statement = translator.translate(asked, attempts)
        except (QueryRefused, Unparsable) as error:
            problem = str(error)
            said = error.text if isinstance(error, Unparsable) else ""
            attempts.append(Attempt(Statement(said, origin="reply"), None, problem))
            if any(attempt.problem == problem for attempt in attempts[:-1]):
                break  # rules say the same every time
            continue
        if statement is None or _is_repeated(statement, attempts):
            break
        attempts.append(_attempt(statement, target, asked, source))
        if _has_rows(attempts[-1].result):
            break
    ran = [attempt for attempt in attempts if attempt.result is not None]
    best = next((a for a in ran if _has_rows(a.result)), ran[0] if ran else None)
    if best is None:
        return Outcome(None, None, tuple(attempts))
    return Outcome(best.result, best.statement, tuple(attempts))


def _attempt(statement: Statement, target: QueryTarget, asked: Asked, source: str) -> Attempt:
    try:
        if not statement.is_planned:
            held = [statement.text, *statement.parameters.values()]
            require_numbers(asked.text, held, compared=True)
        result = target.run(statement, source=source)
    except QueryTimeout as error:
        return Attempt(statement, None, f"{error} Find less, or begin with a named thing.")
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
    """Return what to write instead of what other dialects have."""
    known = _DIALECT if language == "cypher" else _SQL_DIALECT
    return [advice for pattern, advice in known if re.search(pattern, text, re.IGNORECASE)]
