"""Leave data that is written as text out of texts: base64, hexadecimal dumps, armour of PGP."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

_LEAST = 200
"""Shorter runs are keys, hashes and identifiers."""
_SAMPLE = 2_000
_CHANGES, _DIGITS = 0.35, 0.05
"""Least shares of base64; of chance, 0.65 and 0.16 are expected."""
_HEX_WORD = re.compile(r"\b(?:0x)?([0-9A-Fa-f]{2,8})\b")
_BASE64 = re.compile(
    # Addresses are left out in any case, so that they are not counted.
    r"(?P<address>(?:[=(]|url\()[\"']?+(?=data:))?+(?P<uri>data:[\w/+.;=-]{0,200}?;base64,)?+"
    r"(?<![A-Za-z0-9+/_-])"
    r"(?P<run>[A-Za-z0-9+/_-]{56,}+(?:(?:=?[\r\n]++|\\r|\\n)[ \t>]*+[A-Za-z0-9+/_-]{56,}+)*+)"
    r"(?P<tail>(?:(?:[\r\n]++|\\r|\\n)[ \t>]*+[A-Za-z0-9+/_-]{1,200}+(?![ \t]*+[^\s=\"'\\<)]))?+)"
    r"(?P<padding>={0,2})"
)
_ARMOUR = re.compile(
    r"-----BEGIN PGP SIGNED MESSAGE-----\n(?:[A-Z][\w-]*+:.*\n)*+\n?"
    r"|-----BEGIN PGP ([A-Z ]{3,30})-----\n[^-]*+(?:-(?!----)[^-]*+)*+-----END PGP \1-----\n?"
)
_HEX = re.compile(
    r"(?<![\w.])(?:0x)?[0-9A-Fa-f]{200,}+(?![\w.])"  # without spaces
    r"|(?<![\w.:])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}\b[:,;]?[ \t\r\n]*+){100,}+"
    # Lines of a dump with offsets, and with the characters at their ends.
    r"|(?:^[ \t]*+(?:0x)?[0-9A-Fa-f]{4,16}:?[ \t]++"
    r"(?:[0-9A-Fa-f]{2,8}[ \t\r\n|]++){4,16}.*\n?){8,}",
    re.MULTILINE,
)


def without_encoded_data(text: str, left_out: Counter[str]) -> str:
    """Return a text without encoded data, and count what is left out."""

    def cut_base64(found: re.Match[str]) -> str:
        run, tail = found["run"], found["tail"]
        is_sure = found["uri"] is not None
        if not is_sure and (len(run) < _LEAST or not _looks_encoded(run)):
            return found[0]
        if found["address"] is None:
            left_out["base64 block"] += 1
        ends = bool(found["padding"]) or is_sure or _is_rest(run, tail)
        return (found["address"] or "") + ("" if ends else tail)

    def cut_armour(found: re.Match[str]) -> str:
        left_out["encrypted text"] += found[1] == "MESSAGE"
        return ""

    def cut_hex(found: re.Match[str]) -> str:
        digits = "".join(_HEX_WORD.findall(found[0][:_SAMPLE])) or found[0]
        if not 0.1 < sum(map(str.isalpha, digits)) / len(digits) < 0.9:
            return found[0]
        left_out["hex dump"] += 1
        return "\n" if found[0].endswith("\n") else ""

    text = _ARMOUR.sub(cut_armour, text) if "-----BEGIN PGP" in text else text
    if len(text) < _LEAST:
        return text
    return _HEX.sub(cut_hex, _BASE64.sub(cut_base64, text))


def _looks_encoded(run: str) -> bool:
    """Return True if capitals, small letters and digits change as often as in base64.

    In names, paths and sequences of bases they do so seldom.
    """
    letters = filter(str.isalnum, run[:_SAMPLE])
    kinds = "".join("0" if c.isdigit() else "A" if c.isupper() else "a" for c in letters)
    changes = sum(a != b for a, b in pairwise(kinds))
    digits = kinds.count("0")
    return (
        changes > _CHANGES * len(kinds)
        and digits > _DIGITS * len(kinds)
        and min(kinds.count("A"), kinds.count("a")) > 0
    )


def _is_rest(run: str, tail: str) -> bool:
    """Return True if a short line ends a block without padding, which has four letters a unit."""
    letters = re.sub(r"\\[rn]|[\s=>]", "", run + tail)
    return len(letters) % 4 == 0 and re.search(r"[\d+/]", tail) is not None
