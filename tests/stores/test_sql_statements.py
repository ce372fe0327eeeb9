"""The statements that SQL databases share: their parameters, and how SQLite runs them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import apsw
import pytest

from knotwork._extensions.filters import sql_fields
from knotwork._extensions.upkeep import contents
from knotwork._stores import sql
from knotwork._stores.embedded.database import Database, sqlite_text
from knotwork._stores.sql.database import insert, insert_new, upsert

_IS_STATEMENT = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")


def statements(rephrased: Callable[[str], str] = sqlite_text) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every statement of the shared parts in the words of an engine."""
    shared = (import_module(f"{sql.__name__}.{found.name}") for found in iter_modules(sql.__path__))
    for module in (*shared, sql_fields, contents):
        owners = {module.__name__.rpartition(".")[2]: module} | {
            name: owner
            for name, owner in inspect.getmembers(module, inspect.isclass)
            if owner.__module__ == module.__name__
        }
        for owner_name, owner in owners.items():
            for name, value in vars(owner).items():
                if re.fullmatch(r"_?[A-Z][A-Z_]+", name) and name not in ("_ABSENT", "_NEXT"):
                    yield from (
                        (key, rephrased(text))
                        for key, text in _statements_in(f"{owner_name}.{name}", value)
                    )


def _statements_in(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if _IS_STATEMENT.match(value) and "{" not in value:
            yield name, value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from _statements_in(f"{name}[{_label(key)}]", held)
    elif isinstance(value, tuple):
        for number, held in enumerate(value):
            yield from _statements_in(f"{name}[{number}]", held)


def _label(key: object) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    names = ["+".join(sorted(part)) if isinstance(part, frozenset) else str(part) for part in parts]
    return " ".join(names)


ALL = dict(statements())


def parameters(statement: str) -> list[int]:
    """Return the numbers of the parameters of a statement in the order of first appearance."""
    return list(dict.fromkeys(map(int, re.findall(r"\$(\d+)", statement))))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("index") / "empty.knot"
    database = Database(path, read_only=False, create=True, busy_timeout_s=1)
    yield database.connection()
    database.close()


def plan(connection: apsw.Connection, statement: str) -> list[str]:
    bindings = ["[1]"] * len(parameters(statement))
    return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]


def test_every_shared_part_has_statements() -> None:
    owners = {name.partition(".")[0] for name in ALL}
    assert len(owners) >= 9
    assert {"SqlCommunities", "documents", "graph"} < owners
    assert len(ALL) > 110


@pytest.mark.parametrize("name", ALL)
def test_parameters_first_appear_in_ascending_order(name: str) -> None:
    found = parameters(ALL[name])
    assert found == list(range(1, len(found) + 1))
    assert "?" not in ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_sqlite_prepares_every_statement(connection: apsw.Connection, name: str) -> None:
    plan(connection, ALL[name])


@pytest.mark.parametrize(
    "name",  # a summary scans its own subqueries
    [name for name, text in ALL.items() if "json_each" in text and "_SUMMARY_AMONG" not in name],
)
def test_a_statement_about_many_keys_reads_no_whole_table(
    connection: apsw.Connection, name: str
) -> None:
    scans = [step for step in plan(connection, ALL[name]) if step.startswith("SCAN ")]
    assert scans
    assert all(re.match(r"SCAN (json_each\b|\(subquery-)", step) for step in scans), scans


@pytest.mark.parametrize("name", [name for name in ALL if "._STRONGEST" in name])
def test_the_strongest_edges_are_read_in_the_order_of_an_index(
    connection: apsw.Connection, name: str
) -> None:
    steps = plan(connection, ALL[name])
    assert any(re.match(r"SEARCH e USING COVERING INDEX edge_(out|in)\b", step) for step in steps)
    assert not [step for step in steps if "TEMP B-TREE" in step], steps


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path: Path = tmp_path_factory.mktemp("index") / "lists.knot"
    opened = Database(path, read_only=False, create=True, busy_timeout_s=1)
    yield opened
    opened.close()


def test_lists_keep_the_places_of_their_values(database: Database) -> None:
    keys = "SELECT j.place, j.value FROM keys($1) ORDER BY j.place"
    assert database.rows(keys, [[7, -1, 1 << 62]]) == [(0, 7), (1, -1), (2, 1 << 62)]
    texts = "SELECT j.value, j.place FROM texts($1) ORDER BY j.place"
    given = ["a'b", "", "文"]
    assert database.rows(texts, [given]) == [(text, place) for place, text in enumerate(given)]
    rows = "SELECT j.place, j.a + 0, j.b FROM rows($1, a, b) ORDER BY j.place"
    assert database.rows(rows, [[(3, 4), (1, 2)]]) == [(0, 3, 4), (1, 1, 2)]


def test_rows_are_joined_in_order_and_without_loss(database: Database) -> None:
    connection = database.connection()
    connection.execute("CREATE TEMP TABLE weighted (owner INTEGER, item INTEGER, weight REAL)")
    weights = {1: 0.1, 1 << 62: 1 / 3, 2: 5e-324, 3: 123456789.123456789}
    connection.executemany("INSERT INTO weighted VALUES (7, ?, ?)", list(weights.items()))
    text = """joined[
        SELECT item, weight FROM weighted WHERE owner = j.value ORDER BY weight DESC LIMIT $1
    | id item, real weight]"""
    sql = f"SELECT j.value, {text} FROM keys($2) ORDER BY j.place"
    rows = dict(database.rows(sql, (3, [7, 8])))
    assert rows[8] is None
    words = str(rows[7]).split()
    assert [int(word, 16) for word in words[::2]] == [3, 1 << 62, 1]
    assert [float(word) for word in words[1::2]] == [weights[3], weights[1 << 62], weights[1]]


def test_common_writes_add_replace_and_keep_rows(connection: apsw.Connection) -> None:
    connection.execute("CREATE TEMP TABLE kept (a INTEGER, b INTEGER, c TEXT, PRIMARY KEY (a, b))")
    columns = ("a", "b", "c")
    connection.execute(insert("kept", *columns), (1, 1, "first"))
    connection.execute(insert_new("kept", *columns), (1, 1, "second"))
    connection.execute(insert_new("kept", *columns), (1, 2, "third"))
    connection.execute(upsert("kept", *columns, key=["a", "b"]), (1, 2, "fourth"))
    connection.execute(upsert("kept", *columns, key=["a", "b"]), (2, 1, "fifth"))
    assert connection.execute("SELECT * FROM kept ORDER BY a, b").fetchall() == [
        (1, 1, "first"),
        (1, 2, "fourth"),
        (2, 1, "fifth"),
    ]
    with pytest.raises(apsw.ConstraintError):
        connection.execute(insert("kept", *columns), (1, 1, "again"))
