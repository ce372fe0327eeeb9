"""Keep the metadata that persons have given to documents, in place of what the files state.

The edits are a setting of the index, by the uri of a document. They are applied to each document
that is stored, so that they last while its file is indexed again, and are copied with the index.
Vectors are those of the text under its own title.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from knotwork._indexing.prepare import Prepared
from knotwork._stores.base import Store
from knotwork._stores.fields import DATE, TITLE, field_name, sources_of
from knotwork._text.dates import read_day_range
from knotwork.errors import InvalidRequest
from knotwork.records import Document

EDITS_META = "metadata_edits"
"""Index setting: for each edited document, the values that were given and those of its file."""

_MOST_CHARACTERS = 500

Edits = dict[str, dict[str, dict[str, str]]]


def edit_metadata(store: Store, uri: str, values: Mapping[str, str | None]) -> Document:
    """Give a document other metadata, and return it; None restores what its file states.

    ``values`` are by the name of a field, such as "title", "author", "date" and "tags"; an empty
    one hides that of the file. Raises InvalidRequest for a value that is too long, or a date that
    is none.
    """
    named = {field_name(name): value and value.strip() for name, value in values.items()}
    for name, value in named.items():
        _check(name, value or "")
    document_id, documents = Document(uri, "").id, store.documents
    with store.transaction():
        document = documents.documents([document_id])[document_id]
        edits = _read(store)
        known = edits.pop(uri, {"given": {}, "own": {}})
        new = {**known["given"], **named}
        given = {name: value for name, value in new.items() if value is not None}
        own = _restored(document, known)
        edited, taken = _edited(own, given)
        if given:
            edits[uri] = {"given": given, "own": taken}
        store.set_meta({EDITS_META: json.dumps(edits, ensure_ascii=False) if edits else ""})
        ids = documents.chunk_ids_of([document_id]).get(document_id, [])
        chunks = list(documents.chunks(ids).values())
        sections = documents.sections_of([document_id]).get(document_id, [])
        if edited.title != document.title:
            chunks = [replace(chunk, document_title=edited.title) for chunk in chunks]
            leaves = [chunk for chunk in chunks if not chunk.is_parent]
            store.texts("chunk").add((chunk.id, chunk.searched_text) for chunk in leaves)
        documents.put(edited, sections, chunks)
    return edited


def with_edits(store: Store, batch: Sequence[Prepared]) -> list[Prepared]:
    """Return documents to be stored with their edits, whose own values are noted for later."""
    edits = _read(store)
    found = []
    for prepared in batch:
        known = edits.get(prepared.document.uri)
        if known is None:
            found.append(prepared)
            continue
        edited, own = _edited(prepared.document, known["given"])
        edits[edited.uri] = {**known, "own": own}
        chunks = prepared.chunks
        if TITLE in known["given"]:
            chunks = tuple(replace(chunk, document_title=edited.title) for chunk in chunks)
        found.append(replace(prepared, document=edited, chunks=chunks))
    if any(prepared.document.uri in edits for prepared in batch):
        store.set_meta({EDITS_META: json.dumps(edits, ensure_ascii=False)})
    return found


def forget_edits(store: Store, uris: Iterable[str]) -> None:
    """Forget the edits of documents that a person removes."""
    edits = _read(store)
    kept = {uri: known for uri, known in edits.items() if uri not in set(uris)}
    if len(kept) < len(edits):
        store.set_meta({EDITS_META: json.dumps(kept, ensure_ascii=False) if kept else ""})


def _read(store: Store) -> Edits:
    found: Any = json.loads(store.meta().get(EDITS_META) or "{}")
    return dict(found)


def _check(name: str, value: str) -> None:
    if len(value) > _MOST_CHARACTERS:
        raise InvalidRequest(
            f"The value of `{name}` has {len(value):,} characters; the limit is "
            f"{_MOST_CHARACTERS:,}.",
            fix="Shorten it.",
        )
    if name == DATE and value and read_day_range(value) is None:
        raise InvalidRequest(
            f"`{value}` is not a date.", fix="Write it as in 2024-05-31, 2024-05 or 2024."
        )


def _edited(document: Document, given: Mapping[str, str]) -> tuple[Document, dict[str, str]]:
    """Return a document with the values that were given, and its own values in their place."""
    hidden = {source for name in given if name != TITLE for source in sources_of(name)}
    own = {k: v for k, v in document.metadata.items() if k.strip().casefold() in hidden}
    metadata = {k: v for k, v in document.metadata.items() if k not in own}
    metadata |= {name: value for name, value in given.items() if name != TITLE}
    if TITLE in given:
        own[TITLE] = document.title
    return replace(document, title=given.get(TITLE, document.title), metadata=metadata), own


def _restored(document: Document, known: Mapping[str, Mapping[str, str]]) -> Document:
    """Return a document as its file states it."""
    own = dict(known["own"])
    title = own.pop(TITLE, document.title) if TITLE in known["given"] else document.title
    metadata = {k: v for k, v in document.metadata.items() if k not in known["given"]}
    return replace(document, title=title, metadata={**metadata, **own})
