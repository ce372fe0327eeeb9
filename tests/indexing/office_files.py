"""Small files of every format, made on the spot."""

import email.message
import io
import json
import zipfile

import docx
import openpyxl
import pptx
import pypdfium2
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter

from knotwork._indexing.loaders.loader import can_recognise

PDF_FONTS = {"F1": "Helvetica", "FB": "Helvetica-Bold", "FM": "Courier"}
PDF_WIDE_FONTS = {"FW": "UniGB-UCS2-H", "FWB": "UniGB-UCS2-H", "FG": "GBK-EUC-H"}
"""Fonts of Chinese by the encoding of their text; FWB is bold."""

GLYPH_MAPPING = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
2 beginbfrange
<0020> <0020> <003D>
<0021> <007E> <0021>
endbfrange
2 beginbfchar
<0200> <D835DEFC>
<0201> <D840DC00>
endbfchar
endcmap"""
"""Codes that are numbers of glyphs, none of them a space: glyph 32 is "=", 512 a letter of formulas
and 513 a rare Chinese character, both above U+FFFF."""


def escaped(text):
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def printed(text, y, *, x=72, size=10, font="F1"):
    """Return a line of a PDF page that stands in a place of its own."""
    return (f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped(text)}) Tj ET",)


def printed_wide(text, y, *, x=72, size=10, font="FW"):
    """Return a line of Chinese that stands in a place of its own."""
    encoding = "gbk" if font == "FG" else "utf-16-be"
    shown = text.encode(encoding).hex()
    return (f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm <{shown}> Tj ET",)


def printed_glyphs(words, y, *, gap, x=72, size=10):
    """Return a line of words in a font without a space, as XeTeX makes it; ``gap`` is in 1/1000."""
    shown = f" {-gap} ".join(f"<{word.encode('utf-16-be').hex()}>" for word in words)
    return (f"BT /FX {size} Tf 1 0 0 1 {x} {y} Tm [{shown}] TJ ET",)


def wide_fonts(mapping):
    """Return the entries of Chinese fonts, and of one whose codes are glyphs, without a space."""
    described = "<< /Type /FontDescriptor /FontName /{0} /Flags 4 /FontBBox [0 0 1000 1000] >>"
    composite = (
        "/{key} << /Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /{encoding} {mapping} "
        "/DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{name} "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> {widths} "
        "/FontDescriptor {descriptor} >>] >>"
    )
    fonts = [
        composite.format(
            key=key,
            name=(name := "SimHei-Bold" if key == "FWB" else "SimSun"),
            encoding=encoding,
            mapping="",
            widths="/DW 1000",
            descriptor=described.format(name),
        )
        for key, encoding in PDF_WIDE_FONTS.items()
    ]
    fonts.append(
        composite.format(
            key="FX",
            name="ABCDEF+Serif",
            encoding="Identity-H",
            mapping=f"/ToUnicode {mapping} 0 R",
            widths="/DW 600 /W [32 [838] 65 90 600 97 122 500]",
            descriptor=described.format("ABCDEF+Serif"),
        )
    )
    return " ".join(fonts)


def make_pdf(pages, *, title="", password="", owner_password="", bookmarks=(), algorithm="AES-256"):
    """Make a PDF of text pages, each a list of lines; bookmarks are (title, page, level).

    A line is a text, or `printed` in a place and font of its own.
    """
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /MacRomanEncoding >>"
        for name, font in PDF_FONTS.items()
    )
    objects.append(f"<< {fonts} {wide_fonts(4 + 2 * len(pages))} >>")
    for number, lines in enumerate(pages):
        plain = " T* ".join(f"({escaped(line)}) Tj" for line in lines if isinstance(line, str))
        placed = " ".join(line[0] for line in lines if not isinstance(line, str))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {plain} ET {placed}"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font 3 0 R >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Length {len(GLYPH_MAPPING)} >>\nstream\n{GLYPH_MAPPING}\nendstream")
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    data += (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF".encode()
    )
    if not (title or password or owner_password or bookmarks):
        return data
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    if title:
        writer.add_metadata({"/Title": title, "/Author": "Ada", "/CreationDate": "D:20240131"})
    above = {}
    for name, page, level in bookmarks:
        above[level] = writer.add_outline_item(
            title=name, page_number=page, parent=above.get(level - 1)
        )
    if password or owner_password:
        writer.encrypt(password, owner_password=owner_password or None, algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_docx(build, **properties):
    document = docx.Document()
    build(document)
    for name, value in properties.items():
        setattr(document.core_properties, name, value)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def simple_docx():
    def build(document):
        document.add_paragraph("A plain paragraph. With two.")
        document.add_paragraph("item", style="List Number")
        document.add_paragraph("Table 1", style="Caption")
        cells = document.add_table(rows=2, cols=2)._cells
        for number, cell in enumerate(cells):
            cell.text = f"cell {number}"
        cells[0].merge(cells[2])

    return make_docx(build)


def make_pptx(slides, **properties):
    """Make a presentation of (title, bullet lines, notes) slides."""
    presentation = pptx.Presentation()
    for title, bullets, notes in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(bullets)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    for name, value in properties.items():
        setattr(presentation.core_properties, name, value)
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def make_xlsx(sheets, **properties):
    """Make a workbook of {sheet name: rows}."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    for name, value in properties.items():
        setattr(workbook.properties, name, value)
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def make_epub(chapters, *, title="A Book", extra=None):
    """Make a book of XHTML bodies."""
    items = "".join(f'<item id="c{n}" href="text/c{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title><dc:creator>Jane '
        "Doe</dc:creator><dc:creator>John Roe</dc:creator><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    files = {"META-INF/container.xml": container, "OEBPS/book.opf": package}
    for number, body in enumerate(chapters):
        page = (
            f"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head>{body}</html>"
        )
        files[f"OEBPS/text/c{number}.xhtml"] = page
    return make_zip({"mimetype": "application/epub+zip", **files, **(extra or {})})


def make_zip(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def make_eml():
    message = email.message.EmailMessage()
    message["From"], message["To"] = "Ada <ada@example.org>", "alan@example.org"
    message["Subject"], message["Date"] = "Travel in März", "Wed, 31 Jan 2024 10:00:00 +0000"
    message.set_content("Dear Alan,\n\nthe trip is approved.\n")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="ticket.pdf")
    return bytes(message)


def draw_page(lines, *, size=(1_240, 1_754), turned=0):
    """Draw a page of (x, y, text) in pixels, turned by so many degrees."""
    page = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(page)
    for x, y, text in lines:
        pen.text((x, y), text, font=ImageFont.load_default(26), fill="black")
    return page.rotate(turned, fillcolor="white", resample=Image.Resampling.BICUBIC)


def make_picture(*pages, form="PNG", **options):
    """Return the bytes of a picture file, of a TIFF or PDF with all pages."""
    out = io.BytesIO()
    if form in {"TIFF", "PDF"}:
        options |= {"save_all": True, "append_images": pages[1:]}
    if form == "PDF":
        options |= {"resolution": 150}
    pages[0].save(out, form, **options)
    return out.getvalue()


LEAST_BYTES_OF_A_FIGURE = 18_000


def make_diagram(lines, size=(700, 600)):
    """Return a PNG of lines that is larger than an icon.

    The narrower a picture is, the longer it takes: its short side is enlarged to 736 pixels.
    """
    data = make_picture(draw_page(lines, size=size))
    return data + b"\0" * max(0, LEAST_BYTES_OF_A_FIGURE - len(data))


def word_file(*pictures, before="The drawing shows the cooling circuit."):
    """Return a Word document with pictures between two paragraphs."""
    document = docx.Document()
    document.add_paragraph(before)
    for picture in pictures:
        document.add_picture(io.BytesIO(picture))
    document.add_paragraph("It was installed in 2019.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def with_pictures(data, *placed, turned=0):
    """Return a PDF with pictures at (page, picture, (left, bottom, width, height))."""
    document = pypdfium2.PdfDocument(data)
    for number, picture, (left, bottom, width, height) in placed:
        page = document[number]
        shown = pypdfium2.PdfImage.new(document)
        shown.load_jpeg(io.BytesIO(make_picture(picture, form="JPEG", quality=92)))
        shown.set_matrix(pypdfium2.PdfMatrix().scale(width, height).translate(left, bottom))
        page.insert_obj(shown)
        if turned:
            page.set_rotation(turned)
        page.gen_content()
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def join(*files):
    """Return a PDF with the pages of several."""
    writer = PdfWriter()
    for file in files:
        writer.append(PdfReader(io.BytesIO(file)))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def small_picture():
    """Return a PNG with one line of text."""
    return make_picture(draw_page([(10, 10, "The pump runs.")], size=(240, 200)))


NOTEBOOK_CELLS = [
    {"cell_type": "markdown", "source": ["# One\n", "Text."]},
    {
        "cell_type": "code",
        "source": "print(1)",
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
            {"data": {"text/html": "<table><tr><th>a<th>b<tr><td>1<td>2</table>"}},
        ],
    },
]
RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset134 SimSun;}}{\stylesheet{\s1 heading 1;}}"
    rb"\pard\s1 One\par\pard T\'e4xt{\footnote a note} \u8364? {\f0\'b8\'db}.\par"
    rb"{\listtext\'b7\tab}item\par\pard\intbl a\cell b\cell\row\intbl 1\cell 2\cell\row\pard }"
)
TEX = (
    rb"\title{T\"urm}\begin{document}\section{One}\label{x} Text~\cite{y} $x_1$\footnote{z}.\begin"
    rb"{itemize}\item a\item[b] c\end{itemize}\begin{tabular}{ll}1&2\\3&4\end{tabular}"
    rb"\begin{verbatim}code\end{verbatim}\begin{equation}x\end{equation}\end{document}"
)
ODF_TEXT = (
    "<office:text><text:h text:outline-level='1'>One</text:h><text:p>Text<text:note>"
    "<text:note-citation>1"
    "</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body>"
    "</text:note>.</text:p>"
    "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list><table:table>"
    "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
    "<table:table-cell><text:p>b"
    "</text:p></table:table-cell></table:table-row></table:table></office:text>"
)
ODF_SHEET = (
    "<office:spreadsheet><table:table table:name='Data'>{}</table:table></office:spreadsheet>"
).format(
    "".join(
        "<table:table-row>{}</table:table-row>".format(
            "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        )
        for row in (("name", "age"), ("Ada", "36"))
    )
)
_ODF = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
_ODF_PREFIXES = {
    **{name: name for name in ("office", "text", "table", "style", "presentation", "meta")},
    "draw": "drawing",
    "fo": "xsl-fo-compatible",
    "number": "datastyle",
}
ODF_NAMES = " ".join(f'xmlns:{key}="{_ODF.format(name)}"' for key, name in _ODF_PREFIXES.items())
ODF_NAMES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'


def make_odf(body, *, styles="", meta=""):
    """Return a file of OpenDocument with this body, its automatic styles and its metadata."""
    parts = {
        "content": f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}"
    }
    parts["content"] += "</office:body>"
    parts["meta"] = f"<office:meta>{meta}</office:meta>"
    xml = {
        f"{name}.xml": f"<office:document-{name} {ODF_NAMES}>{held}</office:document-{name}>"
        for name, held in parts.items()
    }
    return make_zip({"META-INF/manifest.xml": "<manifest/>", **xml})


