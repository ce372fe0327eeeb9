"""Write raised and lowered text of a page so that it does not change the word or number before it.

Notes are in brackets, as in "30 [1]", exponents after a caret, as in "10^5".
"""

from __future__ import annotations

import re

_MOST_BEFORE = 80
"""Characters before raised text that may say what it means."""
_MOST_RAISED = 16
"""Longer raised text is a phrase."""
_UNIT = re.compile(
    r"[cdkmnµμ]?m|in|ft|yd|mi|px|m?s|min|h|[km]?g|t|lb|ha|m?[lL]|[km]?[WVAN]|K|[kM]?Pa|J|Hz"
    r"|.*[米里尺秒]"
)
_SQUARES = {"2": "²", "3": "³"}
_ORDINAL = re.compile(r"st|nd|rd|th|er?|[eè]?re|[èei]+me|es|os?|ª|º")
_TRADEMARKS = ("tm", "sm")
_ROMAN = re.compile(r"[IVXLCDM]+")
_LAST = re.compile(r"(?P<word>[^\W\d_]+)$|(?P<number>\d+(?:[.,]\d+)*)$")
_NOTE = re.compile(
    r"(?:\d{1,3}|[a-z])(?:\s?[,;–-]\s?(?:\d{1,3}|[a-z]))*[)）.]?|[①-⑳]|\[[^\]]+\]|\(\d{1,3}\)"
)
_SIGNED = re.compile(r"[-+−–]\s?[\d.,a-z]+|[\d.,]*\d?[-+−–]")
_AFTER_OPERATOR = re.compile(r"[=+*/×·^<>≤≥√∙][\s(]*[^\W_]+$")
_BRACKETS = re.compile(r"\([^()]*\)$")
_SIGN_IN_BRACKETS = re.compile(r"[-+−*/×]")
_NO_GAP = (*".!?。！？…/",)


def write_raised(
    before: str, text: str, *, lowered: bool = False, is_note: bool = False, after: str = ""
) -> str:
    """Return what is written for raised, or lowered, text of a line.

    ``before`` is the text of the line before it and ``after`` that behind it, if it is known.
    ``is_note`` says that it is the mark of a note for sure, as it is a link to one.
    """
    raised = " ".join(text.split())
    near = before[-_MOST_BEFORE:].rpartition("\n")[2]
    if not any(map(str.isalnum, raised)):
        return text
    if lowered or is_note:
        return _lowered(near, raised) if lowered else _note(near, raised)
    if after[:1] in ("/", "⁄") or len(raised) > _MOST_RAISED:
        return f"{_gap(near)}{text.lstrip()}"
    found = _LAST.search(near.rstrip())
    if found is None or (near[-1:].isspace() and after[:1].isalnum()):
        return _behind_mark(near, raised, after)
    behind = _behind_word if found["word"] else _behind_number
    return behind(near.rstrip(), found[0], raised)


def _behind_word(near: str, word: str, raised: str) -> str:
    is_variable = len(word) == 1 or _AFTER_OPERATOR.search(near) is not None
    if raised.lower() in _TRADEMARKS:
        return f" {raised}"
    is_ordinal = _ROMAN.fullmatch(word) and _ORDINAL.fullmatch(raised)
    if is_ordinal or (raised.isalpha() and (len(raised) > 1 or raised in "or")):
        return raised
    if raised in _SQUARES and _UNIT.fullmatch(word):
        return _SQUARES[raised]
    if _SIGNED.fullmatch(raised):
        return f"^{raised}" if raised[-1:].isalnum() else raised
    if _NOTE.fullmatch(raised) and not (is_variable and raised != "1" and raised.isalnum()):
        return _note(near, raised)
    return _power(raised)


def _behind_number(near: str, number: str, raised: str) -> str:
    if _ORDINAL.fullmatch(raised.lower()):
        return "°" if raised == "o" else raised
    is_base = number == "10" or (number == "2" and raised not in ("1", "2"))
    is_counted = is_base or _AFTER_OPERATOR.search(near) is not None
    is_power = is_counted and raised.isdigit() and raised != "1"
    if is_power or _SIGNED.fullmatch(raised) or raised in (*"nxykmjpq",):
        return _power(raised)
    return _note(near, raised) if _NOTE.fullmatch(raised) else _power(raised)


def _behind_mark(near: str, raised: str, after: str) -> str:
    """Return raised text behind a stop, a bracket or nothing: a note, a power or an isotope."""
    if not near.strip() or near[-1:].isspace():
        return raised if after[:1].isalpha() or not _NOTE.fullmatch(raised) else _note("", raised)
    group = _BRACKETS.search(near)
    if group is not None and _SIGN_IN_BRACKETS.search(group[0]) and raised != "1":
        return _power(raised)
    return _note(near, raised) if _NOTE.fullmatch(raised) else raised


def _lowered(near: str, raised: str) -> str:
    last = near[-1:]
    if not last.isalnum() or (last.isalpha() and raised.isdigit()):
        return raised
    is_letter = len(raised) == 1 and (len(near) < 2 or not near[-2].isalnum())
    if last.isdigit() or is_letter or not raised.isalnum():
        return f"_{raised}" if raised.isalnum() else f"_({raised})"
    return raised


def _power(raised: str) -> str:
    is_plain = raised.isalnum() or _SIGNED.fullmatch(raised) is not None
    return f"^{raised}" if is_plain else f"^({raised})"


def _note(near: str, raised: str) -> str:
    """Return the mark of a note; behind the end of a sentence it has no space, as part of it."""
    inner = raised.strip("[]()（）")
    if not any(map(str.isalnum, inner)):
        return raised
    return f"{_gap(near)}[{inner}]"


def _gap(near: str) -> str:
    return "" if not near or near[-1].isspace() or near.endswith(_NO_GAP) else " "
