"""Hidden, struck, raised and special text of Word files is read as a page shows it, and tables."""

import pytest
from tests.faults.office_xml import cell, paragraph, row, run, styled, table, word
from tests.faults.small_files import ask, read

HIDDEN_STYLES = (
    '<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/>'
    '</w:rPr></w:style><w:style w:type="character" w:styleId="Deeper"><w:name w:val="Deeper"/>'
    '<w:basedOn w:val="Secret"/></w:style><w:style w:type="paragraph" w:styleId="Instruction">'
    '<w:name w:val="Instruction"/><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Raised"><w:name w:val="Raised"/><w:rPr>'
    '<w:vertAlign w:val="superscript"/></w:rPr></w:style>'
)
WIDE = '<w:gridSpan w:val="2"/>'
RAISED = '<w:vertAlign w:val="superscript"/>'


def text(body, **more):
    return read("a.docx", word(body, **more)).text


@pytest.mark.parametrize(
    "look",
    [
        *("<w:vanish/>", '<w:vanish w:val="1"/>', '<w:rStyle w:val="Secret"/>', "<w:strike/>"),
        *('<w:rStyle w:val="Deeper"/>', "<w:dstrike/>"),
    ],
)
def test_hidden_and_struck_text_is_left_out(look):
    body = f"<w:p>{run('The fee is ')}{run('900', look)}{run('750 crowns.')}</w:p>"
    assert text(body, styles=HIDDEN_STYLES) == "The fee is 750 crowns."
    hidden = table(("Fee", f"<w:p>{run('900', look)}{run('750')}</w:p>"), ("B", "C"))
    assert "900" not in text(hidden, styles=HIDDEN_STYLES)


def test_text_hidden_by_a_style_may_be_shown():
    shown = run("shown", '<w:vanish w:val="0"/>')
    body = f'<w:p><w:pPr><w:pStyle w:val="Instruction"/></w:pPr>{run("not ")}{shown}</w:p>'
    assert text(body, styles=HIDDEN_STYLES) == "shown"


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ((("30", ""), ("1", RAISED), (" crowns", "")), "30 [^1] crowns"),
        ((("30", ""), ("1", '<w:rStyle w:val="Raised"/>'), (" crowns", "")), "30 [^1] crowns"),
        ((("2", ""), ("1", RAISED), ("0", RAISED), (" pallets", "")), "2^10 pallets"),
        ((("3 x 10", ""), ("5", '<w:position w:val="8"/>'), (" litres", "")), "3 x 10^5 litres"),
        ((("12 m", ""), ("2", RAISED)), "12 m²"),
        ((("H", ""), ("2", '<w:vertAlign w:val="subscript"/>'), ("O", "")), "H2O"),
        ((("level", '<w:position w:val="1"/>'), (" text", "")), "level text"),
    ],
)
def test_raised_and_lowered_text(parts, shown):
    assert (
        text(f"<w:p>{''.join(run(*part) for part in parts)}</w:p>", styles=HIDDEN_STYLES) == shown
    )


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        ("<w:sym w:font='Wingdings' w:char='F0FE'/>", "a☑b"),
        ("<w:sym w:font='Wingdings' w:char='F0A8'/>", "a☐b"),
        ("<w:sym w:font='Symbol' w:char='F061'/>", "aαb"),
        ("<w:sym w:font='Symbol' w:char='F0B3'/>", "a≥b"),
        ("<w:sym w:font='Private' w:char='F0B3'/>", "ab"),
        ("<w:sym w:font='Symbol' w:char='zz'/>", "ab"),
        ("<w:noBreakHyphen/>", "a-b"),
        ("<w:softHyphen/>", "ab"),
        ("<w:tab/>", "a\tb"),
        ("<w:br/>", "a\nb"),
        ("<w:instrText> PAGEREF x </w:instrText>", "ab"),
        ("<w:delText>old</w:delText>", "ab"),
    ],
)
def test_special_characters(inner, shown):
    assert text(f"<w:p>{run('a')}<w:r>{inner}</w:r>{run('b')}</w:p>") == shown


def test_results_of_fields_and_the_bases_of_readings_are_read():
    begin, between, end = (
        f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")
    )
    field = f"{begin}<w:r><w:instrText> REF x </w:instrText></w:r>{between}{run('Table 2')}{end}"
    simple = f'<w:fldSimple w:instr=" PAGEREF y ">{run("14")}</w:fldSimple>'
    link = f'<w:hyperlink r:id="none">{run("the rules")}</w:hyperlink>'
    assert text(f"<w:p>{run('See ')}{field}{run(', page ')}{simple}{run(' of ')}{link}</w:p>") == (
        "See Table 2, page 14 of the rules"
    )
    reading = f"<w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase>"
    ruby = f"<w:r><w:ruby><w:rubyPr><w:hps w:val='10'/></w:rubyPr>{reading}</w:ruby></w:r>"
    assert text(f"<w:p>{ruby}{run('に行く')}</w:p>") == "東京に行く"


