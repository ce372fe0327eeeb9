"""Delimited text with stray quotes, declarations, comments and other delimiters."""

import pytest
from tests.faults.small_files import read
from tests.faults.workbooks import rows_of

ROWS = [("Lamp", 4.5), ("Bolt", 2.0)]


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\nItem;Price\nLamp;4,50\nBolt;2\n",
        "# made by a tool\n# version 2\nItem,Price\nLamp,4.50\nBolt,2\n",
        "#Item\tPrice\nLamp\t4.50\nBolt\t2\n",
        "Item;Price\nLamp;4,50\nBolt;2\n",
        "Item\tPrice\nLamp\t4.50\nBolt\t2\n",
        "Item|Price\nLamp|4.50\nBolt|2\n",
        'Item,Price\n"Lamp,4.50\nBolt,2\n',
        '"Item","Price"\n"Lamp","4.50\n"Bolt","2"\n',
        "Stock list\nprinted in May\nItem,Price\nLamp,4.50\nBolt,2\n",
        "Stock,Rolf\n\nItem,Price\nLamp,4.50\nBolt,2\n",
    ],
)
def test_the_rows_are_read(text):
    assert rows_of(text) == ROWS


def test_an_open_quote_does_not_take_the_rows_below():
    text = 'Item,Price,Note\nLamp,4.50,"good\nBolt,2,"x, y"\nNail,3,"two\nlines"\n'
    assert rows_of(text) == [
        ("Lamp", 4.5, "good"),
        ("Bolt", 2.0, "x, y"),
        ("Nail", 3.0, "two lines"),
    ]


def test_quotes_in_cells_stay():
    rows = rows_of('Item,Size\nPipe,5" steel\nRod,"3"" iron"\n')
    assert rows == [("Pipe", '5" steel'), ("Rod", '3" iron')]


@pytest.mark.parametrize("line", ['"x,1', 'a,"b', ',""",x', '"', 'x""","'])
def test_many_stray_quotes_take_linear_time(line):
    read("t.csv", "a,b\n" + f"{line}\n" * 3_000)
