"""Write equations of MathML and Office as one line of text, such as "x = (-b + sqrt(d))/(2a)"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import unescape
from itertools import zip_longest
from typing import Any

_DEEPEST = 60
"""Elements in a deeper one are written as their bare text."""
_LEFT_OUT = frozenset(("annotation", "annotation-xml", "mphantom", "none", "mspace", "mprescripts"))
_RELATIONS = "=<>≤≥≠≈≡≅∼∝→←↔⇒⇔∈∉⊂⊆≪≫≔∣"
_SIGNS = "+-−±∓×÷·⋅∙*"
_OPERATOR = re.compile(rf"([{_RELATIONS}{re.escape(_SIGNS)}])")
_OPENS = ("(", "[", "{", "|", ",", "^", "_", "/")
_INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
_NAMES = {"∑": "sum", "∏": "product", "∫": "integral", "∬": "integral", "∮": "integral"}
_ACCENTS = {"¯": "\u0304", "‾": "\u0304", "^": "\u0302", "ˆ": "\u0302", "~": "\u0303",
            "˜": "\u0303", "˙": "\u0307", "→": "\u20d7", "⃗": "\u20d7", "̅": "\u0304",
            "̂": "\u0302", "̃": "\u0303"}  # fmt: skip
_ATOM = re.compile(r"[-−+]?(?:[\d.,]+|[^\W\d]+)|\w*[′'*°]|[^\w\s]")
_IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_LAST_WORD = re.compile(r"[^\W\d_]{2,}$|[\d)]$|[\^_/][^\s^_/]+$")
_FIELD_OPTIONS = re.compile(r"\s*EQ\s|\\\*\s*(?:\"[^\"]*\"|\w+)", re.IGNORECASE)
_LONGEST_FIELD = 2_000
_FIELD_PARTS = {
    r"\\f\s?\(([^(),;]*)[,;]([^(),;]*)\)": "\x01\\1\x02/\x01\\2\x02",
    r"\\r\s?\((?:2?[,;])?([^(),;]*)\)": "sqrt\x01\\1\x02",
    r"\\r\s?\(([^(),;]*)[,;]([^(),;]*)\)": "\x01\\2\x02^\x011/\\1\x02",
    r"\\s\\up ?\d*\(([^()]*)\)": "^\x01\\1\x02",
    r"\\s\\do ?\d*\(([^()]*)\)": "_\x01\\1\x02",
    # Of what stands on one another, marks around a character and its reading are left out.
    r"\\o[^(]*\((?:(?:\^[^(),;]*|[○〇□△◇])[,;])?([^()]*)\)": r"\1",
    r"\\[a-z](?:\s*\\[a-z]{2} ?\d*(?:\\?[^\w\s(\\])?)*\s*\(([^()]*)\)": r"\1",
    r"\(([^()]*)\)": "\x01\\1\x02",
}
"""Parts of EQ fields and how they are shown, with the characters 1 and 2 as brackets."""
_POWER = re.compile(r"[\^_/][^\s^_/]+$")
_LONGEST_WORD = 40
_MARKS = ("", "′", "″", "'", "*", "†")
_DEGREE = ("∘", "°", "o")


def equation_text(equation: Any) -> str:  # noqa: ANN401 - an lxml element, which has no public type
    """Return the text of a `math` element of MathML or an `oMath` element of Office.

    Without any, returns its alternative text, or the TeX that it was made from.
    """
    from lxml import etree

    levels: list[list[list[str]]] = [[]]  # the words of each child of each open element
    skipped = None
    events = etree.iterwalk(equation, events=("start", "end"))
    for event, element in events:
        name = _name_of(element)
        if event == "start":
            if not name or name in _LEFT_OUT or name.endswith("Pr"):
                skipped = element
            elif len(levels) > _DEEPEST:
                skipped = element
                levels[-1].append(["".join(element.itertext())])
            else:
                levels.append([])
            if element is skipped:
                events.skip_subtree()
        elif element is not skipped:
            parts = levels.pop()
            levels[-1].append(_words(element, name, parts))
        elif name in ("none", "mprescripts"):
            levels[-1].append([])
    text = " ".join(_row([word for words in levels[0] for word in words]).split())
    return text or equation.get("alttext") or _tex(equation)


def _name_of(element: Any) -> str:  # noqa: ANN401
    return re.split("[}:]", element.tag)[-1] if isinstance(element.tag, str) else ""


def _tex(equation: Any) -> str:  # noqa: ANN401
    texts = (element.text or "" for element in equation.iter() if _name_of(element) == "annotation")
    return " ".join(next(texts, "").split())


def _words(element: Any, name: str, parts: list[list[str]]) -> list[str]:  # noqa: ANN401
    """Return what an element is written as, given the words of its children."""
    if name == "t":
        return list(filter(None, map(str.strip, _OPERATOR.split(element.text or ""))))
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        text = unescape("".join(element.itertext())).translate(_INVISIBLE).strip()
        return [_NAMES.get(text, text)] if text else []
    if name in _WRITERS:
        return [_WRITERS[name](element, [_row(words) for words in parts])]
    return [word for words in parts for word in words]


def _row(words: Sequence[str]) -> str:
    """Return words in a row, with spaces around operators and between what would run together."""
    written: list[str] = []
    before = ""  # the end of what is written
    for word in words:
        is_sign = word in _SIGNS and before != "" and not before.endswith((*_OPENS, " "))
        ahead = behind = ""
        if word in _RELATIONS or is_sign:
            ahead, behind = "" if before.endswith(" ") else " ", " "
        elif word == ",":
            behind = " "
        elif word[:1].isalnum() and _LAST_WORD.search(before):
            is_factor = before[-1].isdigit() and word[0].isalpha() and not _POWER.search(before)
            ahead = "" if is_factor else " "
        written.append(f"{ahead}{word}{behind}")
        before = (before + written[-1])[-_LONGEST_WORD:]
    return "".join(written).strip()


def _group(text: str) -> str:
    is_whole = _ATOM.fullmatch(text) or _IN_BRACKETS.fullmatch(text)
    return text if is_whole or not text else f"({text})"


def field_text(instruction: str) -> str:
    r"""Return what an EQ field of Word shows, such as "3/40" for "EQ \f(3,40)"."""
    text, count = _FIELD_OPTIONS.sub("", instruction[:_LONGEST_FIELD]), 1
    while count:  # inner parts come first: after a change, begin with the first pattern
        for pattern, shown in _FIELD_PARTS.items():
            text, count = re.subn(pattern, shown, text, flags=re.IGNORECASE)
            if count:
                break
    text = re.sub(r"(?<!sqrt)\x01([^\W_]+)\x02", r"\1", text)
    return " ".join(text.translate({1: "(", 2: ")"}).split())


def _fraction(element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    above, below = _first(parts, 2)
    kinds = (element.get("linethickness"), _property(element, "type"))
    if kinds[0] in ("0", "0px", "0pt", "0em") or kinds[1] == "noBar":
        return f"{above} choose {below}"
    return f"{_group(above)}/{_group(below)}"


def _scripts(base: str, below: str = "", above: str = "") -> str:
    text = _group(base) if above or below else base
    text = f"{text}_{_group(below)}" if below else text
    if above in _DEGREE:
        return f"{text}°"
    if above in _MARKS:
        return f"{text}{above}"
    return f"{text}^{_group(above)}"


def _over(_: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    base, mark = _first(parts, 2)
    if len(base) == 1 and mark in _ACCENTS:
        return base + _ACCENTS[mark]
    return _scripts(base, "", mark if any(map(str.isalnum, mark)) else "")


def _many_scripts(element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    names = [_name_of(child) for child in element if isinstance(child.tag, str)]
    before = names.index("mprescripts") if "mprescripts" in names else len(parts)
    base, *behind = parts[:before]
    ahead = parts[before + 1 :]
    text = "".join(f"{_scripts('', *pair)} " for pair in _pairs(ahead)) + base
    return text + "".join(_scripts("", *pair) for pair in _pairs(behind))


def _pairs(parts: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip_longest(parts[::2], parts[1::2], fillvalue="")


def _root(base: str, degree: str) -> str:
    return f"({base})^(1/{degree})" if degree and degree != "2" else f"sqrt({base})"


def _sum(element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    sign = _property(element, "chr") or "∫"
    below, above, base = _first(parts, 3)
    return f"{_scripts(_NAMES.get(sign, sign), below, above)} {base}"


def _fenced(element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    opening = element.get("open", _property(element, "begChr", "("))
    closing = element.get("close", _property(element, "endChr", ")"))
    mark = (element.get("separators") or _property(element, "sepChr", ","))[:1]
    return f"{opening}{f'{mark} '.join(parts)}{closing}"


def _table(_: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    return "; ".join(filter(None, parts))


def _table_row(_: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    cells = [part for part in parts if part]
    is_aligned = any(cell[0] in _RELATIONS for cell in cells[1:])
    return (" " if is_aligned else ", ").join(cells)


def _accent(element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    return _over(element, [*parts, _property(element, "chr", "^")])


def _property(element: Any, name: str, default: str = "") -> str:  # noqa: ANN401
    """Return a property of an element of Office, as in `m:naryPr/m:chr`."""
    found = element.find(f"./*/{{*}}{name}")
    values = found.attrib.values() if found is not None else ()
    return str(next(iter(values), default))


def _first(parts: Sequence[str], count: int) -> Sequence[str]:
    return [*parts, *[""] * count][:count]


_WRITERS: dict[str, Callable[[Any, Sequence[str]], str]] = {
    "mfrac": _fraction,
    "msqrt": lambda _, parts: _root(_row(parts), ""),
    "mroot": lambda _, parts: _root(*_first(parts, 2)),
    "msub": lambda _, parts: _scripts(*_first(parts, 2)),
    "msup": lambda _, parts: _scripts(*_first((parts[0] if parts else "", "", *parts[1:]), 3)),
    "msubsup": lambda _, parts: _scripts(*_first(parts, 3)),
    "munder": lambda _, parts: _scripts(*_first(parts, 2)),
    "mover": _over,
    "munderover": lambda _, parts: _scripts(*_first(parts, 3)),
    "mmultiscripts": _many_scripts,
    "mfenced": _fenced,
    "mtable": _table,
    "mtr": _table_row,
    "mlabeledtr": _table_row,
    "mtd": lambda _, parts: _row(parts),
    # The elements of Office; their arguments have a fixed order.
    "f": _fraction,
    "rad": lambda _, parts: _root(*reversed(_first(parts, 2))),
    "nary": _sum,
    "d": _fenced,
    "m": _table,
    "eqArr": _table,
    "mr": _table_row,
    "acc": _accent,
    "func": lambda _, parts: " ".join(parts),
    "sPre": lambda _, parts: f"{_scripts('', *_first(parts, 2))} {_first(parts, 3)[2]}",
}
_OFFICE = {"sSub": "msub", "sSup": "msup", "sSubSup": "msubsup", "limLow": "munder"}
_WRITERS |= {office: _WRITERS[name] for office, name in (*_OFFICE.items(), ("limUpp", "msup"))}
