"""Show the progress of an indexing run as bars, log lines or JSON lines, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from knotwork._cli.terminal import Terminal, count_of, join_lines, write_json
from knotwork._indexing.report import Failure
from knotwork._run import Progress, Stage
from knotwork._shapes.base import fields_of
from knotwork._shapes.indexing import describe_progress, describe_report

if TYPE_CHECKING:
    from rich import progress as rich_progress


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

    def show(self, step: Progress) -> None:
        """Ignore the step."""


class JsonView(SilentView):
    """Writes every event as one line of JSON to standard error."""

    def show(self, step: Progress) -> None:
        """Write the step."""
        write_json(describe_event(step), sys.stderr)
        sys.stderr.flush()


def describe_event(step: Progress) -> dict[str, Any]:
    """Return the object of a step."""
    described: dict[str, Any] = {"event": str(step.stage), **describe_progress(step)}
    if step.stage == Stage.READING:
        described["seconds"] = round(step.counts.seconds, 1)
        described["share"] = round(step.counts.share, 3)
    if step.stage == Stage.ENRICHING:
        described["step"] = step.note
    if step.stage == Stage.LOADING:
        described["model"] = step.note
    if isinstance(step.value, Failure):
        described |= fields_of(step.value, "reason", "message")
    elif step.value is not None:
        described["report"] = describe_report(step.value)
    return described


_MEGABYTE = 1_000_000
_NAMED_KINDS = (Stage.STARTED, Stage.READING)


class PlainView(SilentView):
    """Writes a line every 5 seconds, and one for each skipped file."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._last_line_s = clock()
        self._time_left = self._step_left = TimeLeft(clock)

    def show(self, step: Progress) -> None:
        """Write a line if the event needs one or 5 seconds have passed."""
        now = self._clock()
        if step.stage == Stage.ENRICHING:
            self._show_step(step, now)
            return
        left = _format_left(self._time_left.follow(step))
        if step.stage == Stage.LOADING:
            self._terminal.note(f"loading the model {step.note}")
        elif step.stage == Stage.DISCOVERED and step.total:
            self._terminal.note(f"{count_of(step.total, 'file')} found")
        elif step.stage == Stage.FAILED:
            self._terminal.note(f"skipped {describe_failure(step.subject, step.note)}")
        elif now - self._last_line_s >= LINE_INTERVAL_S:
            self._last_line_s = now
            line = self._describe_counts(step, left)
            if step.stage == Stage.READING:
                seconds = format_seconds(step.counts.seconds)
                line += f", reading {join_lines(step.subject)} for {seconds}"
                line += _format_share(step.counts.share)
            self._terminal.note(line)

    def _show_step(self, step: Progress, now: float) -> None:
        if not step.total and not step.done:
            self._last_line_s, self._step_left = now, TimeLeft(self._clock)
            self._terminal.note(f"the language model processes {step.note}")
            return
        left = _format_left(self._step_left.update(step.done, step.total))
        if now - self._last_line_s >= LINE_INTERVAL_S and step.total:
            self._last_line_s = now
            line = f"{step.done:,} of {step.total:,} {step.note}"
            self._terminal.note(f"{line}, {left}" if left else line)

    def _describe_counts(self, step: Progress, left: str) -> str:
        line = f"{step.done:,} of {step.total:,} files, {count_of(step.counts.chunks, 'chunk')}"
        if step.counts.bytes_total >= _MEGABYTE:
            read, total = step.counts.bytes_read / _MEGABYTE, step.counts.bytes_total / _MEGABYTE
            line += f", {read:,.1f} of {total:,.1f} MB read"
        worked_s = self._time_left.worked_s
        if not step.counts.chunks or worked_s <= 0:
            return line
        line += f", {step.counts.chunks / worked_s:,.0f} chunks/s"
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
        self._step: rich_progress.TaskID | None = None
        self._step_name = ""
        self._skipped = 0
        self._time_left = self._step_left = TimeLeft(clock)

    def show(self, step: Progress) -> None:
        """Redraw the bars."""
        if step.stage == Stage.ENRICHING:
            self._show_step(step)
            return
        left = _format_left(self._time_left.follow(step))
        worked_s = self._time_left.worked_s
        is_loading = step.stage == Stage.LOADING
        self._skipped += step.stage == Stage.FAILED
        self._progress.update(
            self._files,
            completed=step.done,
            total=step.total,
            rate=_format_rate(step.done, worked_s),
            left=left,
            skipped=f"{self._skipped} skipped" if self._skipped else "",
            name=f"{_shorten_name(step.subject)}{_format_share(step.counts.share)}"
            if step.stage in _NAMED_KINDS
            else "",
        )
        self._progress.update(
            self._chunks,
            completed=step.counts.chunks,
            total=max(step.counts.chunks_known, step.counts.chunks) or None,
            rate="" if is_loading else _format_rate(step.counts.chunks, worked_s),
            name=LOADING_LABEL if is_loading else "",
        )

    def _show_step(self, step: Progress) -> None:
        """Redraw the bar of the current step of enrichment, or add one for a new step."""
        if self._step is None or step.note != self._step_name:
            self._step = _add_bar(self._progress, join_lines(step.note.capitalize()))
            self._step_name, self._step_left = step.note, TimeLeft(self._clock)
        self._progress.update(
            self._step,
            completed=step.done,
            total=step.total or None,
            left=_format_left(self._step_left.update(step.done, step.total)),
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


def _make_progress(terminal: Terminal) -> rich_progress.Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bars

    return Bars(
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


def _add_bar(progress: rich_progress.Progress, label: str) -> rich_progress.TaskID:
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

    def follow(self, step: Progress) -> float | None:
        """Return the seconds left of an indexing run, based on its chunks, or on files if unknown.

        The time to load a model is ignored.
        """
        if step.counts.chunks_expected:
            left_s = self.update(step.counts.chunks, step.counts.chunks_expected)
        else:
            left_s = self.update(step.done, step.total)
        if step.stage == Stage.LOADING:
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
