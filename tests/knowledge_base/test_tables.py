"""`kb.tables`: tables of indexed and added files, read by guarded SQL."""

import asyncio

import pytest

import knotwork
from knotwork.errors import (
    ConfigError,
    LoadError,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    StoreNotFound,
    StoreReadOnly,
    UnknownName,
)

SALES = "city,day,amount\nLund,2023-05-03,40\nYstad,2023-05-04,2.5\nLund,2024-01-01,7\n"


@pytest.fixture
def kb(tmp_path):
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as kb:
        yield kb


@pytest.fixture
def sales(kb, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(SALES, "utf-8")
    kb.tables.add(path)
    return kb.tables


def test_added_tables_are_listed_with_their_columns(sales, tmp_path):
    (table,) = sales.list()
    assert (table.name, table.rows) == ("sales", 3)
    assert table.columns == (("city", "text"), ("day", "date"), ("amount", "number"))
    (tmp_path / "prices.tsv").write_text("item\tprice\nrope\t3\n", "utf-8")
    added = sales.add([tmp_path / "prices.tsv", str(tmp_path / "sales.csv")])
    assert [shape.name for shape in added] == ["prices", "sales"]
    assert [shape.name for shape in sales.list()] == ["prices", "sales"]


def test_the_tables_of_indexed_documents_are_there_without_being_added(kb, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "sales.csv").write_text(SALES, "utf-8")
    assert kb.tables.list() == []
    kb.index(folder)
    (table,) = kb.tables.list()
    assert table.document == "docs/sales.csv"
    assert kb.tables.query("SELECT count(*) FROM sales").rows == ((3,),)
    kb.delete("docs/sales.csv")
    assert kb.tables.list() == []


def test_parameters_are_a_mapping_or_names_and_never_part_of_the_statement(sales):
    statement = "SELECT sum(amount) AS total FROM sales WHERE city = $city AND amount > $least"
    result = sales.query(statement, {"city": "nowhere", "least": 1}, city="Lund")
    assert (result.columns, result.rows) == (("total",), ((47.0,),))
    assert sales.query("SELECT city FROM sales WHERE city = $self", self="Ystad").rows
    hostile = sales.query("SELECT count(*) FROM sales WHERE city = $c", c="x' OR '1'='1")
    assert hostile.rows == ((0,),)


def test_no_more_rows_are_returned_than_asked_for(sales):
    result = sales.query("SELECT * FROM sales", row_limit=2)
    assert (len(result.rows), result.truncated) == (2, True)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM sales",
        "DROP TABLE sales",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version",
        "SELECT 1; SELECT 2",
        "SELECT * FROM knotwork_tables",
        "SELECT * FROM sqlite_schema",
        "SELECT load_extension('x')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
    ],
)
def test_a_statement_that_does_more_than_read_these_tables_is_refused(sales, statement):
    with pytest.raises(QueryRefused):
        sales.query(statement)
    assert sales.list()[0].rows == 3


def test_a_slow_statement_ends_in_time(sales, tmp_path):
    numbers = tmp_path / "numbers.csv"
    rows = "".join(f"{n},x\n" for n in range(3_000))
    numbers.write_text(f"n,name\n{rows}", "utf-8")
    sales.add(numbers)
    with pytest.raises(QueryTimeout):
        sales.query("SELECT count(*) FROM numbers a, numbers b, numbers c", timeout_s=0.1)


def test_mistakes_name_what_is_wrong(sales, tmp_path):
    with pytest.raises(QuerySyntaxError):
        sales.query("SELECT FROM")
    with pytest.raises(UnknownName, match="sale"):
        sales.remove("sale")
    with pytest.raises(LoadError, match=r"notes\.txt"):
        sales.add(tmp_path / "notes.txt")
    sales.remove("sales")
    with pytest.raises(StoreNotFound, match="no tables") as caught:
        sales.query("SELECT 1")
    assert "kb.tables.add" in caught.value.fix


def test_an_index_in_memory_has_no_tables_beside_it():
    with knotwork.open("memory:", embedding_model="none") as kb:
        for call in (kb.tables.list, lambda: kb.tables.query("SELECT 1")):
            with pytest.raises(ConfigError, match="no place for tables"):
                call()


def test_tables_of_an_index_that_is_only_read_can_be_queried_but_not_changed(sales, tmp_path):
    with knotwork.open(tmp_path / "index.knot", read_only=True, embedding_model="none") as kb:
        assert kb.tables.query("SELECT count(*) FROM sales").rows == ((3,),)
        with pytest.raises(StoreReadOnly):
            kb.tables.add(tmp_path / "sales.csv")
        with pytest.raises(StoreReadOnly):
            kb.tables.remove("sales")
        assert len(kb.tables.list()) == 1


def test_they_are_queried_beside_an_event_loop_as_well(sales, kb):
    async def query():
        many = knotwork.AsyncKnowledgeBase(kb)
        assert await many.tables.list() == sales.list()
        return await many.tables.query("SELECT max(day) FROM sales WHERE city = $c", c="Lund")

    assert asyncio.run(query()).rows == (("2024-01-01",),)


@pytest.mark.parametrize(
    ("question", "short", "row"),
    [
        ("What is the deposit of the minibus?", "300", "| Minibus | 16 | 300 |"),
        ("Which van has the highest deposit?", "", "| Minibus | 16 | 300 |"),
    ],
)
def test_a_single_row_is_answered_below_its_header(kb, tmp_path, question, short, row):
    vans = "Van,Seats,Deposit\nSmall van,2,100\nLong wheelbase van,3,200\nMinibus,16,300\n"
    (tmp_path / "vans.csv").write_text(vans, "utf-8")
    kb.index(tmp_path / "vans.csv")
    answer = kb.ask(question)
    assert answer.text == f"| Van | Seats | Deposit |\n| --- | --- | --- |\n{row}\n\n[1]"
    assert (answer.short, answer.citations[0].quote) == (short, row)
