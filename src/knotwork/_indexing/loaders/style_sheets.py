"""Apply the style sheets of a web page, as far as they hide, strike, raise or count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from knotwork._indexing.loaders.web_page import classes, name_of, names

MAX_SHEET = 200_000
"""Characters of the style sheets of a page that are read."""
_MOST_RULES = 2_000
_MOST_ALIKE = 40
"""Rules for one class, id or name that are read."""
_HIDES = ("display", "visibility", "mso-hide")
_PROPERTIES = {
    **{name: name for name in ("vertical-align", "text-decoration", "list-style-type", *_HIDES)},
    "text-decoration-line": "text-decoration",
    "list-style": "list-style-type",
}
_EFFECTS = re.compile(r"(?:none|hidden|collapse|all|super|sub|text-top)\b|.*line-through")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|<!\[CDATA\[|\]\]>", re.DOTALL)
_STRING = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_ON_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*(?:,[^()]*)?", re.IGNORECASE)
_SELECTOR = re.compile(r"([a-zA-Z][a-zA-Z0-9]*)?((?:[.#][\w-]+)*)")
_PART = re.compile(r"[.#][\w-]+")
_BEFORE_ITEMS = re.compile(r"\s?>\s?li::?before$")
_COUNTER = re.compile(r"counter\([^(),]*,\s*([a-z-]+)\s*\)")
_KEPT = names("main article h1")
"""A page that shows these only with a script hides them in its style sheet."""
_MOST_ELEMENTS = 60


class _Rule(NamedTuple):
    """The value of a property for elements with a name, classes and an id; the last weight wins."""

    weight: tuple[bool, int, float, int]
    tag: str
    parts: frozenset[str]
    name: str
    value: str


def apply_style_sheets(root: Any, linked: str = "") -> None:  # noqa: ANN401
    """Write what style sheets say of the elements of a page into their styles.

    ``linked`` are the sheets that the page refers to. Only rules for a name, classes and ids count.
    """
    own = (
        sheet.text or ""
        for sheet in root.iter("{*}style")
        if (sheet.get("media") or "all").partition(",")[0].strip() in ("all", "screen")
        and name_of(sheet.getparent()) != "noscript"
    )
    rules = _rules_by_key("\n".join([linked, *own])[:MAX_SHEET])
    if not rules:
        return
    known: dict[tuple[str, str, str], dict[str, str]] = {}
    for element in root.iter("*"):
        tag = name_of(element)
        identifier = f"#{element.get('id')}"
        key = (tag, element.get("class") or "", identifier if identifier in rules else "")
        if key not in known:
            parts = {key[2], *(f".{name}" for name in classes(element))}
            held = chain.from_iterable(rules.get(part, ()) for part in (tag, *parts))
            fitting = sorted(r for r in held if r.tag in ("", tag) and r.parts <= parts)
            known[key] = {rule.name: rule.value for rule in fitting}
        if known[key]:
            _add_style(element, known[key])


def _add_style(element: Any, found: dict[str, str]) -> None:  # noqa: ANN401
    style = element.get("style") or ""
    said = {part.partition(":")[0].strip().lower() for part in style.split(";")}
    own = {_PROPERTIES.get(name) for name in said}
    added = {
        name: value
        for name, value in found.items()
        if name not in own and (name == "list-style-type" or _EFFECTS.match(value))
    }
    if any(name in added for name in _HIDES):
        inside = islice(element.iter(), _MOST_ELEMENTS)
        if any(name_of(inner) in _KEPT for inner in inside):
            added = {name: value for name, value in added.items() if name not in _HIDES}
    if added:
        element.set("style", ";".join([*map(":".join, added.items()), style]))


@lru_cache(maxsize=4)
def _rules_by_key(sheet: str) -> dict[str, list[_Rule]]:
    """Return the rules of a sheet by the name, class or id that their selectors end with."""
    rules: dict[str, list[_Rule]] = {}
    for place, (selector, name, value) in enumerate(islice(_declarations(sheet), _MOST_RULES)):
        match = _SELECTOR.fullmatch(selector)
        parts = _PART.findall(match[2]) if match else []
        if match is None or not selector:
            continue
        tag = (match[1] or "").lower()
        shown, _, important = value.partition("!")
        ids = sum(part[0] == "#" for part in parts)
        weight = bool(important), ids, len(parts) - ids + bool(tag) / 2, place
        alike = rules.setdefault(parts[-1] if parts else tag, [])
        if len(alike) < _MOST_ALIKE:
            alike.append(_Rule(weight, tag, frozenset(parts), name, shown.strip()))
    return rules


def _declarations(sheet: str) -> Iterator[tuple[str, str, str]]:
    """Yield selectors with a property that counts and its value."""
    text = _STRING.sub("", _COMMENT.sub(" ", sheet))
    pieces = re.split(r"([{};])", text)
    open_blocks: list[str] = []  # "" for a block whose rules count as those around it
    for piece, mark in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        words = " ".join(piece.split())
        around = open_blocks[-1] if open_blocks else ""
        if mark == "{":
            is_shown = not around and _ON_SCREEN.fullmatch(words)
            open_blocks.append("" if is_shown else "@" if around else words or "@")
            continue
        if around and around[0] != "@":
            yield from _properties(around, words.lower())
        if mark == "}" and open_blocks:
            open_blocks.pop()


def _properties(selectors: str, declaration: str) -> Iterator[tuple[str, str, str]]:
    name, _, value = map(str.strip, declaration.partition(":"))
    counter = _COUNTER.search(value) if name == "content" else None
    known = "list-style-type" if counter else _PROPERTIES.get(name)
    if known == "list-style-type" and not counter:
        value = next((word for word in value.split() if word not in ("inside", "outside")), "none")
        known = "" if value == "none" else known  # its items may count themselves
    for selector in selectors.split(",") if known else ():
        listed = _BEFORE_ITEMS.sub("", selector.strip())
        if bool(counter) == (listed != selector.strip()):
            yield listed, str(known), counter[1] if counter else value
