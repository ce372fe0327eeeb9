"""Embed passages in Ray actors, each with a model of its own.

An actor takes a GPU if the model uses one and the cluster has any, else a few processors of a node.
Passages are sent in small groups, so many at a time as keeps all actors busy, and their vectors are
returned in order. Ray starts an actor again, on another node if need be, when it is lost, and
repeats its calls.
"""

from __future__ import annotations

import logging
import math
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from knotwork._cancellation import check_cancelled
from knotwork._config import EmbeddingSettings
from knotwork._extensions.ray.cluster import (
    ACTOR_RETRIES,
    Node,
    RayCluster,
    actor_result,
    end_actors,
)
from knotwork._indexing.worker_process import UNSENDABLE, pickled
from knotwork._inference.embedder import Embedder, FloatMatrix, PassageText, PassageVectors
from knotwork._inference.model_registry import AUTO_EMBEDDER, EMBEDDERS, open_embedder
from knotwork.errors import KnotworkError, ModelError, ModelUnavailable

_log = logging.getLogger("knotwork.indexing")

ACTOR_THREADS = 4
"""Most processors of an actor on a node without a GPU; a larger node has several actors."""

_GROUP_CHARACTERS = 4_000
_GPU_GROUP_CHARACTERS = 64_000
"""Characters of a call for each thread, and for a GPU: some tenths of a second."""

_GROUPS_AHEAD = 3
"""Calls in progress for each actor: one runs, and the next ones are there before it ends."""

_NAMES = 64
_START_S = 600.0
_SLOW_START_S = 30.0


@dataclass(frozen=True, slots=True)
class ModelSource:
    """How an actor gets its embedder: a pickled one, or the name in the settings."""

    name: str
    settings: EmbeddingSettings
    pickled: bytes = b""

    @classmethod
    def of(cls, embedder: Embedder, settings: EmbeddingSettings) -> ModelSource | None:
        """Return the source of an embedder; None if it must stay in the process of the run."""
        try:
            return cls(embedder.name, settings, pickled(embedder))
        except UNSENDABLE:
            scheme = embedder.name.partition(":")[0]
            return cls(embedder.name, settings) if scheme in EMBEDDERS else None

    def open(self, *, threads: int) -> Embedder:
        """Return the embedder in another process. Raises ModelError for another one."""
        if self.pickled:
            found: Embedder = pickle.loads(self.pickled)  # noqa: S301 - of the run
            return found
        wanted = self.settings.model
        spec = self.name if wanted == AUTO_EMBEDDER else wanted
        opened = open_embedder(spec, replace(self.settings, threads=threads), stored=self.name)
        if opened is None or opened.name != self.name:
            raise ModelError(
                f"A Ray worker has the embedding model `{opened.name if opened else 'none'}`, not "
                f"`{self.name}`.",
                fix="Install the same model on every node of the cluster.",
            )
        return opened


@dataclass(frozen=True, slots=True)
class Place:
    """Where an actor runs: its node, its share of the processors, and its GPU, if any."""

    node_id: str
    threads: int
    has_gpu: bool = False


