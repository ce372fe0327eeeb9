"""Short and other names of the same thing: brackets, "also known as", initials, surnames."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from knotwork.text.characters import HAN
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.vocabulary import (
    GENERIC_HEADS,
    JOINERS,
    PARTICLES,
    common_words,
)


class Alias(NamedTuple):
    """A short or other name and the full one, as normal forms."""

    short: str
    full: str


_ALSO = re.compile(
    r"\s*[,(（，;]?\s*[(（]?(?:also|formerly|otherwise|commonly|better|originally|sometimes)?\s*"
    r"(?:known|referred to|called|abbreviated|shortened|nicknamed|a\.?k\.?a\.?)"
    r"(?:\s+(?:simply|often|also|commonly|professionally))?(?:\s+(?:as|to))?\s*[\"“‘']?(?:the\s+|The\s+)?$"
)
_HAN_ALSO = re.compile(
    r"[\s，,、]*[（(]?\s*(?:以下|下文)?(?:(?:或|又|亦|也|统|統|旧|舊|原|俗|合|通|下|后|後)"
    r"(?:简|簡|被)?(?:称|稱|名|叫)|(?:简|簡|全|别|別)(?:称|稱|名|写|寫)|缩写|縮寫)(?:作|为|為)*\s*[：:]?\s*[“「『\"《]?$"
)
_BRACKET = re.compile(r"\s*[(（]\s*(?:the\s+)?[\"“”「『']?$")
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&.-]{1,9}")
_NEVER_IN_PERSONS = JOINERS - PARTICLES
_HAN_NAME = re.compile(f"[{HAN}]{{2,16}}")


def find_aliases(text: str, names: Sequence[Occurrence]) -> Iterator[Alias]:
    """Yield the aliases that a sentence states; ``names`` are its names with offsets into it."""
    ordered = sorted((n for n in names if n.type not in {"DATE", "NUMBER"}), key=_longest_first)
    mains = [n for n in ordered if not n.part]
    for position, short in enumerate(mains):
        for full in mains[max(0, position - 3) : position]:
            if full.end > short.start or full.form == short.form:
                continue
            between = text[full.end : short.start]
            if len(between) > 60:
                continue
            if _BRACKET.fullmatch(between) and is_short_for(
                text[short.start : short.end], text[full.start : full.end]
            ):
                yield Alias(short.form, full.form)
                break
            if _ALSO.fullmatch(between) or (between and _HAN_ALSO.fullmatch(between)):
                yield Alias(short.form, full.form)
                break


def _longest_first(name: Occurrence) -> tuple[int, int]:
    return name.start, -name.end


def is_short_for(short: str, full: str) -> bool:
    """Say whether ``short`` can be an acronym or abbreviation of ``full``."""
    if _HAN_NAME.fullmatch(short) and len(short) < len(full):
        characters = iter(full)
        return all(character in characters for character in short)
    if not is_acronym(short):
        return False
    letters = [c.lower() for c in short if c.isalnum()]
    words = [w for w in re.split(r"[\s–-]+", full) if w]
    if len(words) < 2:
        return False
    if letters[0] != words[0][0].lower():
        return False
    initials = [w[0].lower() for w in words]
    content = [w[0].lower() for w in words if w.lower() not in JOINERS]
    if letters in (initials, content, content[: len(letters)] if len(letters) > 2 else content):
        return True
    return len(letters) >= 3 and _in_order(letters, initials) and _in_order(content, letters)


def is_acronym(name: str) -> bool:
    """Return whether a name is written as an acronym is: WHO, DNSSEC, G&CU."""
    return _ACRONYM.fullmatch(name) is not None and sum(c.isupper() for c in name) > 1


def _in_order(parts: Iterable[str], whole: Iterable[str]) -> bool:
    rest = iter(whole)
    return all(part in rest for part in parts)


def surname_aliases(
    types: Mapping[str, str], forms: Iterable[str], alone: Collection[str]
) -> dict[str, str]:
    """Return the one person of a document that each lone surname stands for.

    ``types`` are the types of all names of the document, ``forms`` the names themselves, and
    ``alone`` those that stand by themselves somewhere.
    """
    known = list(dict.fromkeys(forms))
    owners: dict[str, set[str]] = {}
    for form in known:
        words = form.split(" ")
        if not 2 <= len(words) <= 4 or not _may_be_person(words, types.get(form, "")):
            continue
        last = words[-1]
        if len(last) > 2 and last in alone and types.get(last, "") in {"", "PERSON"}:
            owners.setdefault(words[-1], set()).add(form)
    shortest = {last: min(full, key=len) for last, full in owners.items()}
    return {
        last: name
        for last, name in shortest.items()
        if all(full.endswith(name) for full in owners[last])  # Judge Lewis Kaplan, Lewis Kaplan
    }


def _may_be_person(words: Sequence[str], kind: str) -> bool:
    if kind not in {"", "PERSON"} or not _NEVER_IN_PERSONS.isdisjoint(words):
        return False
    last = words[-1]
    return (
        all(word.replace("'", "").isalpha() for word in words)
        and last not in GENERIC_HEADS
        and last not in common_words()
        and (kind == "PERSON" or (words[0] not in GENERIC_HEADS and words[0] not in common_words()))
    )
