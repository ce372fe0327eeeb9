"""Questions about tables: figures of the rows that are meant, or no figure."""

import re

import pytest

from .small_files import ask, index_of

PUMPS = """Pump,Max pressure (bar),Min flow (l/s),Installed,Site
P1,6,1.5,2019-04-02,North
P2,9,2,2021-11-15,North
P3,12.5,2.5,2021-01-30,South
P4,6,3,2023-05-05,South
"""
ORDERS = """Order no,Customer,Order date,Delivery date,Number of items,Total (EUR),Status
101,Acme,2024-01-10,2024-01-20,3,150.00,paid
102,Bolt,2024-02-05,2024-02-07,10,920.50,open
103,Acme,2024-02-28,2024-03-15,1,45.00,paid
104,Crux,2023-12-30,2024-01-04,7,610.25,cancelled
105,Bolt,2024-03-03,2024-03-09,2,80.00,paid
"""
MEMBERS = """Member ID,First name,Last name,Last visit,Age,Total points
11,Ina,Moor,2026-02-03,34,900
12,Jon,Pell,2025-09-09,51,450
13,Kay,Quist,2026-05-20,27,1200
14,Lev,Roth,2025-01-30,51,450
"""
MACHINES = """设备,最高温度(℃),最低温度(℃),购买日期,车间
炉一,850,20,2020-03-01,东区
炉二,920,25,2022-06-15,东区
炉三,700,15,2022-01-20,西区
炉四,850,30,2024-09-09,西区
"""
LOANS = """Book,Reader,Lent on,Returned on,Price (CHF),Pages
First floor,,,,,
Emma,Ada,2025-03-02,2025-03-20,0,300
Dune,Bo,2025-02-25,2025-03-03,2.5,600
Second floor,,,,,
Ulysses,Cid,2025-03-15,,0,700
Solaris,Ada,2025-03-28,2025-04-11,4,200
Kim,,2025-01-07,2025-01-09,0,250
"""
GOODS = """商品,类别,单价(元),数量,供应商
苹果,水果,6,30,老王
香蕉,水果,4,50,
白菜,蔬菜,2,80,老李
葡萄,水果,12,20,老王
"""
FILES = {
    "loans.csv": LOANS,
    "商品.csv": GOODS,
    "pumps.csv": PUMPS,
    "orders.csv": ORDERS,
    "members.csv": MEMBERS,
    "设备.csv": MACHINES,
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    opened = {}
    managers = []
    for name, text in FILES.items():
        manager = index_of(tmp_path_factory.mktemp("table"), {name: text})
        managers.append(manager)
        opened[name] = manager.__enter__()
    yield opened
    for manager in managers:
        manager.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("file", "question", "figure"),
    [
        ("loans.csv", "How many books are on the second floor?", "3"),
        ("loans.csv", "How many books have no reader?", "1"),
        ("loans.csv", "How many books have a reader?", "4"),
        ("loans.csv", "How many books cost more than 2 francs?", "2"),
        ("loans.csv", "What is the average number of pages of the first floor?", "450"),
        ("商品.csv", "没有供应商的商品有几种？", "1"),
        ("商品.csv", "单价超过5元的水果有几种？", "2"),
        ("pumps.csv", "How many pumps have a maximum pressure of 6 bar?", "2"),
        ("pumps.csv", "How many pumps have a maximum pressure above 8 bar?", "2"),
        ("pumps.csv", "How many pumps have a max pressure of at least 9 bar?", "2"),
        ("pumps.csv", "How many pumps have a maximum pressure of 7 bar?", "0"),
        ("pumps.csv", "How many pumps are not in the North?", "2"),
        ("pumps.csv", "What is the average maximum pressure?", "8.375"),
        ("pumps.csv", "What is the maximum pressure?", "12.5"),
        ("orders.csv", "What is the total of the paid orders?", "275"),
        ("orders.csv", "What is the average number of items?", "4.6"),
        ("orders.csv", "How many items did Acme order?", "4"),
        ("orders.csv", "How many orders were placed in February 2024?", "2"),
        ("members.csv", "How many members are over 30?", "3"),
        ("members.csv", "What is the average age?", "40.75"),
        ("members.csv", "What is the total of the total points?", "3000"),
        ("设备.csv", "有多少台设备的最高温度超过800℃？", "3"),
        ("设备.csv", "平均最高温度是多少？", "830"),
        ("设备.csv", "不在东区的设备有几台？", "2"),
    ],
)
def test_figures_are_computed_from_cited_rows(bases, file, question, figure):
    answer = bases[file].ask(question)
    assert re.fullmatch(rf"{re.escape(figure)} ?(?:\[\d\])+", answer.text)
    assert answer.citations
    assert answer.results[0].row_sources


