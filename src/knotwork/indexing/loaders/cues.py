"""The part of a line in its document, by its own words and type: captions, terms, titles of boxes.

For formats that mark these by their look, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

FEWEST_PAGES = 4
"""What stands on most pages is left out where there are at least so many."""
LONGEST_TERM = 60
LONGEST_TITLE = 80
_GENERIC_TITLE = re.compile(
    r"note|tip|warning|caution|important|hint|danger|attention|error|注意|注|提示|警告|小心|重要",
    re.IGNORECASE,
)
_NO_TERM = re.compile(
    r"notes|e\.g|examples?|for example|info|summary|question|answer|[qa]"
    r"|例如|例|示例|说明|备注|问|答",
    re.IGNORECASE,
)
_NUMBERED = r"\s*(?:[A-Z][.-]?)?\d+(?:[.-]\d+)*"
_TABLE_NAMES = r"(?:(?:Table|Tab\.|Tabelle|Tableau|Tabla)|(?:附?表格?))"
_FIGURE_NAMES = (
    r"(?:(?:Figure|Fig\.|Abbildung|Abb\.|Chart|Exhibit|Listing|Example|Box)|(?:附?图|圖|示例|代码))"
)
_CAPTION = re.compile(
    rf"(?:(?P<table>{_TABLE_NAMES})|{_FIGURE_NAMES}){_NUMBERED}(?:\s*[.:：—–|-]|\s{{2,}}|\s+(?=\S)|\s*$)"
)
_LONGEST_CAPTION = 200
_ENDS_SENTENCE = re.compile(r"[.!?。！？…;；,，][\"'”’)）]*$")
_SEPARATED = re.compile(r"\s*[:：.。—–](?=\s|$|[\u3400-\u9fff])|\s+-\s")
_BOLD = re.compile(r"bold|black|heavy|semib|demi|medi\b|cmbx|-b\b", re.IGNORECASE)
_MONOSPACED = re.compile(
    r"consolas|courier|menlo|monaco|inconsolata|lucida ?console|\bmono\b|mono(?=[-\d]|$)|nimbusmon"
    r"|fira code|source code|andale|cmtt|typewriter|fixedsys|terminal",
    re.IGNORECASE,
)


def is_generic_title(text: str) -> bool:
    """Return whether the title of a box says of what kind it is, and not what it is about."""
    return _GENERIC_TITLE.fullmatch(text.strip().rstrip(":：!！.")) is not None


def is_caption(text: str) -> bool:
    """Return whether a line is the numbered caption of a table, figure or listing."""
    line = text.strip()
    return len(line) <= _LONGEST_CAPTION and _CAPTION.match(line) is not None


def is_table_caption(text: str) -> bool:
    """Return whether a caption is that of a table."""
    match = _CAPTION.match(text.strip())
    return match is not None and bool(match["table"])


def is_title_like(text: str) -> bool:
    """Return whether a line may be a title: short, with letters, without the end of a sentence."""
    line = text.strip()
    longest = LONGEST_TITLE if line.isascii() else LONGEST_TITLE // 2
    return (
        0 < len(line) <= longest
        and "\n" not in line
        and any(map(str.isalpha, line))
        and not line.endswith((":", "："))
        and _ENDS_SENTENCE.search(line) is None
    )


def is_bold(font: str) -> bool:
    """Return whether a font is a bold one, by its name."""
    return _BOLD.search(font) is not None


def is_monospaced(font: str) -> bool:
    """Return whether a font is one of those in which code is set, by its name."""
    return _MONOSPACED.search(font) is not None


def run_in_term(runs: Iterable[tuple[str, bool]]) -> str:
    """Return the bold term that a paragraph begins with, or "".

    As in "**Timeout:** The time to wait." ``runs`` are the pieces of the paragraph and whether each
    is bold. Bold words that no sign parts from the text behind them are mere emphasis.
    """
    bold = rest = ""
    for text, is_bold in runs:
        if rest or not (is_bold or not text.strip()):
            rest += text
        else:
            bold += text
    name = bold.strip().rstrip(":：.。—– ")
    last = bold.rstrip()[-1:]
    is_separated = (
        last in {*":：。—–"}
        or (last == "." and not rest.lstrip()[:1].islower())
        or _SEPARATED.match(rest) is not None
    )
    is_term = (
        is_separated
        and any(map(str.isalpha, rest))
        and 0 < len(name) <= LONGEST_TERM
        and not is_generic_title(name)
        and not _NO_TERM.fullmatch(name)
    )
    return name if is_term else ""