def plan_actors(nodes: Sequence[Node], *, uses_gpu: bool) -> list[Place]:
    """Return the places of the actors: one for each GPU, or for each few processors."""
    on_gpus = [
        Place(node.id, max(1, int(node.cpus // node.gpus)), has_gpu=True)
        for node in nodes
        for _ in range(int(node.gpus))
        if uses_gpu
    ]
    if on_gpus:
        return on_gpus
    places = []
    for node in nodes:
        cpus = max(1, int(node.cpus))
        count = math.ceil(cpus / ACTOR_THREADS)
        places += [Place(node.id, (cpus + index) // count) for index in range(count)]
    return places


class RayEmbedder:
    """An embedder whose model runs in the actors of a cluster; implements `Embedder`.

    The actors are started on first use. A call raises ModelError for a model that cannot be loaded,
    or if each attempt to embed a group ended its actor; ModelUnavailable if no actor starts.
    """

    def __init__(self, cluster: RayCluster, embedder: Embedder, source: ModelSource) -> None:
        self.name = embedder.name
        self.languages = frozenset(getattr(embedder, "languages", None) or ())
        self._uses_gpu = bool(getattr(embedder, "uses_gpu", False))
        self._cluster = cluster
        self._source = source
        self._actors: list[Any] = []
        self._busy: dict[int, int] = {}
        self._dimension = 0
        self._group_characters = 0

    @property
    def is_loaded(self) -> bool:
        """True once the actors run."""
        return bool(self._actors)

    @property
    def dimension(self) -> int:
        self._start()
        return self._dimension

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""
        self._start()
        groups = [("embed", texts[i : i + _NAMES]) for i in range(0, len(texts), _NAMES)]
        rows = list(self._run(groups))
        empty = np.zeros((0, self._dimension), dtype=np.float32)
        return np.concatenate([empty, *rows])

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, in order."""
        return list(self.stream_passages(passages))

    def stream_passages(self, passages: Sequence[PassageText]) -> Iterator[PassageVectors]:
        """Yield what `embed_passages` returns, one by one."""
        self._start()
        groups = [("embed_passages", group) for group in self._group(passages)]
        for vectors in self._run(groups):
            yield from vectors

    def close(self) -> None:
        """End the actors."""
        end_actors(self._cluster, self._actors)
        self._actors = []

    def _start(self) -> None:
        """Start an actor at each place, and wait until one has loaded its model."""
        if self._actors:
            return
        ray = self._cluster.ray
        places = plan_actors(self._cluster.nodes, uses_gpu=self._uses_gpu)
        if not places:
            raise ModelUnavailable(
                "The Ray cluster has no node with a processor.", fix="Add one: ray start --address"
            )
        has_gpu = places[0].has_gpu
        actors = [
            ray.remote(
                num_cpus=0,  # reserved ones would keep out the tasks that read
                num_gpus=int(has_gpu),
                max_restarts=-1,
                max_task_retries=ACTOR_RETRIES,
                scheduling_strategy=ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                    place.node_id, soft=True
                ),
            )(EmbeddingActor).remote(pickle.dumps(self._source), place.threads)
            for place in places
        ]
        try:
            self._dimension = self._first_dimension(actors)
        except BaseException:
            end_actors(self._cluster, actors)
            raise
        self._actors = actors
        self._busy = dict.fromkeys(range(len(actors)), 0)
        threads = max(place.threads for place in places)
        self._group_characters = _GPU_GROUP_CHARACTERS if has_gpu else _GROUP_CHARACTERS * threads
        _log.info("%s runs in %d actors of Ray", self.name, len(actors))

    def _first_dimension(self, actors: Sequence[Any]) -> int:
        """Return the dimension of the model as soon as an actor says it."""
        ray = self._cluster.ray
        refs = [actor.dimension.remote() for actor in actors]
        begun_s = time.monotonic()
        is_noted = False
        while True:
            check_cancelled()
            ready, _ = ray.wait(refs, timeout=0.1)
            if ready:
                return int(self._value(ready[0]))
            waited_s = time.monotonic() - begun_s
            if waited_s > _SLOW_START_S and not is_noted:
                _log.warning("waiting for the Ray cluster to start a process that embeds")
                is_noted = True
            if waited_s > _START_S:
                raise ModelUnavailable(
                    f"No Ray worker has started `{self.name}` within {_START_S:.0f} seconds.",
                    fix="Check that the cluster has free processors: ray status",
                )

    def _group(self, passages: Sequence[PassageText]) -> Iterator[list[PassageText]]:
        """Yield the passages in groups for one call, so small that each actor has some."""
        total = sum(len(passage.context) + len(passage.text) for passage in passages)
        limit = min(self._group_characters, math.ceil(total / len(self._actors)))
        group: list[PassageText] = []
        size = 0
        for passage in passages:
            group.append(passage)
            size += len(passage.context) + len(passage.text)
            if size >= limit:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _run(self, calls: Sequence[tuple[str, Sequence[object]]]) -> Iterator[Any]:
        """Yield the results of calls in order, with a bounded number in progress."""
        waiting: deque[tuple[int, object]] = deque()
        left = deque(calls)
        try:
            while left or waiting:
                while left and len(waiting) < _GROUPS_AHEAD * len(self._actors):
                    method, group = left.popleft()
                    index = min(self._busy, key=lambda i: self._busy[i])
                    self._busy[index] += 1
                    waiting.append((index, self._actors[index].call.remote(method, group)))
                index, ref = waiting[0]
                value = self._value(ref)
                waiting.popleft()
                self._busy[index] -= 1
                yield value
        finally:
            for index, _ in waiting:
                if index in self._busy:
                    self._busy[index] -= 1

    def _value(self, ref: object) -> Any:  # noqa: ANN401 - of any method
        """Return the result of a call. Raises the error of the model, or ModelError."""
        return actor_result(self._cluster, ref, lost=self._lost)

    def _lost(self, reason: str) -> ModelError:
        return ModelError(
            f"The Ray worker that embeds with `{self.name}` died {ACTOR_RETRIES + 1} times at the "
            f"same texts: {reason}",
            fix="Check its memory in the logs of Ray. Run the same command again to continue.",
        )


class EmbeddingActor:
    """Holds one model in a process of Ray. A method returns the error of the model as its value."""

    def __init__(self, source: bytes, threads: int) -> None:
        self._source = source
        self._threads = threads
        self._embedder: Embedder | None = None

    def dimension(self) -> int | KnotworkError:
        """Load the model, and return the length of its vectors."""
        try:
            return self._open().dimension
        except KnotworkError as error:
            return error

    def call(self, method: str, texts: Sequence[Any]) -> object:
        """Return what ``method`` of the embedder returns for these texts."""
        try:
            return getattr(self._open(), method)(texts)
        except KnotworkError as error:
            return error

    def _open(self) -> Embedder:
        if self._embedder is None:
            source: ModelSource = pickle.loads(self._source)  # noqa: S301 - of the run
            self._embedder = source.open(threads=self._threads)
        return self._embedder
