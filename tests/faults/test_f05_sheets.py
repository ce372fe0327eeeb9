"""Merged cells, header rows, several tables on a sheet, and values as they are shown."""

import datetime as dt
import io
import zipfile
from email.message import EmailMessage

import pytest
from openpyxl.comments import Comment
from tests.faults.small_files import ask, read
from tests.faults.workbooks import merge, rows_of, tables_of, workbook

SITES = workbook(
    [
        ["Region", "Site", "Visits"],
        ["North", "Tor Weir", 1],
        [None, "Sel Pier", 2],
        [None, "Ost", 3],
        ["South", "Vik", 4],
        [None, "Bo", 5],
    ],
    merge("A2:A4", "A5:A6"),
)
SEASONS = [["Site", "Visits", None], [None, "Spring", "Autumn"], ["Tor Weir", 1, 2], ["Vik", 5, 6]]


def test_merged_cells_count_for_each_row(tmp_path):
    assert [row[0] for row in rows_of(SITES)] == ["North"] * 3 + ["South"] * 2
    answers = ask(
        tmp_path,
        {"sites.xlsx": SITES},
        "How many sites are in the North region?",
        "In which region is Sel Pier?",
    )
    assert "3" in answers[0]
    assert "North" in answers[1]


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (workbook(SEASONS, merge("B1:C1", "A1:A2")), "Site|Visits Spring|Visits Autumn"),
        (workbook(SEASONS), "Site|Visits Spring|Visits Autumn"),
        ("Site,Visits,\n,Spring,Autumn\nA,1,2\nB,3,4\n", "Site|Visits Spring|Visits Autumn"),
        (",Visits,\nSite,Spring,Autumn\nA,1,2\nB,3,4\n", "Site|Visits Spring|Visits Autumn"),
        (
            workbook(
                [
                    ["Report"],
                    [None, 2023, None, 2024],
                    ["Site", *["May", "Jun"] * 2],
                    ["A", 1, 2, 3, 4],
                ],
                merge("A1:E1", "B2:C2", "D2:E2"),
            ),
            "Site|2023 May|2023 Jun|2024 May|2024 Jun",
        ),
        (
            ",2023,,,2024,,\n,H1,,H2,H1,,H2\nSite,Q1,Q2,Q3,Q1,Q2,Q3\nA,1,2,3,4,5,6\nB,1,2,3,4,5,6\n",
            "Site|2023 H1 Q1|2023 H1 Q2|2023 H2 Q3|2024 H1 Q1|2024 H1 Q2|2024 H2 Q3",
        ),
        (
            workbook(
                [["Office", "Contact"], [None, "Name", "Mail"], ["Oslo", "Ada", "a@b"]],
                merge("B1:C1"),
            ),
            "Office|Contact Name|Contact Mail",
        ),
        ("Pump,Pressure,Flow\n,bar,m3/h\nP1,6,12\nP2,9,3\n", "Pump|Pressure (bar)|Flow (m3/h)"),
        ("Pump,Pressure\n[-],[bar]\nP1,6\nP2,9\n", "Pump [-]|Pressure [bar]"),
        ("Price list,,Acme\nItem,Price,Qty\nA,1,2\nB,2,3\n", "Item|Price|Qty"),
        ("Created by,Rolf\nItem,Price,Qty\nLamp,4.50,3\nBolt,2,7\n", "Item|Price|Qty"),
        ("Author,Ann\n\nItem,Price,Qty\nLamp,4.50,3\nBolt,2,7\n", "Item|Price|Qty"),
        ("地区,销量,\n,春季,秋季\n华东,1,2\n华南,3,4\n", "地区|销量 春季|销量 秋季"),
    ],
)
def test_header_rows_name_the_columns(data, labels):
    ((found, rows),) = tables_of(data)
    assert found == labels.split("|")
    assert len(rows) in {1, 2}


PRICES = [["Product", "Q1", "Q2"], ["Bolt", 12, 13], ["Nut", 4, 5]]
STAFF = [["Office", "Staff"], ["Oslo", 12], ["Rome", 7]]
CITIES = [["Name", "City"], ["Ada", "Oslo"], ["Bo", "Rome"]]


