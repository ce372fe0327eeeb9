"""Convert the entities, relations and claims of another system to contributions of single chunks.

A link of an entity to a text unit becomes a mention with the spans of its name in the text, or
without a span if the name does not occur. The weight of a relation is divided among its chunks. A
description belongs to the first chunk of each document that names the entity, so it is removed with
the last document that supports it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.foreign_index import (
    ForeignClaim,
    ForeignEntity,
    ForeignIndex,
    ForeignRelation,
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
from knotwork._extensions.graphs.foreign_indexes.unit_placement import Placement
from knotwork._text.names import normal_form
from knotwork._transform.model.reply_grounding import MOST_ABOUT, SALIENCE_ABOUT, ChunkText
from knotwork.records import (
    Chunk,
    ChunkReading,
    Description,
    Extraction,
    Mention,
    ReadingStatus,
    Relation,
    Span,
    entity_id,
)

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
