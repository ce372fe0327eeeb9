"""Links of Word documents and PDF files lead where they lead on the page, replies to messages."""

import io

import docx
import openpyxl
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl.worksheet.hyperlink import Hyperlink

import knotwork

FIELD = (
    f'<w:p {nsdecls("w")}><w:r><w:t>As </w:t></w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    "<w:r><w:instrText> REF _Ref1 \\h </w:instrText></w:r>"
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>the costs</w:t></w:r>'
    '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> say.</w:t></w:r></w:p>'
)


def make_word(*, url):
    """Return a document with a hyperlink, one to a bookmark, and a cross-reference."""
    document = docx.Document()
    document.add_heading("Plan", 1)
    paragraph = document.add_paragraph("Read ")
    relation = document.part.relate_to(
        url,
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink",
        is_external=True,
    )
    for attribute, words in ((f'r:id="{relation}"', "the setup"), ('w:anchor="_Ref1"', "below")):
        paragraph._p.append(
            parse_xml(
                f"<w:hyperlink {nsdecls('w', 'r')} {attribute}>"
                f"<w:r><w:t>{words}</w:t></w:r></w:hyperlink>"
            )
        )
    document.element.body.append(parse_xml(FIELD))
    heading = document.add_heading("Costs", 2)
    heading._p.insert(0, parse_xml(f'<w:bookmarkStart {nsdecls("w")} w:id="1" w:name="_Ref1"/>'))
    document.add_paragraph("It costs 4.")
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def led(folder, uri):
    """Index a folder, and return the words of each link, its document and the section there."""
    with knotwork.open("memory:", embedding_model="none", index_workers=0) as kb:
        kb.index(folder)
        links = kb.graph.links(f"docs/{uri}", direction="out")
    return [(link.words, link.document, link.section) for link in links]


def test_links_and_cross_references_of_word(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "plan.docx").write_bytes(make_word(url="set%20up.md#power"))
    (folder / "set up.md").write_text("# Setup\n\nAll.\n\n## Power\n\nUse 12 volts.")
    assert led(folder, "plan.docx") == [
        ("the setup", "docs/set up.md", "Power"),
        ("below", "docs/plan.docx", "Costs"),
        ("the costs", "docs/plan.docx", "Costs"),
    ]


def test_a_reply_links_to_the_message_that_it_answers(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "first.eml").write_text(
        "From: a@x.org\nSubject: Crane\nMessage-ID: <One@x.org>\n\nIt comes on 12 May.\n"
    )
    (folder / "reply.eml").write_text(
        "From: b@x.org\nSubject: Re: Crane\nMessage-ID: <two@x.org>\n"
        "References: <zero@x.org>\n <One@x.org>\n\nThank you.\n"
    )
    assert led(folder, "reply.eml") == [("Re: Crane", "docs/first.eml", "")]


PDF = """%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 7 0 R >> >>
/Contents 5 0 R /Annots [
<< /Type /Annot /Subtype /Link /Rect [70 695 160 712] /A << /S /URI /URI (setup.md#power) >> >>
<< /Type /Annot /Subtype /Link /Rect [70 655 160 672] /Dest [4 0 R /Fit] >> ] >> endobj
4 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 7 0 R >> >>
/Contents 6 0 R >> endobj
5 0 obj << /Length 96 >> stream
BT /F1 12 Tf 72 700 Td (Read the setup) Tj 0 -40 Td (See the costs) Tj ET
endstream endobj
6 0 obj << /Length 60 >> stream
BT /F1 12 Tf 72 700 Td (It costs 4 crowns.) Tj ET
endstream endobj
7 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
trailer << /Root 1 0 R /Size 8 >>
%%EOF"""


def test_links_of_pdf_files_lead_to_files_and_pages(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "plan.pdf").write_text(PDF)
    (folder / "setup.md").write_text("# Setup\n\nAll.\n\n## Power\n\nUse 12 volts.")
    with knotwork.open("memory:", embedding_model="none", index_workers=0) as kb:
        kb.index(folder)
        links = kb.graph.links("docs/plan.pdf", direction="out")
    assert [(link.words, link.document, link.part) for link in links] == [
        ("Read the setup", "docs/setup.md", "power"),
        ("See the costs", "docs/plan.pdf", "page=2"),
    ]
    assert links[1].start is not None


def test_links_of_cells(tmp_path):
    book = openpyxl.Workbook()
    sheet, notes = book.active, book.create_sheet("Notes")
    for row in (["Port", "Plan"], ["Vik", "the plan"], ["Ulm", '=HYPERLINK("ulm.md","the lock")']):
        sheet.append(row)
    sheet.append(["Bo", "see notes"])
    notes.append(["Item", "Closed"])
    sheet["B2"].hyperlink = "vik.md"
    sheet["B4"].hyperlink = Hyperlink(ref="B4", location="Notes!A1")
    folder = tmp_path / "docs"
    folder.mkdir()
    book.save(folder / "ports.xlsx")
    for name in ("vik", "ulm"):
        (folder / f"{name}.md").write_text("Open.")
    assert led(folder, "ports.xlsx") == [
        ("the plan", "docs/vik.md", ""),
        ("the lock", "docs/ulm.md", ""),
        ("see notes", "docs/ports.xlsx", "Notes"),
    ]