def test_tables_in_cells_stay_in_their_rows():
    hours = table(("Day", "Hours"), ("Monday", "8-12"), ("Tuesday", "9-13")) + paragraph("")
    plain = table(("Mon", "8-12"), ("Tue", "9-13")) + paragraph("by phone")
    body = table(("Station", "Open"), ("Vik", hours), ("Ulm", plain), ("Tor", "never"))
    assert text(body).split("\n")[2:] == [
        "| Vik | Day: Monday, Hours: 8-12; Day: Tuesday, Hours: 9-13 |",
        "| Ulm | Mon 8-12; Tue 9-13 by phone |",
        "| Tor | never |",
    ]


def test_tables_in_tables_in_tables_are_read_in_time():
    deep = paragraph("Deepest.")
    for _ in range(40):
        deep = table((deep, "a"), ("b", "c"))
    assert text(deep).count("Deepest.") == 1


def test_a_layout_of_long_tables_keeps_its_tables_and_the_names_of_its_rows():
    long = table(("Day", "Duty"), *((f"{n}", "A long duty of the pilot. " * 3) for n in range(9)))
    found = read("a.docx", word(table(("North", long), ("South", "none"))))
    labels = [block.label for block in found.blocks if block.kind == "box"]
    assert labels == ["North", "South"]
    assert "| Day | Duty |" in found.text


def test_merged_cells_count_for_each_row_and_column():
    start, on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    body = table(
        ("Region", "Site", "Load"),
        (cell("North", start), "Ulm", "4"),
        (cell("", on), "Vik", "3"),
        (cell("none at all", WIDE), "1"),
    )
    assert text(body).split("\n")[2:] == [
        *("| North | Ulm | 4 |", "| North | Vik | 3 |", "| none at all |  | 1 |"),
    ]
    skipped = (
        '<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>' + cell("Tor") + cell("2") + "</w:tr>"
    )
    first = "".join(map(row, (("Region", "Site", "Load"), ("North", "Ulm", "4"))))
    assert text(f"<w:tbl>{first}{skipped}</w:tbl>").endswith("|  | Tor | 2 |")


@pytest.mark.parametrize("marks", ["<w:trPr><w:tblHeader/></w:trPr>", ""])
def test_two_header_rows_are_joined(marks):
    start, on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    head = (
        f"<w:tr>{marks}{cell('Crane', start)}{cell('Load (t)', WIDE)}</w:tr>"
        f"<w:tr>{marks}{cell('', on)}{cell('Near')}{cell('Far')}</w:tr>"
    )
    rows = "".join(map(row, (("C1", "40", "18"), ("C2", "35", "15"))))
    assert text(f"<w:tbl>{head}{rows}</w:tbl>").split("\n") == [
        *("| Crane | Load (t) Near | Load (t) Far |", "| --- | --- | --- |"),
        *("| C1 | 40 | 18 |", "| C2 | 35 | 15 |"),
    ]


def test_a_row_over_the_whole_table_is_its_title():
    title = f"<w:tr>{cell('Loads of 2026', WIDE)}</w:tr>"
    rows = "".join(map(row, (("Crane", "Load"), ("C1", "40"), ("C2", "35"))))
    found = read("a.docx", word(f"<w:tbl>{title}{rows}</w:tbl>"))
    assert found.text.split("\n")[:3] == ["Loads of 2026", "", "| Crane | Load |"]
    assert [block.label for block in found.blocks if block.kind == "box"] == ["Loads of 2026"]


def test_deleted_rows_and_changes():
    gone = "<w:tr><w:trPr><w:del/></w:trPr>" + cell("Old") + cell("1") + "</w:tr>"
    rows = row(("Crane", "Load")) + gone + row(("C1", "40"))
    assert "Old" not in text(f"<w:tbl>{rows}</w:tbl>")
    body = (
        f"<w:p>{run('The fee is ')}<w:del><w:r><w:delText>900</w:delText></w:r></w:del>"
        f"<w:ins>{run('750')}</w:ins><w:moveFrom>{run(' there')}</w:moveFrom>"
        f"<w:moveTo>{run(' here')}</w:moveTo></w:p>"
    )
    assert text(body) == "The fee is 750 here"


def test_contents_are_left_out_wherever_they_are():
    gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    content = f"<w:sdtContent>{paragraph('Rent 3')}</w:sdtContent>"
    inner = f"<w:sdt><w:sdtPr>{gallery}</w:sdtPr>{content}</w:sdt>"
    body = (
        f"<w:customXml>{inner}</w:customXml>" + styled("Rent", "Heading1") + paragraph("It is 3.")
    )
    assert text(body) == "# Rent\n\nIt is 3."


def test_the_fee_comes_from_the_page(tmp_path):
    fee = f"<w:p>{run('The winter fee for a berth is 30')}{run('1', RAISED)}{run(' crowns.')}</w:p>"
    [answer] = ask(tmp_path, {"fee.docx": word(fee)}, "What is the winter fee for a berth?")
    assert "30 crowns" in answer
