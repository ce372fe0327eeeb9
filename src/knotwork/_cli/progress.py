"""Show the progress of an indexing run as bars, log lines or JSON lines, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from knotwork._cli.terminal import Terminal, count_of, join_lines, write_json
from knotwork._indexing.report import EventKind, IndexEvent
from knotwork._shapes.indexing import describe_progress, describe_report

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


LINE_INTERVAL_S = 5.0
LOADING_LABEL = "Loading the model"
_NAME_WIDTH = 18
_RATE_S = 0.1
"""Seconds of work before the first rate is shown."""


def choose_view(terminal: Terminal, wanted: str, *, hidden: bool) -> SilentView:
    """Return the view for ``wanted``: `auto`, `bar`, `plain`, `json` or `none`."""
    if wanted == "json":
        return JsonView()
    if wanted == "none" or hidden or terminal.quiet:
        return SilentView()
    if wanted == "bar" or (wanted == "auto" and terminal.is_interactive):
        return BarView(terminal)
    return PlainView(terminal)


class SilentView:
    """Shows nothing of a run; other views show its events while they are open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def count(self, label: str, done: int, total: int) -> None:
        """Ignore the step."""

    def show(self, event: IndexEvent) -> None:
        """Ignore the event."""


class JsonView(SilentView):
    """Writes every event as one line of JSON to standard error."""

    def show(self, event: IndexEvent) -> None:
        """Write the event."""
        write_json(describe_event(event), sys.stderr)
        sys.stderr.flush()


def describe_event(event: IndexEvent) -> dict[str, Any]:
    """Return the object of an event."""
    described: dict[str, Any] = {"event": str(event.kind), **describe_progress(event)}
    if event.kind is EventKind.READING:
        described["seconds"] = round(event.seconds, 1)
        described["share"] = round(event.share, 3)
    if event.kind is EventKind.ENRICHING:
        described["step"] = event.message
    if event.kind is EventKind.LOADING:
        described["model"] = event.message
    if event.reason:
        described |= {"reason": event.reason, "message": event.message}
    if event.report is not None:
        described["report"] = describe_report(event.report)
    return described


_MEGABYTE = 1_000_000
_NAMED_KINDS = (EventKind.STARTED, EventKind.READING)


