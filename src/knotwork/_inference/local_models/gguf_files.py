"""Read the head of a GGUF model file.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from knotwork.errors import ConfigError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_LONGEST_STRING = 1 << 24
_MOST_KEYS = 4_096
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
            11: "<q", 12: "<d"}  # fmt: skip


def read_context_length(path: Path) -> int:
    """Return the number of tokens that the model in a file was trained for, 0 if not given.

    Reads only the beginning of the file. Raises ConfigError if it cannot be read, or does not begin
    as a GGUF file does.
    """
    try:
        with path.open("rb") as file:
            return _read_length(file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"The model file `{path}` cannot be read: {reason}.",
            fix='Write the path of a file: llm.model = "gguf:/models/NAME.gguf"',
        ) from None
    except _Malformed as error:
        raise ConfigError(
            f"`{path}` is not a model file in the GGUF format: {error}.",
            fix="Download the file again, or convert the model with llama.cpp.",
        ) from None


class _Malformed(Exception):
    """The bytes do not follow the format."""


def _read_length(file: BinaryIO) -> int:
    if _take(file, 4) != _MAGIC:
        raise _Malformed("it does not begin with GGUF")
    version = _number(file, "<I")
    if version not in _VERSIONS:
        raise _Malformed(f"its version is {version}, not {' or '.join(map(str, _VERSIONS))}")
    _number(file, "<Q")  # of tensors
    keys = int(_number(file, "<Q"))
    if keys > _MOST_KEYS:
        raise _Malformed(f"its head has {keys} entries")
    found: dict[str, object] = {}
    for _ in range(keys):
        key = _string(file)
        found[key] = _value(file, int(_number(file, "<I")))
        length = found.get(f"{found.get('general.architecture')}.context_length")
        if isinstance(length, int) and length > 0:
            return length  # the long lists of tokens come later
    return 0


def _value(file: BinaryIO, kind: int) -> object:
    """Return a value of the head; lists are skipped and returned as None."""
    if kind in _NUMBERS:
        return _number(file, _NUMBERS[kind])
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        raise _Malformed(f"a value has the unknown type {kind}")
    inner, count = int(_number(file, "<I")), int(_number(file, "<Q"))
    if inner in _NUMBERS:
        file.seek(struct.calcsize(_NUMBERS[inner]) * count, 1)
    elif inner == _STRING:
        for _ in range(count):
            _string(file)
    else:
        raise _Malformed(f"a list has the unknown type {inner}")
    return None


def _string(file: BinaryIO) -> str:
    length = int(_number(file, "<Q"))
    if length > _LONGEST_STRING:
        raise _Malformed(f"a string has {length} bytes")
    return _take(file, length).decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> float:
    number: float = struct.unpack(form, _take(file, struct.calcsize(form)))[0]
    return number


def _take(file: BinaryIO, length: int) -> bytes:
    taken = file.read(length)
    if len(taken) < length:
        raise _Malformed("it ends too early")
    return taken
