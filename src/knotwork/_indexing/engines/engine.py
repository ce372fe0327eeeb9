"""Define the Engine protocol, and open the engine that the settings name.

An engine does the work of a run that depends on one document alone: loading, splitting, rules and
embedding. It changes no result: every engine returns the documents in the order in which they were
offered, and vectors of the same model. It may also store them, if the store has several writers.
The run stays in the process that started it, with the ledger, the language model and its budget.
"""

from __future__ import annotations

from typing import Protocol

from knotwork._config import Settings
from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.engines.process_engine import ProcessEngine
from knotwork._indexing.preparation import Preparer, Recipe
from knotwork._indexing.reading_limits import ReadingLimits
from knotwork._indexing.writers import Writer
from knotwork._inference.embedder import Embedder
from knotwork._registry import PARTS
from knotwork._stores.base import Store
from knotwork.errors import UnknownName


class Engine(Protocol):
    """Prepares documents and embeds passages; close it after the run."""

    def open_preparer(self, recipe: Recipe, *, total_bytes: int) -> Preparer:
        """Return a preparer for documents of ``total_bytes`` in all; close it after use."""

    def open_embedder(self, embedder: Embedder) -> Embedder:
        """Return an embedder with the same name and vectors that computes where the engine does.

        It may be ``embedder`` itself. Cheap, as any construction of an embedder; the result is
        valid until the engine is closed.
        """

    def open_writer(self, store: Store, embedding: Embedding, tiers: Tiers) -> Writer:
        """Return what stores the documents of a run; close it after the run."""

    def close(self) -> None:
        """End all work, and release what the engine has started."""


PROCESSES = "processes"
RAY = "ray"
ENGINES = (PROCESSES, RAY, "ray://HOST:PORT", "ray:ADDRESS")


def open_engine(settings: Settings) -> Engine:
    """Return the engine that `index.compute` names; what it needs is started on first use.

    Raises UnknownName for an unknown one, MissingExtra if its library is not installed, and
    ConfigError if other settings contradict it.
    """
    index = settings.index
    if index.compute == PROCESSES:
        return ProcessEngine(workers=index.workers, limits=ReadingLimits.of(index))
    scheme, _, address = index.compute.partition(":")
    if index.compute == RAY or (scheme == RAY and address.strip("/")):
        return PARTS.load(RAY)(index, settings.embedding)  # type: ignore[no-any-return]
    raise UnknownName("value of index.compute", index.compute, ENGINES)
