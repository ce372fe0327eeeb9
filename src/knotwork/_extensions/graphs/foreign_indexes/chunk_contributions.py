"""Convert text units to chunks, and what another system found in them to contributions of chunks.

A text unit becomes the chunk at its exact position in its document. A link of an entity to a text
unit becomes a mention with the spans of its name in the text, or without a span if the name does
not occur. The weight of a relation is divided among its chunks. A description belongs to the first
chunk of each document that names the entity, so it is removed with the last document that supports
it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.foreign_index import (
    ForeignClaim,
    ForeignEntity,
    ForeignIndex,
    ForeignRelation,
    ForeignUnit,
    Losses,
)
from knotwork._extensions.graphs.foreign_indexes.labels import (
    is_in_capitals,
    join_sentences,
    name_relation,
    one_line,
    plain_type,
    split_relation,
    unnamed_relation,
    written_name,
)
from knotwork._extensions.model_indexing.reply_grounding import (
    MOST_ABOUT,
    SALIENCE_ABOUT,
    ChunkText,
)
from knotwork._indexing.splitters import SectionTree
from knotwork._text.languages import detect_language
from knotwork._text.names import normal_form
from knotwork._text.sentences import split_sentences, wrapping_width
from knotwork.records import (
    Chunk,
    ChunkReading,
    Description,
    Document,
    Extraction,
    Mention,
    ReadingStatus,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

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


_FALSE = "FALSE"
_MOST_COMPLAINTS = 20
_NO_END = "an end of the relation is neither an entity nor in the text"
_LOOP = "the relation links an entity to itself"


@dataclass(slots=True)
class _MergedRows:
    """An entity merged from all rows of the other system with one normal form."""

    form: str
    name: str
    type: str
    descriptions: list[str] = field(default_factory=list)
    places: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    """Spans of the name by chunk; () if the chunk is linked but does not contain the name."""


class Contributions:
    """The contributions of each chunk, and the chunks that references of reports mean.

    ``extractions``, ``descriptions`` and ``readings`` are by chunk id. ``forms`` are the normal
    forms by the other system's entity ids; ``cited`` are the chunks of a row, by its kind and
    number. ``counts`` are the imported items by kind; what cannot be imported is counted in the
    losses of the index.
    """

    def __init__(self, index: ForeignIndex, placement: Placement) -> None:
        self.forms: dict[str, str] = {}
        self.cited: dict[tuple[str, int], tuple[str, ...]] = {}
        self.counts: Counter[str] = Counter()
        self._losses: Losses = index.losses
        self._chunks_of: Mapping[str, Sequence[Chunk]] = placement.chunks_of
        self._chunks = {c.id: c for placed in placement.documents for c in placed.chunks}
        self._entities: dict[str, _MergedRows] = {}
        self._relations: dict[str, dict[tuple[str, str, str], Relation]] = defaultdict(dict)
        self._texts: dict[str, dict[str, list[str]]] = defaultdict(dict)
        self._complaints: dict[str, list[str]] = defaultdict(list)
        self._names: dict[str, str] = {}
        self._places: dict[str, dict[str, tuple[Span, ...]]] = defaultdict(dict)
        self._find_names(index)
        for entity in checked(index.entities):
            self._add_entity(entity)
        for relation in checked(index.relations):
            self._add_relation(relation)
        for claim in checked(index.claims):
            self._add_claim(claim)
        for unit in checked(index.units):
            self._cite("sources", unit.number, self._chunks_of.get(unit.id, ()))
        self._describe()
        held = self._by_chunk()
        self.extractions = {key: self._extraction(key, held.get(key, ())) for key in self._chunks}
        self.descriptions = {
            key: [
                Description(key, form, join_sentences(texts))
                for form, texts in self._texts[key].items()
                if any(texts)
            ]
            for key in self._chunks
        }
        self.readings = {key: self._reading(key, index.format) for key in self._chunks}
        places = [spans for entity in self._entities.values() for spans in entity.places.values()]
        self.counts["entities"] = len(self._entities)
        self.counts["mentions"] = len(places)
        self.counts["mentions whose name is not in the text"] = sum(not spans for spans in places)
        self.counts["descriptions"] = sum(map(len, self.descriptions.values()))

    def _find_names(self, index: ForeignIndex) -> None:
        """Search each chunk once, for all names that the index links to it.

        Parsing the words of a chunk takes megabytes of memory.
        """
        wanted: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for name, unit_ids in checked(_links(index)):
            form = normal_form(name)
            if form:
                self._names.setdefault(form, name)
                for chunk in self._chunks_in(unit_ids):
                    wanted[chunk.id][form] = None
        for key, forms in wanted.items():
            self._search(key, forms)

    def _search(self, chunk_id: str, forms: Iterable[str]) -> None:
        text = ChunkText(self._chunks[chunk_id])
        for form in forms:
            name = self._names[form]
            self._places[chunk_id][form] = text.find(name) or text.find_part(name)

    def _find(self, form: str, chunk_id: str) -> tuple[Span, ...]:
        """Return the spans of a name in a chunk."""
        if form not in self._places[chunk_id]:
            self._search(chunk_id, (form,))
        return self._places[chunk_id][form]

    def _add_entity(self, row: ForeignEntity) -> None:
        form = normal_form(row.name)
        chunks = self._chunks_in(row.unit_ids)
        if not form:
            self._losses["entities", "the name has no letter or digit"] += 1
            return
        if not chunks:
            self._losses["entities", "none of its text units was imported"] += 1
            return
        self.forms[row.id] = form
        entity = self._entities.get(form)
        kind = plain_type(row.type)
        if entity is None:
            entity = self._entities[form] = _MergedRows(form, self._names[form], kind)
        else:
            self.counts["entities that share a name with another"] += 1
        entity.type = entity.type or kind
        if row.description:
            entity.descriptions.append(one_line(row.description))
        for chunk in chunks:
            self._place(entity, chunk)
        self._cite("entities", row.number, chunks)

    def _place(self, entity: _MergedRows, chunk: Chunk) -> None:
        """Add a mention of an entity to a chunk."""
        if chunk.id not in entity.places:
            entity.places[chunk.id] = self._find(entity.form, chunk.id)

    def _add_relation(self, relation: ForeignRelation) -> None:
        chunks = self._chunks_in(relation.unit_ids)
        if not chunks:
            chunks = self._shared_chunks(relation.source, relation.target)[:1]
        if not chunks:
            self._losses["relations", "none of its text units was imported"] += 1
            return
        source, target = (self._end(n, chunks) for n in (relation.source, relation.target))
        if source is None or target is None or source is target:
            reason = _NO_END if None in (source, target) else _LOOP
            self._losses["relations", reason] += 1
            for chunk in chunks:
                complaint = f"{relation.source} | {relation.target}: {reason}"
                self._complaints[chunk.id].append(complaint)
            return
        self._cite("relationships", relation.number, chunks)
        label, description, is_reversed = _label_of(relation)
        if is_reversed:
            source, target = target, source
        weights = _shares(relation.weight, len(chunks))
        if sum(weights) != relation.weight:
            self.counts["weights that were rounded"] += 1
        for chunk, weight in zip(chunks, weights, strict=True):
            self._relate(chunk, source, label, target, weight, description)
        self.counts["relations"] += 1

    def _relate(
        self,
        chunk: Chunk,
        source: _MergedRows,
        label: str,
        target: _MergedRows,
        weight: int,
        description: str,
    ) -> None:
        for entity in (source, target):
            if chunk.id not in entity.places:
                self._place(entity, chunk)
                self.counts["mentions added for ends of relations"] += 1
        key = (entity_id(source.form), label, entity_id(target.form))
        before = self._relations[chunk.id].get(key) or Relation(chunk.id, *key, weight=0)
        self._relations[chunk.id][key] = replace(
            before,
            weight=before.weight + weight,
            description=join_sentences((before.description, description)),
        )

    def _end(self, name: str, chunks: Sequence[Chunk]) -> _MergedRows | None:
        """Return the entity of a name; add one if no row has it but the text does, else None."""
        form = normal_form(name)
        entity = self._entities.get(form)
        if entity is not None or not form:
            return entity
        mentioning = [chunk for chunk in chunks if self._find(form, chunk.id)]
        if not mentioning:
            return None
        entity = self._entities[form] = _MergedRows(form, self._names[form], "")
        for chunk in mentioning:
            self._place(entity, chunk)
        self.counts["entities added for ends of relations"] += 1
        return entity

    def _shared_chunks(self, source: str, target: str) -> list[Chunk]:
        entities = [self._entities.get(normal_form(name)) for name in (source, target)]
        held = [entity.places.keys() for entity in entities if entity is not None]
        return [self._chunks[key] for key in held[0] if key in held[1]] if len(held) == 2 else []

    def _add_claim(self, claim: ForeignClaim) -> None:
        """Convert a claim on two entities to a relation, another one to a description."""
        chunks = self._chunks_in((claim.unit_id,) if claim.unit_id else ())
        subject = self._entities.get(normal_form(claim.subject))
        target = self._entities.get(normal_form(claim.object)) if claim.object else None
        reason = ""
        if not chunks:
            reason = "none of its text units was imported"
        elif subject is None:
            reason = "its subject is not an entity"
        elif claim.status == _FALSE:
            reason = "it is marked as false"
        if reason or subject is None:
            self._losses["claims", reason] += 1
            return
        self._cite("claims", claim.number, chunks)
        if target is not None and target is not subject and claim.type:
            label = claim.type.lower() if claim.type.isascii() else claim.type
            for chunk in chunks:
                text = one_line(claim.description)
                self._relate(chunk, subject, one_line(label.replace("_", " ")), target, 1, text)
            self.counts["claims as relations"] += 1
            return
        for chunk in chunks:
            self._place(subject, chunk)
            self._texts[chunk.id].setdefault(subject.form, []).append(one_line(claim.description))
        self.counts["claims as descriptions"] += 1

    def _describe(self) -> None:
        """Add descriptions to the first chunk of each document, preferring chunks with the name."""
        for entity in checked(self._entities.values()):
            first: dict[str, str] = {}
            for key in sorted(
                entity.places, key=lambda key: (not entity.places[key], self._chunks[key].ordinal)
            ):
                first.setdefault(self._chunks[key].document_id, key)
            for key in first.values() if entity.descriptions else ():
                texts = self._texts[key].setdefault(entity.form, [])
                texts[:0] = entity.descriptions

    def _by_chunk(self) -> dict[str, list[_MergedRows]]:
        found: defaultdict[str, list[_MergedRows]] = defaultdict(list)
        for entity in checked(self._entities.values()):
            if is_in_capitals(entity.name):
                entity.name = self._name_in_text(entity) or entity.name
            for key in entity.places:
                found[key].append(entity)
        return found

    def _name_in_text(self, entity: _MergedRows) -> str:
        """Return the most frequent spelling of a name in the text, or ""."""
        forms = Counter(
            surface
            for key, spans in entity.places.items()
            for surface in (one_line(self._chunks[key].text_at(span)) for span in spans)
            if normal_form(surface) == entity.form
        )
        return min(forms, key=lambda form: (-forms[form], form)) if forms else ""

    def _extraction(self, key: str, entities: Iterable[_MergedRows]) -> Extraction:
        held = list(entities)
        total = sum(len(entity.places[key]) for entity in held)
        mentions = []
        for entity in held:
            spans = entity.places[key]
            share = min(MOST_ABOUT, SALIENCE_ABOUT * len(spans) / total) if total else 0.0
            about = round(share, 4)
            mentions.append(Mention(key, entity.form, entity.name, entity.type, spans, about))
        return Extraction(key, tuple(mentions), tuple(self._supported(key, held)))

    def _supported(self, key: str, held: Iterable[_MergedRows]) -> Iterator[Relation]:
        """Yield the relations of a chunk with the spans of their best supporting sentences."""
        if not self._relations[key]:
            return
        text = ChunkText(self._chunks[key])
        places = {entity_id(entity.form): entity.places[key] for entity in held}
        for relation in self._relations[key].values():
            ends = (places[relation.source], places[relation.target])
            words = f"{relation.relation} {relation.description}"
            yield replace(relation, span=text.best_sentence(ends, words))

    def _reading(self, key: str, model: str) -> ChunkReading:
        complaints = tuple(self._complaints[key][:_MOST_COMPLAINTS])
        status = ReadingStatus.PARTIAL if complaints else ReadingStatus.OK
        return ChunkReading(key, model, status, complaints=complaints)

    def _cite(self, kind: str, number: int, chunks: Iterable[Chunk]) -> None:
        self.cited[kind, number] = tuple(dict.fromkeys(chunk.id for chunk in chunks))

    def _chunks_in(self, unit_ids: Iterable[str]) -> list[Chunk]:
        found = {c.id: c for key in unit_ids for c in self._chunks_of.get(key, ())}
        return list(found.values())


def _label_of(relation: ForeignRelation) -> tuple[str, str, bool]:
    """Return the label and the description of a relation, and True if its ends are reversed."""
    described = one_line(relation.description)
    source, target = one_line(relation.source), one_line(relation.target)
    label, rest = split_relation(source, target, described)
    if label:
        return label, rest, False
    if not relation.directed:
        reverse = name_relation(target, source, described)
        if reverse:
            return reverse, described, True
    label = one_line(relation.label) or unnamed_relation(source + target + described)
    return label, described, False


def _shares(weight: float, chunks: int) -> list[int]:
    """Divide a weight among chunks, as integers of at least 1."""
    whole = max(round(weight), chunks)
    share, rest = divmod(whole, chunks)
    return [share + (place < rest) for place in range(chunks)]


def _links(index: ForeignIndex) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield every name with the text units that are linked to it, entities first."""
    for entity in index.entities:
        yield written_name(one_line(entity.name), entity.description), entity.unit_ids
    for relation in index.relations:
        for end in (relation.source, relation.target):
            yield one_line(end), relation.unit_ids
    for claim in index.claims:
        yield one_line(claim.subject), (claim.unit_id,)
        if claim.object:
            yield one_line(claim.object), (claim.unit_id,)
