"""Two things with one id, which are refused before anything of them is added.

An id is a 63-bit hash of a natural key: the uri of a document, the place and text of a section or
chunk, the normal form of an entity, the name of a relation. Nodes of all labels share one space of
ids. docs/scale.md has the probabilities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from knotwork._stores.sql.database import Dialect, SqlDatabase
from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Section, id_to_int, int_to_id


def describe_holder(kind: str, name: str) -> str:
    """Return what has an id, for messages: a "document", "section" or "chunk" of the uri ``name``,
    or an "entity" or "relation" of that name.
    """
    return f"a {kind} of `{name}`" if kind in ("section", "chunk") else f"the {kind} `{name}`"


def describe_ids(
    document: Document, sections: Iterable[Section], chunks: Iterable[Chunk]
) -> dict[str, str]:
    """Return the ids of a document and of its parts, each with a description.

    Raises IdCollision if two of them are the same.
    """
    described = {document.id: describe_holder("document", document.uri)}
    for kind, parts in (("section", sections), ("chunk", chunks)):
        text = describe_holder(kind, document.uri)
        for part in parts:
            if part.id in described:
                raise IdCollision(part.id, described[part.id], text)
            described[part.id] = text
    return described


def check_same_name(identifier: str, kind: str, held: str, new: str) -> None:
    """Raise IdCollision if two names of a kind that have one id are different."""
    if held != new:
        raise IdCollision(identifier, describe_holder(kind, held), describe_holder(kind, new))


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
