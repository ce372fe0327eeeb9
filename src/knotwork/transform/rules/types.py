"""Types of names, by words inside and around them; no cue, no type."""

from __future__ import annotations

import re

from knotwork.transform.rules.vocabulary import (
    HONORIFICS,
    ORGANIZATION_ENDS,
    ORGANIZATION_HEADS,
    PERSON_NOUNS,
    PLACE_ENDS,
    PLACE_HEADS,
    WORK_NOUNS,
    common_words,
    given_names,
    place_names,
)

_WORD = re.compile(r"[\w.'’-]+")
_BEFORE = re.compile(r"([\w.]+),?\s+[\"“«'‘]?(?:the\s+|The\s+)?$")
_BORN = re.compile(
    r"\s*[(（][^()（）]{0,60}(?:born|died|\d{4}\s*[–—-]\s*(?:\w+\s+)?(?:\w+\s+)?\d{4})"
)
_SUFFIX = re.compile(r"\(([^()]*)\)\s*$")
_INITIALS = re.compile(r"(?:[A-Z]\.\s?){1,3}[A-Z][\w'’-]+")


def name_type(name: str, form: str) -> str:
    """Return the type that the words of a name show, or ``""``."""
    if form in place_names():
        return "PLACE"
    words = _WORD.findall(name.lower())
    if words and words[0] in {"the", "a", "an"}:
        words = words[1:]
    if len(words) < 2:
        return ""
    if "of" in words[1:]:
        head = words[words.index("of", 1) - 1]
        return _type_of_end(head, ORGANIZATION_HEADS, PLACE_HEADS) or _person_type(words)
    kind = _type_of_end(words[-1], ORGANIZATION_ENDS, PLACE_ENDS)
    if not kind and words[0] in PLACE_HEADS and len(words) == 2:
        kind = "PLACE"
    return kind or _person_type(words) or ("PERSON" if _INITIALS.fullmatch(name) else "")


def _type_of_end(word: str, organizations: frozenset[str], places: frozenset[str]) -> str:
    if word in organizations:
        return "ORGANIZATION"
    return "PLACE" if word in places else ""


def _person_type(words: list[str]) -> str:
    if words[0] in HONORIFICS and words[1] not in common_words() and words[1] != "of":
        return "PERSON"
    plain = [word for word in words if len(word.rstrip(".")) > 1]
    if not 2 <= len(words) <= 4 or len(plain) < 2 or plain[0] not in given_names():
        return ""
    if plain[-1] in common_words() or not plain[-1].rstrip(".").replace("-", "").isalpha():
        return ""
    return "" if {"and", "the", "in", "for", "at"} & set(words) else "PERSON"


def context_type(text: str, start: int, end: int) -> str:
    """Return the type that the words around ``text[start:end]`` show, or ``""``."""
    if _BORN.match(text, end):
        return "PERSON"
    before = text[max(0, start - 40) : start]
    match = _BEFORE.search(before)
    if match is None:
        return ""
    noun = match[1].lower()
    quoted = before[-1] in '"“‘«'
    several = " " in text[start:end]
    if noun in WORK_NOUNS and (quoted or several):
        return "WORK"
    if quoted:
        return ""
    if several and noun in PERSON_NOUNS:
        return "PERSON"
    return "PERSON" if noun in HONORIFICS and noun.endswith(".") else ""


def title_type(title: str) -> str:
    """Return the type that the suffix of a title shows: "(film)", "(1961 novel)"."""
    match = _SUFFIX.search(title)
    if match is None:
        return ""
    words = match[1].lower().split()
    if words and words[-1] in WORK_NOUNS:
        return "WORK"
    if words and (words[-1] in PERSON_NOUNS or match[1].lower().startswith("born")):
        return "PERSON"
    return "PLACE" if words and words[-1] in PLACE_ENDS else ""
