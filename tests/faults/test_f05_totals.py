"""Totals are not data, wherever they stand; rows that only sound like totals are."""

import pytest
from tests.faults.small_files import ask, read
from tests.faults.workbooks import rows_of

SALES = (
    "Region,Branch,Sales\nNorth,Vik,200\nNorth,Oslo,100\nNorth total,,300\n"
    "South,Bo,50\nSouth,Mo,70\nSouth total,,120\nGrand total,,420\n"
)


@pytest.mark.parametrize(
    ("text", "first_cells"),
    [
        (SALES, ["North", "North", "South", "South"]),
        ("Item,Amount\nA,1\nB,2\nSubtotal,3\nC,4\nD,6\nSubtotal,10\nTotal,13\n", list("ABCD")),
        ("No,Item,Amount\n1,A,5\n2,B,6\n,Total,11\n", [1, 2]),
        ("Item,Qty\nA,1\nB,2\n,3\nC,4\nD,5\n,9\n,12\n", list("ABCD")),
        ("Item,Amount\nTotal,11\nA,5\nB,6\n", list("AB")),
        ("Item,Amount\nA,5\nB,6\nAverage,5.5\nTotal,11\n", list("AB")),
        ("Artikel;Preis\nA;2,50\nB;3,50\nSumme;6,00\n", list("AB")),
        ("Item,Price\nA,€10.00\nB,€5.50\nTotal,€15.50\n", list("AB")),
        ("Item,Share\nA,33.3%\nB,33.3%\nC,33.3%\nTotal,100%\n", list("ABC")),
        ("Region,Sales\nNorth,1\nSouth,2\n\nTotal,3\n", ["North", "South"]),
        ("Month,Sales\nJan,10\nFeb,20\nQ1 Total,30\nMar,5\nApr,6\nQ2 Total,11\nTOTAL,41\n", 4),
        ("Dept,Name,Pay\nIT,Ann,70\nSubtotal IT,,70\nHR,Bo,80\nSubtotal HR,,80\n", ["IT", "HR"]),
        ("Name,Points\nAda,3\nBo,4\nOverall,7\n", ["Ada", "Bo"]),
        ("地区,门店,销售额\n华东,沪,200\n华东,杭,100\n华东小计,,300\n华南,穗,50\n合计,,350\n", 3),
        ("类别,数量\n苹果,3\n香蕉,4\n总计,7\n", ["苹果", "香蕉"]),
        ("Name,Pay\nA,1\nB,2\nName,Pay\nC,3\n", list("ABC")),
        ("Item,Price\nA,1\nB,2\n\nSource: port office\n", list("AB")),
        ("Item,Price,Qty\nTools,,\nSaw,1,2\nAxe,2,3\nPaint,,\nRed,3,4\n", ["Saw", "Axe", "Red"]),
    ],
)
def test_totals_are_not_data(text, first_cells):
    rows = rows_of(text)
    expected = len(rows) if isinstance(first_cells, list) else first_cells
    assert len(rows) == expected
    if isinstance(first_cells, list):
        assert [row[0] for row in rows] == first_cells


@pytest.mark.parametrize(
    "text",
    [
        "Name,Visits\nAda,3\nTotal,4\nBo,5\n",
        "Name,Visits\nAda,3\nBo,5\nTotal,4\n",
        "Product,Price\nBasic Care,3\nTotal Care,9\nPlus Care,5\n",
        "Product,Price\nBasic Care,3\nPlus Care,5\nTotal Care,9\n",
        "Song,Artist,Plays\nTotal Eclipse,Bonnie,10\nTotal Recall,Ann,20\nBo,Sum 41,30\n",
        "Day,Kind,Minutes\n2017-08-21,Total,3\n2019-07-02,Total,4\n2021-12-04,Annular,2\n",
        "Name,Value\nAda,1\n,2\nBo,4\n",
    ],
)
def test_rows_that_sound_like_totals_are_data(text):
    assert len(rows_of(text)) == 3


def test_totals_stay_in_the_text():
    assert "North total" in read("sales.csv", SALES).text


def test_sums_match_the_file(tmp_path):
    answers = ask(
        tmp_path,
        {"sales.csv": SALES},
        "What are the total sales?",
        "What is the average sales?",
        "Which branch has the highest sales?",
    )
    for answer, expected in zip(answers, ("420", "105", "Vik"), strict=True):
        assert expected in answer


def test_many_totals_are_found_in_linear_time():
    lines = [f"Item {n},{n}\nSubtotal,{n}" for n in range(1, 2_000)]
    assert len(rows_of("Name,Amount\n" + "\n".join(lines) + "\n")) == 1_999
