"""Tables beside an index answer by SQL, and nothing but reading them can be done."""

import pytest

from knotwork._extensions.queries.query_retrievers import TextToSqlRetriever
from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.tables.tables import add_tables
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._stores.urls import open_store
from knotwork.errors import KnotworkError, QueryRefused, QueryTimeout, UnknownName
from knotwork.records import Query

SALES = "Region,Amount,Day\nNorth,120,2024-01-02\nSouth,80,2024-01-03\nNorth,60,2024-02-01\n"


@pytest.fixture
def tables(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(SALES, "utf-8")
    file = TableFile(tmp_path / "tables")
    add_tables(file, path)
    return file


def ask(tables, question, model=None):
    store = open_store("memory:", create=True)
    retriever = TextToSqlRetriever(
        store=store, model=model, options=TextToSqlRetriever.Options(tables=tables.path)
    )
    return retriever.retrieve(Query(question))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the average amount in the North?", [(90.0,)]),
        ("How many sales were there in South?", [(1,)]),
        ("Which sales are in the South?", [("South", 80, "2024-01-03")]),
        ("What is the latest sale in the North?", [("North", 60, "2024-02-01")]),
    ],
)
def test_rules_ask_tables(tables, question, expected):
    evidence = ask(tables, question)
    assert list(evidence.results[0].rows) == expected, evidence.results[0].statement
    assert evidence.results[0].language == "sql"


def test_a_model_writes_sql_and_repairs_it(tables):
    replies = ["SELECT EXTRACT(YEAR FROM day) FROM sales", "SELECT sum(amount) FROM sales"]
    model = ScriptedChatModel(replies)
    evidence = ask(tables, "What is the sum of it all?", model)
    assert evidence.results[0].rows == ((260,),)
    assert "strftime" in model.requests[1].messages[-1].content


def test_no_tables_are_reported_and_text_is_searched():
    store = open_store("memory:", create=True)
    evidence = TextToSqlRetriever(store=store).retrieve(Query("How many?"))
    assert evidence.results == ()
    assert evidence.notes


HOSTILE = [
    "DROP TABLE sales",
    "DELETE FROM sales",
    "UPDATE sales SET amount = 0",
    "INSERT INTO sales VALUES (1, 2, 3)",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "ATTACH DATABASE '/tmp/x' AS x",
    "DETACH DATABASE main",
    "PRAGMA writable_schema = 1",
    "PRAGMA table_info(sales)",
    "VACUUM INTO '/tmp/x'",
    "SELECT 1; DROP TABLE sales",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'y')",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM knotwork_tables",
    "SELECT zeroblob(1000000000)",
    "SELECT randomblob(1000000000)",
    "SELECT hex(zeroblob(100000000))",
    "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a",
    "WITH a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT max(x) FROM a",
    "EXPLAIN SELECT 1",
    "BEGIN",
    "REPLACE INTO sales VALUES (1, 2, 3)",
    "REINDEX",
    "ANALYZE",
    "SELECT format('%1000000000s', 'x')",
    "/* SELECT */ DROP TABLE sales",
    "SELECT 'a' -- \n; DROP TABLE sales",
    "WITH x AS (SELECT 1) DELETE FROM sales",
    "SELECT * FROM json_each('[1]')",
    "SELECT sqlite_version()",
    "SELECT \x00 1",
]


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_hostile_statement_changes_nothing(tables, statement):
    before = tables.path.read_bytes()
    with pytest.raises(KnotworkError):
        tables.run(statement, timeout_s=0.5)
    assert tables.path.read_bytes() == before


def test_parameters_are_values(tables):
    found = tables.run("SELECT * FROM sales WHERE region = $r", {"r": "x' OR 1 = 1 --"})
    assert found.rows == ()
    assert found.columns == ("region", "amount", "day")


def test_rows_and_time_have_limits(tables):
    found = tables.run("SELECT a.amount FROM sales a, sales b", row_limit=4)
    assert len(found.rows) == 4
    assert found.truncated
    many = ", ".join(f"sales s{n}" for n in range(30))
    with pytest.raises(QueryTimeout):
        tables.run(f"SELECT count(*) FROM {many}", timeout_s=0.05)


def test_an_exact_row_limit_is_not_cut(tables):
    assert not tables.run("SELECT * FROM sales", row_limit=3).truncated


def test_a_table_is_replaced_and_removed(tables):
    tables.put("sales", [("a", "integer")], [(1,)])
    assert [shape.rows for shape in tables.tables()] == [1]
    tables.remove("sales")
    assert tables.tables() == []
    with pytest.raises(UnknownName):
        tables.remove("sales")


def test_joins_are_found_between_a_key_and_what_names_it(tmp_path):
    file = TableFile(tmp_path / "tables")
    file.put("city", [("id", "integer"), ("name", "text")], [(1, "Oslo"), (2, "Turku")])
    rows = [("Ann", 1), ("Ben", 2), ("Cy", 1)]
    file.put("person", [("name", "text"), ("city_id", "integer")], rows)
    evidence = ask(file, "How many persons are in the city Oslo?")
    assert evidence.results[0].rows == ((2,),), evidence.results[0].statement


def test_a_refusal_says_what_would_be_used(tables):
    with pytest.raises(QueryRefused, match="sqlite_master"):
        tables.run("SELECT * FROM sqlite_master")
