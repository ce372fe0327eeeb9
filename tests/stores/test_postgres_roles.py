"""The rights that docs/postgresql.md grants are enough, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from knotwork._stores.postgres import PostgresStore
from knotwork._stores.vectors import staged_name
from knotwork.errors import SchemaMismatch, StoreNotFound, StoreReadOnly
from knotwork.testing._store_contract import add_document, snapshot

pytestmark = pytest.mark.slow

_DOCUMENTATION = Path(__file__).parents[2] / "docs" / "postgresql.md"
_ROLES = "knotwork_owner", "knotwork_writer", "knotwork_reader"

OpenAs = Callable[..., PostgresStore]


@pytest.fixture
def open_as(postgres_server: str) -> Iterator[OpenAs]:
    (grants,) = re.findall(
        r"```sql\n(.*?)```", _DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL
    )
    opened: list[PostgresStore] = []

    def open_index(role: str, **options: bool) -> PostgresStore:
        url = postgres_server.replace("postgres@", f"knotwork_{role}@") + "&index=handbook"
        opened.append(PostgresStore.open(url, **options))
        return opened[-1]

    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(grants)
        try:
            yield open_index
        finally:
            for store in opened:
                store.close()
            admin.execute("DROP SCHEMA handbook CASCADE")
            for role in _ROLES:
                admin.execute(f"DROP OWNED BY {role}")
                admin.execute(f"DROP ROLE {role}")


def test_a_writer_writes_what_a_reader_reads(open_as: OpenAs) -> None:
    with pytest.raises(StoreNotFound):
        open_as("owner")
    open_as("owner", create=True)
    writer, reader = open_as("writer"), open_as("reader", read_only=True)
    add_document(writer, "a.md", ["Ada", "Bob"], link=True)
    gone = add_document(writer, "b.md", ["Ada", "Cy"], link=True)
    writer.remove_documents([gone])
    assert snapshot(reader) == snapshot(writer)
    assert reader.documents.document_count() == 1


def test_a_reader_writes_nothing(open_as: OpenAs) -> None:
    open_as("owner", create=True)
    reader = open_as("reader")
    with pytest.raises(StoreReadOnly, match="lacks a right"):
        add_document(reader, "a.md", ["Ada"])
    assert reader.documents.document_count() == 0


def test_only_the_owner_changes_tables(open_as: OpenAs) -> None:
    with pytest.raises(SchemaMismatch, match="user that owns"):
        open_as("writer", create=True)
    owner, writer = open_as("owner", create=True), open_as("writer")
    add_document(writer, "a.md", ["Ada"])
    with pytest.raises(StoreReadOnly, match="lacks a right"):
        writer.clear_vectors("chunk")
    owner.clear_vectors("chunk")
    assert writer.vectors("chunk").count() == 0
    add_document(writer, "b.md", ["Bob"])
    owner.replace_vectors("entity", staged_name("entity"))
    add_document(writer, "c.md", ["Cy"])
    assert writer.vectors("entity").count() == 1
