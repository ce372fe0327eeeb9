"""Measure the recognition of Mandarin.

    python -m benchmarks.recognition.measure_chinese_speech --model DIR

Texts are spoken by `spoken_chinese`, saved in five formats, and indexed. The error is the edit
distance of the recognised to the spoken characters, without marks and in simplified script, as a
share of the spoken ones.
The times are those of the nearest part of a document. Questions are answered without a model.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from benchmarks.recognition.recorded_talks import indexed_talks, model_option, word_errors
from benchmarks.recognition.spoken import PAUSE_S, read_texts
from benchmarks.recognition.spoken_chinese import TEXTS, VOICES, speak

from knotwork._text.languages import simplify

_HAN = re.compile(r"[\u4e00-\u9fff]")
_STOP = re.compile(r"[。？！]")


def measure(model: Path, voice: str, *, shown: bool) -> None:
    """Print a row for a voice."""
    texts = read_texts(TEXTS)
    spoken = [speak(text, voice, pause_s=PAUSE_S) for text in texts]
    wrong = count = stops = found = 0
    off_s: list[float] = []
    with indexed_talks(spoken, model) as talks:
        for text, speech, uri in zip(texts, spoken, talks.uris, strict=True):
            document = talks.documents[uri]
            said = _HAN.findall("".join(text.sentences))
            wrong += word_errors(said, _HAN.findall(simplify(document.text)))
            count += len(said)
            stops += len(_STOP.findall(document.text))
            starts = np.array([timed.start_s for timed in document.times])
            off_s += [float(np.abs(starts - start).min()) for start, _ in speech.times]
            answer = talks.base.ask(text.question)
            quotes = [citation.quote for citation in answer.citations]
            found += any(text.answer in simplify(part) for part in (answer.text, *quotes))
            if shown:
                print(document.text)
    timely = sum(off <= 1.0 for off in off_s)
    print(
        f"| {voice} | {wrong / count:.1%} of {count} | {stops} | {found} of {len(texts)} "
        f"| {timely} of {len(off_s)} | {max(off_s):.2f} s | {talks.sound_s:.0f} s "
        f"| {talks.took_s:.0f} |"
    )


def main() -> None:
    parser = model_option(__doc__)
    parser.add_argument("--show", action="store_true", help="print the recognised texts too")
    options = parser.parse_args()
    print("| voice | characters wrong | stops | answers | in time | worst | sound | seconds |")
    print("|---|---|--:|---|---|--:|--:|--:|")
    for voice in VOICES:
        measure(options.model, voice, shown=options.show)


if __name__ == "__main__":
    main()
