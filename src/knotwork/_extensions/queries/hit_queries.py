"""Run a user's Cypher over the hits of a search, like neo4j-graphrag's VectorCypherRetriever.

The statement starts from the variables `node`, a chunk that was found, and `score`, the score of
its hit: one row per hit, best first. It reads the index's own graph, with filters applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.queries.query_targets import ROW_LIMIT, RUN_TIMEOUT_S
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.evidence_builder import rank_evidence
from knotwork._retrieval.query_rows import is_node
from knotwork._stores.base import Store, require_cypher
from knotwork.errors import ConfigError, QueryRefused, QuerySyntaxError, QueryTimeout
from knotwork.records import (
    RETRIEVAL_QUERY,
    Evidence,
    Hit,
    Label,
    PropertyValue,
    Query,
    QueryResult,
)

HELP = (
    "Write a statement that continues from `node`, a chunk that was found, and `score`: "
    "MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. "
    "`$question` is the question; docs/cypher.md lists the labels."
)
_HITS = "hits of the search"
_START = (
    f"UNWIND $`{_HITS}` AS hit MATCH (node:{Label.CHUNK}) WHERE elementId(node) = hit.id"
    " WITH node, hit.score AS score\n"
)


@dataclass(frozen=True, slots=True)
class HitQuery:
    """A statement that continues from `node` and `score`, with its parameters."""

    statement: str
    parameters: Mapping[str, PropertyValue]

    def add_rows(
        self, evidence: Evidence, *, store: Store, embedder: Embedder | None = None
    ) -> Evidence:
        """Return the evidence with the rows of the statement over its hits, and the chunks in them.

        Existing hits do not change. Up to ``k`` further chunks in the rows are added, with the
        largest number in the column `score` of their rows, or else with the score of the last hit.
        ``embedder`` ranks their sentences; without one, words do.

        Raises QuerySyntaxError, QueryRefused and QueryTimeout as `CypherRunner`; MissingCapability
        for a store that cannot run Cypher.
        """
        result = _run(evidence, self, store)
        found = _find_chunks(result, {hit.chunk.id for hit in evidence.hits})
        last = evidence.hits[-1].score if evidence.hits else 0.0
        scores = {key: last if score is None else score for key, score in found.items()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[: max(evidence.query.k, 0)]
        added: tuple[Hit, ...] = ()
        if best:
            asked = Query(evidence.query.text, len(best))
            chosen = {key: scores[key] for key in best}
            added = rank_evidence(
                asked, chosen, retriever=RETRIEVAL_QUERY, store=store, embedder=embedder
            ).hits
        hits = sorted([*evidence.hits, *added], key=lambda hit: (-hit.score, hit.chunk.id))
        return replace(
            evidence,
            hits=tuple(hits) if added else evidence.hits,
            results=(*evidence.results, result),
        )


def read_hit_query(
    statement: str | None, parameters: Mapping[str, PropertyValue] | None = None
) -> HitQuery | None:
    """Return a statement to run over hits, or None for an empty one.

    Raises QuerySyntaxError with the position, or QueryRefused, for a statement that cannot be
    parsed or that writes; ConfigError for parameters without a statement.
    """
    if not statement or not statement.strip():
        if parameters:
            names = ", ".join(f"${name}" for name in parameters)
            raise ConfigError(
                f"Parameters were given ({names}), but no retrieval query.",
                fix="Give `retrieval_query` too, or leave out its parameters.",
            )
        return None
    try:
        parse_statement(statement)
    except (QuerySyntaxError, QueryRefused) as error:
        raise _explain(error) from None
    return HitQuery(statement, dict(parameters or {}))


def _run(evidence: Evidence, query: HitQuery, store: Store) -> QueryResult:
    hits = [{"id": hit.chunk.id, "score": hit.score} for hit in evidence.hits]
    given = {"question": evidence.query.text, **query.parameters, _HITS: hits}
    try:
        result = require_cypher(store)(
            _START + query.statement, given, row_limit=ROW_LIMIT, timeout_s=RUN_TIMEOUT_S
        )
    except (QuerySyntaxError, QueryRefused, QueryTimeout) as error:
        raise _explain(error) from None
    noun = "passage" if len(hits) == 1 else "passages"
    return replace(
        result,
        statement=query.statement.strip(),
        parameters=dict(query.parameters),
        seconds=0.0,  # equal questions have equal evidence
        source=RETRIEVAL_QUERY,
        place=f"the graph of the documents, from {len(hits)} {noun} found",
    )


def _find_chunks(result: QueryResult, known: set[str]) -> dict[str, float | None]:
    """Return the chunks in rows that are not ``known``, with the largest score of their rows."""
    column = result.columns.index("score") if "score" in result.columns else None
    found: dict[str, float | None] = {}
    for row in result.rows:
        value = None if column is None else row[column]
        is_flag = isinstance(value, bool)
        score = float(value) if isinstance(value, int | float) and not is_flag else None
        for key in _chunk_ids(row):
            if key in known:
                continue
            before = found.get(key)
            if key not in found or (score is not None and (before is None or score > before)):
                found[key] = score
    return found


def _chunk_ids(value: PropertyValue) -> Iterator[str]:
    if is_node(value):
        if Label.CHUNK in value["labels"]:
            yield value["id"]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _chunk_ids(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _chunk_ids(item)


def _explain(
    error: QuerySyntaxError | QueryRefused | QueryTimeout,
) -> QuerySyntaxError | QueryRefused | QueryTimeout:
    """Return the same error with a hint to the statement at fault."""
    return type(error)(f"In the retrieval query: {error.message}", fix=error.fix or HELP)
