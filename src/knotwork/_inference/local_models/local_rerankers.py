"""Rerank texts with local cross-encoders, on sentence-transformers or in ONNX format.

A cross-encoder reads question and passage as one sequence (Nogueira and Cho 2019,
arXiv:1901.04085), which is too slow for more than the best texts. A folder with `model.onnx` and
`tokenizer.json` runs without PyTorch, one pair at a time, so that no score depends on the other
texts.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._inference.local_models.sentence_transformers import quiet_libraries, require_library
from knotwork._inference.local_models.tokenization import replace_surrogates
from knotwork._inference.local_models.transformer import available_cores, first_line, open_session
from knotwork.errors import MissingExtra, ModelError

MAX_PAIR_TOKENS = 512
"""Most tokens of question and text together, unless the model allows fewer; the rest is cut off."""


def check_scores(scores: Iterable[float], *, source: str) -> list[float]:
    """Return the scores as floats. Raises ModelError if one is not finite."""
    found = [float(score) for score in scores]
    if not all(math.isfinite(score) for score in found):
        raise ModelError(f"The model `{source}` returned scores that are not finite numbers.")
    return found


def check_score_count(count: int, *, source: str) -> None:
    """Raise ModelError if a model does not return exactly one score per text."""
    if count != 1:
        raise ModelError(
            f"The model `{source}` returns {count} scores per text instead of one.",
            fix="Choose a cross-encoder for ranking.",
        )


_log = logging.getLogger("knotwork.inference")
_BATCH_TEXTS = 16


class LocalReranker:
    """Scores texts with a cross-encoder of sentence-transformers, loaded on first use.

    ``model`` is a name or a folder. Raises MissingExtra without sentence-transformers, and, on
    first use, ModelError if the model cannot be loaded or returns several scores per text.
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
                self._encoder = _open_cross_encoder(self._source, download=self._download)
            _log.info("loaded %s", self.name)
        return self._encoder


def _open_cross_encoder(source: str, *, download: bool) -> Any:  # noqa: ANN401  untyped library
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(available_cores())
    try:
        encoder = CrossEncoder(source, local_files_only=not download)
    except (OSError, ValueError, RuntimeError) as error:
        fix = "Use a folder with a cross-encoder, or allow the download: rerank.download = true"
        raise ModelError(
            f"The reranking model `{source}` cannot be loaded: {first_line(error)}", fix=fix
        ) from error
    check_score_count(encoder.num_labels, source=source)
    if not encoder.max_length or encoder.max_length > MAX_PAIR_TOKENS:
        encoder.max_length = MAX_PAIR_TOKENS
    return encoder.eval()


