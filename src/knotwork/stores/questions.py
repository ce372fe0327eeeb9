"""The power to store the questions that chunks answer, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable


class QuestionStore(Protocol):
    """Hypothetical questions by chunk, in the transactions of their store."""

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Replace the questions of these chunks; of equal questions of a chunk the first stays."""

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of these chunks in their order; a chunk without any is absent."""
        ...

    def chunk_ids(self) -> list[str]:
        """Return the ids of the chunks that have questions, ascending."""
        ...

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the questions of these chunks."""


@runtime_checkable
class StoresQuestions(Protocol):
    """A store that can hold questions."""

    @property
    def questions(self) -> QuestionStore: ...
