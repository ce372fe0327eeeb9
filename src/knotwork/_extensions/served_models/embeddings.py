"""Embed texts on servers with an OpenAI-compatible `/embeddings` endpoint.

Servers take 10 texts in a request (DashScope), 16, 32, 64, 96, 128 or 2,048, and say so only when a
request has more. What is learned holds for the rest of the process.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from knotwork._extensions.served_models.embedding_prefixes import NO_PREFIXES, Prefixes
from knotwork._extensions.served_models.http import ModelServer
from knotwork._inference.call_limits import RetryPolicy, work_ordered
from knotwork._inference.embedder import FloatMatrix, PassageText, PassageVectors, normalise_rows
from knotwork.errors import ModelError, ModelUnavailable

_log = logging.getLogger("knotwork.inference")

MOST_TEXTS = 2_048
"""Most texts in one request: the limit of OpenAI's API."""

_REFUSING = frozenset({400, 413, 422})
_COUNTS = re.compile(
    r"(?:at most|up to|no more than|(?:larger|greater|more) than|max\w*|limit\w*|exceed\w*|<=?"
    r"|超过|超出|最多|最大)[^\d<>]{0,40}?(\d[\d,]*)(?!\d*\s*(?:\w+ )?(?:token|char|byte))",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"encoding_?format|base64", re.IGNORECASE)


@dataclass(slots=True)
class EmbeddingLimits:
    """How one model on one server is asked: most texts in a request, and the form of vectors."""

    texts: int = MOST_TEXTS
    takes_format: bool = True


_known: dict[tuple[str, str], EmbeddingLimits] = {}
"""The limits of models on servers, as learned so far in this process."""


def stated_limit(error: ModelError, *, sent: int) -> int:
    """Return how many texts a server takes that refused ``sent`` of them; 0 if it does not say."""
    if error.status not in _REFUSING:
        return 0
    stated = (int(found.replace(",", "")) for found in _COUNTS.findall(_reason(error)))
    return next((count for count in stated if 1 <= count < sent), 0)


def _reason(error: ModelError) -> str:
    """Return what the server said, without the URL, whose digits are no limit."""
    return error.message.partition(" answered ")[2].partition(": ")[2]


_NOT_OF_TEXTS = frozenset({401, 402, 403, 404, 429})
"""Statuses that no other text would change."""
_FEWEST_CHARACTERS = 64
"""A text that is refused is not shortened further."""

BATCH_TOKENS = 8_192
_PATH = "/embeddings"
_PROBE = "dimension"
WITHOUT_SENTENCES = " without sentences"
_DIMENSIONS = re.compile(r"dimension|matryoshka", re.IGNORECASE)
_DIMENSION_FIX = "Set embedding.dimension to the model's dimension, or to 0 to accept any."


