"""Subtitles are read as paragraphs whose sentences know when they are spoken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.loading import blocks, load

import knotwork
from knotwork.errors import LoadError
from knotwork.records import BlockKind, Span, TimeSpan
from knotwork.testing import HashingEmbedder

SRT = """1
00:00:01,000 --> 00:00:03,500
The <i>stone bridge</i>
opened in 1784.

2
00:00:03,600 --> 00:00:06,000
{\\an8}It has <font color="#ff0000">three</font> arches.

3
01:02:10,000 --> 01:02:12,000
Marie Curie crossed it in 1911.
"""
VTT = """WEBVTT - The bridge
Kind: captions

STYLE
::cue { color: red --x }

NOTE
This is a comment.

intro
00:01.000 --> 00:03.000 align:start position:0%
<v.loud Ada Lovelace>The toll is &lt;one&gt; crown.</v>

00:03.000 --> 00:05.000
<v Ada Lovelace>Nobody pays it.

NOTE another comment

00:05.000 --> 00:08.000
<v Tom>I <c.yellow>do</c>.<00:00:06.500> Often.
"""


def said(document, words):
    start = document.text.index(words)
    return document.time_of(Span(start, start + len(words)))


def test_cues_become_paragraphs_without_numbers_and_markup():
    document = load("film.srt", SRT)
    assert document.text == (
        "The stone bridge opened in 1784. It has three arches.\n\nMarie Curie crossed it in 1911."
    )
    assert said(document, "opened in 1784") == TimeSpan(1.0, 3.5)
    assert said(document, "opened in 1784. It has three") == TimeSpan(1.0, 6.0)
    assert said(document, "Marie Curie").text == "1:02:10-1:02:12"
    assert document.media_type == "application/x-subrip"


def test_speakers_are_named_and_comments_are_left_out():
    document = load("film.vtt", VTT)
    assert document.text == (
        "Ada Lovelace: The toll is <one> crown. Nobody pays it.\n\nTom: I do. Often."
    )
    assert said(document, "Nobody pays it.") == TimeSpan(3.0, 5.0)
    assert document.media_type == "text/vtt"


def test_dashes_are_speakers_and_minus_signs_are_not():
    document = load(
        "a.srt",
        "1\n0:00:01,0 --> 0:00:02,0\n- Is it cold?\n- Yes.\n\n2\n0:0:2,0 --> 0:0:3,0\n-5 outside.",
    )
    assert document.text == "Is it cold?\n\nYes.\n\n-5 outside."
    assert turns(document) == [("", "Is it cold?"), ("", "Yes.")]


def turns(document):
    return [(label, text) for _, label, text in blocks(document, BlockKind.TURN)]


def test_turns_of_different_speakers_are_never_joined():
    lines = [
        "ADA: The pump runs.",
        ">> TOM: It is hot\nin here.",
        "And loud.",
        "Note: I do.",
        "Tom?",
    ]
    cues = (f"{n}\n00:00:0{n},0 --> 00:00:0{n},9\n{said}" for n, said in enumerate(lines, 1))
    document = load("a.srt", "\n\n".join(cues))
    assert turns(document) == [
        ("ADA", "ADA: The pump runs."),
        ("TOM", "TOM: It is hot in here. And loud. Note: I do. Tom?"),
    ]
    cues = ("<v Ada>One.", "<v Tom>Two.", "<v Tom>Three.", "Four.", "- Five.\n- Six.", "Seven.")
    times = (f"00:0{n}.0 --> 00:0{n}.9\n{said}" for n, said in enumerate(cues, 1))
    document = load("a.vtt", "WEBVTT\n\n" + "\n\n".join(times))
    assert turns(document) == [
        ("Ada", "Ada: One."),
        ("Tom", "Tom: Two. Three."),
        ("", "Five."),
        ("", "Six."),
    ]
    assert document.text.endswith("Four.\n\nFive.\n\nSix.\n\nSeven.")


def test_captions_that_scroll_are_read_once():
    lines = [f"line number {n}" for n in range(6)]
    cues = ["WEBVTT"]
    for n in range(5):
        cues.append(f"00:0{n}.000 --> 00:0{n}.990\n{lines[n]}\n<c>{lines[n + 1]}</c>")
        cues.append(f"00:0{n}.990 --> 00:0{n + 1}.000\n{lines[n + 1]}")
    document = load("auto.vtt", "\n\n".join(cues))
    assert document.text == " ".join(lines)


def test_a_word_that_is_said_again_later_is_kept():
    text = "1\n00:00:01,0 --> 00:00:02,0\nNo.\n\n2\n00:00:03,0 --> 00:00:04,0\nNo.\n"
    assert load("a.srt", text).text == "No. No."


def test_cues_are_read_in_the_order_of_their_times():
    text = "2\n00:00:09,0 --> 00:00:10,0\nSecond.\n\n1\n00:00:01,0 --> 00:00:12,0\nFirst.\n"
    document = load("a.srt", text)
    assert document.text.split() == ["First.", "Second."]
    assert said(document, "Second.") == TimeSpan(9.0, 10.0)


@pytest.mark.parametrize(
    "timing",
    ["--> 00:00:03,000", "soon --> later", "00:99999:00 --> 1", "0:0:-1,0 --> 0:0:2,0", "-->"],
)
def test_text_with_broken_times_is_kept_without_them(timing):
    document = load(
        "a.srt", f"1\n{timing}\nThe bridge fell.\n\n2\n00:00:05,0 --> 00:00:06,0\nIt did."
    )
    assert "The bridge fell." in document.text
    assert said(document, "The bridge fell.") is None
    assert said(document, "It did.") == TimeSpan(5.0, 6.0)


def test_an_end_before_its_start_is_no_time_range_that_runs_backwards():
    document = load("a.srt", "1\n00:00:05,000 --> 00:00:01,000\nBackwards.\n")
    assert said(document, "Backwards.") == TimeSpan(5.0, 5.0)


def test_cues_without_blank_lines_between_them_are_read():
    text = "1\n00:00:01,0 --> 00:00:02,0\nOne.\n2\n00:00:02,0 --> 00:00:03,0\nTwo."
    assert load("a.srt", text).text == "One. Two."


def test_a_blank_line_inside_a_cue_loses_nothing():
    text = "1\n00:00:01,0 --> 00:00:02,0\nOne.\n\nMore.\n\n2\n00:00:02,0 --> 00:00:03,0\nTwo."
    assert load("a.srt", text).text == "One. More. Two."


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-8-sig", "Die Brücke ist schön und alt."),
        ("utf-16", "Die Brücke ist schön und alt."),
        ("cp1252", "Die Brücke ist schön und die Maut ist nicht hoch."),
        ("gb18030", "这座石桥是一七八四年建成的，我们都知道。"),
    ],
)
def test_other_encodings_are_read(encoding, words):
    text = f"1\r\n00:00:01,000 --> 00:00:03,000\r\n{words}\r\n"
    assert load("a.srt", text.encode(encoding)).text == words


def test_chinese_lines_are_joined_without_a_space():
    text = "1\n00:00:01,0 --> 00:00:02,0\n这座石桥\n是一七八四年建成的。\n"
    assert load("a.srt", text).text == "这座石桥是一七八四年建成的。"


def test_long_speech_is_divided_into_paragraphs():
    cues = [f"{n}\n00:{n // 60:02}:{n % 60:02},0 --> 00:{n // 60:02}:{n % 60:02},9\nwords and {n}"
            for n in range(600)]  # fmt: skip
    paragraphs = load("a.srt", "\n\n".join(cues)).text.split("\n\n")
    assert 5 <= len(paragraphs) <= 10


def test_a_file_without_times_is_refused():
    with pytest.raises(LoadError, match="no line with times") as caught:
        load("a.srt", "1\nHello.\n")
    assert caught.value.reason == "broken"


@given(st.text(alphabet="0123:,.- >\n<vbi/>{}\\a&;NOTEWB") | st.text())
def test_any_text_behind_a_cue_is_read_or_refused(text):
    for name, start in (
        ("a.srt", "1\n0:0:1,0 --> 0:0:2,0\n"),
        ("a.vtt", "WEBVTT\n\n0:1.0 --> 0:2.0\n"),
    ):
        document = load(name, (start + "Hello.\n" + text).encode("utf-8", "replace"))
        assert document.text.startswith("Hello.")
        for timed in document.times:
            assert 0 <= timed.span.start < timed.span.end <= len(document.text)
            assert timed.start_s <= timed.end_s


def test_citations_carry_the_time(tmp_path):
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "film.srt").write_text(SRT)
    with knotwork.open(tmp_path / "i.knot", embedder=HashingEmbedder(32)) as base:
        base.index(folder)
        citation = base.ask("When did the stone bridge open?").citations[0]
        assert citation.time == TimeSpan(1.0, 6.0), "no reader: that of the whole piece"
        assert "1784" in citation.quote
    with knotwork.open(tmp_path / "i.knot", embedder=HashingEmbedder(32)) as base:
        assert (
            base.ask("Who crossed the bridge in 1911?").citations[0].time.text == "1:02:10-1:02:12"
        )