RERANK_EXTRA = "rerank"
_LIBRARIES = ("onnxruntime", "tokenizers")
_GRAPH_FILES = ("model.onnx", "onnx/model.onnx")
_TOKENIZER_FILE = "tokenizer.json"
_INPUT_TYPES: Mapping[str, type[np.integer[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_POSITIONS_FROM_PADDING = ("roberta", "camembert", "mpnet", "longformer")
"""Model types whose positions start after the id of the padding token."""


def find_graph(folder: Path) -> Path | None:
    """Return the path of the ONNX file in a model's folder, or None."""
    return next((folder / name for name in _GRAPH_FILES if (folder / name).is_file()), None)


class OnnxReranker:
    """Scores texts with an ONNX model in a folder, loaded on first use. Thread-safe.

    Scores are the model's own, without the sigmoid that sentence-transformers adds for some models;
    the order of texts is the same. Raises MissingExtra without onnxruntime or tokenizers, and, on
    first use, ModelError if the model cannot be loaded or returns several scores per text.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self.name = f"local:{folder.resolve().name}"
        if any(importlib.util.find_spec(library) is None for library in _LIBRARIES):
            raise MissingExtra(f"The reranking model `{self.name}`", RERANK_EXTRA)
        self._folder = folder
        self._threads = threads
        self._model: _OnnxModel | None = None
        self._lock = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order."""
        if not texts:
            return []
        model = self._load()
        question = replace_surrogates(question)
        scores = [model.score(question, replace_surrogates(text)) for text in texts]
        return check_scores(scores, source=str(self._folder))

    def _load(self) -> _OnnxModel:
        with self._lock:
            if self._model is None:
                self._model = _open_onnx_model(self._folder, threads=self._threads)
                _log.info("loaded %s", self.name)
            return self._model


@dataclass(frozen=True, slots=True)
class _OnnxModel:
    """A loaded model; ``inputs`` maps names to types, ``output`` is the name of the logits."""

    source: str
    session: Any
    tokenizer: Any
    inputs: Mapping[str, type[np.integer[Any]]]
    output: str

    def score(self, question: str, text: str) -> float:
        """Return the score of one pair."""
        encoded = self.tokenizer.encode(question, text)
        values = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.array([values[name]], dtype=kind) for name, kind in self.inputs.items()}
        try:
            (scores,) = self.session.run([self.output], feed)
        except Exception as error:  # onnxruntime's own exception classes have no common base
            raise ModelError(
                f"The model `{self.source}` cannot score a text: {first_line(error)}"
            ) from error
        check_score_count(scores.size, source=self.source)
        return float(scores.item())


def _open_onnx_model(folder: Path, *, threads: int) -> _OnnxModel:
    graph = find_graph(folder)
    if graph is None:
        raise _unusable(folder, f"it has neither {' nor '.join(_GRAPH_FILES)}")
    tokenizer = _open_tokenizer(folder)
    session = open_session(str(graph), threads=threads)
    inputs = {item.name: _INPUT_TYPES.get(item.type) for item in session.get_inputs()}
    known = {name: kind for name, kind in inputs.items() if kind is not None}
    names = {"input_ids", "attention_mask", "token_type_ids"}
    if "input_ids" not in known or not inputs.keys() <= known.keys() & names:
        raise _unusable(folder, f"its inputs are {', '.join(sorted(inputs))}")
    outputs = [item.name for item in session.get_outputs()]
    output = "logits" if "logits" in outputs else outputs[0]
    return _OnnxModel(str(folder), session, tokenizer, known, output)


def _open_tokenizer(folder: Path) -> Any:  # noqa: ANN401  untyped library
    from tokenizers import Tokenizer

    path = folder / _TOKENIZER_FILE
    if not path.is_file():
        raise _unusable(folder, f"it has no {_TOKENIZER_FILE}")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more specific
        raise _unusable(folder, f"{_TOKENIZER_FILE} is invalid: {first_line(error)}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_find_limit(folder, tokenizer), strategy="longest_first")
    return tokenizer


def _find_limit(folder: Path, tokenizer: Any) -> int:  # noqa: ANN401  untyped library
    """Return the token limit of a pair: the smallest of those of model and tokenizer."""
    limits: list[Any] = [MAX_PAIR_TOKENS]
    own = _read_json(folder / "tokenizer_config.json").get("model_max_length")
    if own is None and tokenizer.truncation:
        own = tokenizer.truncation["max_length"]
    limits.append(own)
    config = _read_json(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int):
        kind = str(config.get("model_type"))
        padding = config.get("pad_token_id")
        if any(name in kind for name in _POSITIONS_FROM_PADDING) and isinstance(padding, int):
            positions -= padding + 1
        limits.append(positions)
    least = min(int(limit) for limit in limits if isinstance(limit, int | float) and limit > 0)
    special = int(tokenizer.num_special_tokens_to_add(is_pair=True))
    return max(least, special + 1)


def _read_json(path: Path) -> Mapping[str, Any]:
    """Return the object of a JSON file; an empty one if the file cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _unusable(folder: Path, reason: str) -> ModelError:
    return ModelError(
        f"The reranking model in `{folder}` cannot be loaded: {reason}.",
        fix="Use a folder with the ONNX file of a cross-encoder and its tokenizer.json.",
    )