class OpenAIEmbedder:
    """Embeds texts on a server, in batches by tokens and with concurrent requests.

    A batch that the server refuses as too large is sent in smaller ones, as are all later ones.
    ``prefixes`` are put before texts. ``extra_body`` is added to each request.
    ``dimension`` 0 accepts the model's own length; any other is requested and checked. Without
    ``embeds_sentences``, each sentence gets the vector of its passage, which saves tokens but makes
    the sentences of a passage indistinguishable. A text that the server cannot take, though it
    takes others, is shortened; if that does not help, its row is zero. Raises ModelUnavailable if
    the server is still unavailable after all attempts, ModelError if it refuses all requests or its
    responses are invalid.
    """

    def __init__(  # noqa: PLR0913  each is an independent option of a server
        self,
        model: str,
        server: ModelServer,
        *,
        dimension: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        concurrency: int = 4,
        embeds_sentences: bool = True,
        prefixes: Prefixes = NO_PREFIXES,
        extra_body: Mapping[str, object] | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self._server = server
        self._limits = _known.setdefault((server.base_url, model), EmbeddingLimits())
        self._prefixes = prefixes
        self._extra_body = dict(extra_body or {})
        self._model = model
        self._asked_dimension = dimension
        self._dimension = dimension
        self._batch_tokens = batch_tokens
        self._concurrency = concurrency
        self._embeds_sentences = embeds_sentences
        self._retries = retries or RetryPolicy()
        self._refused = 0
        self._lock = threading.Lock()
        size = f"/{dimension}" if dimension else ""
        without = "" if embeds_sentences else WITHOUT_SENTENCES
        self.name = f"openai:{model}{size}{without}{prefixes.label}"

    @property
    def dimension(self) -> int:
        """The length of the vectors; the first use may send a request."""
        if not self._dimension:
            self.embed([_PROBE])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._embed([f"{self._prefixes.query}{text}" for text in texts])

    def _embed(self, texts: Sequence[str]) -> FloatMatrix:
        batches = list(self._batches_of(texts))
        concurrency = min(self._concurrency, len(batches))
        return np.concatenate(
            list(work_ordered(self._embed_batch, batches, concurrency=concurrency))
        )

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, each embedded separately."""
        texts = [f"{p.context}. {p.text}" if p.context else p.text for p in passages]
        if self._embeds_sentences:
            texts += [
                passage.text[s.start : s.end] for passage in passages for s in passage.sentences
            ]
        texts = [f"{self._prefixes.document}{text}" for text in texts]
        rows = self._embed(texts) if texts else np.zeros((0, 0), dtype=np.float32)
        vectors, start = [], len(passages)
        for chunk, passage in zip(rows, passages, strict=False):
            count = len(passage.sentences)
            if self._embeds_sentences:
                sentences = rows[start : start + count]
                start += count
            else:
                sentences = np.tile(chunk, (count, 1))
            vectors.append(PassageVectors(chunk, sentences))
        return vectors

    def _batches_of(self, texts: Sequence[str]) -> Iterator[list[str]]:
        return batch_texts(texts, batch_tokens=self._batch_tokens, most=self._limits.texts)

    def _embed_batch(self, texts: Sequence[str], retries: RetryPolicy | None = None) -> FloatMatrix:
        """Return unit rows of a batch, in smaller ones if the server cannot take it.

        It may have too many texts, or one of them that the server takes in no batch.
        """
        if len(texts) > self._limits.texts:  # learned after this batch was made
            return np.concatenate([self._embed_batch(part) for part in self._batches_of(texts)])
        try:
            rows = self._request(texts, retries or self._retries)
        except ModelError as error:
            size = stated_limit(error, sent=len(texts))
            if size:
                self._limits.texts = min(self._limits.texts, size)
            elif retries is None:
                self._check_server(error)
                retries = replace(self._retries, attempts=1)
            if len(texts) == 1:
                return self._embed_alone(texts[0])[np.newaxis]
            size = size or (len(texts) + 1) // 2
            parts = [texts[start : start + size] for start in range(0, len(texts), size)]
            refused = self._refused
            rows = np.concatenate([self._embed_batch(part, retries) for part in parts])
            if self._refused == refused and error.status in _REFUSING:
                # It was the number of texts, not one of them.
                self._limits.texts = min(self._limits.texts, size)
            return rows
        for place in np.flatnonzero(~rows.any(axis=1)).tolist():
            rows[place] = self._embed_alone(texts[place])
        return rows

    def _check_server(self, error: ModelError) -> None:
        """Raise the error of a request, unless the server takes another text."""
        try:
            if error.status not in _NOT_OF_TEXTS:
                self._request([_PROBE], replace(self._retries, attempts=1))
                return
        except ModelError:
            pass
        raise error

    def _embed_alone(self, text: str) -> FloatMatrix:
        """Return the row of one text, shortened until the server takes it; else zeros.

        Raises the error if the server takes no other text either.
        """
        self._refused += 1
        attempts, length = min(self._retries.attempts, 2), len(text)
        while True:
            try:
                rows = self._request([text[:length]], replace(self._retries, attempts=attempts))
                return rows.reshape(-1)
            except ModelError as failed:
                error = failed
            if length <= _FEWEST_CHARACTERS:
                break
            attempts, length = 1, length // 2
        self._check_server(error)
        _log.warning("a text of %d characters gets no vector: %s", len(text), error.message)
        return np.zeros(self.dimension, dtype=np.float32)

    def _request(self, texts: Sequence[str], retries: RetryPolicy) -> FloatMatrix:
        """Return unit rows of texts, of which some are zero if their vectors cannot be used."""
        payload: dict[str, object] = {
            "model": self._model,
            # Servers refuse an empty text, and UTF-8 has no lone surrogates.
            "input": [
                text.encode("utf-8", "replace").decode() if text.strip() else " " for text in texts
            ],
        }
        if self._limits.takes_format:
            payload["encoding_format"] = "base64"
        if self._asked_dimension:
            payload["dimensions"] = self._asked_dimension
        payload |= self._extra_body

        def request() -> FloatMatrix:
            answer = self._server.exchange(_PATH, payload)
            return parse_embeddings(answer, count=len(texts), dimension=self._dimension)

        try:
            rows = retries.call(request)
        except ModelError as error:
            is_format = error.status in _REFUSING and _FORMAT.search(_reason(error))
            if "encoding_format" in payload and is_format:
                self._limits.takes_format = False
                return self._request(texts, retries)
            if self._asked_dimension and _DIMENSIONS.search(error.message):
                error.fix = _DIMENSION_FIX
            raise
        self._check_dimension(rows.shape[1])
        return normalise_rows(rows)

    def _check_dimension(self, found: int) -> None:
        with self._lock:
            if not self._dimension:
                self._dimension = found
            if found == self._dimension:
                return
        raise ModelError(
            f"The model `{self._model}` returned vectors of dimension {found}, not "
            f"{self._dimension}.",
            fix=_DIMENSION_FIX,
        )


def batch_texts(
    texts: Sequence[str], *, batch_tokens: int, most: int = MOST_TEXTS
) -> Iterator[list[str]]:
    """Yield the texts, in order, in batches of about ``batch_tokens`` tokens (or of one text).

    A batch has at most ``most`` texts.
    """
    batch: list[str] = []
    total = 0
    for text in texts:
        count = estimate_tokens(text)
        if batch and (total + count > batch_tokens or len(batch) == most):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += count
    if batch:
        yield batch


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for three bytes of UTF-8.

    English has four to five characters per token, Chinese about one (three bytes). The estimate is
    rather too high, so that a batch stays within a server's limit.
    """
    return 1 + len(text.encode("utf-8", "replace")) // 3


def parse_embeddings(answer: object, *, count: int, dimension: int = 0) -> FloatMatrix:
    """Return the vectors of a server's response, in the order of the request and unscaled.

    A vector that is invalid, or has another length than ``dimension`` (0: than most), is a row of
    zeros. Raises ModelUnavailable for an invalid response, or one without a valid vector, which a
    server under load may send.
    """
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or len(data) != count:
        found = f"{len(data)} items" if isinstance(data, list) else type(answer).__name__
        raise ModelUnavailable(f"The server returned {found}, not {count} vectors.")
    rows: list[FloatMatrix | None] = [None] * count
    reasons = []
    for position, item in enumerate(data):
        index = item.get("index", position) if isinstance(item, dict) else None
        index = 0 if count == 1 else index
        if not isinstance(index, int) or not 0 <= index < count or rows[index] is not None:
            raise ModelUnavailable(f"The server's vector {position} has no valid index.")
        try:
            rows[index] = _parse_vector(item.get("embedding"), position)
        except ModelUnavailable as error:
            reasons.append(error)
            rows[index] = np.zeros(0, dtype=np.float32)
    lengths = Counter(len(row) for row in rows if row is not None and len(row))
    if not lengths:
        raise reasons[0]
    length = dimension if dimension in lengths else lengths.most_common(1)[0][0]
    zeros = np.zeros(length, dtype=np.float32)
    return np.stack([row if row is not None and len(row) == length else zeros for row in rows])


def _parse_vector(value: object, position: int) -> FloatMatrix:
    try:
        if isinstance(value, str):
            row = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            row = np.asarray(value)
    except (ValueError, binascii.Error) as error:
        raise ModelUnavailable(
            f"The server's vector {position} cannot be decoded: {error}."
        ) from error
    if row.dtype.kind not in "if" or row.ndim != 1:
        raise ModelUnavailable(f"The server's vector {position} is not a list of numbers.")
    with np.errstate(over="ignore"):  # an overflow of float32 is refused below
        row = row.astype(np.float32)
    if not np.isfinite(row).all() or not row.any():
        raise ModelUnavailable(f"The server's vector {position} is empty, zero or not finite.")
    return row
