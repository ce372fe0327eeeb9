"""The answer reader: which sentence and words answer a question, or none."""

import numpy as np
import pytest

from knotwork._extensions.local_models import e5, local_embedders
from knotwork._extensions.local_models.answer_reader import LONGEST_ANSWER, LocalReader, best_span
from knotwork._extensions.local_models.local_embedders import OnnxModel, load_onnx
from knotwork._inference.embedder import PassageText
from knotwork._inference.model_registry import READERS, open_reader
from knotwork._text.sentences import split_sentences
from knotwork.errors import ModelError, UnknownName
from knotwork.records import Span

pytestmark = pytest.mark.slow


pytest.importorskip("onnxruntime")

BRIDGE = (
    "The Tarn Bridge crosses the river Wend. It was designed by Ilse Tarrant. "
    "Work began in 1931 and took four years. The toll is two crowns."
)
POLICY = "出差须提前五天申请。海外出差由部门主任审批。住宿费每晚不超过六百元。"


def passage(text, context=""):
    return PassageText(text, context, tuple(split_sentences(text)))


@pytest.fixture(scope="module")
def reader():
    if e5.find_weights() is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    return open_reader("auto")


def best_sentence(reader, question, text, context=""):
    (found,) = reader.read(question, [passage(text, context)])
    number = int(np.argmax(found.sentences))
    span = list(split_sentences(text))[number]
    return text[span.start : span.end], found.sentences[number]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who designed the Tarn Bridge?", "Ilse Tarrant"),
        ("When did the work on the bridge begin?", "1931"),
        ("How much is the toll?", "two crowns"),
    ],
)
def test_the_sentence_that_answers_is_the_likeliest(reader, question, answer):
    sentence, _ = best_sentence(reader, question, BRIDGE, "Tarn Bridge")
    assert answer in sentence


@pytest.mark.parametrize(
    ("question", "words", "text"),
    [
        ("Who designed the Tarn Bridge?", "Ilse Tarrant", BRIDGE),
        ("When did the work on the bridge begin?", "1931", BRIDGE),
        ("How much is the toll?", "two crowns", BRIDGE),
        ("海外出差由谁审批？", "部门主任", POLICY),
    ],
)
def test_the_words_that_answer_stand_in_their_sentence(reader, question, words, text):
    one = passage(text)
    (found,) = reader.read(question, [one])
    number = int(np.argmax(found.sentences))
    answer = found.answers[number]
    assert words in text[answer.span.start : answer.span.end]
    for sentence, given in zip(one.sentences, found.answers, strict=True):
        assert sentence.start <= given.span.start < given.span.end <= sentence.end


def every_span(scores, longest):
    """Return the probability of each span, by an independent way: one at a time."""
    shares = {
        (first, last): np.exp(scores[first, 0] + scores[last, 1])
        for first in range(len(scores))
        for last in range(first, min(first + longest, len(scores)))
    }
    whole = sum(shares.values())
    return {place: share / whole for place, share in shares.items()}


@pytest.mark.parametrize("size", [1, 2, LONGEST_ANSWER, LONGEST_ANSWER + 20])
def test_the_best_span_is_the_likeliest_of_all_short_enough(size):
    scores = np.random.default_rng(size).normal(size=(size, 3))
    shares = every_span(scores, LONGEST_ANSWER)
    probability, first, last = best_span(scores)
    assert (first, last) == max(shares, key=shares.get)
    assert probability == pytest.approx(shares[first, last])


@pytest.mark.parametrize(
    ("question", "answer"),
    [("海外出差由谁审批？", "部门主任"), ("住宿费最多多少？", "六百元")],
)
def test_chinese_is_read_as_well(reader, question, answer):
    sentence, _ = best_sentence(reader, question, POLICY)
    assert answer in sentence


def test_unsupported_statements_are_less_likely_than_supported_ones(reader):
    asked = [best_sentence(reader, q, BRIDGE)[1] for q in ("Who designed the bridge?",)]
    foreign = [
        best_sentence(reader, q, BRIDGE)[1]
        for q in ("What is the boiling point of helium?", "Which port does the server listen on?")
    ]
    assert min(asked) > max(foreign) + 1


def test_a_passage_is_read_the_same_alone_and_among_others(reader):
    passages = [passage(BRIDGE, "Tarn Bridge"), passage(POLICY), passage("One. Two.")]
    together = list(reader.read("Who designed it?", passages))
    alone = [found for one in passages for found in reader.read("Who designed it?", [one])]
    assert together == alone


def test_long_passages_are_read_to_their_end(reader):
    filler = " ".join(f"Pier {n} stands on rock of another kind." for n in range(300))
    text = f"{filler} The keystone was laid by Oriane Keld."
    (found,) = reader.read("Who laid the keystone?", [passage(text, "Piers")])
    assert len(found.sentences) == 301
    assert int(np.argmax(found.sentences)) == 300


@pytest.mark.parametrize(
    "text",
    ["", " ", "\ud83d half of a pair. Another.", "x" * 5_000, "。。。", "a\n\n\nb", "🙂 ok."],
)
def test_any_text_is_read(reader, text):
    one = passage(text)
    (found,) = reader.read("What? \udc00", [one])
    assert len(found.sentences) == len(found.answers) == len(one.sentences)
    for answer in filter(None, found.answers):
        assert 0 <= answer.span.start < answer.span.end <= len(text)
        words = text[answer.span.start : answer.span.end]
        assert words == words.strip()
        assert 0 < answer.probability <= 1


def test_sentences_may_be_any_spans(reader):
    one = PassageText(BRIDGE, "", (Span(0, 0), Span(0, len(BRIDGE))))
    (found,) = reader.read("Who designed the bridge?", [one])
    assert found.sentences[0] == float("-inf")
    assert np.isfinite(found.sentences[1])


def test_no_question_is_too_long(reader):
    (found,) = reader.read("why " * 2_000, [passage(BRIDGE)])
    assert len(found.sentences) == 4


def test_it_shares_the_layers_of_the_embedder(reader):
    assert load_onnx(e5.MODEL)() is load_onnx(e5.MODEL)()


def test_a_damaged_file_is_named(tmp_path):
    if e5.find_weights() is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    path = tmp_path / "reader.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot open"):
        list(LocalReader(load_onnx(e5.MODEL), path).read("Who?", [passage(BRIDGE)]))


def test_another_setting_is_refused_with_the_valid_ones():
    with pytest.raises(UnknownName) as raised:
        open_reader("large")
    assert all(name in str(raised.value) + raised.value.fix for name in READERS)


def test_off_reads_nothing():
    assert open_reader("off") is None


@pytest.mark.parametrize("has_wheel", [True, False])
def test_without_the_weights_there_is_no_reader(monkeypatch, has_wheel):
    bare = OnnxModel(e5.MODEL, lambda: None, e5.load_parts, "local")
    monkeypatch.setitem(local_embedders.ONNX_MODELS, e5.MODEL, bare)
    monkeypatch.setattr(e5, "has_wheel", lambda: has_wheel)
    assert open_reader("auto") is None
