"""Load recordings, and the sound of videos, as the text that is spoken, with its times."""

from __future__ import annotations

import math
from collections.abc import Iterator

from knotwork._cancellation import checked
from knotwork._indexing.file_progress import report_share
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source
from knotwork._indexing.loaders.sound import SECONDS_FOR_A_SECOND, Recording, open_recording
from knotwork._indexing.loaders.speech import (
    Transcriber,
    Word,
    open_transcriber,
    spoken_words,
    timely_words,
    utterances,
)
from knotwork._indexing.loaders.subtitles import add_utterances
from knotwork._indexing.process_limits import allow_more
from knotwork.errors import LoadError

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
