"""Stop the work of a command on a signal, and keep what it has finished."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from knotwork._cancellation import Cancellation, current_cancellation

_PATIENCE_S = 3.0
"""Seconds after which work that has not stopped is interrupted wherever it is."""


class Terminated(KeyboardInterrupt):
    """SIGTERM stopped the command; what it has finished is kept."""


class Interruption(Cancellation):
    """The cancellation of a command; ``signal_number`` is 0 until a signal arrives."""

    signal_number: int = 0


def interrupted_exit_code() -> int:
    """Return the exit code of the command in progress after a signal: 130 for Ctrl-C."""
    current = current_cancellation()
    number = current.signal_number if isinstance(current, Interruption) else 0
    return 128 + (number or signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Cancel the work of the block on Ctrl-C and SIGTERM.

    The second signal, or a few seconds without an effect, raises KeyboardInterrupt wherever the
    work is. Raises Terminated for a KeyboardInterrupt that follows SIGTERM. Outside the main
    thread, which gets no signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interruption = Interruption()
    timer = threading.Timer(_PATIENCE_S, _interrupt, (threading.get_ident(),))
    timer.daemon = True

    def stop(number: int, _frame: object) -> None:
        if interruption.signal_number:
            raise KeyboardInterrupt
        interruption.signal_number = number
        interruption.cancel()
        timer.start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with interruption.scope():
            yield
    except KeyboardInterrupt:
        if interruption.signal_number == signal.SIGTERM:
            raise Terminated from None
        raise
    finally:
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(thread: int) -> None:
    """Send SIGINT to a thread of this process."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)
