"""The rows that hold the fields and pages of documents, for writing them and for migrating."""

from __future__ import annotations

import json
from collections.abc import Mapping

import apsw

from knotwork.records import Document
from knotwork.stores.embedded.packing import unpack_outline, unpack_text
from knotwork.stores.fields import metadata_fields, page_spans

PUT_FIELD = "INSERT OR IGNORE INTO document_field VALUES (?, ?, ?)"
PUT_PAGE = "INSERT OR IGNORE INTO document_page VALUES (?, ?, ?, ?)"


def field_rows(key: int, metadata: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Return the rows of a document's fields, for `PUT_FIELD`."""
    found = metadata_fields(metadata)
    return [(name, value, key) for name, values in found.items() for value in values]


def page_rows(key: int, document: Document) -> list[tuple[str, int, int, int]]:
    """Return the rows of a document's pages, for `PUT_PAGE`."""
    return [(page.label, key, page.start, page.end) for page in page_spans(document)]


def fill_fields(connection: apsw.Connection) -> None:
    """Write the fields and pages of all documents of an index that was made without them."""
    for (key,) in connection.execute("SELECT id FROM document").fetchall():
        assert isinstance(key, int)
        sql = "SELECT metadata, outline, text FROM document WHERE id = ?"
        ((metadata, outline, text),) = connection.execute(sql, (key,))
        _, pages, _ = unpack_outline(outline)
        document = Document("", unpack_text(text) if pages else "", pages=pages)
        connection.executemany(PUT_FIELD, field_rows(key, json.loads(metadata)))
        connection.executemany(PUT_PAGE, page_rows(key, document))
