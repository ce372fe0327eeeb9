"""Prepare documents: load, split and extract by rules, in worker processes.

A `SourceFile` is what a run finds; the ledger decides what is done with it (`changes.py`).
Preparation turns it into a `Prepared` document, which a model may read and the index stores, into
an `Undescribed` one, which is prepared again, or into an `Unprepared` one.

Preparation depends on the document and the `Recipe` alone and knows no store, so it can run in
other processes, which are limited (`workers.py`): any file may be damaged or hostile. Short plain
texts are prepared in this process if there are few, since a process takes 0.3 seconds to start.
Loading, splitting and rules are pure Python, which runs one thread at a time; if there is much to
read, all of it goes to the workers, while a server reads chunks or the index is written. The result
is the same, in the same order.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import pickle
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from knotwork._cancellation import check_cancelled, checked, wait_for
from knotwork._indexing.loaders.loader import FORMATS, DescribablePicture
from knotwork._indexing.loaders.loader_registry import (
    LIGHT_BYTES,
    ReadElsewhere,
    RemoteFile,
    UndescribedDocument,
    describe,
)
from knotwork._indexing.splitters import Splitter
from knotwork._indexing.worker_process import UNSENDABLE
from knotwork._indexing.workers import (
    FileFuture,
    ReadingLimits,
    WorkerPool,
    WorkersUnavailable,
    register_loaders,
    worker_count,
)
from knotwork._run import FilePart, phase
from knotwork._stores.base import LedgerEntry
from knotwork._text.visible import visible_text
from knotwork._transform.extractor import Extractor
from knotwork.errors import KnotworkError, LoadError
from knotwork.records import Chunk, ChunkReading, Description, Document, Extraction, Section, Span

_log = logging.getLogger("knotwork.indexing")

UNKNOWN_TIME_NS = -1
"""The modification time of a source without one: it is read to see whether it changed."""

WORTH_BYTES = 512 << 10
"""Short texts of less than this in all are prepared in this process."""

PIECE_CHUNKS = 256
"""Chunks in a piece of a document that is sent, which take some tens of milliseconds to unpickle.
"""

_BEFORE_BYTES = 32 << 10
"""Text that is prepared before any worker is started, so that a model has some to read."""

_AHEAD_BYTES = 256 << 10
"""Text in progress for each worker, about a second of work, which a killed run repeats."""

Reading: TypeAlias = Callable[[], Document | UndescribedDocument]
Recall: TypeAlias = Callable[[Sequence[Chunk], Sequence[Extraction]], Mapping[str, str]]
"""Returns, by the id of a chunk, what its prompt recalls of earlier chunks that are similar."""


def unread() -> Document:
    """Raise AssertionError, in place of what reads a file that was only found."""
    raise AssertionError("a file is read as `select_files` says")


PICTURES_TASK = "describe-picture"
"""The name of the prompt by which a model describes a picture."""

BLINDNESS_FIX = 'Set llm.describe to a model that takes pictures, or index.pictures to "text".'


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source to index: its identity, how to read it, and what the ledger decides about it.

    The ``uri``, its name in the index, does not depend on the path of ``root``. ``path`` is that of
    a file, None for a document in memory. ``size`` is in bytes, the times are those of
    `LedgerEntry`. An inaccessible file has size 0 and ``UNKNOWN_TIME_NS``: it is included, so that
    loading it reports the reason. ``version`` is what a storage states of its object, and changes
    whenever the bytes do; a file has none.

    ``read`` raises LoadError if the source cannot be read. ``read_here`` does the same for a short
    plain text, which needs no worker process; it raises ReadElsewhere if the source is not one.
    ``read_undescribed`` returns the document as it waits for descriptions of its pictures, if it
    has pictures; it is None for a source without any. The bytes are hashed to see whether they
    changed if the file ``is_hashed``; ``digest`` is the hash of those that were read. ``edge_keys``
    and ``repeated`` are those of `LedgerEntry`, for a page of a web site.

    The other fields are set by `changes.compare_with_ledger`. ``entry`` is the ledger's entry, if
    any. The source is skipped unless ``needs_reading``, and left as it is if its file has the
    ``known_digest`` or the document the ``known_revision``. ``settings`` are recorded in the ledger
    with the document. ``wants_model`` is true if a model should read the document, and
    ``lacks_descriptions`` if a picture could not be described, so that the next run tries again.
    """

    uri: str
    read: Reading = unread
    root: str = ""
    size: int = 0
    modified_ns: int = UNKNOWN_TIME_NS
    changed_ns: int = 0
    checked_ns: int = 0
    version: str = ""
    path: Path | RemoteFile | None = None
    edge_keys: bytes = b""
    repeated: str = ""
    read_here: Callable[[], Document] | None = None
    read_undescribed: Reading | None = None
    is_hashed: bool = False
    digest: str = ""
    entry: LedgerEntry | None = None
    needs_reading: bool = True
    known_digest: str = ""
    known_revision: str = ""
    settings: str = ""
    wants_model: bool = False
    lacks_descriptions: bool = False

    @property
    def was_indexed(self) -> bool:
        """True if the index holds a document of this source."""
        return self.entry is not None and (self.entry.chunks > 0 or not self.entry.error)

    def load(self) -> tuple[SourceFile, Document | UndescribedDocument | None]:
        """Return the source with the digest of what was read, and the document.

        The document is None if the file has the known digest. Raises LoadError.
        """
        if not self.is_hashed:
            return self, self.read()
        if self.known_digest and self.hash_bytes() == self.known_digest:
            return replace(self, digest=self.known_digest), None
        document = self.read()
        return replace(self, digest=self.hash_bytes()), document

    def hash_bytes(self) -> str:
        """Return a hash of the bytes of the file; the version of an object, which is not read.

        It is empty if the file cannot be read, or changed since it was found: then what was read
        before may be other bytes.
        """
        if not isinstance(self.path, Path):
            return self.version
        try:
            with self.path.open("rb") as stream:
                digest = hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=16))
                found = size_and_times(os.fstat(stream.fileno()))
        except OSError:
            return ""  # loading it reports the reason
        unchanged = found == (self.size, self.modified_ns, self.changed_ns)
        return digest.hexdigest() if unchanged else ""