def beside(left, right):
    width = max(map(len, left))
    return [
        [*(one + [None] * width)[:width], None, *other]
        for one, other in zip(left, right, strict=True)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([*PRICES, [], *STAFF], ["Product", "Office"]),
        ([*PRICES, [], [], ["Offices"], *STAFF], ["Product", "Office"]),
        ([["Prices"], *PRICES, [], ["People"], *CITIES], ["Product", "Name"]),
        (beside(PRICES, STAFF), ["Product", "Office"]),
        (beside([["Prices"], *PRICES], [["People"], *CITIES]), ["Product", "Name"]),
        ([*CITIES, [], ["Cy", "Bern"]], ["Name"]),
        ([*PRICES, [], ["Pin", 1, 2]], ["Product"]),
        ([["Name", None, "Age"], ["Ada", None, 3], ["Bo", None, 4]], ["Name"]),
    ],
)
def test_each_table_of_a_sheet_has_its_own_columns(rows, expected):
    assert [labels[0] for labels, _ in tables_of(workbook(rows))] == expected


def test_merged_headers_of_a_table_beside_another():
    left = [["Product", "Q1", None], ["Bolt", 12, None], ["Nut", 4, None], [None] * 3]
    rows = [[*one, *other] for one, other in zip(left, SEASONS, strict=True)]
    tables = tables_of(workbook(rows, merge("E1:F1", "D1:D2")))
    assert tables[1] == (
        ["Site", "Visits Spring", "Visits Autumn"],
        [("Tor Weir", 1, 2), ("Vik", 5, 6)],
    )


REGIONS = [["Site", "Spring", "Autumn"], ["North region"], ["Tor", 1, 2], ["Vik", "closed"]]


def test_titles_of_sections_and_wide_cells_count_for_their_rows_and_columns(tmp_path):
    data = workbook([*REGIONS, ["South region"], ["Bo", 4, 5]], merge("A2:C2", "A5:C5", "B4:C4"))
    north, south = ("North region",), ("South region",)
    assert rows_of(data) == [
        *(("Tor", "1", "2", *north), ("Vik", "closed", "closed", *north), ("Bo", "4", "5", *south)),
    ]
    answers = ask(tmp_path, {"sites.xlsx": data}, "How many sites are in the North region?")
    assert "2" in answers[0]


def shown(value, number_format):
    ((_, text),) = rows_of(workbook([["Item", "Value"], ["a", value]], formats=[number_format]))
    line = read("t.xlsx", workbook([["Item", "Value"], ["a", value]], formats=[number_format])).text
    return line.rpartition("| a | ")[2].removesuffix(" |"), text


@pytest.mark.parametrize(
    ("value", "number_format", "expected", "typed"),
    [
        (0.125, "0.0 %", "12.5 %", 12.5),
        (1 / 3, "0%", "33%", 33.3333333333333),
        (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR", 1234.5),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50", 1234.5),
        (1234.5, '_-* #,##0.00\\ "€"_-', "1,234.50 €", 1234.5),
        (99.5, "$#,##0.00", "$99.50", 99.5),
        (-1234, "#,##0;(#,##0)", "(1,234)", -1234),
        (1234, "00000", "01234", "01234"),
        ("007", "@", "007", "007"),
        (5551234, "000-0000", "555-1234", "555-1234"),
        (123456, "0.00E+00", "1.23E+05", 123456),
        (1.5, "# ?/?", "1 1/2", 1.5),
        (12.5, '0.0 "kg"', "12.5 kg", 12.5),
        (12, '0"元"', "12元", 12),
        (12345, '0!.0,"万"', "1.2万", 12345),
        (12500000, '0.0,,"M"', "12.5M", 12500000),
        (0.1 + 0.2, "General", "0.3", 0.3),
        (1e300, "#,##0.00", None, 1e300),
        (dt.timedelta(hours=27, minutes=5), "[h]:mm", "27:05", "27:05"),
        (dt.datetime(2024, 3, 5), "dd.mm.yyyy", "2024-03-05", "2024-03-05"),  # noqa: DTZ001
        (dt.datetime(2024, 3, 1), "mmm yyyy", "Mar 2024", "2024-03-01"),  # noqa: DTZ001
        (dt.time(9, 30), "h:mm", "09:30", "09:30"),
    ],
)
def test_values_are_shown_by_their_format(value, number_format, expected, typed):
    text, row = shown(value, number_format)
    assert expected in {None, text}
    assert row == typed


