"""Learn from the refusals of an embedding server how it is to be asked.

Servers take 10 texts in a request (DashScope), 16, 32, 64, 96, 128 or 2,048, and say so only when a
request has more. What is learned holds for the rest of the process.
"""

from __future__ import annotations

import re
import threading

from knotwork.errors import ModelError

MOST_TEXTS = 2_048
"""Most texts in one request: the limit of OpenAI's API."""

_REFUSING = frozenset({400, 413, 422})
_TOO_MANY = re.compile(
    r"batch|too (?:many|long|large|big)|at most|no more than|max(?:imum)?\b|max_|exceed|limit"
    r"|larger than|greater than|超|最多|最大",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"(?:at most|up to|no more than|(?:larger|greater|more) than|max\w*|limit\w*|exceed\w*|<=?"
    r"|超过|超出|最多|最大)[^\d<>]{0,40}?(\d[\d,]*)(?!\d*\s*(?:\w+ )?(?:token|char|byte))",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"encoding_?format|base64", re.IGNORECASE)


class EmbeddingLimits:
    """How one model on one server is asked: most texts in a request, and the form of vectors.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.texts = MOST_TEXTS
        self.takes_format = True

    def lower(self, texts: int) -> None:
        """Send at most this number of texts in a request from now on."""
        with self._lock:
            self.texts = min(self.texts, texts)

    def refuses_format(self, error: ModelError) -> bool:
        """Return True if the server refused ``encoding_format``, which is then sent no more."""
        if error.status not in _REFUSING or not _FORMAT.search(_reason(error)):
            return False
        self.takes_format = False
        return True


def stated_limit(error: ModelError, *, sent: int) -> int | None:
    """Return how many texts a server takes that refused ``sent`` of them; 0 if it does not say.

    None if the refusal has another reason.
    """
    reason = _reason(error)
    if error.status not in _REFUSING or sent < 2:
        return None
    if error.status != 413 and not _TOO_MANY.search(reason):
        return None
    stated = (int(found.replace(",", "")) for found in _COUNTS.findall(reason))
    return next((count for count in stated if 1 <= count < sent), 0)


def _reason(error: ModelError) -> str:
    """Return what the server said, without the URL, whose digits are no limit."""
    return error.message.partition(" answered ")[2].partition(": ")[2]


_known: dict[tuple[str, str], EmbeddingLimits] = {}
_knowing = threading.Lock()


def limits_of(base_url: str, model: str) -> EmbeddingLimits:
    """Return the limits of a model on a server, as learned so far in this process."""
    with _knowing:
        return _known.setdefault((base_url, model), EmbeddingLimits())
