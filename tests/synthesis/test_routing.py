"""Rules choose the mode for questions about the whole, an entity or a fact, in two languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.synthesis.routing_questions import PASSAGES, WHOLE

from knotwork._inference.chat import ChatReply
from knotwork._retrieval.community_search import find_topic
from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.engine import choose_mode, parse_mode
from knotwork.errors import Unparsable


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes?",
        "Summarise the documents.",
        "Give me an overview of all this",
        "What are these documents about?",
        "Which risks are mentioned most often?",
        "How often do engineers talk about safety?",
        "Are there common patterns in the failures?",
        "What do the reports across the collection say about safety?",
        "Which teams discuss staffing problems?",
        "What themes run through these conversations?",
        "Which topics come up again and again?",
        "总结一下主要内容",
        "这些文档主要讲了什么？",
        "这些資料的主題有哪些？",
        "整体来看有哪些趋势？",
        "资料里主要讨论了哪些问题？",
    ],
)
def test_questions_about_the_whole_are_global(question):
    assert choose_mode(question) == "global"


@pytest.mark.parametrize(
    "question",
    [
        "When was the company founded?",
        "Who approves trips abroad?",
        "What is the main theme of the novel Emma by Jane Austen?",
        "How many countries did Marta Ilves discuss in 1954?",
        "What is the summary judgment threshold?",
        "Which city hosts the annual report of the Ashmere Water Board?",
        "Is there a ferry to Skarrow?",
        "谁审批海外出差？",
        "《红楼梦》的主题是什么？",
        "浮标的深度是多少？",
        "",
        "?",
        "themes",
    ],
)
def test_questions_for_a_fact_are_basic(question):
    assert choose_mode(question) == "basic"


@pytest.mark.parametrize(
    "question",
    [
        "Tell me about Oriane Keld",
        "Who is Ada Lovelace?",
        "What is the relationship between Oriane Keld and Skarrow Station?",
        "How is the Kestrel probe related to the Heron buoy?",
        "介绍一下温青岚",
        "温青岚和林牧河之间的关系是什么？",
        "温青岚是谁？",
    ],
)
def test_questions_about_a_named_thing_are_local(question):
    assert choose_mode(question) == "local"


@given(st.text(max_size=200))
def test_any_text_has_a_mode_and_a_focus(text):
    assert choose_mode(text) in {"global", "local", "basic"}
    assert isinstance(find_topic(text), str)


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("What are the main themes of these documents?", "these"),
        ("What are the main themes?", ""),
        ("Summarise all documents, please.", ""),
        ("Which risks of wind power are mentioned most?", "risks wind power"),
        ("这些文档主要讲了什么？", ""),
        ("请总结一下全部资料的主要内容", ""),
        ("总结一下海雾观测计划的主要内容", "海雾观测计划"),
    ],
)
def test_the_focus_is_what_is_asked_beside_the_whole(question, focus):
    from knotwork._text.terms import content_terms

    found = find_topic(question)
    assert set(content_terms(found)) == set(content_terms(focus))


@pytest.mark.parametrize("question", WHOLE)
def test_development_questions_about_the_whole_use_reports(question):
    assert choose_mode(question) is AskMode.GLOBAL


@pytest.mark.parametrize("question", PASSAGES)
def test_development_questions_for_a_fact_search_passages(question):
    assert choose_mode(question) is not AskMode.GLOBAL


@pytest.mark.parametrize(
    ("reply", "mode"),
    [
        ("global", "global"),
        ("**Local**", "local"),
        ("Mode: basic", "basic"),
        ("basic - it asks for a fact", "basic"),
        ("答案：global。", "global"),
        ("The answer is local.", "local"),
    ],
)
def test_a_reply_names_the_mode(reply, mode):
    assert parse_mode(ChatReply(reply)) == mode


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "dunno",
        "global warming is",
        "It is not global",
        "global or local",
        "globally",
        "local food",
    ],
)
def test_any_other_reply_leaves_the_choice_to_the_rules(reply):
    with pytest.raises(Unparsable):
        parse_mode(ChatReply(reply))
