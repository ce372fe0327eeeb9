"""Contract suite for embedders: subclass `EmbedderContract` and define the fixture `embedder`."""

from __future__ import annotations

import numpy as np

from knotwork._inference.embedder import Embedder, FloatMatrix, PassageText
from knotwork.records import Span

_TEXTS = [
    "The mayor opened the bridge.",
    "谁主持了大桥的开通？",
    "Soup is served at noon, every day of the week but Sunday.",
    "a",
]
_ODD_TEXTS = ["", " ", "\x00", "…", "\ud800", "\u202eword\u0301", "word " * 2_000]
_PASSAGE = PassageText("It is old. It is of stone.", "Bridge", (Span(0, 10), Span(11, 26)))


class EmbedderContract:
    """The behaviour of embedders that indexing and retrieval rely on."""

    def test_texts_become_unit_rows_in_order(self, embedder: Embedder) -> None:
        rows = embedder.embed(_TEXTS)
        check_rows(rows, count=len(_TEXTS), dimension=embedder.dimension)
        for row, text in zip(rows, _TEXTS, strict=True):
            assert float(row @ embedder.embed([text])[0]) > 0.999

    def test_no_texts_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimension)
        assert embedder.embed_passages([]) == []

    def test_any_text_has_a_vector(self, embedder: Embedder) -> None:
        rows = embedder.embed(_ODD_TEXTS)
        check_rows(rows, count=len(_ODD_TEXTS), dimension=embedder.dimension)
        passages = [PassageText(text, "", (Span(0, len(text)),)) for text in _ODD_TEXTS]
        for vectors in embedder.embed_passages(passages):
            check_rows(vectors.chunk[None], count=1, dimension=embedder.dimension)
            check_rows(vectors.sentences, count=1, dimension=embedder.dimension)

    def test_passages_have_a_vector_and_one_for_each_sentence(self, embedder: Embedder) -> None:
        plain = PassageText("No sentences here")
        found = embedder.embed_passages([plain, _PASSAGE, plain])
        assert [len(vectors.sentences) for vectors in found] == [0, 2, 0]
        for vectors in found:
            check_rows(vectors.chunk[None], count=1, dimension=embedder.dimension)
            count = len(vectors.sentences)
            check_rows(vectors.sentences, count=count, dimension=embedder.dimension)
        assert float(found[0].chunk @ found[2].chunk) > 0.999

    def test_context_counts(self, embedder: Embedder) -> None:
        with_context, without = embedder.embed_passages([_PASSAGE, PassageText(_PASSAGE.text)])
        assert float(with_context.chunk @ without.chunk) < 0.999

    def test_the_same_text_is_nearer_than_another(self, embedder: Embedder) -> None:
        question = embedder.embed([_TEXTS[0]])[0]
        same, other = embedder.embed_passages([PassageText(_TEXTS[0]), PassageText(_TEXTS[2])])
        assert float(question @ same.chunk) > 0.9 > float(question @ other.chunk)

    def test_names_are_embedded_while_passages_are_streamed(self, embedder: Embedder) -> None:
        passages = [PassageText(text) for text in _TEXTS]
        stream = getattr(embedder, "stream_passages", embedder.embed_passages)
        names = embedder.embed(_TEXTS)
        for vectors, expected in zip(
            stream(passages), embedder.embed_passages(passages), strict=True
        ):
            assert float(vectors.chunk @ expected.chunk) > 0.999
            assert np.allclose(embedder.embed(_TEXTS), names, atol=1e-5)

    def test_the_name_says_which_model(self, embedder: Embedder) -> None:
        scheme, colon, model = embedder.name.partition(":")
        assert scheme
        assert colon
        assert model


def check_rows(rows: FloatMatrix, *, count: int, dimension: int) -> None:
    """Assert that these are float32 unit vectors of shape (count, dimension)."""
    assert rows.shape == (count, dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
