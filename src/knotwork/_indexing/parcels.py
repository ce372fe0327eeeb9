"""Send large prepared documents between processes in pieces.

Unpickling a document of 60 MB at once would stop all threads of the receiving process for seconds:
a server would not answer, and the run could not be cancelled. So would the search for garbage among
its millions of objects, again and again while they are made; they are left out of it until the
document is stored.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._cancellation import checked
from knotwork._indexing.prepared import Prepared, Undescribed, Unprepared
from knotwork.records import Chunk, Description, Extraction, Section

PIECE_CHUNKS = 256
"""Chunks in a piece, which take some tens of milliseconds to unpickle."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A document without the parts that grow with it, and the pickled pieces of these."""

    rest: Prepared
    pieces: tuple[bytes, ...]


_Piece = tuple[Sequence[Section], Sequence[Chunk], Sequence[Extraction], Sequence[Description]]


_Complete = Prepared | Undescribed | Unprepared


def pack(found: _Complete) -> _Complete | Parcel:
    """Return a document as it is sent to another process: a large one in a parcel."""
    if not isinstance(found, Prepared) or len(found.chunks) <= PIECE_CHUNKS:
        return found
    parts = (found.sections, found.chunks, found.extractions, found.descriptions)
    pieces = [
        pickle.dumps(tuple(part[start : start + PIECE_CHUNKS] for part in parts), protocol=5)
        for start in range(0, max(map(len, parts)), PIECE_CHUNKS)
    ]
    rest = replace(found, sections=(), chunks=(), extractions=(), descriptions=())
    return Parcel(rest, tuple(pieces))


def unpack(found: _Complete | Parcel) -> _Complete:
    """Return the document that was sent. Raises Cancelled between the pieces of a parcel.

    The search for garbage passes over the objects of a parcel until `collect_unpacked` is called.
    """
    if not isinstance(found, Parcel):
        return found
    sections: list[Section] = []
    chunks: list[Chunk] = []
    extractions: list[Extraction] = []
    descriptions: list[Description] = []
    collects = gc.isenabled()
    gc.disable()
    try:
        for data in checked(found.pieces):
            piece: _Piece = pickle.loads(data)  # noqa: S301  from a worker of this run
            sections.extend(piece[0])
            chunks.extend(piece[1])
            extractions.extend(piece[2])
            descriptions.extend(piece[3])
    finally:
        gc.freeze()
        if collects:
            gc.enable()
    return replace(
        found.rest,
        sections=tuple(sections),
        chunks=tuple(chunks),
        extractions=tuple(extractions),
        descriptions=tuple(descriptions),
    )


def collect_unpacked() -> None:
    """Let the search for garbage see all objects again, when no large document is in progress."""
    gc.unfreeze()
