"""Tables of PDF pages: rows and cells by the place of the text, and what is no table."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader
from tests.indexing.loading import blocks, leads, load
from tests.indexing.office_files import make_pdf, printed, printed_wide

from knotwork.records import BlockKind

pytestmark = pytest.mark.slow


PITCH = 14
COLUMNS = (72, 200, 300, 400)
MODELS = [
    ("Model", "Current", "Voltage", "Weight"),
    ("Alpha 10", "5.5 A", "24 V", "300 g"),
    ("Beta 20", "7.0 A", "48 V", "450 g"),
    ("Gamma 30", "9.5 A", "48 V", "620 g"),
]


def cells(row, y, *, columns=COLUMNS, show=printed, **options):
    """Print the cells of a row; those that are blank are left out."""
    return [show(text, y, x=x, **options) for text, x in zip(row, columns, strict=False) if text]


def table(rows, *, top=600, pitch=PITCH, header=None, **options):
    """Print rows below each other, the first one with the options of ``header``."""
    return [
        cell
        for number, row in enumerate(rows)
        for cell in cells(
            row, top - pitch * number, **{**options, **(header or {} if not number else {})}
        )
    ]


def ruled(heights, *, left=70, right=480):
    return [(f"{left} {y} m {right} {y} l S",) for y in heights]


def load_pdf(*pages):
    return load("a.pdf", make_pdf(pages))


def rows_of(document):
    return [label for _, label, _ in blocks(document, BlockKind.ROW)]


def markdown(header, *rows):
    lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


SHOWN = markdown(*MODELS)
NAMES = "Model | Current | Voltage | Weight"


@pytest.mark.parametrize(
    "drawn", [[], ruled([612, 596, 550]), ruled([612, 598, 584, 570, 553])], ids=len
)
def test_tables_are_found_with_and_without_ruled_lines(drawn):
    before = printed("The models are these:", 640)
    after = printed("All of them are sold in Europe.", 520)
    document = load_pdf([before, *drawn, *table(MODELS), after])
    assert document.text == (f"The models are these:\n\n{SHOWN}\n\nAll of them are sold in Europe.")
    assert rows_of(document) == ["Alpha 10", "Beta 20", "Gamma 30"]
    assert blocks(document, BlockKind.TABLE) == [("table", NAMES, SHOWN)]
    assert leads(document) == [("table", "The models are these:")]


def test_a_header_between_two_ruled_lines_may_be_far_from_the_rows():
    document = load_pdf(
        [
            *ruled([628, 608, 552]),
            *cells(MODELS[0], 614),
            *table(MODELS[1:], top=590),
            printed("All of them are sold in Europe.", 520),
        ]
    )
    assert document.text.startswith(SHOWN)


def test_cells_may_be_strings_of_one_line_with_gaps():
    """pdfTeX prints a row as one array of strings, with the distances between them."""

    def row(texts, y):
        parts = " ".join(f"({text}) -4000" for text in texts)
        return (f"BT /F1 10 Tf 1 0 0 1 72 {y} Tm [{parts}] TJ ET",)

    texts = [("Name", "Amps"), ("ab-1", "5 mA"), ("cd-2", "7 mA"), ("ef-3", "9 mA")]
    lines = [row(texts, 600 - 14 * number) for number, texts in enumerate(texts)]
    document = load_pdf([*ruled([596], left=70, right=200), *ruled([612], right=200), *lines])
    assert document.text == markdown(*texts)


def test_the_lines_of_a_cell_are_joined():
    rows = [
        ("Option", "Meaning"),
        ("keep", "Files that were read are"),
        ("", "kept for a year, with their exam-"),
        ("", "ples."),
        ("drop", "Nothing is kept."),
        ("ask", "A person decides, every"),
        ("", "time."),
    ]
    document = load_pdf(table(rows, columns=(72, 150), header={"font": "FB"}))
    assert document.text == markdown(
        ("Option", "Meaning"),
        ("keep", "Files that were read are kept for a year, with their examples."),
        ("drop", "Nothing is kept."),
        ("ask", "A person decides, every time."),
    )


def test_a_first_cell_of_two_lines_is_known_by_the_distance_of_rows():
    lines = [
        (600, ("Setting", "Default", "Unit")),
        (576, ("Time to wait", "30", "seconds")),
        (564, ("for a client", "", "")),
        (540, ("Retries after", "3", "times")),
        (528, ("an error", "", "")),
        (504, ("Size", "20", "MB")),
    ]
    page = [cell for y, row in lines for cell in cells(row, y, columns=(72, 200, 300))]
    assert load_pdf(page).text == markdown(
        ("Setting", "Default", "Unit"),
        ("Time to wait for a client", "30", "seconds"),
        ("Retries after an error", "3", "times"),
        ("Size", "20", "MB"),
    )


def test_blank_cells_do_not_shift_the_others():
    rows = [*MODELS, ("Delta 40", "", "12 V", "150 g")]
    assert load_pdf(table(rows)).text == markdown(*rows)


def test_a_caption_is_the_title_of_its_table():
    page = [printed("Table 4: Models of the year", 630), *table(MODELS)]
    caption = "Table 4: Models of the year"
    assert blocks(load_pdf(page), BlockKind.BOX) == [("box", caption, f"{caption}\n\n{SHOWN}")]


@pytest.mark.parametrize("above", [[], [MODELS[0]]], ids=["bare", "with the header again"])
def test_a_single_row_on_the_next_page_belongs_to_the_table(above):
    last = ("Delta 40", "1.0 A", "12 V", "100 g")
    first = [printed("The models are these:", 640), *table(MODELS, header={"font": "FB"})]
    second = [*table([*above, last], top=700), printed("All are sold.", 600)]
    document = load_pdf(first, second)
    shown = markdown(*MODELS, last)
    assert document.text == f"The models are these:\n\n{shown}\n\nAll are sold."
    assert rows_of(document)[-1] == "Delta 40"
    document = load_pdf(first, [printed("A new chapter begins here.", 730), *second])
    assert rows_of(document) == ["Alpha 10", "Beta 20", "Gamma 30"]


def test_a_table_goes_on_at_the_top_of_the_next_page():
    more = [("Delta 40", "2.5 A", "12 V", "150 g"), ("Eta 50", "3.5 A", "12 V", "180 g")]
    rest = [*more, ("Theta 55", "4.0 A", "24 V", "200 g"), ("Zeta 60", "4.5 A", "24 V", "210 g")]
    document = load_pdf(table(MODELS), table(rest, top=740))
    repeated = load_pdf(table(MODELS), table([MODELS[0], *rest], top=740))
    assert document.text == repeated.text == markdown(*MODELS, *rest)
    assert [page.start for page in document.pages] == [0, document.text.index("| Delta 40")]
    assert len(blocks(document, BlockKind.TABLE)) == 1


def test_chinese_tables():
    rows = [("型号", "最大电流", "说明"), ("甲一", "5 安", "适用于室内，"), ("", "", "不能淋雨。")]
    rows += [("乙二", "7 安", "适用于室外。"), ("丙三", "9 安", "适用于船上。")]
    page = table(rows, columns=(72, 160, 260), show=printed_wide)
    document = load_pdf([*ruled([612, 597, 540]), *page])
    joined = ("甲一", "5 安", "适用于室内，不能淋雨。")
    assert document.text == markdown(rows[0], joined, *rows[3:])


def test_a_bold_first_column_makes_neither_headings_nor_terms():
    page = [
        cell
        for number, (name, *others) in enumerate(MODELS)
        for cell in (
            printed(name, 600 - 14 * number, font="FB", size=12),
            *cells(("", *others), 600 - 14 * number),
        )
    ]
    document = load_pdf([*page, printed("Text in the usual size of all text.", 500)])
    assert {kind for kind, _, _ in blocks(document)} == {"table", "row", "paragraph"}


PROSE = "This line of prose is as long as the column of the page allows"


def prose(lines, *, x=72, top=700, options=None):
    return [
        printed(f"{PROSE[: 44 + number % 3]}", top - 12 * number, x=x, **(options or {}))
        for number in range(lines)
    ]


def _two_columns_by_lines():
    """Print two columns of prose line by line across the page, as some programs do."""
    left, right = prose(12), prose(12, x=330)
    return [line for pair in zip(left, right, strict=True) for line in pair]


NO_TABLES = {
    "two columns of prose": prose(12) + prose(12, x=330),
    "two columns of prose, line by line": _two_columns_by_lines(),
    "contents with dot leaders": [
        printed(f"{number} Chapter of the book {'. ' * 30}", 700 - 14 * number)
        for number in range(1, 7)
    ]
    + [printed(str(number * 3), 700 - 14 * number, x=400) for number in range(1, 7)],
    "contents without leaders": [
        line
        for number in range(1, 7)
        for line in cells((f"{number}", "Chapter of the book", f"{3 * number}"), 700 - 14 * number)
    ],
    "a listing": [
        line
        for number in range(6)
        for line in cells(("mov", "eax,", "ebx", f"; {number}"), 700 - 14 * number, font="FM")
    ],
    "a listing with numbers of lines": ruled([715, 625])
    + [
        line
        for number in range(6)
        for line in cells((str(number + 1), "x = read(file)"), 700 - 14 * number, columns=(72, 100))
    ],
    "a form": [
        line
        for number, name in enumerate(("Name:", "First name:", "Street:", "Town:", "Date:"))
        for line in cells((name, "______________"), 700 - 20 * number)
    ],
    "a numbered list": [
        line
        for number in range(6)
        for line in cells((f"{number}.", "Do the next step."), 700 - 14 * number, columns=(72, 95))
    ],
    "a list of names in columns": [
        line
        for number in range(6)
        for line in cells(("Ada Stone", "Bo Finch", "Cy Lark"), 700 - 14 * number)
    ],
    "definitions": [
        line
        for number, word in enumerate(("start", "stop", "restart", "reload", "status"))
        for line in cells((word, "what the program does then"), 700 - 14 * number)
    ],
    "equations": [
        line
        for number in range(5)
        for line in cells(("ab", "= cd + 2", f"({number})"), 700 - 20 * number)
    ],
    "lines with wide gaps": [
        (f"BT /F1 10 Tf 8 Tw 1 0 0 1 72 {700 - 12 * number} Tm ({line}) Tj ET",)
        for number, line in enumerate(
            (
                "The words of this text are far apart, as in",
                "a narrow column whose lines end in one place,",
                "because long expressions cannot be parted, so",
                "gaps become wide and stand below one another.",
            )
        )
    ],
    "authors side by side": [
        line
        for x in (72, 230, 390)
        for line in (
            *(printed("Ada Stone", 700, x=x), printed("University 2", 686, x=x)),
            *(printed("ada@example.org", 672, x=x), printed("Room 12", 658, x=x)),
        )
    ],
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_text_that_is_not_a_table_stays_text(name):
    document = load_pdf(NO_TABLES[name])
    assert rows_of(document) == []
    assert " | " not in document.text


def test_text_around_a_table_keeps_its_order():
    left = [*prose(4), printed("Here is a table in the first column.", 640)]
    small = table(MODELS, top=600, columns=(72, 130, 180, 230))
    right = prose(20, x=330)
    text = load_pdf([*left, *small, printed("It is short.", 500), *right]).text
    assert f"first column.\n\n{SHOWN}\n\nIt is short." in text
    assert text.index("It is short.") < text.rindex(PROSE[:40])


def test_a_running_head_and_a_number_of_a_page_are_no_rows():
    head = cells(("12", "", "", "Manual of the year"), 640)
    foot = cells(("Page", "", "", "12"), 525)
    text = load_pdf([*head, *table(MODELS), *foot]).text
    assert text == f"12 Manual of the year\n\n{SHOWN}\n\nPage 12"


def test_the_last_first_cell_is_whole_where_a_line_is_drawn_below_it():
    rows = [("Fund", "Sign"), ("Index", "AB"), ("Growth and", "CD"), ("income", "")]
    drawn = ruled([612, 596, 582, 555], right=220)
    text = load_pdf([*drawn, *table(rows, columns=(72, 180)), printed("The end.", 530)]).text
    shown = markdown(*rows[:2], ("Growth and income", "CD"))
    assert text == f"{shown}\n\nThe end."


def test_cells_in_the_middle_of_their_row_are_of_that_row():
    """Browsers print short cells half a line below the first line of long ones."""
    lines = [
        (600, ("Name", "Use")),
        (578, ("", "It is used in houses, must not get")),
        (572, ("Swift", "")),
        (566, ("", "wet, and is tested each year.")),
        (542, ("Tern", "It is used at sea.")),
    ]
    page = [cell for y, row in lines for cell in cells(row, y, columns=(75, 150))]
    drawn = ruled([612, 592, 556, 530], right=360)
    after = [printed("A line:", 512, x=75), *table(MODELS, top=490)]
    shown = markdown(
        ("Name", "Use"),
        ("Swift", "It is used in houses, must not get wet, and is tested each year."),
        ("Tern", "It is used at sea."),
    )
    assert load_pdf([*drawn, *page, *after]).text == f"{shown}\n\nA line:\n\n{SHOWN}"


def test_a_table_without_a_header_has_none_where_most_tables_mark_theirs():
    keys = [("Ctrl-C", "Copies the text."), ("Ctrl-V", "Inserts it."), ("Ctrl-X", "Cuts it.")]
    marked = [cell for top in (700, 620) for cell in table(MODELS, top=top, header={"font": "FB"})]
    bare = [*ruled([512, 498, 484, 469]), *table(keys, top=500, columns=(72, 160))]
    assert load_pdf([*marked, *bare]).text.endswith("\n\n" + markdown(("", ""), *keys))
    assert load_pdf(bare).text == markdown(*keys)


def test_a_form_on_the_page_does_not_hide_its_tables():
    """pypdf does not say where the text of forms is; letterheads are often forms."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(make_pdf([table(MODELS)]))))
    page = writer.pages[0]
    form = DecodedStreamObject()
    form.set_data(b"BT /F1 10 Tf 1 0 0 1 72 750 Tm (Letterhead) Tj ET")
    form[NameObject("/Type")] = NameObject("/XObject")
    form[NameObject("/Subtype")] = NameObject("/Form")
    form[NameObject("/Resources")] = page["/Resources"].clone(writer)
    page["/Resources"][NameObject("/XObject")] = DictionaryObject(
        {NameObject("/Form1"): writer._add_object(form)}
    )
    contents = DecodedStreamObject()
    contents.set_data(b"/Form1 Do\n" + page.get_contents().get_data())
    page[NameObject("/Contents")] = writer._add_object(contents)
    out = io.BytesIO()
    writer.write(out)
    document = load("a.pdf", out.getvalue())
    assert document.text == f"Letterhead\n\n{SHOWN}"


