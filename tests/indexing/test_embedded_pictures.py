"""Pictures in Word documents and presentations: their text stands where they stand."""

import io

import docx
import pptx
import pytest
from tests.indexing.loading import blocks, load
from tests.indexing.office_files import (
    draw_page,
    join,
    make_diagram,
    make_pdf,
    make_picture,
    word_file,
)

import knotwork
from knotwork._extensions.media import pictures
from knotwork._extensions.pdf import pdf_pictures
from knotwork._indexing.loaders import loader as loader_module
from knotwork._indexing.loaders.loader import UNREAD_PICTURES, can_recognise
from knotwork.records import BlockKind, Document

pytestmark = pytest.mark.slow

needs_extra = pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
DRAWN = [
    (30, 40, "The relief valve opens at 7.5 bar."),
    (30, 90, "It is tested every 14 months."),
]


SCAN = make_picture(draw_page(DRAWN, size=(900, 500)), form="PDF")


def slides(*pictures):
    presentation = pptx.Presentation()
    for number, picture in enumerate(pictures, start=1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        slide.shapes.add_picture(io.BytesIO(picture), 0, 0)
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


@needs_extra
def test_the_text_of_a_picture_is_in_the_place_of_the_picture():
    document = load("a.docx", word_file(make_diagram(DRAWN)))
    before, valve, after = (
        document.text.index(part)
        for part in ("cooling circuit", "relief valve", "installed in 2019")
    )
    assert before < valve < after
    ((_, label, picture),) = blocks(document, BlockKind.FIGURE)
    assert label == "Text in a picture"
    assert "opens at 7.5 bar." in picture
    assert "installed" not in picture


@needs_extra
def test_a_picture_is_read_on_its_slide_and_once():
    logo = make_diagram([(30, 40, "Ostrand Boilers and Pumps Limited")])
    document = load("a.pptx", slides(logo, make_diagram(DRAWN), logo))
    assert document.text.count("Ostrand Boilers") == 1
    assert document.page_at(document.text.index("relief valve")) == "2"


@needs_extra
@pytest.mark.parametrize(
    "picture",
    [
        make_picture(draw_page([], size=(120, 120))),
        make_diagram([], size=(600, 400)),
        make_diagram([(20, 20, "ok")], size=(600, 400)),
    ],
    ids=["icon", "no text", "hardly any text"],
)
def test_pictures_that_say_nothing_add_nothing(picture):
    plain = load("a.docx", word_file())
    assert load("a.docx", word_file(picture)).text == plain.text


@needs_extra
def test_a_broken_picture_costs_nothing_else():
    broken = make_diagram(DRAWN)
    cut = broken[:900] + b"\0" * len(broken)
    document = docx.Document()
    document.add_paragraph("All else is read.")
    document.add_picture(io.BytesIO(broken))
    for part in document.part.related_parts.values():
        if str(part.content_type).startswith("image/"):
            part._blob = cut
    out = io.BytesIO()
    document.save(out)
    assert load("a.docx", out.getvalue()).text == "All else is read."


def test_without_the_extra_the_report_counts_the_pictures(tmp_path, monkeypatch):
    for module in (pictures, loader_module):
        monkeypatch.setattr(module, "can_recognise", lambda: False)
    (tmp_path / "a.docx").write_bytes(
        word_file(make_diagram(DRAWN), make_diagram([(9, 9, "Another text.")]))
    )
    (tmp_path / "b.pptx").write_bytes(slides(make_diagram(DRAWN)))
    assert load("a.docx", (tmp_path / "a.docx").read_bytes()).metadata[UNREAD_PICTURES] == "2"
    with knotwork.open("memory:", embedding_model="none", index_workers=0) as kb:
        report = kb.index(tmp_path)
    (note,) = [note for note in report.notes if "pictures" in note]
    assert "3 pictures in 2 documents" in note
    assert "knotwork[ocr]" in note


@needs_extra
def test_a_retry_with_the_extra_reads_the_pictures_and_pages_that_were_left_out(
    tmp_path, monkeypatch
):
    place = tmp_path / "docs"
    place.mkdir()
    (place / "a.docx").write_bytes(word_file(make_diagram(DRAWN)))
    (place / "b.pdf").write_bytes(
        join(make_pdf([["A page of text that is long enough to stay as it is."]]), SCAN)
    )
    (place / "c.md").write_text("The stack is 42 metres high.", encoding="utf-8")
    with knotwork.open("memory:", embedding_model="none", index_workers=0) as kb:
        with monkeypatch.context() as without:
            for module in (pictures, pdf_pictures, loader_module):
                without.setattr(module, "can_recognise", lambda: False)
            assert "--retry" in " ".join(kb.index(place).notes)
        assert kb.index(place).unchanged == 3
        report = kb.index(place, retry=True)
        assert (report.changed, report.unchanged, report.notes) == (2, 1, ())
        found = {hit.chunk.document_id for hit in kb.search("relief valve").hits}
        assert found == {Document(f"docs/{name}", "").id for name in ("a.docx", "b.pdf")}
