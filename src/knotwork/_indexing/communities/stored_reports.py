"""Store community reports with what makes them searchable: their texts and vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from knotwork._indexing.embedding import EMBEDDER_META, Embedding
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import FloatMatrix, Store, require_communities
from knotwork._stores.removal import remove_vectors
from knotwork.records import Community, CommunityReport, content_id

REPORTS = "report"
"""The name of the text index and the vector index of reports, keyed by community id."""

_BATCH_REPORTS = 256


def publish_reports(
    store: Store,
    reports: Sequence[CommunityReport],
    *,
    embedding: Embedding | None = None,
    of: Mapping[str, Community] | None = None,
) -> None:
    """Store reports with their searchable texts and vectors in one transaction.

    With ``of``, the communities as they were read, a report is skipped if another process has
    changed its community since. Without ``embedding`` the vectors of earlier reports are removed.
    Texts are embedded before the transaction begins.
    """
    if not reports:
        return
    vectors = _vectors(store, reports, embedding) if embedding is not None else {}
    held = require_communities(store)
    with store.transaction():
        if of is not None:
            now = held.communities([report.community_id for report in reports])
            reports = [r for r in reports if now.get(r.community_id) == of[r.community_id]]
        held.put_reports(reports)
        store.texts("report").add((report.community_id, report.text) for report in reports)
        ids = [report.community_id for report in reports]
        remove_vectors(store, REPORTS, ids)
        if embedding is not None and _is_in_use(store, embedding):
            store.vectors(REPORTS).put((key, *vectors[key]) for key in ids if key in vectors)


@Verb
def put_missing_vectors(
    store: Store, community_ids: Collection[str], embedding: Embedding, *, name: str = REPORTS
) -> Steps[None]:
    """Embed the reports without a vector that are in a language of the embedder.

    Yields how many reports were checked so far. ``name`` is the vector index to write to: the
    one in use or the staged one.
    """
    ids = sorted(community_ids)
    for start in range(0, len(ids), _BATCH_REPORTS):
        group = ids[start : start + _BATCH_REPORTS]
        known = store.vectors(name).get(group)
        missing = require_communities(store).reports([key for key in group if key not in known])
        vectors = _vectors(store, list(missing.values()), embedding, name=name)
        if vectors:
            with store.transaction():
                now = require_communities(store).reports(vectors.keys())
                if name != REPORTS or _is_in_use(store, embedding):
                    store.vectors(name).put(
                        (key, *vectors[key])
                        for key, report in now.items()
                        if report == missing[key]
                    )
        yield Progress("reports", start + len(group), len(ids))


def _is_in_use(store: Store, embedding: Embedding) -> bool:
    return store.meta().get(EMBEDDER_META, embedding.name) == embedding.name


def _vectors(
    store: Store,
    reports: Sequence[CommunityReport],
    embedding: Embedding,
    *,
    name: str = REPORTS,
) -> dict[str, tuple[str, FloatMatrix]]:
    texts = {report.community_id: f"{report.title}\n{report.summary}" for report in reports}
    keys = {
        key: content_id("report", embedding.name, text)
        for key, text in texts.items()
        if embedding.reads(text)
    }
    found = store.vectors(name).by_key(keys.values())
    new = [key for key in keys if keys[key] not in found]
    for start in range(0, len(new), _BATCH_REPORTS):
        group = new[start : start + _BATCH_REPORTS]
        rows = embedding.embed_names([texts[key] for key in group])
        found.update((keys[key], row[np.newaxis]) for key, row in zip(group, rows, strict=True))
    return {key: (keys[key], found[keys[key]]) for key in keys}