def size_and_times(status: os.stat_result) -> tuple[int, int, int]:
    """Return ``size``, ``modified_ns`` and ``changed_ns`` of a file."""
    changed_ns = 0 if os.name == "nt" else status.st_ctime_ns  # on Windows, that of its creation
    return status.st_size, status.st_mtime_ns, changed_ns


def document_source(document: Document) -> SourceFile:
    """Return a document in memory as a source, with a clean text.

    Raises TypeError for metadata that is not text, as filters compare the text of a value.
    """
    for key, value in document.metadata.items():
        if not isinstance(value, str):
            raise TypeError(
                f"The metadata `{key}` of `{document.uri}` is {value!r}, but must be text, such as "
                f"{str(value)!r}."
            )
    document = _visible(document)
    read = partial(_same, document)
    size = len(document.text)
    return SourceFile(
        document.uri, read, size=size, read_here=read if size <= LIGHT_BYTES else None
    )


def _same(document: Document) -> Document:
    return document  # a function, as a lambda could not be sent to a worker process


def _visible(document: Document) -> Document:
    """Return the document with its text as `visible_text` writes it, and offsets into that."""
    if visible_text(document.text) == document.text:
        return document
    tables = document.tables
    spans = chain(
        (block.span for block in document.blocks),
        (timed.span for timed in document.times),
        (boxed.span for boxed in document.boxes),
        *(table.spans for table in tables),
    )
    length = len(document.text)
    offsets = {0, length, *chain.from_iterable((span.start, span.end) for span in spans)}
    offsets.update(page.start for page in document.pages)
    inside = sorted(offset for offset in offsets if 0 <= offset <= length)
    moved, parts, end = {0: 0}, [], 0
    for start, stop in pairwise(inside):
        parts.append(visible_text(document.text[start:stop]))
        end += len(parts[-1])
        moved[stop] = end

    def move(span: Span) -> Span:
        return Span(moved.get(span.start, span.start), moved.get(span.end, span.end))

    return replace(
        document,
        text="".join(parts),
        blocks=tuple(block._replace(span=move(block.span)) for block in document.blocks),
        pages=tuple(replace(p, start=moved.get(p.start, p.start)) for p in document.pages),
        tables=tuple(replace(t, spans=tuple(map(move, t.spans))) for t in tables),
        times=tuple(timed._replace(span=move(timed.span)) for timed in document.times),
        boxes=tuple(boxed._replace(span=move(boxed.span)) for boxed in document.boxes),
    )


_SHOWN_NAMES = 4


