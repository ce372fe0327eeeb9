"""Connections to a server: what is refused, lost, stopped and opened again, and how it is said."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Self

import psycopg
import pytest

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._config import StoreSettings
from knotwork._extensions.postgres.connection import read_address
from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import (
    ConfigError,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
    StoreUnavailable,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore.open(postgres_url, create=True)
    yield opened
    opened.close()


@pytest.fixture
def admin(postgres_server: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield connection


def cut_all(admin: psycopg.Connection) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND application_name = 'knotwork'"
    )


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("postgresql://ann:s3cret@db.example:5433/docs", "db.example:5433/docs?index=knotwork"),
        ("postgres://ann@db/docs?index=films&sslmode=verify-full", "db/docs?index=films"),
        ("postgresql:///d?host=/run/pg&password=s3cret&user=ann", "/d?host=/run/pg&index=knotwork"),
        ("postgresql://ann:s3%40cret@a:1,b:2/docs", "a:1,b:2/docs?index=knotwork"),
    ],
)  # fmt: skip
def test_a_label_has_neither_user_nor_password(url: str, label: str) -> None:
    address = read_address(url)
    assert address.label == f"postgresql://{label}"
    assert "s3cret" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3/cret@db/docs",
        "postgresql://ann:s3cret@db/docs?index=Films",
        "postgresql://ann:s3cret@db/docs?index=pg_films",
        "postgresql://ann:s3cret@db:port/docs?sslmode",
        "postgresql://ann:s3cret@[db/docs",
    ],
)
def test_an_invalid_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_address(url)
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_cannot_be_reached_is_reported(tmp_path) -> None:
    with pytest.raises(StoreUnavailable, match="index=knotwork") as caught:
        open_store(f"postgresql://ann:s3cret@/docs?host={tmp_path}")
    assert "s3cret" not in str(caught.value)


def test_a_missing_index_or_database_is_reported(postgres_url: str, postgres_server: str) -> None:
    with pytest.raises(StoreNotFound, match="no index"):
        open_store(postgres_url)
    with pytest.raises(StoreNotFound, match="no database"):
        open_store(postgres_server.replace("/postgres?", "/absent?"))


def test_a_database_without_pgvector_is_reported(
    admin: psycopg.Connection, postgres_server: str
) -> None:
    admin.execute("CREATE DATABASE without_vectors")
    try:
        with pytest.raises(StoreError, match="pgvector") as caught:
            open_store(postgres_server.replace("/postgres?", "/without_vectors?"), create=True)
        assert "CREATE EXTENSION vector" in caught.value.fix
    finally:
        admin.execute("DROP DATABASE without_vectors")


def test_other_schemas_and_later_versions_are_refused(
    admin: psycopg.Connection, postgres_url: str
) -> None:
    name = postgres_url.rpartition("=")[2]
    admin.execute(f"CREATE SCHEMA {name}")
    admin.execute(f"CREATE TABLE {name}.invoices (id int)")
    with pytest.raises(SchemaMismatch, match="not an index"):
        open_store(postgres_url, create=True)
    admin.execute(f"DROP TABLE {name}.invoices")
    open_store(postgres_url, create=True).close()
    admin.execute(f"INSERT INTO {name}.migration VALUES ('9999-later')")
    with pytest.raises(SchemaMismatch, match="later version"):
        open_store(postgres_url)
    admin.execute(f"DELETE FROM {name}.migration")
    admin.execute(f"INSERT INTO {name}.migration VALUES ('0006-blocks')")
    with pytest.raises(SchemaMismatch, match="before the first release"):
        open_store(postgres_url)


def test_many_processes_may_create_an_index_at_once(postgres_url: str) -> None:
    errors: list[Exception] = []

    def create() -> None:
        try:
            open_store(postgres_url, create=True).close()
        except Exception as error:  # noqa: BLE001  shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_read_only_store_refuses_to_write(store: PostgresStore, postgres_url: str) -> None:
    add_document(store, "a.md", ["Ada"])
    reader = PostgresStore.open(postgres_url, read_only=True)
    with pytest.raises(StoreReadOnly, match="reading only"):
        reader.set_meta({"a": "1"})
    assert reader.documents.document_count() == 1
    reader.close()
    with pytest.raises(StoreError, match="closed"):
        reader.documents.document_count()


def test_reads_go_on_after_their_connections_were_cut(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    add_document(store, "a.md", ["Ada"])
    cut_all(admin)
    assert store.documents.document_count() == 1
    cut_all(admin)
    with store.reading():
        assert store.graph.find(name="Ada")
    cut_all(admin)
    add_document(store, "b.md", ["Bob"])
    assert store.documents.document_count() == 2


def test_a_transaction_whose_connection_is_cut_is_rolled_back_and_said(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    def write_while_cut() -> None:
        with store.transaction():
            add_document(store, "a.md", ["Ada"])
            cut_all(admin)
            add_document(store, "b.md", ["Ada"])

    with pytest.raises(StoreUnavailable, match="rolled back"):
        write_while_cut()
    assert store.documents.document_count() == 0
    assert store.graph.find(name="Ada") == []
    add_document(store, "a.md", ["Ada"])
    assert store.graph.lookup(["ada"])["ada"].chunk_count == 1


def test_nothing_is_committed_after_an_error_that_was_ignored(store: PostgresStore) -> None:
    def go_on_regardless() -> None:
        with store.transaction():
            store.set_meta({"a": "1"})
            with suppress(StoreError):
                store._database.write("INSERT INTO meta (key) VALUES ('b')")

    with pytest.raises(StoreError, match="rolled back after an error"):
        go_on_regardless()
    assert dict(store.meta()) == {}


def test_another_writer_that_holds_the_lock_for_long_is_reported(
    store: PostgresStore, postgres_url: str
) -> None:
    impatient = PostgresStore.open(postgres_url, limits=StoreSettings(lock_timeout_s=0.2))
    with store.transaction():
        store.set_meta({"a": "1"})
        with ThreadOf(lambda: impatient.set_meta({"b": "2"})) as thread:
            thread.join()
        assert isinstance(thread.error, StoreBusy)
        assert "store.lock_timeout_s" in str(thread.error)
    impatient.set_meta({"b": "2"})
    assert dict(store.meta()) == {"a": "1", "b": "2"}
    impatient.close()


class ThreadOf(threading.Thread):
    """A thread that keeps the error of its function."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__()
        self._function = function
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self._function()
        except Exception as error:  # noqa: BLE001  looked at by the test
            self.error = error

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.join()


