"""Show the progress of a run as bars, log lines or JSON lines, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from knotwork._cli.terminal import Terminal, write_json
from knotwork._cli.views import count_of, format_seconds, join_lines
from knotwork._indexing.report import Failure
from knotwork._run import Progress, Stage
from knotwork._shapes.base import fields_of
from knotwork._shapes.indexing import describe_progress, describe_report

if TYPE_CHECKING:
    from rich import progress as rich_progress


_LINE_INTERVAL_S = 5.0
_LOADING_LABEL = "Loading the model"
_NAME_WIDTH = 18
_RATE_S = 0.1
"""Seconds of work before the first rate is shown."""
_MEGABYTE = 1_000_000
_NAMED_KINDS = (Stage.STARTED, Stage.READING)


class ProgressView:
    """Shows the steps of a run: as a ``bar`` for each kind of part, as ``plain`` lines every few
    seconds, as a line of ``json`` for each step, or as ``none``.

    ``auto`` shows bars on an interactive terminal, and lines elsewhere, if the work ``has_lines``.
    Use it as a context manager.
    """

    def __init__(
        self,
        terminal: Terminal,
        wanted: str = "auto",
        *,
        hidden: bool = False,
        has_lines: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if wanted == "auto":
            wanted = "bar" if terminal.is_interactive else "plain" if has_lines else "none"
        self.kind = "none" if wanted != "json" and (hidden or terminal.quiet) else wanted
        self._terminal, self._clock = terminal, clock
        self._last_line_s = clock()
        self._time_left = TimeLeft(clock)
        """Of the whole run of indexing."""
        self._parts: dict[str, tuple[TimeLeft, rich_progress.TaskID | None]] = {}
        self._skipped = 0
        self._bars = _make_bars(terminal) if self.kind == "bar" else None

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, step: Progress) -> None:
        """Show a step of indexing."""
        if self.kind == "json":
            write_json(describe_event(step), sys.stderr)
            sys.stderr.flush()
        elif step.stage == Stage.ENRICHING:
            if step.note not in self._parts:
                self._note(f"the language model processes {step.note}")
            self.count(step.note, step.done, step.total, line="{done} of {total} {label}")
        elif self.kind == "bar":
            self._draw(step)
        elif self.kind == "plain":
            self._log(step)

    def count(
        self, label: str, done: int, total: int, *, line: str = "{label}: {done} of {total}"
    ) -> None:
        """Show that ``done`` of ``total`` parts are finished, of a kind of work named ``label``."""
        time_left, _ = self._parts.setdefault(label, (TimeLeft(self._clock), None))
        left = _format_left(time_left.update(done, total))
        if self.kind == "bar":
            rate = _format_rate(done, time_left.worked_s)
            self._bar(label, completed=done, total=total or None, rate=rate, left=left)
        elif self.kind == "plain" and total and self._is_due():
            text = line.format(label=label, done=f"{done:,}", total=f"{total:,}")
            self._terminal.note(", ".join(filter(None, (text, left))))

    def _log(self, step: Progress) -> None:
        left = _format_left(self._time_left.follow(step))
        if step.stage == Stage.LOADING:
            self._terminal.note(f"loading the model {step.note}")
        elif step.stage == Stage.DISCOVERED and step.total:
            self._terminal.note(f"{count_of(step.total, 'file')} found")
        elif step.stage == Stage.FAILED:
            self._terminal.note(f"skipped {describe_failure(step.subject, step.note)}")
        elif self._is_due():
            counts, worked_s = step.counts, self._time_left.worked_s
            parts = [f"{step.done:,} of {step.total:,} files", count_of(counts.chunks, "chunk")]
            if counts.bytes_total >= _MEGABYTE:
                read, total = counts.bytes_read / _MEGABYTE, counts.bytes_total / _MEGABYTE
                parts.append(f"{read:,.1f} of {total:,.1f} MB read")
            if counts.chunks and worked_s > 0:
                parts += [f"{counts.chunks / worked_s:,.0f} chunks/s", left]
            if step.stage == Stage.READING:
                seconds = f"for {format_seconds(counts.seconds)}{_format_share(counts.part.share)}"
                parts.append(f"reading {join_lines(step.subject)} {seconds}")
            self._terminal.note(", ".join(filter(None, parts)))

    def _draw(self, step: Progress) -> None:
        """Redraw the bars of files and of chunks."""
        left = _format_left(self._time_left.follow(step))
        counts, worked_s = step.counts, self._time_left.worked_s
        is_loading = step.stage == Stage.LOADING
        self._skipped += step.stage == Stage.FAILED
        name = ""
        if step.stage in _NAMED_KINDS:
            name = f"{_shorten_name(step.subject)}{_format_share(counts.part.share)}"
        self._bar(
            "files",
            completed=step.done,
            total=step.total,
            rate=_format_rate(step.done, worked_s),
            left=left,
            skipped=f"{self._skipped} skipped" if self._skipped else "",
            name=name,
        )
        self._bar(
            "chunks",
            completed=counts.chunks,
            total=max(counts.chunks_known, counts.chunks) or None,
            rate="" if is_loading else _format_rate(counts.chunks, worked_s),
            name=_LOADING_LABEL if is_loading else "",
        )

    def _bar(self, label: str, **values: Any) -> None:  # noqa: ANN401  those of a bar
        """Redraw a bar, or add it."""
        assert self._bars is not None, "bars are shown"
        time_left, task = self._parts.get(label, (self._time_left, None))
        if task is None:
            shown = join_lines(label[:1].upper() + label[1:])
            task = self._bars.add_task(shown, total=None, rate="", left="", skipped="", name="")
            self._parts[label] = time_left, task
        self._bars.update(task, **values)

    def _is_due(self) -> bool:
        """Return whether it is time for another line."""
        if self._clock() - self._last_line_s < _LINE_INTERVAL_S:
            return False
        self._last_line_s = self._clock()
        return True

    def _note(self, text: str) -> None:
        """Write a line of its own."""
        if self.kind == "plain":
            self._last_line_s = self._clock()
            self._terminal.note(text)


def describe_event(step: Progress) -> dict[str, Any]:
    """Return the object of a step."""
    described: dict[str, Any] = {"event": str(step.stage), **describe_progress(step)}
    if step.stage == Stage.READING:
        described["seconds"] = round(step.counts.seconds, 1)
        described["share"] = round(step.counts.part.share, 3)
    if step.stage == Stage.ENRICHING:
        described["step"] = step.note
    if step.stage == Stage.LOADING:
        described["model"] = step.note
    if isinstance(step.value, Failure):
        described |= fields_of(step.value, "reason", "message")
    elif step.value is not None:
        described["report"] = describe_report(step.value)
    return described


def _make_bars(terminal: Terminal) -> rich_progress.Progress:
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


def _format_rate(done: int, seconds: float) -> str:
    return f"{done / seconds:,.0f}/s" if seconds >= _RATE_S else ""


def _format_left(seconds: float | None) -> str:
    return "" if seconds is None else f"{format_seconds(seconds)} left"


def _format_share(share: float) -> str:
    """Return how much of a file was read, behind its name; "" if that is unknown."""
    return f" ({share:.0%})" if share else ""


def _shorten_name(uri: str) -> str:
    from rich.cells import cell_len, set_cell_size

    name = join_lines(uri.rsplit("/", 1)[-1])
    return name if cell_len(name) <= _NAME_WIDTH else set_cell_size(name, _NAME_WIDTH - 1) + "…"


def describe_failure(uri: str, message: str) -> str:
    """Return a failure as one line that names the file once."""
    line = join_lines(message)
    return line if uri in message else f"{join_lines(uri)}: {line}"


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
