"""Convert the entities, relations and claims of another system to contributions of single chunks.

A link of an entity to a text unit becomes a mention, with the places of its name in the text; if no
form of it occurs, the link is kept without a place. The weight of a relation is divided among its
chunks. A description belongs to the first chunk of each document that names the entity, so that it
leaves the index with the last document that supports it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from knotwork.indexing.foreign_indexes.foreign_index import (
    ForeignClaim,
    ForeignEntity,
    ForeignIndex,
    ForeignRelation,
    Losses,
)
from knotwork.indexing.foreign_indexes.labels import (
    is_shouted,
    join_sentences,
    name_relation,
    one_line,
    plain_type,
    split_relation,
    unnamed_relation,
    written_name,
)
from knotwork.indexing.foreign_indexes.unit_placement import Placement
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
from knotwork.text.names import normal_form
from knotwork.transform.model.reply_grounding import MOST_ABOUT, SALIENCE_ABOUT, ChunkText

_FALSE = "FALSE"
_MOST_COMPLAINTS = 20
_NO_END = "an end of the relation is no entity, and does not stand in the text"


@dataclass(slots=True)
class _MergedRows:
    """An entity in the making: all rows of another system with one normal form."""

    form: str
    name: str
    type: str
    descriptions: list[str] = field(default_factory=list)
    places: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    """Where the name stands, by chunk; () where the chunk is only said to name it."""


@dataclass(slots=True)
class Contributions:
    """What comes in for each chunk, and how references of reports lead to chunks.

    ``forms`` are the normal forms by the other system's entity ids, ``cited`` the chunks that a row
    leads to, by the kind of the row and its number. ``counts`` are what came in.
    """

    extractions: dict[str, Extraction]
    descriptions: dict[str, list[Description]]
    readings: dict[str, ChunkReading]
    forms: dict[str, str]
    cited: dict[tuple[str, int], tuple[str, ...]]
    counts: Counter[str]


def contribute(index: ForeignIndex, placement: Placement) -> Contributions:
    """Return the contributions of all chunks; what cannot come in is counted in the losses."""
    return _Assembly(index, placement).assemble()


class _Assembly:
    """The contributions of one index in the making."""

    def __init__(self, index: ForeignIndex, placement: Placement) -> None:
        self.index = index
        self.losses: Losses = index.losses
        self.chunks_of: Mapping[str, Sequence[Chunk]] = placement.chunks_of
        self.chunks = {c.id: c for made in placement.documents for c in made.chunks}
        self.grounds = NamePlaces(index, self.chunks, self._chunks)
        self.things: dict[str, _MergedRows] = {}
        self.forms: dict[str, str] = {}
        self.relations: dict[str, dict[tuple[str, str, str], Relation]] = defaultdict(dict)
        self.told: dict[str, dict[str, list[str]]] = defaultdict(dict)
        self.complaints: dict[str, list[str]] = defaultdict(list)
        self.cited: dict[tuple[str, int], tuple[str, ...]] = {}
        self.counts: Counter[str] = Counter()

    def assemble(self) -> Contributions:
        for entity in self.index.entities:
            self._add_entity(entity)
        for relation in self.index.relations:
            self._add_relation(relation)
        for claim in self.index.claims:
            self._add_claim(claim)
        self._describe()
        things = self._by_chunk()
        return Contributions(
            {key: self._extraction(key, things.get(key, ())) for key in self.chunks},
            {key: self._descriptions(key) for key in self.chunks},
            {key: self._reading(key) for key in self.chunks},
            self.forms,
            self.cited,
            self._counted(),
        )

    def _add_entity(self, entity: ForeignEntity) -> None:
        form = normal_form(entity.name)
        chunks = self._chunks(entity.unit_ids)
        if not form:
            self.losses.add("entities", "the name has no letter or digit")
            return
        if not chunks:
            self.losses.add("entities", "no text unit of it came in")
            return
        self.forms[entity.id] = form
        thing = self.things.get(form)
        kind = plain_type(entity.type)
        if thing is None:
            thing = self.things[form] = _MergedRows(form, self.grounds.names[form], kind)
        else:
            self.counts["entities that share a name with another"] += 1
        thing.type = thing.type or kind
        if entity.description:
            thing.descriptions.append(one_line(entity.description))
        for chunk in chunks:
            self._place(thing, chunk)
        self._cite("entities", entity.number, chunks)

    def _place(self, thing: _MergedRows, chunk: Chunk) -> None:
        """Make a chunk one that names an entity."""
        if chunk.id not in thing.places:
            thing.places[chunk.id] = self.grounds.find(thing.form, chunk.id)

    def _add_relation(self, relation: ForeignRelation) -> None:
        chunks = self._chunks(relation.unit_ids)
        if not chunks:
            chunks = self._shared_chunks(relation.source, relation.target)[:1]
        if not chunks:
            self.losses.add("relations", "no text unit of it came in")
            return
        source, target = (self._end(n, chunks) for n in (relation.source, relation.target))
        if source is None or target is None:
            self._complain("relations", relation, chunks, _NO_END)
            return
        if source is target:
            self._complain("relations", relation, chunks, "a relation of a thing to itself")
            return
        self._cite("relationships", relation.number, chunks)
        label, told, turned = _named(relation)
        if turned:
            source, target = target, source
        weights = _shares(relation.weight, len(chunks))
        if sum(weights) != relation.weight:
            self.counts["weights that were rounded"] += 1
        for chunk, weight in zip(chunks, weights, strict=True):
            self._relate(chunk, source, label, target, weight, told)
        self.counts["relations"] += 1

    def _relate(
        self,
        chunk: Chunk,
        source: _MergedRows,
        label: str,
        target: _MergedRows,
        weight: int,
        told: str,
    ) -> None:
        for thing in (source, target):
            if chunk.id not in thing.places:
                self._place(thing, chunk)
                self.counts["mentions added for ends of relations"] += 1
        key = (entity_id(source.form), label, entity_id(target.form))
        known = self.relations[chunk.id].get(key)
        if known is not None:
            self.relations[chunk.id][key] = replace(
                known,
                weight=known.weight + weight,
                description=join_sentences((known.description, told)),
            )
            return
        self.relations[chunk.id][key] = Relation(
            chunk.id, key[0], label, key[2], weight, description=told
        )

    def _end(self, name: str, chunks: Sequence[Chunk]) -> _MergedRows | None:
        """Return the entity of a name; a new one where no row names it but the text does."""
        form = normal_form(name)
        thing = self.things.get(form)
        if thing is not None or not form:
            return thing
        naming = [chunk for chunk in chunks if self.grounds.find(form, chunk.id)]
        if not naming:
            return None
        thing = self.things[form] = _MergedRows(form, self.grounds.names[form], "")
        for chunk in naming:
            self._place(thing, chunk)
        self.counts["entities added for ends of relations"] += 1
        return thing

    def _shared_chunks(self, source: str, target: str) -> list[Chunk]:
        things = [self.things.get(normal_form(name)) for name in (source, target)]
        held = [thing.places.keys() for thing in things if thing is not None]
        return [self.chunks[key] for key in held[0] if key in held[1]] if len(held) == 2 else []

    def _add_claim(self, claim: ForeignClaim) -> None:
        """Take a claim on two entities as a relation, one on a single entity as a description."""
        chunks = self._chunks((claim.unit_id,) if claim.unit_id else ())
        subject = self.things.get(normal_form(claim.subject))
        target = self.things.get(normal_form(claim.object)) if claim.object else None
        reason = ""
        if not chunks:
            reason = "no text unit of it came in"
        elif subject is None:
            reason = "its subject is no entity"
        elif claim.status == _FALSE:
            reason = "it is marked as false"
        if reason or subject is None:
            self.losses.add("claims", reason)
            return
        self._cite("claims", claim.number, chunks)
        if target is not None and target is not subject and claim.type:
            label = claim.type.lower() if claim.type.isascii() else claim.type
            for chunk in chunks:
                told = one_line(claim.description)
                self._relate(chunk, subject, one_line(label.replace("_", " ")), target, 1, told)
            self.counts["claims as relations"] += 1
            return
        for chunk in chunks:
            self._place(subject, chunk)
            self.told[chunk.id].setdefault(subject.form, []).append(one_line(claim.description))
        self.counts["claims as descriptions"] += 1

    def _describe(self) -> None:
        """Give each description to the first chunk of each document, one with the name before."""
        for thing in self.things.values():
            first: dict[str, str] = {}
            for key in sorted(
                thing.places, key=lambda key: (not thing.places[key], self.chunks[key].ordinal)
            ):
                first.setdefault(self.chunks[key].document_id, key)
            for key in first.values() if thing.descriptions else ():
                texts = self.told[key].setdefault(thing.form, [])
                texts[:0] = thing.descriptions

    def _by_chunk(self) -> dict[str, list[_MergedRows]]:
        found: defaultdict[str, list[_MergedRows]] = defaultdict(list)
        for thing in self.things.values():
            if is_shouted(thing.name):
                thing.name = self._name_in_text(thing) or thing.name
            for key in thing.places:
                found[key].append(thing)
        return found

    def _name_in_text(self, thing: _MergedRows) -> str:
        """Return the form of a whole name that the text has most often."""
        forms = Counter(
            surface
            for key, spans in thing.places.items()
            for surface in (self.grounds.surface(span, key) for span in spans)
            if normal_form(surface) == thing.form
        )
        return min(forms, key=lambda form: (-forms[form], form)) if forms else ""

    def _extraction(self, key: str, things: Iterable[_MergedRows]) -> Extraction:
        held = list(things)
        total = sum(len(thing.places[key]) for thing in held)
        mentions = []
        for thing in held:
            spans = thing.places[key]
            share = min(MOST_ABOUT, SALIENCE_ABOUT * len(spans) / total) if total else 0.0
            mentions.append(
                Mention(key, thing.form, thing.name, thing.type, spans, round(share, 4))
            )
        return Extraction(key, tuple(mentions), tuple(self._supported(key, held)))

    def _supported(self, key: str, held: Iterable[_MergedRows]) -> Iterator[Relation]:
        """Yield the relations of a chunk with the sentences that support them best."""
        if not self.relations[key]:
            return
        text = ChunkText(self.chunks[key])
        places = {entity_id(thing.form): thing.places[key] for thing in held}
        for relation in self.relations[key].values():
            ends = (places[relation.source], places[relation.target])
            words = f"{relation.relation} {relation.description}"
            yield replace(relation, span=text.best_sentence(ends, words))

    def _descriptions(self, key: str) -> list[Description]:
        return [
            Description(key, form, join_sentences(texts))
            for form, texts in self.told[key].items()
            if any(texts)
        ]

    def _reading(self, key: str) -> ChunkReading:
        complaints = tuple(self.complaints[key][:_MOST_COMPLAINTS])
        status = ReadingStatus.PARTIAL if complaints else ReadingStatus.OK
        return ChunkReading(key, self.index.format, status, complaints=complaints)

    def _complain(
        self, kind: str, relation: ForeignRelation, chunks: Iterable[Chunk], reason: str
    ) -> None:
        self.losses.add(kind, reason)
        for chunk in chunks:
            self.complaints[chunk.id].append(f"{relation.source} | {relation.target}: {reason}")

    def _cite(self, kind: str, number: int, chunks: Iterable[Chunk]) -> None:
        self.cited[kind, number] = tuple(dict.fromkeys(chunk.id for chunk in chunks))

    def _chunks(self, unit_ids: Iterable[str]) -> list[Chunk]:
        found = {c.id: c for key in unit_ids for c in self.chunks_of.get(key, ())}
        return list(found.values())

    def _counted(self) -> Counter[str]:
        for unit in self.index.units:
            self._cite("sources", unit.number, self.chunks_of.get(unit.id, ()))
        places = [spans for thing in self.things.values() for spans in thing.places.values()]
        self.counts["entities"] = len(self.things)
        self.counts["mentions"] = len(places)
        self.counts["mentions whose name is not in the text"] = sum(not spans for spans in places)
        self.counts["descriptions"] = sum(len(self._descriptions(key)) for key in self.chunks)
        return self.counts


def _named(relation: ForeignRelation) -> tuple[str, str, bool]:
    """Return a relation's name, what is told of it, and whether its ends must change places."""
    described = one_line(relation.description)
    source, target = one_line(relation.source), one_line(relation.target)
    label, told = split_relation(source, target, described)
    if label:
        return label, told, False
    if not relation.directed:
        turned = name_relation(target, source, described)
        if turned:
            return turned, described, True
    label = one_line(relation.label) or unnamed_relation(source + target + described)
    return label, described, False


