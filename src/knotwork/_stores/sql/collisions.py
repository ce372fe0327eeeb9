"""Find new ids that something else in the index has: two natural keys with one 63-bit hash."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from knotwork._stores.collisions import check_same_name, describe_holder, describe_ids
from knotwork._stores.sql.database import SqlDatabase
from knotwork._stores.sql.dialect import Dialect
from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Section, id_to_int, int_to_id

_NO_DOCUMENT = -1


class CollisionStatements:
    """The statements of `SqlIdChecks` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.uri = "SELECT uri FROM document WHERE id = $1"
        held = f"""
            SELECT j.value, 'document', d.uri
            FROM {keys} CROSS JOIN document d WHERE d.id = j.value AND d.id <> $2
            UNION ALL SELECT j.value, 'section', (SELECT uri FROM document WHERE id = s.document)
            FROM {keys} CROSS JOIN section s WHERE s.id = j.value AND s.document <> $2
            UNION ALL SELECT j.value, 'chunk', (SELECT uri FROM document WHERE id = c.document)
            FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value AND c.document <> $2
        """
        self.held_by_documents = f"{held} LIMIT 1"
        self.held = f"""
            {held} UNION ALL SELECT j.value, 'entity', e.normal_form
            FROM {keys} CROSS JOIN entity e WHERE e.id = j.value LIMIT 1
        """
        self.relation_names = f"""
            SELECT r.id, r.name FROM {keys} CROSS JOIN relation r WHERE r.id = j.value
        """
        self.question_chunks = f"""
            SELECT q.id, q.chunk FROM {keys} CROSS JOIN question q WHERE q.id = j.value
        """


class SqlIdChecks:
    """Checks in the open transaction, before anything with a new id is written.

    They are complete if there is one writer; an engine with several repeats what they may overtake.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._bind = database.dialect.bind_keys
        self._sql = CollisionStatements(database.dialect)

    def check_document(
        self, document: Document, sections: Collection[Section], chunks: Collection[Chunk]
    ) -> bool:
        """Raise IdCollision if anything but this document has the id of one of its parts.

        Return True if the document is in the index.
        """
        key = id_to_int(document.id)
        row = self._database.row(self._sql.uri, (key,))
        if row is not None:
            check_same_name(document.id, "document", row[0], document.uri)
        described = describe_ids(document, sections, chunks)
        self._check_parts({id_to_int(i): text for i, text in described.items()}, key)
        return row is not None

    def check_entities(self, new: Mapping[int, str]) -> None:
        """Raise IdCollision if a document, section or chunk has the id of a new entity.

        ``new`` are the normal forms of the entities, by key.
        """
        described = {key: describe_holder("entity", form) for key, form in new.items()}
        self._raise_first(self._sql.held_by_documents, described, _NO_DOCUMENT)

    def check_relations(self, names: Mapping[int, str]) -> None:
        """Raise IdCollision if a stored relation has the key of another name."""
        if names:
            bound = (self._bind(names),)
            for key, name in self._database.fetch(self._sql.relation_names, bound):
                check_same_name(int_to_id(key), "relation", name, names[key])

    def check_questions(self, rows: Sequence[tuple[int, int, int, bytes]]) -> None:
        """Raise IdCollision if two questions have one id; rows begin with it and their chunk."""
        chunks: dict[int, int] = {}
        for key, chunk, *_ in rows:
            if key in chunks:
                raise _question_collision(key, chunks[key], chunk)
            chunks[key] = chunk
        bound = (self._bind(chunks),)
        for key, held in self._database.fetch(self._sql.question_chunks, bound) if chunks else ():
            raise _question_collision(key, held, chunks[key])

    def _check_parts(self, new: Mapping[int, str], document: int) -> None:
        """Raise IdCollision if anything but this document has one of its new ids."""
        self._raise_first(self._sql.held, new, document)

    def _raise_first(self, sql: str, new: Mapping[int, str], document: int) -> None:
        bound = (self._bind(new), document)
        for key, kind, name in self._database.fetch(sql, bound) if new else ():
            raise IdCollision(int_to_id(key), describe_holder(kind, name), new[key])


def _question_collision(key: int, held: int, new: int) -> IdCollision:
    described = (f"a question of the chunk {int_to_id(chunk)}" for chunk in (held, new))
    return IdCollision(int_to_id(key), *described)
