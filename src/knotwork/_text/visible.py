"""Write text with the characters that readers see, and so that no terminal or spreadsheet obeys it.

Soft hyphens, zero-width spaces and marks of direction are inside words that look whole, and an
accent may be a character of its own. Joiners stay where they change what is shown: in Arabic and
Indic scripts, and in emoji. Variation selectors stay behind emoji, and zero-width spaces in scripts
that write no spaces.

Control characters move the cursor, rename the window or change colours. Bidirectional controls
show text in another order, so that `exe.fdp` looks like `pdf.exe`. Invisible characters make two
names look equal.

Spreadsheets read a cell that begins with `=`, `+`, `-` or `@` as a formula, also after white space,
and some also with the full-width forms of these signs. A formula from a document could send other
cells to a stranger or start a program. Such a text gets an apostrophe in front, as OWASP advises:
https://owasp.org/www-community/attacks/CSV_Injection. Numbers need none. A text with apostrophes
before such a sign gets one more, so that `restore_cell` returns every text unchanged.
"""

from __future__ import annotations

import re
import unicodedata

MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
"""Combining marks, for a class of a pattern; some letters with marks have no composed form."""

LATIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ħ": "h"}
)
"""Latin letters that have no decomposed form, as plain letters."""

_JOINED = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc"
)
_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SUSPECT = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
_INVISIBLE = re.compile(
    "\u00ad[ \t]*\n[ \t]*|[\u00ad\u034f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
    f"|(?<![{_UNSPACED}])\u200b"
    f"|(?<![{_JOINED}])\u200c|(?<![{_JOINED}{_EMOJI}])\u200d"
    "|(?<![\u1820-\u18aa])\u180e"
    r"|(?<=[^\W_])[\ufe00-\ufe0f\U000e0100-\U000e01ef](?!\u20e3)"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"
)


# NFC takes quadratic time for many marks on one letter.
_STACKED = re.compile(r"(?<![^\w\s\x00-\x7f])[^\w\s\x00-\x7f]{64,}")
_MOST_MARKS = 30


def visible_text(text: str) -> str:
    """Return a text in composed form (NFC) without characters that change nothing that is seen.

    A word that a soft hyphen parts at the end of a line is joined.
    """
    if text.isascii():
        return text
    if _SUSPECT.search(text):
        text = _INVISIBLE.sub("", text)
    return unicodedata.normalize("NFC", _STACKED.sub(_limit_marks, text))


def _limit_marks(match: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in match[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


REPLACEMENT = "\ufffd"

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_BREAKS = "\u2028\u2029"
_BLANK = (
    "\u115f\u1160\u17b4\u17b5\u2061-\u2065\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_ZERO_WIDTH = "\u034f\u180e\u200b-\u200d\u2060"
_UNSAFE = re.compile(
    f"[{_CONTROLS}{_DIRECTIONS}{_BREAKS}{_BLANK}]"
    f"|(?<=[0-9A-Za-z])[{_ZERO_WIDTH}]|[{_ZERO_WIDTH}](?=[0-9A-Za-z])"
)


def make_printable(text: str) -> str:
    r"""Return a text with each unsafe character replaced by U+FFFD; "\n" and "\t" are kept.

    Windows line breaks become "\n", and soft hyphens are removed.
    """
    return _UNSAFE.sub(REPLACEMENT, text.replace("\r\n", "\n").replace("\u00ad", ""))


def escape_unsafe(json_text: str) -> str:
    r"""Return JSON with the same values, in which unsafe characters are written as `\u` escapes.

    Other languages whose string literals have these escapes, such as Cypher, may use it too.
    """
    return _UNSAFE.sub(_json_escape, json_text)


def escape_unsafe_xml(xml: str) -> str:
    """Return XML with the same content, in which unsafe characters are character references.

    They may occur in text and in the values of attributes only.
    """
    return _UNSAFE.sub(lambda match: f"&#x{ord(match[0]):x};", xml)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


_MARK = "'"
_SIGNS = (
    "=+@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212\u207a\u207b\u207c"
    "\u208a\u208b\u208c\ufb29\\-"
)
_SKIPPED = r"'\s\x00-\x20\x7f-\x9f" + "\u00ad\u180e\u200b-\u200f\u2060\ufeff"
_FORMULA = re.compile(rf"[{_SKIPPED}]*[{_SIGNS}\t\r\n]")
_MARKED = re.compile(f"{_MARK}{_FORMULA.pattern}")
_EXPORTED_HEADS = ('"id","label","name","document",', '"source","type","target","relation",')
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def neutralize_cell(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula."""
    if not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return _MARK + text


def restore_cell(text: str) -> str:
    """Return the text that `neutralize_cell` was given."""
    return text[1:] if _MARKED.match(text) else text


def is_neutralized_export(head: str) -> bool:
    """Return True if a text is the beginning of a table of an exported graph with marks.

    Its header is quoted, which that of an export without them is not.
    """
    return head.removeprefix("\ufeff").startswith(_EXPORTED_HEADS)
