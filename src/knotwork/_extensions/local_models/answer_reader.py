"""Find the sentence and the words of a passage that answer a question, with a local model.

The lower layers of multilingual-e5-small encode the question and each passage separately; a small
transformer, trained in `training/reader/`, then reads both together. The split follows DeFormer
(Cao et al., ACL 2020, arXiv:2005.00697). Each token also has its similarity to the nearest word of
the other text as a feature, as in DrQA (Chen et al., ACL 2017, arXiv:1704.00051).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.encoder import (
    CutPassage,
    TransformerEncoder,
    cut_passages,
    open_session,
)
from knotwork._extensions.local_models.local_embedders import load_onnx
from knotwork._inference.embedder import FloatMatrix, PassageText
from knotwork.records import AnswerSpan, Prediction, Span

START, END, SENTENCE = range(3)
"""The columns of the scores of a token."""
READER_GRAPH = Path(__file__).with_name("graphs") / "reader.onnx"
LONGEST_ANSWER = 30
"""Most tokens of a short answer."""
MOST_QUESTION_TOKENS = 64


class LocalReader:
    """An answer reader with a model in this process, loaded on first use.

    ``load`` returns the encoder whose first layers the reader shares. Without it, raises
    MissingExtra if a library or the weights of this encoder are not installed, ConfigError if these
    weights are not available for this platform. Raises ModelError on first use if the model's file
    is damaged.
    """

    embedder = f"local:{e5.MODEL}"

    def __init__(
        self, load: Callable[[], TransformerEncoder] | None = None, graph: Path = READER_GRAPH
    ) -> None:
        self._load_encoder = load or load_onnx(e5.MODEL)
        self._graph = graph
        self._loaded: tuple[TransformerEncoder, Any] | None = None
        self._lock = threading.Lock()

    def read(self, question: str, passages: Sequence[PassageText]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
        encoder, session = self._load()
        (cut,) = cut_passages(encoder, encoder.question_prompt, [PassageText(question)])
        asked = cut.tokens
        ids = *asked.head, *asked.ids[:MOST_QUESTION_TOKENS], *asked.tail
        encoded = encoder.encode_states(ids)
        for passage in passages:
            (cut,) = cut_passages(encoder, encoder.passage_prompt, [passage])
            yield _read(encoder, session, encoded, passage, cut)

    def _load(self) -> tuple[TransformerEncoder, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_encoder(), open_session(str(self._graph))
            return self._loaded


def _read(
    encoder: TransformerEncoder,
    session: Any,  # noqa: ANN401  untyped library
    question: FloatMatrix,
    passage: PassageText,
    cut: CutPassage,
) -> Prediction:
    ranges = cut.sentences
    odds = [-math.inf] * len(ranges)
    answers: list[AnswerSpan | None] = [None] * len(ranges)
    for window in cut.windows:
        states = encoder.encode_states(window.ids)
        inputs = {"question": question[np.newaxis], "passage": states[np.newaxis]}
        (scores,) = session.run(None, inputs)[0]
        no_answer = scores[0, SENTENCE]
        own = scores[1 + window.offset :][: window.count]
        for number, (first, end) in enumerate(ranges):
            start = max(first - window.first, 0)
            sentence = own[start : max(end - window.first, 0)]
            if not len(sentence):
                continue
            mean = float(sentence[:, SENTENCE].mean() - no_answer)
            if mean <= odds[number]:
                continue
            odds[number] = mean
            probability, begin, last = best_span(sentence)
            base = window.first + start
            span = _span_of(base + begin, base + last, passage, cut)
            answers[number] = AnswerSpan(span, probability) if span else None
    return Prediction(tuple(odds), tuple(answers))


def best_span(scores: FloatMatrix) -> tuple[float, int, int]:
    """Return the probability, the first and the last token of the likeliest span.

    ``scores`` has shape (tokens, 3). Probabilities are a softmax over all spans of at most
    `LONGEST_ANSWER` tokens.
    """
    joint = scores[:, START, np.newaxis] + scores[np.newaxis, :, END]
    size = len(scores)
    allowed = np.triu(np.tril(np.ones((size, size), dtype=bool), LONGEST_ANSWER - 1))
    shares = np.exp(np.where(allowed, joint - joint[allowed].max(), -np.inf))
    first, last = divmod(int(shares.argmax()), size)
    return float(shares[first, last] / shares.sum()), first, last


def _span_of(first: int, last: int, passage: PassageText, cut: CutPassage) -> Span | None:
    """Return the characters of the passage from one token to another, without white space."""
    starts = cut.tokens.starts
    end = starts[last + 1] - cut.text_start if last + 1 < len(starts) else len(passage.text)
    start = max(starts[first] - cut.text_start, 0)
    text = passage.text[start:end]
    start += len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip())) if text.strip() else None
