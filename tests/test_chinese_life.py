"""A Chinese document end to end with a model: extraction, resolution, communities, answers."""

import re

import pytest

import knotwork
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.records import Document

pytestmark = pytest.mark.slow


HAN = re.compile("[\u4e00-\u9fff]")
LATIN = re.compile("[A-Za-z]{2,}")
FORM_WORDS = frozenset({"entity", "relation", "none", "same", "different", "title", "summary"})
"""Words of the line forms, which are the same in every language."""

PEOPLE = ["王建国", "李秀英", "张志强", "刘玉兰", "陈卫东", "赵丽华"]
PLACES = ["南京", "苏州", "杭州"]


def report(number: int) -> str:
    """A text about one of three places, with the full and the short name of a company."""
    place = PLACES[number % 3]
    who = [PEOPLE[(number + step) % 6] for step in (0, 3)]
    year = 1980 + number
    return (
        f"{year}年，{who[0]}在{place}创办了{place}长江造船有限公司。"
        f"{who[1]}担任{place}长江造船公司的总工程师，负责设计第{number + 1}号货轮。"
        f"{place}长江造船公司的工人与{who[0]}一起修建了{place}港的码头。"
        f"后来{who[1]}写信给{who[0]}，讨论{place}港的扩建计划与船员的培训。"
    )


@pytest.fixture
def model():
    brain = RuleBrain()
    return ScriptedChatModel(lambda request: brain(request.messages))


@pytest.fixture
def kb(model, tmp_path):
    with knotwork.open(
        tmp_path / "index.knot", embedding_model="none", chat_model=model, llm_tier="full"
    ) as kb:
        kb.index_documents(Document(f"{n:02}.txt", report(n)) for n in range(60))
        yield kb


def is_chinese(text: str) -> bool:
    """Return whether a text is Chinese except for words of line forms and names of tasks."""
    words = [word for word in LATIN.findall(text) if word.lower() not in FORM_WORDS]
    return bool(HAN.search(text)) and len(HAN.findall(text)) > 2 * len(words)


def test_every_prompt_is_in_chinese(kb, model):
    kb.ask("主要内容是什么？", mode="global")
    kb.ask("谁创办了南京长江造船公司？", mode="local")
    stages = {request.stage for request in model.requests}
    assert {"extract", "report", "answer"} <= stages
    for request in model.requests:
        asked = request.messages[-1].content
        assert is_chinese(re.sub(r"^\s*task:.*$|</?\w+>", "", asked, flags=re.MULTILINE)), asked


def test_entities_and_their_descriptions_are_chinese(kb):
    found = kb.graph.explore("王建国", depth=2)
    assert {"南京", "南京长江造船公司"} <= {node.name for node in found.nodes}
    described = kb.store.readings.descriptions(kb.store.readings.described())
    assert described
    assert all(HAN.search(d.text) for found in described.values() for d in found)


def test_a_company_with_and_without_its_legal_form_is_one(kb):
    forms = kb.store.graph.lookup(["南京长江造船有限公司", "南京长江造船公司"])
    first, second = (entity.id for entity in forms.values())
    (decision,) = kb.store.resolutions.of_entities([first])[first]
    assert decision.source == "scripted:test"  # a doubtful pair, which the model was asked about
    groups = kb.store.resolutions.groups()
    assert groups[first] == groups[second]


def test_communities_have_chinese_reports(kb):
    topics = kb.communities.list()
    assert topics
    for topic in topics:
        assert topic.report.language == "zh"
        assert HAN.search(topic.report.title)
        assert HAN.search(topic.report.summary)
        assert all(finding.supports for finding in topic.report.findings)


@pytest.mark.parametrize(
    ("mode", "question"),
    [
        ("basic", "谁创办了南京长江造船公司？"),
        ("local", "谁担任苏州长江造船公司的总工程师？"),
        ("global", "这些文件的主要内容是什么？"),
        ("hybrid", "长江造船公司的人们做了什么？"),
    ],
)
def test_answers_are_chinese_and_their_citations_lead_to_the_text(kb, mode, question):
    answer = kb.ask(question, mode=mode)
    assert answer.answered, answer.reason
    assert is_chinese(answer.text)
    assert answer.citations
    texts = {
        d.uri: d.text
        for d in kb.store.documents.documents(kb.store.documents.document_ids()).values()
    }
    for citation in answer.citations:
        start, end = citation.span
        assert texts[citation.document][start:end] == citation.quote


def test_a_question_that_the_documents_do_not_answer_is_refused_in_chinese(kb):
    answer = kb.ask("月球上的火山是什么时候喷发的？", mode="basic")
    assert not answer.answered
    assert HAN.search(answer.text + answer.reason)
