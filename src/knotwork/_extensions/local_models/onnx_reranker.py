"""Rerank texts with local cross-encoders in ONNX format.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._extensions.local_models.encoder import first_line, open_session, replace_surrogates
from knotwork.errors import MissingExtra, ModelError

MAX_PAIR_TOKENS = 512
"""Most tokens of question and text together, unless the model allows fewer; the rest is cut off."""


Scorer = Callable[[str, Sequence[str]], Iterable[float]]
"""Returns one score for each text, in order."""

_log = logging.getLogger("knotwork.inference")
_LIBRARIES = ("onnxruntime", "tokenizers")
_GRAPH_FILES = ("model.onnx", "onnx/model.onnx")
_TOKENIZER_FILE = "tokenizer.json"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_INPUT_TYPES: Mapping[str, type[np.integer[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_POSITIONS_FROM_PADDING = ("roberta", "camembert", "mpnet", "longformer")
"""Model types whose positions start after the id of the padding token."""


class LazyReranker:
    """Scores texts with what ``load`` returns, on first use. Thread-safe if that is."""

    def __init__(self, name: str, source: str, load: Callable[[], Scorer]) -> None:
        self.name = f"local:{name}"
        self._source = source
        self._load = load
        self._scorer: Scorer | None = None
        self._lock = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order. Raises ModelError if one is not finite."""
        if not texts:
            return []
        with self._lock:
            if self._scorer is None:
                self._scorer = self._load()
                _log.info("loaded %s", self.name)
        read = [replace_surrogates(text) for text in texts]
        scores = list(map(float, self._scorer(replace_surrogates(question), read)))
        if not all(map(math.isfinite, scores)):
            raise ModelError(
                f"The model `{self._source}` returned scores that are not finite numbers."
            )
        return scores


def check_score_count(count: int, source: str) -> None:
    """Raise ModelError if a model does not return exactly one score per text."""
    if count != 1:
        raise ModelError(
            f"The model `{source}` returns {count} scores per text instead of one.",
            fix="Choose a cross-encoder for ranking.",
        )


def find_graph(folder: Path) -> Path | None:
    """Return the path of the ONNX file in a model's folder, or None."""
    return next((folder / name for name in _GRAPH_FILES if (folder / name).is_file()), None)


class OnnxReranker(LazyReranker):
    """Scores texts with an ONNX model in a folder, loaded on first use. Thread-safe.

    Scores are the model's own, without the sigmoid that sentence-transformers adds for some models;
    the order of texts is the same. Raises MissingExtra without onnxruntime or tokenizers, and, on
    first use, ModelError if the model cannot be loaded or returns several scores per text.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        name = folder.resolve().name
        if any(importlib.util.find_spec(library) is None for library in _LIBRARIES):
            raise MissingExtra(f"The reranking model `local:{name}`", "rerank")
        super().__init__(name, str(folder), partial(_open_onnx_model, folder, threads=threads))


def _open_onnx_model(folder: Path, *, threads: int) -> Scorer:
    graph = find_graph(folder)
    if graph is None:
        raise _unusable(folder, f"it has neither {' nor '.join(_GRAPH_FILES)}")
    tokenizer = _open_tokenizer(folder)
    session = open_session(str(graph), threads=threads)
    kinds = {item.name: _INPUT_TYPES.get(item.type) for item in session.get_inputs()}
    if "input_ids" not in kinds or None in kinds.values() or not kinds.keys() <= set(_INPUTS):
        raise _unusable(folder, f"its inputs are {', '.join(sorted(kinds))}")
    outputs = [item.name for item in session.get_outputs()]
    output = "logits" if "logits" in outputs else outputs[0]

    def score(question: str, texts: Sequence[str]) -> Iterator[float]:
        for text in texts:
            encoded = tokenizer.encode(question, text)
            ids = (encoded.ids, encoded.attention_mask, encoded.type_ids)
            values = dict(zip(_INPUTS, ids, strict=True))
            feed = {name: np.array([values[name]], dtype=kind) for name, kind in kinds.items()}
            try:
                (scores,) = session.run([output], feed)
            except Exception as error:  # onnxruntime's own exception classes have no common base
                raise ModelError(
                    f"The model `{folder}` cannot score a text: {first_line(error)}"
                ) from error
            check_score_count(scores.size, str(folder))
            yield scores.item()

    return score


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
    own, config = map(_read_json, (folder / "tokenizer_config.json", folder / "config.json"))
    limits: list[Any] = [MAX_PAIR_TOKENS, own.get("model_max_length")]
    if limits[1] is None and tokenizer.truncation:
        limits[1] = tokenizer.truncation["max_length"]
    positions, padding = config.get("max_position_embeddings"), config.get("pad_token_id")
    if isinstance(positions, int):
        kind = str(config.get("model_type"))
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