class PlainView(SilentView):
    """Writes a line every 5 seconds, and one for each skipped file."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._last_line_s = clock()
        self._time_left = self._step_left = TimeLeft(clock)

    def show(self, event: IndexEvent) -> None:
        """Write a line if the event needs one or 5 seconds have passed."""
        now = self._clock()
        if event.kind is EventKind.ENRICHING:
            self._show_step(event, now)
            return
        left = _format_left(self._time_left.follow(event))
        if event.kind is EventKind.LOADING:
            self._terminal.note(f"loading the model {event.message}")
        elif event.kind is EventKind.DISCOVERED and event.total:
            self._terminal.note(f"{count_of(event.total, 'file')} found")
        elif event.kind is EventKind.FAILED:
            self._terminal.note(f"skipped {describe_failure(event.uri, event.message)}")
        elif now - self._last_line_s >= LINE_INTERVAL_S:
            self._last_line_s = now
            line = self._describe_counts(event, left)
            if event.kind is EventKind.READING:
                line += f", reading {join_lines(event.uri)} for {format_seconds(event.seconds)}"
                line += _format_share(event.share)
            self._terminal.note(line)

    def _show_step(self, event: IndexEvent, now: float) -> None:
        if not event.total and not event.done:
            self._last_line_s, self._step_left = now, TimeLeft(self._clock)
            self._terminal.note(f"the language model processes {event.message}")
            return
        left = _format_left(self._step_left.update(event.done, event.total))
        if now - self._last_line_s >= LINE_INTERVAL_S and event.total:
            self._last_line_s = now
            line = f"{event.done:,} of {event.total:,} {event.message}"
            self._terminal.note(f"{line}, {left}" if left else line)

    def _describe_counts(self, event: IndexEvent, left: str) -> str:
        line = f"{event.done:,} of {event.total:,} files, {count_of(event.chunks, 'chunk')}"
        if event.bytes_total >= _MEGABYTE:
            read, total = event.bytes_read / _MEGABYTE, event.bytes_total / _MEGABYTE
            line += f", {read:,.1f} of {total:,.1f} MB read"
        worked_s = self._time_left.worked_s
        if not event.chunks or worked_s <= 0:
            return line
        line += f", {event.chunks / worked_s:,.0f} chunks/s"
        return f"{line}, {left}" if left else line


def _format_share(share: float) -> str:
    """Return how much of a file was read, behind its name; "" if that is unknown."""
    return f" ({share:.0%})" if share else ""


class _Bars(SilentView):
    """Bars that are drawn while the view is open."""

    def __init__(self, terminal: Terminal) -> None:
        self._progress = _make_progress(terminal)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class BarView(_Bars):
    """Draws a bar for files, one for chunks, and one for each step of enrichment by a model."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(terminal)
        self._clock = clock
        self._files = _add_bar(self._progress, "Files")
        self._chunks = _add_bar(self._progress, "Chunks")
        self._step: TaskID | None = None
        self._step_name = ""
        self._skipped = 0
        self._time_left = self._step_left = TimeLeft(clock)

    def show(self, event: IndexEvent) -> None:
        """Redraw the bars."""
        if event.kind is EventKind.ENRICHING:
            self._show_step(event)
            return
        left = _format_left(self._time_left.follow(event))
        worked_s = self._time_left.worked_s
        is_loading = event.kind is EventKind.LOADING
        self._skipped += event.kind is EventKind.FAILED
        self._progress.update(
            self._files,
            completed=event.done,
            total=event.total,
            rate=_format_rate(event.done, worked_s),
            left=left,
            skipped=f"{self._skipped} skipped" if self._skipped else "",
            name=f"{_shorten_name(event.uri)}{_format_share(event.share)}"
            if event.kind in _NAMED_KINDS
            else "",
        )
        self._progress.update(
            self._chunks,
            completed=event.chunks,
            total=max(event.chunks_known, event.chunks) or None,
            rate="" if is_loading else _format_rate(event.chunks, worked_s),
            name=LOADING_LABEL if is_loading else "",
        )

    def _show_step(self, event: IndexEvent) -> None:
        """Redraw the bar of the current step of enrichment, or add one for a new step."""
        if self._step is None or event.message != self._step_name:
            self._step = _add_bar(self._progress, join_lines(event.message.capitalize()))
            self._step_name, self._step_left = event.message, TimeLeft(self._clock)
        self._progress.update(
            self._step,
            completed=event.done,
            total=event.total or None,
            left=_format_left(self._step_left.update(event.done, event.total)),
        )


