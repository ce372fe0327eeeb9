"""Describe an index to somebody who opens it: its documents, its topics, questions and a timeline.

Each document has the sentence that describes it best. The questions were tried: the documents
answer them. A timeline has the sentences with a date and a deed. Nothing is written by a model, and
no part takes longer for a large index: documents come in pages, and of many, a sample is read for
the rest. A guide is kept in memory until the index changes.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from knotwork._extensions.guide.offers import (
    Ask,
    Offer,
    OfferedQuestion,
    Trial,
    make_offers,
    try_offers,
)
from knotwork._indexing.communities.extractive_reports import names_a_theme
from knotwork._indexing.communities.index_reports import find_topics
from knotwork._questions.languages import Words, read_words
from knotwork._stores.corrections import listed_entries
from knotwork._synthesis import messages
from knotwork._synthesis.ask_request import OutlinePart
from knotwork._synthesis.extractive_answers import cite_sentences
from knotwork._synthesis.overviews import DocumentOutline, lead_of, name_themes
from knotwork._text.dates import DAY, MONTH_OF_YEAR, read_day_range
from knotwork._text.languages import detect_language
from knotwork._text.plain_text import show_sentence, split_number
from knotwork._text.statements import SelectedSentence, is_statement, repeats, weigh_alone
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Chunk, Citation, Document, Span

if TYPE_CHECKING:
    from knotwork._stores.base import LedgerEntry, Store

QUESTIONS, TOPICS, EVENTS = 4, 6, 12
"""How many of each a guide has at most."""
FEWEST_EVENTS = 3
"""Fewer events are no timeline."""
_TRIAL = Trial(QUESTIONS, 16, 8.0)
_SAMPLE = 40
"""Documents, evenly spread over all, from which questions and events are read."""
_CHUNKS_EACH = 40
"""Passages from the start of each of them."""
_OFFERS_EACH = 3
_LONGEST_EVENT = 260
_SAME_EVENT = 0.3
"""The share of the terms of a sentence that one with the same date has, if both tell one event."""


@dataclass(frozen=True, slots=True)
class DescribedDocument:
    """A document, and the sentence that describes it best: its ``source``, None for a table."""

    document: str
    title: str
    sentence: str
    source: Citation | None = None


@dataclass(frozen=True, slots=True)
class GuideTopic:
    """A main topic: a community, and how many passages and documents it has."""

    name: str
    community: str
    passages: int
    documents: int


@dataclass(frozen=True, slots=True)
class DatedEvent:
    """A sentence that says what happened; ``date`` is its first day as YYYY-MM-DD."""

    date: str
    when: str
    sentence: str
    source: Citation


@dataclass(frozen=True, slots=True)
class Guide:
    """What an index is about.

    ``documents`` is a page of all ``total`` documents, by uri. ``questions`` are from different
    documents. ``timeline`` is in the order of time, empty if there are too few events.
    """

    total: int
    documents: tuple[DescribedDocument, ...]
    topics: tuple[GuideTopic, ...] = ()
    questions: tuple[OfferedQuestion, ...] = ()
    timeline: tuple[DatedEvent, ...] = ()


@dataclass(slots=True)
class _Kept:
    """What was found for a generation of a store: all but the documents, and pages of these."""

    generation: int = -1
    guide: Guide | None = None
    pages: dict[tuple[int, int], Guide] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_KEPT: WeakKeyDictionary[Store, _Kept] = WeakKeyDictionary()
_LOCK = threading.Lock()


def write_guide(store: Store, ask: Ask, *, limit: int, offset: int) -> Guide:
    """Return the guide of an index, with ``limit`` documents from the position ``offset``."""
    with _LOCK:
        kept = _KEPT.setdefault(store, _Kept())
    with kept.lock:  # a second request waits for the first one
        generation = store.generation()
        if kept.guide is None or kept.generation != generation:
            kept.guide, kept.pages = _read_whole(store, ask), {}
            kept.generation = generation
        if (page := kept.pages.get((limit, offset))) is None:
            page = turn_page(kept.guide, store, limit=limit, offset=offset)
            kept.pages[limit, offset] = page
        return page


def turn_page(guide: Guide, store: Store, *, limit: int, offset: int) -> Guide:
    """Return a guide with ``limit`` other documents from the position ``offset``."""
    with store.reading():
        entries = _entries(store)
        documents = tuple(_describe(store, entries[offset : offset + limit]))
    return replace(guide, total=len(entries), documents=documents)


def _entries(store: Store) -> list[LedgerEntry]:
    return [entry for entry in listed_entries(store) if not entry.error]


def _read_whole(store: Store, ask: Ask) -> Guide:
    with store.reading():
        read = _read_sample(store, _entries(store))
    topics, offered = tuple(_main_topics(store)), tuple(_offer(store, ask, read))
    return Guide(0, (), topics, offered, tuple(find_events(store, read)))


def _describe(store: Store, entries: Sequence[LedgerEntry]) -> Iterator[DescribedDocument]:
    ids = [entry.document_id for entry in entries]
    documents, sections = store.documents.documents(ids), store.documents.sections_of(ids)
    for entry in entries:
        document = documents.get(entry.document_id)
        if document is None:
            continue
        part = OutlinePart(document.id, document.title, 0, Span(0, 1 << 62), document.uri)
        inside = [
            OutlinePart(document.id, section.title, section.level, section.span)
            for section in sections.get(document.id, ())
            if section.title and section.level > 0
        ]
        title = plain_title(document, [section.title for section in inside])
        lead = lead_of(store, DocumentOutline((part,), {document.id: inside}), part, most=1)
        sentence = show_sentence(lead.text) if lead else _describe_table(document)
        source = next(iter(cite_sentences([lead], store) if lead else ()), None)
        yield DescribedDocument(document.uri, title, sentence, source)


def plain_title(document: Document, headings: Iterable[str]) -> str:
    """Return a title that names a document: its own, its first heading, or its file name."""
    bare = (show_sentence(split_number(title)[1]) for title in (document.title, *headings))
    named = (title for title in bare if title and names_a_theme(title))
    return next(named, "") or document.title or PurePosixPath(document.uri).name


def _describe_table(document: Document) -> str:
    """Return the columns and the number of rows of a table; "" for any other document."""
    tables = [b for b in document.blocks if b.kind is BlockKind.TABLE and b.label]
    if not tables:
        return ""
    rows = sum(block.kind is BlockKind.ROW for block in document.blocks)
    language = detect_language(f"{document.title} {tables[0].label}")
    names = [show_sentence(name) for name in tables[0].label.split(" | ")]
    columns = ("、" if language == "zh" else ", ").join(names)
    return messages.table_of(language, rows=f"{rows:,}", columns=columns)


def _read_sample(store: Store, entries: Sequence[LedgerEntry]) -> Mapping[str, Sequence[Chunk]]:
    """Return the first passages of documents that are evenly spread over all, by id."""
    step = max(1.0, len(entries) / _SAMPLE)
    places = dict.fromkeys(int(number * step) for number in range(min(_SAMPLE, len(entries))))
    held = store.documents.chunk_ids_of([entries[place].document_id for place in places])
    chunks = store.documents.chunks([key for ids in held.values() for key in ids[:_CHUNKS_EACH]])
    return {
        document: [chunks[key] for key in ids[:_CHUNKS_EACH] if key in chunks]
        for document, ids in held.items()
    }


def _main_topics(store: Store) -> Iterator[GuideTopic]:
    """Yield the largest communities with a name of their own."""
    if store.capabilities.communities is None or not store.capabilities.communities.levels():
        return
    topics = find_topics(store, limit=3 * TOPICS)
    names = name_themes([topic.report.title for topic in topics])
    named = (pair for pair in zip(topics, names, strict=True) if names_a_theme(pair[1]))
    for topic, name in islice(named, TOPICS):
        chunks = store.documents.chunks(topic.community.chunk_ids)
        documents = {chunk.document_id for chunk in chunks.values()}
        yield GuideTopic(name, topic.community.id, len(chunks), len(documents))


def _offer(store: Store, ask: Ask, read: Mapping[str, Sequence[Chunk]]) -> list[OfferedQuestion]:
    mentions = store.graph.mentions([chunk.id for held in read.values() for chunk in held])
    offers: list[Offer] = []
    for held in read.values():
        own = (
            offer._replace(worth=offer.worth / (1 + place / _CHUNKS_EACH))
            for place, chunk in enumerate(held)
            for offer in make_offers(chunk, mentions.get(chunk.id, ()))
        )
        offers += sorted(own, key=lambda offer: -offer.worth)[:_OFFERS_EACH]
    return try_offers(store, ask, offers, _TRIAL, is_spread=True)


_YEAR = r"(?:\b(?:1[5-9]|20)\d\d\b(?![-/.:]\d)|(?:1[5-9]|20)\d\d\s*年)"
_WHEN = re.compile(rf"(?P<date>{DAY}|{MONTH_OF_YEAR}|{_YEAR})", re.IGNORECASE)


@cache
def _event_words() -> Mapping[str, Words]:
    return {name: Words(form) for name, form in read_words("offers")["events"].items()}


def find_events(store: Store, read: Mapping[str, Sequence[Chunk]]) -> list[DatedEvent]:
    """Return the sentences of passages that date a deed, in the order of time."""
    found: list[tuple[float, int, str, SelectedSentence]] = []
    told: defaultdict[int, list[frozenset[str]]] = defaultdict(list)
    for chunk in (chunk for held in read.values() for chunk in held):
        for span in chunk.sentences:
            text = chunk.text_at(span)
            shown = show_sentence(text)
            when = _when(shown) if len(shown) <= _LONGEST_EVENT else ""
            days = read_day_range(when) if when else None
            if days is None or not is_statement(chunk, span, text):
                continue
            if not repeats(shown, told[days.start], share=_SAME_EVENT):
                told[days.start].append(frozenset(content_terms(shown)))
                item = SelectedSentence(chunk, span, text, 1.0, 0)
                found.append((weigh_alone(shown), days.start, when, item))
    best = sorted(found, key=lambda event: -event[0])[:EVENTS]
    best.sort(key=lambda event: event[1])
    if len(best) < FEWEST_EVENTS:
        return []
    sources = cite_sentences([item for *_, item in best], store)
    return [
        DatedEvent(date.fromordinal(day).isoformat(), when, show_sentence(item.text), source)
        for (_, day, when, item), source in zip(best, sources, strict=True)
    ]


def _when(text: str) -> str:
    """Return the time at which a sentence says that something was done; "" if it does not."""
    found, words = _WHEN.search(text), _event_words()
    if found is None or not words["deed"].search(text) or words["none"].search(text):
        return ""
    when = found["date"].strip()
    is_time = not when.isdigit() or words["before_year"].search(text[: found.start()])
    return when if is_time else ""
