"""Structure of Word and PowerPoint files, by style or look, and the parts that are left out."""

import io

import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt
from pptx.oxml.ns import qn
from pptx.util import Inches
from tests.indexing.loading import blocks, leads, load, outline
from tests.indexing.office_files import make_docx

from knotwork.records import BlockKind

DEFINITION, BOX = BlockKind.DEFINITION, BlockKind.BOX


def add_bold(document, bold, rest="", **options):
    paragraph = document.add_paragraph(**options)
    paragraph.add_run(bold).bold = True
    paragraph.add_run(rest)
    return paragraph


def add_cells(document, rows):
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for line, cells in zip(rows, table.rows, strict=True):
        for text, cell in zip(line, cells.cells, strict=True):
            cell.text = text
    return table


def load_docx(build):
    return load("a.docx", make_docx(build))


def test_a_bold_beginning_with_a_sign_behind_it_is_a_term():
    def build(document):
        add_bold(document, "Timeout:", " The time to wait. It is 30 s.")
        add_bold(document, "Retries", " – How often to try.")
        add_bold(document, "保留期限：", "一年。到期删除。")
        add_bold(document, "Alice", " wrote this.")
        add_bold(document, "Note:", " Take care.")
        add_bold(document, "U.S.", " exports rose.")
        add_bold(document, "Example:", " Ask early.")
        document.add_paragraph("Plain: no term.")

    assert blocks(load_docx(build), DEFINITION) == [
        ("definition", "Timeout", "Timeout: The time to wait. It is 30 s."),
        ("definition", "Retries", "Retries – How often to try."),
        ("definition", "保留期限", "保留期限：一年。到期删除。"),
    ]


def test_styles_of_definitions_and_of_code():
    def build(document):
        for name in ("Definition Term", "Definition", "Source Code"):
            document.styles.add_style(name, 1)
        for term in ("-t seconds", "--timeout"):
            document.add_paragraph(term, style="Definition Term")
        document.add_paragraph("The time to wait.", style="Definition")
        document.add_paragraph("It is 30 s.", style="Definition")
        document.add_paragraph("Text.")
        document.add_paragraph("run:", style="Source Code")
        document.add_paragraph("    now", style="Source Code")

    assert blocks(load_docx(build), DEFINITION, BlockKind.CODE) == [
        (
            "definition",
            "-t seconds, --timeout",
            "**-t seconds, --timeout**\n\nThe time to wait.\n\nIt is 30 s.",
        ),
        ("code", "", "```\nrun:\n    now\n```"),
    ]


def test_a_term_without_a_description_is_a_paragraph():
    def build(document):
        document.styles.add_style("Definition Term", 1)
        document.styles.add_style("Definition", 1)
        document.add_paragraph("Alone.", style="Definition")
        document.add_paragraph("timeout", style="Definition Term")
        document.add_paragraph("Text.")

    assert blocks(load_docx(build)) == [
        ("paragraph", "", text) for text in ("Alone.", "timeout", "Text.")
    ]


def test_code_is_known_by_its_font_unless_all_text_has_it():
    def build(document):
        document.add_paragraph("It is restarted by a command of the shell, as here.")
        document.add_paragraph().add_run("gateway --restart").font.name = "Consolas"

    found = blocks(load_docx(build), BlockKind.CODE)
    assert found == [("code", "", "```\ngateway --restart\n```")]

    def typewritten(document):
        for text in ("A first paragraph.", "A second one."):
            document.add_paragraph().add_run(text).font.name = "Courier New"

    assert blocks(load_docx(typewritten), BlockKind.CODE) == []


def test_lists_have_their_lead_and_their_numbers():
    def build(document):
        document.add_paragraph("Some text. These are kept:")
        document.add_paragraph("logs", style="List Bullet")
        document.add_paragraph("of clients", style="List Bullet 2")
        document.add_paragraph("keys", style="List Bullet")
        document.add_paragraph("To restart:")
        document.add_paragraph("Stop it.", style="List Number")
        document.add_paragraph("It may take a minute.")
        document.add_paragraph("Start it.", style="List Number")

    document = load_docx(build)
    assert document.text.endswith(
        "- logs\n  - of clients\n- keys\n\nTo restart:\n\n1. Stop it.\n\nIt may take a minute.\n\n"
        "2. Start it."
    )
    assert blocks(document, BlockKind.LIST) == [
        ("list", "", "- logs\n  - of clients\n- keys"),
        ("list", "", "- of clients"),
        ("list", "", "1. Stop it."),
        ("list", "", "2. Start it."),
    ]
    assert [lead for _, lead in leads(document)] == ["These are kept:", "logs", "To restart:"]


