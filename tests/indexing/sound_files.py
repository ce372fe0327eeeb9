"""Sounds as files of each format, and a transcriber that hears what a test says."""

import io
from dataclasses import dataclass, field

import numpy as np

from knotwork._extensions.media.sound import SAMPLE_RATE
from knotwork._extensions.media.speech import Speech, Word

CODECS = {
    ".wav": "pcm_s16le",
    ".mp3": "libmp3lame",
    ".m4a": "aac",
    ".ogg": "libopus",
    ".oga": "flac",
    ".opus": "libopus",
    ".flac": "flac",
    ".aac": "aac",
    ".mp4": "aac",
    ".m4v": "aac",
    ".mov": "aac",
    ".webm": "libopus",
    ".mkv": "flac",
}
_CONTAINERS = {".m4a": "mp4", ".m4v": "mp4", ".oga": "ogg", ".aac": "adts", ".mkv": "matroska"}


def tone(seconds, hertz=440.0, loudness=0.3):
    """Return a tone as samples."""
    times = np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (loudness * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


def sound_file(samples, suffix, *, start_s=(0.0,), tags=None, pictures=False):
    """Return samples as a file; each further time in ``start_s`` repeats them there."""
    import av

    out = io.BytesIO()
    container = _CONTAINERS.get(suffix, suffix.removeprefix("."))
    with av.open(out, "w", format=container) as file:
        file.metadata.update(tags or {})
        stream = file.add_stream(CODECS[suffix], rate=SAMPLE_RATE, layout="mono")
        if pictures:
            _add_pictures(file)
        values = (np.clip(samples, -1, 1) * 32_767).astype(np.int16)[None]
        for begin_s in start_s if len(samples) else ():
            frame = av.AudioFrame.from_ndarray(values, format="s16", layout="mono")
            frame.sample_rate = SAMPLE_RATE
            frame.pts = int(begin_s * SAMPLE_RATE)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


def silent_video():
    """Return a video without sound."""
    import av

    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        _add_pictures(file)
    return out.getvalue()


def _add_pictures(file):
    import av

    stream = file.add_stream("mpeg4", rate=10)
    stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
    for number in range(10):
        grey = np.full((64, 64, 3), 20 * number, np.uint8)
        file.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
    file.mux(stream.encode(None))


def words(text, start_s=0.0, *, word_s=0.5):
    """Return the words of a text, one after the other; "|" is a pause of a second."""
    found = []
    for part in text.split():
        if part != "|":
            found.append(Word(f" {part}", start_s, start_s + word_s))
        start_s += 1.0 if part == "|" else word_s
    return found


@dataclass
class ScriptedTranscriber:
    """Hears in each piece what its script says: lists of the parts of a piece, as words.

    The last entry is used again for further pieces. ``languages`` are (language, certainty) of the
    pieces. ``heard`` are the samples and the languages that were asked for.
    """

    script: list
    languages: list = field(default_factory=lambda: [("en", 1.0)])
    heard: list = field(default_factory=list)

    def hear(self, samples, language=""):
        number = sum(not asked for _, asked in self.heard)
        if language:
            number -= 1
        self.heard.append((samples, language))
        parts = self.script[min(number, len(self.script) - 1)]
        detected = self.languages[min(number, len(self.languages) - 1)]
        return Speech(*((language, 1.0) if language else detected), iter(parts))
