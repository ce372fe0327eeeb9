"""What became of each chunk: a small record for the pipeline to store, list and try again."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.errors import BudgetExceeded, ModelError, ModelUnavailable
from knotwork.records import Description, Extraction, ReadingStatus
from knotwork.transform.model.drafts import Complaint


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """A chunk's contributions and how they came about.

    A quarantined one has ``reason``, and ``raw``, the reply that could not be read, where one came,
    now or in an earlier run. ``unavailable`` says that no reply came at all. ``repaired`` says that
    a second try made it.
    """

    extraction: Extraction
    status: ReadingStatus
    descriptions: tuple[Description, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    reason: str = ""
    raw: str = ""
    repaired: bool = False
    unavailable: bool = False

    @property
    def chunk_id(self) -> str:
        """The chunk that this is about."""
        return self.extraction.chunk_id

    @property
    def absence(self) -> str:
        """Why no server answered; empty where one did."""
        return (self.reason or "no reason was given") if self.unavailable else ""


_FOR_THIS_REQUEST = frozenset({400, 413, 422})
"""HTTP statuses by which a server refuses what one request holds."""


def concerns_one_chunk(error: ModelError) -> bool:
    """Tell whether a fault may be of this chunk alone, so that a run should go on.

    A ceiling that is reached, a key that is refused and a run that is given up concern all chunks.
    """
    if isinstance(error, BudgetExceeded):
        return False
    return isinstance(error, ModelUnavailable) or error.status in _FOR_THIS_REQUEST
