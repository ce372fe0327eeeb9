"""Small files that unfold to much more than their size, or are slow to read, one builder each."""

import io
import itertools
import zipfile

from tests.indexing.office_files import make_docx, make_pptx, make_xlsx, make_zip

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def rewritten(data, changed):
    """Return an archive with some members replaced."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return make_zip(members | changed)


def sheet_of(rows, *, strings=""):
    """Return a workbook whose one sheet has these rows, in XML."""
    data = make_xlsx({"S": [["a", "b"], ["c", "d"]]})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        types = archive.read("[Content_Types].xml").decode()
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    return rewritten(
        data,
        {
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData>'
            "</worksheet>",
            "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}"><si><t>{strings}</t></si></sst>',
            "[Content_Types].xml": types.replace("</Types>", part),
        },
    )


def repeated_string_sheet(*, length=100_000, cells=3_000):
    """Return a workbook of which many cells refer to one long string."""
    row = '<row><c t="s"><v>0</v></c></row>'
    return sheet_of(row * cells, strings="word " * (length // 5))


def far_column_sheet(*, rows=20_000):
    """Return a workbook with one cell in the last column of each row."""
    cells = (f'<row r="{n}"><c r="XFD{n}"><v>{n}</v></c></row>' for n in range(1, rows + 1))
    return sheet_of("".join(cells))


def many_paragraphs(*, paragraphs=2_500_000, text="x"):
    """Return a Word document of many short paragraphs."""
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" * paragraphs
    document = f'<w:document xmlns:w="{w}"><w:body>{body}</w:body></w:document>'
    plain = make_docx(lambda d: d.add_paragraph("Fine."))
    return rewritten(plain, {"word/document.xml": document})


def repeated_page_book(*, times=20_000, characters=100_000):
    """Return a book whose spine names one page many times."""
    page = f"<html><body><p>{'word ' * (characters // 5)}</p></body></html>"
    return book_of({"p.xhtml": page}, ["p.xhtml"] * times)


def long_book(*, pages=200, characters=100_000):
    """Return a book of many pages, small as they repeat one word."""
    page = f"<html><body><p>{'word ' * (characters // 5)}</p></body></html>"
    names = [f"{number}.xhtml" for number in range(pages)]
    return book_of(dict.fromkeys(names, page), names)


def book_of(pages, spine):
    """Return a book of these pages by name, with the names in reading order."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b.opf"/></rootfiles></container>'
    )
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in pages)
    order = "".join(f'<itemref idref="{name}"/>' for name in spine)
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
        f"<spine>{order}</spine></package>"
    )
    return make_zip({"META-INF/container.xml": container, "b.opf": package, **pages})


def many_slide_paragraphs(*, paragraphs=400_000):
    """Return a presentation whose one slide has very many paragraphs."""
    data = make_pptx([("T", ["x"], "")])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    end = slide.rindex("</p:txBody>")
    more = "<a:p><a:r><a:t>word</a:t></a:r></a:p>" * paragraphs
    return rewritten(data, {"ppt/slides/slide1.xml": slide[:end] + more + slide[end:]})


def inflating_pdf(*, megabytes=400):
    """Return a PDF whose page has a content stream that unfolds to this size."""
    import zlib

    packer = zlib.compressobj(9)
    part = b"BT /F1 9 Tf 10 10 Td (word word word) Tj ET\n" * 20_000
    stream = b"".join(packer.compress(part) for _ in range(megabytes * 1_000_000 // len(part)))
    return make_pdf(stream + packer.flush())


def make_pdf(stream):
    """Return a PDF of one page with this deflated content stream."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n"
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(data + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start)


def nested_html(*, depth=1_000_000, tag="div"):
    return (f"<{tag}>" * depth + "word").encode()


def html_attributes(*, count=1_000_000):
    names = " ".join(f"a{number}=1" for number in range(count))
    return f"<html><body><p {names}>word</p></body></html>".encode()


def nested_json(*, depth=100_000):
    return ("[" * depth + "]" * depth).encode()


def many_mail_parts(*, parts=100_000):
    part = "--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nx\n"
    head = "From: a@example.org\nSubject: S\nMIME-Version: 1.0\n"
    return f'{head}Content-Type: multipart/mixed; boundary="b"\n\n{part * parts}--b--\n'.encode()


def nested_mail(*, depth=20_000):
    head = "From: a@example.org\nSubject: S\nMIME-Version: 1.0\n"
    return (head + "Content-Type: message/rfc822\n\n" * depth + "word").encode()


def wide_csv(*, columns=10_000_000):
    return b"a,b,c\n" + b"," * columns + b"x\n"


def entity_text(*, levels=9):
    """Return the "billion laughs" as a document of Word."""
    names = "abcdefghijklmnop"[: levels + 1]
    nested = itertools.pairwise(names)
    entities = "".join(f'<!ENTITY {new} "{10 * f"&{old};"}">' for old, new in nested)
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    text = f"<w:p><w:r><w:t>&{names[-1]};</w:t></w:r></w:p>"
    document = (
        f'<!DOCTYPE x [<!ENTITY a "haha">{entities}]>'
        f'<w:document xmlns:w="{w}"><w:body>{text}</w:body></w:document>'
    )
    plain = make_docx(lambda d: d.add_paragraph("Fine."))
    return rewritten(plain, {"word/document.xml": document})


def many_members(*, members=400_000):
    """Return an archive with more members than any document."""
    return make_zip({str(number): b"" for number in range(members)})


def nested_lists(*, depth=30_000):
    return "\n".join("  " * min(level, 200) + "- x" for level in range(depth)).encode()
