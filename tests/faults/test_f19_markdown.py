"""Notes, raised figures, struck out words, embedded files and front matter of Markdown."""

import pytest
from tests.faults.small_files import ask, read

from knotwork._indexing.loaders.loader import unread_notes


def text_of(markdown):
    return read("a.md", markdown).text


def test_raised_figures_and_struck_out_words():
    assert text_of(
        "The fee is 30<sup>1</sup> crowns, ~~not 40~~ 2^10^ and 10<sup>-3</sup> of H~2~O or "
        "H<sub>2</sub>O, <del>five</del><!-- no --> on the 1<sup>st</sup>, `a^2^` is code."
    ) == ("The fee is 30 [^1] crowns,  2^10 and 10^-3 of H2O or H2O,  on the 1st, a^2^ is code.")


def test_ruby_pictures_and_signs_within_a_line():
    line = 'See <img alt="the chart" src="x"> of <ruby>東<rt>とう</rt></ruby> & 1 < 2, **bold**.'
    assert text_of(line) == "See the chart of 東 & 1 < 2, bold."


def test_a_note_is_below_the_text_with_its_mark():
    markdown = """- One[^a]
- Two

| Berth | Fee |
| ----- | --- |
| A     | 30[^t] |

> Quoted[^q].

Last[^a] again[^more].

[^a]: Note a.
[^t]: Net of tax.
[^q]: Of the quote.
[^more]: See[^deep]:
    - an item
[^deep]: Deep.
[^unused]: Unused.
"""
    assert text_of(markdown) == (
        "- One [^a]\n\n  [^a] Note a.\n- Two\n\n| Berth | Fee |\n| --- | --- |\n| A | 30 [^t] |\n\n"
        "[^t] Net of tax.\n\n> Quoted [^q].\n>\n> [^q] Of the quote.\n\nLast [^a] again "
        "[^more].\n\n[^more] See [^deep]:\n\n- an item\n\n[^deep] Deep.\n\n[^unused] Unused."
    )


def test_a_heading_has_no_mark_of_a_note():
    assert text_of("# Fees[^h]\n\nA.\n\n[^h]: In crowns.") == "# Fees\n\n[^h] In crowns.\n\nA."


def test_a_note_answers(tmp_path):
    note = "The first lock[^1] is at Ulm.\n\nOther.\n\n[^1]: The first lock was built in 1911.\n"
    (answer,) = ask(tmp_path, {"lock.md": note}, "When was the first lock built?")
    assert "1911" in answer


@pytest.mark.parametrize(
    "link",
    [
        "![]({})",
        "![][image1]\n\n[image1]: <{}>",
        "![a chart]({})",
        '<img src="{}" alt="a chart">',
        "[a chart]({})",
    ],
)
@pytest.mark.parametrize("kind", ["png", "svg+xml"])
def test_files_inside_links_are_no_text(link, kind):
    data = f"data:image/{kind};base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 40
    text = text_of(f"Above.\n\n{link.format(data)}\n\nBelow.")
    assert text.replace("a chart\n\n", "") == "Above.\n\nBelow."


def test_front_matter_that_is_no_yaml_is_read_field_by_field():
    front = """---
title: Crane: the rules
author: @ada
tags:
  - boats: all: large
  - cranes
date: 2024-01-31
summary: >
  Two
  lines
---
Body.
"""
    document = read("a.md", front)
    assert document.title == "Crane: the rules"
    assert document.metadata == {
        "author": "@ada",
        "tags": "boats: all: large, cranes",
        "date": "2024-01-31",
        "summary": "Two lines",
    }
    assert document.text.startswith("Body.")
    broken = '---\ntitle: "Crane" rules\nauthor: Ada\nno field at all\n---\nBody.\n'
    document = read("a.md", broken)
    assert document.title == '"Crane" rules'
    assert document.metadata == {"author": "Ada", "unread": "1 front matter line"}
    assert unread_notes("a.md", document.metadata) == [
        "`a.md` has parts that were not read: 1 front matter line."
    ]


def test_titles_and_fields_of_front_matter_in_other_forms():
    for name in ("a.md", "a.adoc"):
        document = read(name, "---\nTitle: Crane rules\nAuthor: Ada\n---\nBody.\n")
        assert (document.title, document.metadata) == ("Crane rules", {"Author": "Ada"})
    document = read("a.md", "---\n标题：起重机\n作者: 张三\n标签：\n- 港口\n---\n正文。\n")
    assert document.title == "起重机"
    assert document.metadata == {"作者": "张三", "标签": "港口"}
    assert document.text == "正文。"
    assert "周一休息" in text_of("---\n注意：本店周一休息。\n---\n正文。\n")


def test_prose_between_rules_stays_text():
    prose = "---\nNote: this is prose: with colons\nand another line\n---\nBody.\n"
    assert "prose: with colons and another line" in text_of(prose)