@dataclass(slots=True)
class LeftOut:
    """How many mentions of entities, by type, and relations, by name, a schema left out."""

    entities: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations)

    def add(self, other: LeftOut) -> None:
        """Add the counts of another part of the index."""
        self.entities.update(other.entities)
        self.relations.update(other.relations)

    def __str__(self) -> str:
        parts = []
        for counts, noun in (
            (self.entities, "mentions of entities"),
            (self.relations, "relations"),
        ):
            if counts:
                most = [
                    f"{name or 'no type'} {n:,}" for name, n in counts.most_common(_SHOWN_NAMES)
                ]
                more = ["…"] if len(counts) > _SHOWN_NAMES else []
                parts.append(f"{counts.total():,} {noun} ({', '.join(most + more)})")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read, split and extracted from.

    ``settings`` are recorded in its ledger entry. ``keys`` are the content keys of the leaf chunks,
    in order, NO_VECTORS for a chunk without a vector; empty without an embedder. ``memories`` are
    what the prompt about each chunk recalls, by chunk id. ``readings`` and ``descriptions`` are
    what a model read, the latter also what definitions in the text say. ``left_out`` counts what a
    strict schema left out. ``seconds`` are by stage.
    """

    source: SourceFile
    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]
    settings: str
    keys: tuple[str, ...] = ()
    readings: tuple[ChunkReading, ...] = ()
    descriptions: tuple[Description, ...] = ()
    memories: Mapping[str, str] = field(default_factory=dict)
    left_out: LeftOut | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Chunk]:
        """The chunks that are searched."""
        return [chunk for chunk in self.chunks if not chunk.is_parent]


@dataclass(frozen=True, slots=True)
class Undescribed:
    """A document with pictures that a model should describe before it is prepared."""

    source: SourceFile
    document: UndescribedDocument
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def pictures(self) -> tuple[DescribablePicture, ...]:
        """The pictures, each once."""
        return self.document.pictures

    def described(self, descriptions: Mapping[str, str]) -> SourceFile:
        """Return the source with descriptions of these pictures, by key; its file was read."""
        read = partial(describe, self.document.rest, descriptions)
        return replace(self.source, read=read, is_hashed=False)


@dataclass(frozen=True, slots=True)
class Unprepared:
    """A document that is not indexed: ``error`` says why, or it has the known revision.

    ``trace`` is the traceback of an unexpected exception.
    """

    source: SourceFile
    error: KnotworkError | None = None
    trace: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def own_error(self) -> LoadError | None:
        """Return the error that concerns this document alone, None if it is unchanged.

        Raises any other error.
        """
        if self.trace:
            _log.error("cannot index %s\n%s", self.source.uri, self.trace)
        if self.error is None or isinstance(self.error, LoadError):
            return self.error
        raise self.error


Preparation: TypeAlias = Prepared | Undescribed | Unprepared


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to prepare documents.

    ``recall`` finds what the prompt about a chunk recalls of its document; None without a model
    that reads.
    """

    splitter: Splitter
    extractor: Extractor
    recall: Recall | None = None


_PAGED = tuple(s for name in ("pdf", "picture", "audio") for s in FORMATS[name].suffixes)
_PHASES_OF_PAGES = (0.7, 0.75)
"""Shares of the work on such a file after which it is loaded, and split."""
_PHASES = (0.05, 0.15)
"""The same for text, whose loading takes little time."""


