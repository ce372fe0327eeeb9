"""Words of PDF pages: divided at gaps, and whole where letters are kerned or spaced."""

import pytest
from tests.indexing.loading import load, outline
from tests.indexing.office_files import make_pdf, printed, printed_glyphs

from knotwork._extensions.pdf.pdf_pages import open_pdf, read_page
from knotwork._indexing.loaders.loader import Source
from knotwork.errors import LoadError

pytestmark = pytest.mark.slow


def text_of(*streams, **options):
    return load("a.pdf", make_pdf([[(stream,) for stream in streams]], **options)).text


def shown(*parts, settings=""):
    """Show strings with shifts between them, in thousandths of the font size to the left."""
    listed = " ".join(f"({part})" if isinstance(part, str) else str(part) for part in parts)
    return f"BT /F1 10 Tf {settings} 1 0 0 1 72 700 Tm [{listed}] TJ ET"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("many", -278, "words"), "many words"),
        (("narrow", -180, "line"), "narrow line"),
        (("T", 80, "agged"), "Tagged"),
        (("gi", -25, "ven"), "given"),
        (("two ", "spaces"), "two spaces"),
        (("over", -50, " ", 40, "lap"), "over lap"),
    ],
)
def test_a_gap_parts_words_and_kerning_does_not(parts, text):
    assert text_of(shown(*parts)) == text


def test_an_ellipsis_is_no_letter_spaced_word():
    stream = (
        "BT /F1 10 Tf 1 0 0 1 72 700 Tm [(the form) -260] TJ "
        "/FM 10 Tf [($) -200 (.) -200 (.) -200 (.) -200 ($)] TJ ET"
    )
    assert text_of(stream) == "the form $ . . . $"


def test_letters_above_the_first_plane_are_read():
    """pdfium gives them in two halves. Those of formulas are letters as people type them."""
    (line,) = printed_glyphs(["Let", "\u0200", "and", "\u0201", "be"], 700, gap=400)
    assert text_of(line) == "Let α and \U00020000 be"


@pytest.mark.parametrize("codes", ["\\013\\014\\015\\016\\017", "\\033\\034\\035\\036\\037"])
def test_ligatures_of_fonts_that_name_no_characters_are_read(codes):
    stream = f"BT /F1 10 Tf 1 0 0 1 72 700 Tm ({codes}) Tj ET"
    assert text_of(stream) == "fffiflffiffl"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (r"[(Caf) (\253) 333 (e)] TJ", "Café"),
        (r"[(Caf) (e) 445 (\253) (s)] TJ", "Cafés"),
        (r"(K) Tj 2 Ts 1 0 0 1 80.9 700 Tm (\254) Tj 0 Ts 1 0 0 1 78.67 700 Tm (OLN) Tj", "KÖLN"),
        (r"[(na) (\365) 306 (\254) (ve)] TJ", "naïve"),
        (r"[(a \253b\253 c)] TJ", "a ´b´ c"),
    ],
)
def test_accents_are_joined_with_the_letter_below_them(shown, text):
    assert text_of(f"BT /F1 10 Tf 1 0 0 1 72 700 Tm {shown} ET") == text


def test_letter_spaced_words_stay_whole():
    stream = shown("LETTERS", -900, "APART", settings="2 Tc")
    assert text_of(stream) == "LETTERS APART"


def test_raised_text_stays_in_its_line_and_has_no_gap():
    stream = (
        "BT /F1 10 Tf 1 0 0 1 72 700 Tm (The area in km) Tj /F1 6 Tf 4 Ts (2) Tj "
        "/F1 10 Tf 0 Ts ( is large.) Tj ET"
    )
    assert text_of(stream) == "The area in km² is large."


def test_text_printed_twice_to_look_bold_is_read_once():
    stream = "BT /F1 10 Tf 1 0 0 1 72 700 Tm (Warning) Tj 1 0 0 1 72.2 700 Tm (Warning) Tj ET"
    assert text_of(stream) == "Warning"


def test_columns_whose_words_alternate_keep_the_words_of_each_line():
    page = [
        printed(text, 700 - 14 * row, x=x)
        for row in range(3)
        for x, text in ((72, f"left {row}"), (320, f"right {row}"))
    ]
    text = load("a.pdf", make_pdf([page])).text
    assert [text.index(f"left {row}") < text.index(f"right {row}") for row in range(3)] == [
        True
    ] * 3


def test_contents_with_leaders_and_roman_numbers_are_left_out():
    entries = [("Preface", "iii"), ("Guide", "iv"), ("Manual", "x"), ("Licences", "clxiii")]
    contents = ["Table of Contents", *(f"{name} {'.' * 40} {page}" for name, page in entries)]
    text = load("a.pdf", make_pdf([contents, ["The guide begins here."]])).text
    assert text == "The guide begins here."


def test_an_index_with_leaders_needs_no_title_of_its_own():
    entries = [f"{name} . . . . . . . . . . {page}" for name, page in zip(
        ("alias", "bg", "bind", "cd", "echo", "exit", "jobs", "kill", "pwd", "test"),
        (5, 2, 4, 1, 3, 2, 5, 4, 1, 2), strict=True)]  # fmt: skip
    pages = [["The manual."], *([f"Chapter {n} is about shells."] for n in range(4)), entries]
    text = load("a.pdf", make_pdf(pages)).text
    assert "alias" not in text
    assert "Chapter 3" in text


def test_a_bookmark_of_a_line_that_is_left_out_takes_no_later_sentence():
    lines = [printed("Start", 700, size=18), printed("Read the user guide before all else.", 500)]
    pages = [["Page one has other words."], lines]
    marks = [("user guide", 0, 1), ("Start", 1, 1)]
    document = load("a.pdf", make_pdf(pages, bookmarks=marks))
    assert outline(document) == [(1, "Start")]


def test_lines_in_forms_are_ruling_lines():
    data = make_pdf([[("q 72 600 200 0.5 re f 72 600 m 72 700 l S Q",), printed("a", 650)]])
    with open_pdf(Source("a.pdf", data)) as document:
        content = read_page(document, 0)
    assert {round(line.place) for line in content.drawn} == {600}
    assert (content.pictures, content.is_complete) == ([], True)


@pytest.mark.parametrize("size", [0, 9, 200, 600])
def test_a_file_that_is_cut_off_is_read_or_reported(size):
    data = make_pdf([["All is well."]])[:size]
    try:
        with open_pdf(Source("a.pdf", data)) as document:
            reasons = {read_page(document, number).is_complete for number in range(len(document))}
    except LoadError as error:
        reasons = {error.reason}
    assert reasons <= {True, False, "broken"}


def test_a_drawing_is_not_searched_for_tables():
    lines = " ".join(
        f"{x} {y} m {x + 9} {y} l S" for x in range(0, 600, 10) for y in range(0, 790, 9)
    )
    with open_pdf(Source("a.pdf", make_pdf([[(lines,), printed("a", 650)]]))) as document:
        content = read_page(document, 0)
    assert not content.is_complete
    assert [piece.text for piece in content.pieces] == ["a"]
