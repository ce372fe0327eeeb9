"""Long work: its `Progress`, the `Run` that yields it, and the `Verb` that begins it.

Long work is written once, as a generator that yields its progress and returns its result. `Verb`
decorates it: called as usual, it does all of the work and returns the result; its ``run`` returns
the same work to be done step by step.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import update_wrapper
from types import MethodType
from typing import (
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

Arguments = ParamSpec("Arguments")
Others = ParamSpec("Others")
Owner = TypeVar("Owner")
T = TypeVar("T")


class Stage(StrEnum):
    """What happens in a step of indexing or answering; other runs name their stages freely.

    Every source of an indexing run has exactly one of the five outcomes, `OUTCOMES`. The note names
    the model of `LOADING` and `ASKED`, and the work of `ENRICHING` and `STEP`.
    """

    DISCOVERED = "discovered"
    STARTED = "started"
    READING = "reading"
    READ = "read"
    LOADING = "loading"
    EMBEDDED = "embedded"
    ENRICHING = "enriching"
    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    """The value is the `Failure`."""
    REMOVED = "removed"
    STOPPED = "stopped"
    """The value is the report; the error of the language model is raised next."""
    FOUND = "found"
    """Passages were retrieved: the value is the `Evidence`."""
    ASKED = "asked"
    STEP = "step"
    """Work before the answer; of an agent, the value is the `AgentStep`."""
    TEXT = "text"
    """The note is a piece of the answer; the pieces together are the answer's text."""
    WITHDRAWN = "withdrawn"
    """The pieces so far are not the answer; the note says why."""
    FINISHED = "finished"
    """The value is the result."""


OUTCOMES = frozenset({Stage.ADDED, Stage.CHANGED, Stage.UNCHANGED, Stage.FAILED, Stage.REMOVED})


class FilePart(NamedTuple):
    """How much of a file was read: a share from 0 to 1, and of its pages or seconds, if any."""

    share: float = 0.0
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of an indexing run beside the sources that are done.

    ``chunks`` were read by a model, embedded or stored so far, out of ``chunks_known`` found so
    far; the whole run will have about ``chunks_expected``, 0 if unknown. ``bytes_read`` of
    ``bytes_total`` of the files that changed were read. While a large file is read, ``seconds`` are
    those so far, and ``part`` is what was read of it.
    """

    chunks: int = 0
    chunks_known: int = 0
    chunks_expected: int = 0
    bytes_read: int = 0
    bytes_total: int = 0
    seconds: float = 0.0
    part: FilePart = field(default=FilePart())


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a run: ``done`` of ``total`` parts of a stage are finished, 0 if unknown.

    ``subject`` is what the step is about, such as the uri of a document. ``note`` is for the user:
    why a document failed, or a piece of an answer. ``value`` is what the step brought: see `Stage`.
    Only indexing has ``counts``.
    """

    stage: str
    done: int = 0
    total: int = 0
    subject: str = ""
    note: str = ""
    value: Any = None
    counts: Counts = field(default=Counts())


Steps: TypeAlias = Generator[Progress, None, T]
"""Yields the progress of work, and returns its result."""


class Run(Generator[Progress, None, T]):
    """Work in progress: iterate it to do the next step, or call `result` to do the rest.

    Nothing is done before. A run that is closed, or that a ``with`` statement ends, keeps what is
    finished, as after Ctrl-C. In another generator, ``yield from`` a run returns its result.
    """

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self._results: list[T] = []

    def send(self, value: None, /) -> Progress:
        """Do the next step, and return its progress."""
        return self._advance(self._steps.send, value)

    def throw(self, *raised: Any) -> Progress:  # noqa: ANN401 - as for any generator
        """Raise an exception in the step that comes next."""
        return self._advance(self._steps.throw, *raised)

    def _advance(self, resume: Callable[..., Progress], *values: Any) -> Progress:  # noqa: ANN401
        """Resume the work, and keep its result if that was its end."""
        is_open = self._state != inspect.GEN_CLOSED
        try:
            return resume(*values)
        except StopIteration as end:
            if is_open:
                self._results.append(end.value)
            raise

    @property
    def _state(self) -> str:
        return inspect.getgeneratorstate(self._steps)

    def close(self) -> None:
        """Stop the run."""
        self._steps.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Ctrl-C may come before `__init__` has begun.
        if hasattr(self, "_steps") and self._state == inspect.GEN_CREATED:
            warnings.warn(
                "A run was never begun: iterate it, or call `result`.", RuntimeWarning, stacklevel=2
            )

    def result(self) -> T:
        """Do what is left, and return the result.

        Raises RuntimeError if the run was closed, or failed before.
        """
        for _ in self:
            pass
        if not self._results:
            raise RuntimeError("This run was stopped before its end; it has no result.")
        return self._results[0]


class Verb(Generic[Arguments, T]):
    """A function or method that is long work: call it for the result, or `run` it step by step."""

    def __init__(self, steps: Callable[Arguments, Steps[T]]) -> None:
        self._begin = steps
        update_wrapper(self, steps)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        """Do all of the work, and return its result."""
        steps = self._begin(*args, **kwargs)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result

    def run(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Run[T]:
        """Return the work as a run, which yields its progress. Raises as the call does."""
        return Run(self._begin(*args, **kwargs))

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(
        self: Verb[Concatenate[Owner, Others], T], owner: Owner, kind: type
    ) -> Verb[Others, T]: ...

    def __get__(self, owner: Any, kind: type) -> Any:
        """Return the verb of this object."""
        if owner is None:
            return self
        return Verb(MethodType(self._begin, owner))


_SHARE_S = 0.5
"""Seconds between two reports of how much of a file was read."""

_listener: Callable[[FilePart], None] | None = None
_heard_s = 0.0
_phase = (0.0, 1.0)


@contextmanager
def listening(listener: Callable[[FilePart], None]) -> Iterator[None]:
    """Call ``listener`` with how much of a file was read, at most twice a second."""
    global _listener  # noqa: PLW0603 - a worker process reads one file at a time
    _listener = listener
    try:
        yield
    finally:
        _listener = None


@contextmanager
def phase(start: float, end: float) -> Iterator[None]:
    """Take what the block reports as the part from ``start`` to ``end`` of the work around it."""
    global _phase  # noqa: PLW0603
    outer = first, last = _phase
    _phase = first + (last - first) * start, first + (last - first) * end
    try:
        yield
    finally:
        _phase = outer


def reported(items: Collection[T]) -> Iterator[T]:
    """Yield the items, and report how many of them are done."""
    for number, item in enumerate(items):
        report_share(number, len(items), counted=False)
        yield item


def report_share(done: float, total: float, *, counted: bool = True) -> None:
    """Say that ``done`` of ``total`` parts of a file have been read.

    They are pages, or seconds of sound, unless they are not ``counted``.
    """
    global _heard_s  # noqa: PLW0603
    if _listener is None or total <= 0:
        return
    now = time.monotonic()
    if now - _heard_s >= _SHARE_S:
        _heard_s = now
        start, end = _phase
        share = start + (end - start) * min(max(done / total, 0.0), 1.0)
        _listener(FilePart(share, int(done), int(total)) if counted else FilePart(share))
