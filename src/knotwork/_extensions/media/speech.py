"""Load recordings, and the sound of videos, as the text that is spoken, with its times.

Speech is recognised with Whisper models that are on this machine, through faster-whisper. Nothing
is downloaded. Everything happens on one thread and is searched without chance, so that a recording
has the same text whenever it is read. A process loads a model once and keeps it.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from knotwork._cancellation import checked
from knotwork._extensions.formats.subtitles import Utterance, add_utterances
from knotwork._extensions.media.sound import (
    SAMPLE_RATE,
    Recording,
    open_recording,
)
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import MEGABYTE, Content, FormatLoader, Source
from knotwork._indexing.worker_process import allow_more, keeping
from knotwork._indexing.workers import SECONDS_FOR_A_SECOND
from knotwork._run import report_share
from knotwork._text.sentences import split_sentences
from knotwork.errors import LoadError

EXTRA = "audio"
SETTING = "index.audio_model"
_PACKAGES = ("faster_whisper", "av", "ctranslate2", "onnxruntime")

_MODEL_FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.*")
"""Files of a model. The library would download a tokenizer that is missing."""

_LOAD_FACTOR = 3
_SPARE_BYTES = 500 * MEGABYTE
_LOAD_SECONDS = 300
"""What a model may take beside the limits of a file: to load it, a multiple of its size and some
more, and time; to use it, its size and some more."""

_BEAM_SIZE = 5
_SILENCE_S = 2.0
"""Words beside silence of this length that the model is unsure of were probably not spoken."""

PAUSE_S = 0.5
"""Times are those of sentences, and of their parts between pauses of this length."""

_CLAUSE_S = 0.2
"""The same behind a comma, which the model sometimes writes for a stop, and in long sentences,
which it sometimes writes without any mark."""

_STOP_S = 0.2
"""A sentence begins behind a stop and a pause of this length, even with a small letter."""

_LEAST_SILENCE_S = 0.3
_MARGIN_S = 0.1
"""Silence that the times of words leave out, and how much of it stays on both sides of speech."""

_LONGEST_SENTENCE_S = 15.0
"""What lasts longer is parted at its pauses: the model sometimes writes no marks for minutes."""

_MOST_COMPRESSED = 2.4
"""A part that gzip shrinks by more repeats itself; the value is that of Whisper's own decoder."""

_FEWEST_REPEATS = 6
_LONGEST_REPEAT = 12
"""Words of a phrase that is taken out where it is said so many times in succession."""

_LEAST_SHARE = 0.1
"""The share of the words of a part that must be left without its repetitions."""

_MOST_EQUAL = 2
"""Equal sentences in succession that are kept."""

_STOP = re.compile(r"[.!?][\"'”’)]*\s*$")
_COMMA = re.compile(r"[,;:，；：、—–]\s*$")
_NO_WORDS = re.compile(r"[\[(（【*♪][^\])）】*♪]{0,60}[\])）】*♪]")
_CREDITS = re.compile(
    r"(?:subtitles?|captions?|transcri\w+|translat\w+) (?:(?:made|provided|created) )?by .{0,60}"
    r"|.{0,20}amara\.org.{0,20}|thanks? (?:you )?for watching"
    r"|.{0,20}(?:字幕|字幕由|字幕志愿者|字幕製作|字幕制作|字幕提供).{0,30}"
    r"|請不吝點[贊讚].{0,40}|请不吝点赞.{0,40}|以下是普通话的句子.{0,10}",
    re.IGNORECASE,
)
"""What Whisper writes for music and silence, as its training data ended with it."""

_STYLES = {"zh": "以下是普通话的句子，有标点符号。"}
"""What the model is given as if it had been said before, in languages that it writes in two scripts
and mostly without marks otherwise."""

_NO_MEMORY = re.compile(r"alloc|out of memory", re.IGNORECASE)

_lock = threading.Lock()


