"""What was filled into PDF forms is read beside its labels, and comments are read too."""

import pytest
from tests.faults.pdf_pages import box, comment, make, text, widget
from tests.faults.small_files import ask, read

from knotwork.errors import LoadError


def lines_of(*lines, **options):
    return read("form.pdf", make(text(*lines), **options)).text.replace("\n\n", "\n").split("\n")


def test_values_are_beside_their_labels():
    read_lines = lines_of(
        (72, 700, "Ship name:"),
        (72, 680, "Length (m):"),
        (72, 660, "Arrival: ____________"),
        (300, 660, "Departure:"),
        (72, 640, "Remarks:"),
        fields=[
            widget("Tx", "a", (140, 696, 300, 712), "Grey Heron"),
            widget("Tx", "b", (140, 676, 300, 692), "43.5"),
            widget("Tx", "c", (115, 656, 200, 672), "3 May"),
            widget("Tx", "d", (360, 656, 450, 672), "9 May"),
            widget("Tx", "e", (140, 600, 400, 650), "Needs power.\rArrives late.", Ff="4096"),
            widget("Tx", "f", (420, 700, 500, 712), "secret", Ff="8192"),
        ],
    )
    assert read_lines == [
        "Ship name: Grey Heron",
        "Length (m): 43.5",
        "Arrival: 3 May Departure: 9 May",
        "Remarks: Needs power. Arrives late.",
    ]


def test_the_value_answers_the_question(tmp_path):
    lines = ((72, 700, "Ship name:"), (72, 680, "A berth is given within three working days."))
    form = make(text(*lines), fields=[widget("Tx", "a", (140, 696, 300, 712), "Grey Heron")])
    (answer,) = ask(tmp_path, {"form.pdf": form}, "What is the ship name?")
    assert "Grey Heron" in answer


def test_boxes_and_choices():
    read_lines = lines_of(
        (72, 700, "Insured:"),
        (90, 680, "Crane needed"),
        (90, 660, "Water needed"),
        (72, 640, "Berth:"),
        (140, 640, "inside"),
        (200, 640, "outside"),
        (72, 620, "Flag:"),
        fields=[
            box("a", (140, 697, 150, 707), state="On", on="On"),
            box("b", (72, 678, 82, 688), state="Yes"),
            box("c", (72, 658, 82, 668)),
            box("d", (126, 638, 136, 648), on="in", Ff="32768"),
            box("e", (186, 638, 196, 648), state="out", on="out", Ff="32768"),
            widget("Ch", "f", (140, 616, 300, 632), "de", Opt="[[(de) (Germany)] [(no) (Norway)]]"),
        ],
    )
    assert read_lines == [
        "Insured: ☒ Yes",
        "☒ Crane needed",
        "☐ Water needed",
        "Berth: ☐ inside ☒ outside",
        "Flag: Germany",
    ]


def test_labels_above_and_no_label_at_all():
    read_lines = lines_of(
        (72, 700, "Master"),
        (250, 700, "Phone"),
        (72, 640, "The office is open."),
        fields=[
            widget("Tx", "a", (72, 680, 220, 696), "Ada Lind"),
            widget("Tx", "b", (250, 680, 400, 696), "555-0142"),
            widget("Tx", "vessel_class", (420, 30, 500, 42), "B2"),
        ],
    )
    assert read_lines == [
        "Master: Ada Lind Phone: 555-0142",
        "The office is open.",
        "vessel class: B2",
    ]


def test_a_value_that_the_page_shows_is_read_once():
    field = widget("Tx", "a", (140, 696, 300, 712), "Grey Heron")
    shown = ((72, 700, "Ship name:"), (142, 700, "Grey Heron"))
    assert lines_of(*shown, fields=[field]) == ["Ship name: Grey Heron"]


def test_comments_and_text_boxes():
    read_lines = lines_of(
        (72, 700, "Ship name: ________"),
        (72, 660, "The crane lifts 40 tonnes."),
        (72, 560, "The last line."),
        annotations=[
            comment("FreeText", (130, 696, 220, 712), "Grey Heron"),
            comment("FreeText", (300, 600, 400, 620), "See the plan."),
            comment("Text", (500, 660, 520, 680), "Ask Rolf.", T="(Ada)"),
            comment(
                "Highlight",
                (72, 657, 300, 671),
                "Is that so?",
                QuadPoints="[70 671 300 671 70 657 300 657]",
            ),
            comment("Text", (500, 500, 520, 520), "Hidden.", F="2"),
        ],
    )
    assert read_lines == [
        "Ship name: Grey Heron",
        "The crane lifts 40 tonnes.",
        "See the plan.",
        "Comment by Ada: Ask Rolf.",
        "Comment on “The crane lifts 40 tonnes.”: Is that so?",
        "The last line.",
    ]


def test_a_form_that_only_asks_for_another_program_is_refused():
    page = text((72, 700, "Please wait ... your PDF viewer may not be able to display this."))
    form = make(page, catalog="/NeedsRendering true /AcroForm << /Fields [] /XFA (<xdp/>) >>")
    with pytest.raises(LoadError, match="XFA form"):
        read("form.pdf", form)


