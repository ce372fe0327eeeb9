"""Index spoken texts as recordings, and count the errors of what was recognised."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recognition.spoken import FORMATS, Speech
from tests.indexing.sound_files import sound_file

import knotwork
from knotwork._extensions.media.sound import SAMPLE_RATE
from knotwork.records import Document


@dataclass(frozen=True)
class IndexedTalks:
    """An index of recordings: their uris in order, and the documents by uri.

    ``sound_s`` is their length, ``took_s`` the time that indexing took.
    """

    base: knotwork.KnowledgeBase
    uris: Sequence[str]
    documents: Mapping[str, Document]
    sound_s: float
    took_s: float


@contextmanager
def indexed_talks(spoken: Sequence[Speech], model: Path) -> Iterator[IndexedTalks]:
    """Index speeches, in the formats in turn, with a speech model."""
    names = [f"talk{n}{FORMATS[n % len(FORMATS)]}" for n in range(len(spoken))]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "talks")
        folder.mkdir()
        for name, speech in zip(names, spoken, strict=True):
            (folder / name).write_bytes(sound_file(speech.samples, Path(name).suffix))
        settings = {"index_workers": 1, "index_audio_model": str(model)}
        with knotwork.open(Path(work, "talks.knot"), **settings) as base:
            began = time.perf_counter()
            report = base.index(folder)
            took_s = time.perf_counter() - began
            assert report.added == len(spoken), report.failures
            stored = base.store.documents
            documents = {d.uri: d for d in stored.documents(stored.document_ids()).values()}
            sound_s = sum(len(speech.samples) for speech in spoken) / SAMPLE_RATE
            uris = [f"talks/{name}" for name in names]
            yield IndexedTalks(base, uris, documents, sound_s, took_s)


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """Return the fewest words to insert, delete or replace (Levenshtein 1966)."""
    before = list(range(len(heard) + 1))
    for number, word in enumerate(said, start=1):
        row = [number]
        for other, found in enumerate(heard, start=1):
            row.append(min(before[other] + 1, row[-1] + 1, before[other - 1] + (word != found)))
        before = row
    return before[-1]


def model_option(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option of the speech model."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", type=Path, required=True)
    return parser
