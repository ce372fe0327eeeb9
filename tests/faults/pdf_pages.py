"""Make PDF files of pages as programs write them: turned, with forms, with fonts of all kinds."""

from tests.indexing.office_files import GLYPH_MAPPING, PDF_FONTS, escaped


def text(*lines, size=11, font="F1"):
    """Return the content of a page of lines (x, y, text), in points from the lower left."""
    return " ".join(
        f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped(line)}) Tj ET" for x, y, line in lines
    )


SIGNS = "".join(map(chr, (*range(0x20, 0x7F), *range(0x5D0, 0x5EB), *range(0x621, 0x64B))))
"""The characters of the font FT by their codes: Latin, Hebrew and Arabic, and a few others."""
SIGNS += "港は午前七時に開きます。管理人田中さんで"


def glyphs(x, y, shown, *, size=11, shift=0):
    """Return a line in the font FT, its characters from left to right as they are shown.

    A ``shift`` in thousandths of the size moves each of them to the left.
    """
    codes = f" {shift} ".join(f"<{SIGNS.index(sign):02x}>" for sign in shown)
    return f"BT /FT {size} Tf 1 0 0 1 {x} {y} Tm [{codes}] TJ ET"


def _drawn_font():
    """Return a font whose characters are all drawn as a box, and their mapping."""
    codes = range(len(SIGNS))
    found = "\n".join(f"<{code:02x}> <{ord(SIGNS[code]):04x}>" for code in codes)
    mapping = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange\n"
        f"<00> <FF>\nendcodespacerange\n{len(SIGNS)} beginbfchar\n{found}\nendbfchar\nendcmap"
    )
    box = "600 0 0 0 500 700 d1 0 0 500 700 re f"
    names = " ".join(f"/g{code}" for code in codes)
    drawn = " ".join(f"/g{code} 6 0 R" for code in codes)
    font = (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 800] /FontMatrix [.001 0 0 .001 0 0] "
        f"/Encoding << /Type /Encoding /Differences [0 {names}] >> /CharProcs << {drawn} >> "
        f"/FirstChar 0 /LastChar {len(SIGNS) - 1} /Widths [{'600 ' * len(SIGNS)}] "
        "/Resources << >> /ToUnicode 5 0 R >>"
    )
    return font, _stream(mapping), _stream(box)


def _stream(content):
    return f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"


def turned(turn, *lines, size=11):
    """Return lines (along, up, text) that are turned to the left by quarters, on a page."""
    cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[turn]
    found = []
    for along, up, line in lines:
        x, y = ((along, up), (612 - up, along), (612 - along, 792 - up), (up, 792 - along))[turn]
        matrix = f"{cos} {sin} {-sin} {cos} {x} {y}"
        found.append(f"BT /F1 {size} Tf {matrix} Tm ({escaped(line)}) Tj ET")
    return " ".join(found)


def widget(kind, name, rect, value="", **entries):
    """Return a field of a form, which is at (left, bottom, right, top)."""
    held = " ".join(f"/{key} {entry}" for key, entry in entries.items())
    value = f"/V ({escaped(value)})" if value else ""
    return (
        f"<< /Type /Annot /Subtype /Widget /FT /{kind} /T ({name}) {value} "
        f"/Rect [{' '.join(map(str, rect))}] {held} >>"
    )


def box(name, rect, *, state="Off", on="Yes", **entries):
    """Return a check box that is on in the state named ``on``."""
    shown = f"<< /N << /{on} << /Length 0 >> /Off << /Length 0 >> >> >>"
    return widget("Btn", name, rect, AS=f"/{state}", V=f"/{state}", AP=shown, **entries)


def comment(kind, rect, contents, **entries):
    held = " ".join(f"/{key} {entry}" for key, entry in entries.items())
    return (
        f"<< /Type /Annot /Subtype /{kind} /Rect [{' '.join(map(str, rect))}] "
        f"/Contents ({escaped(contents)}) {held} >>"
    )


def make(*pages, fields=(), rotate=0, catalog="", mapping=GLYPH_MAPPING, annotations=()):
    """Make a PDF of contents of pages; fields and annotations are on the first page.

    ``mapping`` is that of the font FX, whose codes are numbers of glyphs; "" for none.
    """
    objects = {1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>"}
    first, marks = 10, [*fields, *annotations]
    ids = range(first, first + len(marks))
    objects |= dict(zip(ids, marks, strict=True))
    if fields:
        listed = " ".join(f"{number} 0 R" for number in ids[: len(fields)])
        objects[1] = objects[1].replace(" >>", f" /AcroForm << /Fields [{listed}] >> >>")
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        for name, font in PDF_FONTS.items()
    )
    to_unicode = "/ToUnicode 4 0 R" if mapping else ""
    drawn, objects[5], objects[6] = _drawn_font()
    objects[3] = (
        f"<< {fonts} /FT {drawn} /FX << /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Body "
        f"/Encoding /Identity-H {to_unicode} "
        "/DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 "
        "/BaseFont /ABCDEF+Body /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) "
        "/Supplement 0 >> /DW 600 /FontDescriptor << /Type /FontDescriptor /FontName "
        "/ABCDEF+Body /Flags 4 /FontBBox [0 0 1000 1000] >> >>] >> >>"
    )
    objects[4] = _stream(mapping)
    after = first + len(marks)
    kids = []
    for number, content in enumerate(pages):
        at = after + 2 * number
        kids.append(f"{at} 0 R")
        shown = " ".join(f"{n} 0 R" for n in ids) if not number else ""
        objects[at] = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font 3 0 R >> "
            f"/Rotate {rotate} /Annots [{shown}] /Contents {at + 1} 0 R >>"
        )
        objects[at + 1] = _stream(content)
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    data = b"%PDF-1.7\n"
    offsets = {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(data)
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = len(data)
    data += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in sorted(offsets.items()):
        data += f"{number} 1\n{offset:010d} 00000 n \n".encode()
    size = max(offsets) + 1
    return data + f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF".encode()
