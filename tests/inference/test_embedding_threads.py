"""The local embedder in threads: the same vectors in the same order, and no thread left."""

import importlib.util
import os
import threading

import numpy as np
import pytest

from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.encoder import Tokens, available_cores
from knotwork._extensions.local_models.local_embedders import ONNX_MODELS, LocalEmbedder, open_local
from knotwork._inference.embedder import PassageText
from knotwork.records import Span

pytestmark = pytest.mark.slow


class FakeEncoder:
    """Tokens are characters; later passages of a pair are done first, where threads allow it."""

    max_tokens = 64
    dimension = 3
    question_prompt = "q: "
    passage_prompt = "p: "
    gives_tokens = True
    reads_together = False

    def __init__(self, *, waits=False):
        self.waits = waits
        self.at_once = self.most_at_once = 0
        self.names = set()
        self._lock = threading.Lock()
        self._pairs = threading.Barrier(2)

    def tokenise(self, texts):
        return [Tokens((), [ord(c) for c in text], range(len(text)), ()) for text in texts]

    def encode_tokens(self, sequences):
        with self._lock:
            self.names.add(threading.current_thread().name)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        if self.waits:
            self._pairs.wait(10)
        states = [
            np.stack([np.array([i, i * i % 7, 1], dtype=np.float32) for i in sequence])
            for sequence in sequences
        ]
        with self._lock:
            self.at_once -= 1
        return states


def make_passages(count, *, length=1_500):
    texts = [f"passage {n} " * (length // 10) for n in range(count)]
    return [PassageText(text, "Title", (Span(0, 40), Span(41, len(text)))) for text in texts]


def check_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.chunk, other.chunk)
        assert np.array_equal(one.sentences, other.sentences)


def work_threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("knotwork-work")]


def test_threads_change_neither_vectors_nor_their_order():
    passages = [*make_passages(40), *make_passages(60, length=30), PassageText("")]
    expected = LocalEmbedder("one", FakeEncoder).embed_passages(passages)
    found = LocalEmbedder("many", FakeEncoder, threads=4).embed_passages(passages)
    check_equal(found, expected)
    assert work_threads() == []


def test_as_many_passages_are_read_at_a_time_as_there_are_threads():
    encoder = FakeEncoder(waits=True)  # each pass waits for another one
    short = [PassageText("x" * 50, "") for _ in range(2 * 20)]
    LocalEmbedder("two", lambda: encoder, threads=2).embed_passages(short)
    assert encoder.most_at_once == 2


def test_a_question_is_read_in_the_thread_that_asks():
    encoder = FakeEncoder()
    LocalEmbedder("two", lambda: encoder, threads=2).embed(["Who opened the bridge?"])
    assert encoder.names == {threading.current_thread().name}


def test_vectors_are_streamed_and_a_reader_that_stops_leaves_no_thread():
    encoder = FakeEncoder()
    embedder = LocalEmbedder("two", lambda: encoder, threads=2)
    assert not embedder.is_loaded
    passages = make_passages(200)
    stream = embedder.stream_passages(passages)
    first = next(stream)
    assert embedder.is_loaded
    stream.close()
    assert work_threads() == []
    check_equal([first], LocalEmbedder("one", FakeEncoder).embed_passages(passages[:1]))


def test_a_fault_in_a_thread_is_raised():
    class Failing(FakeEncoder):
        def encode_tokens(self, sequences):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        LocalEmbedder("two", Failing, threads=2).embed_passages(make_passages(20))
    assert work_threads() == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="not on this system")
def test_only_the_cores_of_this_process_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5})
    assert available_cores() == 3


@pytest.mark.parametrize("model", ONNX_MODELS)
def test_a_model_in_threads_gives_the_same_vectors(model):
    known = ONNX_MODELS[model]
    if importlib.util.find_spec("onnxruntime") is None or known.find_weights() is None:
        pytest.skip("the model is not installed")
    texts = [
        "The old bridge was built of stone. The mayor opened it in 1842. " * n for n in range(1, 8)
    ]
    passages = [
        *(PassageText(text, "Bridge", (Span(0, 34), Span(35, len(text)))) for text in texts),
        PassageText("\u8001\u6865\u5efa\u4e8e1842\u5e74\u3002" * 90),
        PassageText("Une phrase sans titre."),
    ]
    one, many = (open_local(model, EmbeddingSettings(threads=n)) for n in (1, 3))
    check_equal(many.embed_passages(passages), one.embed_passages(passages))
    names = [f"Name {n} of a longer list of names and places" for n in range(60)]
    assert np.array_equal(many.embed(names), one.embed(names))


def test_embedders_of_one_model_share_it():
    pytest.importorskip("onnxruntime")
    if e5.find_weights() is None:
        pytest.skip("the weights of multilingual-e5-small are not installed")
    one, other = (open_local(e5.MODEL, EmbeddingSettings()) for _ in range(2))
    one.embed(["a text"])
    assert not other.is_loaded
    other.embed(["a text"])
    assert other._encoder is one._encoder
