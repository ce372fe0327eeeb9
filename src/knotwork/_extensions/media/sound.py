"""Decode recordings and the sound of videos with PyAV, which includes the libraries of FFmpeg.

A recording is decoded in pieces of a few minutes, so that its length needs no memory.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from knotwork._cancellation import check_cancelled
from knotwork._indexing.loaders.loader import (
    DECLARED,
    DURATION,
    Source,
    broken_file_error,
    flat_metadata,
)
from knotwork._indexing.workers import LONGEST_S
from knotwork.errors import LoadError
from knotwork.records import clock

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer

SAMPLE_RATE = 16_000
"""Samples a second of what is decoded, in one channel, from -1 to 1."""

PIECE_S = 120.0
"""Seconds of a piece at most. It needs about 250 MB while its speech is recognised."""

_LAST_S = 30.0
"""A piece ends at the quietest moment of its last seconds."""
_QUIET_S = 0.3
_GAP_S = 0.5
"""Seconds that the times of a file may skip without a new piece."""

_LACKING_S = 2.0
_LACKING_SHARE = 0.05
"""A recording that lacks more than both of its declared length was cut off."""

_DEMUXERS = "wav,w64,mp3,aac,flac,ogg,mov,mp4,m4a,matroska,webm"
"""Formats that FFmpeg may detect. Others are playlists, which name further files and servers."""

_MEDIA_TYPES = {
    "wav": "audio/wav",
    "w64": "audio/wav",
    "mp3": "audio/mpeg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "mov": "audio/mp4",
    "matroska": "audio/webm",
}
_VIDEO_TYPES = {"ogg": "video/ogg", "mov": "video/mp4", "matroska": "video/webm"}


_NOTHING = np.zeros(0, np.float32)


class Piece(NamedTuple):
    """Samples in succession, the first of them ``start_s`` seconds after the beginning."""

    start_s: float
    samples: np.ndarray[Any, np.dtype[np.float32]]

    @property
    def end_s(self) -> float:
        """The time of the end, in seconds."""
        return self.start_s + len(self.samples) / SAMPLE_RATE


@dataclass
class Recording:
    """An open file: its tags, and its pieces, which can be taken once."""

    media_type: str
    title: str
    declared_s: float
    pieces: Iterator[Piece]
    tags: Mapping[str, str] = field(default_factory=dict)

    def metadata(self, end_s: float) -> dict[str, str]:
        """Return the metadata of a document about a recording whose sound ended at ``end_s``."""
        found = {**self.tags, DURATION: clock(end_s)}
        if self.declared_s - end_s > max(_LACKING_S, _LACKING_SHARE * self.declared_s):
            found[DECLARED] = clock(self.declared_s)
        return found


@contextmanager
def open_recording(source: Source) -> Iterator[Recording]:
    """Open a file whose format is detected by its content.

    Raises LoadError: "broken" for a file that is no recording or has no sound that can be decoded,
    "no_text" for a video without sound, and while its pieces are taken "too_large".
    """
    import av

    with _opened(source) as opened:
        if not opened.streams.audio:
            raise LoadError(
                "no_text", f"`{source.uri}` has no sound.", fix="Leave it out with `exclude`."
            )
        tags = {key.lower(): value for key, value in opened.metadata.items()}
        yield Recording(
            _media_type(opened),
            tags.get("title", ""),
            (opened.duration or 0) / av.time_base,
            _pieces(source, _decoded(source, opened, opened.streams.audio[0])),
            flat_metadata({"author": tags.get("artist"), "date": tags.get("date")}),
        )


def _opened(source: Source) -> InputContainer:
    import av

    options = {"format_whitelist": _DEMUXERS, "protocol_whitelist": "none"}
    try:
        data = io.BytesIO(source.data)
        return av.open(data, "r", metadata_errors="ignore", options=options)
    except av.error.FFmpegError as error:  # also if a damaged file asks for too much memory
        reason = error.strerror or type(error).__name__
    raise broken_file_error(source, f"it cannot be read as a recording ({reason})")


def _media_type(opened: InputContainer) -> str:
    kind = opened.format.name.partition(",")[0]
    is_video = any(not stream.disposition & 0x400 for stream in opened.streams.video)
    return (_VIDEO_TYPES if is_video else {}).get(kind) or _MEDIA_TYPES.get(kind, f"audio/{kind}")


def _decoded(
    source: Source, opened: InputContainer, stream: AudioStream
) -> Iterator[tuple[float | None, np.ndarray[Any, np.dtype[np.float32]]]]:
    """Yield the samples of a stream, each part with its time in seconds if the file says it.

    A damaged packet is left out, and nothing is read behind a damaged place of the container.
    """
    import av

    begin_s = (opened.start_time or 0) / av.time_base
    resampler = _Resampler()
    total = damaged = 0
    for packet in _packets(opened, stream):
        check_cancelled()
        try:
            parts = [(frame.time, resampler.samples(frame)) for frame in packet.decode()]
        except (av.error.FFmpegError, ValueError):
            damaged += 1
            continue
        for time_s, samples in parts:
            total += len(samples)
            if total > LONGEST_S * SAMPLE_RATE:
                raise _too_long(source)
            yield None if time_s is None else max(0.0, time_s - begin_s), samples
    if not total:
        lost = f"{damaged:,} damaged packets" if damaged else "no packet"
        raise broken_file_error(source, f"its sound cannot be decoded ({lost})")


class _Resampler:
    """Turns frames of any form, which may change within a file, into samples."""

    def __init__(self) -> None:
        self._form: tuple[str, str, int] | None = None
        self._resampler: Any = None

    def samples(self, frame: AudioFrame) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the samples of a frame; some may be those of the frame before."""
        import av

        form = frame.format.name, frame.layout.name, frame.rate
        if form != self._form:
            self._form = form
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
        frame.pts = None  # the resampler would fill gaps, however long the file says they are
        found = [part.to_ndarray()[0] for part in self._resampler.resample(frame)]
        # Samples may be any floating-point number in a file.
        samples: np.ndarray[Any, np.dtype[np.float32]] = np.concatenate([_NOTHING, *found])
        np.nan_to_num(samples, copy=False)
        np.clip(samples, -1.0, 1.0, out=samples)
        return samples


