"""The questions that chunks answer, in a dictionary."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from knotwork.stores.memory.state import Access


class MemoryQuestions:
    """The `QuestionStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        with self._transaction():
            self.remove_chunks(questions)
            state = self._state()
            state.questions |= {
                key: tuple(dict.fromkeys(asked)) for key, asked in questions.items() if asked
            }

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        stored = self._state().questions
        return {key: stored[key] for key in chunk_ids if key in stored}

    def chunk_ids(self) -> list[str]:
        return sorted(self._state().questions)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._transaction():
            state = self._state()
            for key in chunk_ids:
                state.questions.pop(key, None)