class Word(NamedTuple):
    """A word with the white space and marks around it, and when it is spoken, in seconds."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Speech:
    """What was heard: a language such as "en", how certain it is, and parts as words.

    The parts can be taken once, and are recognised while they are. ``voiced`` is when somebody
    speaks, as starts and ends in seconds, in order.
    """

    language: str
    certainty: float
    parts: Iterator[Sequence[Word]]
    voiced: Sequence[tuple[float, float]] = ()


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
        with _lock, _memory_errors():
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
    with keeping(_LOAD_FACTOR * size + _SPARE_BYTES, to_use=size + _SPARE_BYTES):
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
        with _lock, _memory_errors():
            parts, info = self._transcribe(samples, language)
            if not language and info.language in _STYLES:
                # Nothing but the language is recognised before parts are taken.
                parts, _ = self._transcribe(samples, info.language)
            voiced = _voiced(samples)
        return Speech(info.language, info.language_probability, self._parts(parts), voiced)

    def _transcribe(
        self, samples: np.ndarray[Any, Any], language: str
    ) -> tuple[Iterator[Any], Any]:
        parts, info = self._model.transcribe(
            samples,
            language=language or None,
            beam_size=_BEAM_SIZE,
            temperature=0.0,  # other values draw at random
            condition_on_previous_text=False,  # a repetition would go on to the end
            vad_filter=True,
            word_timestamps=True,
            hallucination_silence_threshold=_SILENCE_S,
            hotwords=_STYLES.get(language),
        )
        return parts, info

    def _parts(self, parts: Iterator[Any]) -> Iterator[Sequence[Word]]:
        while True:
            with _lock, _memory_errors():
                part = next(parts, None)
            if part is None:
                return
            yield [Word(w.word, float(w.start), float(w.end)) for w in part.words or ()]


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise MemoryError for the errors by which the library says that memory is lacking."""
    try:
        yield
    except RuntimeError as error:
        if _NO_MEMORY.search(str(error)):
            raise MemoryError(str(error)) from error
        raise


