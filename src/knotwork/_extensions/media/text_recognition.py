"""Recognise the text in pictures with RapidOCR, whose models are inside its package.

Everything happens on one thread: files are read in as many processes as `index.workers` says, and
each of them recognises one picture at a time.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from knotwork._cancellation import check_cancelled
from knotwork._indexing.loaders.loader import Source, clean_line
from knotwork._indexing.loaders.recognition import EXTRA, INSTALL
from knotwork._indexing.worker_process import allow_more
from knotwork.errors import LoadError

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 2_400
"""Pixels of the longer side at most: larger pictures are shrunk, as more only takes time."""

MAX_PIXELS = 150_000_000
"""Pixels of a picture: a page of A3 at 600 dpi has 70 million. They need 4 bytes each."""

LEAST_SCORE = 0.5
"""Lines of which the model is less certain are dropped."""

_TURNS = (0, 2, 1, 3)
_CERTAIN = 0.8
"""A page of which the model is less certain is tried in other directions."""

PAGE_SECONDS = 60
"""Processor time for one page, in seconds, beside that of the file; about 5 are used."""

_lock = threading.Lock()


class RecognisedLine(NamedTuple):
    """A line of text and its corners, as pixels of the picture from the upper left.

    ``slope`` is that of its upper edge: 0 for a level line, positive if it falls to the right.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    slope: float = 0.0

    @property
    def width(self) -> float:
        """The width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height of its characters in pixels, not of its slanted box."""
        return max(1.0, self.bottom - self.top - abs(self.slope) * self.width)

    @property
    def middle(self) -> float:
        """The height of its centre on the page."""
        return (self.top + self.bottom) / 2


class RecognisedPage(NamedTuple):
    """The lines of a picture of ``width`` by ``height`` pixels, in no order.

    To read it, the picture was turned to the left by ``turns`` right angles.
    """

    lines: tuple[RecognisedLine, ...]
    width: int
    height: int
    turns: int = 0

    @property
    def characters(self) -> int:
        """The number of characters of all lines."""
        return sum(len(line.text) for line in self.lines)


def missing_extra_error(source: Source) -> LoadError:
    """Return the error for a file whose text has to be recognised, without the extra."""
    return LoadError(
        "unsupported",
        f"`{source.uri}` is a picture. Recognising its text needs the optional extra `{EXTRA}`, "
        "which is not installed.",
        fix=f"Install it with: {INSTALL}",
    )


def recognise(picture: Image, *, may_be_turned: bool = True) -> RecognisedPage:
    """Return the lines of text in a picture. Raises Cancelled before it begins.

    A page that lies on its side or head is turned, if it ``may_be_turned``. A line by itself is
    not, although the library has a model for it, which takes "900" for "006".
    """
    check_cancelled()
    allow_more(PAGE_SECONDS)
    pixels = np.asarray(flattened(shrunk(picture, LONGEST_SIDE)))[:, :, ::-1]
    best, most = RecognisedPage((), pixels.shape[1], pixels.shape[0]), 0.0
    for turns in _TURNS if may_be_turned else _TURNS[:1]:
        check_cancelled()
        page, certainty = _recognise(pixels, turns)
        if certainty > most:
            best, most = page, certainty
        if certainty >= _CERTAIN or not page.lines:  # a photo has no lines, however it lies
            break
    return best


def _recognise(pixels: np.ndarray[Any, Any], turns: int) -> tuple[RecognisedPage, float]:
    """Return the lines of a picture that is turned, and how certain they are, from 0 to 1."""
    turned = np.ascontiguousarray(np.rot90(pixels, turns))
    height, width = turned.shape[:2]
    with _lock:
        found = _engine()(turned)
    if not found.txts or found.boxes is None:
        return RecognisedPage((), width, height, turns), 0.0
    lines = [
        _line(clean_line(text), np.asarray(corners, float), width, height)
        for text, corners in zip(found.txts, found.boxes, strict=True)
        if text.strip()
    ]
    lengths = np.array([len(text) for text in found.txts], float)
    certainty = float(np.average(found.scores, weights=lengths))
    standing = sum(len(line.text) for line in lines if line.height > line.width)
    if standing > lengths.sum() / 2 > 1:  # read sideways
        certainty *= _CERTAIN
    return RecognisedPage(tuple(lines), width, height, turns), certainty


def _line(text: str, corners: np.ndarray[Any, Any], width: int, height: int) -> RecognisedLine:
    """Return a line by its four corners, clockwise from the upper left."""
    across = corners[1] - corners[0]
    slope = float(across[1] / across[0]) if abs(across[0]) > abs(across[1]) else 0.0
    left, top = corners.min(axis=0)
    right, bottom = corners.max(axis=0)
    return RecognisedLine(
        text,
        float(np.clip(left, 0, width)),
        float(np.clip(top, 0, height)),
        float(np.clip(right, 0, width)),
        float(np.clip(bottom, 0, height)),
        slope,
    )


def shrunk(picture: Image, longest_side: int) -> Image:
    """Return a picture of at most this size, without a copy of its full size if it can."""
    share = longest_side / max(picture.size)
    if share >= 1:
        return picture
    if picture.mode in {"1", "P", "PA"}:  # their values are no brightness
        picture = picture.convert("L" if picture.mode == "1" else "RGBA")
    width, height = (max(1, round(side * share)) for side in picture.size)
    return picture.resize((width, height), reducing_gap=2.0)


def flattened(picture: Image) -> Image:
    """Return a picture in colour, with white where it is transparent."""
    from PIL import Image as Images

    if picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        below = Images.new("RGBA", seen.size, "white")
        return Images.alpha_composite(below, seen).convert("RGB")
    if picture.mode.startswith(("I", "F")):
        values = np.asarray(picture, float)
        low, high = float(values.min()), float(values.max())
        spread = (values - low) * (255 / (high - low)) if high > low else values * 0 + 255
        return Images.fromarray(spread.astype(np.uint8)).convert("RGB")
    return picture.convert("RGB")


@cache
def _engine() -> Any:  # noqa: ANN401 - a library without types
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST_SIDE,
            "Global.use_cls": False,
            "Global.text_score": LEAST_SCORE,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
