"""The local reranker: a cross-encoder of sentence-transformers in this process.

It reads question and passage together, as one sequence (Nogueira and Cho 2019, arXiv:1901.04085),
so each word of one is weighed against those of the other. Too slow for more than the best texts.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from knotwork.errors import ModelError
from knotwork.inference.local_models.cores import available_cores
from knotwork.inference.local_models.pairs import (
    MAX_TOKENS,
    check_score_count,
    check_scores,
)
from knotwork.inference.local_models.sentence_transformers import (
    quiet_libraries,
    require_library,
)
from knotwork.inference.local_models.transformer import first_line
from knotwork.inference.local_models.windows import replace_surrogates

_log = logging.getLogger("knotwork.inference")
_BATCH_TEXTS = 16


class LocalReranker:
    """Scores texts with a cross-encoder, by name or folder; loads it on first use.

    Raises MissingExtra without sentence-transformers, and, on first use, ModelError when the model
    cannot be loaded or gives several scores.
    """

    def __init__(self, model: str, *, download: bool = False) -> None:
        require_library(f"The reranking model `local:{model}`")
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
        pairs = [(replace_surrogates(question), replace_surrogates(text)) for text in texts]
        with self._lock:  # the tokenizer holds the options of a call as its state
            encoder = self._load()
            scores = encoder.predict(pairs, batch_size=_BATCH_TEXTS, show_progress_bar=False)
        return check_scores(scores, source=self._source)

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
    check_score_count(encoder.num_labels, source=source)
    if not encoder.max_length or encoder.max_length > MAX_TOKENS:
        encoder.max_length = MAX_TOKENS
    return encoder.eval()
