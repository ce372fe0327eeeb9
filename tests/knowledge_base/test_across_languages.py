"""Questions in one language over documents in another, with the default embedder."""

from pathlib import Path

import pytest

import knotwork
from knotwork._extensions.local_models import e5

pytestmark = pytest.mark.slow


pytest.importorskip("onnxruntime")
if e5.find_weights() is None:
    pytest.skip("no package with the weights of multilingual-e5-small", allow_module_level=True)

SAMPLE = Path(knotwork.__file__).parent / "demo" / "sample"
TRIPS_ABROAD = "海外出差由办事处主任审批，应当提前十四天提出申请，并抄送科尔文总部的差旅处。"
FROM_THE_STATION = "从望汐火车站乘3路公交车到“旧盐仓”站，下车后步行五分钟即到。"
UNRELATED = ["Who won the football world cup in 2010?", "法国的首都是哪里？"]


def build(folder, language):
    with knotwork.open(folder / f"{language}.knot", embedding_model="auto") as kb:
        report = kb.index(SAMPLE / language)
        assert report.embedder == "local:multilingual-e5-small"
        assert report.without_vectors == 0
        yield kb


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    yield from build(tmp_path_factory.mktemp("zh"), "zh")


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    yield from build(tmp_path_factory.mktemp("en"), "en")


def assert_answers(kb, question, document, sentence):
    """Assert that the answer cites the sentence, word for word from its place in the document."""
    answer = kb.ask(question)
    assert answer.answered, answer.reason
    assert sentence in answer.text.replace("**", "")
    (cited,) = [citation for citation in answer.citations if sentence in citation.quote]
    assert Path(cited.document).name == document
    documents = kb.store.documents
    texts = {d.uri: d.text for d in documents.documents(documents.document_ids()).values()}
    start, end = cited.span
    assert texts[cited.document][start:end] == cited.quote


@pytest.mark.parametrize(
    ("question", "document", "sentence"),
    [
        ("What may a hotel cost per night?", "差旅管理办法.md", "住宿费每晚不超过四百五十元。"),
        ("Who approves trips abroad?", "差旅管理办法.md", TRIPS_ABROAD),
        (
            "How do visitors get to the office from the railway station?",
            "望汐办事处.md",
            FROM_THE_STATION,
        ),
    ],
)
def test_an_english_question_is_answered_from_chinese_documents(
    chinese, question, document, sentence
):
    assert_answers(chinese, question, document, sentence)
    (best, *_) = chinese.search(question).hits
    assert sentence in best.chunk.text


def test_a_chinese_question_is_answered_from_english_documents(english):
    question = "住宿费每晚最多多少？"
    sentence = "A hotel may cost at most 140 crowns a night."
    assert_answers(english, question, "travel-policy.docx", sentence)
    (best, *_) = english.search(question).hits
    assert sentence in best.chunk.text


@pytest.mark.parametrize("question", UNRELATED)
@pytest.mark.parametrize("language", ["chinese", "english"])
def test_a_question_about_something_else_is_refused(request, language, question):
    answer = request.getfixturevalue(language).ask(question)
    assert not answer.answered
    assert answer.confidence < 0.2