def test_a_nested_list_is_led_into_by_its_item():
    def build(document):
        item = document.add_paragraph("Disks", style="List Bullet")
        number = parse_xml(
            f'<w:numPr {nsdecls("w")}><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>'
        )
        below = document.add_paragraph("30 TB", style="List Bullet")
        below._p.get_or_add_pPr().append(number)
        assert item is not below

    document = load_docx(build)
    assert leads(document) == [("list", "Disks")]
    assert blocks(document, BlockKind.ITEM)[0] == ("item", "", "- Disks\n  - 30 TB")


def test_an_item_has_its_bold_beginning_as_label():
    def build(document):
        add_bold(document, "Timeout", " – The time to wait.", style="List Bullet")
        document.add_paragraph("Retries: three", style="List Bullet")

    assert blocks(load_docx(build), BlockKind.ITEM, DEFINITION) == [
        ("item", "Timeout", "- Timeout – The time to wait."),
        ("item", "Retries", "- Retries: three"),
    ]


def test_captions_are_titles_of_tables_above_or_below():
    def build(document):
        document.add_paragraph("Table 1: Defaults", style="Caption")
        add_cells(document, [["Setting", "Default"], ["timeout", "30 s"]])
        document.add_paragraph("Table 2: Limits", style="Caption")
        add_cells(document, [["Setting", "Limit"], ["timeout", "90 s"]])

    rows = "| Setting | {} |\n| --- | --- |\n| timeout | {} |"
    assert blocks(load_docx(build), BOX) == [
        ("box", title, f"{title}\n\n{rows.format(*filled)}")
        for title, *filled in (
            ("Table 1: Defaults", "Default", "30 s"),
            ("Table 2: Limits", "Limit", "90 s"),
        )
    ]

    def below(document):
        add_cells(document, [["Setting", "Default"], ["timeout", "30 s"]])
        document.add_paragraph("Table 1. Defaults")
        document.add_paragraph("Figure 1. A drawing", style="Caption")
        add_cells(document, [["Setting", "Limit"], ["timeout", "90 s"]])
        document.add_paragraph("Table 2. Limits")

    found = blocks(load_docx(below), BOX)
    assert [label for _, label, _ in found] == ["Table 1. Defaults", "Figure 1. A drawing"]
    assert found[0][2].endswith("| timeout | 30 s |\n\nTable 1. Defaults")


def test_a_caption_of_nothing_is_a_paragraph():
    def build(document):
        document.add_paragraph("Figure 1. A drawing", style="Caption")
        document.add_paragraph("Listing 2: Restart")
        document.add_paragraph().add_run("gateway --restart").font.name = "Consolas"
        document.add_paragraph("It is restarted by a command of the shell.")

    document = load_docx(build)
    assert document.text.split("\n\n") == [
        *("Figure 1. A drawing", "Listing 2: Restart", "```\ngateway --restart\n```"),
        "It is restarted by a command of the shell.",
    ]
    assert [label for _, label, _ in blocks(document, BOX)] == ["Listing 2: Restart"]


def test_rows_have_their_keys_and_merged_cells_are_repeated():
    def build(document):
        table = add_cells(
            document,
            [["Region", "2022", "2023"], ["North", "120", "130"], ["", "80", "90"]],
        )
        table.cell(1, 0).merge(table.cell(2, 0))
        document.add_paragraph("The owners are:")
        add_cells(document, [["Owner:", "Ada"], ["Deputy:", "Alan. He is new."]])

    document = load_docx(build)
    assert document.text.split("\n\n") == [
        "| Region | 2022 | 2023 |\n| --- | --- | --- |\n| North | 120 | 130 |\n| North | 80 | 90 |",
        "The owners are:",
        "|  |  |\n| --- | --- |\n| Owner: | Ada |\n| Deputy: | Alan. He is new. |",
    ]
    assert blocks(document, BlockKind.ROW) == [
        ("row", "North", "| North | 120 | 130 |"),
        ("row", "North", "| North | 80 | 90 |"),
        ("row", "Owner", "| Owner: | Ada |"),
        ("row", "Deputy", "| Deputy: | Alan. He is new. |"),
    ]
    assert leads(document) == [("table", "The owners are:")]