def test_a_statement_that_takes_too_long_is_stopped(postgres_url: str) -> None:
    limits = StoreSettings(statement_timeout_s=0.2)
    store = PostgresStore.open(postgres_url, create=True, limits=limits)
    with pytest.raises(StoreError, match="statement_timeout_s"):
        store._database.rows("SELECT pg_sleep(30)")
    assert store.documents.document_count() == 0
    store.close()


def test_cancelled_work_stops_its_running_statement(store: PostgresStore) -> None:
    cancellation = Cancellation()
    threading.Timer(0.3, cancellation.cancel).start()

    def wait_for_long() -> None:
        with store.transaction():
            store.set_meta({"a": "1"})
            store._database.rows("SELECT pg_sleep(60)")

    with cancellation.scope(), pytest.raises(Cancelled):
        wait_for_long()
    assert dict(store.meta()) == {}
    store.set_meta({"a": "2"})
    assert dict(store.meta()) == {"a": "2"}


def test_threads_share_a_small_pool(postgres_url: str) -> None:
    limits = StoreSettings(pool_size=2)
    store = PostgresStore.open(postgres_url, create=True, limits=limits)

    def write(number: int) -> None:
        add_document(store, f"{number}.md", ["Ada", f"Number {number}"])
        assert store.graph.find(name=f"Number {number}")

    threads = [ThreadOf(lambda n=number: write(n)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [thread.error for thread in threads] == [None] * 6
    assert store.graph.lookup(["ada"])["ada"].chunk_count == 6
    store.close()


def _count_in_child(store: Store, found: multiprocessing.Queue[int]) -> None:
    found.put(store.documents.document_count())


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_process_opens_connections_of_its_own(store: PostgresStore) -> None:
    add_document(store, "a.md", ["Ada"])
    context = multiprocessing.get_context("fork")
    found: multiprocessing.Queue[int] = context.Queue()
    with store.reading():
        child = context.Process(target=_count_in_child, args=(store, found))
        child.start()
        assert found.get(timeout=60) == 1
        child.join()
        assert store.documents.document_count() == 1
    add_document(store, "b.md", ["Bob"])
    assert store.documents.document_count() == 2


def test_totals_stay_exact_while_they_are_summed_up(store: PostgresStore) -> None:
    first = store.generation()
    for number in range(300):
        store.set_meta({"a": str(number)})
    assert store.generation() == first + 300
    ((rows,),) = store._database.rows("SELECT count(*) FROM total")
    assert rows < 300


def test_the_statements_of_a_block_are_collected(store: PostgresStore) -> None:
    with store.watched() as sent:
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
    assert sent[0].startswith("BEGIN")
    assert sent[-1] == "COMMIT"
    assert sum(sql.startswith("COPY mention") for sql in sent) == 1
    assert len(sent) < 80
    with store.watched() as read, store.reading():
        assert store.graph.find(name="Ada")
        assert store.generation() == store.generation()
    assert [sql.split()[0] for sql in read] == ["BEGIN", *["SELECT"] * (len(read) - 2), "COMMIT"]
    assert sum("FROM total" in sql for sql in read) == 1
    store.generation()
    assert len(sent) < 80


def test_a_transaction_that_was_idle_for_too_long_is_reported(
    store: PostgresStore, postgres_url: str
) -> None:
    limits = StoreSettings(idle_timeout_s=0.05)
    with closing(PostgresStore.open(postgres_url, limits=limits)) as impatient:

        def wait_while_reading() -> None:
            with impatient.reading():
                ((process,),) = impatient._database.rows("SELECT pg_backend_pid()")
                running = "SELECT 1 FROM pg_stat_activity WHERE pid = $1"
                while store._database.rows(running, (process,)):
                    pass
                impatient.documents.document_count()

        with pytest.raises(StoreUnavailable, match=r"store\.idle_timeout_s"):
            wait_while_reading()
        assert impatient.documents.document_count() == 0
