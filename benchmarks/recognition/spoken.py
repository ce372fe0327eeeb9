"""Texts that are spoken by espeak-ng sentence by sentence, so that the time of each is known."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._extensions.media.sound import SAMPLE_RATE

TEXTS = Path(__file__).with_name("spoken_texts.json")
HELD_OUT_TEXTS = Path(__file__).with_name("spoken_texts_held_out.json")
FORMATS = (".wav", ".mp3", ".m4a", ".ogg", ".flac")

PROGRAM = "espeak-ng"
FLITE = "flite"
"""Speaks with the voices of people, in pieces; a voice is `flite:slt` or another of `flite -lv`."""
VOICE = "en-us"
WORDS_A_MINUTE = 145
PAUSE_S = 0.4
"""Silence that is added after each sentence, beside that of the voice."""

_SOUND = 0.01
"""Samples above this are speech."""

_SPELLED = re.compile(r"\{([^|}]+)\|([^}]+)\}")
"""Words as they are spoken and as they are written, such as {nineteen twelve|1912}."""

_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {word: 10 * number for number, word in enumerate(_TENS.split())}
_NUMBERS |= {word: number for number, word in enumerate(_SMALL.split())}
_FACTORS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}

Samples = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class SpokenText:
    """A text with a question about one of its sentences, and the words of the answer."""

    title: str
    sentences: tuple[str, ...]
    question: str
    answer: str

    @property
    def written(self) -> list[str]:
        """The sentences as they are written."""
        return [_SPELLED.sub(r"\2", sentence) for sentence in self.sentences]

    @property
    def answering(self) -> int:
        """The number of the sentence that has the answer, from 0."""
        (number,) = [n for n, said in enumerate(self.written) if has_words(said, self.answer)]
        return number


@dataclass(frozen=True)
class Speech:
    """Samples, and when each sentence begins and ends in them, in seconds."""

    samples: Samples
    times: list[tuple[float, float]]


def is_available() -> bool:
    """Return True if the program that speaks is installed."""
    return shutil.which(PROGRAM) is not None


def read_texts(path: Path) -> list[SpokenText]:
    """Return the texts of a file."""
    return [
        SpokenText(**{**entry, "sentences": tuple(entry["sentences"])})
        for entry in json.loads(path.read_text(encoding="utf-8"))
    ]


def speak(text: SpokenText, *, voice: str = VOICE, pause_s: float = PAUSE_S) -> Speech:
    """Return a text as speech, each sentence spoken by itself."""
    spelled = (_SPELLED.sub(r"\1", sentence) for sentence in text.sentences)
    return join_sentences((_say(sentence, voice) for sentence in spelled), pause_s=pause_s)


def join_sentences(sentences: Iterable[Samples], *, pause_s: float) -> Speech:
    """Return spoken sentences as one speech, with silence after each."""
    parts: list[Samples] = []
    times = []
    length = 0
    for said in sentences:
        loud = np.flatnonzero(np.abs(said) > _SOUND)
        times.append(((length + loud[0]) / SAMPLE_RATE, (length + loud[-1]) / SAMPLE_RATE))
        parts += [said, np.zeros(int(pause_s * SAMPLE_RATE), np.float32)]
        length += sum(map(len, parts[-2:]))
    return Speech(np.concatenate(parts), times)


def _say(text: str, voice: str) -> Samples:
    import av

    program, _, name = voice.rpartition(":")
    if program == FLITE:
        command = [FLITE, "-voice", name, "-t", text, "-o", "/dev/stdout"]
    else:
        command = [PROGRAM, "-v", voice, "-s", str(WORDS_A_MINUTE), "--stdout", text]
    spoken = subprocess.run(command, capture_output=True, check=True).stdout
    resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
    with av.open(io.BytesIO(spoken), "r") as file:
        frames = [part for frame in file.decode(audio=0) for part in resampler.resample(frame)]
    frames += resampler.resample(None)
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])


def has_words(text: str, words: str) -> bool:
    """Return True if a text has words in succession, whatever their case, marks and digits."""
    return f" {' '.join(plain_words(words))} " in f" {' '.join(plain_words(text))} "


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with numbers as digits: "9000" for "9,000"."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower().replace("-", " ").replace("’", "'"))
    text = re.sub(r"\$\s?(\d+(?: (?:hundred|thousand|million))?)", r"\1 dollars", text)
    return list(_with_digits(re.findall(r"[a-z']+|\d+", text)))


def _with_digits(words: Sequence[str]) -> Iterator[str]:
    total = part = -1
    for word in [*words, ""]:
        number = int(word) if word.isdigit() else _NUMBERS.get(word, -1)
        if word in _FACTORS and part >= 0:
            part *= _FACTORS[word]
            if word != "hundred":
                total, part = max(0, total) + part, 0
        elif number >= 0 and part < 0 <= number:
            part = number
        elif number >= 0 and _goes_on(part, number, word):
            part += number
        else:
            if total >= 0 or part >= 0:
                yield str(max(0, total) + max(0, part))
            total, part = -1, number
            if number < 0 and word:
                yield word


def _goes_on(part: int, number: int, word: str) -> bool:
    """Return True if a number word belongs to the one before: "eighty one", "two hundred six"."""
    if word.isdigit():
        return False
    return (
        part == 0
        or (part % 100 == 0 and number < 100)
        or (part % 10 == 0 < part % 100 and number < 10)
    )
