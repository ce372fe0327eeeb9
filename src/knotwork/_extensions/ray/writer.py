"""Store documents from Ray actors, each of which writes to the server of the index by itself.

The actors have no embedder. A commit that needs the vector of a name or question ends before it
wrote anything, says which, and is sent again with them: the run embeds them where it embeds all
else, and so within the limits of a model's server.
"""

from __future__ import annotations

import math
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from knotwork._extensions.ray.cluster import (
    ACTOR_RETRIES,
    CONTINUE_FIX,
    RayCluster,
    actor_result,
    end_actors,
)
from knotwork._indexing.changes import Tiers
from knotwork._indexing.commit import Commit, Committed, Writer
from knotwork._indexing.embedding import Embedding
from knotwork._inference.embedder import FloatMatrix, PassageText, PassageVectors
from knotwork._stores.base import LedgerEntry, Store
from knotwork.errors import IndexingError, KnotworkError

_SLOTS_PER_ACTOR = 3
"""Processors that prepare as many documents as one actor stores; storing is two fifths of both."""
_FEWEST_ACTORS = 2
_COMMITS_AHEAD = 2
"""Commits in progress for each actor: the next one is there when one ends."""

Rows = dict[str, FloatMatrix]
"""Vectors by the text that they were made of."""


class TextsMissing(Exception):
    """A commit needs the vectors of ``texts``."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts)
        self.texts = texts


@dataclass(frozen=True, slots=True)
class GivenVectors:
    """An embedder that knows the vectors it was given. Raises TextsMissing for other texts."""

    name: str
    dimension: int
    languages: frozenset[str]
    rows: Rows

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return the rows of these texts."""
        if missing := [text for text in texts if text not in self.rows]:
            raise TextsMissing(missing)
        return np.stack([self.rows[text] for text in texts])

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Raise: passages are embedded before a commit."""
        raise TextsMissing([passage.text for passage in passages])


@dataclass(slots=True)
class _Pending:
    """A commit in progress: the actor that has it, what was sent, and the result to come."""

    commit: Commit
    actor: int
    sent: object
    result: object
    rows: Rows = field(default_factory=dict)


class RayWriter(Writer):
    """Stores commits in actors of a cluster.

    ``opener`` opens the store in an actor. The actors start with the first document; ledger entries
    alone are stored by the run. Raises IndexingError if a commit has ended its actor four times.
    """

    def __init__(
        self,
        cluster: RayCluster,
        store: Store,
        opener: Callable[[], Store],
        embedding: Embedding,
        tiers: Tiers,
    ) -> None:
        super().__init__(store, embedding, tiers)
        self._cluster = cluster
        self._opener = opener
        self._actors: list[Any] = []
        self._sent: Counter[int] = Counter()
        self._pending: deque[_Pending] = deque()

    def write(self, commit: Commit) -> None:
        """Send a commit to the actor that has least to do."""
        if not commit.prepared:
            super().write(commit)
            return
        self._start()
        while len(self._pending) >= _COMMITS_AHEAD * len(self._actors):
            self.stored.append(self._finish(self._pending.popleft()))
        actor = self._idlest()
        sent = self._cluster.ray.put(pickle.dumps(commit))
        self._pending.append(_Pending(commit, actor, sent, self._send(actor, sent, {})))

    def take(self, *, wait: bool) -> Iterator[Committed]:
        """Yield the commits that are stored by now, or with ``wait`` all of them."""
        yield from super().take(wait=wait)
        while self._pending and (wait or self._cluster.is_done(self._pending[0].result)):
            yield self._finish(self._pending.popleft())

    def close(self) -> None:
        """End the actors: the server rolls back what they had not committed."""
        end_actors(self._cluster, self._actors)
        self._actors = []

    def _start(self) -> None:
        if self._actors:
            return
        embedding = self.embedding
        setup = pickle.dumps(
            _Setup(
                self._opener,
                embedding.name,
                embedding.dimension if embedding else 0,
                embedding.languages,
                self.tiers,
            )
        )
        count = max(_FEWEST_ACTORS, math.ceil(self._cluster.slots / _SLOTS_PER_ACTOR))
        make = self._cluster.ray.remote(
            num_cpus=0,  # reserved ones would keep out the tasks that read
            max_restarts=-1,
            max_task_retries=ACTOR_RETRIES,
        )(WritingActor)
        self._actors = [make.remote(setup) for _ in range(count)]

    def _idlest(self) -> int:
        """Return the actor with fewest commits in progress, of several the one with fewest yet."""
        busy = Counter(pending.actor for pending in self._pending)
        actor = min(range(len(self._actors)), key=lambda n: (busy[n], self._sent[n]))
        self._sent[actor] += 1
        return actor

    def _send(self, actor: int, sent: object, rows: Rows) -> object:
        return self._actors[actor].write.remote(sent, rows)

    def _finish(self, pending: _Pending) -> Committed:
        """Wait for a commit, and send it again while it lacks vectors."""
        while True:
            value = actor_result(self._cluster, pending.result, lost=_lost)
            if isinstance(value, TextsMissing):
                found = self.embedding.embed_names(value.texts)
                pending.rows |= dict(zip(value.texts, found, strict=True))
                pending.result = self._send(pending.actor, pending.sent, pending.rows)
                continue
            collided, reused = value
            self.embedding.reused += reused
            return Committed(pending.commit, collided)


def _lost(reason: str) -> IndexingError:
    return IndexingError(
        f"The Ray worker that stores documents died {ACTOR_RETRIES + 1} times: {reason}",
        fix=CONTINUE_FIX,
    )


@dataclass(frozen=True, slots=True)
class _Setup:
    opener: Callable[[], Store]
    embedder: str
    dimension: int
    languages: frozenset[str]
    tiers: Tiers


class WritingActor:
    """Writes to the store of the run. Errors of the store are returned as values."""

    def __init__(self, setup: bytes) -> None:
        self._setup: _Setup = pickle.loads(setup)  # noqa: S301 - of the run
        self._store: Store | None = None

    def write(
        self, packed: bytes, rows: Rows
    ) -> tuple[list[LedgerEntry], int] | KnotworkError | TextsMissing:
        """Store a commit; return the entries of collisions, and how many vectors were reused."""
        commit: Commit = pickle.loads(packed)  # noqa: S301 - of the run
        setup = self._setup
        embedding = Embedding()
        if setup.embedder:
            given = GivenVectors(setup.embedder, setup.dimension, setup.languages, rows)
            embedding = Embedding(given)
        try:
            if self._store is None:
                self._store = setup.opener()
            writer = Writer(self._store, embedding, setup.tiers)
            writer.write(commit)
        except (KnotworkError, TextsMissing) as error:
            return error
        ((_, collided),) = writer.take(wait=True)
        return list(collided), embedding.reused
