"""Serve a GGUF model file from a child process, with the client of any other model server.

llama.cpp aborts its process on some faults of a file or of memory, so it gets a process of its own.
All users of one file in a process share one child, which starts on first use and ends with the last
user. It listens on this machine only and asks for a key that nobody else knows.

The head of the file is read before, by its format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from knotwork._cancellation import run_apart
from knotwork._config import LlmSettings
from knotwork._extensions.served_models.http import ModelServer
from knotwork._extensions.served_models.opening import open_chat
from knotwork._inference.chat import ChatModel
from knotwork.errors import ConfigError, MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    import httpx2

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


DEFAULT_CONTEXT = 8_192
"""Tokens of prompt and reply together. The memory for them grows with their number."""

_PROCESS = "knotwork._extensions.local_models.gguf_process"
_UNSTARTED = "http://127.0.0.1"
_LOG_TIME = re.compile(r"^[\d.]+ [A-Z] ")
_SHOWN_LOG_LINES = 3


@dataclass(frozen=True, slots=True)
class GgufOptions:
    """How a model file is served. ``threads``: 0 is all cores."""

    path: Path
    context: int
    threads: int = 0

    @property
    def alias(self) -> str:
        """The name of the model in requests."""
        return self.path.name


class GgufServer(ModelServer):
    """A model server in a child process for the model file ``path``.

    ``context`` is the number of tokens of prompt and reply together; 0 is what the model was
    trained for, at most `DEFAULT_CONTEXT`. The child starts with the first request and is started
    again if it ended. Raises MissingExtra without the extra `gguf`, and ConfigError if the file is
    no GGUF model; requests raise ConfigError if llama.cpp cannot load it.
    """

    takes_batches = False

    def __init__(self, path: str, *, context: int, threads: int, timeout_s: float) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("A model file", "gguf")
        file = Path(path).expanduser().absolute()
        trained = read_context_length(file)
        if not context:
            context = min(trained or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
        elif trained and context > trained:
            raise ConfigError(
                f"llm.context_window is {context}, but `{file.name}` was trained for {trained} "
                "tokens.",
                fix=f"Set llm.context_window to at most {trained}, or to 0.",
            )
        super().__init__(_UNSTARTED, api_key=None, timeout_s=timeout_s)
        self.options = GgufOptions(file, context, threads)
        self._starting = threading.Lock()
        self._process: _GgufProcess | None = None

    def _client(self) -> httpx2.Client:
        with self._starting:
            if self._process is None or not self._process.is_running:
                self._process = _share_process(self.options)
                self._move(f"{self._process.address}/v1", api_key=self._process)
        return super()._client()

    def _unreachable(self, url: str, reason: str) -> ModelUnavailable:
        process = self._process
        name = self.options.path.name
        if process is None or process.is_running:
            return super()._unreachable(url, reason)
        return ModelUnavailable(
            f"The process that served `{name}` ended: {process.describe_end()}.",
            fix="It is started again for the next call. If it lacks memory, choose a smaller file "
            "or lower llm.context_window.",
        )


class _GgufProcess:
    """A running child. ``address`` is its URL; it ends when this object is collected."""

    def __init__(self, options: GgufOptions) -> None:
        self._key = secrets.token_urlsafe(24)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by `_end`
        self._popen = subprocess.Popen(  # noqa: S603  this interpreter, with its own code
            [sys.executable, "-m", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C is for this process alone, which ends the child.
            start_new_session=os.name != "nt",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # on Windows
        )
        self._end = weakref.finalize(self, _end, self._popen, self._log)
        self.address = run_apart(partial(_start, self._popen, options, self._key))
        if not self.address:
            reason = self.describe_end()
            self._end()
            raise ConfigError(
                f"llama.cpp cannot load `{options.path}`: {reason}.",
                fix="Check the file, its memory needs, and that this version of xllamacpp knows "
                "its architecture; or lower llm.context_window.",
            )

    def reveal(self) -> str:
        """Return the key that the server asks for."""
        return self._key

    @property
    def is_running(self) -> bool:
        """False once the child has ended."""
        return self._popen.poll() is None

    def describe_end(self) -> str:
        """Return the last errors that the child logged, or how it ended."""
        code = self._popen.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        said = [_LOG_TIME.sub("", line).strip() for line in lines if line.strip()]
        shown = "; ".join(dict.fromkeys(said[:_SHOWN_LOG_LINES]))
        return shown or (f"signal {-code}" if code < 0 else f"exit status {code}")


def _start(popen: subprocess.Popen[bytes], options: GgufOptions, key: str) -> str:
    """Hand over the options, and return the address; "" if the child ended instead."""
    told = {
        "path": str(options.path), "alias": options.alias, "context": options.context,
        "threads": options.threads, "key": key,
    }  # fmt: skip
    assert popen.stdin is not None
    assert popen.stdout is not None
    try:
        popen.stdin.write(json.dumps(told).encode() + b"\n")
        popen.stdin.flush()
    except OSError:
        return ""
    return popen.stdout.readline().decode().strip()


def _end(popen: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for pipe in (popen.stdin, popen.stdout):
        if pipe is not None:
            pipe.close()
    popen.kill()
    popen.wait()
    log.close()


_running: weakref.WeakValueDictionary[GgufOptions, _GgufProcess] = weakref.WeakValueDictionary()
_running_lock = threading.Lock()


def _share_process(options: GgufOptions) -> _GgufProcess:
    with _running_lock:
        process = _running.get(options)
        if process is None or not process.is_running:
            process = _GgufProcess(options)
            _running[options] = process
        return process


def open_gguf_chat(model: str, settings: LlmSettings) -> ChatModel:
    """Open a language model from a GGUF file, which a child process serves."""
    server = GgufServer(
        model,
        context=settings.context_window,
        threads=settings.threads,
        timeout_s=settings.timeout_s,
    )
    settings = replace(settings, context_window=server.options.context)
    return open_chat(server.options.alias, server, settings, scheme="gguf")
