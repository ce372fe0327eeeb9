"""The statements that SQL databases share: their parameters, and how SQLite runs them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import apsw
import pytest

from knotwork._stores import sql
from knotwork._stores.embedded.database import SQLITE, Database
from knotwork._stores.sql.database import Dialect, insert, insert_new, upsert


def statements(dialect: Dialect = SQLITE) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every statement of the shared parts in one dialect."""
    for found in iter_modules(sql.__path__):
        module = import_module(f"{sql.__name__}.{found.name}")
        for name, owner in inspect.getmembers(module, inspect.isclass):
            if name.endswith("Statements") and owner.__module__ == module.__name__:
                yield from _statements_of(name, owner, dialect)


def _statements_of(owner_name: str, owner: type, dialect: Dialect) -> Iterator[tuple[str, str]]:
    has_dialect = "__init__" in vars(owner)
    values = vars(owner(dialect)) if has_dialect else vars(owner)
    for name, value in values.items():
        if name.startswith("_"):
            continue
        if isinstance(value, str):
            yield f"{owner_name}.{name}", value
        elif isinstance(value, Mapping):
            for key, statement in value.items():
                yield f"{owner_name}.{name}[{_label(key)}]", statement


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
    assert "CommunityStatements" in owners


@pytest.mark.parametrize("name", ALL)
def test_parameters_first_appear_in_ascending_order(name: str) -> None:
    found = parameters(ALL[name])
    assert found == list(range(1, len(found) + 1))
    assert "?" not in ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_sqlite_prepares_every_statement(connection: apsw.Connection, name: str) -> None:
    plan(connection, ALL[name])


@pytest.mark.parametrize("name", [name for name, text in ALL.items() if "json_each" in text])
def test_a_statement_about_many_keys_reads_no_whole_table(
    connection: apsw.Connection, name: str
) -> None:
    scans = [step for step in plan(connection, ALL[name]) if step.startswith("SCAN ")]
    assert scans
    assert all(re.match(r"SCAN (json_each\b|\(subquery-)", step) for step in scans), scans


def test_lists_keep_the_places_of_their_values(connection: apsw.Connection) -> None:
    keys = f"SELECT j.place, j.value FROM {SQLITE.keys('$1')} ORDER BY j.place"
    assert connection.execute(keys, [SQLITE.bind_keys([7, -1, 1 << 62])]).fetchall() == [
        (0, 7),
        (1, -1),
        (2, 1 << 62),
    ]
    texts = f"SELECT j.value, j.place FROM {SQLITE.texts('$1')} ORDER BY j.place"
    given = ["a'b", "", "文"]
    assert connection.execute(texts, [SQLITE.bind_texts(given)]).fetchall() == [
        (text, place) for place, text in enumerate(given)
    ]
    rows = f"SELECT j.place, j.a + 0, j.b FROM {SQLITE.rows('$1', 'a', 'b')} ORDER BY j.place"
    assert connection.execute(rows, [SQLITE.bind_rows([(3, 4), (1, 2)])]).fetchall() == [
        (0, 3, 4),
        (1, 1, 2),
    ]


def test_rows_are_joined_in_order_and_without_loss(connection: apsw.Connection) -> None:
    connection.execute("CREATE TEMP TABLE weighted (owner INTEGER, item INTEGER, weight REAL)")
    weights = {1: 0.1, 1 << 62: 1 / 3, 2: 5e-324, 3: 123456789.123456789}
    connection.executemany("INSERT INTO weighted VALUES (7, ?, ?)", list(weights.items()))
    text = SQLITE.joined(
        "SELECT item, weight FROM weighted WHERE owner = j.value ORDER BY weight DESC LIMIT $1",
        item="id",
        weight="real",
    )
    sql = f"SELECT j.value, {text} FROM {SQLITE.keys('$2')} ORDER BY j.place"
    rows = dict(connection.execute(sql, (3, SQLITE.bind_keys([7, 8]))).fetchall())
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
