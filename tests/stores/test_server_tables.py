"""Tables of an index on a server are queried in a copy, which follows the server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import knotwork
from knotwork._extensions.postgres.companions import PostgresCompanion
from knotwork._extensions.postgres.server_tables import ServerTables
from knotwork._extensions.postgres.store import PostgresStore
from knotwork.errors import StoreError, StoreReadOnly, UnknownName

COLUMNS = [("Region", "text"), ("Amount", "integer"), ("Share", "number")]
ROWS = [("North", 120, 0.1), ("Süd 说\x00", 2**53 + 1, None), (None, -1, 1e-9)]
ALL = "SELECT rowid, * FROM sales ORDER BY rowid"


@pytest.fixture
def store(postgres_url: str):
    with closing(PostgresStore.open(postgres_url, create=True)) as opened:
        yield opened


def open_copy(store: PostgresStore, folder: Path) -> ServerTables:
    """Return the tables as another machine has them."""
    return ServerTables(PostgresCompanion(store._database, "tables"), folder)


def test_one_machine_reads_what_another_wrote(store: PostgresStore, tmp_path: Path) -> None:
    with (
        closing(open_copy(store, tmp_path / "here")) as one,
        closing(open_copy(store, tmp_path / "there")) as other,
    ):
        assert not other.exists()
        assert other.tables() == []
        assert not (tmp_path / "there").exists(), "there is nothing to copy"
        shape = one.put("sales", COLUMNS, ROWS, source="sales.csv")
        assert other.exists()
        assert other.tables() == [shape]
        assert other.run(ALL).rows == one.run(ALL).rows
        assert other.find_values(["north"]) == {"north": [("sales", "region", "North")]}
        before = other.generation()
        assert other.generation() == before
        other.put("sales", COLUMNS, ROWS[:1], source="sales.csv")
        other.put("prices", [("Item", "text")], [("Lamp",)])
        assert one.run(ALL).rows == ((1, "North", 120, 0.1),)
        assert [table.name for table in one.tables()] == ["prices", "sales"]
        assert one.generation() != before
        one.remove("sales")
        assert [table.name for table in other.tables()] == ["prices"]
        assert other.find_values(["north"]) == {}
        with pytest.raises(UnknownName):
            other.remove("sales")


@pytest.mark.parametrize("harm", ["deleted", "damaged", "not a table file"])
def test_the_copy_is_made_again(store: PostgresStore, tmp_path: Path, harm: str) -> None:
    with closing(open_copy(store, tmp_path)) as tables:
        tables.put("sales", COLUMNS, ROWS)
        rows = tables.run(ALL).rows
        if harm == "deleted":
            tables.path.unlink()
        elif harm == "damaged":
            data = bytearray(tables.path.read_bytes())
            data[4_000:] = bytes(255 - byte for byte in data[4_000:])
            tables.path.write_bytes(data)
        else:
            tables.path.write_bytes(b"my shopping list" * 100)
        assert tables.run(ALL).rows == rows


def test_a_write_that_fails_changes_neither(store: PostgresStore, tmp_path: Path) -> None:
    def break_off():
        yield ("East", 1, 0.5)
        raise StoreError("no more")

    with closing(open_copy(store, tmp_path)) as tables:
        tables.put("sales", COLUMNS, ROWS)
        rows = tables.run(ALL).rows
        with pytest.raises(StoreError, match="no more"):
            tables.put("sales", COLUMNS, break_off())
        assert tables.run(ALL).rows == rows
        with closing(open_copy(store, tmp_path / "there")) as other:
            assert other.run(ALL).rows == rows


def test_a_copy_that_is_ahead_of_the_server_is_read_again(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between the two commits."""
    with closing(open_copy(store, tmp_path)) as tables:
        tables.put("sales", COLUMNS, ROWS)
        copied = tables.path.read_bytes()
        tables.put("sales", COLUMNS, ROWS[:1])
        ahead = tables.path.read_bytes()
        tables.put("sales", COLUMNS, ROWS[1:2])
        for state in (copied, ahead):
            tables.path.write_bytes(state)
            assert [row[1] for row in tables.run(ALL).rows] == [ROWS[1][0]]


def test_a_cache_folder_that_cannot_be_made_is_no_error(
    store: PostgresStore, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with closing(open_copy(store, tmp_path / "file" / "folder")) as tables:
        tables.put("sales", COLUMNS, ROWS)
        assert len(tables.run(ALL).rows) == 3
        assert not tables.path.is_relative_to(tmp_path)


def test_a_question_is_answered_by_the_rows(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "sales.csv").write_text("Region,Amount\nNorth,120\nSouth,80\n", encoding="utf-8")
    with knotwork.open(postgres_url, embedding_model="none") as base:
        assert base.index(folder).notes == ()
        assert base.ask("What is the total amount of sales?").text.startswith("200 ")
        assert base.tables.query("SELECT count(*) FROM sales").rows == ((2,),)
    with knotwork.open(postgres_url, embedding_model="none", read_only=True) as base:
        assert base.ask("What is the total amount of sales?").text.startswith("200 ")
        with pytest.raises(StoreReadOnly):
            base.tables.add(folder / "sales.csv")
