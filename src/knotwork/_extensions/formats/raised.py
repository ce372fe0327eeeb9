"""Write raised and lowered text of a page so that it does not change the word or number before it.

Marks of notes are as in Markdown, "30 [^1]", and exponents after a caret, as in "10^5".
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
    r"(?:\d{1,3}|[a-z])(?:\s?[,;–-]\s?(?:\d{1,3}|[a-z]))*[)）.]?|[①-⑳]|\[[^\]]+\]|\((?:\d{1,3}|[a-z])\)"
)
_LISTED = re.compile(r"\s*([,;–-])\s*(?=\w)")
_CURRENCY = r"(?:US\$|[$€£¥￥]|EUR\b|USD\b|GBP\b|CHF\b|Fr\.|kr\b|zł|Kč)"
_CENTS = re.compile(rf"(?P<before>{_CURRENCY})?\s?(?P<cents>\d\d)\s?(?P<behind>{_CURRENCY})?")
_WHOLE_PRICE = re.compile(
    rf"(?:(?P<currency>{_CURRENCY})\s?)?(?<![\d.,])(?:\d{{1,3}}(?:[.,]\d{{3}})+|\d+)$"
)
_IN_CURRENCY = re.compile(rf"\s?{_CURRENCY}")
_HOUR = re.compile(
    r"(?P<range>:\d\d\s?(?:[–-]|to|until|bis|à|a|至)?\s?)?(?<![\d.,:])(?:[01]?\d|2[0-4])$"
)
_MINUTES = re.compile(r"[0-5]\d")
_IN_HOURS = re.compile(r"\s?(?:Uhr|h(?:rs?)?\b|[ap]\.?m\b|o['’]clock)")
_SIGNED = re.compile(r"[-+−–]\s?[\d.,a-z]+|[\d.,]*\d?[-+−–]")
_AFTER_OPERATOR = re.compile(r"[=+*/×·^<>≤≥√∙][\s(]*[^\W_]+$|(?<!\w)[a-z]\d+$")
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
    if found["word"]:
        return _behind_word(near.rstrip(), found[0], raised)
    return _behind_number(near.rstrip(), found[0], raised, after)


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
    if _NOTE.fullmatch(raised) and not (
        is_variable and raised != "1" and raised.strip("()").isalnum()
    ):
        return _note(near, raised)
    return _power(raised)


def _behind_number(near: str, number: str, raised: str, after: str) -> str:
    if _ORDINAL.fullmatch(raised.lower()):
        return "°" if raised == "o" else raised
    if written := _cents_or_minutes(near, number, raised, after):
        return written
    is_base = number == "10" or (number == "2" and raised not in ("1", "2"))
    is_counted = is_base or _AFTER_OPERATOR.search(near) is not None
    is_power = is_counted and raised.isdigit() and raised != "1"
    if is_power or _SIGNED.fullmatch(raised) or raised in (*"nxykmjpq",):
        return _power(raised)
    return _note(near, raised) if _NOTE.fullmatch(raised) else _power(raised)


def _cents_or_minutes(near: str, number: str, raised: str, after: str) -> str:
    """Return the end of a price or of a time of day, such as ".99" and ":30", or ""."""
    if raised in ("h", "min") and (raised == "min" or after[:1].isdigit()):
        return raised
    cents, price = _CENTS.fullmatch(raised), _WHOLE_PRICE.search(near)
    if cents and price:
        sign = cents["before"] or cents["behind"]
        if sign or price["currency"] or _IN_CURRENCY.match(after):
            point = "," if "." in number else "."
            return f"{point}{cents['cents']}" + (f" {sign}" if sign else "")
    hour = _HOUR.search(near)
    if hour is None or not _MINUTES.fullmatch(raised):
        return ""
    is_time = raised[0] == "0" or hour["range"] or _IN_HOURS.match(after)
    return f":{raised}" if is_time else ""


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
    is_plain = is_plain or _BRACKETS.fullmatch(raised) is not None
    return f"^{raised}" if is_plain else f"^({raised})"


def _note(near: str, raised: str) -> str:
    """Return the mark of a note; behind the end of a sentence it has no space, as part of it."""
    inner = _LISTED.sub(r"\1", raised.strip("[]()（）^"))
    if not any(map(str.isalnum, inner)):
        return raised
    return f"{_gap(near)}[^{inner}]"


def _gap(near: str) -> str:
    return "" if not near or near[-1].isspace() or near.endswith(_NO_GAP) else " "