@pytest.mark.parametrize(
    "data",
    [
        "Invoice,Amount\nA1,$100\nB2,€90\nC3,£80\nD4,€30\n",
        "Invoice,Amount,Currency\nA1,100,USD\nB2,90,EUR\nC3,80,GBP\nD4,30,EUR\n",
        workbook([["Invoice", "Amount"], ["A1", 100], ["B2", 90]], formats=['0 "EUR"', "$0"]),
    ],
)
def test_several_currencies_are_not_one_number(data):
    ((labels, rows),) = tables_of(data)
    assert isinstance(rows[0][1], str)
    assert {"Amount (EUR)", "Amount (USD)"} < set(labels)


def test_a_total_of_several_currencies_needs_a_currency(tmp_path):
    files = {"invoices.csv": "Invoice,Amount\nA1,$100\nB2,€90\nC3,£80\nD4,€30\n"}
    plain, euros = ask(
        tmp_path, files, "What is the total amount?", "What is the total amount in EUR?"
    )
    assert "300" not in plain
    assert euros.startswith("120")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Artikel;Preis\nTisch;1.234\nLampe;999\nStuhl;2.500\n", [1234, 999, 2500]),
        ("Item;Price;W\nA;1.234;2.5\nB;2.500;3.5\n", [1.234, 2.5]),
        ("Item;Price;W\nA;1.234;2,5\nB;2.500;3,5\n", [1234, 2500]),
        ('Item,Price\nA,1.5\nB,"2,75"\n', [1.5, 2.75]),
        ('Item,Price\nA,"1,234"\nB,"1.5"\nC,"2,75"\n', ["1,234", "1.5", "2,75"]),
        ('Item,Price\nA,"1,234.5"\nB,12\n', [1234.5, 12.0]),
        ("Item;Price\nA;1'234.50\nB;12.00\n", [1234.5, 12.0]),
        ('Item,Price\nA,"1,00,000"\nB,"12,34,567"\n', [100000, 1234567]),
        ("Item;Price\nA;1 234,50\nB;12\u00a0000\n", [1234.5, 12000.0]),
        ("项目,金额\nA,1万\nB,2.5万\nC,3亿\n", [10_000, 25_000, 300_000_000]),
        ("Item,Code\nA,007\nB,12\n", ["007", "12"]),
        ("Item,Amount\nA,(5)\nB,7-\nC,-3\n", [-5, -7, -3]),
        ("Item,Share\nA,12.5 %\nB,7%\n", [12.5, 7.0]),
        ("Item,Share\nA,12.5 %\nB,7\n", ["12.5 %", "7"]),
        (
            "Name,Born,Left\nA,01/02/2020,13/02/2021\nB,03/04/2020,1/6/2021\n",
            ["2020-02-01", "2020-04-03"],
        ),
        ("Name,Born\nA,05/13/2020\nB,01/02/2021\n", ["2020-05-13", "2021-01-02"]),
    ],
)
def test_a_column_has_one_way_to_write_values(text, expected):
    assert [row[1] for row in rows_of(text)] == expected


def test_unread_parts_are_reported():
    def change(book, sheet):
        sheet["C2"] = "=B2*2"
        book.create_sheet("Old").sheet_state = "hidden"

    document = read("t.xlsx", workbook([["Item", "Price", "Twice"], ["a", 1]], change))
    assert document.metadata["unread"] == "1 uncalculated formula, 1 hidden sheet"


def test_unread_parts_of_an_attached_workbook_are_reported():
    def change(book, _):
        book.create_sheet("Old").sheet_state = "hidden"

    mail = EmailMessage()
    mail["Subject"] = "Prices"
    mail.set_content("Here they are.")
    kind = {"maintype": "application", "subtype": "octet-stream", "filename": "t.xlsx"}
    mail.add_attachment(workbook([["Item", "Price"], ["a", 1]], change), **kind)
    assert read("a.eml", mail.as_bytes()).metadata["unread"] == "1 hidden sheet"


