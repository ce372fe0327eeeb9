"""Two things with one id: what stores compare and say before they add anything.

An id is a 63-bit hash of a natural key: the uri of a document, the place and text of a section or
chunk, the normal form of an entity, the name of a relation. Nodes of all labels share one space of
ids. docs/scale.md has the probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable

from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Section


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
