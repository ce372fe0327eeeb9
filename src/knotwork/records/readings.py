"""What a language model read in chunks, beside the graph it added to, and how that went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ReadingStatus(StrEnum):
    """How much of a chunk's reply is used."""

    OK = "ok"
    """All of it."""
    PARTIAL = "partial"
    """Some of it: the complaints say what is not."""
    QUARANTINED = "quarantined"
    """Nothing: the chunk has what the rules found, and waits for another try."""


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """How a model's reading of one chunk went.

    ``source`` is the model's name, ``complaints`` are what of the reply is not used, in words. A
    quarantined one has ``reason``, and ``raw``, the reply, where one came.
    """

    chunk_id: str
    source: str
    status: ReadingStatus
    reason: str = ""
    raw: str = ""
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """All descriptions of an entity in one text.

    ``source`` names the model that wrote it. ``content_key`` changes with any description that it
    is written from.
    """

    entity_id: str
    text: str
    source: str
    content_key: str
