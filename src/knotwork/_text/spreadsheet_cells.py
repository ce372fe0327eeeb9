"""Write text into cells of CSV files so that a spreadsheet does not run it as a formula.

Spreadsheets read a cell that begins with `=`, `+`, `-` or `@` as a formula, also after white space,
and some also with the full-width forms of these signs. A formula from a document could send other
cells to a stranger or start a program. Such a text gets an apostrophe in front, as OWASP advises:
https://owasp.org/www-community/attacks/CSV_Injection. Numbers need none. A text with apostrophes
before such a sign gets one more, so that `restore_cell` returns every text unchanged.
"""

from __future__ import annotations

import re

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