class BarCounter(_Bars):
    """Draws one bar."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self._task = _add_bar(self._progress, "")
        self._label = ""
        self._time_left = TimeLeft()

    def count(self, label: str, done: int, total: int) -> None:
        """Redraw the bar."""
        if label != self._label:
            self._label, self._time_left = label, TimeLeft()
        left = _format_left(self._time_left.update(done, total))
        self._progress.update(
            self._task,
            description=join_lines(label),
            completed=done,
            total=total,
            rate=_format_rate(done, self._time_left.worked_s),
            left=left,
        )


def choose_counter(terminal: Terminal, *, hidden: bool) -> SilentView:
    """Return a counter that draws a bar on an interactive terminal, and nothing elsewhere."""
    if hidden or terminal.quiet or not terminal.is_interactive:
        return SilentView()
    return BarCounter(terminal)


def _make_progress(terminal: Terminal) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<6}", markup=False),
        BarColumn(bar_width=18),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", style="dim"),
        TextColumn("{task.fields[left]}", style="dim"),
        TextColumn("{task.fields[skipped]}", style="yellow"),
        TextColumn("{task.fields[name]}", style="dim", markup=False),
        console=terminal.err,
        transient=True,
        refresh_per_second=8,
    )


def _add_bar(progress: Progress, label: str) -> TaskID:
    return progress.add_task(label, total=None, rate="", left="", skipped="", name="")


def _format_rate(done: int, seconds: float) -> str:
    return f"{done / seconds:,.0f}/s" if seconds >= _RATE_S else ""


def _format_left(seconds: float | None) -> str:
    return "" if seconds is None else f"{format_seconds(seconds)} left"


def _shorten_name(uri: str) -> str:
    from rich.cells import cell_len, set_cell_size

    name = join_lines(uri.rsplit("/", 1)[-1])
    return name if cell_len(name) <= _NAME_WIDTH else set_cell_size(name, _NAME_WIDTH - 1) + "…"


def describe_failure(uri: str, message: str) -> str:
    """Return a failure as one line that names the file once."""
    line = join_lines(message)
    return line if uri in message else f"{join_lines(uri)}: {line}"


def format_seconds(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


_MIN_WORK_S = 2.0
"""Seconds of work before the first estimate. A slow start doubles its own length instead."""
_STEADY_AFTER_S = 10.0
"""Seconds of work after which estimates change by at most ``_MAX_CHANGE`` at a time."""
_MAX_CHANGE = 1.6
_CHANGE_S = 5.0
"""Seconds between estimates that may differ by the factor ``_MAX_CHANGE``; closer ones by less."""
_FIRST_MINUTE_S = 60.0
_HALF_LIFE_S = 60.0


class TimeLeft:
    """Estimates the time left from the pace so far, without sudden jumps.

    In the first minute the pace is the average. Later, work counts half as much for each minute
    that has passed since.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_s = clock()
        self._is_paused = False
        self._worked_s = 0.0
        self._begun_s = 0.0
        self._done = 0.0
        self._recent_s = 0.0
        self._recent_done = 0.0
        self._left_s: float | None = None

    @property
    def worked_s(self) -> float:
        """Seconds of work up to the last update, without pauses."""
        return self._worked_s

    def pause(self) -> None:
        """Ignore the time until the next update, such as the time to load a model."""
        self._pass_time()
        self._is_paused = True

    def follow(self, event: IndexEvent) -> float | None:
        """Return the seconds left of an indexing run, based on its chunks, or on files if unknown.

        The time to load a model is ignored.
        """
        if event.chunks_expected:
            left_s = self.update(event.chunks, event.chunks_expected)
        else:
            left_s = self.update(event.done, event.total)
        if event.kind is EventKind.LOADING:
            self.pause()
        return left_s

    def update(self, done: float, total: float) -> float | None:
        """Return the seconds left after ``done`` of ``total``, or None if it is too early."""
        passed_s = self._pass_time()
        self._recent_done += done - self._done
        self._done = done
        if not self._begun_s and done > 0:
            self._begun_s = self._worked_s
        is_early = done < total / 10 and self._worked_s < max(_MIN_WORK_S, 2 * self._begun_s)
        if is_early or not 0 < done < total or self._recent_done <= 0:
            return None
        left_s = (total - done) * self._recent_s / self._recent_done
        if self._left_s is not None and self._worked_s >= _STEADY_AFTER_S:
            change = _MAX_CHANGE ** min(passed_s / _CHANGE_S, 1.0)
            due_s = max(self._left_s - passed_s, self._left_s / _MAX_CHANGE)
            left_s = min(max(left_s, due_s / change), self._left_s * change)
        self._left_s = left_s
        return left_s

    def _pass_time(self) -> float:
        """Return the seconds since the last call, and count them as work unless paused."""
        now_s = self._clock()
        passed_s, self._last_s = now_s - self._last_s, now_s
        if self._is_paused:
            self._is_paused = False
            return passed_s
        self._worked_s += passed_s
        if self._worked_s > _FIRST_MINUTE_S:
            decay = 0.5 ** (passed_s / _HALF_LIFE_S)
            self._recent_s *= decay
            self._recent_done *= decay
        self._recent_s += passed_s
        return passed_s
