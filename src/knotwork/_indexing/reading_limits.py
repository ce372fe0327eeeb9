"""Limits of memory and processor time for reading one file, and the errors of files beyond them.

A small file can unfold to any amount of text, so the limits follow the size of the file: a file of
up to 2 MB has the processor time of the setting, and one of up to 10 MB its memory. A larger file
has more of both in proportion. Ordinary text takes about 4 seconds for each MB and 100 bytes for
each character.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from knotwork._config import IndexSettings
from knotwork._indexing.loaders.loader import FORMATS, MEGABYTE, format_size
from knotwork._indexing.loaders.recognition import is_available
from knotwork.errors import LoadError

MEMORY_FOR_BYTES = 10 * MEGABYTE
"""The largest file that has the memory of the setting; larger ones have more in proportion."""

SECONDS_FOR_BYTES = 2 * MEGABYTE
"""The largest file that has the processor time of the setting; larger ones have more."""

LONGEST_S = 24 * 3_600.0
"""Seconds of a recording at most: an hour of silence may be packed into a few kilobytes."""

SECONDS_FOR_A_SECOND = 20
"""Processor time for a second of sound, beside that of the file. The largest models need about 5
on an old processor, small ones a tenth."""

_SCANNABLE = tuple(
    suffix for name in ("pdf", "picture", "docx", "pptx") for suffix in FORMATS[name].suffixes
)
_SCANNED_FACTOR = 10
_WAITING_FACTOR = 10
"""Seconds that reading may last by the clock, for each second of its processor time."""

_LEAST_BYTES_A_SECOND = 1_000
"""Bytes of a second of sound at least, as speech is packed for telephones."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading a file may take: ``memory_mb`` and ``seconds``, as the settings give them."""

    memory_mb: float = 1_500.0
    seconds: float = 60.0

    @classmethod
    def of(cls, settings: IndexSettings) -> ReadingLimits:
        return cls(settings.max_file_memory_mb, settings.max_file_seconds)

    def memory_bytes(self, size: int) -> int:
        """Return the memory for a file of ``size`` bytes, in bytes."""
        return int(self.memory_mb * MEGABYTE * max(1.0, size / MEMORY_FOR_BYTES))

    def processor_s(self, size: int) -> int:
        """Return the processor time for a file of ``size`` bytes, in whole seconds."""
        return math.ceil(self.seconds * max(1.0, size / SECONDS_FOR_BYTES))

    def clock_s(self, size: int, uri: str = "") -> float:
        """Return how long reading a file may last, in seconds, idle time included.

        A file that may have scanned pages or pictures has more: their number does not follow its
        size. A recording has more for each second of sound that it may have.
        """
        pages = _SCANNED_FACTOR if uri.lower().endswith(_SCANNABLE) and is_available() else 1
        sound_s = 0.0
        if uri.lower().endswith(FORMATS["audio"].suffixes):
            sound_s = min(LONGEST_S, size / _LEAST_BYTES_A_SECOND)
        usual_s = pages * _WAITING_FACTOR * self.seconds * max(1.0, size / SECONDS_FOR_BYTES)
        return usual_s + SECONDS_FOR_A_SECOND * sound_s


DEFAULT_LIMITS = ReadingLimits()

PROCESS_FAILURES = frozenset({"too_slow", "out_of_memory", "crashed"})
"""Reasons of the errors below: reading the file ended its worker process."""


def too_slow_error(uri: str, size: int, limits: ReadingLimits) -> LoadError:
    """Return the error for a file that takes more processor time than its limit."""
    return LoadError(
        "too_slow",
        f"`{uri}` takes longer to read than {limits.processor_s(size):,} seconds, the limit for "
        f"a file of {format_size(size)}.",
        fix="Leave it out with `exclude`. If you trust it, raise `index.max_file_seconds`, then "
        "index with `--retry`.",
    )


def out_of_memory_error(uri: str, size: int, limits: ReadingLimits) -> LoadError:
    """Return the error for a file that needs more memory than its limit."""
    return LoadError(
        "out_of_memory",
        f"`{uri}` needs more memory than {format_size(limits.memory_bytes(size))}, the limit for "
        f"a file of {format_size(size)}.",
        fix="Leave it out with `exclude`, or split it. If you trust it, raise "
        "`index.max_file_memory_mb`, then index with `--retry`.",
    )


def crashed_error(uri: str) -> LoadError:
    """Return the error for a file whose worker process died."""
    return LoadError(
        "crashed",
        f"`{uri}` crashed the process that read it.",
        fix="Leave it out with `exclude`, or save it in another format.",
    )
