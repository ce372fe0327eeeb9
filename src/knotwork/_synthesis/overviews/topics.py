"""Summarise a topic by relevant sentences, grouped by section."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from knotwork._retrieval.chunk_features import SHOWN_SENTENCES
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.messages import count_units, say
from knotwork._synthesis.overviews.outline import OutlinePart
from knotwork._synthesis.overviews.statements import (
    SummaryLine,
    SummaryPiece,
    is_statement,
    stating_sentences,
    weigh_alone,
    weigh_place,
)
from knotwork._synthesis.questions.classification import strip_text_nouns
from knotwork._synthesis.sentence_selection import SelectedSentence
from knotwork._text.terms import content_terms
from knotwork.records import Evidence

MOST_SENTENCES = 8
_LEAST_SHARE = 0.4
"""A sentence worth less than this share of the best one is left out."""
_LEAST_LEADING = 0.3
"""`_LEAST_SHARE` in the section with most of the evidence, which is read as a whole."""
_MOST_OF_SECTION = 5
"""The maximum number of sentences of one section if several are on the topic."""
_SAME_CHUNK = 0.6
"""The factor for each sentence already chosen from the same chunk."""
_SAME_SECTION = 0.9
_ALONE_POWER = 0.5
"""Exponent of how well a sentence can be understood alone."""
_SECTION_POWER = 0.35
"""Exponent of the share of a section in the evidence."""
_TITLE_GAIN = 0.3
_HALF_WAY = 2_000
"""The distance from its section's start, in characters, at which the worth has fallen to 0.7."""
_LEAST_SHARE_OF_HITS = 0.3
_LONGEST_SECTION = 40
"""The maximum number of passages of a section that is read as a whole."""
_FEWEST_TERMS = 3


def choose_on_topic(
    candidates: Sequence[SelectedSentence], found: Evidence, store: Store
) -> list[SelectedSentence]:
    """Return at most `MOST_SENTENCES` on a topic, highest worth first, from diverse places.

    A sentence is worth more in a section with more of the passages ``found``, near the beginning of
    it, and with terms of its heading. Each choice is weighted by its share of new terms (maximal
    marginal relevance, Carbonell and Goldstein, 1998), and by a factor below 1 for each sentence
    already chosen from its passage or section.
    """
    shares = _section_shares(found)
    starts = _section_starts(candidates, store)
    value = {
        id(item): item.worth
        * weigh_alone(item.text) ** _ALONE_POWER
        * shares.get(item.chunk.section_id, 0.0) ** _SECTION_POWER
        * (1 + _TITLE_GAIN * _title_share(item))
        * weigh_place(item.chunk, item.span)
        / math.sqrt(1 + (item.span.start - starts.get(item.chunk.section_id, 0)) / _HALF_WAY)
        for item in candidates
    }
    best = max(value.values(), default=0.0)
    terms = {id(item): frozenset(content_terms(item.text)) for item in candidates}
    rest = [
        item
        for item in candidates
        if len(terms[id(item)]) >= _FEWEST_TERMS
        and is_statement(item.chunk, item.span, item.text)
        and value[id(item)]
        >= best * (_LEAST_LEADING if shares.get(item.chunk.section_id) == 1.0 else _LEAST_SHARE)
    ]
    room = (
        MOST_SENTENCES if len({item.chunk.section_id for item in rest}) == 1 else _MOST_OF_SECTION
    )
    chosen: list[SelectedSentence] = []
    known: frozenset[str] = frozenset()
    taken: Counter[str] = Counter()
    while rest and len(chosen) < MOST_SENTENCES:
        worths = [
            value[id(item)]
            * math.pow(_SAME_CHUNK, taken[item.chunk.id])
            * math.pow(_SAME_SECTION, taken[item.chunk.section_id])
            * math.sqrt(len(terms[id(item)] - known) / len(terms[id(item)]))
            for item in rest
        ]
        item = rest.pop(worths.index(max(worths)))
        chosen.append(item)
        known |= terms[id(item)]
        taken.update((item.chunk.id, item.chunk.section_id))
        rest = [other for other in rest if taken[other.chunk.section_id] < room]
    return chosen


