"""Readers of hostile input, and the errors that each may raise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from hypothesis import strategies as st

from knotwork.errors import KnotworkError

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once failed, in a folder for each target."""

_MODULES = "document_targets statement_targets reply_targets file_targets"


@dataclass(frozen=True)
class Target:
    """A reader of input that strangers write.

    ``run`` takes the input, and returns or raises one of ``errors``. It may use up to ``seconds``
    of processor time and ``megabytes`` of memory beside those of the loaded program. ``examples``
    is how many inputs the test suite draws.
    """

    name: str
    inputs: st.SearchStrategy[bytes]
    run: Callable[[bytes], object]
    errors: tuple[type[BaseException], ...] = (KnotworkError,)
    seconds: float = 10.0
    megabytes: int = 1_000
    examples: int = 60


class TooSlow(Exception):
    """An input took longer than it may."""


class UnexpectedOutcome(Exception):
    """An input led to what its target may not do."""


def load_targets() -> dict[str, Target]:
    """Return all targets by name; KNOTWORK_FUZZ_MODULES names other modules of targets."""
    found: dict[str, Target] = {}
    for module in os.environ.get("KNOTWORK_FUZZ_MODULES", _MODULES).split():
        for target in import_module(f"tests.hostile.{module}").targets():
            assert target.name not in found
            found[target.name] = target
    return found


def check(target: Target, data: bytes) -> None:
    """Run a target on an input. Raises whatever is not one of its errors.

    An error that hides a lack of memory or time is not one of them either.
    """
    try:
        target.run(data)
    except target.errors as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError | TooSlow):
                raise UnexpectedOutcome(f"hidden {type(cause).__name__}") from error
            cause = cause.__cause__ or cause.__context__
        str(error).encode("utf-8", "backslashreplace")


def input_name(data: bytes) -> str:
    """Return the file name of an input in a corpus."""
    return hashlib.sha256(data).hexdigest()[:16]


def corpus() -> Iterator[tuple[str, Path]]:
    """Yield the name of the target and the file of every kept input."""
    for file in sorted(CORPUS.glob("*/*")):
        yield file.parent.name, file
