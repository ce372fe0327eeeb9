"""Show text without characters that drive a terminal or change how the text around them is shown.

Control characters move the cursor, rename the window or change colours. Bidirectional controls
show text in another order, so that `exe.fdp` looks like `pdf.exe`. Invisible characters make two
names look equal. Zero-width joiners and spaces are kept where scripts and emoji need them, which
is not beside an ASCII letter or digit.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_BREAKS = "\u2028\u2029"
_INVISIBLE = (
    "\u115f\u1160\u17b4\u17b5\u2061-\u2065\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_ZERO_WIDTH = "\u034f\u180e\u200b-\u200d\u2060"
_UNSAFE = re.compile(
    f"[{_CONTROLS}{_DIRECTIONS}{_BREAKS}{_INVISIBLE}]"
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
