"""Structure of PDF text by the place and type of its lines, and the lines that are left out."""

import pytest
from tests.indexing.loading import blocks, leads, load, outline
from tests.indexing.office_files import make_pdf, printed

from knotwork.records import BlockKind

pytestmark = pytest.mark.slow


def page_of(*lines, top=700, pitch=12):
    """Place lines below each other; a line is a text or (text, options), None a gap."""
    placed = []
    for number, line in enumerate(lines):
        if line is not None:
            text, options = (line, {}) if isinstance(line, str) else line
            placed.append(printed(text, top - pitch * number, **options))
    return placed


def load_pdf(*pages, **options):
    return load("a.pdf", make_pdf(pages, **options))


LARGE = {"size": 18, "font": "FB"}
CODE = {"font": "FM"}


def test_paragraphs_follow_the_distance_of_lines():
    document = load_pdf(
        page_of("The first line goes", "on here. It ends.", None, "Another one", "has lines too.")
    )
    assert document.text == "The first line goes on here. It ends.\n\nAnother one has lines too."


def test_sentences_that_end_in_short_lines_or_before_indents_end_paragraphs():
    document = load_pdf(
        page_of(
            *(("This paragraph is a long one, which has", {"x": 82}), "two lines."),
            *(
                ("The next one is just as long as that,", {"x": 82}),
                "Two lines, and filled so well.",
            ),
            *(("And the third begins at an indent", {"x": 82}), "and ends here."),
            *("Lines that are short", "Are no sentences", "Of a paragraph of this width at all"),
        )
    )
    assert document.text.split("\n\n") == [
        "This paragraph is a long one, which has two lines.",
        "The next one is just as long as that, Two lines, and filled so well.",
        "And the third begins at an indent and ends here.",
        "Lines that are short\nAre no sentences\nOf a paragraph of this width at all",
    ]


def test_headings_follow_size_and_their_level_by_number_or_rank():
    document = load_pdf(
        page_of(
            *(("Gateway", {"size": 24}), None, None, ("1 Settings", LARGE), None),
            *("They are read at the start of the", "program, and not again later.", None),
            *(("1.2 Limits of a very long", LARGE), None, "There are some of them.", None),
            *(("Notes", {"size": 14}), None, "See the manual of the program.", "It is long."),
            *("These lines are text, and there are", "more of them than headings,"),
            *("so that the size of text is known.",),
        )
    )
    assert outline(document) == [
        *((1, "Gateway"), (1, "1 Settings"), (2, "1.2 Limits of a very long"), (3, "Notes")),
    ]


def test_a_line_that_a_bookmark_of_its_page_names_is_a_heading():
    lines = [
        *("All about the naming of things is here.", None, "2.2 Naming", None),
        *("Naming is easy, and so is its history.", None, "2.3 The past of it", None),
        *("In the past there was no choice of oil.", None, "Oil", None),
        "It is changed at times, and looked at every year.",
    ]
    marks = [("Naming", 0, 1), ("The past of it", 0, 2), ("Oil", 0, 2), ("All about", 0, 1)]
    document = load_pdf(page_of(*lines), bookmarks=marks)
    assert outline(document) == [(2, "2.2 Naming"), (2, "2.3 The past of it"), (2, "Oil")]


def test_the_numbers_of_a_few_pages_are_left_out():
    pages = [[printed(f"Text of page {n}.", 700), printed(f"{n} / 2", 30)] for n in (1, 2)]
    assert load_pdf(*pages).text == "Text of page 1.\n\nText of page 2."


def test_lists_have_their_lead_and_end_where_the_text_does():
    document = load_pdf(
        page_of(
            *("Some text. What the program keeps", "for a year:", ("- logs of all", {"x": 80})),
            *(("clients", {"x": 90}), ("- keys", {"x": 80}), "They are encrypted."),
            *(None, "No list:", "- alone"),
        )
    )
    assert document.text.split("\n\n") == [
        "Some text. What the program keeps for a year:",
        "- logs of all clients\n- keys",
        "They are encrypted.",
        "No list:\n- alone",
    ]
    assert leads(document) == [("list", "What the program keeps for a year:")]


