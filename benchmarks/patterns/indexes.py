"""The indexes of these benchmarks, which are kept and shared with `benchmarks/retrieval/run.py`."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path

from knotwork._extensions.evaluation.questions import Dataset
from knotwork._extensions.evaluation.retriever_runs import (
    WHOLE_SPLITTER,
    index_dataset,
    index_path,
)
from knotwork._indexing.communities.detection import refresh_communities
from knotwork._indexing.communities.index_reports import refresh_reports
from knotwork._indexing.embedding import Embedding
from knotwork._inference.embedder import Embedder
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._transform.extractor_registry import make_extractor


def open_index(
    dataset: Dataset, embedder: Embedder, cache: Path | None, splitter: str = WHOLE_SPLITTER
) -> Store:
    """Open the index of a set, with communities and their extractive reports; make what lacks."""
    folder = cache or user_cache_path("knotwork", appauthor=False) / "evaluation"
    folder.mkdir(parents=True, exist_ok=True)
    path = index_path(dataset, embedder=embedder, folder=folder, splitter=splitter)
    store = open_store(str(path), create=True)
    extractor = make_extractor()
    index_dataset(dataset, store=store, embedder=embedder, extractor=extractor, splitter=splitter)
    held = store.capabilities.communities
    if held is not None and not held.levels():
        refresh_communities(store)
        refresh_reports(store, embedding=Embedding(embedder))
    return store
