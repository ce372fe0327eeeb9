"""Compose documents from facts: a line per fact, a chunk per subject, documents of bounded size.

Each fact is one line and one sentence, and a relation of its chunk at the span of its line; both
ends are mentions where they occur in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from knotwork.indexing.foreign_indexes.labels import one_line, plain_type
from knotwork.indexing.graph_import.entity_names import NameFinder, has_han, say_property
from knotwork.indexing.graph_import.formats import say_value
from knotwork.indexing.graph_import.spool import End, EntityStatements, Spool, SpooledEntity
from knotwork.indexing.section_tree import SectionTree
from knotwork.records import (
    ALIAS_RELATION,
    GRAPH_URI,
    Chunk,
    Document,
    Extraction,
    Mention,
    PropertyValue,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)
from knotwork.text.languages import detect_language
from knotwork.text.names import normal_form
from knotwork.text.sentences import split_sentences
from knotwork.text.token_counts import count_tokens
from knotwork.transform.model.reply_grounding import MOST_ABOUT, SALIENCE_ABOUT

CHUNK_TOKENS = 200
"""A chunk ends with the line that fills it."""
PART_CHUNKS = 2_000
"""Chunks of one document: a bigger graph is several documents, each written at once."""
_VOWELS = frozenset("aeiou")
_LONGEST_NAME = 200
"""Characters of what may be the name of a thing."""
_LONGEST_LINE = 600
"""Characters of a value on one line; a longer one goes on over several, sentence by sentence."""


@dataclass(frozen=True, slots=True)
class NameInLine:
    """A name in a line; ``start`` is its offset there, ``shown`` its best spelling."""

    form: str
    name: str
    shown: str
    type: str
    start: int


@dataclass(frozen=True, slots=True)
class FactLine:
    """A line of text with the names in it, and the relation that it states: source form, name and
    target form, if it states one.
    """

    text: str
    names: tuple[NameInLine, ...]
    relation: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class GraphPart:
    """A document with its chunks and what they contribute; ``facts`` are the relations in it."""

    document: Document
    section: Section
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]


@dataclass(slots=True)
class _Passage:
    """The lines of one chunk in the making."""

    subject: SpooledEntity
    lines: list[FactLine] = field(default_factory=list)
    tokens: int = 0


def lines_about(
    thing: SpooledEntity, said: EntityStatements, facts: Iterable[End], hidden: frozenset[str]
) -> Iterator[FactLine]:
    """Yield what is said of a thing: its types, other names, properties and facts.

    ``hidden`` are the properties that its name says already. A thing of which nothing is said has
    its name for a line.
    """
    told = False
    others = (thing.plain, *said.names[1:], *said.aliases)
    for line in chain(
        _type_lines(thing, said.labels),
        _alias_lines(thing, others),
        _property_lines(thing, said.properties, hidden),
        chain.from_iterable(_fact_lines(thing, end) for end in facts),
    ):
        told = True
        yield line
    if not told:
        yield FactLine(_ended(thing.name), (_subject(thing),))


def compose_parts(
    spool: Spool, finder: NameFinder, *, name: str, metadata: Mapping[str, str]
) -> Iterator[GraphPart]:
    """Yield the documents of a graph in order; a graph of one document has its own name for it."""
    passages: list[_Passage] = []
    number = 0
    for passage in _passages(spool, finder):
        if len(passages) == PART_CHUNKS:
            number += 1
            yield _part(passages, name, f"{GRAPH_URI}{name}/{number}", metadata)
            passages = []
        passages.append(passage)
    if passages:
        uri = f"{GRAPH_URI}{name}/{number + 1}" if number else f"{GRAPH_URI}{name}"
        yield _part(passages, name, uri, metadata)


def _passages(spool: Spool, finder: NameFinder) -> Iterator[_Passage]:
    for thing in spool.subjects():
        said = spool.said_of(thing.number)
        hidden = frozenset(finder.name_properties(said, thing.label))
        passage = _Passage(thing)
        for line in lines_about(thing, said, spool.facts_of(thing.number), hidden):
            tokens = count_tokens(line.text)
            if passage.lines and passage.tokens + tokens > CHUNK_TOKENS:
                yield passage
                passage = _Passage(thing)
            passage.lines.append(line)
            passage.tokens += tokens
        yield passage


def _type_lines(thing: SpooledEntity, labels: Iterable[str]) -> Iterator[FactLine]:
    for label in labels:
        said = say_property(label)
        article = "an" if said[:1].lower() in _VOWELS else "a"
        verb = "是" if has_han(thing.name) else f"is {article}"
        yield FactLine(_ended(f"{thing.name} {verb} {said}"), (_subject(thing),))


def _alias_lines(thing: SpooledEntity, others: Iterable[str]) -> Iterator[FactLine]:
    for other in dict.fromkeys(one_line(other) for other in others):
        form = normal_form(other)
        if not form or other == thing.name:
            continue
        opening = f"{thing.name}{' 又名 ' if has_han(thing.name + other) else ' is also known as '}"
        named = NameInLine(form, other, other, "", len(opening))
        relation = (form, ALIAS_RELATION, thing.form) if form != thing.form else None
        yield FactLine(_ended(opening + other), (_subject(thing), named), relation)


def _property_lines(
    thing: SpooledEntity, properties: Mapping[str, PropertyValue], hidden: frozenset[str]
) -> Iterator[FactLine]:
    for name, value in properties.items():
        text = "" if name in hidden else say_value(value)
        if text:
            yield from _told_lines(thing, f"{thing.name} {say_property(name)}: ", text)


def _told_lines(thing: SpooledEntity, opening: str, text: str) -> Iterator[FactLine]:
    """Yield a text on one line, or a long one on several."""
    if len(text) <= _LONGEST_LINE:
        yield FactLine(_ended(opening + text), (_subject(thing),))
        return
    first, *rest = [text[start:end] for start, end in split_sentences(text)]
    yield FactLine(_ended(opening + first), (_subject(thing),))
    for sentence in rest:
        yield FactLine(_ended(sentence), ())


def _fact_lines(thing: SpooledEntity, end: End) -> Iterator[FactLine]:
    if len(end.name) > _LONGEST_NAME:  # a description, and no name of a thing
        yield from _told_lines(thing, f"{thing.name} {end.relation}: ", end.name)
    else:
        yield _fact_line(thing, end)


def _fact_line(thing: SpooledEntity, end: End) -> FactLine:
    opening = f"{thing.name} {end.relation} "
    said = ((say_property(name), say_value(value)) for name, value in end.properties.items())
    told = "; ".join(f"{name}: {text}" for name, text in said if text)
    text = f"{opening}{end.name}{f' ({told})' if told else ''}"
    kind = _type(end.label)
    target = NameInLine(end.form, end.name, end.shown, kind, len(opening))
    # What relates a thing to itself is said, and is no edge.
    relation = (thing.form, end.relation, end.form) if thing.form != end.form else None
    return FactLine(_ended(text), (_subject(thing), target), relation)


def _subject(thing: SpooledEntity) -> NameInLine:
    kind = _type(thing.label)
    return NameInLine(thing.form, thing.name, thing.shown, kind, 0)


@lru_cache(maxsize=1_024)
def _type(label: str) -> str:
    """Return a label as types of entities are written."""
    return plain_type(say_property(label))


def _ended(text: str) -> str:
    if text.endswith((".", "!", "?", "。", "！", "？")):
        return text
    return f"{text}。" if has_han(text) else f"{text}."


def _part(passages: list[_Passage], name: str, uri: str, metadata: Mapping[str, str]) -> GraphPart:
    texts = ["\n".join(line.text for line in passage.lines) for passage in passages]
    text = "\n\n".join(texts)
    document = Document(
        uri, text, title=name, language=detect_language(text), metadata=dict(metadata)
    )
    section = SectionTree(document).sections[0]
    chunks, extractions = [], []
    start = 0
    for number, (passage, body) in enumerate(zip(passages, texts, strict=True)):
        span = Span(start, start + len(body))
        chunk_id = content_id("chunk", document.id, *span, body)
        places = _places(passage.lines, start)
        chunks.append(
            Chunk(
                id=chunk_id,
                document_id=document.id,
                section_id=section.id,
                ordinal=number,
                span=span,
                text=body,
                sentences=tuple(places),
                document_title=document.title,
            )
        )
        extractions.append(_extract(passage, chunk_id, places))
        start = span.end + 2
    return GraphPart(document, section, tuple(chunks), tuple(extractions))


def _places(lines: Iterable[FactLine], start: int) -> list[Span]:
    found = []
    for line in lines:
        found.append(Span(start, start + len(line.text)))
        start += len(line.text) + 1
    return found


def _extract(passage: _Passage, chunk_id: str, places: Iterable[Span]) -> Extraction:
    spans: dict[str, list[Span]] = {passage.subject.form: []}
    names: dict[str, tuple[str, str]] = {}
    relations: dict[tuple[str, str, str], Relation] = {}
    subject = _subject(passage.subject)
    names[subject.form] = subject.shown, subject.type
    for line, place in zip(passage.lines, places, strict=True):
        for named in line.names:
            start = place.start + named.start
            spans.setdefault(named.form, []).append(Span(start, start + len(named.name)))
            name, kind = names.get(named.form, (named.shown, ""))
            names[named.form] = name, kind or named.type
        if line.relation is not None:
            source, relation, target = line.relation
            key = entity_id(source), relation, entity_id(target)
            known = relations.get(key)
            weight = known.weight + 1 if known else 1
            span = known.span if known else place
            relations[key] = Relation(chunk_id, *key, weight, span)
    total = sum(map(len, spans.values())) or 1
    mentions = tuple(
        Mention(
            chunk_id,
            form,
            *names[form],
            tuple(sorted(set(found))),
            1.0
            if form == passage.subject.form
            else round(min(MOST_ABOUT, SALIENCE_ABOUT * len(found) / total), 4),
        )
        for form, found in spans.items()
    )
    return Extraction(chunk_id, mentions, tuple(relations.values()))
