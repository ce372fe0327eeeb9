"""HTML that cannot be broken by what is put into it: every text is escaped unless it is markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

MUTED = "opacity:.65"
BORDERED = "border-left:3px solid #8886;padding-left:.7em;margin:.5em 0"
MARKED = "background:#fd06;color:inherit"
_KEPT_CONTROLS = frozenset("\n\r\t")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | Markup


def element(name: str, *content: Content, **attributes: str | float) -> Markup:
    """Return an element; ``_`` in the name of an attribute stands for ``-``."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{_escape(str(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(content)}</{name}>")


def join(parts: Iterable[Content]) -> Markup:
    """Return several pieces as one; what is no markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _escape(part) for part in parts))


def table(rows: Iterable[Iterable[Content]], header: Iterable[str] = ()) -> Markup:
    """Return a table."""
    cell = "text-align:left;padding:.1em .8em .1em 0;vertical-align:top"
    lines = [[element("th", name, style=cell) for name in header]] if header else []
    lines += [[element("td", value, style=cell) for value in row] for row in rows]
    body = [element("tr", *line) for line in lines]
    return element("table", *body, style="border-collapse:collapse")


def shorten(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _escape(text: str) -> str:
    """Return a text in which nothing is markup, and no character steers what stands around it."""
    return escape("".join(_tame(character) for character in text), quote=True)


def _tame(character: str) -> str:
    """Replace controls, halves of pairs, and marks that turn the direction of the text after."""
    if character in _KEPT_CONTROLS or character.isprintable():
        return character
    category = unicodedata.category(character)
    if category in {"Cc", "Cs"} or unicodedata.bidirectional(character) in _TURNING:
        return _REPLACEMENT
    return character


_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