WORDS = st.text("abcdefghij", min_size=2, max_size=9)


@given(
    st.lists(
        st.tuples(WORDS, st.integers(0, 99_999), WORDS, st.integers(0, 999)),
        min_size=3,
        max_size=25,
    ),
    st.sampled_from([12, 14, 20]),
)
def test_every_cell_is_in_its_row(rows, pitch):
    columns = (72, 180, 270, 380)
    printed_rows = [tuple(map(str, row)) for row in rows]
    header = ("Name", "Count", "Kind", "Size")
    document = load_pdf(
        table([header, *printed_rows], top=740, pitch=pitch, columns=columns, header={"font": "FB"})
    )
    assert document.text == markdown(header, *printed_rows)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 550), st.integers(20, 760), st.text("ab1. |", min_size=1, max_size=12)
        ),
        max_size=40,
        unique_by=lambda item: item[:2],
    )
)
def test_no_character_is_lost_wherever_text_stands(placed):
    """Text that is printed twice in one place, to look bold, is read once.

    Raised figures are in brackets, or behind a caret.
    """
    page = [printed(text, y, x=x) for x, y, text in placed]
    page.append(printed("the end", 10))
    document = load_pdf(page)
    expected = sorted("".join(text for _, _, text in placed).replace(" ", "") + "theend")
    found = sorted("".join(document.text.split()))
    for character in expected:
        assert character in found
        found.remove(character)
    assert set(found) <= set("|-*\\#`[]()^_" + "".join(expected))


