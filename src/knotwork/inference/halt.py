"""Halting: all that wait for a model in any thread stop at once when the run is given up."""

from __future__ import annotations

import threading

from knotwork.errors import ModelError


class Halt:
    """A switch that ends every wait; set it on Ctrl-C, before threads are joined."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """End all waits, now and later, with ModelError."""
        self._event.set()

    def check(self) -> None:
        """Raise ModelError once the switch is set."""
        if self._event.is_set():
            raise ModelError("The call to the model was given up, as the run was stopped.")

    def sleep(self, seconds: float) -> None:
        """Wait; raise ModelError as soon as the switch is set."""
        self._event.wait(seconds)
        self.check()
