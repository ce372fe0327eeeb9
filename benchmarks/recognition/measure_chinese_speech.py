"""Measure the recognition of Mandarin.

    python -m benchmarks.recognition.measure_chinese_speech --model DIR

Texts are spoken by `spoken_chinese`, saved in five formats, and indexed. The error is the edit
distance of the recognised to the spoken characters, without marks and in simplified script, as a
share of the spoken ones.
The times are those of the nearest part of a document. Questions are answered without a model.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.recognition.measure_speech import word_errors
from benchmarks.recognition.spoken import FORMATS, PAUSE_S, read_texts
from benchmarks.recognition.spoken_chinese import TEXTS, VOICES, speak
from tests.indexing.sound_files import sound_file

import knotwork
from knotwork._indexing.loaders.sound import SAMPLE_RATE
from knotwork._text.chinese import simplify

_HAN = re.compile(r"[\u4e00-\u9fff]")
_STOP = re.compile(r"[。？！]")


def measure(model: Path, voice: str, *, shown: bool) -> None:
    """Print a row for a voice."""
    texts = read_texts(TEXTS)
    spoken = [speak(text, voice, pause_s=PAUSE_S) for text in texts]
    sound_s = sum(len(speech.samples) for speech in spoken) / SAMPLE_RATE
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "talks")
        folder.mkdir()
        for number, speech in enumerate(spoken):
            suffix = FORMATS[number]
            (folder / f"talk{number}{suffix}").write_bytes(sound_file(speech.samples, suffix))
        settings = {"embedding_model": "none", "index_workers": 1, "index_audio_model": str(model)}
        with knotwork.open(Path(work, "talks.knot"), **settings) as base:
            began = time.perf_counter()
            report = base.index(folder)
            took_s = time.perf_counter() - began
            assert report.added == len(texts), report.failures
            stored = base.store.documents
            heard = {d.uri: d for d in stored.documents(stored.document_ids()).values()}
            wrong = count = stops = found = 0
            off_s: list[float] = []
            for number, (text, speech) in enumerate(zip(texts, spoken, strict=True)):
                document = heard[f"talks/talk{number}{FORMATS[number]}"]
                said = _HAN.findall("".join(text.sentences))
                wrong += word_errors(said, _HAN.findall(simplify(document.text)))
                count += len(said)
                stops += len(_STOP.findall(document.text))
                starts = np.array([timed.start_s for timed in document.times])
                off_s += [float(np.abs(starts - start).min()) for start, _ in speech.times]
                answer = base.ask(text.question)
                found += any(text.answer in simplify(part) for part in (answer.text, *(
                    citation.quote for citation in answer.citations)))  # fmt: skip
                if shown:
                    print(document.text)
    timely = sum(off <= 1.0 for off in off_s)
    print(
        f"| {voice} | {wrong / count:.1%} of {count} | {stops} | {found} of {len(texts)} "
        f"| {timely} of {len(off_s)} | {max(off_s):.2f} s | {sound_s:.0f} s | {took_s:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="print the recognised texts too")
    options = parser.parse_args()
    print("| voice | characters wrong | stops | answers | in time | worst | sound | seconds |")
    print("|---|---|--:|---|---|--:|--:|--:|")
    for voice in VOICES:
        measure(options.model, voice, shown=options.show)


if __name__ == "__main__":
    main()