def read_on(found: Evidence, store: Store) -> list[SelectedSentence]:
    """Return further sentences of the section with most hits, in reading order.

    It is read only if it has so many hits that it must be on the topic as a whole. The worth of a
    sentence is the median of those found in the section, scaled by how well it represents the
    section.
    """
    counts = Counter(hit.chunk.section_id for hit in found.hits)
    section, times = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if times < max(_LEAST_SHARE_OF_HITS * len(found.hits), 1):
        return []
    hits = {hit.chunk.id: hit for hit in found.hits if hit.chunk.section_id == section}
    document = next(iter(hits.values())).chunk.document_id
    ids = store.documents.chunk_ids_of([document]).get(document, [])
    chunks = store.documents.chunks(ids).values()
    inside = [c for c in chunks if c.section_id == section and not c.is_parent]
    if len(inside) > _LONGEST_SECTION:
        return []
    usual = median(v for hit in hits.values() for _, v in hit.sentences[:SHOWN_SENTENCES])
    weighed = stating_sentences(sorted(inside, key=lambda chunk: chunk.ordinal))
    top = max((weight for _, weight in weighed), default=1.0)
    return [
        replace(item, worth=usual * math.sqrt(weight / top))
        for item, weight in weighed
        if item.chunk.id not in hits
    ]


def write_topic(chosen: Sequence[SelectedSentence], language: str) -> tuple[str, list[SummaryLine]]:
    """Return an introduction to sentences on a topic, and a line for each section.

    Documents are in the order of their best sentence; their sections and the sentences of each are
    in reading order.
    """
    documents: dict[str, None] = dict.fromkeys(item.chunk.document_id for item in chosen)
    sections: defaultdict[str, list[SelectedSentence]] = defaultdict(list)
    for item in chosen:
        sections[item.chunk.section_id].append(item)
    places = {document: place for place, document in enumerate(documents)}
    ordered = sorted(
        sections.values(),
        key=lambda items: (places[items[0].chunk.document_id], min(i.span for i in items)),
    )
    lines = [
        SummaryLine(
            _label(items[0], several=len(documents) > 1),
            tuple(SummaryPiece.of(item) for item in sorted(items, key=lambda i: i.span)),
        )
        for items in ordered
    ]
    if len(lines) == 1:
        return "", lines
    intro = say(
        messages.FROM_SECTIONS,
        language,
        sections=count_units(len(lines), "section", language),
        documents=count_units(len(documents), "document", language),
    )
    return intro, lines


def keep_named(
    candidates: Sequence[SelectedSentence], named: str, part: OutlinePart | None
) -> Sequence[SelectedSentence]:
    """Return the candidates in ``part``, or else those under titles with all terms of ``named``.

    All candidates are returned if none qualifies.
    """
    if part is not None:
        return [
            item
            for item in candidates
            if item.chunk.document_id == part.document_id
            and part.span.start <= item.span.start
            and item.span.end <= part.span.end
        ] or candidates
    wanted = set(content_terms(strip_text_nouns(named)))
    if not wanted:
        return candidates
    return [c for c in candidates if wanted <= set(content_terms(c.chunk.context))] or candidates


def _section_shares(found: Evidence) -> dict[str, float]:
    """Return the share of each section in the evidence, relative to the largest."""
    sums: defaultdict[str, float] = defaultdict(float)
    for hit in found.hits:
        best = max((relevance for _, relevance in hit.sentences), default=0.0)
        sums[hit.chunk.section_id] += max(hit.score, 0.0) * best
    top = max(sums.values(), default=0.0) or 1.0
    return {section: total / top for section, total in sums.items()}


def _section_starts(items: Sequence[SelectedSentence], store: Store) -> dict[str, int]:
    """Return the start offset of each section, by id, in the documents of sentences."""
    return {
        section.id: section.span.start
        for sections in store.documents.sections_of({i.chunk.document_id for i in items}).values()
        for section in sections
    }


def _title_share(item: SelectedSentence) -> float:
    """Return the share of the terms of its heading that a sentence contains."""
    title = set(content_terms(item.chunk.headings[-1] if item.chunk.headings else ""))
    return len(title & set(content_terms(item.text))) / max(len(title), 1)


def _label(item: SelectedSentence, *, several: bool) -> str:
    chunk = item.chunk
    heading = chunk.headings[-1] if chunk.headings else ""
    if not heading or (several and not chunk.headings):
        return show_sentence(chunk.document_title)
    return show_sentence(heading)
