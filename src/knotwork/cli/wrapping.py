"""Breaking a paragraph into the lines of a terminal, in scripts with and without spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knotwork.text.characters import HAN_AND_KANA

_OPENING = "“‘（《〈「『【〔［｛"
_CLOSING = "”’）》〉」』】〕］｝。，、；：！？…·,.;:!?)"
# A piece is a word or one wide character, with the marks that may not be parted from it, among them
# those of citations.
_PIECE = re.compile(
    rf"\s*[{_OPENING}]*(?:[{HAN_AND_KANA}]|[^\s{HAN_AND_KANA}{_OPENING}]+|[{_OPENING}]+)"
    rf"[{re.escape(_CLOSING)}]*(?: ?\[\d+\])*"
)
_BEGUN_MARK = re.compile(r" ?\[\d*$")


def wrap_text(text: str, width: int) -> list[str]:
    """Return the lines of a text, none wider than ``width`` cells and none with a space at its end.

    Lines break at white space and beside Chinese and Japanese characters, but not before closing
    punctuation or the mark of a citation, nor after opening punctuation. What is wider than a line
    is cut.
    """
    return [line for paragraph in text.split("\n") for line in _wrap_line(paragraph, width)]


def settled_length(text: str) -> int:
    """Return how much of a text that still grows is wrapped for good: all but its last word.

    A mark that has only begun belongs to the word before it.
    """
    begun = _BEGUN_MARK.search(text)
    end = begun.start() if begun else len(text)
    start = text.rfind("\n", 0, end) + 1
    for match in _PIECE.finditer(text, start, end):
        start = match.start()
    return start


def _wrap_line(text: str, width: int) -> Iterator[str]:
    from rich.cells import cell_len

    line = ""
    for match in _PIECE.finditer(text.rstrip()):
        piece = match[0]
        if cell_len(line + piece) <= width:
            line += piece
            continue
        if line.strip():
            yield line
            piece = piece.lstrip()
        line = ""
        for character in piece:
            if cell_len(line + character) > width and line:
                yield line.rstrip()
                line = ""
            line += character
    yield line.rstrip()
