"""Load the embedding model while the server already answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from knotwork.errors import KnotworkError
from knotwork.inference.base import Embedder

_log = logging.getLogger("knotwork.service")
_PROBE = "ready"


class ModelWarmer:
    """Loads the model in a thread of its own, so that the first question need not wait for it.

    ``state`` is "none" without a local model, "loading", "ready" or "failed". A failure is logged
    and not raised: the request that needs the model reports it.
    """

    def __init__(self, open_embedder: Callable[[], Embedder | None]) -> None:
        self._open_embedder = open_embedder
        self._embedder: Embedder | None = None  # keeps the model in memory
        self._thread = threading.Thread(target=self._load, name="load-model", daemon=True)
        self.state = "none"

    def start(self) -> None:
        """Begin to load."""
        self.state = "loading"
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the model is loaded, or cannot be; not at all before `start`."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _load(self) -> None:
        started = time.monotonic()
        try:
            self._embedder = self._open_embedder()
            if self._embedder is None or getattr(self._embedder, "is_loaded", True):
                self.state = "ready" if self._embedder else "none"
                return
            _log.info("loading the model %s", self._embedder.name)
            self._embedder.embed([_PROBE])
        except KnotworkError as error:
            self.state = "failed"
            _log.warning("the embedding model cannot be loaded: %s", error)
            return
        self.state = "ready"
        _log.info("%s is ready after %.1f s", self._embedder.name, time.monotonic() - started)
