"""Pictures and scanned pages of PDF files: what is recognised, in which order, and where it is."""

import struct
import zlib

import pytest
from PIL import Image
from tests.indexing.loading import assert_offsets, blocks, leads, load
from tests.indexing.office_files import (
    draw_page,
    join,
    make_pdf,
    make_picture,
    small_picture,
)

import knotwork
from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.media import pictures
from knotwork._extensions.media.text_recognition import RecognisedLine, RecognisedPage
from knotwork._extensions.pdf import pdf_pictures
from knotwork._extensions.pdf.page_layout import add_page
from knotwork._extensions.pdf.pdf_pictures import page_ranges
from knotwork._indexing.loaders import loader as loader_module
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Source, can_recognise
from knotwork.errors import LoadError
from knotwork.records import BlockKind, Span

pytestmark = pytest.mark.slow

needs_extra = pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
LEASE = [
    (120, 150, "CONTRACT OF LEASE"),
    (120, 250, "The tenant Ada Ostrand rents the workshop at 12 Harbour Street."),
    (120, 290, "The lease begins on 1 March 2024 and ends on 28 February 2027."),
]
TERMS = [(120, 150, "The rent is 1,450 crowns a month."), (120, 190, "The notice is three months.")]


def failure(name, data):
    with pytest.raises(LoadError) as caught:
        load(name, data)
    assert name in caught.value.message
    return caught.value


@needs_extra
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_every_kind_of_picture_is_read(form):
    page = draw_page([(40, 40, "The stone bridge opened in 1784.")], size=(640, 480))
    document = load(f"a.{form.lower()}", make_picture(page, form=form))
    assert document.text == "The stone bridge opened in 1784."
    assert document.media_type == f"image/{form.lower()}"
    assert document.page_at(0) == "1"


@needs_extra
def test_all_pages_of_a_tiff_are_read():
    pages = [draw_page([(40, 40, f"This is sheet {n}.")], size=(400, 300)) for n in (1, 2, 3)]
    document = load("a.tif", make_picture(*pages, form="TIFF"))
    assert document.text == "This is sheet 1.\n\nThis is sheet 2.\n\nThis is sheet 3."
    assert [page.label for page in document.pages] == ["1", "2", "3"]
    assert document.metadata == {"pages": "3"}


