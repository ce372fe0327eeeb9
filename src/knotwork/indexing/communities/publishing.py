"""Putting reports into an index, where full text and vectors find them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from knotwork.indexing.communities.refreshing import community_store
from knotwork.indexing.embedding import EMBEDDER_META, Embedding, FloatMatrix
from knotwork.records import Community, CommunityReport, content_id
from knotwork.stores.base import Store
from knotwork.stores.staging import remove_vectors

REPORTS = "report"
"""The text index, and the vector index, of reports, by the ids of their communities."""

_AT_ONCE = 256


def publish_reports(
    store: Store,
    reports: Sequence[CommunityReport],
    *,
    embedding: Embedding | None = None,
    of: Mapping[str, Community] | None = None,
) -> None:
    """Store reports, with the texts and vectors that find them, in one transaction.

    Those of communities that are no longer as they were read (``of``) are left out: another process
    changed the documents meanwhile. Without ``embedding`` the vectors of earlier reports go. The
    embedder works before the transaction begins.
    """
    if not reports:
        return
    vectors = _vectors(store, reports, embedding) if embedding is not None else {}
    held = community_store(store)
    with store.transaction():
        if of is not None:
            now = held.communities([report.community_id for report in reports])
            reports = [r for r in reports if now.get(r.community_id) == of[r.community_id]]
        held.put_reports(reports)
        store.texts("report").add((report.community_id, report.text) for report in reports)
        ids = [report.community_id for report in reports]
        remove_vectors(store, REPORTS, ids)
        if embedding is not None and _fits(store, embedding):
            store.vectors(REPORTS).put((key, *vectors[key]) for key in ids if key in vectors)


def put_missing_vectors(store: Store, community_ids: Collection[str], embedding: Embedding) -> None:
    """Embed the reports that have no vector and are in a language that the embedder reads."""
    for _ in put_vectors_in_steps(store, community_ids, embedding):
        pass


def put_vectors_in_steps(
    store: Store, community_ids: Collection[str], embedding: Embedding, *, name: str = REPORTS
) -> Iterator[int]:
    """Do what `put_missing_vectors` does, and yield how many reports were looked at.

    ``name`` is the vector index to write to: that in use, or the staged one.
    """
    ids = sorted(community_ids)
    for start in range(0, len(ids), _AT_ONCE):
        group = ids[start : start + _AT_ONCE]
        known = store.vectors(name).get(group)
        lacking = community_store(store).reports([key for key in group if key not in known])
        vectors = _vectors(store, list(lacking.values()), embedding, name=name)
        if vectors:
            with store.transaction():
                now = community_store(store).reports(vectors.keys())
                if name != REPORTS or _fits(store, embedding):
                    store.vectors(name).put(
                        (key, *vectors[key])
                        for key, report in now.items()
                        if report == lacking[key]
                    )
        yield start + len(group)


def _fits(store: Store, embedding: Embedding) -> bool:
    """Return False if the index was switched to another embedder while this one worked."""
    return store.meta().get(EMBEDDER_META, embedding.name) == embedding.name


def _vectors(
    store: Store,
    reports: Sequence[CommunityReport],
    embedding: Embedding,
    *,
    name: str = REPORTS,
) -> dict[str, tuple[str, FloatMatrix]]:
    """Return the content key and the vector of each report that the embedder reads."""
    texts = {report.community_id: f"{report.title}\n{report.summary}" for report in reports}
    keys = {
        key: content_id("report", embedding.name, text)
        for key, text in texts.items()
        if embedding.reads(text)
    }
    found = store.vectors(name).by_key(keys.values())
    new = [key for key in keys if keys[key] not in found]
    for group in _slices(new):
        rows = embedding.embed_names([texts[key] for key in group])
        found.update((keys[key], row[np.newaxis]) for key, row in zip(group, rows, strict=True))
    return {key: (keys[key], found[keys[key]]) for key in keys}


def _slices(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
