"""What a report is written from: a community's names, and sentences that may stand in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from knotwork.records import (
    Chunk,
    Community,
    CommunityReport,
    Entity,
    Mention,
    Span,
    Support,
    content_id,
)
from knotwork.stores.base import Store

VERSION = "extractive-1"
"""Changes whenever the same material would make another report."""

MOST_NAMES = 40
_MOST_CHUNKS = 40
_CHUNKS_OF_MEMBER = 4
_MOST_SENTENCES = 150
_SHORTEST = 30
_SHORTEST_WIDE = 12
_LONGEST = 500
_WIDE = re.compile("[\u3400-\u9fff]")
_SPACE = re.compile(r"\s+")
_WIDE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEAST_LETTERS = 0.6
_MARKUP = re.compile(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w")


class Sentence(NamedTuple):
    """A sentence that may stand in a report; ``coverage`` is the importance of who it names.

    Of one ``origin`` (a chunk, or a community below) a report takes few.
    """

    support: Support
    text: str
    coverage: float
    origin: str


@dataclass(frozen=True, slots=True)
class Material:
    """Everything a report is written from; equal material makes an equal report.

    ``entities`` come by importance. ``extent`` is the number of members and of chunks.
    """

    community_id: str
    entities: tuple[Entity, ...]
    sentences: tuple[Sentence, ...]
    extent: tuple[int, int]

    @property
    def content_key(self) -> str:
        """Change whenever anything that is written from changes; no id of a community counts."""
        names = (f"{e.id} {e.type} {e.name}" for e in self.entities)
        told = (
            f"{s.support.chunk_id} {s.support.span} {s.coverage:.6f} {s.text}"
            for s in self.sentences
        )
        return content_id(VERSION, *self.extent, *names, "sentences", *told)


def read_material(
    store: Store, community: Community, below: Sequence[CommunityReport] = ()
) -> Material:
    """Gather what the report of a community is written from.

    Sentences come from the chunks that name the most important members: prose, or all of them where
    there is none. Those of a parent are the findings of the reports ``below`` it.
    """
    names = store.graph.entities(community.entity_ids[:MOST_NAMES])
    entities = tuple(names[key] for key in community.entity_ids if key in names)
    entities = entities[:MOST_NAMES]
    importance = dict(community.members)
    if below:
        found = _sentences_below(store, below, importance)
    else:
        found = _sentences_of_chunks(store, community, importance)
    ranked = sorted(found, key=lambda s: (-s.coverage, s.support.chunk_id, s.support.span))
    distinct = {sentence.text: sentence for sentence in reversed(ranked)}
    kept = [sentence for sentence in ranked if distinct[sentence.text] is sentence]
    return Material(
        community.id,
        entities,
        tuple(kept[:_MOST_SENTENCES]),
        (community.size, len(community.chunk_ids)),
    )


def _sentences_of_chunks(
    store: Store, community: Community, importance: Mapping[str, float]
) -> list[Sentence]:
    held = community.chunk_ids or _chunks_about(store, community)
    mentions = store.graph.mentions(held)
    weights = {
        chunk: sum(importance.get(mention.entity_id, 0.0) for mention in mentions.get(chunk, ()))
        for chunk in held
    }
    central = sorted(weights, key=lambda chunk: (-weights[chunk], chunk))[:_MOST_CHUNKS]
    chunks = store.documents.chunks(central)
    found: list[Sentence] = []
    for key in central:
        if key in chunks:
            spans = _spans(mentions.get(key, ()), importance)
            found += _sentences_of(chunks[key], spans, importance)
    return [sentence for sentence in found if is_prose(sentence.text)] or found


def _chunks_about(store: Store, community: Community) -> tuple[str, ...]:
    """Return chunks that name the members of a community that relations alone hold together."""
    ranked = store.graph.about(community.entity_ids, fan=_CHUNKS_OF_MEMBER, minimum=-1.0)
    return tuple(sorted({scored.id for chunks in ranked.values() for scored in chunks}))


def _sentences_of(
    chunk: Chunk, spans: Sequence[tuple[Span, str]], importance: Mapping[str, float]
) -> Iterable[Sentence]:
    for index, span in enumerate(chunk.sentences):
        text = flat_text(chunk.sentence_text(index))
        if text:
            support = Support(chunk.id, span)
            yield Sentence(support, text, _coverage(span, spans, importance), chunk.id)


def _sentences_below(
    store: Store, below: Sequence[CommunityReport], importance: Mapping[str, float]
) -> list[Sentence]:
    cited = {chunk for report in below for chunk in report.chunk_ids}
    mentions = store.graph.mentions(cited)
    spans = {chunk: _spans(mentions.get(chunk, ()), importance) for chunk in cited}
    return [
        Sentence(
            support,
            finding.text,
            _coverage(support.span, spans[support.chunk_id], importance),
            report.content_key,
        )
        for report in below
        for finding in report.findings
        for support in islice(finding.supports, 1)
    ]


def _spans(mentions: Iterable[Mention], importance: Mapping[str, float]) -> list[tuple[Span, str]]:
    return [(s, m.entity_id) for m in mentions if m.entity_id in importance for s in m.spans]


def _coverage(
    sentence: Span, spans: Iterable[tuple[Span, str]], importance: Mapping[str, float]
) -> float:
    named = {e for span, e in spans if sentence.start <= span.start and span.end <= sentence.end}
    return sum(importance[entity] for entity in sorted(named))


def flat_text(text: str) -> str:
    """Return text on one line; Chinese without the space that a line break leaves."""
    return _SPACE.sub(" ", _WIDE_BREAK.sub("", text)).strip()


def is_prose(text: str) -> bool:
    """Tell whether a sentence is neither short, overlong, a row of numbers nor markup."""
    shortest = _SHORTEST_WIDE if _WIDE.search(text) else _SHORTEST
    letters = sum(character.isalpha() or character.isspace() for character in text)
    fits = shortest <= len(text) <= _LONGEST and letters >= _LEAST_LETTERS * len(text)
    return fits and _MARKUP.search(text) is None


def group_by_parent(communities: Iterable[Community]) -> dict[str, list[Community]]:
    """Return the children of each community that has any, the largest first."""
    children: defaultdict[str, list[Community]] = defaultdict(list)
    for community in sorted(communities, key=lambda c: (-c.size, c.id)):
        if community.parent_id is not None:
            children[community.parent_id].append(community)
    return dict(children)
