"""Turn ranked path patterns into paths whose hops cite the sentences that state them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from knotwork._retrieval.paths.path_enumeration import LinkReader, complete_pattern
from knotwork._retrieval.paths.path_ranking import RankedPattern
from knotwork._stores.base import Store
from knotwork.records import Chunk, GraphPath, Hop, Span

MOST_ANSWERS = 1_000
"""Maximum number of answers listed for a path."""
CITED_ANSWERS = 8
"""Maximum number of answers of a likely path whose walks are cited."""
LIKELY_PROBABILITY = 0.5
"""Probability from which a path counts as an answer: its passages precede others, and all its
answers are listed and cited."""
_CHUNKS = 4
"""Number of chunks of a hop from which one is chosen."""
_ALL_LINKS = 5_000

_Triple = tuple[str, str, str]


def cite_paths(
    ranked: Sequence[RankedPattern], store: Store, *, found: Mapping[str, int]
) -> list[GraphPath]:
    """Return a path for each pattern, with all answers of the pattern.

    ``found`` has the ranks of chunks that the question leads to anyway; of several chunks that
    state a hop, the best of these is cited. A path is left out if no chunk states one of its hops
    any more. Of likely patterns, the walks to further answers are cited too.
    """
    reader = LinkReader(store, limit=_ALL_LINKS)
    answers = {
        one.pattern.key: complete_pattern(one.pattern, reader, most=MOST_ANSWERS) for one in ranked
    }
    walks = [(one, _walks(one)) for one in ranked]
    steps = [step for _, of_one in walks for hops in of_one for step in hops]
    triples = list(dict.fromkeys(triple for triple, _, _ in steps))
    stated = _find_statements(triples, store, found)
    wanted = {node for of_one in answers.values() for node in of_one}
    wanted |= {end for source, _, target in triples for end in (source, target)}
    names = {key: entity.name for key, entity in store.graph.entities(wanted).items()}
    paths = []
    for one, (own, *further) in walks:
        if any(triple not in stated for triple, _, _ in own):
            continue
        others = [tuple(_hop(*hop, stated, names) for hop in hops if hop[0] in stated)
                  for hops in further]  # fmt: skip
        paths.append(
            GraphPath(
                hops=tuple(_hop(*hop, stated, names) for hop in own),
                score=one.score,
                scores=one.scores | {"probability": one.probability},
                answers=tuple(names.get(a, a) for a in answers[one.pattern.key]),
                walks=tuple(hops if len(hops) == len(own) else () for hops in others),
            )
        )
    return paths


def _walks(one: RankedPattern) -> list[list[tuple[_Triple, str, str]]]:
    """Return the hops to the first answer, and to those cited in addition.

    A hop is its relation in the graph, and its ends in the direction of the walk.
    """
    cited = CITED_ANSWERS if one.probability >= LIKELY_PROBABILITY else 1
    walked = [one.pattern.walk(answer) for answer in one.pattern.answers[:cited]]
    return [
        [
            ((near, relation, far) if forward else (far, relation, near), near, far)
            for (relation, forward), near, far in zip(
                one.pattern.all_steps, nodes, nodes[1:], strict=False
            )
        ]
        for nodes in walked
    ]


def _hop(
    triple: _Triple,
    near: str,
    far: str,
    stated: Mapping[_Triple, tuple[str, Span | None]],
    names: Mapping[str, str],
) -> Hop:
    return Hop(
        source=near,
        source_name=names.get(near, ""),
        relation=triple[1],
        target=far,
        target_name=names.get(far, ""),
        forward=triple[0] == near,
        chunk_id=stated[triple][0],
        span=stated[triple][1],
    )


def _find_statements(
    triples: Sequence[_Triple], store: Store, found: Mapping[str, int]
) -> dict[_Triple, tuple[str, Span | None]]:
    """Return the chunk that states each relation, and the span there."""
    chunks = store.graph.relation_chunks(triples, limit=_CHUNKS)
    last = len(found)
    chosen = {
        triple: min(ids, key=lambda chunk: (found.get(chunk, last), chunk))
        for triple, ids in zip(triples, chunks, strict=True)
        if ids
    }
    spans = _spans_of(chosen, store)
    return {triple: (chunk, spans.get(triple)) for triple, chunk in chosen.items()}


def _spans_of(chosen: Mapping[_Triple, str], store: Store) -> dict[_Triple, Span]:
    """Return the spans that state relations: as extracted, or else a sentence with both ends."""
    spans: dict[_Triple, Span] = {}
    contributed = store.graph.relations(set(chosen.values()))
    for triple, chunk in chosen.items():
        for relation in contributed.get(chunk, ()):
            key = relation.source, relation.relation, relation.target
            if key == triple and relation.span is not None:
                spans[triple] = relation.span
    left = {triple: chunk for triple, chunk in chosen.items() if triple not in spans}
    chunks = store.documents.chunks(set(left.values()))
    places = _mention_places(chunks, store)
    for triple, chunk in left.items():
        if chunk in chunks:
            span = _common_sentence(chunks[chunk], places, triple)
            if span is not None:
                spans[triple] = span
    return spans


def _mention_places(
    chunks: Mapping[str, Chunk], store: Store
) -> dict[tuple[str, str], frozenset[int]]:
    """Return the numbers of the sentences of each chunk that mention each entity."""
    found: dict[tuple[str, str], frozenset[int]] = {}
    for chunk_id, mentions in store.graph.mentions(list(chunks)).items():
        starts = [span.start for span in chunks[chunk_id].sentences]
        for mention in mentions:
            numbers = frozenset(bisect_right(starts, span.start) - 1 for span in mention.spans)
            found[chunk_id, mention.entity_id] = numbers
    return found


def _common_sentence(
    chunk: Chunk, places: Mapping[tuple[str, str], frozenset[int]], triple: _Triple
) -> Span | None:
    source, _, target = triple
    ends = [places.get((chunk.id, end), frozenset()) for end in (source, target)]
    both = sorted(number for number in ends[0] & ends[1] if number >= 0)
    either = sorted(number for number in ends[0] | ends[1] if number >= 0)
    number = next(iter([*both, *either]), None)
    return None if number is None else chunk.sentences[number]