def test_comments_are_read():
    def change(_, sheet):
        sheet["B2"].comment = Comment("Ann Lee:\nestimate only", "Ann Lee")

    document = read("t.xlsx", workbook([["Item", "Price"], ["Lamp", 4.5]], change))
    assert "Note on Lamp, 4.5: estimate only" in document.text


def test_lists_in_a_cell_are_separated():
    rows = [
        ["Team", "Members"],
        ["Red", "- Ann\n- Bob"],
        ["Blue", "Cid\nDan\nEve"],
        ["Dock", "Pier 1\nOslo"],
    ]
    assert [row[1] for row in rows_of(workbook(rows))] == [
        "Ann; Bob",
        "Cid; Dan; Eve",
        "Pier 1 Oslo",
    ]


RICH_ROWS = [["Berth", "Winter fee", "Crane fee"], ["Vik", "WINTER", "CRANE"], ["Bo", 20, 60]]
RAISED = '<r><t>30</t></r><r><rPr><b/><vertAlign val="superscript"/></rPr><t>1</t></r>'
STRUCK = (
    '<r><rPr><strike/></rPr><t>900</t></r><r><rPr><strike val="0"/></rPr>'
    '<t xml:space="preserve"> 750</t></r><rPh sb="0" eb="1"><t>x</t></rPh>'
)


def rich_workbook(*, inline, winter=RAISED):
    """Return a workbook with a raised and a struck part of a cell."""
    held = io.BytesIO()
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    listed = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strings = f'<sst xmlns="{space}"><si><t>x</t></si><si>{winter}</si><si>{STRUCK}</si></sst>'
    with (
        zipfile.ZipFile(io.BytesIO(workbook(RICH_ROWS))) as plain,
        zipfile.ZipFile(held, "w") as rich,
    ):
        for name in plain.namelist():
            text = plain.read(name).decode()
            for number, (word, runs) in enumerate((("WINTER", winter), ("CRANE", STRUCK)), 1):
                cell = f't="inlineStr"><is><t>{word}</t></is>'
                shown = cell.replace(f"<t>{word}</t>", runs)
                text = text.replace(cell, shown if inline else f't="s"><v>{number}</v>')
            rich.writestr(name, text if inline else text.replace("</Types>", listed))
        if not inline:
            rich.writestr("xl/sharedStrings.xml", strings)
    return held.getvalue()


@pytest.mark.parametrize("inline", [False, True])
def test_raised_and_struck_parts_of_a_cell_are_no_part_of_its_number(tmp_path, inline):
    data = rich_workbook(inline=inline)
    assert "| Vik | 30 [^1] | 750 |" in read("fees.xlsx", data).text
    assert rows_of(data) == [("Vik", 30, 750), ("Bo", 20, 60)]
    (answer,) = ask(tmp_path, {"fees.xlsx": data}, "What is the crane fee of Vik?")
    assert "750" in answer
    assert "900" not in answer


def test_units_of_cells_keep_their_squares():
    area = '<r><t>40 m</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>2</t></r>'
    data = rich_workbook(inline=False, winter=area)
    assert "| Vik | 40 m² | 750 |" in read("areas.xlsx", data).text


@pytest.mark.parametrize("inline", [False, True])
def test_a_cell_that_is_struck_is_empty(inline):
    struck = "<r><rPr><strike/></rPr><t>30</t></r>"
    text = read("fees.xlsx", rich_workbook(inline=inline, winter=struck)).text
    assert "| Vik |  | 750 |" in text


def test_marks_of_notes_are_no_part_of_the_values_of_a_column():
    assert rows_of("Berth,Fee\nVik,30 [^1]\nBo,40\n") == [("Vik", 30), ("Bo", 40)]
    assert rows_of("Berth,Fee\nVik,see [^1]\nBo,40\n") == [("Vik", "see [^1]"), ("Bo", "40")]
