"""Check the models that read pictures and recordings, by using the first and loading the second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from knotwork._config import IndexSettings
from knotwork._extensions.diagnosis.installation import Check, failed_check
from knotwork._extensions.media import speech, text_recognition
from knotwork._indexing.loaders.loader import Source, can_recognise
from knotwork.errors import KnotworkError

if TYPE_CHECKING:
    from PIL.Image import Image

_WORD = "Knotwork"


def check_text_recognition() -> Check:
    """Check that a word in a picture is recognised; without the extra, say what it adds."""
    name = "Pictures"
    if not can_recognise():
        detail = "the text of pictures and scans is not read"
        return Check(name, ok=True, detail=detail, fix="For them: pip install 'knotwork[ocr]'")
    started = time.perf_counter()
    read = " ".join(line.text for line in text_recognition.recognise(_drawn_word()).lines)
    seconds = time.perf_counter() - started
    if _WORD.casefold() not in read.casefold():
        return Check(
            name,
            ok=False,
            detail=f"the word {_WORD} in a picture was read as: {read or 'nothing'}",
            fix="Install it again: pip install --force-reinstall rapidocr onnxruntime",
        )
    detail = f"text is recognised by rapidocr, a first word after {seconds:.1f} s"
    return Check(name, ok=True, detail=detail)


def _drawn_word() -> Image:
    from PIL import Image as Images
    from PIL import ImageDraw, ImageFont

    picture = Images.new("RGB", (320, 240), "white")  # a lower one takes longer
    font = ImageFont.load_default(36)
    ImageDraw.Draw(picture).text((24, 24), _WORD, font=font, fill="black")
    return picture


def check_speech_recognition(settings: IndexSettings) -> Check:
    """Check that the speech model of the settings can be loaded, if one is set."""
    name = "Recordings"
    if not settings.audio_model:
        detail = "speech is not recognised, since index.audio_model is not set"
        return Check(name, ok=True, detail=detail)
    started = time.perf_counter()
    try:
        speech.open_transcriber(Source("recording", b"", audio_model=settings.audio_model))
    except KnotworkError as error:
        return failed_check(name, error)
    seconds = time.perf_counter() - started
    return Check(name, ok=True, detail=f"`{settings.audio_model}`, loaded in {seconds:.1f} s")
