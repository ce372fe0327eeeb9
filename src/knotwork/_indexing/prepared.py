"""The record of a document on its way through indexing.

A `Candidate` is a source before it is read; the ledger decides what is done with it. Preparation
turns it into a `Prepared` document, which a model may read and the index stores, into an
`Undescribed` one, which is prepared again, or into an `Unprepared` one. Nothing here knows a model
or a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from knotwork._indexing.discovery import UNKNOWN_TIME_NS
from knotwork._indexing.loaders.loader import DescribablePicture
from knotwork._indexing.loaders.loader_registry import LIGHT_BYTES, UndescribedDocument, describe
from knotwork._indexing.visible_documents import visible_document
from knotwork._stores.base import LedgerEntry
from knotwork._transform.model.extraction_schema import LeftOut
from knotwork.errors import KnotworkError
from knotwork.records import Chunk, ChunkReading, Description, Document, Extraction, Section

Reading: TypeAlias = Callable[[], Document | UndescribedDocument]

PICTURES_TASK = "describe-picture"
"""The name of the prompt by which a model describes a picture."""

BLINDNESS_FIX = 'Set llm.describe to a model that takes pictures, or index.pictures to "text".'


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to index: its identity, how to read it, and what the ledger decides about it.

    ``read`` raises LoadError if the source cannot be read. ``read_here`` does the same for a short
    plain text, which needs no worker process; it raises ReadElsewhere if the source is not one.
    ``edge_keys`` and ``repeated`` are those of `LedgerEntry`, for a page of a web site. ``size`` is
    in bytes, the times are those of `LedgerEntry`. ``hash_file`` returns the ``digest`` of the
    file's bytes, empty if they changed since its times were read; it is None for a source that is
    not a file. ``version`` is that of `SourceFile`.

    The other fields are set by `changes.compare_with_ledger`. ``entry`` is the ledger's entry, if
    any. The source is skipped unless ``needs_reading``, and left as it is if its file has the
    ``known_digest`` or the document the ``known_revision``. ``settings`` are recorded in the ledger
    with the document. ``wants_model`` is true if a model should read the document.

    ``read_undescribed`` returns the document as it waits for descriptions of its pictures, if it
    has pictures; it is None for a source without any. ``lacks_descriptions`` is true if a picture
    could not be described, so that the next run tries again.
    """

    uri: str
    read: Reading
    root: str = ""
    size: int = 0
    modified_ns: int = UNKNOWN_TIME_NS
    edge_keys: bytes = b""
    repeated: str = ""
    changed_ns: int = 0
    checked_ns: int = 0
    version: str = ""
    hash_file: Callable[[], str] | None = None
    digest: str = ""
    read_here: Callable[[], Document] | None = None
    entry: LedgerEntry | None = None
    needs_reading: bool = True
    known_digest: str = ""
    known_revision: str = ""
    settings: str = ""
    wants_model: bool = False
    read_undescribed: Reading | None = None
    lacks_descriptions: bool = False

    @property
    def was_indexed(self) -> bool:
        """True if the index holds a document of this source."""
        return self.entry is not None and (self.entry.chunks > 0 or not self.entry.error)

    def load(self) -> tuple[Candidate, Document | UndescribedDocument | None]:
        """Return the source with the digest of what was read, and the document.

        The document is None if the file has the known digest. Raises LoadError.
        """
        if self.hash_file is None:
            return self, self.read()
        if self.known_digest and self.hash_file() == self.known_digest:
            return replace(self, digest=self.known_digest), None
        document = self.read()
        return replace(self, digest=self.hash_file()), document


def document_source(document: Document) -> Candidate:
    """Return a candidate for a document in memory, with a clean text.

    Raises TypeError for metadata that is not text, as filters compare the text of a value.
    """
    for key, value in document.metadata.items():
        if not isinstance(value, str):
            raise TypeError(
                f"The metadata `{key}` of `{document.uri}` is {value!r}, but must be text, such as "
                f"{str(value)!r}."
            )
    document = visible_document(document)
    read = partial(_same, document)
    size = len(document.text)
    return Candidate(document.uri, read, size=size, read_here=read if size <= LIGHT_BYTES else None)


def _same(document: Document) -> Document:
    return document  # a function, as a lambda could not be sent to a worker process


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read, split and extracted from.

    ``settings`` are recorded in its ledger entry. ``keys`` are the content keys of the leaf chunks,
    in order, NO_VECTORS for a chunk without a vector; empty without an embedder. ``memories`` are
    what the prompt about each chunk recalls, by chunk id. ``readings`` and ``descriptions`` are
    what a model read, the latter also what definitions in the text say. ``left_out`` counts what a
    strict schema left out. ``seconds`` are by stage.
    """

    source: Candidate
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

    source: Candidate
    document: UndescribedDocument
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def pictures(self) -> tuple[DescribablePicture, ...]:
        """The pictures, each once."""
        return self.document.pictures

    def described(self, descriptions: Mapping[str, str]) -> Candidate:
        """Return the source with descriptions of these pictures, by key; its file was read."""
        read = partial(describe, self.document.rest, descriptions)
        return replace(self.source, read=read, hash_file=None)


@dataclass(frozen=True, slots=True)
class Unprepared:
    """A document that is not indexed: ``error`` says why, or it has the known revision.

    ``trace`` is the traceback of an unexpected exception.
    """

    source: Candidate
    error: KnotworkError | None = None
    trace: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
