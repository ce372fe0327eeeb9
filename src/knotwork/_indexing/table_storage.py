"""Store the tables of documents and files beside an index, for SQL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from knotwork._indexing.loaders import load_file
from knotwork._stores.base import Store
from knotwork._stores.table_file import TableFile, TableShape, tables_path
from knotwork.errors import LoadError
from knotwork.records import Document, Table

SUFFIXES = (".csv", ".tsv", ".xlsx", ".xlsm")


def add_tables(tables: TableFile, path: Path) -> list[TableShape]:
    """Store all tables of a file beside an index, each under its file's or sheet's name.

    Raises LoadError for a file without a table, StoreError if they cannot be stored.
    """
    if path.suffix.lower() not in SUFFIXES:
        valid = ", ".join(SUFFIXES)
        raise LoadError(
            "not a table",
            f"`{path}` is not a table file.",
            fix=f"Supported suffixes are {valid}.",
        )
    found = _named_tables(load_file(path, uri=str(path)))
    if not found:
        raise LoadError(
            "empty",
            f"`{path}` has no row below a header.",
            fix="Check that the first row names the columns.",
        )
    return [tables.put_table(name, table, source=str(path)) for name, table in found]


def put_tables(store: Store, documents: Sequence[Document]) -> None:
    """Store the tables of documents beside an index, and replace earlier ones.

    Call this before the documents are committed: after an interruption in between, the next run
    does it again, and until then `TableShape.revision` differs from that of the document.
    """
    path = tables_path(store.url)
    if path is None:
        return
    tables = TableFile(path)
    for document in documents:
        if document.tables or tables.holds(document.uri):
            tables.put_document(document.uri, document.revision, _named_tables(document))


def drop_tables(store: Store, uris: Sequence[str]) -> None:
    """Remove the tables of documents that are no longer in an index."""
    path = tables_path(store.url)
    if path is not None and path.exists():
        TableFile(path).remove_documents(uris)


def _named_tables(document: Document) -> list[tuple[str, Table]]:
    """Return the tables of a document, named by the file and, if it has several, by the sheet."""
    stem = Path(document.uri.rpartition("/")[2]).stem
    single = len(document.tables) == 1
    return [(stem if single else f"{stem} {table.name}", table) for table in document.tables]