def test_a_header_row_may_be_marked_or_bold():
    def build(document):
        table = add_cells(document, [["1", "2"], ["3", "4"]])
        header = table.rows[0]._tr.get_or_add_trPr()
        header.append(parse_xml(f"<w:tblHeader {nsdecls('w')}/>"))
        document.add_paragraph("Text.")
        table = add_cells(document, [["5", "6"], ["7", "8"]])
        for cell in table.rows[0].cells:
            cell.paragraphs[0].runs[0].bold = True

    tables = ("| 1 | 2 |\n| --- | --- |\n| 3 | 4 |", "| 5 | 6 |\n| --- | --- |\n| 7 | 8 |")
    assert load_docx(build).text == "\n\nText.\n\n".join(tables)


TEXT_BOX = (
    "<w:r {ns}><mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compat"
    "ibility/2006'><mc:Choice><w:txbxContent>{paragraphs}</w:txbxContent></mc:Choice><mc:Fallback>"
    "<w:txbxContent>{paragraphs}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>"
)


def test_boxes_have_titles():
    def build(document):
        cell = document.add_table(rows=1, cols=1).cell(0, 0)
        cell.paragraphs[0].add_run("Rollback").bold = True
        cell.add_paragraph("Install 2.3 again.")
        document.add_paragraph("Text.")
        cell = document.add_table(rows=1, cols=1).cell(0, 0)
        cell.text = "Warning"
        cell.add_paragraph("It may fail.")
        runs = "".join(
            f"<w:p><w:r><w:rPr>{bold}</w:rPr><w:t>{text}</w:t></w:r></w:p>"
            for bold, text in (("<w:b/>", "In brief"), ("", "It waits."))
        )
        box = parse_xml(TEXT_BOX.format(ns=nsdecls("w"), paragraphs=runs))
        document.add_paragraph("Anchor.")._p.append(box)

    document = load_docx(build)
    assert document.text.split("\n\n") == [
        *("Rollback", "Install 2.3 again.", "Text.", "It may fail.", "Anchor."),
        *("In brief", "It waits."),
    ]
    assert blocks(document, BOX) == [
        ("box", "Rollback", "Rollback\n\nInstall 2.3 again."),
        ("box", "", "It may fail."),
        ("box", "In brief", "In brief\n\nIt waits."),
    ]


def test_headings_without_styles_are_known_by_their_look():
    def build(document):
        for text, size in (("差旅规定", 20), ("住宿", 14), ("交通", 14)):
            add_bold(document, text).runs[0].font.size = Pt(size)
            document.add_paragraph("本规定适用于全体员工。超出部分自理。")
            document.add_paragraph("出差前应当申请。")

    assert outline(load_docx(build)) == [(1, "差旅规定"), (2, "住宿"), (2, "交通")]

    def styled(document):
        document.add_heading("Travel", 1)
        add_bold(document, "Hotels")
        document.add_paragraph("They are booked.")

    assert outline(load_docx(styled)) == [(1, "Travel")]

    def all_bold(document):
        add_bold(document, "One line")
        add_bold(document, "Another line")

    assert outline(load_docx(all_bold)) == []


def test_a_heading_may_be_of_a_style_that_inherits_from_one():
    def build(document):
        own = document.styles.add_style("House Heading", 1)
        own.base_style = document.styles["Heading 2"]
        document.add_paragraph("Hotels", style="House Heading")
        document.add_paragraph("They are booked.")

    assert outline(load_docx(build)) == [(2, "Hotels")]


def test_styles_that_inherit_in_a_circle_are_read():
    def build(document):
        one, two = document.styles.add_style("One", 1), document.styles.add_style("Two", 1)
        one.base_style, two.base_style = two, one
        document.add_paragraph("Text.", style="One")

    assert load_docx(build).text == "Text."


def test_contents_and_page_numbers_are_left_out_and_headers_are_at_the_end():
    def build(document):
        document.styles.add_style("toc 1", 1)
        document.add_paragraph("Hotels\t3", style="toc 1")
        document.add_heading("Hotels", 1)
        document.add_paragraph("They are booked.")
        section = document.sections[0]
        section.header.paragraphs[0].text = "ACME confidential"
        section.footer.paragraphs[0].text = "Page 3"

    assert load_docx(build).text == "# Hotels\n\nThey are booked.\n\nACME confidential"


def make_deck(build):
    presentation = pptx.Presentation()

    def add(layout, title, items=()):
        slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
        slide.shapes.title.text = title
        for number, (level, text) in enumerate(items):
            frame = slide.placeholders[1].text_frame
            paragraph = frame.add_paragraph() if number else frame.paragraphs[0]
            paragraph.text, paragraph.level = text, level
        return slide

    build(add)
    out = io.BytesIO()
    presentation.save(out)
    return load("a.pptx", out.getvalue())


def add_text(slide, text):
    box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1))
    box.text_frame.text = text
    return box.text_frame


