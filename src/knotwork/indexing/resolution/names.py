"""What a name is made of: the words that call a thing, and those that only stand beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork.indexing.resolution.vocabulary import (
    DEGREES,
    GENERATIONS,
    HAN_DIGITS,
    HAN_LEGAL_FORMS,
    HAN_OPPOSED,
    HAN_PLACE_FORMS,
    LEGAL_FORMS,
    OPPOSED,
    ORDINALS,
    ROMAN,
)
from knotwork.text.characters import HAN_AND_KANA
from knotwork.text.names import normal_form, without_suffix
from knotwork.transform.rules.chinese_vocabulary import PERSON_TITLES, SURNAMES
from knotwork.transform.rules.vocabulary import HONORIFICS, JOINERS, PARTICLES, given_names

_HAN = re.compile(f"[{HAN_AND_KANA}]")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&.-]{1,9}s?")
_BLANKS = re.compile(r"[\s,/_]+|(?<=\w\w)-+")
_SPACED_INITIAL = re.compile(r"(?<=[A-Z])\.(?=\S)")
_JOINED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]|\w-\w")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


_NEVER_IN_PERSONS = JOINERS - PARTICLES


@dataclass(frozen=True, slots=True)
class NameShape:
    """The parts of a name.

    ``words`` are folded, without legal forms, titles, degrees and generation, which stand in
    ``legal``, ``titled`` and ``generation``. ``marks`` are what must be equal in two names of one
    thing: numbers, ordinals, single letters, and words such as "north". ``acronym`` holds the
    letters of a name in capitals, in lower case; ``joined`` says that capitals or digits inside a
    word show where another writer would set a blank.
    """

    words: tuple[str, ...]
    han: bool
    legal: str = ""
    titled: bool = False
    generation: str = ""
    marks: frozenset[str] = frozenset()
    acronym: str = ""
    inverted: bool = False
    joined: bool = False

    @property
    def core(self) -> str:
        """The name without what only stands beside it."""
        return " ".join(self.words)

    @property
    def squeezed(self) -> str:
        """The core without blanks, hyphens and dots."""
        return re.sub(r"[^\w+#]|_", "", "".join(self.words))

    @property
    def initials(self) -> tuple[str, ...]:
        """The initials of all words, and those without joining words."""
        letters = "".join(word[0] for word in self.words)
        content = "".join(word[0] for word in self.words if word not in JOINERS)
        return tuple(dict.fromkeys((letters, content)))


def read_name(name: str) -> NameShape:
    """Return the parts of a name as it is written."""
    bare = without_suffix(name)
    form = normal_form(bare)
    if _HAN.search(form):
        return _read_han(form)
    given, comma, rest = bare.partition(",")
    inverted = bool(comma) and len(given.split()) == 1 and 1 <= len(rest.split()) <= 2
    words = [normal_form(word) for word in _split_words(bare)]
    words = [word for word in words if word]
    legal, words = _split_legal(words)
    titled = False
    while len(words) > 1 and words[0] in HONORIFICS and words[1] not in JOINERS:
        titled, words = True, words[1:]
    generation = ""
    while len(words) > 1 and (words[-1] in DEGREES or words[-1] in GENERATIONS):
        generation = generation or GENERATIONS.get(words[-1], "")
        words = words[:-1]
    letters = re.sub(r"[^A-Za-z0-9]", "", bare)
    acronym = letters.removesuffix("s").lower() if _ACRONYM.fullmatch(bare) else ""
    return NameShape(
        tuple(words),
        han=False,
        legal=legal,
        titled=titled,
        generation=generation,
        marks=_marks(words),
        acronym=acronym,
        inverted=inverted,
        joined=_JOINED.search(bare) is not None,
    )


def _split_words(name: str) -> list[str]:
    """Cut a name at blanks, hyphens and commas, and behind the dot of an initial."""
    return _BLANKS.split(_SPACED_INITIAL.sub(". ", name))


def _split_legal(words: list[str]) -> tuple[str, list[str]]:
    found: list[str] = []
    while len(words) > 1 and words[-1] in LEGAL_FORMS:
        found.insert(0, LEGAL_FORMS[words[-1]])
        words = words[:-1]
    if words[-1:] == [
        "and"
    ]:  # Wells Fargo & Co. is a name of its own, and Dennis Allen and Co. none
        return "", words + found
    return " ".join(found), words


def _marks(words: list[str]) -> frozenset[str]:
    marks: set[str] = set()
    for place, word in enumerate(words):
        ordinal = _ORDINAL.fullmatch(word)
        if ordinal is not None:
            marks.add(ordinal[1])
        elif word in ORDINALS:
            marks.add(ORDINALS[word])
        elif word in ROMAN and place > 0 and (len(word) > 1 or place == len(words) - 1):
            marks.add(ROMAN[word])
        elif word in OPPOSED:
            marks.add(word)
        else:
            marks.update(number.lstrip("0") or "0" for number in _NUMBER.findall(word))
            if len(word) == 1 and word.isalpha() and place == len(words) - 1 and place > 0:
                marks.add(word)
    return frozenset(marks)


def _read_han(form: str) -> NameShape:
    core, legal, titled = form, "", False
    for end, fewest in (HAN_LEGAL_FORMS | HAN_PLACE_FORMS).items():
        if core.endswith(end) and len(core) - len(end) >= fewest:
            core, legal = core.removesuffix(end), end
            break
    for title in sorted(PERSON_TITLES, key=len, reverse=True):
        rest = core.removesuffix(title)
        if rest != core and 2 <= len(rest) <= 3 and rest[0] in SURNAMES:
            core, titled = rest, True
            break
    marks = set(_NUMBER.findall(core))
    marks.update(HAN_DIGITS[character] for character in core if character in HAN_DIGITS)
    marks.update(character for character in core if character in HAN_OPPOSED)
    return NameShape(
        tuple(core.split()), han=True, legal=legal, titled=titled, marks=frozenset(marks)
    )


@dataclass(frozen=True, slots=True)
class PersonName:
    """A person's given names, each whole or an initial, and the surname; folded."""

    given: tuple[str, ...]
    surname: str

    @property
    def key(self) -> str:
        """What all ways to write the person's name share: surname and first initial."""
        return f"{self.surname} {self.given[0][0]}"


def read_person(shape: NameShape, kind: str) -> PersonName | None:
    """Return a name as a person's; None where nothing shows that it is one, or for one word.

    ``kind`` is the type of the entity, "" where it is not known: then a known given name or an
    initial in front has to show it.
    """
    words = shape.words
    if shape.han or kind not in {"", "PERSON"} or not 2 <= len(words) <= 5:
        return None
    if not all(word.replace("'", "").isalpha() for word in words):
        return None
    if shape.inverted:
        words = (*words[1:], words[0])
    if len(words[-1]) < 2 or not JOINERS.isdisjoint(words[:1]):
        return None
    if kind != "PERSON" and not (len(words[0]) == 1 or words[0] in given_names()):
        return None
    if not _NEVER_IN_PERSONS.isdisjoint(words):
        return None
    return PersonName(words[:-1], words[-1])


def given_agree(first: PersonName, second: PersonName) -> bool:
    """Tell whether the given names can be those of one person, who writes some short or not."""
    if not _agree(first.given[0], second.given[0]):
        return False
    fewer, more = sorted((first.given[1:], second.given[1:]), key=len)
    rest = iter(more)
    return all(any(_agree(name, other) for other in rest) for name in fewer)


def _agree(one: str, other: str) -> bool:
    short, full = sorted((one, other), key=len)
    return short == full or (len(short) == 1 and full.startswith(short))