def one_of_each():
    """Return a small sound file of each format that can be read here, by file name."""
    pictures = {"a.png": small_picture()} if can_recognise() else {}
    return pictures | {
        "a.txt": b"A title line\n\nSome text. More text.",
        "a.md": b"---\ntitle: T\n---\n# One\n\nText.\n",
        "a.rst": b"One\n===\n\nText.\n",
        "a.log": b"2024-01-31 10:00 started\n2024-01-31 10:01 stopped\n",
        "a.html": b"<html><body><h1>One</h1><p>Text.</p></body></html>",
        "a.pdf": make_pdf([["Hello world."]]),
        "a.docx": simple_docx(),
        "a.pptx": make_pptx([("Title", ["one", "two"], "note")]),
        "a.xlsx": make_xlsx({"Data": [["name", "age"], ["Ada", 36]]}),
        "a.csv": b"name,age\nAda,36\nAlan,41\n",
        "a.tsv": b"name\tage\nAda\t36\n",
        "a.json": json.dumps({"title": "One", "text": "Text."}).encode(),
        "a.jsonl": b'{"title": "One", "text": "Text."}\n{"title": "Two", "text": "More."}\n',
        "a.epub": make_epub(["<body><h1>One</h1><p>Text.</p></body>"]),
        "a.eml": make_eml(),
        "a.srt": b"1\n00:00:01,000 --> 00:00:03,000\nThe pump runs.\n",
        "a.ics": b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Crane\nDTSTART:20260512T090000\nDURATION:"
        b"PT2H\nRRULE:FREQ=WEEKLY;BYDAY=1MO\nEND:VEVENT\nEND:VCALENDAR\n",
        "a.ipynb": json.dumps({"nbformat": 4, "cells": NOTEBOOK_CELLS}).encode(),
        "a.rtf": RTF,
        "a.odt": make_odf(ODF_TEXT),
        "a.ods": make_odf(ODF_SHEET),
        "a.enex": b"<en-export><note><title>Gate</title><content><![CDATA[<en-note>The gate code "
        b"is "
        b"4711.</en-note>]]></content><resource><data>VGhlIGdhdGUu</data><mime>text/plain</mime>"
        b"</resource></note></en-export>",
        "a.tex": TEX,
        "a.adoc": b"= One\n\nText.\n\n* a\n** b\n\n|===\n|x |y\n\n|1 |2\n|===\n\n----\ncode\n"
        b"----\n",
    }
