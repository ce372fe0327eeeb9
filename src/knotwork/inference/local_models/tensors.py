"""Read and write files of named arrays in the safetensors format, memory-mapped.

A file is the length of a JSON header (uint64), the header, and the bytes of the arrays
(https://github.com/huggingface/safetensors). Reading copies nothing: pages are loaded when touched.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import ModelError

_TYPES: Mapping[str, str] = {
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U32": "<u4",
    "U8": "|u1",
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class TensorFile:
    """The arrays of a file by name, read-only views of its memory map, and its metadata."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


def map_file(path: Path) -> mmap.mmap:
    """Return the memory map of a file. Raises ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError(f"The model file {path} cannot be read: {error}.") from error


def read_tensors(path: Path) -> TensorFile:
    """Open a file of arrays. Raises ModelError if it is damaged or not such a file."""
    content = map_file(path)
    try:
        size = int.from_bytes(content[:8], "little")
        if not 2 <= size <= min(_MOST_HEADER_BYTES, len(content) - 8):
            raise ValueError("the header is longer than the file")  # noqa: TRY301
        header = json.loads(content[8 : 8 + size])
        metadata = dict(header.pop("__metadata__", {}))
        return TensorFile(
            {name: _view(content, 8 + size, entry) for name, entry in header.items()}, metadata
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"The model file {path} is damaged: {error}.", fix="Install its package again."
        ) from error


def _view(content: mmap.mmap, base: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    kind = np.dtype(_TYPES[entry["dtype"]])
    if not 0 <= start <= end <= len(content) - base:
        raise ValueError("an array lies outside the file")
    flat = np.frombuffer(content, kind, count=(end - start) // kind.itemsize, offset=base + start)
    return flat.reshape(entry["shape"])


def write_tensors(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write arrays to a file at once: readers see the old file or the whole new one."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)}
    position = 0
    for name, array in arrays.items():
        kind = _NAMES[array.dtype.newbyteorder("<").str]
        entries[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes + -array.nbytes % _ALIGNMENT
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + 8) % _ALIGNMENT)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            for array in arrays.values():
                file.write(np.ascontiguousarray(array).tobytes())
                file.write(b"\0" * (-array.nbytes % _ALIGNMENT))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
