"""Index files as earlier versions left them: the later migrations are undone."""

from __future__ import annotations

from pathlib import Path

from tests.stores.raw_files import opened

from knotwork._sqlite_file import PAGE_CHECKSUMS
from knotwork._stores.embedded.schema import MIGRATIONS

UNDO = {
    "0003-readings": (
        "DROP TABLE chunk_reading; DROP TABLE description; DROP TABLE entity_summary;"
    ),
    "0004-resolutions": "DROP TABLE same_as; DROP TABLE touched_entity;",
    "0005-homonyms": "DROP TABLE homonym; DROP TABLE sense;",
    "0006-property-graphs": (
        "DROP TABLE property_graph; DROP TABLE property_node; DROP TABLE property_relationship;"
    ),
    "0007-replaced-vectors": "ALTER TABLE vector_index DROP COLUMN replaced;",
    "0015-blocks": "ALTER TABLE chunk RENAME COLUMN blocks TO frames;",
    "0008-frames": "ALTER TABLE chunk DROP COLUMN frames;",
    "0009-fields": "DROP TABLE document_field; DROP TABLE document_page;",
    "0010-questions": "DROP TABLE question;",
    "0011-repeated-lines": (
        "ALTER TABLE ledger DROP COLUMN edge_keys; ALTER TABLE ledger DROP COLUMN repeated;"
    ),
    "0014-text-pages": "".join(
        f"DROP TABLE IF EXISTS text_{name}_{part};"
        for name in ("chunk", "entity", "question", "report")
        for part in ("page", "posting", "change")
    ),
    "0013-vector-codes": (
        "ALTER TABLE vector_index DROP COLUMN coded; ALTER TABLE vector_index DROP COLUMN center;"
        " DROP TABLE vector_code;"
    ),
    "0012-file-changes": (
        "ALTER TABLE ledger DROP COLUMN changed_ns; ALTER TABLE ledger DROP COLUMN checked_ns;"
        " ALTER TABLE ledger DROP COLUMN digest;"
    ),
}


def undo_migrations(path: Path, *, since: str) -> None:
    """Take an index file back to before a migration, named by its number."""
    connection = opened(path)
    connection.execute("DELETE FROM migration WHERE name = ?", (PAGE_CHECKSUMS,))
    connection.pragma("user_version", 0)
    for migration in reversed(MIGRATIONS):
        if migration.name >= since:
            connection.execute(UNDO[migration.name])
            connection.execute("DELETE FROM migration WHERE name = ?", (migration.name,))
    recorded = [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY name")]
    assert recorded == [one.name for one in MIGRATIONS if one.name < since]
    connection.close()