def _packets(opened: InputContainer, stream: AudioStream) -> Iterator[Any]:
    """Yield the packets of a stream, up to the first damaged place of the container."""
    import av

    try:
        yield from opened.demux(stream)
    except av.error.FFmpegError:
        return


def _pieces(
    source: Source,
    decoded: Iterator[tuple[float | None, np.ndarray[Any, np.dtype[np.float32]]]],
) -> Iterator[Piece]:
    """Yield the samples in pieces, cut at quiet moments and at gaps in the times of the file."""
    held: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    count, start_s = 0, 0.0
    for time_s, samples in decoded:
        end_s = start_s + count / SAMPLE_RATE
        if time_s is not None and time_s - end_s > _GAP_S:
            if time_s > LONGEST_S:
                raise _too_long(source)
            if held:
                yield Piece(start_s, np.concatenate(held))
            held, count, start_s = [], 0, time_s
        held.append(samples)
        count += len(samples)
        if count >= PIECE_S * SAMPLE_RATE:
            whole = np.concatenate(held)
            cut = _quietest(whole)
            yield Piece(start_s, whole[:cut])
            held, count = [whole[cut:]], len(whole) - cut
            start_s += cut / SAMPLE_RATE
    if count:
        yield Piece(start_s, np.concatenate(held))


def _quietest(samples: np.ndarray[Any, np.dtype[np.float32]]) -> int:
    """Return the middle of the quietest moment among the last seconds."""
    window = int(_QUIET_S * SAMPLE_RATE)
    first = max(0, len(samples) - int(_LAST_S * SAMPLE_RATE))
    energy = np.cumsum(np.square(samples[first:], dtype=np.float64))
    if len(energy) <= window:
        return len(samples)
    return first + int(np.argmin(energy[window:] - energy[:-window])) + window // 2


def _too_long(source: Source) -> LoadError:
    return LoadError(
        "too_large",
        f"`{source.uri}` is a recording of more than {LONGEST_S / 3_600:.0f} hours, the limit.",
        fix="Split it.",
    )
