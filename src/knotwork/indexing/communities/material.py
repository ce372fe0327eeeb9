"""The material of a community report: names, headings and sentences that it may use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from knotwork.indexing.communities.centrality import choose_sentences
from knotwork.indexing.communities.sentences import Named, Sentence, prose_among, sentences_of
from knotwork.indexing.communities.titles import Heading, headings_above
from knotwork.records import Chunk, Community, CommunityReport, Entity, content_id
from knotwork.stores.base import Store
from knotwork.text.languages import detect_language

VERSION = "extractive-4"
"""Changes whenever the same material would make another report."""

MOST_NAMES = 40
_MOST_CHUNKS = 40
_CHUNKS_OF_MEMBER = 4
_MOST_SENTENCES = 150
_MOST_HEADINGS = 40
MOST_CENTRAL = 12
"""Sentences that are chosen of a material for what is written from it."""


@dataclass(frozen=True)
class Material:
    """Everything a report is written from; equal material makes an equal report.

    ``entities`` come by importance. ``extent`` is the number of members and of chunks. ``headings``
    are those above the ``read`` chunks that the sentences come from. What follows from it is worked
    out once, for the report and the brief that are written from it.
    """

    community_id: str
    entities: tuple[Entity, ...]
    sentences: tuple[Sentence, ...]
    extent: tuple[int, int]
    headings: tuple[Heading, ...] = ()
    read: int = 0

    @cached_property
    def content_key(self) -> str:
        """Change whenever anything that is written from changes; no id of a community counts."""
        names = (f"{e.id} {e.type} {e.name}" for e in self.entities)
        told = (
            f"{s.support.chunk_id} {s.support.span} {s.coverage:.6f} {s.text}"
            for s in self.sentences
        )
        above = (f"{heading.title} {heading.chunks} {heading.above}" for heading in self.headings)
        return content_id(
            VERSION, *self.extent, self.read, *names, "sentences", *told, "headings", *above
        )

    @cached_property
    def central(self) -> tuple[Sentence, ...]:
        """The central sentences, the best first: as many as any text takes."""
        return tuple(choose_sentences(self.sentences, count=MOST_CENTRAL))

    @cached_property
    def language(self) -> str:
        """The language of the sentences, "" without sentences."""
        return detect_language("\n".join(sentence.text for sentence in self.sentences))


def read_material(
    store: Store, community: Community, below: Sequence[CommunityReport] = ()
) -> Material:
    """Gather what the report of a community is written from.

    Sentences come from the chunks that name the most important members: prose, or all of them if
    none is prose. Those of a parent are the findings of the reports ``below`` it.
    """
    names = store.graph.entities(community.entity_ids[:MOST_NAMES])
    entities = tuple(names[key] for key in community.entity_ids if key in names)
    entities = entities[:MOST_NAMES]
    importance = dict(community.members)
    found: Sequence[Sentence]
    chunks: Mapping[str, Chunk]
    if below:
        chunks = store.documents.chunks({key for report in below for key in report.chunk_ids})
        found = _sentences_below(store, below, importance)
    else:
        chunks = _central_chunks(store, community, importance)
        found = _sentences_of_chunks(store, chunks, importance)
    ranked = sorted(found, key=lambda s: (-s.coverage, s.support.chunk_id, s.support.span))
    distinct = {sentence.text: sentence for sentence in reversed(ranked)}
    kept = [sentence for sentence in ranked if distinct[sentence.text] is sentence]
    return Material(
        community.id,
        entities,
        tuple(kept[:_MOST_SENTENCES]),
        (community.size, len(community.chunk_ids)),
        headings_above(chunks.values())[:_MOST_HEADINGS],
        len(chunks),
    )


def _central_chunks(
    store: Store, community: Community, importance: Mapping[str, float]
) -> Mapping[str, Chunk]:
    """Return the chunks of a community that name most of what is important, in this order."""
    held = community.chunk_ids or _chunks_about(store, community)
    mentions = store.graph.mentions(held)
    weights = {
        chunk: sum(importance.get(mention.entity_id, 0.0) for mention in mentions.get(chunk, ()))
        for chunk in held
    }
    central = sorted(weights, key=lambda chunk: (-weights[chunk], chunk))[:_MOST_CHUNKS]
    chunks = store.documents.chunks(central)
    return {key: chunks[key] for key in central if key in chunks}


def _sentences_of_chunks(
    store: Store, chunks: Mapping[str, Chunk], importance: Mapping[str, float]
) -> Sequence[Sentence]:
    mentions = store.graph.mentions(chunks.keys())
    found: list[Sentence] = []
    for key, chunk in chunks.items():
        found += sentences_of(chunk, Named(mentions.get(key, ()), importance))
    return prose_among(found)


def _chunks_about(store: Store, community: Community) -> tuple[str, ...]:
    """Return chunks that name the members of a community that relations alone hold together."""
    ranked = store.graph.about(community.entity_ids, fan=_CHUNKS_OF_MEMBER, minimum=-1.0)
    return tuple(sorted({scored.id for chunks in ranked.values() for scored in chunks}))


def _sentences_below(
    store: Store, below: Sequence[CommunityReport], importance: Mapping[str, float]
) -> list[Sentence]:
    cited = {chunk for report in below for chunk in report.chunk_ids}
    mentions = store.graph.mentions(cited)
    named = {chunk: Named(mentions.get(chunk, ()), importance) for chunk in cited}
    return [
        Sentence(
            support,
            finding.text,
            named[support.chunk_id].coverage(support.span),
            report.content_key,
        )
        for report in below
        for finding in report.findings
        for support in islice(finding.supports, 1)
    ]


def group_by_parent(communities: Iterable[Community]) -> dict[str, list[Community]]:
    """Return the children of each community that has any, the largest first."""
    children: defaultdict[str, list[Community]] = defaultdict(list)
    for community in sorted(communities, key=lambda c: (-c.size, c.id)):
        if community.parent_id is not None:
            children[community.parent_id].append(community)
    return dict(children)
