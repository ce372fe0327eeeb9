"""Answer from the tables beside an index: rows of a query, and the file rows behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knotwork._retrieval.queries.query_plans import Returned
from knotwork._retrieval.queries.query_rows import ROWS_SCORE
from knotwork._retrieval.queries.sql_target import compare_column, quote_column
from knotwork._retrieval.queries.table_plans import plan_query
from knotwork._retrieval.queries.table_queries import TableQuery
from knotwork._stores.base import Store
from knotwork._stores.index_tables import tables_of
from knotwork._stores.table_file import TableFile, TableShape
from knotwork._text.names import name_candidates
from knotwork._text.terms import terms
from knotwork.errors import QueryTimeout
from knotwork.records import (
    Chunk,
    Document,
    Evidence,
    Hit,
    PropertyValue,
    QueryResult,
    RowSource,
    Span,
)

CONFIDENCE = 0.9
"""Confidence of a query that accounts for every word of the question."""
CITED_ROWS = 6
ROW_LIMIT = 200
RUN_TIMEOUT_S = 5.0
_LONGEST_VALUE = 8
"""Maximum number of words in a value that a question mentions."""
_SOURCE = "tables"

Parameters = dict[str, PropertyValue]


class TableRows:
    """Answers questions that are clearly about one of the tables beside an index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = tables_of(store)

    def add_rows(self, evidence: Evidence, question: str) -> Evidence:
        """Return the evidence with the rows that answer a question, or unchanged if no table
        does.
        """
        result = self.ask(question)
        if result is None:
            return evidence
        found = _find_chunks(self._store, result.row_sources)
        top = max((hit.score for hit in evidence.hits), default=1.0)
        cited = {chunk.id for chunk, _ in found}
        hits = [
            Hit(chunk, top, {ROWS_SCORE: top}, sentences=tuple((span, 1.0) for span in spans))
            for chunk, spans in found
        ]
        hits += [hit for hit in evidence.hits if hit.chunk.id not in cited]
        confidence = max(evidence.confidence, result.confidence)
        return replace(
            evidence,
            hits=tuple(hits[: max(evidence.query.k, len(found))]),
            results=(result, *evidence.results),
            confidence=confidence,
        )

    def ask(self, question: str) -> QueryResult | None:
        """Return the rows that answer a question, or None if it is not clearly about one table."""
        if self._tables is None or not self._tables.exists():
            return None
        shapes = self._current(self._tables.tables())
        if not shapes:
            return None
        forms = _forms_of(question)
        query = plan_query(question, shapes, forms, self._tables.find_values(list(forms)))
        return self._run(query, self._tables) if query is not None else None

    def _current(self, shapes: Sequence[TableShape]) -> list[TableShape]:
        """Return the tables of files, and those of documents in their indexed revision."""
        known = self._store.ledger.get([shape.document for shape in shapes if shape.document])
        return [
            shape
            for shape in shapes
            if not shape.document
            or (shape.document in known and known[shape.document].revision == shape.revision)
        ]

    def _run(self, query: TableQuery, tables: TableFile) -> QueryResult | None:
        text, parameters = write_query(query)
        try:
            result = tables.run(text, parameters, row_limit=ROW_LIMIT, timeout_s=RUN_TIMEOUT_S)
            is_aggregate = query.returned not in (Returned.THING, Returned.VALUE)
            if result.is_empty and not (is_aggregate and result.rows and result.rows[0][-1] == 0):
                return None
            if query.is_single and len(result.rows) > 1:
                return None  # "what is the department of Ann" has one answer
            names = {str(row[0]) for row in result.rows}
            if query.order and query.limit > 1 and len(names) < len(result.rows):
                return None  # "the top three products" must be different products
            text, values = write_sources(query, result)
            sources = tables.run(text, values, row_limit=1, timeout_s=RUN_TIMEOUT_S).rows[0]
        except QueryTimeout:
            return None
        rows = [int(row) for row in str(sources[1] or "").split(",") if row]
        shape = query.table
        return replace(
            result,
            seconds=0.0,
            source=_SOURCE,
            place=f"the table {shape.name} ({shape.document or shape.source})",
            confidence=CONFIDENCE,
            row_sources=tuple(tables.row_sources(shape, rows)),
            row_count=int(sources[0]),
            is_listing=not is_aggregate and int(sources[0]) == len(result.rows),
        )


def write_query(query: TableQuery) -> tuple[str, Parameters]:
    """Return the statement of a query, and its parameters."""
    where, parameters = _where(query)
    selected, endings = _selected(query), _endings(query)
    table = quote_column(query.table.name)
    return "\n".join([f"SELECT {selected}", f"FROM {table}", *where, *endings]), parameters


