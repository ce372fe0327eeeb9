"""Import a graph: spool its elements to disk, compose documents from its facts, and index these.

A fact is one line and one sentence; a chunk has the facts of a subject, and documents have a
bounded size. A fact contributes a relation with the span of its line, and mentions of both ends. If
the store can hold property graphs, the graph is also stored for Cypher.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from knotwork._cancellation import checked
from knotwork._extensions.graphs.editable_graph import Graph
from knotwork._extensions.graphs.foreign_indexes.labels import one_line, plain_type
from knotwork._extensions.graphs.graph_import.formats import (
    GraphSource,
    ImportOptions,
    ReadBytes,
    ReadFault,
    open_source,
)
from knotwork._extensions.graphs.graph_import.spool import (
    End,
    EntityStatements,
    NameFinder,
    Spool,
    SpooledEntity,
    has_han,
    identifier_words,
    is_iri,
    name_all,
    short_name,
)
from knotwork._extensions.graphs.imported_documents import (
    embed_batch,
    import_entries,
    imported_source,
    remove_others,
)
from knotwork._extensions.model_indexing.reply_grounding import MOST_ABOUT, SALIENCE_ABOUT
from knotwork._indexing.commit import Batch, commit_documents
from knotwork._indexing.embedding import (
    MOST_EMBEDDED_THINGS,
    NO_VECTORS,
    Embedding,
    check_embedder,
    check_not_switching,
)
from knotwork._indexing.prepare import Prepared
from knotwork._indexing.splitters import SectionTree
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_property_graphs
from knotwork._text.languages import detect_language
from knotwork._text.names import normal_form
from knotwork._text.sentences import split_sentences
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, IndexingError
from knotwork.records import (
    ALIAS_RELATION,
    GRAPH_URI,
    Chunk,
    Document,
    Extraction,
    Mention,
    PropertyNode,
    PropertyValue,
    Relation,
    Relationship,
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


MOST_EXAMPLES = 20
UNEMBEDDED_NOTE = (
    "The passages have no vectors, because embedding so many takes long. Full text and the graph"
    " find them. Import with --vectors to embed them."
)
_VERSION = "graph-1"
"""Version of the import; increase it if the same files would give another index."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """An invalid line of a file; with ``kept``, its valid part was imported."""

    file: str
    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class GraphImportReport:
    """The outcome of an import.

    ``formats`` maps file names to formats. ``things`` (entities), ``facts`` and distinct
    ``relations`` were read; ``loops`` of the facts relate an entity to itself and are in the text
    only. ``bad_lines`` counts the lines that were not fully read, by reason; ``examples`` are the
    first of them. ``documents`` and ``chunks`` were written, none if ``unchanged``.
    ``shared_names`` entities were renamed, because others share their name. ``removed`` are the
    documents of an earlier import that are no longer part of the graph.
    """

    name: str
    uri: str
    formats: Mapping[str, str]
    unchanged: bool = False
    things: int = 0
    facts: int = 0
    relations: int = 0
    loops: int = 0
    shared_names: int = 0
    documents: int = 0
    chunks: int = 0
    bad_lines: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[BadLine, ...] = ()
    removed: tuple[str, ...] = ()
    property_graph: bool = False
    embedder: str = ""
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


@Verb
def import_graph(
    store: Store,
    source: Graph | Sequence[Path],
    *,
    format: str = "",  # noqa: A002
    name: str = "",
    columns: Sequence[str] = (),
    delimiter: str = "",
    vectors: bool | None = None,
    embedding: Embedding | None = None,
) -> Steps[GraphImportReport]:
    """Import a graph, or files and folders as one graph, and return the report.

    ``name`` is the name of the graph, by default that of the first path. An earlier import of that
    name is replaced, or left unchanged if graph and options are the same. Raises UnknownName for an
    unknown format, IndexingError if no graph can be read, ConfigError for a graph in memory without
    a name, MissingExtra if a reader is not installed, MissingCapability if the store cannot hold
    imported graphs, SchemaMismatch if the index has vectors of another embedder, StoreBusy, and
    ModelError if the embedder fails.
    """
    embedding = embedding or Embedding()
    check_not_switching(store)
    check_embedder(store, embedding.name)
    opened = open_source(source, format=format)
    named = " ".join(name.replace("/", " ").split()) or opened.name
    if not named:
        raise ConfigError("A graph in memory has no name.", fix="Pass its `name`.")
    options = ImportOptions(tuple(columns), delimiter, vectors)
    run = _Import(store, opened, named, options, embedding)
    return (yield from run.steps())


class _Import:
    """State of one import."""

    def __init__(
        self,
        store: Store,
        source: GraphSource,
        name: str,
        options: ImportOptions,
        embedding: Embedding,
    ) -> None:
        self.store = store
        self.graphs = require_property_graphs(store)
        self.source = source
        self.name = name
        self.root = graph_root(name)
        self.options = options
        self.embedding = embedding
        self.bad: dict[str, int] = {}
        self.examples: list[BadLine] = []
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        self.begun = time.monotonic()

    def steps(self) -> Steps[GraphImportReport]:
        shaping = [_VERSION, self.embedding.identity, repr(self.options)]
        settings = content_id(*shaping, *self.source.digests())
        if self._is_current(settings) and self.name in self.graphs.names():
            return self._report(unchanged=True)
        with Spool() as spool:
            yield from self._read(spool)
            return (yield from self._write(spool, settings))

    def _is_current(self, settings: str) -> bool:
        """Return True if the index has exactly the documents of this graph.

        The settings of the last document include their number.
        """
        marks = [entry.settings for entry in import_entries(self.store, self.root)]
        last = f"{settings} {len(marks)}"
        return marks.count(last) == 1 and marks.count(settings) == len(marks) - 1

    def _read(self, spool: Spool) -> Iterator[Progress]:
        total = self.source.size
        for file, element in checked(self.source.read(self.options)):
            if isinstance(element, ReadBytes):
                yield Progress("read", min(element.count, total), total)
            elif isinstance(element, ReadFault):
                self._record_fault(file, element)
            else:
                spool.add(element)
        yield Progress("read", total, total)
        spool.finish_reading()
        if not spool.count("SELECT count(*) FROM entity"):
            raise self._empty_graph()
        self.seconds["read"] = self._lap()

    def _write(self, spool: Spool, settings: str) -> Steps[GraphImportReport]:
        finder = name_all(spool, self.name)
        self.seconds["name"] = self._lap()
        total = spool.count("SELECT count(*) FROM entity")
        wanted = self.options.vectors
        has_vectors = total <= MOST_EMBEDDED_THINGS if wanted is None else wanted
        if self.embedding and wanted is None and not has_vectors:
            self.notes.append(UNEMBEDDED_NOTE)
        key = self.embedding.chunk_key if has_vectors else lambda _: NO_VECTORS
        metadata = {"imported_from": self.source.origin}
        parts = compose_parts(spool, finder, name=self.name, root=self.root, metadata=metadata)
        uris: list[str] = []
        chunks = 0
        for part, following in pairwise(chain(parts, [None])):
            assert part is not None, "only the last item is None"
            uris.append(part.document.uri)
            is_last = following is None
            mark = f"{settings} {len(uris)}" if is_last else settings
            keys = tuple(map(key, part.chunks)) if self.embedding else ()
            batch = Batch()
            batch.add(replace(part, settings=mark, keys=keys))
            for done in embed_batch(self.store, batch, self.embedding):
                yield Progress("write", min(chunks + done, total), total)
            with self.store.transaction():
                self._commit(batch)
                if is_last:
                    removed = remove_others(self.store, self.root, uris)
                    self.graphs.put(self.name, _nodes(spool), _relationships(spool))
            chunks += batch.chunks
            yield Progress("write", min(chunks, total), total)
        self.seconds["write"] = self._lap()
        yield Progress("write", total, total)
        found = {question: spool.count(sql) for question, sql in _COUNTS.items()}
        return self._report(
            documents=len(uris), chunks=chunks, removed=removed, property_graph=True, **found
        )

    def _commit(self, batch: Batch) -> None:
        """Write a document, unless an interrupted run has already written it."""
        (prepared,) = batch.prepared
        entry = self.store.ledger.get([prepared.source.uri]).get(prepared.source.uri)
        is_written = entry is not None and (entry.revision, entry.settings, entry.error) == (
            prepared.document.revision,
            prepared.settings,
            "",
        )
        if not is_written:
            commit_documents(
                self.store, [prepared], vectors=batch.vectors, embedding=self.embedding
            )

    def _record_fault(self, file: str, fault: ReadFault) -> None:
        self.bad[fault.reason] = self.bad.get(fault.reason, 0) + 1
        if len(self.examples) < MOST_EXAMPLES:
            text = fault.text if len(fault.text) <= 80 else f"{fault.text[:79]}…"
            self.examples.append(BadLine(file, fault.line, fault.reason, text, fault.kept))

    def _empty_graph(self) -> IndexingError:
        why = ""
        if self.examples:
            first = self.examples[0]
            why = f" Line {first.line} of `{first.file}`: {first.reason}."
        return IndexingError(
            f"No entity or relation could be read from {self.source.shown}.{why}",
            fix="Set the --format, or the --columns of a table.",
        )

    def _report(self, **found: Any) -> GraphImportReport:  # noqa: ANN401 - fields of the report
        self.seconds["total"] = time.monotonic() - self.begun
        return GraphImportReport(
            self.name,
            self.root,
            self.source.formats,
            bad_lines=dict(sorted(self.bad.items(), key=lambda item: (-item[1], item[0]))),
            examples=tuple(self.examples),
            embedder=self.embedding.name,
            notes=tuple(self.notes),
            seconds=self.seconds,
            **found,
        )

    def _lap(self) -> float:
        """Return the seconds since the last stage ended."""
        return time.monotonic() - self.begun - sum(self.seconds.values())


_COUNTS = {
    "things": "SELECT count(*) FROM entity",
    "facts": "SELECT count(*) FROM fact",
    "relations": "SELECT count(*) FROM relation",
    "shared_names": "SELECT count(*) FROM entity WHERE plain != ''",
    "loops": "SELECT count(*) FROM fact f JOIN entity s ON s.id = f.source"
    " JOIN entity t ON t.id = f.target WHERE s.form = t.form",
}


def describe_graph_import(report: GraphImportReport) -> dict[str, Any]:
    """Return a report as JSON for the command line and the server."""
    seconds = {stage: round(seconds, 3) for stage, seconds in report.seconds.items()}
    return asdict(report) | {"seconds": seconds}


_RELATIONSHIP_ROWS = (
    "SELECT f.id, r.raw, f.source, f.target, f.properties FROM fact f"
    " JOIN relation r ON r.id = f.relation ORDER BY f.id"
)


def graph_root(name: str) -> str:
    """Return the root of a graph in the ledger, which is never inside a folder."""
    return f"{GRAPH_URI}{name}"


def _nodes(spool: Spool) -> Iterator[PropertyNode]:
    rows = spool.rows("SELECT id, key, name FROM entity ORDER BY id")
    for (entity, key, name), stated in spool.with_statements(rows):
        properties = stated.properties if stated else {}
        if stated is None or stated.names or not properties:
            properties.setdefault("name", name)  # one derived from an id is not added to others
        if is_iri(key):
            properties.setdefault("iri", key)
        yield PropertyNode(str(entity), tuple(stated.labels) if stated else (), properties)


def _relationships(spool: Spool) -> Iterator[Relationship]:
    for number, raw, source, target, packed in spool.rows(_RELATIONSHIP_ROWS):
        properties = json.loads(packed) if packed else {}
        kind = short_name(raw) if is_iri(raw) else raw
        yield Relationship(str(number), kind, str(source), str(target), properties)
