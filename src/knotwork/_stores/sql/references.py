"""The columns of tables whose values must exist elsewhere, and statements that count exceptions."""

from __future__ import annotations

from typing import NamedTuple


class _Reference(NamedTuple):
    """A column whose values must exist in another; ``phrase`` says what rows without one are."""

    phrase: str
    table: str
    column: str
    other: str
    other_column: str = "id"


_REFERENCES = (
    _Reference("chunks without a document", "chunk", "document", "document"),
    _Reference("sections without a document", "section", "document", "document"),
    _Reference("mentions without a chunk", "mention", "chunk", "chunk"),
    _Reference("mentions without an entity", "mention", "entity", "entity"),
    _Reference("relations without a chunk", "contribution", "chunk", "chunk"),
    _Reference("entities that no chunk mentions", "entity", "id", "mention", "entity"),
    _Reference("members of communities without an entity", "community_member", "entity", "entity"),
    _Reference(
        "members of communities without a community", "community_member", "community", "community"
    ),
    _Reference("chunks of communities without a chunk", "community_chunk", "chunk", "chunk"),
    _Reference(
        "chunks of communities without a community", "community_chunk", "community", "community"
    ),
    _Reference("readings without a chunk", "chunk_reading", "chunk", "chunk"),
    _Reference("questions without a chunk", "question", "chunk", "chunk"),
    _Reference("descriptions without a chunk", "description", "chunk", "chunk"),
    _Reference(
        "summaries of entities without a description",
        *("entity_summary", "entity", "description", "entity"),
    ),
    _Reference("citations of reports without a chunk", "report_citation", "chunk", "chunk"),
    _Reference("citations without a report", "report_citation", "community", "report", "community"),
)


def _without_other(found: _Reference) -> str:
    exists = f"SELECT 1 FROM {found.other} o WHERE o.{found.other_column} = t.{found.column}"
    return f"SELECT count(*) FROM {found.table} t WHERE NOT EXISTS ({exists})"


MISSING_REFERENCES = {found.phrase: _without_other(found) for found in _REFERENCES}
"""Statements that count the rows without what they refer to, by what such rows are."""