def _voiced(samples: np.ndarray[Any, Any]) -> list[tuple[float, float]]:
    """Return when somebody speaks, as starts and ends in seconds."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    options = VadOptions(
        min_silence_duration_ms=int(1_000 * _LEAST_SILENCE_S),
        speech_pad_ms=int(1_000 * _MARGIN_S),
    )
    found = get_speech_timestamps(samples, options)
    return [(part["start"] / SAMPLE_RATE, part["end"] / SAMPLE_RATE) for part in found]


def timely_words(
    words: Iterable[Word], voiced: Sequence[tuple[float, float]], *, start_s: float
) -> Iterator[Word]:
    """Yield words whose times leave out silence, ``start_s`` later.

    The model stretches words over the pauses between them. Each keeps the part that is longest.
    """
    starts, ends = [start for start, _ in voiced], [end for _, end in voiced]
    for word in words:
        around = voiced[bisect_left(ends, word.start_s) : bisect_left(starts, word.end_s)]
        heard = [(max(word.start_s, first), min(word.end_s, last)) for first, last in around]
        first_s, last_s = max(heard, key=lambda part: part[1] - part[0], default=word[1:])
        yield Word(word.text, start_s + first_s, start_s + last_s)


def spoken_words(parts: Iterable[Sequence[Word]]) -> Iterator[Word]:
    """Yield the words of parts, without what a model writes where nobody speaks. Raises Cancelled.

    Left out are names of sounds such as "[Music]", credits of subtitles, parts that are hardly more
    than a repetition, and all but one of a phrase that is repeated six times.
    """
    for part in checked(parts):
        words = list(_without_loops(part))
        text = "".join(word.text for word in words).strip()
        bare = text.strip(" .!。！")
        data = text.encode()
        repeats = len(data) > _MOST_COMPRESSED * len(zlib.compress(data))
        is_loop = len(words) < _LEAST_SHARE * len(part) or repeats
        if bare and not (is_loop or _NO_WORDS.fullmatch(bare) or _CREDITS.fullmatch(bare)):
            yield from words


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
    """Yield the sentences of successive words with their times, cut at pauses too, and at shorter
    ones behind commas.

    A part of a sentence behind a pause begins a paragraph if the sentence is very long. Of equal
    sentences in succession, two are kept.
    """
    before, equal = "", 0
    for sentence in _sentences(list(_with_capitals(words))):
        is_long = sentence[-1].end_s - sentence[0].start_s > _LONGEST_SENTENCE_S
        key = _key("".join(word.text for word in sentence))
        equal = equal + 1 if key == before else 1
        before = key
        if not key or equal > _MOST_EQUAL:
            continue
        before_s = sentence[0].start_s
        for run in _between_pauses(sentence, least_s=_CLAUSE_S if is_long else PAUSE_S):
            said = "".join(word.text for word in run).strip()
            end_s = max(word.end_s for word in run)
            begins = is_long and run[0].start_s - before_s >= PAUSE_S
            before_s = run[-1].end_s
            yield Utterance(said, run[0].start_s, end_s, begins_paragraph=begins)


def _with_capitals(words: Iterable[Word]) -> Iterator[Word]:
    """Yield words, with a capital for one behind a stop and a pause, where a sentence begins."""
    before = None
    for word in words:
        if before and _STOP.search(before.text) and word.start_s - before.end_s >= _STOP_S:
            said = word.text.lstrip()
            blank = word.text[: len(word.text) - len(said)]
            yield word._replace(text=blank + said[:1].upper() + said[1:])
        else:
            yield word
        before = word


def _sentences(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    starts = [span.start for span in split_sentences("".join(word.text for word in words))]
    numbers, offset = [], 0
    for word in words:
        numbers.append(bisect_right(starts, offset + len(word.text) - len(word.text.lstrip())))
        offset += len(word.text)
    for _, sentence in groupby(zip(numbers, words, strict=True), key=itemgetter(0)):
        yield [word for _, word in sentence]


def _between_pauses(words: Sequence[Word], *, least_s: float) -> Iterator[Sequence[Word]]:
    """Yield words between pauses of ``least_s``, or of less behind a comma."""
    first = 0
    for number in range(1, len(words)):
        before = words[number - 1]
        pause_s = words[number].start_s - before.end_s
        if pause_s >= (_CLAUSE_S if _COMMA.search(before.text) else least_s):
            yield words[first:number]
            first = number
    yield words[first:]


_CERTAIN = 0.7
"""If the language of a piece is less certain, it is read in that of the pieces before."""


class AudioLoader(FormatLoader, name="audio"):
    """Recognises the speech of a recording with the Whisper model that a setting names."""

    def load(self, source: Source) -> Content:
        transcriber = open_transcriber(source)
        ends = [0.0]
        with open_recording(source) as recording:
            words = list(_words(transcriber, recording, ends))
            writer = BlockWriter(source)
            add_utterances(writer, utterances(words))
            if not writer.length:
                raise LoadError(
                    "no_text",
                    f"No speech was recognised in `{source.uri}`.",
                    fix="Leave it out with `exclude`.",
                )
            metadata = recording.metadata(ends[-1])
            return writer.content(recording.media_type, title=recording.title, metadata=metadata)


def _words(transcriber: Transcriber, recording: Recording, ends: list[float]) -> Iterator[Word]:
    """Yield the words of all pieces with their times in the recording; add the ends of pieces."""
    language = ""
    for piece in checked(recording.pieces):
        allow_more(math.ceil(SECONDS_FOR_A_SECOND * (piece.end_s - piece.start_s)))
        speech = transcriber.hear(piece.samples)
        if language and speech.language != language and speech.certainty < _CERTAIN:
            speech = transcriber.hear(piece.samples, language)
        if speech.certainty >= _CERTAIN:
            language = speech.language
        words = spoken_words(speech.parts)
        yield from timely_words(words, speech.voiced, start_s=piece.start_s)
        ends.append(piece.end_s)
        report_share(piece.end_s, recording.declared_s)
