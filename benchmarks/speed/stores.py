"""Measure the embedded store against plain references that hold everything in memory.

    python benchmarks/speed/stores.py --size 10000 --size 100000 --folder FOLDER

Each operation is timed over many calls; the table shows the median, the 95th percentile and how
many times longer it takes than the reference. References: an adjacency in dictionaries for walks,
postings in dictionaries for BM25, a matrix product in numpy for vectors, unpickling for records,
and for writes the bare rows in tables without indexes or aggregates, through the sqlite3 module.
"""

from __future__ import annotations

import argparse
import gc
import math
import pickle
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from knotwork._stores.base import FloatMatrix, Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._text.terms import query_terms, terms
from knotwork.records import (
    Chunk,
    Document,
    Mention,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

DIMENSION = 384
CHUNKS_PER_DOCUMENT = 10
DOCUMENTS_PER_TRANSACTION = 20
MENTIONS_PER_CHUNK = 12
RELATIONS_PER_CHUNK = 8
WORDS_PER_CHUNK = 130
SENTENCES_PER_CHUNK = 5
VOCABULARY = 40_000


class Written(NamedTuple):
    """A document with all that is written for it."""

    document: Document
    section: Section
    chunks: list[Chunk]
    mentions: list[Mention]
    relations: list[Relation]


class Row(NamedTuple):
    """One line of the table, times in milliseconds."""

    name: str
    median: float
    p95: float
    reference: float | None


class Corpus:
    """Synthetic documents: words, entities and relations by Zipf's law, one seed."""

    def __init__(self, size: int, seed: int = 7) -> None:
        self.size = size
        self._random = random.Random(seed)
        self._words = [self._word() for _ in range(VOCABULARY)]
        ranks = np.arange(1, VOCABULARY + 1)
        self._word_weights = np.cumsum(1 / (ranks + 50)).tolist()
        self._entity_weights = np.cumsum(1 / np.arange(1, size + 1) ** 0.7).tolist()
        self.normal_forms = [f"{self._word()} {n}" for n in range(size)]
        self.entity_ids = [entity_id(form) for form in self.normal_forms]

    def documents(self, count: int, *, prefix: str = "d") -> Iterator[Written]:
        for number in range(count):
            yield self._document(f"{prefix}{number}")

    def question(self, words: int = 6) -> str:
        return " ".join(
            ["what", "is", "the", *self._sample(self._words, self._word_weights, words)]
        )

    def _document(self, uri: str) -> Written:
        texts = [
            " ".join(self._sample(self._words, self._word_weights, WORDS_PER_CHUNK))
            for _ in range(CHUNKS_PER_DOCUMENT)
        ]
        text = "\n".join(texts)
        document = Document(uri, text, f"Title of {uri}")
        root = Section(content_id(uri, "s"), document.id, None, 0, 0, "", Span(0, len(text)))
        chunks, mentions, relations, start = [], [], [], 0
        for ordinal, chunk_text in enumerate(texts):
            span = Span(start, start + len(chunk_text))
            chunk = Chunk(
                content_id(uri, ordinal), document.id, root.id, ordinal, span, chunk_text,
                (span,) * SENTENCES_PER_CHUNK, document.title,
            )  # fmt: skip
            chunks.append(chunk)
            found = self._mentions(chunk.id)
            mentions += found
            relations += self._relations(chunk.id, [m.entity_id for m in found])
            start = span.end + 1
        return Written(document, root, chunks, mentions, relations)

    def _mentions(self, chunk: str) -> list[Mention]:
        forms = dict.fromkeys(
            self._sample(self.normal_forms, self._entity_weights, MENTIONS_PER_CHUNK)
        )
        return [
            Mention(chunk, form, form.title(), "thing", (Span(3, 9),), self._random.random())
            for form in forms
        ]

    def _relations(self, chunk: str, ends: Sequence[str]) -> list[Relation]:
        return [
            Relation(
                chunk, self._random.choice(ends), f"verb {self._random.randrange(200)}",
                self._random.choice(ends),
            )
            for _ in range(RELATIONS_PER_CHUNK)
        ]  # fmt: skip

    def _sample(self, values: Sequence[str], weights: list[float], count: int) -> list[str]:
        return self._random.choices(values, cum_weights=weights, k=count)

    def _word(self) -> str:
        length = self._random.randint(3, 10)
        return "".join(self._random.choices("abcdefghijklmnoprstuvy", k=length))


class Reference:
    """The same data in dictionaries and one matrix."""

    def __init__(self) -> None:
        self.postings: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        self.lengths: dict[str, int] = {}
        self.records: dict[str, bytes] = {}
        self.weights: Counter[tuple[str, str, str]] = Counter()
        self.links: dict[str, list[tuple[int, str, tuple[str, str, str]]]] = {}

    def add(self, written: Written) -> None:
        for chunk in written.chunks:
            counts = Counter(terms(chunk.text))
            self.lengths[chunk.id] = counts.total()
            self.records[chunk.id] = pickle.dumps(chunk)
            for term, times in counts.items():
                self.postings[term].append((chunk.id, times))
        for r in written.relations:
            self.weights[r.source, r.relation, r.target] += r.weight

    def sort(self) -> None:
        links = defaultdict(list)
        for edge, weight in self.weights.items():
            links[edge[0]].append((-weight, edge[2], edge))
            links[edge[2]].append((-weight, edge[0], edge))
        self.links = {node: sorted(found) for node, found in links.items()}

    def explore(self, seeds: Sequence[str], *, fan: int, limit: int) -> int:
        taken, seen, frontier = set(), set(seeds), list(seeds)
        for _ in range(2):
            reached = []
            for node in frontier:
                others: set[str] = set()
                for _, other, edge in self.links.get(node, ()):
                    others.add(other)
                    if len(others) > fan or len(taken) >= limit:
                        break
                    if edge not in taken:
                        taken.add(edge)
                        if other not in seen:
                            seen.add(other)
                            reached.append(other)
            frontier = reached
        return len(taken)

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        scores: Counter[str] = Counter()
        count = len(self.lengths)
        mean = sum(self.lengths.values()) / count
        for term in query_terms(query):
            found = self.postings.get(term, [])
            idf = max(math.log((count - len(found) + 0.5) / (len(found) + 0.5)), 1e-6)
            for chunk, times in found:
                norm = 1.2 * (0.25 + 0.75 * self.lengths[chunk] / mean)
                scores[chunk] += idf * times * 2.2 / (times + norm)
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def write(store: Store, written: Written, *, texts: bool = True) -> None:
    with store.transaction():
        store.documents.put(written.document, [written.section], written.chunks)
        store.graph.upsert(mentions=written.mentions, relations=written.relations)
        if texts:
            store.texts("chunk").add((chunk.id, chunk.text) for chunk in written.chunks)


def timed(name: str, calls: Sequence[Callable[[], object]], reference: float | None = None) -> Row:
    """Time each call once, after a warm one."""
    calls[0]()
    times = []
    gc.disable()
    for call in calls:
        start = time.perf_counter()
        call()
        times.append(1_000 * (time.perf_counter() - start))
    gc.enable()
    times.sort()
    return Row(name, statistics.median(times), times[int(0.95 * (len(times) - 1))], reference)


def measure(size: int, folder: Path, repeats: int) -> list[Row]:
    corpus, reference = Corpus(size), Reference()
    store = EmbeddedStore.open(folder / f"{size}.knot", create=True)
    documents = size // CHUNKS_PER_DOCUMENT
    seconds = 0.0
    source = corpus.documents(documents)
    while batch := list(islice(source, DOCUMENTS_PER_TRANSACTION)):
        start = time.perf_counter()
        with store.transaction():
            for written in batch:
                write(store, written)
        seconds += time.perf_counter() - start
        for written in batch:
            reference.add(written)
    reference.sort()
    print(f"{size} chunks written at {size / seconds:,.0f} a second, with full text")
    matrix = put_vectors(store, list(reference.records))
    rows = [
        *walks(store, corpus, reference, repeats),
        *searches(store, corpus, reference, matrix, repeats),
        *lookups(store, corpus, reference, repeats),
        *writes(store, corpus, folder),
    ]
    store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    file = (folder / f"{size}.knot").stat().st_size / 2**20
    print(f"{len(reference.weights)} edges; file {file:,.0f} MiB; peak memory {peak:,.0f} MiB")
    return rows


def put_vectors(store: Store, chunk_ids: Sequence[str]) -> FloatMatrix:
    """Write a vector and the vectors of the sentences of each chunk; return the first."""
    generator = np.random.default_rng(3)
    matrix = generator.normal(size=(len(chunk_ids), DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    start = time.perf_counter()
    for first in range(0, len(chunk_ids), 1_000):
        block = slice(first, first + 1_000)
        with store.transaction():
            store.vectors("chunk").put(
                (i, i, row[None]) for i, row in zip(chunk_ids[block], matrix[block], strict=True)
            )
            store.vectors("sentence").put(
                (i, i, np.broadcast_to(row, (SENTENCES_PER_CHUNK, DIMENSION)))
                for i, row in zip(chunk_ids[block], matrix[block], strict=True)
            )
    rate = len(chunk_ids) / (time.perf_counter() - start)
    print(f"vectors and sentence matrices written for {rate:,.0f} chunks a second")
    return matrix


def walks(store: Store, corpus: Corpus, reference: Reference, repeats: int) -> list[Row]:
    random_ = random.Random(1)
    seeds = [random_.sample(list(reference.links), 5) for _ in range(repeats)]
    hubs = [corpus.entity_ids[n : n + 3] for n in range(repeats)]
    rows = []
    for name, chosen, fan, limit in (
        ("explore, 5 seeds, fan 8, limit 50", seeds, 8, 50),
        ("explore, 5 seeds, fan 32, limit 1000", seeds, 32, 1_000),
        ("explore, 3 hubs, fan 32, limit 1000", hubs, 32, 1_000),
    ):
        by_hand = partial(reference.explore, fan=fan, limit=limit)
        plain = timed("", [partial(by_hand, s) for s in chosen])
        explore = partial(store.graph.explore, depth=2, fan=fan, limit=limit)
        rows.append(timed(name, [partial(explore, s) for s in chosen], plain.median))
    return rows


def searches(
    store: Store, corpus: Corpus, reference: Reference, matrix: FloatMatrix, repeats: int
) -> list[Row]:
    index, vectors = store.texts("chunk"), store.vectors("chunk")
    rows = []
    for words in (2, 6, 12):
        asked = [corpus.question(words) for _ in range(repeats)]
        plain = timed("", [lambda q=q: reference.search(q, 20) for q in asked[:20]])
        calls = [lambda q=q: index.search(q, k=20) for q in asked]
        rows.append(timed(f"BM25 top 20, {words} words", calls, plain.median))
    queries = matrix[:repeats] + 0.1
    start = time.perf_counter()
    vectors.search(queries[0], k=20)
    print(f"first vector search {1_000 * (time.perf_counter() - start):,.0f} ms")
    plain = timed("", [lambda q=q: np.argpartition(matrix @ q, -20)[-20:] for q in queries])
    rows.append(
        timed(
            "vectors top 20", [lambda q=q: vectors.search(q, k=20) for q in queries], plain.median
        )
    )
    some = list(reference.records)[:200]
    calls = [lambda q=q: vectors.search(q, k=20, where=some) for q in queries]
    rows.append(timed("vectors top 20 among 200", calls))
    return rows


def lookups(store: Store, corpus: Corpus, reference: Reference, repeats: int) -> list[Row]:
    random_ = random.Random(2)
    chunks = [random_.sample(list(reference.records), 200) for _ in range(repeats)]
    entities = [random_.sample(corpus.entity_ids, 100) for _ in range(repeats)]
    plain = timed(
        "",
        [lambda c=c: [pickle.loads(reference.records[i]) for i in c] for c in chunks],
    )
    sentence = store.vectors("sentence")
    graph = store.graph
    return [
        timed(
            "chunks of 200", [lambda c=c: store.documents.chunks(c) for c in chunks], plain.median
        ),
        timed("sentence matrices of 200", [lambda c=c: sentence.get(c) for c in chunks]),
        timed("mentions of 100 chunks", [lambda c=c: graph.mentions(c[:100]) for c in chunks]),
        timed("about, 100 entities, fan 8", [lambda e=e: graph.about(e, fan=8) for e in entities]),
        timed("entities of 100", [lambda e=e: graph.entities(e) for e in entities]),
        timed("schema", [graph.schema] * 3),
    ]


def bare_writes(folder: Path, documents: Sequence[Written]) -> Row:
    """Time writing the same rows to tables that nothing can be asked of."""
    path = folder / "bare.db"
    path.unlink(missing_ok=True)
    bare = sqlite3.connect(path, isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=NORMAL")
    for table, columns in (("chunk", 3), ("mention", 4), ("relation", 4)):
        names = ", ".join(f"c{n}" for n in range(columns))
        bare.execute(f"CREATE TABLE {table} ({names})")
    bare.execute("CREATE VIRTUAL TABLE text USING fts5(terms, content='')")

    def put(written: Written) -> None:
        bare.execute("BEGIN")
        chunks = written.chunks
        bare.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?)", ((c.id, c.ordinal, c.text) for c in chunks)
        )
        bare.executemany(
            "INSERT INTO text (terms) VALUES (?)", ((" ".join(terms(c.text)),) for c in chunks)
        )
        bare.executemany(
            "INSERT INTO mention VALUES (?, ?, ?, ?)",
            ((m.chunk_id, m.entity_id, m.name, m.about) for m in written.mentions),
        )
        bare.executemany(
            "INSERT INTO relation VALUES (?, ?, ?, ?)",
            ((r.chunk_id, r.source, r.relation, r.target) for r in written.relations),
        )
        bare.execute("COMMIT")

    row = timed("", [partial(put, written) for written in documents])
    bare.close()
    return row


def writes(store: Store, corpus: Corpus, folder: Path) -> list[Row]:
    plain = bare_writes(folder, list(corpus.documents(60, prefix="bare"))).median
    new = list(corpus.documents(60, prefix="new"))
    graph = list(corpus.documents(60, prefix="graph"))
    vectors = store.vectors("chunk")
    query = np.ones(DIMENSION, dtype=np.float32)

    def follow(written: Written) -> None:
        vectors.put((c.id, c.id, query[None]) for c in written.chunks)
        vectors.search(query, k=5)

    return [
        timed("write a document (10 chunks)", [lambda w=w: write(store, w) for w in new], plain),
        timed("same, without full text", [lambda w=w: write(store, w, texts=False) for w in graph]),
        timed("search after 10 new vectors", [lambda w=w: follow(w) for w in new]),
        timed(
            "remove a document",
            [lambda w=w: store.remove_documents([w.document.id]) for w in new[1:]],
        ),
    ]


def show(rows: Sequence[Row]) -> None:
    print(f"{'operation':40} {'p50 ms':>9} {'p95 ms':>9} {'x reference':>12}")
    for row in rows:
        ratio = f"{row.median / row.reference:,.2f}" if row.reference else "-"
        print(f"{row.name:40} {row.median:9.2f} {row.p95:9.2f} {ratio:>12}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=int, action="append", help="chunks and entities")
    parser.add_argument("--folder", type=Path, help="where to write the index files")
    parser.add_argument("--repeats", type=int, default=50, help="calls of each operation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in options.size or [10_000, 100_000]:
            show(measure(size, Path(folder), options.repeats))


if __name__ == "__main__":
    main()
