"""Recognise speech with Whisper models that are on this machine, through faster-whisper.

Nothing is downloaded. Everything happens on one thread and is searched without chance, so that a
recording has the same text whenever it is read. A process loads a model once and keeps it.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from knotwork._cancellation import checked
from knotwork._indexing.kept_memory import keeping
from knotwork._indexing.loaders.loader import MEGABYTE, Source
from knotwork._indexing.loaders.transcript import Utterance
from knotwork._indexing.processor_time import allow_more
from knotwork._text.sentences import split_sentences
from knotwork.errors import LoadError

EXTRA = "audio"
SETTING = "index.audio_model"
_PACKAGES = ("faster_whisper", "av", "ctranslate2", "onnxruntime")

_MODEL_FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.*")
"""Files of a model. The library would download a tokenizer that is missing."""

_LOAD_FACTOR = 3
_LOAD_BYTES = 500 * MEGABYTE
_LOAD_SECONDS = 300
"""What loading a model may take: memory as a multiple of its file and beside that, and time."""

_BEAM_SIZE = 5
_SILENCE_S = 2.0
"""Words beside silence of this length that the model is unsure of were probably not spoken."""

PAUSE_S = 0.7
"""Speech is split at pauses of this length, and at the ends of sentences."""

_MOST_COMPRESSED = 2.4
"""A part that gzip shrinks by more repeats itself; the value is that of Whisper's own decoder."""

_FEWEST_REPEATS = 6
_LONGEST_REPEAT = 12
"""Words of a phrase that is taken out where it is said so many times in succession."""

_LEAST_SHARE = 0.1
"""The share of the words of a part that must be left without its repetitions."""

_MOST_EQUAL = 2
"""Equal sentences in succession that are kept."""

_NO_WORDS = re.compile(r"[\[(（【*♪][^\])）】*♪]{0,60}[\])）】*♪]")
_CREDITS = re.compile(
    r"(?:subtitles?|captions?|transcri\w+|translat\w+) (?:(?:made|provided|created) )?by .{0,60}"
    r"|.{0,20}amara\.org.{0,20}|thanks? (?:you )?for watching"
    r"|.{0,20}(?:字幕|字幕由|字幕志愿者|字幕製作|字幕制作|字幕提供).{0,30}"
    r"|請不吝點[贊讚].{0,40}|请不吝点赞.{0,40}",
    re.IGNORECASE,
)
"""What Whisper writes for music and silence, as its training data ended with it."""

_lock = threading.Lock()


class Word(NamedTuple):
    """A word with the white space and marks around it, and when it is spoken, in seconds."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Speech:
    """What was heard: a language such as "en", how certain it is, and parts as words.

    The parts can be taken once, and are recognised while they are.
    """

    language: str
    certainty: float
    parts: Iterator[Sequence[Word]]


class Transcriber(Protocol):
    """Recognises the speech in samples of `sound.SAMPLE_RATE`."""

    def hear(self, samples: np.ndarray[Any, Any], language: str = "") -> Speech:
        """Return the speech; an empty language is detected."""


def is_available() -> bool:
    """Return True if the packages of the extra are installed."""
    return all(find_spec(package) is not None for package in _PACKAGES)


def open_transcriber(source: Source) -> Transcriber:
    """Return the transcriber for a file, by the model that its source names.

    Raises LoadError ("unsupported") if the extra, the setting or the model is missing.
    """
    about = f"`{source.uri}` is a recording. Recognising its speech needs"
    if not is_available():
        raise LoadError(
            "unsupported",
            f"{about} the optional extra `{EXTRA}`, which is not installed.",
            fix=f"Install it with: pip install 'knotwork[{EXTRA}]', set `{SETTING}` to the folder "
            "of a Whisper model, then index with `--retry`.",
        )
    if not source.audio_model:
        raise _model_error(f"{about} a Whisper model, and `{SETTING}` names none.")
    folder = Path(source.audio_model)
    if not folder.is_dir():
        raise _model_error(
            f"{about} a Whisper model, but {str(folder)!r}, which `{SETTING}` names, is not a "
            "folder."
        )
    missing = [name for name in _MODEL_FILES if not any(folder.glob(name))]
    if missing:
        raise _model_error(
            f"{about} a Whisper model, but the folder `{folder}`, which `{SETTING}` names, has no "
            f"{', no '.join(missing)}."
        )
    try:
        with _lock:
            return _open(folder, (folder / "model.bin").stat().st_size)
    except (RuntimeError, ValueError, OSError, KeyError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise _model_error(
            f"{about} a Whisper model, but that in `{folder}`, which `{SETTING}` names, cannot be "
            f"loaded: {reason}."
        ) from error


def _model_error(message: str) -> LoadError:
    return LoadError(
        "unsupported",
        message,
        fix=f"Set `{SETTING}` to a folder with a Whisper model for CTranslate2, such as a copy of "
        "`Systran/faster-whisper-small` from Hugging Face (nothing is downloaded by itself), then "
        "index with `--retry`.",
    )


@cache
def _open(folder: Path, size: int) -> Transcriber:
    """Return the model of a folder, whose largest file has ``size`` bytes."""
    allow_more(_LOAD_SECONDS)
    with keeping(_LOAD_FACTOR * size + _LOAD_BYTES):
        from faster_whisper import WhisperModel

        return _Whisper(
            WhisperModel(
                str(folder),
                device="cpu",
                compute_type="int8",
                cpu_threads=1,
                num_workers=1,
                local_files_only=True,
            )
        )


class _Whisper:
    """A loaded model; implements `Transcriber`."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a library that may be missing
        self._model = model

    def hear(self, samples: np.ndarray[Any, Any], language: str = "") -> Speech:
        with _lock:
            parts, info = self._model.transcribe(
                samples,
                language=language or None,
                beam_size=_BEAM_SIZE,
                temperature=0.0,  # other values draw at random
                condition_on_previous_text=False,  # a repetition would go on to the end
                vad_filter=True,
                word_timestamps=True,
                hallucination_silence_threshold=_SILENCE_S,
            )
        return Speech(info.language, info.language_probability, self._parts(parts))

    def _parts(self, parts: Iterator[Any]) -> Iterator[Sequence[Word]]:
        while True:
            with _lock:
                part = next(parts, None)
            if part is None:
                return
            yield [Word(w.word, float(w.start), float(w.end)) for w in part.words or ()]


