"""Run any embedding model of sentence-transformers, by name or folder.

This needs PyTorch, which is loaded on first use. The models of `ONNX_MODELS` run without it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models.encoder import Tokens, available_cores, first_line
from knotwork._extensions.local_models.local_embedders import (
    LATIN_SCRIPT,
    LocalEmbedder,
    share_model,
)
from knotwork._inference.embedder import FloatMatrix
from knotwork.errors import MissingExtra, ModelError

_DEFAULT_MAX_TOKENS = 512
_SAME_COSINE = 0.9999
_SAMPLE_BYTES = 1 << 16


class SentenceTransformersEncoder:
    """An encoder with a loaded model. Raises ModelError if it cannot be loaded."""

    reads_together = True

    def __init__(self, source: str, *, download: bool) -> None:
        with quiet_libraries():
            self._model = _load(source, download=download)
        self._tokenizer = self._model.tokenizer
        self._tokenizer_lock = threading.Lock()
        self.max_tokens = int(self._model.max_seq_length or _DEFAULT_MAX_TOKENS)
        prompts = self._model.prompts or {}
        self.question_prompt: str = prompts.get("query") or ""
        self.passage_prompt: str = prompts.get("document") or ""
        self.dimension, self.gives_tokens = self._probe()

    def tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts of any length."""
        if not texts:
            return []
        with self._tokenizer_lock:  # the tokenizer stores the options of a call as state
            encoded = self._tokenizer(
                list(texts),
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
                return_attention_mask=False,
                padding=False,
                truncation=False,
                verbose=False,
            )
        rows = zip(
            encoded["input_ids"],
            encoded["offset_mapping"],
            encoded["special_tokens_mask"],
            strict=True,
        )
        return [_to_tokens(ids, offsets, special) for ids, offsets, special in rows]

    def encode_tokens(self, sequences: Sequence[Sequence[int]]) -> list[FloatMatrix]:
        """Return the token vectors of each sequence, of shape (its length, dimension)."""
        states = self._forward(sequences)["token_embeddings"].float().cpu().numpy()
        return [row[: len(ids)] for row, ids in zip(states, sequences, strict=True)]

    def encode_sequences(self, sequences: Sequence[Sequence[int]]) -> FloatMatrix:
        """Return one vector for each sequence, pooled as the model does it."""
        pooled: FloatMatrix = self._forward(sequences)["sentence_embedding"].float().cpu().numpy()
        return pooled

    def _forward(self, sequences: Sequence[Sequence[int]]) -> dict[str, Any]:
        import torch

        width = max(len(ids) for ids in sequences)
        padding = self._tokenizer.pad_token_id or 0
        ids = np.full((len(sequences), width), padding, dtype=np.int64)
        mask = np.zeros((len(sequences), width), dtype=np.int64)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        device = self._model.device
        features = {
            "input_ids": torch.from_numpy(ids).to(device),
            "attention_mask": torch.from_numpy(mask).to(device),
        }
        with torch.inference_mode():
            return dict(self._model(features))

    def _probe(self) -> tuple[int, bool]:
        """Return the dimension, and True if the mean of token vectors is the model's own vector."""
        (tokens,) = self.tokenise(["Two words, and a few more of them."])
        features = self._forward([(*tokens.head, *tokens.ids, *tokens.tail)])
        own = features["sentence_embedding"].float().cpu().numpy()[0]
        states = features.get("token_embeddings")
        if states is None or states.shape[-1] != len(own):
            return len(own), False
        mean = states.float().cpu().numpy()[0].mean(axis=0)
        cosine = float(own @ mean) / float(np.linalg.norm(own) * np.linalg.norm(mean))
        return len(own), cosine > _SAME_COSINE


def _load(source: str, *, download: bool) -> Any:  # noqa: ANN401  untyped library
    import torch
    from sentence_transformers import SentenceTransformer

    # By default, torch leaves hyperthreads idle.
    torch.set_num_threads(available_cores())
    try:
        model = SentenceTransformer(source, local_files_only=not download)
    except (OSError, ValueError, RuntimeError) as error:
        if Path(source).is_dir():
            raise ModelError(
                f"The model in `{source}` cannot be loaded: {first_line(error)}",
                fix="Use a folder that sentence-transformers saved.",
            ) from error
        raise ModelError(
            f"The model `{source}` is not on this machine or cannot be loaded: {first_line(error)}",
            fix="Use a folder, or allow the download: embedding.download = true",
        ) from error
    if not getattr(model.tokenizer, "is_fast", False):
        raise ModelError(
            f"The tokenizer of `{source}` does not report character offsets, which are required.",
            fix="Choose a model with a fast tokenizer.",
        )
    return model.eval()


def _to_tokens(
    ids: Sequence[int], offsets: Sequence[tuple[int, int]], special: Sequence[int]
) -> Tokens:
    head = 0
    while head < len(ids) and special[head]:
        head += 1
    end = len(ids)
    while end > head and special[end - 1]:
        end -= 1
    starts = [start for start, _ in offsets[head:end]]
    return Tokens(tuple(ids[:head]), ids[head:end], starts, tuple(ids[end:]))


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence progress bars, notices and warnings of the libraries."""
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


_ENGLISH_MODELS = frozenset({"all-MiniLM-L6-v2", "all-MiniLM-L12-v2", "all-mpnet-base-v2"})


def require_library(feature: str) -> None:
    """Raise MissingExtra for ``feature`` if sentence-transformers is not installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtra(feature, "sentence-transformers")


def identify(model: str) -> str:
    """Return a name of a model that survives moving its folder and changes with its weights."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model.removeprefix("sentence-transformers/")
    digest = blake2b(digest_size=4)
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".json", ".safetensors", ".bin", ".onnx"}:
            size = file.stat().st_size
            digest.update(f"{file.relative_to(folder).as_posix()} {size}\n".encode())
            with file.open("rb") as stream:
                stream.seek(max(0, size // 2 - _SAMPLE_BYTES // 2))
                digest.update(stream.read(_SAMPLE_BYTES))
    return f"{folder.resolve().name}@{digest.hexdigest()}"


def open_embedder(model: str, settings: EmbeddingSettings) -> LocalEmbedder:
    """Return the embedder of a model, by name or folder; it is loaded on first use."""
    require_library(f"The embedding model `local:{model}`")
    folder = Path(model).expanduser()
    source = str(folder) if folder.is_dir() else model
    load = partial(SentenceTransformersEncoder, source, download=settings.download)
    english = model.removeprefix("sentence-transformers/") in _ENGLISH_MODELS
    return LocalEmbedder(
        f"local:{identify(model)}",
        lambda: share_model(source, load),
        languages=LATIN_SCRIPT if english else frozenset(),
        uses_gpu=True,
    )
