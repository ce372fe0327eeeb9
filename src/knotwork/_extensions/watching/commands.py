"""`knotwork watch`: keep an index current while files change."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping

import click

from knotwork._cli.session import Decorator, Session, command
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import count_of, format_seconds
from knotwork._indexing.report import IndexReport
from knotwork._run import Progress, Stage
from knotwork.errors import ConfigError

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


_CHANGES: Mapping[str, str] = {
    Stage.ADDED: "added",
    Stage.CHANGED: "changed",
    Stage.REMOVED: "removed",
    Stage.FAILED: "skipped",
    Stage.STOPPED: "problem",
}
"""The word for each kind of step that is shown."""


def every_option(default: str) -> Decorator:
    """Return the option for the time between two comparisons of everything, in seconds."""

    def read(_context: click.Context, _parameter: click.Parameter, given: str) -> float:
        found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", given)
        if found is None:
            raise ConfigError(
                f"`--every {given}` is not a time.",
                fix="Write a number and s, m, h or d: --every 10m",
            )
        return float(int(found[1]) * _UNITS[found[2]])

    return click.option(
        "--every",
        "every_s",
        metavar="TIME",
        default=default,
        show_default=True,
        callback=read,
        help="Also compare everything after this time, such as 30s, 10m or 1h. URLs of storage "
        "have no events.",
    )


@command()
@click.argument("paths", metavar="FOLDER...", nargs=-1, required=True, type=click.Path())
@every_option("10m")
@click.option(
    "--poll",
    "polling",
    is_flag=True,
    help="Look at all files every 2 s instead of waiting for events, which network file systems "
    "and some containers do not send.",
)
def watch_command(
    session: Session, *, paths: tuple[str, ...], every_s: float, polling: bool
) -> None:
    """Index folders, and index their changes within seconds until you stop it.

    It starts with a full comparison, so that changes made while it was stopped are indexed too. A
    folder that is found missing or empty keeps its documents. Ctrl-C or SIGTERM stops it; what is
    finished is kept.
    $ knotwork watch ~/papers
    $ knotwork watch ~/papers s3://bucket/papers --every 10m
    $ knotwork watch /mnt/share --poll
    """
    knowledge_base = session.open(read_only=False)
    started_s, lines = time.monotonic(), WatchLines(session.terminal)
    if not session.common.json:
        session.terminal.note("Press Ctrl-C to stop.", style="dim")
    try:
        for step in knowledge_base.watch.run(*paths, every_s=every_s, polling=polling):
            lines.show(step)
    except KeyboardInterrupt:
        lines.sum_up(time.monotonic() - started_s)


class WatchLines:
    """Show each change as a line of text or of JSON, and each problem once until it is solved."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._problems: dict[str, dict[str, str]] = {}
        """By path and name of the file or path."""
        self._counts = dict.fromkeys(_CHANGES.values(), 0)
        self._has_news = True

    def show(self, step: Progress) -> None:
        """Show a change, a problem that is new, or the end of a run that had any of them."""
        problems = self._problems.get(step.subject, {})
        report = step.value
        if isinstance(report, IndexReport):
            failures = {failure.uri: failure for failure in report.failures}
            self._problems[step.subject] = {uri: found.message for uri, found in failures.items()}
            for uri, found in failures.items():
                # The next run removes a file that is missing.
                if found.reason != "missing" and problems.get(uri) != found.message:
                    self._show_change(
                        Progress(Stage.FAILED, subject=uri, note=found.message, value=found)
                    )
            if self._has_news:
                size = count_of(report.total_documents, "document")
                self._write(step, "current", f"{step.subject}: {size} in the index")
            self._has_news = False
        elif step.stage == Stage.STOPPED and problems.get(step.subject) != step.note:
            self._problems[step.subject] = {**problems, step.subject: step.note}
            self._show_change(step)
        elif step.stage in (Stage.ADDED, Stage.CHANGED, Stage.REMOVED):
            self._show_change(step)

    def _show_change(self, step: Progress) -> None:
        from knotwork._cli.progress import describe_failure

        self._counts[_CHANGES[step.stage]] += 1
        self._has_news = True
        text = describe_failure(step.subject, step.note) if step.note else step.subject
        self._write(step, _CHANGES[step.stage], text)

    def sum_up(self, seconds: float) -> None:
        """Show how many changes there were."""
        if self._terminal.json:
            counts = {"event": "ended", "seconds": round(seconds, 1), **self._counts}
            self._terminal.emit(counts)
            return
        listed = ", ".join(f"{count:,} {word}" for word, count in self._counts.items() if count)
        self._terminal.say(f"Watched for {format_seconds(seconds)}: {listed or 'no changes'}.")

    def _write(self, step: Progress, word: str, text: str) -> None:
        from knotwork._cli.progress import describe_event

        if self._terminal.json:
            self._terminal.emit(describe_event(step))
        else:
            self._terminal.say(f"{time.strftime('%H:%M:%S')} {word:<8} {text}")
        sys.stdout.flush()  # a service has no terminal
