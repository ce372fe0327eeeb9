"""Readers: models that read a question and a passage together and say where the answer stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from knotwork.errors import ConfigError, MissingExtra, UnknownName
from knotwork.inference.base import Passage
from knotwork.records import Prediction

AUTO, OFF = "auto", "off"
READERS = (AUTO, OFF)


class Reader(Protocol):
    """Reads passages for the answer to a question.

    ``embedder`` is the name of the embedder that the reader is built on. Safe in several threads.
    """

    @property
    def embedder(self) -> str: ...

    def read(self, question: str, passages: Sequence[Passage]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""


def open_reader(setting: str) -> Reader | None:
    """Return the reader that ``answer.reader`` names; None for "off", and where "auto" finds none.

    Cheap: the model is loaded on first use. Raises UnknownName for another setting.
    """
    if setting not in READERS:
        raise UnknownName("reader", setting, READERS)
    if setting == OFF:
        return None
    from knotwork.inference.local_models.reader import open_local_reader

    try:
        return open_local_reader()
    except (MissingExtra, ConfigError):  # not installed, or no weights for this platform
        return None
