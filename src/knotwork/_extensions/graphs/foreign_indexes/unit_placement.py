"""Convert text units to chunks by finding their exact position in their document."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.foreign_index import ForeignIndex, ForeignUnit
from knotwork._indexing.splitters import SectionTree
from knotwork._text.languages import detect_language
from knotwork._text.sentences import split_sentences, wrapping_width
from knotwork.records import Chunk, Document, Section, Span, content_id

SOURCE_METADATA = "imported_from"

_PREPENDED = re.compile(r"[^\n:]{1,60}: [^\n]*\n")
"""A line of metadata prepended to the text of a unit."""
_MOST_PREPENDED = 8
_SPACE = re.compile(r"\s+")
_CUT = "\ufffd"
"""Replaces a character that was split between two units."""


@dataclass(slots=True)
class PlacedDocument:
    """A document with its chunks in order."""

    document: Document
    section: Section
    chunks: list[Chunk] = field(default_factory=list)


@dataclass(slots=True)
class Placement:
    """All documents with their chunks; ``chunks_of`` maps the id of a text unit to its chunks."""

    documents: list[PlacedDocument]
    chunks_of: dict[str, list[Chunk]]
    apart: int
    """The number of units that were in none of their documents and became documents."""


def place_units(index: ForeignIndex) -> Placement:
    """Return the documents and chunks of an index; count lost ones in ``index.losses``."""
    units = {unit.id: unit for unit in index.units}
    listed = _units_by_document(index)
    placed: list[PlacedDocument] = []
    apart: list[tuple[str, ForeignUnit]] = []
    chunks_of: defaultdict[str, list[Chunk]] = defaultdict(list)
    names: set[str] = set()
    waiting = dict.fromkeys(units)
    for foreign in checked(index.documents):
        made = _start_document(foreign.title, foreign.text, index, names)
        spans, missing = _spans_in(foreign.text, [units[key] for key in listed[foreign.id]])
        _add_chunks(made, spans, chunks_of)
        for key, _ in spans:
            waiting.pop(key, None)
        apart += [(made.document.title, unit) for unit in missing]
        if made.chunks:
            placed.append(made)
        else:
            reason = "its text contains none of its text units" if missing else "without text units"
            index.losses["documents", reason] += 1
    titles = {unit.id: title for title, unit in reversed(apart)}
    lost = [units[key] for key in waiting]
    for unit in checked(lost):
        title = f"{titles.get(unit.id) or index.name} #{unit.number}"
        made = _start_document(title, unit.text, index, names)
        _add_chunks(made, [(unit.id, Span(0, len(unit.text)))], chunks_of)
        if made.chunks:
            placed.append(made)
        else:
            index.losses["text units", "without a word"] += 1
    return Placement(placed, dict(chunks_of), len(lost))


def _units_by_document(index: ForeignIndex) -> dict[str, list[str]]:
    """Return the ids of the units of each document, first in the order that it lists."""
    known = {unit.id for unit in index.units}
    found: dict[str, list[str]] = {}
    for document in index.documents:
        found[document.id] = [key for key in document.unit_ids if key in known]
    there = {key: set(ids) for key, ids in found.items()}
    for unit in sorted(index.units, key=lambda unit: unit.number):
        for document_id in unit.document_ids:
            if document_id in found and unit.id not in there[document_id]:
                found[document_id].append(unit.id)
    return found


def _start_document(title: str, text: str, index: ForeignIndex, names: set[str]) -> PlacedDocument:
    """Return a document without chunks under a unique uri: `graphrag:PROJECT/TITLE`."""
    root = import_root(index)
    base = f"{root}/{' '.join(title.split()).strip('/') or 'untitled'}"
    uris = chain([base], (f"{base} ({number})" for number in count(2)))
    uri = next(uri for uri in uris if uri not in names)
    names.add(uri)
    metadata = {SOURCE_METADATA: index.format}
    language = detect_language(text)
    document = Document(uri, text, title=title, language=language, metadata=metadata)
    return PlacedDocument(document, SectionTree(document).sections[0])


def import_root(index: ForeignIndex) -> str:
    """Return the root of an import in the ledger, which is never inside a folder."""
    return f"{index.format}:{index.name}"


def _spans_in(
    text: str, units: Sequence[ForeignUnit]
) -> tuple[list[tuple[str, Span]], list[ForeignUnit]]:
    """Return the spans of units in reading order, and the units that were not found."""
    flat = _FlatText(text)
    found: list[tuple[str, Span]] = []
    missing: list[ForeignUnit] = []
    behind = 0
    for unit in units:
        variants = list(_variants(unit.text))
        exact = (
            Span(place, place + len(variant))
            for variant in variants
            for start in (behind, 0)
            if (place := text.find(variant, start)) >= 0
        )
        span = next(exact, None) or next(
            filter(None, (flat.find(v, behind) for v in variants)), None
        )
        if span is None:
            missing.append(unit)
        else:
            found.append((unit.id, span))
            behind = span.start + 1
    return found, missing


class _FlatText:
    """A text without white space, and the offset of each remaining character."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _flat(self) -> tuple[str, list[int]]:
        offsets = [place for place, sign in enumerate(self._text) if not sign.isspace()]
        return "".join(self._text[place] for place in offsets), offsets

    def find(self, wanted: str, behind: int) -> Span | None:
        """Return the span of a text up to white space, preferably after a position."""
        needle = _SPACE.sub("", wanted)
        if not needle:
            return None
        flat, offsets = self._flat
        for start in dict.fromkeys((bisect_left(offsets, behind), 0)):
            place = flat.find(needle, start)
            if place >= 0:
                return Span(offsets[place], offsets[place + len(needle) - 1] + 1)
        return None


def _variants(text: str) -> Iterator[str]:
    """Yield the parts of a unit that may be in the document, without prepended lines."""
    for _ in range(_MOST_PREPENDED):
        yield text
        bare = text.strip(_CUT)
        if bare != text and bare.strip():
            yield bare
        line = _PREPENDED.match(text)
        if line is None or not text[line.end() :].strip():
            return
        text = text[line.end() :]


def _add_chunks(
    made: PlacedDocument, spans: Sequence[tuple[str, Span]], chunks_of: dict[str, list[Chunk]]
) -> None:
    """Add a chunk for each distinct span, in reading order."""
    document = made.document
    width = wrapping_width(document.text)
    by_span: dict[Span, Chunk | None] = {}
    for span in sorted({span for _, span in spans}):
        text = document.text[span.start : span.end]
        sentences = split_sentences(text, start=span.start, wrapped_at=width)
        if not sentences:
            continue
        chunk = Chunk(
            id=content_id("chunk", document.id, span.start, span.end, text),
            document_id=document.id,
            section_id=made.section.id,
            ordinal=len(made.chunks),
            span=span,
            text=text,
            sentences=tuple(sentences),
            document_title=document.title,
        )
        by_span[span] = chunk
        made.chunks.append(chunk)
    for key, span in spans:
        chunk_there = by_span.get(span)
        if chunk_there is not None:
            chunks_of.setdefault(key, []).append(chunk_there)
