"""An index of any size out of real passages, for measuring searches: no model is needed.

The first chunks are the passages as they are. When they are used up, chunks mix sentences of two
passages, with the entities and relations that our rules found in them, so that words and entities
keep their long-tailed distribution. Vectors are random, but those of a passage, its sentences and
the questions about it lie near each other, and passages gather in clusters.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexing import make_corpus
from knotwork._indexing.splitters import ChunkSizes, WholeSplitter
from knotwork._stores.base import Store
from knotwork._transform.rules import RuleExtractor
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    Chunk,
    Document,
    Mention,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

FloatMatrix = NDArray[np.float32]

DIMENSION = 384
CLUSTERS = 400
MOST_SENTENCES = 10
OWN_SENTENCES, OTHER_SENTENCES = 3, 2
MIXED_RELATIONS = 5
BATCH = 500


@dataclass(slots=True)
class Sentence:
    """One sentence; spans of mentions and relations count from its start."""

    text: str
    mentions: list[tuple[str, str, str, Span]] = field(default_factory=list)
    relations: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Passage:
    """A real passage as its sentences, and how much it is about each entity."""

    pid: str
    title: str
    sentences: list[Sentence]
    about: dict[str, float]
    names: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its vector."""

    text: str
    vector: FloatMatrix


def read_passages(folders: Sequence[Path], count: int) -> list[tuple[str, str, str]]:
    """Return up to ``count`` (pid, title, text), the same at any call."""
    if not folders:
        made = enumerate(make_corpus(min(count, 20_000)))
        return [(str(number), title, text) for number, (title, text) in made]
    found = []
    for folder in folders:
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                found.append((row["pid"], row.get("title", ""), row["text"]))
    random.Random(1).shuffle(found)
    return found[:count]


def read_passage(pid: str, title: str, text: str) -> Passage | None:
    """Split a passage into sentences and extract from it."""
    document = Document(pid, text, title, language="en")
    _, chunks = WholeSplitter(ChunkSizes()).split(document)
    if not chunks:
        return None
    (extraction,) = RuleExtractor().extract(document, chunks)
    spans = chunks[0].sentences[:MOST_SENTENCES]
    sentences = [Sentence(text[span.start : span.end]) for span in spans]
    for number, span in enumerate(spans):
        for mention in extraction.mentions:
            for place in mention.spans:
                if span.start <= place.start and place.end <= span.end:
                    inside = Span(place.start - span.start, place.end - span.start)
                    row = (mention.normal_form, mention.name, mention.type, inside)
                    sentences[number].mentions.append(row)
        sentences[number].relations = [
            (relation.source, relation.relation, relation.target)
            for relation in extraction.relations
            if relation.span and span.start <= relation.span.start < span.end
        ]
    about = {mention.normal_form: mention.about for mention in extraction.mentions}
    names = {mention.normal_form: (mention.name, mention.type) for mention in extraction.mentions}
    return Passage(pid, title, sentences, about, names)


class Topics:
    """A unit vector for each passage; those of a cluster are near each other."""

    def __init__(self, pids: Sequence[str]) -> None:
        generator = np.random.default_rng(3)
        clusters = generator.normal(size=(CLUSTERS, DIMENSION))
        member = generator.integers(CLUSTERS, size=len(pids))
        rows = generator.normal(size=(len(pids), DIMENSION)) + 0.7 * clusters[member]
        self._rows = unit(rows)
        self._places = {pid: place for place, pid in enumerate(pids)}
        self._generator = generator

    def near(self, pid: str, *, count: int, spread: float) -> FloatMatrix:
        """Return unit vectors around a passage's, of shape (count, DIMENSION)."""
        noise = self._generator.normal(size=(count, DIMENSION)) * spread / DIMENSION**0.5
        return unit(self._rows[self._places[pid]] + noise)

    def __contains__(self, pid: str) -> bool:
        return pid in self._places


