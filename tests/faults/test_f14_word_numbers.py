"""Numbers of lists, clauses and headings in Word and PowerPoint are those that the page shows."""

import pytest
from tests.faults.office_xml import item, level, lists, paragraph, styled, table, word
from tests.faults.small_files import read

CLAUSES = {
    0: (level(0, "decimal", "%1."), level(1, "decimal", "%1.%2"), level(2, "lowerLetter", "(%3)"))
}


def lines(body, definitions, instances=None, **more):
    """Return the lines of a document with lists, which are by default one for each definition."""
    instances = instances or {key + 1: (key, "") for key in definitions}
    text = read("a.docx", word(body, numbering=lists(definitions, instances), **more)).text
    return [line.strip() for line in text.split("\n") if line.strip()]


def test_clauses_have_the_numbers_of_all_levels():
    body = (
        *(item("Term", 1), item("The lease runs.", 1, 1), item("It ends.", 1, 1)),
        *(item("by letter", 1, 2), item("by mail", 1, 2), item("Rent", 1)),
        *(item("It is 300 crowns.", 1, 1), item("in cash", 1, 2)),
    )
    assert lines("".join(body), CLAUSES) == [
        *("1. Term", "- 1.1 The lease runs.", "- 1.2 It ends.", "- (a) by letter", "- (b) by mail"),
        *("2. Rent", "- 2.1 It is 300 crowns.", "- (a) in cash"),
    ]


@pytest.mark.parametrize(
    ("form", "text", "start", "more", "shown"),
    [
        ("decimal", "%1.", 5, "", ["5. A", "6. B"]),
        ("decimal", "%1)", 1, "", ["1) A", "2) B"]),
        ("lowerLetter", "(%1)", 26, "", ["- (z) A", "- (aa) B"]),
        ("upperRoman", "Article %1", 4, "", ["- Article IV A", "- Article V B"]),
        ("cardinalText", "Article %1", 1, "", ["- Article One A", "- Article Two B"]),
        ("ordinal", "%1", 2, "", ["- 2nd A", "- 3rd B"]),
        ("decimalZero", "§ %1", 9, "", ["- § 09 A", "- § 10 B"]),
        (
            "chineseCounting",
            "第%1条",
            10,
            '<w:suff w:val="nothing"/>',
            ["- 第十条A", "- 第十一条B"],
        ),
        ("chineseCountingThousand", "%1、", 100, "", ["- 一百、 A", "- 一百零一、 B"]),
        ("ideographTraditional", "%1.", 1, "", ["- 甲. A", "- 乙. B"]),
        ("decimalEnclosedCircle", "%1", 1, "", ["- ① A", "- ② B"]),
        ("bullet", "\uf0b7", 1, "", ["- A", "- B"]),
        ("none", "", 1, "", ["- A", "- B"]),
    ],
)
def test_forms_of_numbers(form, text, start, more, shown):
    definition = {0: (level(0, form, text, start, more),)}
    assert lines(item("A", 1) + item("B", 1), definition) == shown


def test_lists_of_one_definition_count_on_unless_they_start_again():
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="12"/></w:lvlOverride>'
    other = f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1)")}</w:lvlOverride>'
    body = (
        *(item("A", 1), paragraph("Between."), item("B", 1), item("C", 2)),
        *(item("D", 3), item("E", 3), item("F", 4)),
    )
    found = lines("".join(body), CLAUSES, {1: (0, ""), 2: (0, ""), 3: (0, again), 4: (0, other)})
    assert found == ["1. A", "Between.", "2. B", "3. C", "12. D", "13. E", "- N) F"]


def test_a_level_may_go_on_below_another_item_and_have_arabic_numbers():
    levels = (
        level(0, "upperRoman", "Article %1."),
        level(1, "decimal", "%1.%2", more='<w:lvlRestart w:val="0"/><w:isLgl/>'),
    )
    body = item("A", 1) + item("B", 1, 1) + item("C", 1) + item("D", 1, 1)
    assert lines(body, {0: levels}) == ["- Article I. A", "- 1.1 B", "- Article II. C", "- 2.2 D"]


def test_headings_are_numbered_by_their_styles():
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{key}"/>'
        f'<w:basedOn w:val="{base}"/><w:pPr><w:numPr>{place}<w:numId w:val="1"/></w:numPr></w:pPr>'
        "</w:style>"
        for key, base, place in (
            ("Part", "Heading1", ""),
            ("Clause", "Heading2", ""),
            ("Point", "Normal", '<w:ilvl w:val="2"/>'),
        )
    )
    named = (
        level(0, "upperRoman", "Article %1", more='<w:pStyle w:val="Part"/>'),
        level(1, "decimal", "%1.%2", more='<w:pStyle w:val="Clause"/><w:isLgl/>'),
        level(2, "lowerLetter", "(%3)"),
    )
    body = (
        *(styled("Terms", "Part"), styled("Length", "Clause"), styled("ten years", "Point")),
        *(styled("Rent", "Part"), styled("Amount", "Clause")),
        paragraph(
            "No number.", '<w:pStyle w:val="Clause"/><w:numPr><w:numId w:val="0"/></w:numPr>'
        ),
    )
    assert lines("".join(body), {0: named}, styles=styles) == [
        *("# Article I Terms", "## 1.1 Length", "- (a) ten years"),
        *("# Article II Rent", "## 2.1 Amount", "## No number."),
    ]


def test_a_list_may_come_from_a_style():
    styles = (
        '<w:style w:type="numbering" w:styleId="Outline"><w:name w:val="Outline"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    definitions = {
        0: ('<w:styleLink w:val="Outline"/>', level(0, "upperLetter", "%1.")),
        1: ('<w:numStyleLink w:val="Outline"/>',),
    }
    assert lines(item("A", 2) + item("B", 2), definitions, styles=styles) == ["- A. A", "- B. B"]


def test_rows_of_a_table_are_numbered():
    body = table((item("", 1), "Ulm"), (item("", 1), "Vik"))
    assert lines(body, CLAUSES)[2:] == ["| 1. | Ulm |", "| 2. | Vik |"]


def test_deleted_and_hidden_items_do_not_count():
    mark = "<w:rPr><w:del/></w:rPr>"
    gone = (
        f'<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>{mark}</w:pPr>'
        "<w:del><w:r><w:delText>Old.</w:delText></w:r></w:del></w:p>"
    )
    hidden = gone.replace("<w:del/>", "<w:vanish/>")
    assert lines(item("A", 1) + gone + hidden + item("B", 1), CLAUSES) == ["1. A", "2. B"]


def test_unknown_lists_and_broken_numbers_are_read():
    broken = (level("x", "decimal", "%1."), level(0, "decimal", "%1.%9", "9" * 40))
    assert lines(item("A", 7) + item("B", 1, 5) + item("C", 1), {0: broken}) == [
        *("- A", "- B", "1. C"),
    ]
