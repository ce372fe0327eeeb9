"""BERT-like encoders on onnxruntime: token ids in, one vector for each token out.

The graphs in `graphs/` hold no weights (`scripts/build_encoder_graphs.py` makes them); these come
from the memory-mapped file of a model and are handed to the session, so that a model is on the disk
once. Word embeddings are gathered here, row by row, and their table never enters the session.

Sequences run one at a time: with dynamic quantisation the scale of the activations is that of the
whole batch, and a vector would otherwise depend on what else is embedded with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import MissingExtra, ModelError
from knotwork.inference.base import FloatMatrix
from knotwork.inference.local_models.windows import Tokens

Rows = Callable[[NDArray[np.int64]], FloatMatrix]

_GRAPHS = Path(__file__).with_name("graphs")


class Tokenizer(Protocol):
    """Splits text into tokens, with the character at which each starts."""

    def encode(self, text: str) -> Tokens: ...


@dataclass(frozen=True, slots=True)
class ModelParts:
    """All that makes an encoder, as read from the files of a model.

    ``graphs`` run one after the other. ``weights`` are named as in them. ``word_rows`` returns the
    embeddings of token ids, ``positions`` has a row for each place in a sequence, of any token
    type.
    """

    graphs: tuple[str, ...]
    tokenizer: Tokenizer
    weights: Mapping[str, NDArray[Any]]
    word_rows: Rows
    positions: FloatMatrix
    question_prompt: str = ""
    passage_prompt: str = ""


class TransformerEncoder:
    """A loaded model; safe to use from several threads.

    Each forward pass runs in the thread that asks for it. Raises MissingExtra without onnxruntime,
    ModelError when the weights do not fit the graph.
    """

    gives_tokens = True
    reads_together = False

    def __init__(self, parts: ModelParts) -> None:
        self._parts = parts
        self._tokenizer = parts.tokenizer
        self.max_tokens, self.dimension = parts.positions.shape
        self.question_prompt = parts.question_prompt
        self.passage_prompt = parts.passage_prompt
        self._sessions = [_open_graph(name, parts.weights) for name in parts.graphs]

    def tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts of any length."""
        return [self._tokenizer.encode(text) for text in texts]

    def encode_tokens(self, sequences: Sequence[Sequence[int]]) -> list[FloatMatrix]:
        """Return the token vectors of each sequence, of shape (its length, dimension)."""
        return [self._forward(sequence) for sequence in sequences]

    def encode_sequences(self, sequences: Sequence[Sequence[int]]) -> FloatMatrix:
        """Return one vector for each sequence: the mean of its token vectors."""
        return np.stack([self._forward(sequence).mean(axis=0) for sequence in sequences])

    def encode_states(self, sequence: Sequence[int]) -> FloatMatrix:
        """Return what the first graph makes of a sequence, of shape (its length, dimension)."""
        rows = self._parts.word_rows(np.asarray(sequence, dtype=np.int64))
        rows = rows + self._parts.positions[: len(rows)]
        return _run(self._sessions[0], rows)

    def _forward(self, sequence: Sequence[int]) -> FloatMatrix:
        states = self.encode_states(sequence)
        for session in self._sessions[1:]:
            states = _run(session, states)
        return states


def _open_graph(name: str, weights: Mapping[str, NDArray[Any]]) -> Any:  # noqa: ANN401  untyped library
    """Return the session of a graph of this package, with those of the weights that it names."""
    graph = (_GRAPHS / name).read_bytes()
    # The library refuses weights that the graph lacks; each name stands in the file as it is.
    own = {key: array for key, array in weights.items() if key.encode() in graph}
    return open_session(graph, weights=own)


def _run(session: Any, rows: FloatMatrix) -> FloatMatrix:  # noqa: ANN401  untyped library
    (states,) = session.run(None, {"embeddings": rows[np.newaxis]})
    found: FloatMatrix = states[0]
    return found


def open_session(
    graph: bytes | str, *, weights: Mapping[str, NDArray[Any]] | None = None, threads: int = 1
) -> Any:  # noqa: ANN401  untyped library
    """Return an onnxruntime session that runs on the processor and never spins while it waits.

    ``graph`` is a model, or the path of one; ``weights`` are the arrays that it lacks. Raises
    MissingExtra without onnxruntime, ModelError when the model cannot be opened.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Level "extended" would fuse additions and layer normalisations into an operator that takes
    # four times as long as both.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises classes of its own, by the kind of failure
        raise ModelError(f"onnxruntime cannot open the model: {first_line(error)}") from error


def import_onnxruntime() -> Any:  # noqa: ANN401  untyped library
    """Return the library, with its telemetry off. Raises MissingExtra if it is not installed.

    Some of its builds write a device id and usage events to the user's cache folder as soon as they
    are imported, for sending them to their maker, unless a variable of the environment forbids it.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("A model on this machine", "local") from error
    return onnxruntime


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