def prepare(source: SourceFile, recipe: Recipe) -> Preparation:
    """Return a document ready to be embedded and stored, but for its content keys.

    What goes wrong is the ``error`` of the result; only MemoryError and ReadElsewhere are raised.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    loaded, split = _PHASES_OF_PAGES if source.uri.lower().endswith(_PAGED) else _PHASES
    try:
        with timed(seconds, "load"), phase(0.0, loaded):
            source, document = source.load()
        if isinstance(document, UndescribedDocument):
            return Undescribed(source, document, seconds)
        if document is None or document.revision == source.known_revision:
            return Unprepared(source, seconds=seconds)
        with timed(seconds, "split"), phase(loaded, split):
            sections, chunks = recipe.splitter.split(document)
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        memories: Mapping[str, str] = {}
        with timed(seconds, "extract"), phase(split, 1.0):
            extractions = recipe.extractor.extract(document, leaves)
            if source.wants_model and recipe.recall is not None:
                memories = recipe.recall(leaves, extractions)
    except (MemoryError, ReadElsewhere):
        raise
    except KnotworkError as error:
        return Unprepared(source, error, seconds=seconds)
    except Exception as fault:  # noqa: BLE001 - a bug that one document meets must not stop a run
        wrapped = LoadError("fault", f"{type(fault).__name__}: {fault}")
        return Unprepared(source, wrapped, traceback.format_exc(), seconds)
    return Prepared(
        source,
        document,
        tuple(sections),
        tuple(chunks),
        tuple(extractions),
        source.settings,
        descriptions=tuple(d for extraction in extractions for d in extraction.descriptions),
        memories=memories,
        seconds=seconds,
    )


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] += time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Parcel:
    """A document without the parts that grow with it, and the pickled pieces of these.

    Unpickling a document of 60 MB at once would stop all threads of the receiving process for
    seconds: a server would not answer, and the run could not be cancelled. So would the search for
    garbage among its millions of objects, again and again while they are made; they are left out of
    it until the document is stored.
    """

    rest: Prepared
    pieces: tuple[bytes, ...]


_PARTS = ("sections", "chunks", "extractions", "descriptions")


def pack(found: Preparation) -> Preparation | Parcel:
    """Return a document as it is sent to another process: a large one in a parcel."""
    if not isinstance(found, Prepared) or len(found.chunks) <= PIECE_CHUNKS:
        return found
    parts = [getattr(found, name) for name in _PARTS]
    pieces = [
        pickle.dumps([part[start : start + PIECE_CHUNKS] for part in parts], protocol=5)
        for start in range(0, max(map(len, parts)), PIECE_CHUNKS)
    ]
    rest = replace(found, sections=(), chunks=(), extractions=(), descriptions=())
    return Parcel(rest, tuple(pieces))


def unpack(found: Preparation | Parcel) -> Preparation:
    """Return the document that was sent. Raises Cancelled between the pieces of a parcel.

    The search for garbage passes over the objects of a parcel until `collect_unpacked` is called.
    """
    if not isinstance(found, Parcel):
        return found
    parts: tuple[list[Any], ...] = ([], [], [], [])
    collects = gc.isenabled()
    gc.disable()
    try:
        for data in checked(found.pieces):
            piece = pickle.loads(data)  # noqa: S301  from a worker of this run
            for part, items in zip(parts, piece, strict=True):
                part.extend(items)
    finally:
        gc.freeze()
        if collects:
            gc.enable()
    whole: dict[str, Any] = dict(zip(_PARTS, map(tuple, parts), strict=True))
    return replace(found.rest, **whole)


def collect_unpacked() -> None:
    """Let the search for garbage see all objects again, when no large document is in progress."""
    gc.unfreeze()


@dataclass(slots=True)
class _Item:
    """A document in the queue: in progress in a worker (``future``), or not begun."""

    source: SourceFile
    future: FileFuture[Preparation | Parcel | Document | UndescribedDocument] | None = None
    result: Preparation | None = None


class Preparer:
    """Prepares documents, and returns them in the order in which they were offered.

    Files are prepared in ``workers`` processes, -1 for one for each core but at most 8, and short
    plain texts in this one. If there is much text, ``total_bytes`` of all documents, workers
    prepare short texts too, as soon as one has started. Without workers, each document is prepared
    in this process when it is taken, without limits.

    A document that exceeds a limit or crashes its worker is one failed document. A document in
    memory that cannot be sent to a worker, and the file of a loader that cannot, are prepared in
    this process; so are all if no worker can be started. If the recipe cannot be sent, workers load
    the files, and the rest is done here.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        workers: int,
        total_bytes: int,
        limits: ReadingLimits = ReadingLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        self._recipe = recipe
        self._workers = worker_count(workers)
        self._limits = limits
        is_much = total_bytes >= WORTH_BYTES
        self._shares_work = is_much and (workers > 0 or self._workers > 1)
        self._bytes_before = _BEFORE_BYTES
        self._pool: WorkerPool | None = None
        self._loads_only = False
        self._items: deque[_Item] = deque()

    @property
    def open(self) -> int:
        """The number of documents that were offered and not yet taken."""
        return len(self._items)

    @property
    def oldest(self) -> str:
        """The uri of the document that `take` returns next; "" if no document is open."""
        return self._items[0].source.uri if self._items else ""

    @property
    def part(self) -> FilePart:
        """How much of the oldest document was read."""
        future = self._items[0].future if self._items else None
        return future.part if future is not None else FilePart()

    @property
    def bytes_read(self) -> int:
        """The bytes of the documents in the queue that were read so far."""
        begun = ((item.source.size, item.future) for item in self._items if item.future is not None)
        return int(sum(size * (1.0 if f.done() else f.part.share) for size, f in begun))

    def begin(self, source: SourceFile) -> None:
        """Add a document to the queue."""
        item = _Item(source)
        self._items.append(item)
        if source.read_here is None or (self._shares_work and self.is_up):
            self._send(item)
        elif self._shares_work and self._pool is None and self._bytes_before <= 0:
            self._open_pool().start()
        self._bytes_before -= source.size

    def is_ready(self) -> bool:
        """Return True if `take` should be called now: a document is ready, or too many wait."""
        if not self._items:
            return False
        head = self._items[0]
        if head.future is None or head.future.done():
            return True
        in_progress = sum(item.source.size for item in self._items if item.future is not None)
        return in_progress >= _AHEAD_BYTES * self._workers

    def wait(self, seconds: float) -> bool:
        """Wait at most this long, and return True if `take` would return immediately.

        Returns True as well if the oldest document is prepared in this process.
        """
        future = self._items[0].future if self._items else None
        if future is not None:
            self._prepare_meanwhile(future, time.monotonic() + seconds)
            wait_for_futures([future], timeout=seconds)
        return future is None or future.done()

    def take(self) -> Preparation:
        """Wait for the oldest document and return it. Raises Cancelled."""
        item = self._items[0]
        if item.future is not None:
            self._prepare_meanwhile(item.future, float("inf"))
        self._items.popleft()
        if item.future is None:
            return item.result or self._prepare_here(item.source)
        return self._result(item)

    def close(self) -> None:
        """Drop the documents in progress."""
        self._items.clear()
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            collect_unpacked()

    @property
    def is_up(self) -> bool:
        """True once a worker has started."""
        return self._pool is not None and self._pool.is_ready

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the worker processes that run now."""
        return self._pool.processes if self._pool else ()

    def _open_pool(self) -> WorkerPool:
        if self._pool is None:
            open_with = partial(WorkerPool, workers=self._workers, limits=self._limits)
            loaders = register_loaders()
            try:
                self._pool = open_with(loaders, self._recipe)
            except UNSENDABLE as error:
                _log.info("workers load files only: the recipe cannot be sent to them: %s", error)
                self._loads_only = True
                self._pool = open_with(loaders, None)
        return self._pool

    def _send(self, item: _Item) -> None:
        """Send a document to a worker; one that cannot be sent is prepared when it is taken."""
        if not self._workers:
            return
        pool = self._open_pool()
        source = replace(item.source, read_here=None)
        function: Callable[[SourceFile, Any], Any] = _load if self._loads_only else _prepare
        try:
            item.future = pool.submit(function, source, uri=source.uri, size=source.size)
        except UNSENDABLE:
            item.future = None

    def _prepare_meanwhile(self, head: Future[Any], until: float) -> None:
        """Prepare documents that no worker has while the oldest one is in progress."""
        for item in self._items:
            check_cancelled()
            if head.done() or time.monotonic() > until:
                return
            if item.future is None and item.result is None and item.source.read_here is not None:
                item.result = self._prepare_here(item.source)

    def _prepare_here(self, source: SourceFile) -> Preparation:
        if source.read_here is None:
            return prepare(source, self._recipe)
        try:
            return self._prepare_by(source.read_here, source)
        except ReadElsewhere:
            pass  # the content is not that of the name
        item = _Item(source)
        self._send(item)
        return prepare(source, self._recipe) if item.future is None else self._result(item)

    def _result(self, item: _Item) -> Preparation:
        """Wait for the result of a worker, and return it or what is done in its place."""
        assert item.future is not None
        source = item.source
        try:
            found = wait_for(item.future)
        except LoadError as error:
            return Unprepared(source, error)
        except WorkersUnavailable as error:
            _log.warning(
                "no worker process can be started, so files are read in this one, without limits "
                "of memory and time: %s",
                error,
            )
            return prepare(source, self._recipe)
        except ReadElsewhere:
            return prepare(source, self._recipe)
        except TypeError as error:  # a loader or an extractor of a plugin
            return Unprepared(source, LoadError("fault", f"`{source.uri}`: {error}."))
        if isinstance(found, Document | UndescribedDocument):
            return self._prepare_by(lambda: found, source)
        return unpack(found)

    def _prepare_by(self, read: Reading, source: SourceFile) -> Preparation:
        found = prepare(replace(source, read=read), self._recipe)
        return replace(found, source=replace(found.source, read=source.read))


def _prepare(source: SourceFile, recipe: Recipe) -> Preparation | Parcel:
    return pack(prepare(source, recipe))


def _load(source: SourceFile, _shared: None) -> Document | UndescribedDocument:
    return source.read()
