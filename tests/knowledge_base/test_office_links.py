"""Links of Word documents and PDF files lead where they lead on the page."""

import io

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

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
    with knotwork.open("memory:", embedding_model="none") as kb:
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
