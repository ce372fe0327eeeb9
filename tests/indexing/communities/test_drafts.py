"""Reading reports out of replies: what models do to the form costs what it befalls, no more."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.model.mutations import HARMFUL, HARMLESS

from knotwork._extensions.model_indexing.written_reports import (
    MOST_FINDINGS,
    Brief,
    BriefLine,
    read_reports,
)
from knotwork._indexing.communities.extractive_reports import Material
from knotwork._inference.chat import ChatReply
from knotwork.records import Span, Support


def make_brief(key, *lines, language="en"):
    lines = tuple(
        BriefLine(text, (Support(f"{key}{place}", Span(place, place + 1)),))
        for place, text in enumerate(lines)
    )
    return Brief(Material(key, (), (), (3, 3)), f"key-{key}", language, (f"names: {key}",), lines)


HARBOUR = make_brief(
    "harbour",
    "The harbour master counted every boat in the bay.",
    "A storm destroyed the northern pier during winter.",
    "The council paid for a new lighthouse on the rocks.",
)
KITCHEN = make_brief(
    "厨房", "厨师奥黛特在萨弗伦餐厅烤面包。", "面包师们每天早晨使用新烤箱。", language="zh"
)
BRIEFS = [HARBOUR, KITCHEN]
LINES = [
    "report | 1",
    "title | Harbour and its repairs",
    "summary | The harbour was counted, hit by a storm and given a lighthouse.",
    "finding | The harbour master counted boats. [1]",
    "finding | A winter storm destroyed the pier, so the council paid. [2][3]",
    "report | 2",
    "title | 餐厅与面包",
    "summary | 厨师与面包师一起工作。",
    "finding | 厨师奥黛特烤面包。[4]",
    "finding | 面包师每天使用烤箱。[4, 5]",
]


def read(text, briefs=BRIEFS, **reply):
    return read_reports(ChatReply(text, **reply), briefs)


def supports(*ids):
    return tuple(Support(key, Span(int(key[-1]), int(key[-1]) + 1)) for key in ids)


def test_a_reply_in_the_form_is_read_whole():
    reading = read("\n".join(LINES))
    assert reading.complaints == ()
    first, second = reading.found[0], reading.found[1]
    assert (first.title, second.title) == ("Harbour and its repairs", "餐厅与面包")
    assert first.summary.startswith("The harbour was counted")
    assert [f.text for f in first.findings] == [
        "The harbour master counted boats.",
        "A winter storm destroyed the pier, so the council paid.",
    ]
    assert first.findings[1].supports == supports("harbour1", "harbour2")
    assert second.findings[1].supports == supports("厨房0", "厨房1")


@pytest.mark.parametrize(
    ("finding", "cited"),
    [
        ("finding | A storm destroyed the pier [2]", ["harbour1"]),
        ("finding | A storm destroyed the pier | 2", ["harbour1"]),
        ("finding | A storm destroyed the pier | [2], [3]", ["harbour1", "harbour2"]),
        ("finding | A storm destroyed the pier | 2, 3", ["harbour1", "harbour2"]),
        ("- Finding: A storm destroyed the pier 【2】【3】", ["harbour1", "harbour2"]),
        ("**finding** | A storm destroyed the pier [1-3]", ["harbour0", "harbour1", "harbour2"]),
        ("3. finding 1 | A storm [2] destroyed the pier", ["harbour1"]),
        ("发现：A storm destroyed the pier［2］", ["harbour1"]),
        ("* A storm destroyed the pier [2]", ["harbour1"]),
    ],
)
def test_numbers_are_read_as_models_write_them(finding, cited):
    reading = read(f"title | Storm\nsummary | A storm came.\n{finding}", [HARBOUR])
    (found,) = reading.found[0].findings
    assert found.text.rstrip(".") == "A storm destroyed the pier"
    assert found.supports == supports(*cited)
    assert reading.complaints == ()


def test_numbers_that_do_not_exist_are_dropped_and_reported():
    reading = read("report | 1\nfinding | The council paid for a lighthouse [3][9]\n")
    (found,) = reading.found[0].findings
    assert found.supports == supports("harbour2")
    assert [c.reason for c in reading.complaints] == ["cited lines are not in the group: 9"]
    # Without one left, the line that says the same is its support ...
    reading = read("report | 1\nfinding | The council paid for a new lighthouse [4]\n")
    assert reading.found[0].findings[0].supports == supports("harbour2")
    # ... and where none does, the finding is left out.
    reading = read("report | 1\nfinding | The harbour sells delicious pies to visitors [77]\n")
    assert reading.found == {}
    assert "no line supports the finding" in {c.reason for c in reading.complaints}


def test_facts_about_nobody_are_not_findings():
    reading = read("report | 1\nfinding | Purple elephants enjoy cinnamon [1]\n")
    assert reading.found == {}


def test_a_report_in_another_language_is_discarded():
    kitchen = make_brief("厨房", "厨师Odette在Saffron House烤面包。", language="zh")
    reading = read("title | Odette\nfinding | Odette bakes at Saffron House. [1]", [kitchen])
    assert reading.found == {}
    assert reading.complaints[-1].reason == "the report is not in the language of its lines"
    assert read("title | 面包\nfinding | Odette在Saffron House工作。[1]", [kitchen]).found
    harbour = make_brief("harbour", "Odette 船长 came to the harbour.")
    assert read("title | 港口\nfinding | Odette船长来到了港口。[1]", [harbour]).found == {}
    assert read("title | Harbour\nfinding | Odette (船长) came. [1]", [harbour]).found


def test_a_report_that_names_no_group_is_of_the_lines_that_it_cites():
    text = "\n".join(line for line in reversed_reports() if not line.startswith("report"))
    assert read(text).found == read("\n".join(LINES)).found


def reversed_reports():
    return [*LINES[5:], *LINES[:5]]


def test_of_two_reports_on_a_group_the_first_counts():
    again = ["report | 1", "title | Other", "finding | A storm came in winter [2]"]
    reading = read("\n".join([*LINES, *again]))
    assert reading.found == read("\n".join(LINES)).found
    assert [c.line for c in reading.complaints] == ["Other"]


def test_a_cut_off_reply_loses_its_last_line():
    whole = read("\n".join(LINES))
    text = "\n".join(LINES)[:-14]
    reading = read(text, finish_reason="length")
    assert reading.found[0] == whole.found[0]
    assert reading.found[1].findings == whole.found[1].findings[:1]
    assert [c.reason for c in reading.complaints] == ["the line is cut off"]


def test_a_report_does_not_grow_beyond_measure():
    lines = [f"finding | The harbour counted boat {n} in the bay [1]" for n in range(20)]
    reading = read("\n".join(["report | 1", "title | " + "x" * 500, *lines]))
    assert len(reading.found[0].findings) == MOST_FINDINGS
    assert reading.found[0].title == ""
    assert len(reading.complaints) == 20 - MOST_FINDINGS + 1


@given(st.integers(0, 10**6))
def test_facts_added_by_models_cost_nothing(seed):
    chance = random.Random(seed)
    lines = [chance.choice(HARMLESS)(line) for line in LINES]
    reading = read("```\n" + "\n\n".join(lines) + "\n```")
    assert reading.found == read("\n".join(LINES)).found


@given(st.integers(0, 10**6))
def test_a_garbled_line_costs_itself_alone(seed):
    chance = random.Random(seed)
    place = chance.choice([n for n, line in enumerate(LINES) if line.startswith(("fin", "sum"))])
    lines = list(LINES)
    lines[place] = chance.choice(HARMFUL)(lines[place], chance)
    whole, reading = read("\n".join(LINES)), read("\n".join(lines))
    other = 1 if place < 5 else 0
    assert reading.found[other] == whole.found[other]
    kept = {f.text for f in reading.found[1 - other].findings}
    for finding in whole.found[1 - other].findings:
        assert finding.text in kept or finding.text[:4] in LINES[place]


@given(st.integers(0, 10**6), st.sampled_from(["stop", "length"]))
def test_reading_never_fails_and_every_finding_is_traced(seed, finish_reason):
    chance = random.Random(seed)
    lines = []
    for line in LINES * 2:
        harmed = line
        for _ in range(chance.randrange(4)):
            harmed = chance.choice(HARMFUL)(harmed, chance) if harmed else harmed
        lines.append(harmed)
    chance.shuffle(lines)
    reading = read("\n".join(lines), finish_reason=finish_reason)
    for place, draft in reading.found.items():
        own = {support for line in BRIEFS[place].lines for support in line.supports}
        assert draft.findings
        for finding in draft.findings:
            assert finding.text
            assert finding.supports
            assert set(finding.supports) <= own


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    for briefs in (BRIEFS, [HARBOUR]):
        for draft in read(text, briefs).found.values():
            assert draft.findings


def test_a_long_line_is_read_in_no_time():
    for text in ("[1] a | " * 20_000, " " * 50_000 + "x", "[" + "1, " * 30_000, "\t" * 50_000):
        assert read(f"report{text}").found == {}
        assert read(f"report | 1\nfinding | {text}").found == {}
