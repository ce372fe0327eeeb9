"""A reply becomes an answer whose marks cite the sentences that support it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.synthesis.written import QUESTION, make_evidence

from knotwork._inference.chat import ChatReply
from knotwork._inference.prompt_material import disarm
from knotwork._synthesis.answer_writer import (
    CUT_OFF,
    ReplyReader,
    find_misquotes,
    parse_answer_reply,
)
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.prompt_context import pack_evidence
from knotwork.errors import Unparsable

PASSAGES = pack_evidence(make_evidence()[0], budget_tokens=1_000)
BY_NUMBER = {passage.number: passage for passage in PASSAGES}


def parse(text, finish_reason="stop"):
    reply = ChatReply(text, finish_reason)
    return parse_answer_reply(reply, PASSAGES, question=QUESTION, unknown=no_answer("en"))


def read(text):
    reader = ReplyReader(BY_NUMBER)
    reader.feed(text)
    reader.finish()
    return reader


@pytest.mark.parametrize(
    ("reply", "text", "quotes"),
    [
        (
            "She was born in London [2]. The Travel Office approves trips abroad. [1]",
            "She was born in London [1]. The Travel Office approves trips abroad. [2]",
            [
                "Ada Lovelace was born in London.",
                "Trips abroad are approved by the Travel Office.",
            ],
        ),
        # Two sentences of one passage are two sources, and one that comes again keeps its number.
        (
            "Ask 14 days ahead [1]. Ada Lovelace leads it [1]. Again: ask 14 days ahead [1].",
            "Ask 14 days ahead [1]. Ada Lovelace leads it [2]. Again: ask 14 days ahead [1].",
            ["Ask 14 days ahead.", "It is led by Ada Lovelace."],
        ),
        # A part of a sentence has its own source; marks of all forms are understood.
        (
            "The Travel Office approves trips abroad[1], and Ada Lovelace likes tea 【2】.",
            "The Travel Office approves trips abroad [1], and Ada Lovelace likes tea [2].",
            [
                "Trips abroad are approved by the Travel Office.",
                "Ada Lovelace was born in London. She likes tea.",
            ],
        ),
        ("London and trips abroad [1-2].", "London and trips abroad [1][2].", None),
        ("London and trips abroad [2, 1].", "London and trips abroad [1][2].", None),
        ("London and trips [Passage 2, passage 1].", "London and trips [1][2].", None),
        ("主任是温青岚［第3段］。", "主任是温青岚[1]。", ["主任是温青岚。"]),
        (
            "The [Travel] Office approves trips [abroad] [1].",
            "The [Travel] Office approves trips [abroad] [1].",
            None,
        ),
        (
            "海外出差由办事处主任审批。[3] 主任是温青岚[3]。",
            "海外出差由办事处主任审批。[1]主任是温青岚[2]。",
            ["海外出差由办事处主任审批。", "主任是温青岚。"],
        ),
    ],
)
def test_marks_lead_to_the_sentences_in_order_of_appearance(reply, text, quotes):
    parsed = parse(reply)
    assert parsed.text == text
    assert parsed.notes == ()
    if quotes:
        assert [item.text for item in parsed.cited] == quotes


def test_a_statement_drawn_from_two_neighbours_cites_both():
    parsed = parse("Trips abroad are approved by the Travel Office, led by Ada Lovelace. [1]")
    assert [item.text for item in parsed.cited] == [
        "Trips abroad are approved by the Travel Office."
    ]
    parsed = parse("Ask 14 days ahead of trips abroad approved by the Travel Office. [1]")
    assert [item.text for item in parsed.cited] == [
        "Trips abroad are approved by the Travel Office. Ask 14 days ahead."
    ]


def test_a_number_without_a_passage_is_removed_and_reported():
    parsed = parse("The Travel Office approves them [1][9]. They fly to London [12].")
    assert parsed.text == "The Travel Office approves them [1]. They fly to London."
    assert any("[9], [12]" in note for note in parsed.notes)
    assert any("1 of 2 sentences cites no source" in note for note in parsed.notes)


def test_sentences_without_a_mark_are_counted():
    parsed = parse(
        "In short: The Travel Office approves trips. [1] Nobody else may approve them. "
        "So the director cannot sign papers.\n\nSources:\n"
    )
    assert parsed.notes == ("2 of 3 sentences cite no source.",)


def test_a_statement_that_its_passage_does_not_say_is_left_out():
    parsed = parse(
        "Trips abroad are approved by the Travel Office [1]. It was founded in 1702 [1]. "
        "Ada Lovelace was born in London [2]."
    )
    assert parsed.text == (
        "Trips abroad are approved by the Travel Office [1]. Ada Lovelace was born in London [2]."
    )
    assert [item.rank for item in parsed.cited] == [1, 2]
    assert parsed.notes[0] == "1 of 3 statements was left out."
    assert "“It was founded in 1702.”" in parsed.notes[1]
    assert "1702" in parsed.notes[1]
    assert parsed.supported_share == pytest.approx(2 / 3)


def test_a_mark_that_leads_to_the_wrong_passage_is_moved():
    parsed = parse("Ada Lovelace was born in London [1].")
    assert parsed.text == "Ada Lovelace was born in London [1]."
    assert [item.text for item in parsed.cited] == ["Ada Lovelace was born in London."]
    assert [item.rank for item in parsed.cited] == [2]
    assert parsed.notes == (
        "1 mark led to a passage that does not say it, and now cites one that does.",
    )


@pytest.mark.parametrize("mark", ["", " [44]"])
def test_a_statement_without_a_mark_cites_the_passage_that_says_it(mark):
    parsed = parse(f"The Travel Office approves trips abroad{mark}.")
    assert parsed.text == "The Travel Office approves trips abroad. [1]"
    assert [item.rank for item in parsed.cited] == [1]
    assert parsed.notes[-1] == "1 sentence had no mark and now cites the passage that says it."


def test_repeated_sentences_are_quoted_once():
    said = "The Travel Office approves trips abroad. [1] "
    parsed = parse(said * 60)
    assert parsed.text == said.strip()
    assert parsed.notes[0] == "59 of 60 statements were left out."
    assert parsed.supported_share == 0.5


def test_a_mark_without_a_statement_is_no_citation():
    with pytest.raises(Unparsable):
        parse("[2]")
    assert parse("[2] The Travel Office approves trips abroad [1].").text == (
        " The Travel Office approves trips abroad [1].".strip()
    )


@pytest.mark.parametrize(
    "reply",
    [
        "Paris is the capital of France. [1]",
        "As an AI language model, I cannot approve trips. [1]",
        "Trips abroad are not approved by the Travel Office. [1]",
        "Ada Lovelace holds 99 patents [2].",
    ],
)
def test_a_reply_without_a_supported_statement_is_no_answer(reply):
    with pytest.raises(Unparsable, match="None of its statements is in the passages"):
        parse(reply)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("It says “approved by the Travel Office”.", []),
        ('It says "Approved  by the travel office," twice.', []),
        ("It says “trips abroad … Travel Office”.", []),
        ("It says “approved by the King of Spain”.", ["approved by the King of Spain"]),
        ('Both "ask 14 days ahead" and "ask 15 days ahead".', ["ask 15 days ahead"]),
        ("The so-called “spree” and the “who approves trips” of the question.", []),
        ("规定“海外出差由办事处主任审批”。", []),
        ("规定「海外出差由总经理审批」。", ["海外出差由总经理审批"]),
    ],
)
def test_quotes_must_stand_in_a_passage(text, wrong):
    assert find_misquotes(text, PASSAGES, question=QUESTION) == wrong


def test_a_misquote_is_a_note_beside_the_answer():
    parsed = parse("The rule reads “abroad approved by an office”. [1]")
    assert parsed.notes == (
        "“abroad approved by an office” is quoted in the answer, but no passage contains it.",
    )


@pytest.mark.parametrize(
    "reply",
    [
        no_answer("en"),
        no_answer("zh"),
        f"  {no_answer('en').upper()}\n",
        f"{no_answer('en')} [1]",
        f"I am sorry. {no_answer('en')}",
        no_answer("en").rstrip("."),
    ],
)
def test_the_agreed_sentence_means_that_there_is_no_answer(reply):
    assert parse(reply).is_unknown


def test_an_answer_that_admits_a_gap_is_an_answer():
    assert not parse(f"The Travel Office does [1]. As to when: {no_answer('en')}").is_unknown


@pytest.mark.parametrize(
    ("reply", "finish_reason"),
    [
        ("", "stop"),
        (" \n", "stop"),
        ("It depends.", "stop"),
        ("It depends [44].", "stop"),
        ("Sure! Here is ]]}{ the the | | | requested\tlist:: \ufffd 0x3F ~~~ <|im_end|>", "stop"),
        ("The Travel Office [1].", "filter"),
    ],
)
def test_a_reply_without_citations_is_not_an_answer(reply, finish_reason):
    with pytest.raises(Unparsable):
        parse(reply, finish_reason)


def test_a_cut_off_reply_is_used_with_a_note():
    parsed = parse("The Travel Office approves trips abroad [1]. It is l", "length")
    assert parsed.notes[-1] == CUT_OFF


_REPLIES = st.lists(
    st.sampled_from(
        [
            *("[1]", "[2][3]", " [ 1, 2]", "[99]", "【3】", "[", "]", "[1", "[x]", "[Source 2]"),
            *(
                " ",
                "\n",
                ". ",
                "。",
                "Trips abroad",
                "Ada Lovelace",
                "温青岚",
                "1954",
                "“tea”",
                "- ",
            ),
        ]
    ),
    max_size=25,
).map("".join)


@given(reply=_REPLIES, cuts=st.lists(st.integers(0, 120), max_size=8))
def test_a_reply_reads_the_same_in_pieces_of_any_size(reply, cuts):
    reader = ReplyReader(BY_NUMBER)
    places = sorted({0, len(reply), *(cut for cut in cuts if cut < len(reply))})
    shown = "".join(reader.feed(reply[a:b]) for a, b in pairwise(places))
    shown += reader.finish()
    whole = read(reply)
    assert shown == reader.text == whole.text
    assert (reader.plain, reader.cited) == (whole.plain, whole.cited)
    assert (reader.statements, reader.rejected) == (whole.statements, whole.rejected)


@given(reply=_REPLIES)
def test_every_mark_has_a_citation_and_every_citation_a_mark(reply):
    reader = read(reply)
    numbers = {f"[{number}]" for number in range(1, len(reader.cited) + 1)}
    assert all(number in reader.text for number in numbers)
    for item in reader.cited:
        start, end = item.span
        assert item.chunk.text[start:end] == item.text


@pytest.mark.parametrize("said", ["<|im_end|> and [INST] end a turn [3]", "</context> ends it"])
def test_a_quote_of_what_a_prompt_escaped_is_no_misquote(said):
    evidence, _ = make_evidence(texts={"Turns": f"The manual says that {said}, in all cases."})
    passages = pack_evidence(evidence, budget_tokens=1_000)
    (shown,) = [passage.text for passage in passages]
    copied = disarm(shown.partition("manual says that ")[2].partition(", in all")[0])
    assert copied != said
    for quote in (said, copied):
        assert not find_misquotes(f"It says “{quote}”.", passages, question=QUESTION)


def test_a_control_token_of_a_document_is_shown_as_it_is_written_there():
    text = "The marker <|im_end|> closes a turn of the protocol."
    evidence, _ = make_evidence(texts={"Protocol": text})
    passages = pack_evidence(evidence, budget_tokens=1_000)
    reply = ChatReply("The marker ‹|im_end|> closes a turn of the protocol. [1]")
    parsed = parse_answer_reply(reply, passages, question=QUESTION, unknown=no_answer("en"))
    assert parsed.text == f"{text} [1]"
    assert [item.text for item in parsed.cited] == [text]


@pytest.mark.parametrize(
    "circle",
    [
        "The office is the office of the office, and the office is the office.",
        "The office of the office is the",
        "Travel abroad travel abroad travel abroad travel abroad.",
    ],
)
def test_a_sentence_that_only_repeats_a_few_words_is_left_out(circle):
    reader = read(f"Ada Lovelace was born in London [2]. {circle} [1]")
    assert reader.text.strip() == "Ada Lovelace was born in London [1]."
    (rejected,) = reader.rejected
    assert rejected.finding is None


def test_the_frame_of_the_prompt_is_left_out_with_its_marks():
    reader = read("<context>\n[1] Ada Lovelace was born in London. [2]\n</context>\n")
    assert reader.text.strip() == "Ada Lovelace was born in London. [1]"
    assert [source.text for source in reader.cited] == ["Ada Lovelace was born in London."]


def test_an_unfinished_statement_is_dropped_after_a_whole_one():
    whole, cut = "Ada Lovelace was born in London [2].", " Trips abroad are approved by"
    assert parse(whole + cut, "length").text == "Ada Lovelace was born in London [1]."
    assert parse(f"{cut.strip()} the Travel Office [1]", "length").text.endswith("[1]")
