"""Write what a run has prepared: in the process of the run, or in others beside it.

A file has one writer. A store that can be opened again elsewhere (`Capabilities.opener`) may have
many, and the index is the same whatever the order in which they commit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from knotwork._cancellation import checked
from knotwork._indexing.changes import Tiers, failed_entry
from knotwork._indexing.commits import Commit, commit_documents, drop_tables
from knotwork._indexing.embedding import Embedding
from knotwork._stores.base import LedgerEntry, Store
from knotwork.errors import IdCollision, LoadError

_log = logging.getLogger("knotwork.indexing")


class Committed(NamedTuple):
    """A commit that is stored, with the entries of documents that have an id of another one."""

    commit: Commit
    collided: Sequence[LedgerEntry] = ()


class Writer(Protocol):
    """Stores commits; close it after the run."""

    def write(self, commit: Commit) -> None:
        """Store a commit, or begin to. Waits for earlier ones if too many are in progress."""

    def take(self, *, wait: bool) -> Iterator[Committed]:
        """Yield the commits that are stored by now, or with ``wait`` all of them.

        Raises what storing one of them raised.
        """

    def close(self) -> None:
        """End all work; a commit in progress is made as a whole or not at all."""


class DirectWriter:
    """Stores each commit at once, in the thread of the run; implements `Writer`."""

    def __init__(self, store: Store, embedding: Embedding, tiers: Tiers) -> None:
        self._store = store
        self._embedding = embedding
        self._tiers = tiers
        self._stored: list[Committed] = []

    def write(self, commit: Commit) -> None:
        """Store a commit."""
        collided = write_commit(self._store, commit, self._embedding, self._tiers)
        self._stored.append(Committed(commit, collided))

    def take(self, *, wait: bool) -> Iterator[Committed]:  # noqa: ARG002 - nothing is in progress
        """Yield the commits that were stored since the last call."""
        stored, self._stored = self._stored, []
        yield from stored

    def close(self) -> None:
        """Do nothing: no work is in progress."""


def write_commit(
    store: Store, commit: Commit, embedding: Embedding, tiers: Tiers
) -> list[LedgerEntry]:
    """Store a commit; return the entries of documents that have an id of another one.

    If there are any, each document is stored alone, so that only these fail.
    """
    store_documents = partial(commit_documents, store, vectors=commit.vectors, embedding=embedding)
    try:
        store_documents(commit.prepared, entries=commit.entries, questions=commit.questions)
    except IdCollision:
        _log.warning("ids collide in a batch; its documents are committed one by one")
    else:
        return []
    collided: list[LedgerEntry] = []
    for prepared in checked(commit.prepared):
        chunks = {chunk.id for chunk in prepared.leaves}
        asked = {key: found for key, found in commit.questions.items() if key in chunks}
        try:
            store_documents([prepared], questions=asked)
        except IdCollision as error:
            failure = LoadError(error.code, str(error))
            collided.append(failed_entry(prepared.source, failure, tiers))
    store_documents([], entries=[*commit.entries, *collided])
    drop_tables(store, [entry.uri for entry in collided if not entry.document_id])
    return collided
