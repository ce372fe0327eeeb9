"""The local reranker: a cross-encoder of sentence-transformers in this process.

It reads question and passage together, as one sequence (Nogueira and Cho 2019, arXiv:1901.04085),
so it sees which words of one bear on which of the other, and is too slow for more than the best.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from knotwork.errors import MissingExtra, ModelError
from knotwork.inference.local_models.sentence_transformers import available_cores, quiet_libraries
from knotwork.inference.local_models.transformer import first_line

_log = logging.getLogger("knotwork.inference")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BATCH_TEXTS = 16
_MOST_TOKENS = 512
"""Of question and passage together, where the model does not say; what is longer is cut off."""


class LocalReranker:
    """Scores texts with a cross-encoder, by name or folder; loads it on first use.

    Raises MissingExtra when the extra `local` is not installed, and, on first use, ModelError when
    the model cannot be loaded or is none that gives one score.
    """

    def __init__(self, model: str, *, download: bool = False) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtra(f"The reranking model `local:{model}`", "local")
        folder = Path(model).expanduser()
        self._source = str(folder) if folder.is_dir() else model
        self._download = download
        self._encoder: Any = None
        self._lock = threading.Lock()
        self.name = f"local:{folder.resolve().name if folder.is_dir() else model}"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order."""
        if not texts:
            return []
        pairs = [(_readable(question), _readable(text)) for text in texts]
        with self._lock:  # the tokenizer holds the options of a call as its state
            encoder = self._load()
            scores = encoder.predict(pairs, batch_size=_BATCH_TEXTS, show_progress_bar=False)
        found = [float(score) for score in scores]
        if not all(math.isfinite(score) for score in found):
            raise ModelError(f"The model `{self._source}` gave scores that are not numbers.")
        return found

    def _load(self) -> Any:  # noqa: ANN401  untyped library
        if self._encoder is None:
            with quiet_libraries():
                self._encoder = _open(self._source, download=self._download)
            _log.info("loaded %s", self.name)
        return self._encoder


def _open(source: str, *, download: bool) -> Any:  # noqa: ANN401  untyped library
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(available_cores())
    try:
        encoder = CrossEncoder(source, local_files_only=not download)
    except (OSError, ValueError, RuntimeError) as error:
        fix = "Name a folder with a cross-encoder, or allow the download: rerank.download = true"
        raise ModelError(
            f"The reranking model `{source}` cannot be loaded: {first_line(error)}", fix=fix
        ) from error
    if encoder.num_labels != 1:
        raise ModelError(
            f"The model `{source}` gives {encoder.num_labels} scores for a text, and not one.",
            fix="Choose a cross-encoder for ranking.",
        )
    if not encoder.max_length or encoder.max_length > _MOST_TOKENS:
        encoder.max_length = _MOST_TOKENS
    return encoder.eval()


def _readable(text: str) -> str:
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