TITLE, CONTENT, PART, TITLE_ONLY = 0, 1, 2, 5


def test_slides_below_a_part_are_below_its_heading():
    def build(add):
        add(TITLE, "Review")
        add(PART, "Storage")
        add(CONTENT, "Disks", [(0, "One.")])

    assert outline(make_deck(build)) == [(1, "Review"), (1, "Storage"), (2, "Disks")]


def test_lists_of_slides_have_their_leads():
    def build(add):
        add(CONTENT, "Storage", [(0, "Disks"), (1, "30 TB"), (0, "Tapes"), (1, "none")])
        add(CONTENT, "Rules", [(0, "A change needs:"), (0, "a ticket"), (0, "a review")])

    document = make_deck(build)
    assert blocks(document, BlockKind.LIST) == [
        ("list", "", "- Disks\n  - 30 TB\n- Tapes\n  - none"),
        ("list", "", "- 30 TB"),
        ("list", "", "- none"),
        ("list", "", "- a ticket\n- a review"),
    ]
    assert [lead for _, lead in leads(document)] == ["Disks", "Tapes", "A change needs:"]


def test_tables_code_and_notes_of_slides():
    def build(add):
        slide = add(TITLE_ONLY, "Costs")
        table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
        rows = [["Region", "2022", "2023"], ["North", "120", "130"], ["", "80", "90"]]
        for line, row in zip(rows, table.rows, strict=True):
            for text, cell in zip(line, row.cells, strict=True):
                cell.text = text
        table.cell(1, 0).merge(table.cell(2, 0))
        add_text(slide, "run --now").paragraphs[0].runs[0].font.name = "Courier New"
        slide.notes_slide.notes_text_frame.text = "Costs rose in May.\nThey fell in June."

    document = make_deck(build)
    assert document.text.split("\n\n") == [
        "# Costs",
        "| Region | 2022 | 2023 |\n| --- | --- | --- |\n| North | 120 | 130 |\n| North | 80 | 90 |",
        "```\nrun --now\n```",
        "Costs rose in May.",
        "They fell in June.",
    ]
    assert blocks(document, BlockKind.CODE, BOX) == [
        ("code", "", "```\nrun --now\n```"),
        ("box", "Speaker notes", "Costs rose in May.\n\nThey fell in June."),
    ]


@pytest.mark.parametrize(("slides", "kept"), [(3, True), (4, False)])
def test_text_repeated_on_most_slides_is_left_out(slides, kept):
    def build(add):
        for number in range(slides):
            slide = add(CONTENT, "Title", [(0, f"Unlike {'abcd'[number]}.")])
            add_text(slide, f"ACME confidential, slide {number + 1}")

    text = make_deck(build).text
    assert ("ACME confidential" in text) is kept
    assert text.count("Title") == slides
    assert text.count("Unlike") == slides


def number(slide, paragraphs, **attributes):
    """Let some paragraphs of a slide be numbered by PowerPoint."""
    for place in paragraphs:
        properties = slide.placeholders[1].text_frame.paragraphs[place]._p.get_or_add_pPr()
        mark = properties.makeelement(qn("a:buAutoNum"), {"type": "arabicPeriod", **attributes})
        properties.append(mark)


@pytest.mark.parametrize(
    ("items", "numbered", "attributes", "text"),
    [
        (
            [(0, "Do this:"), (1, "Close it."), (1, "Start it.")],
            (1, 2),
            {},
            "1. Close it.\n2. Start it.",
        ),
        ([(0, "请操作："), (1, "关门。"), (1, "启动。")], (1, 2), {}, "1. 关门。\n2. 启动。"),
        (
            [(0, "Open it."), (1, "not by hand"), (0, "Look.")],
            (0, 2),
            {"startAt": "4"},
            "4. Open it.\n   - not by hand\n5. Look.",
        ),
        ([(0, "1. Darken it."), (0, "2. Hold it.")], (), {}, "1. Darken it.\n2. Hold it."),
        ([(0, "1、关灯。"), (0, "2、照蛋。")], (), {}, "1. 关灯。\n2. 照蛋。"),
        ([(0, "• Grain"), (0, "• Grit")], (), {}, "- Grain\n- Grit"),
        ([(0, "a) Grain"), (0, "b) Grit")], (), {}, "- a) Grain\n- b) Grit"),
    ],
)
def test_steps_of_a_slide_are_numbered(items, numbered, attributes, text):
    document = make_deck(lambda add: number(add(1, "Eggs", items), numbered, **attributes))
    assert document.text.split("\n\n")[-1] == text
