"""Notice a reply that repeats the same words without end, as small models do.

Such a reply would go on to the limit of its tokens, which takes minutes on a processor.
"""

from __future__ import annotations

import math

REPETITION_WARNING = (
    "The model repeated the same words over and over, so that its reply was stopped. A larger "
    "model does so less."
)

_LEAST_TIMES = 4
_LEAST_CHARACTERS = 600
_LONGEST_UNIT = 1_000
_PROBE = 40
"""Characters at the end of a reply that are searched for in what is before them."""
_CHECKED_EVERY = 256


class RepetitionCheck:
    """Reads a reply piece by piece. ``is_found`` once it repeats itself."""

    def __init__(self) -> None:
        self.is_found = False
        self._tail = ""
        self._unread: list[str] = []
        self._length = 0

    def feed(self, piece: str) -> None:
        """Add a piece of the reply."""
        self._unread.append(piece)
        self._length += len(piece)
        if self._length < _CHECKED_EVERY or self.is_found:
            return
        most = _LEAST_TIMES * _LONGEST_UNIT
        self._tail = "".join((self._tail, *self._unread))[-most:]
        self._unread, self._length = [], 0
        self.is_found = repeats_itself(self._tail)


def repeats_itself(text: str) -> bool:
    """Return True if a text ends with the same words 4 times or more, in 600 characters or more.

    Marks alone, such as the line below the head of a table, may be repeated.
    """
    probe = text[-_PROBE:]
    place = text.rfind(probe, 0, len(text) - 1)
    unit = text[place + len(probe) :] if place >= 0 else ""
    if not any(map(str.isalpha, unit)):
        return False
    times = max(_LEAST_TIMES, math.ceil(_LEAST_CHARACTERS / len(unit)))
    return text.endswith(unit * times)
