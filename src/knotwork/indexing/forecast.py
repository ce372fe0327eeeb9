"""Forecast how many chunks a run makes, from the sizes of its files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath

from knotwork.indexing.stages import Candidate

_TEXT_BYTES = 1_000
_PACKED_BYTES = 20_000
"""Bytes of a chunk while no file of the format has been read: of text, and of packed formats."""
_PRIOR_CHUNKS = 20
"""How many chunks the guess above counts for, once files of the format have been read."""
_PACKED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".xls", ".doc", ".ppt", ".epub", ".zip"})


@dataclass(slots=True)
class _Format:
    """Files of one suffix: bytes still to read, bytes read, and the chunks these made."""

    left: int = 0
    read: int = 0
    chunks: int = 0


class ChunkForecast:
    """Expects as many chunks in a byte as the files of the same suffix had so far.

    A megabyte of PDF makes far fewer chunks than one of plain text, so formats count apart.
    """

    def __init__(self) -> None:
        self._formats: defaultdict[str, _Format] = defaultdict(_Format)
        self.total = 0
        """The chunks of the whole run."""

    def expect(self, source: Candidate) -> None:
        """Add a file that is to be read."""
        self._formats[_suffix(source)].left += source.size
        self._count()

    def note(self, source: Candidate, chunks: int) -> None:
        """Take into account how many chunks a file made, 0 if it is unchanged or failed."""
        found = self._formats[_suffix(source)]
        found.left = max(found.left - source.size, 0)
        found.read += source.size
        found.chunks += chunks
        self._count()

    def _count(self) -> None:
        total = 0.0
        for suffix, found in self._formats.items():
            chunk_bytes = _PACKED_BYTES if suffix in _PACKED else _TEXT_BYTES
            read = found.read + _PRIOR_CHUNKS * chunk_bytes
            total += found.chunks + found.left * (found.chunks + _PRIOR_CHUNKS) / read
        self.total = round(total)


def _suffix(source: Candidate) -> str:
    return PurePosixPath(source.uri).suffix.lower()
