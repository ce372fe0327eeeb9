"""Speech of a voice that is made here, recognised by a real model of Whisper: answers and times."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.recognition.recorded_talks import indexed_talks
from benchmarks.recognition.spoken import (
    PROGRAM,
    TEXTS,
    has_words,
    is_available,
    read_texts,
    speak,
)
from tests.indexing.sound_files import sound_file, tone

from knotwork.errors import LoadError

pytestmark = pytest.mark.skipif(not is_available(), reason=f"{PROGRAM} is not installed")
SPOKEN = read_texts(TEXTS)
FEWEST_ANSWERS = 7
"""Of ten: the smallest model mishears some words of the voice, such as "dough" as "door"."""


@pytest.fixture(scope="module")
def speeches():
    return [speak(text) for text in SPOKEN]


@pytest.fixture(scope="module")
def talks(speeches, whisper_model):
    """An index of ten recordings in five formats, read by a worker process."""
    with indexed_talks(speeches, whisper_model) as talks:
        yield talks.base


def test_spoken_answers_are_found_and_cited_with_their_times(talks, speeches):
    found = 0
    for number, (text, speech) in enumerate(zip(SPOKEN, speeches, strict=True)):
        answer = talks.ask(text.question)
        quoting = [c for c in answer.citations if has_words(c.quote, text.answer)]
        if not quoting:
            continue
        found += 1
        citation = quoting[0]
        assert Path(citation.document).stem == f"talk{number}"
        start_s, end_s = speech.times[text.answering]
        assert citation.time.start_s == pytest.approx(start_s, abs=1.0), text.question
        assert citation.time.end_s == pytest.approx(end_s, abs=1.0), text.question
    assert found >= FEWEST_ANSWERS


@pytest.fixture(scope="module")
def load(whisper_model):
    from knotwork._indexing.loaders.loader_registry import load_file

    def loaded(samples):
        data = sound_file(samples, ".flac")
        return load_file(data, uri="a.flac", audio_model=str(whisper_model))

    return loaded


@pytest.mark.nightly
def test_a_long_recording_has_the_times_of_all_sentences(speeches, load):
    samples = np.concatenate([speech.samples for speech in speeches] + [speeches[0].samples] * 2)
    document = load(samples)
    assert document.metadata["duration"].startswith("5:")
    offset_s, missed = 0.0, []
    starts = [timed.start_s for timed in document.times]
    for speech in [*speeches, speeches[0], speeches[0]]:
        for start_s, _ in speech.times:
            if min(abs(offset_s + start_s - start) for start in starts) > 1.0:
                missed.append(round(offset_s + start_s))
        offset_s += len(speech.samples) / 16_000
    assert len(missed) <= 2, missed


def test_reading_again_gives_the_same(speeches, load):
    assert load(speeches[1].samples) == load(speeches[1].samples)


@pytest.mark.parametrize("loudness", [0.0, 0.02, 0.3])
def test_nothing_is_made_up_where_nobody_speaks(loudness, load):
    noise = np.random.default_rng(7).standard_normal(30 * 16_000).astype(np.float32)
    music = sum(tone(30, hertz) for hertz in (220, 330, 440))
    for samples in (loudness * noise, loudness * music):
        with pytest.raises(LoadError, match="No speech"):
            load(samples)


def test_silence_between_sentences_changes_no_time(speeches, load):
    silence = np.zeros(60 * 16_000, np.float32)
    document = load(np.concatenate([speeches[1].samples, silence, speeches[6].samples]))
    at = document.text.index("The public library")
    begin_s = len(speeches[1].samples) / 16_000 + 60 + speeches[6].times[0][0]
    time = next(t for t in document.times if t.span.start <= at < t.span.end)
    assert time.start_s == pytest.approx(begin_s, abs=1.0)
