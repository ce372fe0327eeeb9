"""Rerank texts with a cross-encoder of sentence-transformers, by name or folder."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from knotwork._extensions.local_models.encoder import available_cores, first_line
from knotwork._extensions.local_models.onnx_reranker import (
    MAX_PAIR_TOKENS,
    LazyReranker,
    Scorer,
    check_score_count,
)
from knotwork._extensions.local_models.torch_encoder import quiet_libraries, require_library
from knotwork.errors import ModelError

_BATCH_TEXTS = 16


class LocalReranker(LazyReranker):
    """Scores texts with a cross-encoder of sentence-transformers, loaded on first use.

    ``model`` is a name or a folder. Raises MissingExtra without sentence-transformers, and, on
    first use, ModelError if the model cannot be loaded or returns several scores per text.
    """

    def __init__(self, model: str, *, download: bool = False) -> None:
        require_library(f"The reranking model `local:{model}`")
        folder = Path(model).expanduser()
        source = str(folder) if folder.is_dir() else model
        name = folder.resolve().name if folder.is_dir() else model
        super().__init__(name, source, partial(_open_cross_encoder, source, download=download))


def _open_cross_encoder(source: str, *, download: bool) -> Scorer:
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(available_cores())
    with quiet_libraries():
        try:
            encoder = CrossEncoder(source, local_files_only=not download)
        except (OSError, ValueError, RuntimeError) as error:
            fix = "Use a folder with a cross-encoder, or allow the download: rerank.download = true"
            raise ModelError(
                f"The reranking model `{source}` cannot be loaded: {first_line(error)}", fix=fix
            ) from error
        check_score_count(encoder.num_labels, source)
        if not encoder.max_length or encoder.max_length > MAX_PAIR_TOKENS:
            encoder.max_length = MAX_PAIR_TOKENS
        encoder.eval()
    lock = threading.Lock()  # the tokenizer holds the options of a call as its state

    def score(question: str, texts: Sequence[str]) -> Iterable[float]:
        pairs = [(question, text) for text in texts]
        with lock:
            scores: Iterable[float] = encoder.predict(
                pairs, batch_size=_BATCH_TEXTS, show_progress_bar=False
            )
        return scores

    return score