def _shares(weight: float, chunks: int) -> list[int]:
    """Share a weight out over chunks, as whole numbers of at least 1."""
    whole = max(round(weight), chunks)
    share, rest = divmod(whole, chunks)
    return [share + (place < rest) for place in range(chunks)]


ChunksOf = Callable[[Iterable[str]], Sequence[Chunk]]


class NamePlaces:
    """The places of names in chunks; ``names`` has one name of each normal form, the first.

    The words of a chunk take megabytes while it is searched, and so it is searched once, for all
    names that the index links to it.
    """

    def __init__(
        self, index: ForeignIndex, chunks: Mapping[str, Chunk], chunks_of: ChunksOf
    ) -> None:
        self.names: dict[str, str] = {}
        self._chunks = chunks
        wanted: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for name, unit_ids in _links(index):
            form = normal_form(name)
            if form:
                self.names.setdefault(form, name)
                for chunk in chunks_of(unit_ids):
                    wanted[chunk.id][form] = None
        self._places = {key: self._search(key, forms) for key, forms in wanted.items()}

    def find(self, form: str, chunk_id: str) -> tuple[Span, ...]:
        """Return where a name stands in a chunk; () where it does not."""
        places = self._places.setdefault(chunk_id, {})
        if form not in places:
            places.update(self._search(chunk_id, (form,)))
        return places[form]

    def surface(self, span: Span, chunk_id: str) -> str:
        """Return what stands at a place, on one line."""
        chunk = self._chunks[chunk_id]
        offset = chunk.span.start
        return one_line(chunk.text[span.start - offset : span.end - offset])

    def _search(self, chunk_id: str, forms: Iterable[str]) -> dict[str, tuple[Span, ...]]:
        text = ChunkText(self._chunks[chunk_id])
        names = ((form, self.names[form]) for form in forms)
        return {form: text.find(name) or text.find_part(name) for form, name in names}


def _links(index: ForeignIndex) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield every name with the text units that are said to hold it, entities first."""
    for entity in index.entities:
        yield written_name(one_line(entity.name), entity.description), entity.unit_ids
    for relation in index.relations:
        for end in (relation.source, relation.target):
            yield one_line(end), relation.unit_ids
    for claim in index.claims:
        yield one_line(claim.subject), (claim.unit_id,)
        if claim.object:
            yield one_line(claim.object), (claim.unit_id,)