def test_items_are_nested_by_their_place_and_numbers_stay():
    document = load_pdf(
        page_of(
            *("1. Open the box and take", "everything out of it.", None),
            *(
                "2) Look for these parts:",
                ("\xa5 the pump", {"x": 90}),
                ("\xa5 the lid, which", {"x": 90}),
            ),
            *(("is made of brass", {"x": 98}), None, "3. Close it:", None),
            *(("close --box", {"font": "FM", "x": 84}), None, "(a) These are other items,"),
            *(
                "(b) of which there are two.",
                None,
                "Text below the list is long enough for it.",
            ),
        )
    )
    assert document.text == (
        "1. Open the box and take everything out of it.\n"
        "2. Look for these parts:\n   - the pump\n   - the lid, which is made of brass\n"
        "3. Close it:\n\n   ```\n   close --box\n   ```\n\n"
        "- (a) These are other items,\n- (b) of which there are two.\n\n"
        "Text below the list is long enough for it."
    )
    assert ("list", "Look for these parts:") in leads(document)


def test_a_list_goes_on_with_the_next_page():
    first = page_of(
        "What is kept:", ("- logs of", {"x": 80}), ("all", {"x": 90}), ("- keys", {"x": 80})
    )
    second = page_of(("- names of the", {"x": 100}), ("clients", {"x": 110}), None, "That is all.")
    document = load_pdf(first, second)
    assert document.text == (
        "What is kept:\n\n- logs of all\n- keys\n- names of the clients\n\nThat is all."
    )
    assert document.text[document.pages[1].start :].startswith("- names")


def test_marks_that_are_printed_behind_the_text_belong_to_their_items():
    lines = [printed("They are these:", 700), printed("one part", 680, x=90)]
    lines += [printed("another part", 660, x=90), printed("The end of them.", 630)]
    lines += [printed("1.", 680.1, x=76), printed("2.", 660.1, x=76)]
    assert load_pdf(lines).text == (
        "They are these:\n\n1. one part\n2. another part\n\nThe end of them."
    )


def test_a_list_may_be_shown_by_its_place_alone():
    document = load_pdf(
        page_of(
            *("These are kept:", ("logs", {"x": 90}), ("keys of clients", {"x": 90}), None),
            *(
                "They are not:",
                None,
                ("A paragraph that is indented by", {"x": 85}),
                "its first line.",
            ),
        )
    )
    assert document.text.split("\n\n") == [
        "These are kept:",
        "- logs\n- keys of clients",
        "They are not:",
        "A paragraph that is indented by its first line.",
    ]


def test_columns_are_read_one_after_the_other():
    left = page_of("The first column ends in", "the middle of")
    right = page_of(("a sentence. It goes on here.", {"x": 320}), ("It is done.", {"x": 320}))
    other = page_of(("Another text begins.", {"x": 500}), top=740)
    assert load_pdf(left + right + other).text == (
        "The first column ends in the middle of a sentence. It goes on here. It is done.\n\n"
        "Another text begins."
    )


def test_definitions_are_further_to_the_right_than_their_terms():
    document = load_pdf(
        page_of(
            *(("-k", CODE), ("--keep", CODE), ("Keep the files that are", {"x": 100})),
            *(("read.", {"x": 100}), ("Timeout", {"font": "FB"})),
            *(("The time to wait.", {"x": 100}), None, "Text at the left goes", "on below it."),
            *("It is longer than all code above,", "and there is much of it."),
        )
    )
    assert blocks(document, BlockKind.DEFINITION) == [
        ("definition", "-k, --keep", "**-k, --keep**\n\nKeep the files that are read."),
        ("definition", "Timeout", "**Timeout**\n\nThe time to wait."),
    ]


def test_an_indented_first_line_below_code_is_no_definition():
    document = load_pdf(
        page_of(
            *(("run --now", CODE), ("The command above runs it", {"x": 87}), "at once, and so on."),
            *(("run --later", CODE), ("And this is what it says:", {"x": 87}), ("done", CODE)),
            *("The end of the text comes here,", "and it is longer than the code."),
        )
    )
    assert {block[0] for block in blocks(document)} == {"code", "paragraph"}
    assert leads(document)[-1] == ("code", "And this is what it says:")


def test_code_terms_and_captions():
    document = load_pdf(
        page_of(
            *("The program is restarted by hand, as here:", ("gateway --restart", CODE), None),
            *("Table 1: Defaults of the gateway", None, "timeout 30 s", "retries 3", None),
            *("Then all is well for a while.",),
        )
    )
    caption = "Table 1: Defaults of the gateway"
    assert blocks(document, BlockKind.CODE, BlockKind.BOX) == [
        ("code", "", "```\ngateway --restart\n```"),
        ("box", caption, f"{caption}\n\ntimeout 30 s retries 3"),
    ]