def spoken_words(parts: Iterable[Sequence[Word]]) -> Iterator[Word]:
    """Yield the words of parts, without what a model writes where nobody speaks. Raises Cancelled.

    Left out are names of sounds such as "[Music]", credits of subtitles, parts that are hardly more
    than a repetition, and all but one of a phrase that is repeated six times.
    """
    for part in checked(parts):
        words = list(_without_loops(part))
        text = "".join(word.text for word in words).strip()
        bare = text.strip(" .!。！")
        is_loop = len(words) < _LEAST_SHARE * len(part) or _repeats(text)
        if bare and not (is_loop or _NO_WORDS.fullmatch(bare) or _CREDITS.fullmatch(bare)):
            yield from words


def _repeats(text: str) -> bool:
    data = text.encode()
    return len(data) > _MOST_COMPRESSED * len(zlib.compress(data))


def _without_loops(words: Sequence[Word]) -> Iterator[Word]:
    """Yield words without the repetitions of a phrase that is said at least six times."""
    keys = [_key(word.text) for word in words]
    at = 0
    while at < len(words):
        for length in range(1, _LONGEST_REPEAT + 1):
            phrase = keys[at : at + length]
            end = at + length
            while keys[end : end + length] == phrase:
                end += length
            if end - at >= _FEWEST_REPEATS * length:
                yield from words[at : at + length]
                at = end
                break
        else:
            yield words[at]
            at += 1


def _key(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def utterances(words: Sequence[Word]) -> Iterator[Utterance]:
    """Yield the sentences of successive words with their times, cut at pauses too.

    Of equal sentences in succession, two are kept.
    """
    before, equal = "", 0
    for run in _runs(words):
        said = "".join(word.text for word in run).strip()
        key = _key(said)
        equal = equal + 1 if key == before else 1
        before = key
        if key and equal <= _MOST_EQUAL:
            yield Utterance(said, run[0].start_s, max(word.end_s for word in run))


def _runs(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Yield the words of each sentence, or of its parts between pauses."""
    starts = [span.start for span in split_sentences("".join(word.text for word in words))]
    first = offset = 0
    sentence = 1
    for number, word in enumerate(words):
        found = bisect_right(starts, offset + len(word.text) - len(word.text.lstrip()))
        pause_s = word.start_s - words[number - 1].end_s if number else 0.0
        if number and (found != sentence or pause_s >= PAUSE_S):
            yield words[first:number]
            first = number
        sentence = found
        offset += len(word.text)
    yield words[first:]
