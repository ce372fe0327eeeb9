"""Find new ids that something else in the memory store has.

Relations and questions have no ids here, so that their names cannot collide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from knotwork._stores.collisions import check_same_name, describe_holder, describe_ids
from knotwork._stores.memory.state import State
from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Mention, Section


def check_document_ids(
    state: State, document: Document, sections: Collection[Section], chunks: Collection[Chunk]
) -> None:
    """Raise IdCollision if anything but this document has the id of one of its parts."""
    held = state.documents.get(document.id)
    if held is not None:
        check_same_name(document.id, "document", held.uri, document.uri)
    new = describe_ids(document, sections, chunks)
    for key, kind, name in (*_held_by_documents(state, document.id), *_held_by_entities(state)):
        if key in new:
            raise IdCollision(key, describe_holder(kind, name), new[key])


def check_entity_ids(state: State, mentions: Collection[Mention]) -> None:
    """Raise IdCollision if anything else has the id of a mentioned entity."""
    forms: dict[str, str] = {}
    for mention in mentions:
        known = forms.setdefault(mention.entity_id, mention.normal_form)
        check_same_name(mention.entity_id, "entity", known, mention.normal_form)
    for key, kind, name in _held_by_entities(state):
        if key in forms:
            check_same_name(key, kind, name, forms[key])
    for key, kind, name in _held_by_documents(state):
        if key in forms:
            new = describe_holder("entity", forms[key])
            raise IdCollision(key, describe_holder(kind, name), new)


def _held_by_documents(state: State, other_than: str = "") -> Iterable[tuple[str, str, str]]:
    """Yield each id of documents and their parts, with its kind and the uri."""
    for document in state.documents.values():
        if document.id != other_than:
            yield document.id, "document", document.uri
            for section in state.sections.get(document.id, ()):
                yield section.id, "section", document.uri
    for chunk in state.chunks.values():
        if chunk.document_id != other_than:
            yield chunk.id, "chunk", state.documents[chunk.document_id].uri


def _held_by_entities(state: State) -> Iterable[tuple[str, str, str]]:
    for (_, entity), mention in state.mentions.items():
        yield entity, "entity", mention.normal_form
