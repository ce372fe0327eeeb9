"""Text of PDF pages in all directions: right to left, from top to bottom, and turned."""

import pytest
from tests.faults.pdf_pages import glyphs, make, text, turned
from tests.faults.small_files import read

HEBREW = "הנמל נפתח בשעה 7 בבוקר וסגור ביום שבת"
SHOWN = "תבש םויב רוגסו רקובב 7 העשב חתפנ למנה"
ARABIC = "مدير الميناء هو أحمد ورقمه 555-0142 في 18:30"
ARABIC_SHOWN = "18:30 يف 0142-555 همقرو دمحأ وه ءانيملا ريدم"


def text_of(*content):
    return read("a.pdf", make(" ".join(content))).text


def letter_by_letter(shown, y=700):
    """Return a line whose letters are drawn from the right end on, one by one."""
    places = [(72 + 6.6 * place, letter) for place, letter in enumerate(shown)]
    return [glyphs(x, y, letter) for x, letter in reversed(places)]


def from_the_right(shown, y=700):
    """Return a line that is one text from the right end on."""
    return glyphs(72 + 6.6 * len(shown), y, shown[::-1], shift=1200)


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        (SHOWN, HEBREW),
        (ARABIC_SHOWN, ARABIC),
        (")555-0142 ןופלט( יול", "לוי (טלפון 555-0142)"),
        ("סוכרב Grey לכל ריחמה", "המחיר לכל Grey ברכוס"),
        (".תורעה 12.50", "12.50 הערות."),
        ("The port is הפיח למנ and it opens.", "The port is נמל חיפה and it opens."),
        ("Call (הפיח) at 7.", "Call (חיפה) at 7."),
    ],
)
def test_lines_are_in_the_order_of_reading(shown, right):
    assert text_of(glyphs(72, 700, shown)) == right
    assert text_of(*letter_by_letter(shown)) == right
    assert text_of(from_the_right(shown)) == right


def test_a_table_from_right_to_left():
    rows = [
        ("הבוג", "קמוע", "הנחת"),
        ("1.5", "4.5", "םלוא"),
        ("2.5", "3.2", "קיו"),
        ("0.5", "7.1", "ןשיה"),
    ]
    content = [
        glyphs(x - 6.6 * len(cell), 700 - 20 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((200, 300, 400), row, strict=True)
    ]
    assert text_of(*content).split("\n") == [
        "| תחנה | עומק | גובה |",
        "| --- | --- | --- |",
        "| אולם | 4.5 | 1.5 |",
        "| ויק | 3.2 | 2.5 |",
        "| הישן | 7.1 | 0.5 |",
    ]


def test_vertical_lines_are_read_from_the_right():
    columns = ["港は午前七時に開きます。", "管理人は田中さんです。"]
    lines = [
        glyphs(500 - 20 * column, 700 - 11 * n, sign)
        for column, signs in enumerate(columns)
        for n, sign in enumerate(signs)
    ]
    assert text_of(*lines).replace(" ", "").replace("\n", "") == "".join(columns)


TABLE = [("Station", "High", "Low"), ("Ulm Dock", "4.10", "0.90"), ("Vik Quay", "3.80", "0.70"),
    ("Sel Pier", "2.50", "0.40"), ("Tor Weir", "1.90", "0.20")]  # fmt: skip
CELLS = [
    (along, 500 - 20 * n, cell)
    for n, row in enumerate(TABLE)
    for along, cell in zip((80, 220, 320), row, strict=True)
]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_tables_keep_their_columns_however_pages_and_text_are_turned(turn, rotate):
    found = read("a.pdf", make(turned(turn, *CELLS), rotate=rotate)).text.split("\n")
    assert found[0] == "| Station | High | Low |"
    assert found[2:] == [f"| {' | '.join(row)} |" for row in TABLE[1:]]


def test_text_in_two_directions_on_a_page():
    page = text((72, 750, "The tides of all stations are on the right side of this page,")) + text(
        (72, 736, "as they were measured in May, with the lowest of each of them too.")
    )
    page += " ".join(
        [text((72, 722 - 14 * n, "They hold for spring tides only.")) for n in range(6)]
    )
    found = read("a.pdf", make(page + turned(1, *CELLS))).text
    assert "this page, as they were measured" in found
    assert "| Ulm Dock | 4.10 | 0.90 |" in found
