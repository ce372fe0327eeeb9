"""The reader: which sentence of a passage answers a question, with which words, or that none does.

The lower layers of multilingual-e5-small run over the question and over each passage separately; a
small transformer that was trained for it (`training/reader/`) then reads both together. The split
is that of DeFormer (Cao et al., ACL 2020, arXiv:2005.00697). Each token also carries its similarity
to the nearest word of the other text, as in DrQA (Chen et al., ACL 2017, arXiv:1704.00051).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from knotwork.inference.base import FloatMatrix, Passage
from knotwork.inference.local_models import e5
from knotwork.inference.local_models.catalogue import load_onnx
from knotwork.inference.local_models.transformer import TransformerEncoder, open_session
from knotwork.inference.local_models.windows import (
    Tokens,
    cut_windows,
    replace_surrogates,
    sentence_ranges,
)
from knotwork.records import Prediction, Span

START, END, SENTENCE = range(3)
"""The columns of scores."""
GRAPH = Path(__file__).with_name("graphs") / "reader.onnx"
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

    def __init__(self, load: Callable[[], TransformerEncoder], graph: Path = GRAPH) -> None:
        self._load_encoder = load
        self._graph = graph
        self._loaded: tuple[TransformerEncoder, Any] | None = None
        self._lock = threading.Lock()

    def read(self, question: str, passages: Sequence[Passage]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
        encoder, session = self._load()
        asked = read_question(encoder, question)
        for passage in passages:
            yield _read(encoder, session, asked, passage)

    def _load(self) -> tuple[TransformerEncoder, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_encoder(), open_session(str(self._graph))
            return self._loaded


def read_question(encoder: TransformerEncoder, question: str) -> FloatMatrix:
    """Return the states of a question, of shape (tokens, dimension)."""
    (tokens,) = encoder.tokenise([replace_surrogates(encoder.question_prompt + question)])
    return encoder.encode_states((*tokens.head, *tokens.ids[:MOST_QUESTION_TOKENS], *tokens.tail))


def tokenise_passage(encoder: TransformerEncoder, passage: Passage) -> tuple[Tokens, int]:
    """Return the tokens of a passage after its titles, and the character where its text begins."""
    lead = encoder.passage_prompt + (f"{passage.context}. " if passage.context else "")
    (tokens,) = encoder.tokenise([replace_surrogates(lead + passage.text)])
    return tokens, len(lead)


def _read(
    encoder: TransformerEncoder,
    session: Any,  # noqa: ANN401  untyped library
    question: FloatMatrix,
    passage: Passage,
) -> Prediction:
    tokens, lead = tokenise_passage(encoder, passage)
    ranges = sentence_ranges(tokens, context_end=lead, sentences=passage.sentences)
    sentences = np.full(len(ranges), -math.inf)
    best, place = -math.inf, None
    windows = cut_windows(
        tokens, owner=0, context_end=lead, sentences=passage.sentences,
        max_tokens=encoder.max_tokens,
    )  # fmt: skip
    for window in windows:
        states = encoder.encode_states(window.ids)
        inputs = {"question": question[np.newaxis], "passage": states[np.newaxis]}
        (scores,) = session.run(None, inputs)[0]
        none = scores[0]
        own = scores[1 + window.offset :][: window.count]
        for number, (first, end) in enumerate(ranges):
            held = own[max(first - window.first, 0) : max(end - window.first, 0), SENTENCE]
            if len(held):
                sentences[number] = max(sentences[number], held.mean() - none[SENTENCE])
        score, first, last = _best_span(own)
        score -= none[START] + none[END]
        if score > best:
            best, place = score, (window.first + first, window.first + last)
    return Prediction(tuple(sentences.tolist()), _span_of(place, tokens, passage, lead), best)


def _best_span(scores: FloatMatrix) -> tuple[float, int, int]:
    """Return the score of the best span of tokens, its first token and its last."""
    starts, ends = scores[:, START], scores[:, END]
    best, first, last = -math.inf, 0, 0
    for length in range(min(LONGEST_ANSWER, len(starts))):
        joint = starts[: len(starts) - length] + ends[length:]
        at = int(joint.argmax())
        if joint[at] > best:
            best, first, last = float(joint[at]), at, at + length
    return best, first, last


def _span_of(
    place: tuple[int, int] | None, tokens: Tokens, passage: Passage, lead: int
) -> Span | None:
    """Return the characters of the passage from one token to another, without white space."""
    if place is None:
        return None
    first, last = place
    end = tokens.starts[last + 1] if last + 1 < len(tokens.starts) else lead + len(passage.text)
    start = max(tokens.starts[first] - lead, 0)
    text = passage.text[start : end - lead]
    start += len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip())) if text.strip() else None
