"""Paths over sentences: two things that a sentence names together, of which one leads to a passage.

They are the bridges by which `GraphRetriever` reached its hits, told as paths: no relation is
stated between the two, and the sentence is what there is to read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from knotwork.records import CO_OCCURRENCE_RELATION, GraphPath, Hit, Hop, Mention, Step
from knotwork.retrieval.mentions import OWN_PAGE
from knotwork.stores.base import Store

_LEAST = 1e-3
_SURE = 8.0
"""Score of a bridge that is worth as much as a path of even odds: a stated relation whose words fit
comes before what only stands in one sentence."""


def bridge_paths(hits: Sequence[Hit], store: Store, *, most: int) -> list[GraphPath]:
    """Return a path of one hop for each of the first hits that a bridge led to, best first.

    Its source is what the passage of the sentence is about, its target what the hit is about.
    """
    reached = [(hit, hit.path[0]) for hit in hits if hit.path and hit.scores.get("bridge", 0) > 0]
    reached = reached[:most]
    mentions = store.graph.mentions(list(dict.fromkeys(step.chunk_id for _, step in reached)))
    paths: dict[tuple[str, str], GraphPath] = {}
    for _, step in reached:
        subject = _subject(mentions.get(step.chunk_id, ()), step)
        if subject is not None:
            key = subject.entity_id, step.entity_id
            paths.setdefault(key, _path(subject, step))
    return sorted(paths.values(), key=lambda path: (-path.score, path.entity_ids))


def _subject(mentions: Sequence[Mention], step: Step) -> Mention | None:
    """Return what a chunk is about most, other than the entity it leads to."""
    about = [m for m in mentions if m.about >= OWN_PAGE and m.entity_id != step.entity_id]
    return max(about, key=lambda m: (m.about, len(m.name), m.entity_id), default=None)


def _path(subject: Mention, step: Step) -> GraphPath:
    hop = Hop(
        source=subject.entity_id,
        source_name=subject.name,
        relation=CO_OCCURRENCE_RELATION,
        target=step.entity_id,
        target_name=step.entity_name,
        forward=True,
        chunk_id=step.chunk_id,
        span=step.sentence,
    )
    score = math.log(max(step.score, _LEAST) / _SURE)
    return GraphPath((hop,), score, {"bridge": step.score}, (step.entity_name,))