@pytest.mark.parametrize(
    "drawing",
    [
        [line for n in range(300) for line in cells(("a", "b", "c", "d"), 790 - n * 2.6, size=2)],
        [(f"{n % 600} {n % 780} m {n % 500} {n % 780} l S" * 3,) for n in range(3_000)],
        [(f"{n % 600} 0 1 780 re f 0 {n % 780} 600 1 re f",) for n in range(2_000)],
        [printed("x " * 3_000, 700 - 12 * n) for n in range(5)],
    ],
    ids=["small rows", "lines", "a grid", "words"],
)
def test_drawings_are_read_soon(drawing):
    """Time that grew with the square of the number of lines would be minutes."""
    assert "Alpha 10" in load_pdf([*drawing, *table(MODELS)]).text


@pytest.mark.parametrize(
    "stream",
    [
        "BT /F1 10 Tf [(a) -1000000000 (b)] TJ ET",
        "Q Q Q BT /F1 10 Tf (a) Tj ET q",
        "BT /F9 10 Tf (a) Tj ET BT /F1 0 Tf (b) Tj ET",
        "BT /F1 Tf (a) Tj ET 1 2 re f l S 3 4 l S",
        "BT /F1 10 Tf 0 0 0 0 0 0 Tm (a) Tj (b) ' 1 2 (c) \" ET",
        "BT /F1 10 Tf (x) Tc /a Tw (a) Tj ET",
    ],
)
def test_odd_streams_are_read(stream):
    document = load_pdf([printed("text", 700), (stream,), *table(MODELS)])
    assert "text" in document.text
    assert "Alpha 10" in document.text
