"""Hard-wrapped prose is split like unwrapped prose; independent lines are not joined."""

import textwrap
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knotwork._text.sentences import (
    LONGEST_SENTENCE,
    join_lines,
    join_wrapped,
    split_sentences,
    wrapping_width,
)

WRAPPED_AT_72 = (
    "The office moved to the harbour in spring, where it took over the upper\n"
    "floors of a warehouse that had stood empty for years. Most of the people\n"
    "who work there came by bicycle, and the yard was rebuilt to hold all of\n"
    "them. The lease runs for ten years.\n\n"
)


def sentences(text, **options):
    return [text[start:end] for start, end in split_sentences(text, **options)]


@pytest.mark.parametrize(
    "lines",
    [
        [
            "After two years of talks with its lenders the company was bought by",
            "Northwind Traders in 2019 for three million crowns.",
        ],
        [
            "The last keeper of the lighthouse on the southern cape was a man named",
            "Edvard Lund.",
        ],
        [
            "Ships from the north were made to wait outside the harbour, and in March",
            "2024 none came.",
        ],
        [
            "The director of the institute had long been a friend of the painter and",
            "“The Blue Rider” hung in her office.",
        ],
        [
            "- The survey of the northern bays was carried out for the first time by",
            "  Marta Ilves.",
        ],
        ["经过两年与银行的谈判之后这家位于北方港口的公司终于在", "2019年被北风贸易公司收购。"],
        ["该软件可以在多种操作系统上运行，其中包括最常用的Linux", "以及其他几种系统。"],
    ],
)
def test_a_paragraph_of_two_lines_is_joined_before_a_name_or_a_number(lines):
    text = "\n".join(lines)
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "lines",
    [
        # A heading: in capitals, or too short to have been wrapped.
        ["A Short History of the Northern Lighthouses and Their Keepers Since 1850",
         "Edvard Lund was the first of them."],
        ["What the company does and why it does so", "Northwind Traders makes buoys."],
        # An address, verses, columns, keys, fields, directives.
        ["Northwind Traders", "12 Harbour Street", "Tartu 51003", "Estonia."],
        ["Shall I compare thee to a summer’s day?", "Thou art more lovely and more temperate:",
         "Rough winds do shake the darling buds of May,"],
        ["buoys sold in the north during the first half of     31     14.2",
         "Kestrel probes sold in the south                    118      9.0."],
        ["Summary: what was learned about the northern bays in the second winter",
         "Author: Marta Ilves."],
        ["the name of the harbour in which the survey ends, as it is on the charts",
         ":param depth: in metres."],
        ["the first of the two series was measured in the harbour itself, and the",
         ".. note:: Depths are in metres."],
        [f"{'page 17':>71}", "Northwind Traders makes buoys."],
        [">>> sorted(name for name in the.harbours.of(bay) if name and not name.hidden)",
         "['Lund', 'Tartu']."],
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", WRAPPED_AT_72])
def test_lines_that_stand_for_themselves_are_not_joined(lines, before):
    joined = [
        (one, other)
        for part in sentences(before + "\n".join(lines))
        for one, other in pairwise(lines)
        if f"{one[-8:]}\n{other[:8]}" in part
    ]
    assert joined == []


@pytest.mark.parametrize(
    "lines",
    [
        [
            "how the measurements of the second winter differ from those of the first",
            "The second winter was cold.",
        ],
        [
            "a report on the state of the harbours in the northern part of the bay",
            "Minutes of the meeting of the board in March",
        ],
    ],
)
def test_where_no_width_is_known_two_lines_join_only_when_the_first_is_unfinished(lines):
    assert sentences("\n".join(lines)) == lines


def test_text_width_decides_if_words_do_not():
    text = "They were met on the quay by the mayor himself and by his brother Jakob\nThe Elder."
    assert sentences(text) == text.split("\n")
    assert sentences(WRAPPED_AT_72 + text)[-1] == text
    assert sentences(text, wrapped_at=72) == [text]


def test_lines_shorter_than_the_width_of_the_text_end_there():
    lines = ["They met on the quay beside the tower", "Jakob Lund came late."]
    assert sentences(WRAPPED_AT_72 + "\n".join(lines))[-2:] == lines


@pytest.mark.parametrize(
    ("text", "width"),
    [
        (WRAPPED_AT_72, 71),
        ("", 0),
        ("One line only, without an end", 0),
        ("apples\npears\nplums\nand so on\nand on\n" * 9, 0),
        ("A paragraph on one line " * 20 + "\nand another " * 20, 0),
        # A line for each clause is not wrapping.
        ("We went out,\nthough it was raining on all of the roads that lead to the sea,\nand\n" * 9,
         0),
    ],
)  # fmt: skip
def test_the_width_is_known_only_of_wrapped_prose(text, width):
    assert wrapping_width(text) == width


LOWER = st.text("abcdefghijklmnop", min_size=2, max_size=9)
NAME = st.text("abcdefghijklmnop", min_size=5, max_size=9).map(str.capitalize)
WORD = st.one_of(LOWER, LOWER, LOWER, NAME, st.integers(1000, 9999).map(str))
SENTENCE = st.tuples(NAME, st.lists(WORD, min_size=12, max_size=40, unique=True)).map(
    lambda parts: " ".join([parts[0], "remembered", *parts[1]]) + "."
)


@given(st.lists(SENTENCE, min_size=1, max_size=3), st.integers(55, 100))
def test_wrapping_a_paragraph_changes_no_sentence(parts, width):
    # What is too long for one sentence is cut at the ends of lines.
    assume(all(len(part) <= LONGEST_SENTENCE for part in parts))
    text = " ".join(parts)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    assume(len("\n".join(lines)) == len(text))
    # Lines that begin alike look like a list.
    assume(all(one.split()[0] != other.split()[0] for one, other in pairwise(lines)))
    wrapped = "\n".join(lines)
    assert split_sentences(wrapped, wrapped_at=width) == split_sentences(text)


@given(st.lists(st.text("天地玄黄宇宙洪荒日月", min_size=20, max_size=90), min_size=1, max_size=4),
       st.integers(24, 45))  # fmt: skip
def test_wrapping_chinese_changes_no_sentence(parts, width):
    text = "".join(part + "。" for part in parts)
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    assume(not any(line.startswith("。") for line in lines))
    found = sentences("\n".join(lines), wrapped_at=width)
    assert [part.replace("\n", "") for part in found] == sentences(text)


@given(st.lists(st.sampled_from(["- ", "* ", "1. ", "# ", "| ", "Key: "]), min_size=2, max_size=6),
       st.integers(0, 80))  # fmt: skip
def test_marked_lines_are_never_joined(marks, width):
    lines = [f"{mark}{'word ' * 13}the" for mark in marks]
    found = sentences("\n".join(lines), wrapped_at=width)
    assert [part for part in found if part.count("the") > 1] == []


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["The office", "moved."], "The office moved."),
        (["  The office ", "", " moved.  "], "The office moved."),
        (["差旅由", "部门批准。"], "差旅由部门批准。"),
        (["差旅，", "部门批准。"], "差旅，部门批准。"),
        (["The office", "差旅"], "The office 差旅"),
        (["差旅", "The office"], "差旅 The office"),
        ([], ""),
    ],
)
def test_lines_are_joined(lines, joined):
    assert join_lines(lines) == joined


def test_wrapped_lines_are_joined_and_others_kept():
    paragraph = WRAPPED_AT_72.strip()
    width = wrapping_width(WRAPPED_AT_72)
    assert join_wrapped(paragraph, width=width) == " ".join(paragraph.split())
    assert join_wrapped("Name: Ada\nTown: Tartu", width=width) == "Name: Ada\nTown: Tartu"
    assert join_wrapped("One line.", width=width) == "One line."