def write_sources(query: TableQuery, result: QueryResult) -> tuple[str, Parameters]:
    """Return the statement that counts the rows behind a result and lists the first of them."""
    where, parameters = _where(query)
    table = quote_column(query.table.name)
    conditions = list(where)

    def require(condition: str) -> None:
        conditions.append(f"{'AND' if conditions else 'WHERE'} {condition}")

    if query.group:
        shown = [row[0] for row in result.rows[:CITED_ROWS]]
        names = [f"g{number}" for number in range(len(shown))]
        parameters |= dict(zip(names, shown, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        require(f"{quote_column(query.group)} IN ({listed})")
    elif query.returned in (Returned.MAXIMUM, Returned.MINIMUM):
        parameters["end"] = result.rows[0][0]
        require(f"{quote_column(query.columns[0])} = $end")
    elif query.order and query.limit:
        rows = f"SELECT rowid FROM {table} {' '.join(where)} {' '.join(_endings(query))}"  # noqa: S608
        require(f"rowid IN ({rows})")
    order = ""
    if query.order:
        order = f"ORDER BY {quote_column(query.order)} {_direction(query)}, rowid"
    first = f"SELECT rowid FROM {table} {' '.join(conditions)} {order} LIMIT {CITED_ROWS}"  # noqa: S608
    statement = (
        f"SELECT (SELECT count(*) FROM {table} {' '.join(conditions)}),"  # noqa: S608
        f" (SELECT group_concat(rowid) FROM ({first}))"
    )
    return statement, parameters


def _selected(query: TableQuery) -> str:
    column = quote_column(query.columns[0]) if query.columns else ""
    if query.returned is Returned.THING:
        return "*"
    if query.returned is Returned.VALUE:
        return ", ".join(map(quote_column, query.columns))
    if query.returned is Returned.COUNT:
        value = f'count(DISTINCT {column}) AS "count"' if column else 'count(*) AS "count"'
    else:
        label = quote_column(f"{query.returned} {query.columns[0]}")
        value = f"{query.returned}({column}) AS {label}"
    return f"{quote_column(query.group)}, {value}" if query.group else value


def _where(query: TableQuery) -> tuple[list[str], Parameters]:
    parameters: Parameters = {}
    conditions = []
    for item in query.texts:
        names = [f"p{len(parameters) + number}" for number in range(len(item.values))]
        parameters |= dict(zip(names, item.values, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        test = f"= {listed}" if len(names) == 1 else f"IN ({listed})"
        conditions.append(f"{quote_column(item.column)} {test}")
    conditions += [
        compare_column(quote_column(condition.property), condition, parameters)
        for condition in query.conditions
    ]
    if query.order:
        conditions.append(f"{quote_column(query.order)} IS NOT NULL")
    elif query.group:
        conditions.append(f"{quote_column(query.group)} IS NOT NULL")
    if query.order and query.limit == 1:
        conditions.append(_is_end(query, conditions))
    return ([f"WHERE {' AND '.join(conditions)}"] if conditions else []), parameters


def _is_end(query: TableQuery, conditions: Sequence[str]) -> str:
    """Return the condition on rows at the end of a scale; equal rows all match."""
    column, table = quote_column(query.order or ""), quote_column(query.table.name)
    end = Returned.MAXIMUM if query.descending else Returned.MINIMUM
    return f"{column} = (SELECT {end}({column}) FROM {table} WHERE {' AND '.join(conditions)})"  # noqa: S608


def _endings(query: TableQuery) -> list[str]:
    limit = f"LIMIT {query.limit}" if query.limit > 1 or (query.limit and query.group) else ""
    if query.group:
        group = quote_column(query.group)
        sorting = f"ORDER BY 2 {_direction(query)}, 1" if query.order is not None else "ORDER BY 1"
        return [f"GROUP BY {group} {sorting} {limit}".strip()]
    if query.order:
        return [f"ORDER BY {quote_column(query.order)} {_direction(query)}, rowid {limit}".strip()]
    if query.returned is Returned.VALUE:
        columns = ", ".join(map(quote_column, query.columns))
        return [f"GROUP BY {columns} ORDER BY min(rowid)"]
    return ["ORDER BY rowid"] if query.returned is Returned.THING else []


def _direction(query: TableQuery) -> str:
    return "DESC" if query.descending else "ASC"


def _forms_of(question: str) -> dict[str, Span]:
    """Return forms under which values in the question may be stored, with their spans."""
    forms = dict(name_candidates(question, max_words=_LONGEST_VALUE))
    for span in list(forms.values()):
        stems = " ".join(terms(question[span.start : span.end]))
        if stems:
            forms.setdefault(f"stems {stems}", span)
    return forms


def _find_chunks(
    store: Store, sources: Sequence[RowSource]
) -> list[tuple[Chunk, tuple[Span, ...]]]:
    """Return the chunks that contain rows of documents, each with the spans of these rows."""
    found: dict[str, tuple[Chunk, list[Span]]] = {}
    document_of = {source.document: Document(source.document, "").id for source in sources}
    held = store.documents.chunk_ids_of(document_of.values())
    for source in sources:
        if source.span.end <= source.span.start:
            continue
        ids = held.get(document_of[source.document], [])
        chunk = _chunk_at(store, ids, source.span.start)
        if chunk is not None:
            found.setdefault(chunk.id, (chunk, []))[1].append(source.span)
    return [(chunk, tuple(spans)) for chunk, spans in found.values()]


def _chunk_at(store: Store, ids: Sequence[str], start: int) -> Chunk | None:
    """Return the leaf chunk at a character. ``ids`` has leaves in order, then parents."""
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        chunk = store.documents.chunks([ids[middle]])[ids[middle]]
        if chunk.is_parent or chunk.span.start > start:
            high = middle
        elif chunk.span.end <= start:
            low = middle + 1
        else:
            return chunk
    return None
