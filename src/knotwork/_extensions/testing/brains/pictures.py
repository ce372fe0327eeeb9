"""See pictures as far as rules do: the words in them, which RapidOCR recognises."""

from __future__ import annotations

import io

from knotwork._extensions.testing.brains.prompts import Assignment, LineForm
from knotwork._extensions.testing.brains.reading import language_of
from knotwork._indexing.loaders.recognition import recognise
from knotwork._inference.chat import MessagePicture

_SEEN = {"en": "A diagram with the words {words}.", "zh": "一张图，上面写着{words}。"}
_APART = {"en": ", ", "zh": "、"}


def read_number(assignment: Assignment, form: LineForm) -> str:
    """Return what is written in the picture."""
    return " ".join(_words(assignment.pictures)) or form.nothing


def describe_picture(assignment: Assignment, form: LineForm) -> str:
    """Return a sentence with the words of the picture; none for a picture without words."""
    words = _words(assignment.pictures)
    if not words:
        return form.nothing
    language = language_of("".join(words))
    return _SEEN[language].format(words=_APART[language].join(words))


def _words(pictures: tuple[MessagePicture, ...]) -> list[str]:
    from PIL import Image

    return [
        line.text
        for picture in pictures
        for line in recognise(Image.open(io.BytesIO(picture.data))).lines
    ]
