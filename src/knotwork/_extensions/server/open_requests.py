"""The requests in progress with their keys, so that removing a key ends what it began."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from knotwork._extensions.server.keys import AccessKey

CHECK_INTERVAL_S = 1.0
"""Time between two checks of the keys of open requests, in seconds."""


@dataclass(slots=True, eq=False)
class OpenRequest:
    """A request in progress; ``is_revoked`` is set when its key was removed."""

    key: AccessKey
    task: asyncio.Task[object]
    is_revoked: bool = False


class OpenRequests:
    """The requests in progress of one server. Use it in one event loop only."""

    def __init__(self) -> None:
        self._open: set[OpenRequest] = set()

    @contextmanager
    def track(self, key: AccessKey) -> Iterator[OpenRequest]:
        """Track the request of the current task until the block ends."""
        task = asyncio.current_task()
        assert task is not None, "requests run in tasks"
        request = OpenRequest(key, task)
        self._open.add(request)
        try:
            yield request
        finally:
            self._open.discard(request)

    def end_revoked(self, is_valid: Callable[[AccessKey], bool]) -> None:
        """Cancel the requests whose keys are no longer valid."""
        valid = {key: is_valid(key) for key in {request.key for request in self._open}}
        for request in self._open:
            if not valid[request.key] and not request.is_revoked:
                request.is_revoked = True
                request.task.cancel()

    async def watch(self, is_valid: Callable[[AccessKey], bool]) -> None:
        """Call `end_revoked` about once a second, forever."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            self.end_revoked(is_valid)
