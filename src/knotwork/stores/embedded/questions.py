"""The questions that chunks answer, in a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from knotwork.records import id_to_int, int_to_id
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import keys_of, pack_keys, pack_line, unpack_line
from knotwork.stores.nodes import question_id

_QUESTIONS = (
    "SELECT q.chunk, q.text FROM json_each(?) j CROSS JOIN question q ON q.chunk = j.value"
    " ORDER BY q.chunk, q.ordinal"
)


class EmbeddedQuestions:
    """The `QuestionStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Replace the questions of these chunks; of equal questions of a chunk the first stays."""
        with self._database.transaction():
            self.remove_chunks(questions)
            self._database.write_many(
                "INSERT INTO question VALUES (?, ?, ?, ?)",
                (
                    (id_to_int(question_id(key, text)), id_to_int(key), ordinal, pack_line(text))
                    for key, asked in questions.items()
                    for ordinal, text in enumerate(dict.fromkeys(asked))
                ),
            )

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of these chunks in their order; a chunk without any is absent."""
        keys = dict(keys_of(chunk_ids))
        found: defaultdict[int, list[str]] = defaultdict(list)
        for key, text in self._database.rows(_QUESTIONS, (pack_keys(keys.values()),)):
            found[key].append(unpack_line(text))
        return {identifier: tuple(found[key]) for identifier, key in keys.items() if key in found}

    def chunk_ids(self) -> list[str]:
        """Return the ids of the chunks that have questions, ascending."""
        rows = self._database.rows("SELECT DISTINCT chunk FROM question ORDER BY chunk")
        return [int_to_id(key) for (key,) in rows]

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the questions of these chunks."""
        with self._database.transaction():
            self._database.write_many(
                "DELETE FROM question WHERE chunk = ?", ((key,) for _, key in keys_of(chunk_ids))
            )
