"""The rights that docs/postgresql.md grants are enough, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.service.serving import make_settings, open_client

from knotwork._extensions.agents.fact_memory import FACTS, FactMemory, RememberedFact
from knotwork._extensions.postgres.companions import PostgresCompanion
from knotwork._extensions.postgres.server_tables import ServerTables
from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.server.job_store import JOBS
from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._inference.call_cache import CALLS
from knotwork._stores.vectors import staged_name
from knotwork.errors import SchemaMismatch, StoreNotFound, StoreReadOnly

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


def test_a_writer_needs_no_more_for_calls_facts_jobs_and_tables(
    open_as: OpenAs, tmp_path: Path
) -> None:
    open_as("owner", create=True)
    writer, reader = open_as("writer"), open_as("reader", read_only=True)
    writer_read_only = open_as("writer", read_only=True)
    for store in (writer, writer_read_only):
        for companion in (CALLS, FACTS, JOBS):
            with closing(store.capabilities.companions.open(companion)) as opened:
                opened.check_writable()
    with closing(FactMemory(writer_read_only.capabilities.companions.open(FACTS))) as memory:
        memory.learn(RememberedFact("Ann", "lives in", "Oslo", "2024-01-01"))
    for companion in (CALLS, FACTS, JOBS):
        with pytest.raises(StoreReadOnly, match="may not write"):
            reader.capabilities.companions.open(companion)
    tables = [
        ServerTables(PostgresCompanion(store._database, "tables"), tmp_path / name)
        for name, store in (("writer", writer), ("reader", reader))
    ]
    with closing(tables[0]), closing(tables[1]):
        tables[0].put("sales", [("Amount", "integer")], [(1,)])
        assert tables[1].run("SELECT * FROM sales").rows == ((1,),)
        with pytest.raises(StoreReadOnly):
            tables[1].put("sales", [("Amount", "integer")], [(2,)])


def test_a_reader_serves_without_jobs(
    open_as: OpenAs, postgres_server: str, tmp_path: Path
) -> None:
    add_document(open_as("owner", create=True), "a.md", ["Ada"])
    url = postgres_server.replace("postgres@", "knotwork_reader@") + "&index=handbook"
    place = ServerConfig(tmp_path / "served.knot", make_settings(), read_only=True, url=url)
    with open_client(place) as client:
        assert client.get("/api/v1/workspaces/default/jobs").json()["data"] == []
        assert client.get("/api/v1/workspaces/default/usage").status_code == 200
        found = client.post("/api/v1/workspaces/default/search", json={"question": "Ada"})
        assert "a.md" in found.text
