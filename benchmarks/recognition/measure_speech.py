"""Measure the recognition of speech: `python -m benchmarks.recognition.measure_speech --model DIR`.

Texts are spoken by espeak-ng, or by flite (`--voice flite:slt`), saved in five formats, and
indexed. The error is the edit distance of the recognised to the spoken words, as a share of the
spoken ones; numbers count as digits. Each question is answered without a language model. An answer
is found if its words are in the quote of the first citation or in the answer. The errors of times
are those of the citation that quotes the answer, compared with the sentence that has it.

`--held-out` uses the texts that were not looked at while the loader was written. `--joined SECONDS`
instead joins the texts, three times, to one recording with so much silence between sentences, and
compares the time of each sentence with the nearest time of the document.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.recognition.recorded_talks import indexed_talks, model_option, word_errors
from benchmarks.recognition.spoken import (
    HELD_OUT_TEXTS,
    TEXTS,
    VOICE,
    SpokenText,
    has_words,
    plain_words,
    read_texts,
    speak,
)
from tests.indexing.sound_files import sound_file

from knotwork._extensions.media.sound import SAMPLE_RATE
from knotwork._indexing.loaders.loader_registry import load_file


def measure(texts: Sequence[SpokenText], model: Path, voice: str) -> None:
    """Print a row for each text, and the sums."""
    errors = words = found = timely = 0
    worst_s = 0.0
    spoken = [speak(text, voice=voice) for text in texts]
    with indexed_talks(spoken, model) as talks:
        print("| text | format | word error | answer found | start | end |")
        print("|---|---|--:|---|--:|--:|")
        for text, speech, uri in zip(texts, spoken, talks.uris, strict=True):
            said = plain_words(" ".join(text.written))
            wrong = word_errors(said, plain_words(talks.documents[uri].text))
            answer = talks.base.ask(text.question)
            cited = [c for c in answer.citations if c.document == uri and c.time]
            quoting = [c for c in cited if has_words(c.quote, text.answer)]
            is_found = bool(quoting) or has_words(answer.text, text.answer)
            times = "- | -"
            if quoting:
                start_s, end_s = speech.times[text.answering]
                off = quoting[0].time.start_s - start_s, quoting[0].time.end_s - end_s
                worst_s = max(worst_s, *map(abs, off))
                timely += max(map(abs, off)) <= 1.0
                times = f"{off[0]:+.2f} | {off[1]:+.2f}"
            share = wrong / len(said)
            print(f"| {text.title} | {Path(uri).suffix} | {share:.0%} | {is_found} | {times} |")
            errors, words, found = errors + wrong, words + len(said), found + is_found
    print(
        f"\n{errors / words:.1%} of {words} words wrong; {found} of {len(texts)} answers found; "
        f"{timely} cited within 1 s (worst {worst_s:.2f} s); {talks.sound_s:.0f} s of sound "
        f"in {talks.took_s:.0f} s"
    )


def measure_joined(texts: Sequence[SpokenText], model: Path, voice: str, pause_s: float) -> None:
    """Print the errors of the times of all sentences of one long recording."""
    spoken = [speak(text, voice=voice, pause_s=pause_s) for text in texts] * 3
    data = sound_file(np.concatenate([speech.samples for speech in spoken]), ".mp3")
    began = time.perf_counter()
    document = load_file(data, uri="talk.mp3", audio_model=str(model))
    took_s = time.perf_counter() - began
    heard = np.array([timed.start_s for timed in document.times])
    offset_s = 0.0
    errors_s = []
    for speech in spoken:
        errors_s += [float(np.abs(heard - offset_s - start).min()) for start, _ in speech.times]
        offset_s += len(speech.samples) / SAMPLE_RATE
    timely = sum(error <= 1.0 for error in errors_s)
    median, high = np.quantile(errors_s, [0.5, 0.95])
    print(
        f"{offset_s:.0f} s in {took_s:.0f} s: {timely} of {len(errors_s)} sentences begin within "
        f"1 s; error {median:.2f} s (median), {high:.2f} s (95 %), {max(errors_s):.2f} s (worst)"
    )


def main() -> None:
    parser = model_option(__doc__)
    parser.add_argument("--voice", default=VOICE)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--joined", type=float, metavar="SECONDS")
    options = parser.parse_args()
    texts = read_texts(HELD_OUT_TEXTS if options.held_out else TEXTS)
    if options.joined is None:
        measure(texts, options.model, options.voice)
    else:
        measure_joined(texts, options.model, options.voice, options.joined)


if __name__ == "__main__":
    main()