def unit(rows: NDArray[np.floating]) -> FloatMatrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@dataclass(slots=True)
class Made:
    """A chunk with all that is written for it."""

    document: Document
    section: Section
    chunk: Chunk
    mentions: list[Mention]
    relations: list[Relation]
    vectors: FloatMatrix


def make_chunks(passages: Sequence[Passage], topics: Topics, count: int) -> Iterator[Made]:
    """Yield ``count`` chunks: the passages first, then mixtures of two."""
    random_ = random.Random(5)
    for number in range(count):
        passage = passages[number % len(passages)]
        lap = number // len(passages)
        if lap == 0:
            yield _make(f"p{number}", passage, passage.sentences, {}, topics)
            continue
        other = random_.choice(passages)
        own = random_.sample(passage.sentences, min(OWN_SENTENCES, len(passage.sentences)))
        more = random_.sample(other.sentences, min(OTHER_SENTENCES, len(other.sentences)))
        about = {form: 0.3 * value for form, value in other.about.items()}
        about |= {form: 0.6 * value for form, value in passage.about.items()}
        made = _make(f"p{number}", passage, [*own, *more], about, topics)
        made.relations.extend(_mixed_relations(made, random_))
        yield made


def _mixed_relations(made: Made, random_: random.Random) -> list[Relation]:
    """Relate some entities that met in this chunk alone, so that edges grow with the index."""
    ends = [mention.entity_id for mention in made.mentions]
    if len(ends) < 2:
        return []
    pairs = {tuple(random_.sample(ends, 2)) for _ in range(MIXED_RELATIONS)}
    chunk = made.chunk.id
    return [Relation(chunk, a, CO_OCCURRENCE_RELATION, b) for a, b in sorted(pairs)]


def _make(
    uri: str,
    passage: Passage,
    sentences: Sequence[Sentence],
    about: dict[str, float],
    topics: Topics,
) -> Made:
    text = " ".join(sentence.text for sentence in sentences)
    document = Document(uri, text, passage.title, language="en")
    whole = Span(0, len(text))
    section = Section(content_id(uri, "s"), document.id, None, 0, 0, "", whole)
    chunk_id = content_id(uri, 0)
    places: dict[str, list[Span]] = {}
    names = dict(passage.names)
    spans, start = [], 0
    for sentence in sentences:
        spans.append(Span(start, start + len(sentence.text)))
        for form, name, type_, span in sentence.mentions:
            places.setdefault(form, []).append(Span(start + span.start, start + span.end))
            names.setdefault(form, (name, type_))
        start += len(sentence.text) + 1
    for form, value in passage.about.items():
        if value >= 0.95:  # named by the title alone
            places.setdefault(form, [])
    weights = about or passage.about
    mentions = [
        Mention(chunk_id, form, *names[form], tuple(found), weights.get(form, 0.0))
        for form, found in places.items()
    ]
    ends = {mention.entity_id for mention in mentions}
    relations = {
        (source, name, target): Relation(chunk_id, source, name, target)
        for sentence in sentences
        for source, name, target in sentence.relations
        if source in ends and target in ends
    }
    chunk = Chunk(
        chunk_id, document.id, section.id, 0, whole, text, tuple(spans), passage.title
    )  # fmt: skip
    vectors = topics.near(passage.pid, count=max(len(sentences), 1), spread=1.0)
    return Made(document, section, chunk, mentions, list(relations.values()), vectors)


@dataclass(slots=True)
class Built:
    """What an index took to write: seconds by the clock and of the processor, and its passages."""

    read_s: float
    write_s: float
    write_cpu_s: float
    passages: int


def build(store: Store, folders: Sequence[Path], count: int) -> Built:
    """Write ``count`` chunks into an empty store."""
    ((_, finish),) = grow(lambda: nullcontext(store), folders, [count])
    return finish(store)


