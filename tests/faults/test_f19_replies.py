"""Replies in the habits of other products: their marks, and their politeness."""

import time

import pytest
from tests.synthesis.written import QUESTION, make_evidence

from knotwork._inference.chat import ChatReply
from knotwork._synthesis.answer_writer import ReplyReader, parse_answer_reply
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.prompt_context import pack_evidence

PASSAGES = pack_evidence(make_evidence()[0], budget_tokens=1_000)
BY_NUMBER = {passage.number: passage for passage in PASSAGES}


def parse(text):
    reply = ChatReply(text, "stop")
    return parse_answer_reply(reply, PASSAGES, question=QUESTION, unknown=no_answer("en"))


@pytest.mark.parametrize(
    "mark",
    [
        "【1†source】", "【1†L4-L9】", "【1:0†source】", "[^1]", "(Source 1)",
        "(source: 1)", "[Source: 1]", "[Source 1]", "［1］", "[[1]]",
        "[citation:1]", "[Citation 1]",
        "[doc1]", "[Document 1]", "[ref 1]", "(1)", "（1）", "¹", "<sup>1</sup>", "<sup>[1]</sup>",
        "(Source: [1])", "(see [1])", "(来源1)", "（来源：1）", "[来源1]", "【来源：1】",
        "(来源: [1])",
        "[资料1]", "（文档1）", "[第1段]", "(Passage 1)", "([1])", "(Sources [1], [1])", "①",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "form", ["{said}{mark}.", "{said} {mark}.", "{said}. {mark}", "{said}.{mark}"]
)
def test_marks_of_other_kinds_are_marks(mark, form):
    found = parse(form.format(said="The Travel Office approves trips abroad", mark=mark))
    assert found.text.replace(" ", "") in {
        "TheTravelOfficeapprovestripsabroad[1].", "TheTravelOfficeapprovestripsabroad.[1]",
    }  # fmt: skip
    assert found.cited[0].text == "Trips abroad are approved by the Travel Office."
    assert found.supported_share == 1.0
    assert not found.notes


@pytest.mark.parametrize(
    "mark", ["[1, 2]", "[1][2]", "[1-2]", "[1]、[2]", "【1】【2】", "(Sources 1 and 2)", "(1)(2)",
             "¹²", "[1] [2]", "（来源1、2）", "[1；2]", "[^1][^2]", "(Source 1, Source 2)"],
)  # fmt: skip
def test_marks_of_several_passages(mark):
    reader = ReplyReader(BY_NUMBER)
    reader.feed(f"London and trips abroad {mark}.")
    reader.finish()
    assert len({support.chunk.id for support in reader.cited}) == 2
    assert not reader.unknown_numbers


@pytest.mark.parametrize(
    "text",
    [
        "The shed has 40 m² of floor.",
        "It holds 10² litres and 3 km² of water.",
        "Steps:\n(1) Apply early.\n(2) Pay the fee.",
        "(1) Apply early. (2) Pay the fee.",
        "① 提前申请。② 缴纳费用。",
        "It is a matter of form (open daily) and (see the rules) of course.",
        "The clause (12) is void, and so is note⁹.",
        "a < b and <b>bold</b> (unclosed",
    ],
)
def test_characters_that_are_not_citation_marks_stay(text):
    reader = ReplyReader(BY_NUMBER)
    reader.feed(text)
    reader.finish()
    assert reader.plain == text
    assert not reader.cited
    assert not reader.unknown_numbers


CHATTER = [
    "Hope this helps!", "I hope this helps.", "I hope this answers your question!",
    "Let me know if you have any other questions.", "Feel free to ask for more!",
    "Please don't hesitate to ask.", "If you need more details, let me know!",
    "Is there anything else you would like to know?", "Happy to help!", "You're welcome!",
    "Thanks for asking!", "希望对您有帮助！", "希望以上信息对您有所帮助。",
    "如果您还有其他问题，请随时告诉我。",
    "如有疑问，欢迎随时提问！", "还有什么我可以帮您的吗？", "很高兴为您解答！", "祝您旅途愉快！",
]  # fmt: skip
OPENINGS = [
    "Sure! ", "Certainly! ", "Of course. ", "Great question! ", "Sure, here is the answer:\n\n",
    "Based on the provided passages, ", "According to the sources, ", "Based on the context: ",
    "好的，", "当然！", "根据提供的资料，", "根据上述内容，",
]  # fmt: skip


@pytest.mark.parametrize("chatter", CHATTER)
def test_politeness_at_the_end_is_no_statement(chatter):
    plain = parse("The Travel Office approves trips abroad [1].")
    for gap in (" ", "\n\n"):
        found = parse(f"The Travel Office approves trips abroad [1].{gap}{chatter}")
        assert found.text == plain.text
        assert found.supported_share == 1.0
        assert not found.notes


@pytest.mark.parametrize("opening", OPENINGS)
def test_politeness_at_the_beginning_is_no_statement(opening):
    found = parse(f"{opening}the Travel Office approves trips abroad [1].")
    assert "approves trips abroad [1]" in found.text
    assert found.supported_share == 1.0
    assert not found.notes


@pytest.mark.parametrize(
    "said", ["Hope House is led by Bo Berg.", "Let me know when 40 boats arrive at the shed.",
             "If you need a boat, the shed has some.", "Sure, the shed closes at six."],
)  # fmt: skip
def test_replies_that_only_begin_politely_are_checked(said):
    found = parse(f"The Travel Office approves trips abroad [1]. {said}")
    assert found.supported_share < 1.0 or any("no source" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    ["(" * 20_000, "[[" * 20_000, "<sup>" * 8_000, "(source " * 5_000, "¹" * 10_000,
     "Sure, here is " * 3_000, "希望" * 10_000],
)  # fmt: skip
def test_hostile_replies_take_no_time(text):
    started_s = time.perf_counter()
    reader = ReplyReader(BY_NUMBER)
    reader.feed(text)
    reader.finish()
    assert time.perf_counter() - started_s < 20