@needs_extra
@pytest.mark.parametrize("turned", [pytest.param(0, marks=pytest.mark.nightly), 1, -1])
def test_columns_are_read_one_after_the_other_and_rows_stay_rows(turned):
    left = ["The stone bridge of Tartu was", "opened in the year 1784 and it"]
    left += ["stood until the war of 1941,", "when it was blown up at night."]
    right = ["There is a bridge of concrete", "for people who walk across the"]
    right += ["river in the morning on their", "way to the university or home."]
    lines = [(100, 60, "A report on the bridges of the town of Tartu in Estonia, in many words")]
    lines += [(100, 160 + 40 * n, text) for n, text in enumerate(left)]
    lines += [(650, 160 + 40 * n, text) for n, text in enumerate(right)]
    rows = [("Part", "Year", "Crowns"), ("Arch", "1784", "61,000"), ("Lamp", "1901", "900")]
    lines += [
        (x, 440 + 50 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((100, 400, 700), row, strict=True)
    ]
    picture = draw_page(lines, size=(1_160, 640), turned=turned)
    document = load("a.png", make_picture(picture))
    text = document.text
    assert text.index("blown up at night.") < text.index("There is a bridge")
    assert text.endswith("\n| --- | --- | --- |\n| Arch | 1784 | 61,000 |\n| Lamp | 1901 | 900 |")
    assert [label for _, label, _ in blocks(document, BlockKind.ROW)] == ["Arch", "Lamp"]


def read_lines(*placed):
    """Return what is read of a page with lines that were recognised, by their places."""
    lines = [RecognisedLine(text, x, y, x + 14 * len(text), y + 24, 0.0) for x, y, text in placed]
    writer = BlockWriter(Source("a.png", b""))
    add_page(writer, RecognisedPage(tuple(lines), 1_000, 1_400), 2)
    content = writer.content("image/png")
    assert_offsets(content)
    return content


def test_lists_of_a_scan_are_lists_and_wrapped_lines_are_joined():
    content = read_lines(
        *((100, 100, "All boilers of the plant, and all of their pumps, are"),),
        *((100, 136, "tested for these faults each year:"),),
        *((130, 190, "• leaks of the valves, which are the most fre-"), (160, 226, "quent fault")),
        *((130, 262, "• noise"), (100, 320, "The tests are written down.")),
    )
    assert content.text == (
        "All boilers of the plant, and all of their pumps, are tested for these faults each year:"
        "\n\n- leaks of the valves, which are the most frequent fault\n- noise\n\n"
        "The tests are written down."
    )
    (lead,) = leads(content)
    assert lead[0] == "list"
    assert len(content.boxes) == 6
    boxes = {content.text[slice(*box.span)]: box.top for box in content.boxes}
    assert boxes["noise"] == pytest.approx(262 / 1_400, abs=1e-4)
    assert [page.label for page in content.pages] == ["3"]


def test_a_table_of_a_scan_may_have_blank_cells_and_all_its_rows_have_boxes():
    rows = [("Part", "Year", "Crowns"), ("Arch", "1784", "61,000"), ("Gate", "", "4,000")]
    rows += [("Lamp", "1901", "900")]
    content = read_lines(
        *(
            (x, 100 + 40 * n, cell)
            for n, row in enumerate(rows)
            for x, cell in zip((100, 400, 700), row, strict=True)
            if cell
        ),
        (100, 320, "Names of the owners | are not in this table."),
    )
    assert content.text.split("\n")[:5] == [
        "| Part | Year | Crowns |",
        "| --- | --- | --- |",
        "| Arch | 1784 | 61,000 |",
        "| Gate |  | 4,000 |",
        "| Lamp | 1901 | 900 |",
    ]
    assert [round(box.top * 1_400) for box in content.boxes] == [100, 140, 180, 220, 320]
    assert content.text[slice(*content.boxes[0].span)].startswith("| Part")


def test_rows_whose_cells_are_in_no_columns_stay_lines():
    content = read_lines(
        *((100, 100, "Ada Stone"), (300, 100, "Bo Finch"), (500, 100, "Cy Lark"), (700, 100, "Di")),
        *((100, 140, "12 March"), (690, 140, "Tartu"), (760, 140, "Ed"), (880, 140, "Flo")),
        *((100, 400, "From: Ada Stone"), (600, 400, "To: Bo Finch")),
    )
    assert "From: Ada Stone | To: Bo Finch" in content.text
    assert len(content.boxes) == 3


@needs_extra
def test_a_box_is_where_the_line_is():
    page = draw_page([(100, 100, "Top left."), (600, 400, "Lower right.")], size=(1_000, 500))
    document = load("a.png", make_picture(page))
    start = document.text.index("Lower right.")
    box = document.box_of(Span(start, start + 5))
    assert (box.page, round(box.left, 1), round(box.top, 1)) == ("1", 0.6, 0.8)
    assert box.left < box.right < 0.8
    whole = document.box_of(Span(0, len(document.text)))
    assert (round(whole.left, 1), whole.bottom) == (0.1, box.bottom)
    assert document.box_of(Span(9_000, 9_001)) is None


@needs_extra
def test_modes_of_pictures_do_not_matter():
    page = draw_page([(20, 20, "The pump runs.")], size=(260, 200))
    clear = page.convert("RGBA")
    clear.putalpha(page.convert("L").point(lambda value: 255 - value))
    kinds = [page.convert(mode) for mode in ("1", "L", "P", "I", "CMYK")] + [clear]
    forms = ["PNG", "PNG", "PNG", "TIFF", "TIFF", "PNG"]
    for kind, form in zip(kinds, forms, strict=True):
        assert load("a.png", make_picture(kind, form=form)).text == "The pump runs.", kind.mode


@needs_extra
def test_a_photograph_is_turned_as_the_camera_says():
    page = draw_page([(20, 20, "The pump runs.")], size=(260, 200))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = page.transpose(Image.Transpose.ROTATE_90)
    document = load("a.jpg", make_picture(turned, form="JPEG", exif=exif, quality=95))
    assert document.text == "The pump runs."


@needs_extra
@pytest.mark.parametrize("turned", [pytest.param(90, marks=pytest.mark.nightly), 180, 270])
def test_a_page_that_lies_on_its_side_or_head_is_turned(turned):
    lines = [(40, 60, "The stone bridge opened in 1784."), (40, 120, "It has 900 lamps.")]
    page = draw_page(lines, size=(1_000, 800))
    document = load("a.png", make_picture(page.rotate(turned, expand=True)))
    assert document.text == "The stone bridge opened in 1784. It has 900 lamps."
    box = document.box_of(Span(0, 9))
    upright = {90: (0.07, 0.53), 180: (0.53, 0.89), 270: (0.89, 0.04)}[turned]
    assert abs(box.left - upright[0]) < 0.1
    assert abs(box.top - upright[1]) < 0.1


@needs_extra
def test_files_that_are_no_pictures_say_so():
    png = small_picture()
    assert failure("a.png", png[: len(png) // 2]).reason == "broken"
    assert failure("a.webp", b"RIFF1234WEBPVP8 " + bytes(50)).reason == "broken"
    blank = make_picture(Image.new("RGB", (300, 300), "white"))
    assert failure("a.png", blank).reason == "no_text"
    assert failure("a.png", make_picture(Image.new("L", (1, 1)))).reason == "no_text"


def blank_picture(width, height):
    """Return a PNG of black pixels, without a picture of its size in memory."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    pixels = zlib.compress(bytes((1 + (width + 7) // 8) * height))
    chunks = [(b"IHDR", header), (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@needs_extra
def test_a_picture_of_too_many_pixels_is_not_unpacked(monkeypatch):
    data = blank_picture(17_000, 10_000)
    assert len(data) < 100_000
    refused = failure("a.png", data)
    assert refused.reason == "too_large"
    assert "17,000 by 10,000 pixels" in refused.message
    bomb = blank_picture(60_000, 4_000)
    assert failure("a.png", bomb).reason == "too_large"
    monkeypatch.setattr(pictures, "MAX_FRAMES", 1)
    tiff = make_picture(Image.new("1", (50, 50)), Image.new("1", (50, 50)), form="TIFF")
    assert failure("a.tif", tiff).reason == "too_large"


def test_without_the_extra_a_picture_names_it(monkeypatch):
    monkeypatch.setattr(pictures, "can_recognise", lambda: False)
    error = failure("a.png", small_picture())
    assert error.reason == "unsupported"
    assert "`ocr`" in error.message
    assert "pip install 'knotwork[ocr]'" in error.fix


@needs_extra
def test_scanned_pages_of_a_pdf_are_read_between_pages_of_text(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "_DPI", 100)
    first = make_pdf([["The town lies at the sea.", "It has two bridges and one harbour."]])
    last = make_pdf([["This page is printed text, and it has enough of it to be read."]])
    scan = make_picture(draw_page(LEASE, turned=1), form="PDF")
    document = load("a.pdf", join(first, scan, last))
    assert [page.label for page in document.pages] == ["1", "2", "3"]
    found = document.text.index("The lease begins on 1 March 2024")
    assert document.page_at(found) == "2"
    assert document.text.startswith("The town lies at the sea.")
    assert document.text.endswith("enough of it to be read.")
    assert document.box_of(Span(found, found + 9)).page == "2"
    assert document.box_of(Span(0, 9)) is None
    assert document.metadata == {"pages": "3"}


@needs_extra
def test_a_page_that_cannot_be_rendered_is_named(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "_render", lambda document, number, region: None)
    scan = make_picture(draw_page(TERMS), form="PDF")
    document = load(
        "a.pdf", join(make_pdf([["A page of text that is long enough to stay."]]), scan)
    )
    assert document.metadata["pages_without_text"] == "2"
    assert failure("b.pdf", scan).reason == "no_text"


def test_without_the_extra_a_pdf_keeps_its_text_and_the_report_names_the_pages(
    monkeypatch, tmp_path
):
    for module in (pdf_pictures, loader_module):
        monkeypatch.setattr(module, "can_recognise", lambda: False)
    scan = make_picture(draw_page(TERMS), draw_page(TERMS), form="PDF")
    text = make_pdf([["The town lies at the sea, and it has one harbour."]])
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.pdf").write_bytes(join(scan, text, scan))
    (tmp_path / "docs" / "b.pdf").write_bytes(scan)
    settings = {"embedding_model": "none", "index_workers": 0}
    with knotwork.open(tmp_path / "a.knot", **settings) as kb:
        report = kb.index(tmp_path / "docs")
    assert report.added == 1
    (note,) = [note for note in report.notes if "scanned" in note]
    assert "docs/a.pdf" in note
    assert "1-2, 4-5" in note
    assert "pip install 'knotwork[ocr]'" in note
    (failed,) = report.failures
    assert failed.reason == "no_text"
    assert "extra `ocr`" in failed.message


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([0], "1"), ([0, 1, 2], "1-3"), ([1, 3, 4, 9], "2, 4-5, 10"), ([], "")],
)
def test_page_ranges(numbers, text):
    assert page_ranges(numbers) == text


@needs_extra
def test_recognition_stops_between_pages(monkeypatch):
    cancellation = Cancellation()
    recognise = pictures.recognise
    read = []

    def once(picture, **options):
        read.append(recognise(picture, **options))
        cancellation.cancel()
        return read[-1]

    monkeypatch.setattr(pictures, "recognise", once)
    pages = [draw_page([(40, 40, f"This is sheet {n}.")], size=(400, 300)) for n in (1, 2, 3)]
    with cancellation.scope(), pytest.raises(Cancelled):
        load("a.tif", make_picture(*pages, form="TIFF"))
    assert len(read) == 1


@needs_extra
def test_a_question_on_a_scanned_contract_is_answered_with_page_and_place(tmp_path):
    (tmp_path / "docs").mkdir()
    contract = make_picture(draw_page(LEASE, turned=1), draw_page(TERMS), form="PDF")
    (tmp_path / "docs" / "contract.pdf").write_bytes(contract)
    with knotwork.open(tmp_path / "a.knot", embedding_model="none", index_workers=0) as kb:
        report = kb.index(tmp_path / "docs")
        assert report.failed == 0
        answer = kb.ask("What is the rent?")
        (cited,) = [c for c in answer.citations if "1,450 crowns" in c.quote]
        again = kb.ask("When does the lease begin?")
    assert cited.page == cited.box.page == "2"
    assert 0.05 < cited.box.left < 0.15
    assert 0.07 < cited.box.top < cited.box.bottom < 0.13
    assert "1 March 2024" in again.citations[0].quote
    assert again.citations[0].box.page == "1"
