import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.embedder_contract import EmbedderContract
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._inference.embedder import PassageText
from knotwork.records import Span

EXPECTED = [0.0, 0.0, -0.23215, 0.0, 0.77382, -0.23215, 0.0, -0.54168]


@given(st.lists(st.text(max_size=40), max_size=5), st.integers(1, 64))
def test_any_text_has_a_unit_vector_that_is_always_the_same(texts, dimension):
    rows = HashingEmbedder(dimension).embed(texts)
    assert rows.shape == (len(texts), dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(rows, HashingEmbedder(dimension).embed(texts))


def test_vectors_are_the_same_on_every_machine():
    row = HashingEmbedder(8).embed(["bridge 桥梁"])[0]
    assert np.allclose(row, EXPECTED, atol=1e-4)


def test_texts_that_share_words_are_near():
    query, near, far = HashingEmbedder().embed(
        ["Who opened the bridge?", "The mayor opened the new bridges.", "Soup is served at noon."]
    )
    assert query @ near > 0.4 > query @ far
    query, near, far = HashingEmbedder().embed(
        ["谁主持了大桥的开通", "市长主持大桥开通仪式", "中午供应汤"]
    )
    assert query @ near > 0.4 > query @ far


def test_passages_are_embedded_with_context_and_counted():
    embedder = HashingEmbedder()
    text = "It is old. It is stone."
    (vectors,) = embedder.embed_passages([PassageText(text, "Bridge", (Span(0, 10), Span(11, 23)))])
    assert vectors.sentences.shape == (2, 256)
    assert np.array_equal(vectors.sentences[0], embedder.embed(["It is old."])[0])
    assert vectors.chunk @ embedder.embed(["Bridge"])[0] > 0.2
    assert (embedder.calls, embedder.texts) == (3, 3)


class TestHashing(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashingEmbedder()
