"""Classes of characters, and the traditional and simplified forms of Chinese ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han characters, as the inside of a regular expression's class."""

HAN_AND_KANA = HAN + "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
"""Han characters and Japanese kana, likewise."""

_FORMS = Path(__file__).with_name("data") / "traditional.txt"


def simplify(text: str) -> str:
    """Replace traditional Chinese characters by simplified ones, one for one.

    The length never changes, so that offsets into the result are offsets into ``text``.
    """
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    lines = _FORMS.read_text("utf-8").splitlines()
    traditional, simplified = (line for line in lines if not line.startswith("#"))
    return str.maketrans(dict(zip(traditional, simplified, strict=True)))