def grow(
    opened: Callable[[], AbstractContextManager[Store]],
    folders: Sequence[Path],
    sizes: Sequence[int],
) -> Iterator[tuple[int, Callable[[Store], Built]]]:
    """Write chunks into a store that is opened for each of the ascending sizes; yield the size.

    With it comes a function that completes the store, or a copy of it, with what is written once:
    names and vectors of entities.
    """
    start = time.perf_counter()
    rows = read_passages(folders, sizes[-1])
    passages = [found for row in rows if (found := read_passage(*row)) and found.sentences]
    read_s = time.perf_counter() - start
    made = make_chunks(passages, Topics([pid for pid, _, _ in rows]), sizes[-1])
    chunks_of: Counter[str] = Counter()
    write_s = cpu_s = 0.0
    written = 0

    def finish(target: Store) -> Built:
        start, cpu = time.perf_counter(), time.process_time()
        _write_entities(target, chunks_of)
        spent = time.perf_counter() - start, time.process_time() - cpu
        return Built(read_s, write_s + spent[0], cpu_s + spent[1], len(passages))

    for size in sizes:
        with opened() as store:
            while written < size:
                batch = list(islice(made, min(BATCH, size - written)))
                start, cpu = time.perf_counter(), time.process_time()
                _write(store, batch)
                write_s += time.perf_counter() - start
                cpu_s += time.process_time() - cpu
                written += len(batch)
                named = (mention.normal_form for item in batch for mention in item.mentions)
                chunks_of.update(named)
        yield size, finish


def _write(store: Store, batch: Sequence[Made]) -> None:
    with store.transaction():
        for item in batch:
            store.documents.put(item.document, [item.section], [item.chunk])
        store.graph.upsert(
            mentions=(mention for item in batch for mention in item.mentions),
            relations=(relation for item in batch for relation in item.relations),
        )
        chunks = [item.chunk for item in batch]
        store.texts("chunk").add((c.id, f"{c.context}\n{c.text}") for c in chunks)
        store.vectors("chunk").put(
            (item.chunk.id, item.chunk.id, unit(item.vectors.mean(axis=0, keepdims=True)))
            for item in batch
        )
        store.vectors("sentence").put(
            (item.chunk.id, item.chunk.id, item.vectors)
            for item in batch
            if item.chunk.sentences
        )  # fmt: skip


def _write_entities(store: Store, chunks_of: Counter[str]) -> None:
    generator = np.random.default_rng(4)
    forms = list(chunks_of)
    for first in range(0, len(forms), 10 * BATCH):
        block = forms[first : first + 10 * BATCH]
        linking = [form for form in block if chunks_of[form] > 1]
        rows = unit(generator.normal(size=(len(linking), DIMENSION)))
        found = store.graph.entities([entity_id(form) for form in block])
        with store.transaction():
            store.texts("entity").add((entity.id, entity.name) for entity in found.values())
            store.vectors("entity").put(
                (entity_id(form), form, row[np.newaxis])
                for form, row in zip(linking, rows, strict=True)
            )


def ask(folders: Sequence[Path], count: int, passages: int) -> list[Asked]:
    """Return ``count`` questions about the passages, every folder's in turn."""
    rows = read_passages(folders, passages)
    topics = Topics([pid for pid, _, _ in rows])
    if not folders:
        texts = [(f"What {' '.join(row[2].split()[1:7])}?", row[0]) for row in rows[:count]]
        return [Asked(text, topics.near(pid, count=1, spread=1.2)[0]) for text, pid in texts]
    by_folder = [_read_questions(folder, topics) for folder in folders]
    mixed = [question for row in zip(*by_folder, strict=False) for question in row]
    return [
        Asked(text, topics.near(pid, count=1, spread=1.2)[0])
        for text, pid in mixed[:count]
    ]  # fmt: skip


def _read_questions(folder: Path, topics: Topics) -> list[tuple[str, str]]:
    found = []
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            pids = [pid for pid in row.get("gold_pids", []) if pid in topics]
            if pids:
                found.append((row["question"], pids[0]))
    return found
