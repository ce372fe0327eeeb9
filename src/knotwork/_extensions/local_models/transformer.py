"""Run BERT-like encoders on onnxruntime, with weights in memory-mapped files.

The graphs in `graphs/` contain no weights (`scripts/build_encoder_graphs.py` builds them); these
come from safetensors files of installed packages, so that a model is on the disk only once. Word
embeddings are looked up here, row by row.

Sequences run one at a time: dynamic quantisation scales the activations of the whole batch, so a
vector would otherwise depend on the other texts of its batch.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork._durable_files import replace_file
from knotwork._extensions.local_models.tokenization import Tokens
from knotwork._inference.embedder import FloatMatrix
from knotwork.errors import ModelError, required

Rows = Callable[[NDArray[np.int64]], FloatMatrix]

_GRAPHS = Path(__file__).with_name("graphs")


class Tokenizer(Protocol):
    """Splits text into tokens, each with the offset of its first character."""

    def encode(self, text: str) -> Tokens: ...


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts of an encoder, as read from the files of a model.

    ``graphs`` run one after the other; ``weights`` have the names used in them. ``word_rows``
    returns the embeddings of token ids. ``positions`` has a row for each position of a sequence,
    token type included.
    """

    graphs: tuple[str, ...]
    tokenizer: Tokenizer
    weights: Mapping[str, NDArray[Any]]
    word_rows: Rows
    positions: FloatMatrix
    question_prompt: str = ""
    passage_prompt: str = ""


class TransformerEncoder:
    """A loaded encoder. Thread-safe; each forward pass runs in the calling thread.

    Raises MissingExtra without onnxruntime, ModelError if the weights do not fit the graph.
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
        """Return the output of the first graph for a sequence, of shape (its length, dimension)."""
        rows = self._parts.word_rows(np.asarray(sequence, dtype=np.int64))
        rows = rows + self._parts.positions[: len(rows)]
        return _run_session(self._sessions[0], rows)

    def _forward(self, sequence: Sequence[int]) -> FloatMatrix:
        states = self.encode_states(sequence)
        for session in self._sessions[1:]:
            states = _run_session(session, states)
        return states


def _open_graph(name: str, weights: Mapping[str, NDArray[Any]]) -> Any:  # noqa: ANN401  untyped library
    """Return the session of a graph of this package, with the weights that the graph uses."""
    graph = (_GRAPHS / name).read_bytes()
    # onnxruntime refuses weights that the graph lacks; names are stored verbatim in the file.
    own = {key: array for key, array in weights.items() if key.encode() in graph}
    return open_session(graph, weights=own)


def _run_session(session: Any, rows: FloatMatrix) -> FloatMatrix:  # noqa: ANN401  untyped library
    (states,) = session.run(None, {"embeddings": rows[np.newaxis]})
    found: FloatMatrix = states[0]
    return found


def open_session(
    graph: bytes | str, *, weights: Mapping[str, NDArray[Any]] | None = None, threads: int = 1
) -> Any:  # noqa: ANN401  untyped library
    """Return an onnxruntime session that runs on the CPU, without busy waiting.

    ``graph`` is a model or its path; ``weights`` are the arrays that it lacks. Raises MissingExtra
    without onnxruntime, ModelError if the model cannot be opened.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Level "extended" would fuse additions with layer normalisations, which takes four times as
    # long.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exception classes have no common base
        raise ModelError(f"onnxruntime cannot open the model: {first_line(error)}") from error


def import_onnxruntime() -> Any:  # noqa: ANN401  untyped library
    """Return the library with its telemetry off. Raises MissingExtra if it is not installed.

    On import, some builds write a device id and usage events to the user's cache folder, to be sent
    to their maker, unless an environment variable forbids it.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with required("A model on this machine", "local"):
        import onnxruntime
    return onnxruntime


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_TENSOR_TYPES: Mapping[str, str] = {
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U32": "<u4",
    "U8": "|u1",
}
_TENSOR_TYPE_NAMES = {kind: name for name, kind in _TENSOR_TYPES.items()}
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class TensorFile:
    """The arrays of a safetensors file, as read-only views of its memory map, and its metadata."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


def map_file(path: Path) -> mmap.mmap:
    """Return the memory map of a file. Raises ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError(f"The model file `{path}` cannot be read: {error}.") from error


def read_tensors(path: Path) -> TensorFile:
    """Open a safetensors file. Raises ModelError if it is damaged or of another format."""
    content = map_file(path)
    try:
        size = int.from_bytes(content[:8], "little")
        if not 2 <= size <= min(_MOST_HEADER_BYTES, len(content) - 8):
            raise ValueError("the header is longer than the file")  # noqa: TRY301
        header = json.loads(content[8 : 8 + size])
        metadata = dict(header.pop("__metadata__", {}))
        return TensorFile(
            {name: _tensor_view(content, 8 + size, entry) for name, entry in header.items()},
            metadata,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"The model file `{path}` is damaged: {error}.", fix="Reinstall its package."
        ) from error


def _tensor_view(content: mmap.mmap, base: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    kind = np.dtype(_TENSOR_TYPES[entry["dtype"]])
    if not 0 <= start <= end <= len(content) - base:
        raise ValueError("an array exceeds the file")
    flat = np.frombuffer(content, kind, count=(end - start) // kind.itemsize, offset=base + start)
    return flat.reshape(entry["shape"])


def write_tensors(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write arrays to a safetensors file atomically: readers see the old file or the new one."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)}
    position = 0
    for name, array in arrays.items():
        kind = _TENSOR_TYPE_NAMES[array.dtype.newbyteorder("<").str]
        entries[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes + -array.nbytes % _ALIGNMENT
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + 8) % _ALIGNMENT)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())
            file.write(b"\0" * (-array.nbytes % _ALIGNMENT))


def find_package_file(package: str, name: str) -> Path | None:
    """Return the path of a file in a package, or None if either is missing.

    ``package`` must be a top-level package, so that finding it imports nothing.
    """
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, name)
        if path.is_file():
            return path
    return None


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