def test_code_keeps_its_lines_and_indents_and_may_go_on_with_the_next_page():
    text = [f"This is line {n} of a text about the gateway." for n in range(4)]
    first = page_of(*text, None, ("begin:", CODE), ("run    it", {**CODE, "x": 84}), None)
    second = page_of(("end", CODE), None, *text)
    document = load_pdf(first, second)
    assert blocks(document, BlockKind.CODE) == [("code", "", "```\nbegin:\n  run    it\nend\n```")]
    assert document.text[document.pages[1].start :].startswith("end\n```")


def test_a_line_of_a_paragraph_in_monospaced_type_is_no_code():
    document = load_pdf(
        page_of(
            "The settings of it are in", ("/etc/gateway.conf", CODE), "and nowhere else at all."
        )
    )
    assert document.text == "The settings of it are in /etc/gateway.conf and nowhere else at all."


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["The exam-", "ple is short."], "The example is short."),
        (["A well-known name.", "It is well-", "known."], "A well-known name. It is well-known."),
        (["It is wellknown.", "It is well-", "known."], "It is wellknown. It is wellknown."),
        (["Pages 3-", "4 of it."], "Pages 3-4 of it."),
        (["See http://a.example/", "names/b."], "See http://a.example/names/b."),
        (["It de\xdenes a \xdfag."], "It defines a flag."),
    ],
)
def test_words_are_put_together(lines, text):
    assert load_pdf(page_of(*lines)).text == text


def test_a_word_that_a_page_cuts_is_put_together():
    document = load_pdf(page_of("The exam-"), page_of("ple is short."))
    assert document.text == "The example is short."
    assert [page.start for page in document.pages] == [0, 8]


def with_heads(heads, *, first_number=1):
    texts = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    return load_pdf(
        *(
            [
                *(printed(head, 750), printed(f"Text of {text} begins.", 700)),
                *(printed(f"It goes on to {text}.", 688), printed(str(number), 40)),
            ]
            for number, (head, text) in enumerate(zip(heads, texts, strict=True), first_number)
        )
    )


def test_heads_of_chapters_and_page_numbers_are_left_out():
    document = with_heads(["Settings", "Settings", "Settings", "Limits", "Limits", "Limits"])
    assert "Settings" not in document.text
    assert "Limits" not in document.text
    assert not any(character.isdigit() for character in document.text)
    assert document.text.count("It goes on to") == 6


def test_heads_with_the_number_of_the_page_are_left_out():
    heads = [f"Chapter {'ABCDEF'[number]} {number + 9}" for number in range(6)]
    assert "Chapter" not in with_heads(heads, first_number=9).text


def test_lines_at_the_top_that_differ_are_kept():
    document = with_heads(["One", "Two", "Three", "Four", "Five", "Six"])
    assert all(word in document.text for word in ("One", "Two", "Three", "Four", "Five", "Six"))


CONTENTS = [
    *("1 Introduction . . . . . . . . . 1", "2 Settings . . . . . . . . . . . 2"),
    *("2.1 A title that takes two", "lines . . . . . . . . . . . . . . 3", "3 Limits . . . . . 9"),
    *("4 Notes . . . . . . . . . . . . 12", "Index . . . . . . . . . . . . . 14"),
]


def test_contents_and_indexes_are_left_out():
    index = [f"{word}, {number}" for word, number in zip("abcdef", (9, 3, 5, 2, 8, 1), strict=True)]
    document = load_pdf(
        page_of("Contents", *CONTENTS),
        page_of("The text begins here.", "It is short."),
        page_of("Index", *index),
    )
    assert document.text == "The text begins here. It is short."


def test_other_lists_that_end_with_numbers_are_kept():
    prices = [
        f"{name} . . . . . . . . {price}" for name, price in zip("tcbwjs", "325431", strict=True)
    ]
    document = load_pdf(page_of("Prices", *prices), page_of("Seats: 3", "Tables: 5", "Beds: 7"))
    assert document.text.count(" . .") > 5
    assert "Beds: 7" in document.text
    chapters = load_pdf(page_of(*CONTENTS[:3]))  # too few to be sure
    assert "Introduction" in chapters.text