def grid(*rows, left=155, top=692, width=85, height=16, pitch=20):
    """Return text fields in rows and columns; those without a value are empty."""
    return [
        widget("Tx", f"r{n}c{k}", (x, y - height, x + width, y), value)
        for n, row in enumerate(rows)
        for k, value in enumerate(row)
        for x, y in [(left + 100 * k, top - pitch * n)]
    ]


HEADS = ((160, 700, "Length"), (260, 700, "Beam"), (360, 700, "Draught"))
SHIPS = ((72, 680, "Grey Heron"), (72, 660, "Blue Tern"))


def test_fields_in_rows_and_columns_are_a_table():
    fields = grid(("43.5", "9.1", "3.2"), ("21", "", "1.9"))
    after = (72, 600, "The office is open on all days.")
    assert lines_of(*HEADS, *SHIPS, after, fields=fields) == [
        "|  | Length | Beam | Draught |",
        "| --- | --- | --- | --- |",
        "| Grey Heron | 43.5 | 9.1 | 3.2 |",
        "| Blue Tern | 21 |  | 1.9 |",
        "The office is open on all days.",
    ]
    # Without names of rows, and with labels that are before those of the columns in the file.
    assert lines_of(*HEADS, fields=fields)[2] == "| 43.5 | 9.1 | 3.2 |"
    assert "| Blue Tern | 21 |  | 1.9 |" in lines_of(*SHIPS, *HEADS, fields=fields)


def test_marks_in_rows_and_columns_are_a_table():
    boxes = [
        box(f"q{row}", (165 + 100 * k, 677 - 20 * row, 175 + 100 * k, 687 - 20 * row),
            state=str(k) if k == chosen else "Off", on=str(k), Ff="32768")
        for row, chosen in enumerate((0, 2))
        for k in range(3)
    ]  # fmt: skip
    found = lines_of(*HEADS, *SHIPS, fields=boxes)
    assert found[2:] == ["| Grey Heron | ☒ | ☐ | ☐ |", "| Blue Tern | ☐ | ☐ | ☒ |"]


@pytest.mark.parametrize(
    ("lines", "boxes"),
    [
        (((72, "Insured?"), (160, "Yes"), (220, "No")), (145, 205)),
        (((72, "Insured?"), (130, "Yes"), (180, "No")), (152, 198)),
        (((72, "Insured? Yes"), (160, "No")), (140, 178)),
    ],
)
def test_marks_are_before_their_labels_wherever_the_boxes_are(lines, boxes):
    shown = [(x, y, line) for y in (700, 680) for x, line in lines]
    fields = [
        box(f"{y}{n}", (x, y - 3, x + 10, y + 7), state=state)
        for y, states in ((700, ("Yes", "Off")), (680, ("Off", "Yes")))
        for n, (x, state) in enumerate(zip(boxes, states, strict=True))
    ]
    assert lines_of(*shown, fields=fields) == ["Insured? ☒ Yes ☐ No", "Insured? ☐ Yes ☒ No"]


def test_labels_above_boxes_and_below_fields():
    assert lines_of(
        (160, 700, "Yes"),
        (220, 700, "No"),
        (72, 680, "Insured"),
        (72, 620, "Signature of the master"),
        (300, 620, "Date"),
        fields=[
            box("a", (163, 678, 173, 688)),
            box("b", (222, 678, 232, 688), state="Yes"),
            widget("Tx", "s", (72, 632, 250, 648), "Ada Lind"),
            widget("Tx", "d", (300, 632, 400, 648), "9 May"),
        ],
    ) == ["☐ Yes ☒ No", "Insured", "Signature of the master: Ada Lind Date: 9 May"]


def test_names_that_programs_give_are_no_labels():
    fields = [
        widget("Tx", "topmostSubform[0].Page1[0].ship_name[0]", (72, 500, 300, 516), "Grey Heron"),
        widget("Tx", "Text7", (72, 400, 300, 416), "12 May"),
    ]
    assert lines_of((72, 700, "The office is open."), fields=fields) == [
        "The office is open.",
        "ship name: Grey Heron",
        "12 May",
    ]


def test_choices_that_are_shown_by_other_names():
    shown = ((72, 700, "Berth:"), (72, 680, "Services:"), (72, 600, "Stay:"))
    services = {"Opt": "[[(w) (Water)] [(p) (Power)] [(c) (Crane)]]", "I": "[0 2]"}
    fields = [
        widget("Ch", "b", (120, 696, 300, 712), "S", Opt="[[(N) (North)] [(S) (South)]]"),
        widget("Ch", "s", (130, 640, 300, 692), V="[(w) (c)]", Ff="2097152", **services),
        widget("Ch", "d", (120, 596, 300, 612), "7 days", Opt="[(1 day) (2 days)]", Ff="393216"),
    ]
    assert lines_of(*shown, fields=fields) == [
        "Berth: South",
        "Services: Water, Crane",
        "Stay: 7 days",
    ]
