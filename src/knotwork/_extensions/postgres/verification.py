"""Verify an index on a server: rows without what they refer to, and sums that are not the sums.

Pages and values are checked by the server, whose databases have checksums. Each check is one
statement, all of them see one state, and none sends rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._extensions.postgres.schema import vector_table
from knotwork._extensions.upkeep.verification import MISSING_REFERENCES

_WRONG_SUMS = {
    "names of entities with a wrong count": """
        SELECT count(*) FROM
            (SELECT entity, name, type, sum(times) AS times, count(*) AS chunks
             FROM mention GROUP BY entity, name, type) m
        FULL JOIN entity_form f ON f.entity = m.entity AND f.name = m.name AND f.type = m.type
        WHERE m.times IS DISTINCT FROM f.times OR m.chunks IS DISTINCT FROM f.chunks
    """,
    "entities with a wrong count of chunks": """
        SELECT count(*) FROM (SELECT entity, count(*) AS chunks FROM mention GROUP BY entity) m
        JOIN entity e ON e.id = m.entity WHERE e.chunk_count <> m.chunks
    """,
    "edges that differ from the sum of their contributions": """
        SELECT count(*) FROM
            (SELECT source, target, relation, sum(weight) AS weight, count(*) AS supports
             FROM contribution GROUP BY source, target, relation) c
        FULL JOIN edge e
            ON e.source = c.source AND e.target = c.target AND e.relation = c.relation
        WHERE e.weight IS DISTINCT FROM c.weight OR e.supports IS DISTINCT FROM c.supports
    """,
    "relations with a wrong count of edges": """
        SELECT count(*) FROM (SELECT relation, count(*) AS edges FROM edge GROUP BY relation) e
        FULL JOIN relation r ON r.id = e.relation WHERE e.edges IS DISTINCT FROM r.edges
    """,
}


def find_faults(database: PostgresDatabase) -> list[str]:
    """Return a phrase for each fault of the index."""
    with database.reading():
        return [*_row_faults(database), *_text_faults(database), *_vector_faults(database)]


def _row_faults(database: PostgresDatabase) -> Iterator[str]:
    checks = MISSING_REFERENCES | _WRONG_SUMS
    for phrase, sql in checks.items():
        ((count,),) = database.rows(sql)
        if count:
            yield f"{count} {phrase}"


def _text_faults(database: PostgresDatabase) -> Iterator[str]:
    for (name,) in database.rows("SELECT name FROM text_index ORDER BY name"):
        table = f"text_{name}"
        ((items, tokens, terms),) = database.rows(
            "SELECT count(*), coalesce(sum(length), 0)::bigint,"  # noqa: S608
            f" coalesce(sum(octet_length(hashes) / 8), 0)::bigint FROM {table}"
        )
        ((postings,),) = database.rows(
            f"SELECT count(*) FROM {table}_posting p JOIN {table} t"  # noqa: S608
            " ON t.id = p.item AND t.length = p.length"
        )
        ((stored,),) = database.rows(f"SELECT count(*) FROM {table}_posting")  # noqa: S608
        totals = database.total(f"{table}.items"), database.total(f"{table}.tokens")
        if totals != (items, tokens) or terms != postings or terms != stored:
            yield f"the full text of `{name}` does not have the terms that it counts"


def _vector_faults(database: PostgresDatabase) -> Iterator[str]:
    for name, number, dimension in database.rows(
        "SELECT name, number, dimension FROM vector_index ORDER BY name"
    ):
        table = vector_table(number)
        ((items, matrices, invalid),) = database.rows(
            "SELECT count(*), count(*) FILTER (WHERE n <> 1 OR is_empty),"  # noqa: S608
            " count(*) FILTER (WHERE is_invalid) FROM (SELECT count(*) AS n,"
            " bool_or(embedding IS NULL) AS is_empty, bool_or(vector_dims(embedding) <> $1)"
            f" AS is_invalid FROM {table} GROUP BY id) g",
            (dimension,),
        )
        totals = database.total(f"{table}.items"), database.total(f"{table}.matrices")
        if totals != (items, matrices):
            yield f"{items} vectors of `{name}`, not {totals[0]}"
        if invalid:
            yield f"{invalid} vectors of `{name}` have another length"