@pytest.mark.parametrize("pieces", [20_000, pytest.param(200_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("piece", ["a", ". ", "-", "1.", " "])
def test_long_lines_are_read(piece, pieces):
    """Time that grew with the square of the length would be hours."""
    assert load_pdf(["x" + piece * pieces, "next"]).text.endswith("next")


def test_a_file_that_is_all_contents_is_read():
    assert "Introduction" in load_pdf(page_of("Contents", *CONTENTS)).text


WIDE_LINES = ("The shed is open on Sundays and is closed in winter, when the ice", "is thin.")


@pytest.mark.parametrize(
    "items",
    [
        ["A bailer that is not made of metal", "Two oars", "A rope"],
        ["Two oars", "A bailer that is not made of any metal"],
        ["Oars", "Rope", "Hook", "Lamp", "Bell"],
    ],
)
def test_items_with_drawn_bullets_are_a_list(items):
    placed = [(item, {"x": 95}) for item in items]
    document = load_pdf(page_of("Bring these to the shed:", *placed, None, *WIDE_LINES))
    assert leads(document) == [("list", "Bring these to the shed:")]
    assert [text for _, _, text in blocks(document, BlockKind.ITEM)] == [f"- {i}" for i in items]


def test_items_with_drawn_bullets_end_at_a_gap():
    items = [(item, {"x": 95}) for item in ("Oars", "A rope of some metres", "Hook")]
    quote = [("Nobody rows alone.", {"x": 95})]
    document = load_pdf(page_of("Bring these:", *items, None, *quote, None, *WIDE_LINES))
    assert [text for _, _, text in blocks(document, BlockKind.ITEM)] == [f"- {i}" for i, _ in items]
    assert "\n\nNobody rows alone.\n\n" in document.text


def test_columns_beside_each_other_are_as_wide_as_their_lines():
    left = [printed(text, 680 - 12 * n) for n, text in enumerate(["Masts are made of", "spruce."])]
    right = [
        printed(text, 680 - 12 * n, x=320) for n, text in enumerate(["Oars are made of", "ash."])
    ]
    head = [printed(text, 740 - 12 * n) for n, text in enumerate(WIDE_LINES)]
    document = load_pdf([*head, *left, *right])
    assert document.text.split("\n\n")[1:] == ["Masts are made of spruce.", "Oars are made of ash."]


HEAD, FOOT = {"x": 40, "size": 8}, {"x": 300, "size": 8}
STEPS = [f"The text of this page tells you of step {n}." for n in ("one", "two", "three")]


def framed(head, foot, *lines):
    """Return a page with a line at its top and its bottom edge, which are the first in the file."""
    return [printed(head, 770, **HEAD), printed(foot, 30, **FOOT), *page_of(*lines)]


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("Kiln Manual", "{}"),
        ("11/29/26, 2:29 PM Kiln Manual", "file:///p.html {}/{count}"),
        ("Page {} of {count}", "(c) 2024 Hallam - {} -"),
    ],
)
@pytest.mark.parametrize("count", [2, 3])
def test_a_few_pages_lose_their_heads_and_feet(head, foot, count):
    pages = [
        framed(head.format(n, count=count), foot.format(n, count=count), text)
        for n, text in enumerate(STEPS[:count], 1)
    ]
    assert load_pdf(*pages).text.split("\n\n") == STEPS[:count]


def test_a_notice_at_the_foot_of_a_few_pages_is_kept_once_and_a_page_may_have_no_text():
    notice = "Please tell our staff of any allergies."
    document = load_pdf(framed("Kiln Manual", notice, STEPS[0]), framed("Kiln Manual", notice))
    assert document.text.split("\n\n") == [STEPS[0], notice]


@pytest.mark.parametrize(
    "pages",
    [
        [framed("Kiln Manual", "1", STEPS[0])],
        [framed("Kiln Manual", "Stoke", STEPS[0]), page_of(STEPS[1])],
        [page_of("Lesson 1", None, STEPS[0]), page_of("Lesson 4", None, STEPS[1])],
        [page_of(("Lesson 1", LARGE), None, s) for s in STEPS],
        [page_of("Wear gloves.", s, STEPS[2]) for s in STEPS[:2]],
    ],
)
def test_a_few_pages_keep_their_titles_and_text(pages):
    shown = [line for page in pages for line in page]
    text = load_pdf(*pages).text
    assert all(line[0].split("(", 1)[1].split(")")[0] in text for line in shown)
    assert text.count("Lesson") + text.count("gloves") in (0, len(pages))
