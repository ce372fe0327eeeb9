"""Questions that are surely about a table are answered by its rows, and no others."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import knotwork
from knotwork._extensions.queries.table_rows import TableRows
from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._stores.base import tables_path
from knotwork.records import Document

pytestmark = pytest.mark.slow


ORDERS = [
    (1, "2022-11-30", "Acme", "Berlin", "Desk Lamp", 2, "1,250.50"),
    (2, "2023-01-15", "Globex", "Berlin", "Monitor", 1, "300.00"),
    (3, "2023-06-01", "Acme", "Paris", "Monitor", 3, "900.25"),
    (4, "2023-12-31", "Acme", "Berlin", "Keyboard", 5, "150.00"),
    (5, "2024-02-01", "Initech", "New York", "Monitor", 2, "600.00"),
]
HEADER = ("Order ID", "Order Date", "Customer", "City", "Product", "Quantity", "Amount")
STAFF = "Name,Department,Salary\nAda Li,Sales,50000\nBen Roe,Sales,65000\nCy Poe,Support,65000\n"
PRODUCTS = "Product,Unit price (EUR),Category\nDesk Lamp,49.50,Light\nMonitor,300,Screens\n"
CHINESE = (
    "订单号,日期,城市,金额\n1,2023-01-05,北京,100.5\n2,2023-03-05,上海,200\n3,2024-01-05,北京,300\n"
)
TEXT = "The highest allowance is 80 euros. Staff in Sales may fly. Berlin has an office."


def write_csv(rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    files = {
        "orders.csv": write_csv([HEADER, *ORDERS]),
        "employees.csv": STAFF,
        "products.csv": PRODUCTS,
        "订单.csv": CHINESE,
        "policy.txt": TEXT,
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    path = tmp_path_factory.mktemp("index") / "index.knot"
    with knotwork.open(path, embedding_model="none", index_workers=0) as opened:
        opened.index(folder)
        yield opened


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the total amount of orders from Berlin in 2023?", [(450.0,)]),
        ("How many employees are in Sales?", [(2,)]),
        ("Which product has the highest price?", [("Monitor", 300.0)]),
        ("What is the cheapest product?", [("Desk Lamp", 49.5)]),
        ("What is the unit price of Desk Lamp?", [(49.5,)]),
        ("How many orders were placed between January 2023 and June 2023?", [(2,)]),
        ("How many orders from Berlin or Paris since 2023?", [(3,)]),
        ("How many orders from Berlin in 2019?", [(0,)]),
        ("What is the total amount of orders not from Berlin?", [(1500.25,)]),
        ("What is the total amount of orders except Berlin?", [(1500.25,)]),
        ("Which city has the most orders?", [("Berlin", 3)]),
        ("Which customer has the highest total amount?", [("Acme", 2300.75)]),
        ("What is the average salary in Sales?", [(57500.0,)]),
        ("What is the highest salary?", [(65000,)]),
        ("What is the total amount?", [(3200.75,)]),
        ("Who has the highest salary?", [("Ben Roe", 65000), ("Cy Poe", 65000)]),
        ("Which employee has the highest salary?", [("Ben Roe",), ("Cy Poe",)]),
        ("Which order has the lowest amount?", [(4, "2023-12-31")]),
        ("Show me the order with the highest quantity", [(4, "2023-12-31")]),
        ("What is the highest amount of an order?", [(1250.5,)]),
        ("金额最高的订单是哪个？", [(3, "2024-01-05", "北京")]),
        ("订单的最高金额是多少？", [(300.0,)]),
        ("Average salary by department", [("Sales", 57500.0), ("Support", 65000.0)]),
        ("total quantity per city", [("Berlin", 8), ("New York", 2), ("Paris", 3)]),
        ("orders with an amount over 800 from Paris", [(3, "2023-06-01")]),
        ("order id 4", [(4, "2023-12-31")]),
        ("What is the latest order from Berlin?", [(4, "2023-12-31")]),
        ("Who works in the Support department?", [("Cy Poe",)]),
        ("How many customers are there?", [(3,)]),
        ("employees with a salary of at least 60000", [("Ben Roe",), ("Cy Poe",)]),
        ("How many orders did Globex place in January 2023?", [(1,)]),
        ("北京的订单总金额是多少？", [(400.5,)]),
        ("2023年北京有多少订单？", [(1,)]),
        ("哪个城市的金额最高？", [("北京", 300.0)]),
        ("每个城市的金额总和", [("上海", 200.0), ("北京", 400.5)]),
        ("2023年1月到2023年12月的订单总金额", [(300.5,)]),
    ],
)
def test_questions_about_tables_have_rows(base, question, rows):
    result = TableRows(base.store).ask(question)
    assert result is not None
    assert [row[: len(expected)] for row, expected in zip(result.rows, rows, strict=True)] == rows


@pytest.mark.parametrize(
    "question",
    [
        "What is the highest allowance?",
        "Can employees in Sales fly?",
        "Are there orders from Berlin?",
        "How many orders from Berlin were late?",
        "How many employees are in Marketing?",
        "How many orders are from Berlin on February 30, 2023?",
        "What is the total of it all?",
        "Why is the amount of orders from Berlin low?",
        "How many orders over 100?",
        "Which orders from Berlin are bigger than those from Paris?",
        "Compare the highest and the lowest salary",
        "Who leads the Berlin office?",
        "How many in Berlin?",
        "What is the amount of Acme?",
        "没有北京的订单有多少？",
        "北京的订单为什么多？",
        "",
        "'; DROP TABLE orders; --",
    ],
)
def test_other_questions_are_left_to_passages(base, question):
    assert TableRows(base.store).ask(question) is None


CREW = """name,ship,captain
Ann Lee,Tern,
Bob Moe,Tern,Ann Lee
Cid Fox,Gull,Bob Moe
Dora Ek,Gull,Bob Moe
"""
CREW_ZH = "姓名,部门,主管\n王明,财务,\n李华,财务,王明\n赵云,人事,李华\n"


@pytest.fixture(scope="module")
def crews(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crews")
    (folder / "crew.csv").write_text(CREW, "utf-8")
    (folder / "名单.csv").write_text(CREW_ZH, "utf-8")
    path = tmp_path_factory.mktemp("index") / "index.knot"
    with knotwork.open(path, embedding_model="none") as opened:
        opened.index(folder)
        yield opened


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Who is Bob Moe's captain?", [("Ann Lee",)]),
        ("Who is Bob Moe’s captain?", [("Ann Lee",)]),
        ("Who is the captain of Bob Moe?", [("Ann Lee",)]),
        ("Who is the captain of Cid Fox?", [("Bob Moe",)]),
        ("What is the ship of Bob Moe?", [("Tern",)]),
        ("Who has the captain Bob Moe?", [("Cid Fox",), ("Dora Ek",)]),
        ("Who has Bob Moe as captain?", [("Cid Fox",), ("Dora Ek",)]),
        ("李华的主管是谁？", [("王明",)]),
    ],
)
def test_what_is_asked_of_someone_is_in_their_own_row(crews, question, rows):
    (result,) = crews.ask(question).results
    assert list(map(tuple, result.rows)) == rows


def test_whoever_has_nobody_above_is_not_answered_with_those_below(crews):
    answer = crews.ask("Who is Ann Lee's captain?")
    assert "Bob Moe" not in answer.text


def test_the_answer_cites_the_rows(base):
    answer = base.ask("What is the total amount of orders from Berlin in 2023?")
    assert answer.text == "450 [1][2]"
    assert [c.quote[:5] for c in answer.citations] == ["| 2 |", "| 4 |"]
    (result,) = answer.results
    assert [source.row for source in result.row_sources] == [3, 5]
    assert result.row_count == 2
    assert "orders.csv" in result.place
    assert "Berlin" not in result.statement
    assert answer.confidence == pytest.approx(0.9)


def test_rows_are_cited_one_by_one(base):
    answer = base.ask("orders from Berlin since 2023")
    lines = answer.text.splitlines()
    assert lines[2].endswith("| [1] |")
    assert lines[3].endswith("| [2] |")
    for citation in answer.citations:
        document = next(
            found
            for found in base.store.documents.documents(
                base.store.documents.document_ids()
            ).values()
            if found.uri == citation.document
        )
        assert document.text[citation.span.start : citation.span.end] == citation.quote


def test_a_model_reads_the_rows_and_cites_one(base):
    model = ScriptedChatModel(["The orders amount to 450 [1]."])
    with knotwork.open(base.store.url, embedding_model="none", chat_model=model) as asked:
        answer = asked.ask("What is the total amount of orders from Berlin in 2023?")
    prompt = model.requests[0].messages[-1].content
    assert "Rows of a query on the table orders" in prompt
    assert "sum amount: 450" in prompt
    assert answer.text == "The orders amount to 450 [1]."
    assert answer.results[0].rows == ((450.0,),)
    assert answer.citations[0].document.endswith("orders.csv")


def test_a_chosen_retriever_or_a_setting_keeps_to_passages(base):
    question = "How many employees are in Sales?"
    assert base.ask(question).results
    assert base.ask(question, retriever="bm25").results == ()
    assert base.search(question).results == ()
    with knotwork.open(base.store.url, embedding_model="none", answer_tables=False) as other:
        assert other.ask(question).results == ()


def test_rows_answer_in_the_basic_mode_unless_another_is_chosen(base):
    question = "What is the total amount in all tables?"
    answer = base.ask(question)
    assert answer.mode == "basic"
    assert answer.results[0].rows == ((3200.75,),)
    assert base.ask(question, mode="global").mode == "global"


def test_a_table_that_is_newer_than_its_document_is_not_asked(tmp_path):
    (tmp_path / "sales.csv").write_text("Region,Amount\nNorth,1\nSouth,2\n", "utf-8")
    with knotwork.open(tmp_path / "i.knot", embedding_model="none") as base:
        base.index(tmp_path / "sales.csv")
        assert base.ask("What is the total amount of sales?").text.startswith("3 ")
        tables = TableFile(tables_path(base.store.url))
        (shape,) = tables.tables()
        tables.put_documents([Document(uri=shape.document, text="Of a run that was killed.")])
        assert base.ask("What is the total amount of sales?").results == ()


ROWS = st.lists(
    st.tuples(st.sampled_from(["Oslo", "Turku", "New Delhi"]), st.integers(-(10**6), 10**6)),
    min_size=2,
    max_size=12,
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS)
def test_sums_and_counts_match_the_rows(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("sums")
    (folder / "trips.csv").write_text(write_csv([("Town", "Cost"), *rows]), "utf-8")
    with knotwork.open(folder / "i.knot", embedding_model="none") as base:
        base.index(folder / "trips.csv")
        asked = TableRows(base.store)
        for town in {town for town, _ in rows}:
            costs = [cost for name, cost in rows if name == town]
            assert asked.ask(f"How many trips to {town}?").rows == ((len(costs),),)
            assert asked.ask(f"total cost of trips to {town}").rows == ((sum(costs),),)
            assert asked.ask(f"the highest cost in {town}").rows == ((max(costs),),)


def test_a_year_that_also_filters_documents_is_honoured_by_the_rows(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "sales.csv").write_text("Region,Amount,Day\nNorth,1,2023-05-05\nSouth,2,2022-01-01\n")
    for number, year in enumerate((2023, 2023, 2022)):
        note = f"---\ndate: {year}-03-01\n---\nNote {number} is about tea.\n"
        (folder / f"{number}.md").write_text(note, "utf-8")
    with knotwork.open(tmp_path / "i.knot", embedding_model="none") as base:
        base.index(folder)
        question = "What is the total amount of sales in 2023?"
        assert base.ask(question).results[0].rows == ((1,),)
        assert base.ask(question, filters="date >= 2022").results == ()
