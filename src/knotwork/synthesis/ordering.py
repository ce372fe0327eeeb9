"""The order of the sentences of an answer: what answers first, then as one reads the sources.

A passage that was reached over a bridge answers about a name that stands in another passage. It is
understood only after the sentences of that one, so that what follows the first sentence begins
where its bridges start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from knotwork.records import Evidence
from knotwork.synthesis.selection import Selected


def order_sentences(sentences: Sequence[Selected], evidence: Evidence) -> list[Selected]:
    """Return the first sentence, then the others in reading order: by document, by position.

    The documents come by their best hit, but after those that their bridges start from. Where
    bridges lead round in a circle, the order of the hits decides.
    """
    ranks: dict[str, int] = {}
    for item in sentences:
        document = item.chunk.document_id
        ranks[document] = min(ranks.get(document, item.rank), item.rank)
    places = {document: place for place, document in enumerate(_order(ranks, sentences, evidence))}
    rest = sorted(sentences[1:], key=lambda item: (places[item.chunk.document_id], item.span))
    return [*sentences[:1], *rest]


def _order(
    ranks: Mapping[str, int], sentences: Sequence[Selected], evidence: Evidence
) -> list[str]:
    """Return the documents by rank, each right after those that lead to it."""
    sources = _sources({item.chunk.id for item in sentences}, evidence)
    by_rank = sorted(ranks, key=lambda document: ranks[document])
    before = {
        document: [
            source
            for source in by_rank
            if document in _followed(source, sources) and source not in _followed(document, sources)
        ]
        for document in by_rank
    }
    ordered: dict[str, None] = {}

    def place(document: str) -> None:
        for source in before[document]:
            if source not in ordered:
                place(source)
        ordered[document] = None

    for document in by_rank:
        if document not in ordered:
            place(document)
    return list(ordered)


def _sources(chunks: set[str], evidence: Evidence) -> dict[str, set[str]]:
    """Return, for each document, those that the bridges to the given chunks of it start from."""
    documents = {hit.chunk.id: hit.chunk.document_id for hit in evidence.hits}
    sources: dict[str, set[str]] = {}
    for hit in evidence.hits:
        if hit.chunk.id not in chunks:
            continue
        way = [documents[step.chunk_id] for step in hit.path if step.chunk_id in documents]
        for source, target in combinations([*way, hit.chunk.document_id], 2):
            sources.setdefault(target, set()).add(source)
    return sources


def _followed(start: str, sources: Mapping[str, set[str]]) -> set[str]:
    """Return all documents that bridges from ``start`` lead to, over one or more."""
    reached: set[str] = set()
    frontier = {start}
    while frontier:
        frontier = {
            target
            for target, starts in sources.items()
            if starts & frontier and target not in reached
        }
        reached |= frontier
    return reached
