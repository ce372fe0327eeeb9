"""Compose documents from facts: a line per fact, a chunk per subject, documents of bounded size.

A fact is one line and one sentence. It contributes a relation with the span of its line, and
mentions of both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain, islice, pairwise
from typing import NamedTuple

from knotwork._extensions.graphs.foreign_indexes.labels import one_line, plain_type
from knotwork._extensions.graphs.graph_import.entity_names import (
    NameFinder,
    has_han,
    identifier_words,
)
from knotwork._extensions.graphs.graph_import.spool import (
    End,
    EntityStatements,
    Spool,
    SpooledEntity,
)
from knotwork._extensions.graphs.imported_documents import imported_source
from knotwork._indexing.prepare import Prepared
from knotwork._indexing.splitters import SectionTree
from knotwork._text.languages import detect_language
from knotwork._text.names import normal_form
from knotwork._text.sentences import split_sentences
from knotwork._text.token_counts import count_tokens
from knotwork._transform.model.reply_grounding import MOST_ABOUT, SALIENCE_ABOUT
from knotwork.records import (
    ALIAS_RELATION,
    Chunk,
    Document,
    Extraction,
    Mention,
    PropertyValue,
    Relation,
    Span,
    content_id,
    entity_id,
    value_text,
)

CHUNK_TOKENS = 200
"""A chunk is full at this number of tokens."""
PART_CHUNKS = 2_000
"""Most chunks of a document; a larger graph becomes several documents."""
_VOWELS = frozenset("aeiou")
_LONGEST_NAME = 200
"""Most characters of a name."""
_LONGEST_LINE = 600
"""Most characters of a value on one line; a longer one is split into sentences."""


class NameInLine(NamedTuple):
    """A name in a line; ``start`` is its offset in the line, ``shown`` its best spelling."""

    form: str
    name: str
    shown: str
    type: str
    start: int


class FactLine(NamedTuple):
    """A line of text with its names, and the relation that it states, if any.

    A relation is (normal form of the source, name, normal form of the target).
    """

    text: str
    names: tuple[NameInLine, ...]
    relation: tuple[str, str, str] | None = None


@dataclass(slots=True)
class _Passage:
    """The lines of a chunk."""

    subject: SpooledEntity
    lines: list[FactLine] = field(default_factory=list)
    tokens: int = 0


def lines_about(
    entity: SpooledEntity,
    statements: EntityStatements,
    facts: Iterable[End],
    hidden: frozenset[str],
) -> Iterator[FactLine]:
    """Yield the lines of an entity: its types, aliases, properties and facts.

    ``hidden`` properties are part of its name and left out. Without any line, yield its name.
    """
    others = (entity.plain, *statements.names[1:], *statements.aliases)
    lines = chain(
        _type_lines(entity, statements.labels),
        _alias_lines(entity, others),
        _property_lines(entity, statements.properties, hidden),
        chain.from_iterable(_fact_lines(entity, end) for end in facts),
    )
    yield next(lines, FactLine(_ended(entity.name), (_subject(entity),)))
    yield from lines


def compose_parts(
    spool: Spool, finder: NameFinder, *, name: str, root: str, metadata: Mapping[str, str]
) -> Iterator[Prepared]:
    """Yield the documents of a graph in order; a single one has the uri of the graph."""
    passages = _passages(spool, finder)
    first = next(passages, None)
    number = 0
    while first is not None:
        number += 1
        held = [first, *islice(passages, PART_CHUNKS - 1)]
        first = next(passages, None)
        uri = root if number == 1 and first is None else f"{root}/{number}"
        yield _part(held, name, uri, root, metadata)


def _passages(spool: Spool, finder: NameFinder) -> Iterator[_Passage]:
    for entity in spool.subjects():
        statements = spool.statements_of(entity.number)
        hidden = frozenset(finder.name_properties(statements, entity.label))
        passage = _Passage(entity)
        for line in lines_about(entity, statements, spool.facts_of(entity.number), hidden):
            tokens = count_tokens(line.text)
            if passage.lines and passage.tokens + tokens > CHUNK_TOKENS:
                yield passage
                passage = _Passage(entity)
            passage.lines.append(line)
            passage.tokens += tokens
        yield passage


def _type_lines(entity: SpooledEntity, labels: Iterable[str]) -> Iterator[FactLine]:
    for label in labels:
        words = identifier_words(label)
        article = "an" if words[:1].lower() in _VOWELS else "a"
        verb = "是" if has_han(entity.name) else f"is {article}"
        yield FactLine(_ended(f"{entity.name} {verb} {words}"), (_subject(entity),))


def _alias_lines(entity: SpooledEntity, others: Iterable[str]) -> Iterator[FactLine]:
    for other in dict.fromkeys(one_line(other) for other in others):
        form = normal_form(other)
        if not form or other == entity.name:
            continue
        opening = (
            f"{entity.name}{' 又名 ' if has_han(entity.name + other) else ' is also known as '}"
        )
        named = NameInLine(form, other, other, "", len(opening))
        relation = (form, ALIAS_RELATION, entity.form) if form != entity.form else None
        yield FactLine(_ended(opening + other), (_subject(entity), named), relation)


def _property_lines(
    entity: SpooledEntity, properties: Mapping[str, PropertyValue], hidden: frozenset[str]
) -> Iterator[FactLine]:
    for name, value in properties.items():
        text = "" if name in hidden else value_text(value)
        if text:
            yield from _value_lines(entity, f"{entity.name} {identifier_words(name)}: ", text)


def _value_lines(entity: SpooledEntity, opening: str, text: str) -> Iterator[FactLine]:
    """Yield a value on one line, or a long one with a sentence per line."""
    if len(text) <= _LONGEST_LINE:
        yield FactLine(_ended(opening + text), (_subject(entity),))
        return
    first, *rest = [text[start:end] for start, end in split_sentences(text)]
    yield FactLine(_ended(opening + first), (_subject(entity),))
    for sentence in rest:
        yield FactLine(_ended(sentence), ())


def _fact_lines(entity: SpooledEntity, end: End) -> Iterator[FactLine]:
    if len(end.name) > _LONGEST_NAME:  # a description rather than a name
        yield from _value_lines(entity, f"{entity.name} {end.relation}: ", end.name)
        return
    opening = f"{entity.name} {end.relation} "
    properties = ((identifier_words(k), value_text(value)) for k, value in end.properties.items())
    details = "; ".join(f"{name}: {value}" for name, value in properties if value)
    text = f"{opening}{end.name}{f' ({details})' if details else ''}"
    kind = _type(end.label)
    target = NameInLine(end.form, end.name, end.shown, kind, len(opening))
    # A relation of an entity to itself is text only, not an edge.
    relation = (entity.form, end.relation, end.form) if entity.form != end.form else None
    yield FactLine(_ended(text), (_subject(entity), target), relation)


def _subject(entity: SpooledEntity) -> NameInLine:
    kind = _type(entity.label)
    return NameInLine(entity.form, entity.name, entity.shown, kind, 0)


@lru_cache(maxsize=1_024)
def _type(label: str) -> str:
    """Return a label in the spelling of entity types."""
    return plain_type(identifier_words(label))


def _ended(text: str) -> str:
    if text.endswith((".", "!", "?", "。", "！", "？")):
        return text
    return f"{text}。" if has_han(text) else f"{text}."


def _part(
    passages: Sequence[_Passage], title: str, uri: str, root: str, metadata: Mapping[str, str]
) -> Prepared:
    texts = ["\n".join(line.text for line in passage.lines) for passage in passages]
    text = "\n\n".join(texts)
    language = detect_language(text)
    document = Document(uri, text, title=title, language=language, metadata=dict(metadata))
    section = SectionTree(document).sections[0]
    chunks, extractions = [], []
    start = 0
    for number, (passage, body) in enumerate(zip(passages, texts, strict=True)):
        span = Span(start, start + len(body))
        ends = accumulate((len(line.text) + 1 for line in passage.lines), initial=start)
        places = [Span(begin, end - 1) for begin, end in pairwise(ends)]
        chunk = Chunk(
            id=content_id("chunk", document.id, *span, body),
            document_id=document.id,
            section_id=section.id,
            ordinal=number,
            span=span,
            text=body,
            sentences=tuple(places),
            document_title=document.title,
        )
        chunks.append(chunk)
        extractions.append(_extract(passage, chunk.id, places))
        start = span.end + 2
    source = imported_source(document, root)
    return Prepared(source, document, (section,), tuple(chunks), tuple(extractions), settings="")


def _extract(passage: _Passage, chunk_id: str, places: Iterable[Span]) -> Extraction:
    subject = _subject(passage.subject)
    spans: dict[str, list[Span]] = {subject.form: []}
    names: dict[str, tuple[str, str]] = {subject.form: (subject.shown, subject.type)}
    relations: dict[tuple[str, str, str], Relation] = {}
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
    mentions = []
    for form, found in spans.items():
        share = round(min(MOST_ABOUT, SALIENCE_ABOUT * len(found) / total), 4)
        about = 1.0 if form == subject.form else share
        mentions.append(Mention(chunk_id, form, *names[form], tuple(sorted(set(found))), about))
    return Extraction(chunk_id, tuple(mentions), tuple(relations.values()))
