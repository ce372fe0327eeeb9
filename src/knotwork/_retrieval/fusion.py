"""Fuse the evidence of several retrievers, or of several searches of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from knotwork._retrieval.base import OneOf, Retriever, bounded
from knotwork._retrieval.passage_reader import drop_overlaps, merge_hits
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.records import Evidence, Hit, Query

FUSION_DEPTH = 50
"""Minimum number of hits requested from each retriever."""

RANK_OFFSET = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

FUSION_METHODS = ("scores", "rank")


class FusedRetriever:
    """Ranks the hits of several retrievers together.

    ``parts`` are weights and retrievers. With ``by="scores"`` a hit's score is the weighted mean of
    its scores, each relative to the best of its retriever; with ``by="rank"`` it is that of
    reciprocal rank fusion. ``Hit.scores`` has the share of each retriever by name. If ``tokens`` is
    positive, the hits have at most that many tokens together.
    """

    name = "fuse"

    @bounded
    class Options:
        by: Annotated[str, OneOf(FUSION_METHODS, "way to fuse")] = "scores"
        tokens: int = 0

    def __init__(
        self,
        *,
        parts: Sequence[tuple[float, Retriever]],
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if not parts:
            raise ConfigError("A fusion needs at least one retriever.")
        labels: list[str] = []  # names, with a number from the second occurrence on
        seen: Counter[str] = Counter()
        for _, retriever in parts:
            seen[retriever.name] += 1
            number = seen[retriever.name]
            labels.append(retriever.name if number == 1 else f"{retriever.name} {number}")
        self._parts = list(zip(labels, parts, strict=True))
        self._by = options.by
        self._tokens = options.tokens
        self.name = " + ".join(label for label, _ in self._parts)

    def retrieve(self, query: Query) -> Evidence:
        """Return the fused evidence; a retriever without hits lowers no score relative to
        another.
        """
        asked = Query(query.text, max(FUSION_DEPTH, query.k))
        found = [(label, w, retriever.retrieve(asked)) for label, (w, retriever) in self._parts]
        hits = fuse_hits(found, by=self._by)
        kept = hits[: max(query.k, 0)]
        evidences = [evidence for _, _, evidence in found]
        embedders = {evidence.embedder for evidence in evidences}
        return Evidence(
            query,
            self.name,
            tuple(keep_within(kept, tokens=self._tokens) if self._tokens else kept),
            max(evidence.confidence for evidence in evidences),
            tuple(dict.fromkeys(note for e in evidences for note in e.notes)),
            paths=tuple(path for e in evidences for path in e.paths),
            results=tuple(result for e in evidences for result in e.results),
            trace=tuple(f"{label}: {line}" for label, _, e in found for line in e.trace),
            embedder=embedders.pop() if len(embedders) == 1 else "",
        )


def raise_scores(found: dict[str, Hit], scored: Iterable[tuple[Hit, float]], *, part: str) -> None:
    """Add hits with new scores to those ``found``, by chunk id; the higher score of a chunk stays.

    ``part`` is the name in ``Hit.scores`` for what a new score adds.
    """
    for hit, score in scored:
        known = found.get(hit.chunk.id)
        if known is None:
            found[hit.chunk.id] = replace(hit, score=score, scores={part: score})
        elif score > known.score:
            scores = {**known.scores, part: score - known.score}
            found[hit.chunk.id] = replace(known, score=score, scores=scores)


def fuse_hits(found: Sequence[tuple[str, float, Evidence]], *, by: str = "scores") -> list[Hit]:
    """Return the hits of labelled, weighted evidence, each chunk once, best first.

    Of a passage inside another only the wider one is kept.
    """
    total = sum(weight for _, weight, _ in found) or 1.0
    gathered: dict[str, list[Hit]] = {}
    shares: dict[str, dict[str, float]] = {}
    for label, weight, evidence in found:
        best = max((hit.score for hit in evidence.hits), default=0.0)
        for rank, hit in enumerate(evidence.hits, start=1):
            value = hit.score / best if best > 0 else 0.0
            value = value if by == "scores" else 1.0 / (RANK_OFFSET + rank)
            gathered.setdefault(hit.chunk.id, []).append(hit)
            share = shares.setdefault(hit.chunk.id, {})
            share[label] = share.get(label, 0.0) + weight * value / total
    hits = []
    for identifier, same in gathered.items():
        widest = max(same, key=lambda hit: hit.chunk.span.end - hit.chunk.span.start).chunk
        parts = shares[identifier]
        merged = replace(same[0], score=sum(parts.values()), scores=parts)
        if len(same) > 1:
            # The chunks from which hits were cut, or none if all are whole chunks.
            cut = any(hit.matched for hit in same)
            matched = dict.fromkeys(i for hit in same for i in hit.matched or (hit.chunk.id,))
            merged = merge_hits([merged, *same[1:]], widest)
            merged = replace(merged, matched=tuple(matched) if cut else ())
        hits.append(merged)
    if any(hit.matched for hit in hits):
        hits = drop_overlaps(hits)
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def keep_within(hits: Iterable[Hit], *, tokens: int) -> list[Hit]:
    """Return the best hits whose texts have at most ``tokens`` together.

    A hit that does not fit is skipped, and shorter ones after it may still fit.
    """
    kept, left = [], tokens
    for hit in hits:
        size = count_tokens(hit.chunk.text)
        if size <= left:
            kept.append(hit)
            left -= size
    return kept


SEARCH_DEPTH = 30
"""Minimum number of hits requested for each text."""


def search_deep(base: Retriever, query: Query) -> Evidence:
    """Search with enough hits for the result to be fused with other searches."""
    return base.retrieve(Query(query.text, max(SEARCH_DEPTH, query.k)))


def search_also(
    base: Retriever, own: Evidence, query: Query, texts: Sequence[tuple[str, float]], *, label: str
) -> Evidence:
    """Return the evidence for a question, fused with that for further weighted texts.

    ``own`` is from `search_deep` and has the weight 1. A hit's score is the weighted sum of its
    scores, each relative to the best of its search, on the scale of the question's own scores.
    """
    found = [(base.name, 1.0, own)]
    for text, weight in texts:
        found.append((label, weight, search_deep(base, replace(query, text=text))))
    if len(found) == 1:
        return cut_evidence(own, query)
    best = max((hit.score for hit in own.hits), default=1.0)
    scale = (best if best > 0 else 1.0) * sum(weight for _, weight, _ in found)
    hits = [
        replace(h, score=h.score * scale, scores={n: v * scale for n, v in h.scores.items()})
        for h in fuse_hits(found)
    ]
    return cut_evidence(replace(own, hits=tuple(hits)), query)


def cut_evidence(evidence: Evidence, query: Query) -> Evidence:
    """Return the evidence with the best ``query.k`` hits, as evidence for ``query``."""
    return replace(evidence, query=query, hits=evidence.hits[: max(query.k, 0)])
