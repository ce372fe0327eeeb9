"""Write the DOCX and the PDF of the bundled sample from their Markdown sources.

Run it after a change to `scripts/sample/`: `python scripts/build_sample.py`. The results are kept
in the repository, so that neither an installation nor the demo needs to make them.
"""

from __future__ import annotations

import argparse
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import docx
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

SOURCES = Path(__file__).parent / "sample"
TARGET = Path(__file__).parents[1] / "src" / "knotwork" / "demo" / "sample" / "en"
WRITTEN = datetime(2024, 7, 1, tzinfo=UTC)
A4_POINTS = (595, 842)
MARGIN_POINTS = 72


def write_docx(source: Path, target: Path) -> None:
    """Write a Word document with real heading styles."""
    document = docx.Document()
    for paragraph in source.read_text(encoding="utf-8").strip().split("\n\n"):
        marks, _, title = paragraph.partition(" ")
        if set(marks) == {"#"}:
            document.add_heading(title, level=len(marks))
        else:
            document.add_paragraph(paragraph)
    document.core_properties.author = "Selkwood Instruments"
    document.core_properties.title = "Travel policy"
    document.core_properties.created = document.core_properties.modified = WRITTEN
    document.save(str(target))


def write_pdf(source: Path, target: Path) -> None:
    """Write a PDF with one page for each part between `---` lines, text set in Helvetica."""
    writer = PdfWriter()
    for part in source.read_text(encoding="utf-8").strip().split("\n\n---\n\n"):
        page = writer.add_blank_page(*A4_POINTS)
        regular, bold = _font("Helvetica"), _font("Helvetica-Bold")
        fonts = DictionaryObject({NameObject("/F1"): regular, NameObject("/F2"): bold})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(_typeset(part))
        page[NameObject("/Contents")] = writer._add_object(content)  # noqa: SLF001
    writer.add_metadata({"/Title": "Annual report 2023", "/Author": "Selkwood Instruments"})
    with target.open("wb") as file:
        writer.write(file)


def _font(name: str) -> DictionaryObject:
    return DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject(f"/{name}"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )


def _typeset(part: str) -> bytes:
    lines = ["BT", f"{MARGIN_POINTS} {A4_POINTS[1] - MARGIN_POINTS} Td"]
    for paragraph in part.split("\n\n"):
        heading = paragraph.startswith("#")
        size = 16 if heading else 11
        lines += [f"/F{2 if heading else 1} {size} Tf", f"{size + 4} TL"]
        for line in textwrap.wrap(paragraph.lstrip("# "), 52 if heading else 84):
            escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            lines.append(f"({escaped}) Tj T*")
        lines.append("T*")
    return "\n".join([*lines, "ET"]).encode("cp1252")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    write_docx(SOURCES / "travel-policy.md", TARGET / "travel-policy.docx")
    write_pdf(SOURCES / "annual-report-2023.md", TARGET / "annual-report-2023.pdf")