@pytest.mark.parametrize(
    ("file", "question", "named", "others"),
    [
        ("loans.csv", "Which books have not been returned?", "Ulysses", "Emma Dune Kim"),
        ("loans.csv", "Which book on the second floor has the most pages?", "Ulysses", "Dune Kim"),
        ("loans.csv", "Which books were lent in March 2025?", "Emma Solaris", "Dune Kim"),
        ("商品.csv", "最便宜的水果是什么？", "香蕉", "白菜 苹果"),
        ("pumps.csv", "Which pumps have a maximum pressure of 6 bar?", "P1 P4", "P2 P3"),
        ("pumps.csv", "Which pump has the highest maximum pressure?", "P3", "P1 P2 P4"),
        ("pumps.csv", "Which pump has the second highest maximum pressure?", "P2", "P1 P3 P4"),
        ("pumps.csv", "Which pumps were last installed in 2021?", "P2", "P1 P3 P4"),
        ("pumps.csv", "Which pumps have a minimum flow between 2 and 2.5?", "P2 P3", "P1 P4"),
        ("pumps.csv", "What are the top 2 pumps by minimum flow?", "P4 P3", "P1 P2"),
        ("orders.csv", "Which customer has the most orders?", "Acme Bolt", "Crux"),
        ("orders.csv", "Which order has the highest total?", "102", "101 103 104 105"),
        ("orders.csv", "Which orders were delivered before February 2024?", "101 104", "102"),
        ("members.csv", "Who had their last visit in 2026?", "Ina Kay", "Jon Lev"),
        ("members.csv", "Who is the oldest member?", "Jon Lev", "Ina Kay"),
        ("members.csv", "What is the first name of Pell?", "Jon", "Ina Kay"),
        ("members.csv", "Who has the most total points?", "Kay", "Ina Jon"),
        ("设备.csv", "哪些设备的最高温度是850？", "炉一 炉四", "炉二 炉三"),
        ("设备.csv", "最高温度最高的设备是哪个？", "炉二", "炉一 炉三"),
        ("设备.csv", "最高温度第二高的设备是哪个？", "炉一 炉四", "炉二 炉三"),
        ("设备.csv", "2022年最后购买的设备是哪台？", "炉二", "炉三"),
    ],
)
def test_rows_are_those_that_match(bases, file, question, named, others):
    answer = bases[file].ask(question)
    assert answer.results
    assert all(name in answer.text for name in named.split())
    assert not any(re.search(rf"(?<!\d){name}(?!\d)", answer.text) for name in others.split())
    assert answer.citations


@pytest.mark.parametrize(
    ("file", "question"),
    [
        ("loans.csv", "What is the total price in euros?"),
        ("loans.csv", "How heavy is Ulysses?"),
        ("商品.csv", "葡萄的产地是哪里？"),
        ("pumps.csv", "What is the average weight of the pumps?"),
        ("pumps.csv", "What is the maximum pressure of P9?"),
        ("pumps.csv", "How many pumps are in the West?"),
        ("orders.csv", "What is the total in US dollars?"),
        ("orders.csv", "What is the discount of order 102?"),
        ("orders.csv", "What is the status of order 999?"),
        ("设备.csv", "炉五的最高温度是多少？"),
        ("设备.csv", "设备的平均重量是多少？"),
    ],
)
def test_columns_that_a_table_lacks_are_refused(bases, file, question):
    answer = bases[file].ask(question)
    assert not answer.answered
    assert not answer.results


HOURS = "Worker,Hours\nIda,7.5\nOle,8\nIda,6.5\nKim,4\n"


@pytest.mark.parametrize(
    ("table", "question", "said", "unsaid"),
    [
        (HOURS, "Who worked the most hours?", "Ida; sum hours: 14", "Ole"),
        (HOURS, "Which worker has the fewest hours?", "| Kim | 4 |", "Ida"),
        (
            "Day,Guests\n2024-01-01,1\n2025-01-03,9\n",
            "Which day had the most guests?",
            "3 | 9",
            "4",
        ),
        ("Tool,Count\nSaw,4\nAxe,2\nSaw,3\n", "How many saws are there?", "7 [1][2]", "9"),
        (
            "Kind,Name,Stock\nNut,Fig,20\nNut,Pear,30\n",
            "How many kinds are there?",
            "1 [1][2]",
            "5",
        ),
    ],
)
def test_rows_of_one_name_count_together(tmp_path, table, question, said, unsaid):
    (answer,) = ask(tmp_path, {"list.csv": table}, question)
    assert said in answer
    assert unsaid not in answer
