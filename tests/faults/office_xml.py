"""Write Word documents of hand-written XML, as Word and LibreOffice write it."""

import io
import re

import docx
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/"
_PREFIXES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": f"{_OFFICE}math",
    "r": f"{_OFFICE}relationships",
    "a": f"{_DRAWING}main",
    "c": f"{_DRAWING}chart",
    "dgm": f"{_DRAWING}diagram",
    "wp": f"{_DRAWING}wordprocessingDrawing",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
}
_DECLARED = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in _PREFIXES.items())


def declared(xml):
    """Return XML with the prefixes of Office declared in its first element."""
    return re.sub(r"^<([\w:]+)", rf"<\1 {_DECLARED}", xml, count=1)


def word(body, *, numbering="", styles="", parts=(), section=""):
    """Return a Word file; ``parts`` are (kind of relation, its id, XML) of the document."""
    document = docx.Document()
    inside = document.element.body
    for element in list(parse_xml(declared(f"<w:body>{body}</w:body>"))):
        inside.insert(len(inside) - 1, element)
    for element in reversed(list(parse_xml(declared(f"<w:sectPr>{section}</w:sectPr>")))):
        inside[-1].insert(0, element)
    if numbering:
        root = document.part.numbering_part.element
        root[:] = list(parse_xml(declared(f"<w:numbering>{numbering}</w:numbering>")))
    root = document.styles.element
    root.extend(list(parse_xml(declared(f"<w:styles>{styles}</w:styles>"))))
    for kind, key, xml in parts:
        name = PackURI(f"/word/{kind}-{key}.xml")
        part = Part(name, "application/xml", declared(xml).encode(), document.part.package)
        document.part.rels.add_relationship(f"{_OFFICE}relationships/{kind}", part, key)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def paragraph(text, properties="", look=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text, look)}</w:p>"


def run(text, look=""):
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def styled(text, style):
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def item(text, list_id, level=0, style=""):
    """Return a numbered paragraph."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/>'
    return paragraph(text, f"{named}<w:numPr>{place}</w:numPr>")


def level(number, form, text, start=1, more=""):
    """Return a level of a list; ``more`` is between its format and its text."""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def lists(definitions, instances):
    """Return the numbering of levels by the number of a definition, and of lists by theirs.

    A list is the number of its definition and its overrides.
    """
    return "".join(
        f'<w:abstractNum w:abstractNumId="{key}">{"".join(levels)}</w:abstractNum>'
        for key, levels in definitions.items()
    ) + "".join(
        f'<w:num w:numId="{key}"><w:abstractNumId w:val="{definition}"/>{overrides}</w:num>'
        for key, (definition, overrides) in instances.items()
    )


def table(*rows):
    """Return a table of rows, each of cells that are texts or XML."""
    return f"<w:tbl>{''.join(map(row, rows))}</w:tbl>"


def row(cells):
    return f"<w:tr>{''.join(map(cell, cells))}</w:tr>"


def cell(content, properties=""):
    inner = content if content.startswith("<") else paragraph(content)
    if inner.startswith("<w:tc>"):
        return inner
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"
