"""`knotwork watch`: keep an index current while files change."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Decorator, Session, command
from knotwork._cli.terminal import Terminal, count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._indexing.report import IndexEvent

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CHANGES = {
    "added": "added",
    "changed": "changed",
    "removed": "removed",
    "failed": "skipped",
    "stopped": "problem",
}
"""The word for each kind of event that is shown."""


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


@command(
    "knotwork watch ~/papers",
    "knotwork watch ~/papers s3://bucket/papers --every 10m",
    "knotwork watch /mnt/share --poll",
)
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
    """
    knowledge_base = session.open(read_only=False)
    started_s, lines = time.monotonic(), WatchLines(session.terminal)
    if not session.common.json:
        session.terminal.note("Press Ctrl-C to stop.", style="dim")
    try:
        for event in knowledge_base.watch(paths, every_s=every_s, polling=polling):
            lines.show(event)
    except KeyboardInterrupt:
        lines.sum_up(time.monotonic() - started_s)


class WatchLines:
    """Show each change as a line of text or of JSON, and each problem once until it is solved."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._problems: dict[str, str] = {}
        self._counts = dict.fromkeys(_CHANGES.values(), 0)
        self._has_news = True

    def show(self, event: IndexEvent) -> None:
        """Show an event unless it is a step of a run, or is known."""
        from knotwork._cli.progress import describe_event, describe_failure

        report, word = event.report, _CHANGES.get(str(event.kind), "")
        if event.message and word:
            if event.reason == "missing" or self._problems.get(event.uri) == event.message:
                return  # the next run removes a file that is missing
            self._problems[event.uri] = event.message
        elif word or event.kind == "unchanged" or report is not None:
            self._problems.pop(event.uri, None)
        if word:
            self._counts[word] += 1
            text = describe_failure(event.uri, event.message) if event.message else event.uri
        elif report is not None and self._has_news:
            word = "current"
            text = f"{event.uri}: {count_of(report.total_documents, 'document')} in the index"
        else:
            return
        self._has_news = report is None
        line = f"{time.strftime('%H:%M:%S')} {word:<8} {text}"
        self._write(describe_event(event), line)

    def sum_up(self, seconds: float) -> None:
        """Show how many changes there were."""
        from knotwork._cli.progress import format_seconds

        listed = ", ".join(f"{count:,} {word}" for word, count in self._counts.items() if count)
        self._write(
            {"event": "ended", "seconds": round(seconds, 1), **self._counts},
            f"Watched for {format_seconds(seconds)}: {listed or 'no changes'}.",
        )

    def _write(self, described: dict[str, Any], line: str) -> None:
        if self._terminal.json:
            self._terminal.emit(described)
        else:
            self._terminal.say(line)
        sys.stdout.flush()  # a service has no terminal
