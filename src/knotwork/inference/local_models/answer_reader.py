"""The local answer reader: find the sentence and the words of a passage that answer a question.

The lower layers of multilingual-e5-small read the question and each passage separately; a small
transformer that was trained for it (`training/reader/`) then reads both together. The split is that
of DeFormer (Cao et al., ACL 2020, arXiv:2005.00697). Each token also carries its similarity to the
nearest word of the other text, as in DrQA (Chen et al., ACL 2017, arXiv:1704.00051).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from knotwork.inference.embedder import FloatMatrix, PassageText
from knotwork.inference.local_models import e5
from knotwork.inference.local_models.local_embedders import load_onnx
from knotwork.inference.local_models.tokenization import (
    Tokens,
    cut_windows,
    replace_surrogates,
    sentence_ranges,
)
from knotwork.inference.local_models.transformer import TransformerEncoder, open_session
from knotwork.records import AnswerSpan, Prediction, Span

START, END, SENTENCE = range(3)
"""The columns of scores."""
READER_GRAPH = Path(__file__).with_name("graphs") / "reader.onnx"
LONGEST_ANSWER = 30
"""Tokens of a short answer, at most."""
MOST_QUESTION_TOKENS = 64


def open_local_reader() -> LocalReader:
    """Return the reader of this package.

    Raises MissingExtra if what it needs is not installed, ConfigError if nothing brings it here.
    """
    return LocalReader(load_onnx(e5.MODEL))


class LocalReader:
    """Reads with a model in this process, which is loaded on first use.

    ``load`` returns the encoder whose first layers it shares. Raises ModelError on first use if the
    file of the model is damaged.
    """

    embedder = f"local:{e5.MODEL}"

    def __init__(self, load: Callable[[], TransformerEncoder], graph: Path = READER_GRAPH) -> None:
        self._load_encoder = load
        self._graph = graph
        self._loaded: tuple[TransformerEncoder, Any] | None = None
        self._lock = threading.Lock()

    def read(self, question: str, passages: Sequence[PassageText]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
        encoder, session = self._load()
        asked = encode_question(encoder, question)
        for passage in passages:
            yield _read(encoder, session, asked, passage)

    def _load(self) -> tuple[TransformerEncoder, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_encoder(), open_session(str(self._graph))
            return self._loaded


def encode_question(encoder: TransformerEncoder, question: str) -> FloatMatrix:
    """Return the states of a question, of shape (tokens, dimension)."""
    (tokens,) = encoder.tokenise([replace_surrogates(encoder.question_prompt + question)])
    return encoder.encode_states((*tokens.head, *tokens.ids[:MOST_QUESTION_TOKENS], *tokens.tail))


def tokenise_passage(encoder: TransformerEncoder, passage: PassageText) -> tuple[Tokens, int]:
    """Return the tokens of a passage after its titles, and the character where its text begins."""
    lead = encoder.passage_prompt + (f"{passage.context}. " if passage.context else "")
    (tokens,) = encoder.tokenise([replace_surrogates(lead + passage.text)])
    return tokens, len(lead)


def _read(
    encoder: TransformerEncoder,
    session: Any,  # noqa: ANN401  untyped library
    question: FloatMatrix,
    passage: PassageText,
) -> Prediction:
    tokens, lead = tokenise_passage(encoder, passage)
    ranges = sentence_ranges(tokens, context_end=lead, sentences=passage.sentences)
    odds = [-math.inf] * len(ranges)
    answers: list[AnswerSpan | None] = [None] * len(ranges)
    windows = cut_windows(
        tokens, owner=0, context_end=lead, sentences=passage.sentences,
        max_tokens=encoder.max_tokens,
    )  # fmt: skip
    for window in windows:
        states = encoder.encode_states(window.ids)
        inputs = {"question": question[np.newaxis], "passage": states[np.newaxis]}
        (scores,) = session.run(None, inputs)[0]
        none = scores[0, SENTENCE]
        own = scores[1 + window.offset :][: window.count]
        for number, (first, end) in enumerate(ranges):
            start = max(first - window.first, 0)
            held = own[start : max(end - window.first, 0)]
            if not len(held) or (mean := float(held[:, SENTENCE].mean() - none)) <= odds[number]:
                continue
            odds[number] = mean
            probability, begin, last = best_span(held)
            place = window.first + start
            span = _span_of(place + begin, place + last, tokens, passage, lead)
            answers[number] = AnswerSpan(span, probability) if span else None
    return Prediction(tuple(odds), tuple(answers))


def best_span(scores: FloatMatrix) -> tuple[float, int, int]:
    """Return the likeliest span among tokens, by its probability, its first token and its last.

    ``scores`` are those of the tokens, of shape (tokens, 3). Probabilities are those of a softmax
    over all spans of at most `LONGEST_ANSWER` tokens.
    """
    joint = scores[:, START, np.newaxis] + scores[np.newaxis, :, END]
    size = len(scores)
    allowed = np.triu(np.tril(np.ones((size, size), dtype=bool), LONGEST_ANSWER - 1))
    shares = np.exp(np.where(allowed, joint - joint[allowed].max(), -np.inf))
    first, last = divmod(int(shares.argmax()), size)
    return float(shares[first, last] / shares.sum()), first, last


def _span_of(first: int, last: int, tokens: Tokens, passage: PassageText, lead: int) -> Span | None:
    """Return the characters of the passage from one token to another, without white space."""
    end = tokens.starts[last + 1] if last + 1 < len(tokens.starts) else lead + len(passage.text)
    start = max(tokens.starts[first] - lead, 0)
    text = passage.text[start : end - lead]
    start += len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip())) if text.strip() else None
