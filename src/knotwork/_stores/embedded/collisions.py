"""Find new ids that something else in the index has: two natural keys with one 63-bit hash."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from knotwork._stores.collisions import check_same_name, describe_holder, describe_ids
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.packing import pack_keys
from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Section, id_to_int, int_to_id

_HELD = (
    "SELECT j.value, 'document', d.uri FROM json_each(?1) j"
    " CROSS JOIN document d ON d.id = j.value WHERE d.id != ?2"
    " UNION ALL SELECT j.value, 'section', (SELECT uri FROM document WHERE id = s.document)"
    " FROM json_each(?1) j CROSS JOIN section s ON s.id = j.value WHERE s.document != ?2"
    " UNION ALL SELECT j.value, 'chunk', (SELECT uri FROM document WHERE id = c.document)"
    " FROM json_each(?1) j CROSS JOIN chunk c ON c.id = j.value WHERE c.document != ?2"
)
"""The kind and name of what has these ids, without the parts of one document."""

_HELD_BY_ANY = (
    f"{_HELD} UNION ALL SELECT j.value, 'entity', e.normal_form"  # noqa: S608
    " FROM json_each(?1) j CROSS JOIN entity e ON e.id = j.value LIMIT 1"
)
_HELD_BY_DOCUMENTS = f"{_HELD} LIMIT 1"
_NO_DOCUMENT = -1
_RELATION_NAMES = "SELECT r.id, r.name FROM json_each(?) j CROSS JOIN relation r ON r.id = j.value"


def check_document_ids(
    database: Database,
    document: Document,
    sections: Collection[Section],
    chunks: Collection[Chunk],
) -> None:
    """Raise IdCollision if anything but this document has the id of one of its parts."""
    key = id_to_int(document.id)
    held = database.fetch("SELECT uri FROM document WHERE id = ?", (key,))
    if held and held[0][0] != document.uri:
        stored = describe_holder("document", held[0][0])
        raise IdCollision(document.id, stored, describe_holder("document", document.uri))
    new = describe_ids(document, sections, chunks)
    keys = {id_to_int(identifier): text for identifier, text in new.items()}
    _raise_first(database, _HELD_BY_ANY, keys, key)


def check_entity_ids(database: Database, new: Mapping[int, str]) -> None:
    """Raise IdCollision if a document, section or chunk has the id of a new entity.

    ``new`` are the normal forms of the entities, by key.
    """
    described = {key: describe_holder("entity", form) for key, form in new.items()}
    _raise_first(database, _HELD_BY_DOCUMENTS, described, _NO_DOCUMENT)


def check_relation_names(database: Database, names: Mapping[int, str]) -> None:
    """Raise IdCollision if a stored relation has the key of another name."""
    if names:
        for key, name in database.fetch(_RELATION_NAMES, (pack_keys(names),)):
            check_same_name(int_to_id(key), "relation", name, names[key])


def check_question_ids(database: Database, rows: Sequence[tuple[int, int, int, bytes]]) -> None:
    """Raise IdCollision if two questions have one id; the rows begin with it and their chunk."""
    chunks: dict[int, int] = {}
    for key, chunk, *_ in rows:
        if key in chunks:
            raise _question_collision(key, chunks[key], chunk)
        chunks[key] = chunk
    sql = "SELECT q.id, q.chunk FROM json_each(?) j CROSS JOIN question q ON q.id = j.value"
    for key, held in database.fetch(sql, (pack_keys(chunks),)):
        raise _question_collision(key, held, chunks[key])


def _question_collision(key: int, held: int, new: int) -> IdCollision:
    described = (f"a question of the chunk {int_to_id(chunk)}" for chunk in (held, new))
    return IdCollision(int_to_id(key), *described)


def _raise_first(database: Database, sql: str, new: Mapping[int, str], document: int) -> None:
    for key, kind, name in database.fetch(sql, (pack_keys(new), document)) if new else ():
        raise IdCollision(int_to_id(key), describe_holder(kind, name), new[key])
