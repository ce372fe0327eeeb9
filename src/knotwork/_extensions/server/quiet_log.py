"""Log messages that clients can cause at a limited rate."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_INTERVAL_S = 10.0
_MOST_KINDS = 1_000


class QuietLog:
    """Log one message of a kind at a time, and count those that follow within ten seconds.

    A client that is refused again and again must not be able to fill the disk with log lines.
    Not thread-safe, but concurrent use only miscounts.
    """

    def __init__(self, log: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}

    def write(
        self, level: int, kind: str, message: str, *, error: BaseException | None = None
    ) -> None:
        """Log a message, unless one of its ``kind`` was logged less than ten seconds ago.

        ``error`` adds its traceback.
        """
        now = self._clock()
        logged_s, skipped = self._kinds.get(kind, (-_INTERVAL_S, 0))
        if now - logged_s < _INTERVAL_S:
            self._kinds[kind] = logged_s, skipped + 1
            return
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
        self._kinds[kind] = now, 0
        more = f" ({skipped:,} more like it before)" if skipped else ""
        self._log.log(level, "%s%s", message, more, exc_info=error)
