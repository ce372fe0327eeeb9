"""Parse names into words, marks and legal forms, and compare their spellings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork._text.languages import HAN_OR_KANA, word_list, word_set
from knotwork._text.names import normal_form, without_suffix
from knotwork._transform.rules.chinese_sentences import PERSON_TITLES, SURNAMES, TRANSLITERATING
from knotwork._transform.rules.lexicon import HONORIFICS, JOINERS, PARTICLES, given_names


def _canonical(listed: str) -> dict[str, str]:
    lines = (line.split() for line in listed.strip().splitlines())
    return {word: words[0] for words in lines for word in words}


LEGAL_FORMS = _canonical(
    """
    inc incorporated
    corp corporation
    ltd limited
    co company
    llc
    plc
    gmbh
    ag
    pty
    """
)
"""Legal forms at the end of a company's name, with the canonical spelling of each."""

HAN_LEGAL_FORMS = {"股份有限公司": 2, "有限责任公司": 2, "有限公司": 2, "股份公司": 2, "公司": 4}
"""Legal forms at the end of a Chinese company's name, the longest first, with the least number of
characters before each: 外国公司 is not called 外国.
"""

LOOSE_LEGAL_FORMS = frozenset({"公司"})
"""Legal forms that also follow common nouns: 基金管理公司."""

HAN_PLACE_FORMS = {"市": 2, "省": 2}
"""Optional endings of Chinese place names, with the least number of characters before each."""

AMBIGUOUS_PLACES = frozenset({"吉林", "大都", "大城", "长崎", "五岛", "朝阳"})
"""Names of two places, or of none: 吉林市 is a city in 吉林省, and 大城市 is any large city."""

PROVINCES = word_set("zh", "provinces")

HAN_LANDSCAPE = frozenset("山河江湖海")
"""Endings of mountains and rivers that cities are named after: 井冈山 and 井冈山市."""

HAN_GENERIC = frozenset("各该本全某每")
"""Characters that no name begins with: 各乡镇."""

DEGREES = word_set("en", "degrees")

GENERATIONS = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr"}

OPPOSED = word_set("en", "opposed")

HAN_OPPOSED = frozenset("东西南北上下左右前后男女父母兄弟姐妹新旧大小内外正副甲乙丙丁")
"""Characters that distinguish Chinese names."""

ORDINALS = {word: str(n) for n, word in enumerate(word_list("en", "ordinals"), start=1)}

ROMAN = {word: str(n) for n, word in enumerate(word_list("en", "roman_numerals"), start=1)}

HAN_DIGITS = {character: str(number) for number, character in enumerate("〇一二三四五六七八九")}
HAN_DIGITS |= {"零": "0", "两": "2", "十": "10", "百": "100", "千": "1000"}

DEMONYM_ENDS = ("n", "an", "ian", "ish", "ese", "i", "ic")
"""Endings that form a demonym from the name of a country."""

HAN_LANGUAGES = word_set("zh", "languages")


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

    ``words`` are folded and exclude legal form, titles, degrees and generation, which ``legal``,
    ``titled`` and ``generation`` hold. ``marks`` must be equal in two names of one entity: numbers,
    ordinals, single letters, and words such as "north". ``acronym`` is an all-capitals name in
    lower case. ``joined`` is True if capitals or digits within a word show a word boundary.
    ``inverted`` is True for "Surname, Given".
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
        """The words joined by blanks."""
        return " ".join(self.words)

    @property
    def squeezed(self) -> str:
        """The core without blanks, hyphens and dots."""
        return re.sub(r"[^\w+#]|_", "", "".join(self.words))

    @property
    def initials(self) -> tuple[str, ...]:
        """The initials of all words, and those of all words but joiners such as "of"."""
        letters = "".join(word[0] for word in self.words)
        content = "".join(word[0] for word in self.words if word not in JOINERS)
        return tuple(dict.fromkeys((letters, content)))


def read_name(name: str) -> NameShape:
    """Parse a name as it is written."""
    bare = without_suffix(name)
    form = normal_form(bare)
    if HAN_OR_KANA.search(form):
        return _read_han(form)
    given, comma, rest = bare.partition(",")
    inverted = bool(comma) and len(given.split()) == 1 and 1 <= len(rest.split()) <= 2
    words = [normal_form(word) for word in _BLANKS.split(_SPACED_INITIAL.sub(". ", bare))]
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


def _split_legal(words: list[str]) -> tuple[str, list[str]]:
    found: list[str] = []
    while len(words) > 1 and words[-1] in LEGAL_FORMS:
        found.insert(0, LEGAL_FORMS[words[-1]])
        words = words[:-1]
    if words[-1:] == ["and"]:  # "& Co." is part of the name, as in Wells Fargo & Co.
        return "", words + found
    return " ".join(found), words


def _marks(words: list[str]) -> frozenset[str]:
    """Return what two names of one entity must share; see `NameShape.marks`."""
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
    """A person's given names, in full or as initials, and the surname; all folded."""

    given: tuple[str, ...]
    surname: str

    @property
    def key(self) -> str:
        """Surname and first initial, which all spellings of the name share."""
        return f"{self.surname} {self.given[0][0]}"


def read_person(shape: NameShape, kind: str) -> PersonName | None:
    """Parse a person's name; return None if it is a single word or may not be a person's name.

    ``kind`` is the type of the entity. If it is "", the name must begin with a known given name or
    an initial.
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
    """Return True if the given names may belong to one person, who abbreviates or omits some."""
    if not _agree(first.given[0], second.given[0]):
        return False
    fewer, more = sorted((first.given[1:], second.given[1:]), key=len)
    rest = iter(more)
    return all(any(_agree(name, other) for other in rest) for name in fewer)


def _agree(one: str, other: str) -> bool:
    short, full = sorted((one, other), key=len)
    return short == full or (len(short) == 1 and full.startswith(short))


ALIKE = 0.6
"""Least likeness of two spellings of one name."""

_FEWEST_LIKE_LETTERS = 3
_FEWEST_LETTERS_ALONE = 7
_MANY_LETTERS = 8
_FEWEST_HAN = 3
_PLAIN_GRAM = 3
_HAN_GRAM = 2


def grams_of(shape: NameShape) -> frozenset[str]:
    """Return the character n-grams of a name with marked ends: trigrams, or bigrams for Chinese."""
    text = f"^{shape.core}$"
    size = _HAN_GRAM if shape.han else _PLAIN_GRAM
    return frozenset(text[place : place + size] for place in range(max(1, len(text) - size + 1)))


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Dice coefficient of the n-grams of two names, from 0 to 1."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def are_spellings(first: NameShape, second: NameShape) -> bool:
    """Return True if two names may be spellings of one: their words are equal or variants.

    Order and blanks do not count. An additional word, or a changed letter in a short word, makes
    another name.
    """
    if first.han or second.han:
        return first.han and second.han and _are_han_spellings(first.core, second.core)
    if _is_demonym(first.core, second.core):
        return False
    one, other = sorted(first.words), sorted(second.words)
    if len(one) != len(other):
        return _are_variants(first.squeezed, second.squeezed, alone=True)
    odd = [word for word in one if word not in other], [word for word in other if word not in one]
    alone = len(one) == 1
    return all(_are_variants(a, b, alone=alone) for a, b in zip(*odd, strict=False))


def _are_han_spellings(one: str, other: str) -> bool:
    short, full = sorted((one, other), key=len)
    if len(short) < _FEWEST_HAN:
        return False
    if len(short) == len(full):
        odd = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        return len(odd) == 1 and all(character in TRANSLITERATING for character in odd[0])
    rest = iter(full)
    return (
        len(short) > _FEWEST_HAN
        and short[-2:] == full[-2:]
        and short[0] == full[0]
        and all(character in rest for character in short)
    )


def is_plural(one: str, other: str) -> bool:
    """Return True if one of two names or words is the plural of the other."""
    short, full = sorted((one, other), key=len)
    if len(short) < _FEWEST_LIKE_LETTERS:
        return False
    return full in {short + "s", short + "es"} or (short[-1] == "y" and full == short[:-1] + "ies")


def _is_demonym(one: str, other: str) -> bool:
    """Return True if one is the demonym or adjective of the other: Korean, Israeli, Italian."""
    short, full = sorted((one, other), key=len)
    stem = short.rstrip("aey")
    return full in {short + end for end in DEMONYM_ENDS} or full in {
        stem + end for end in DEMONYM_ENDS if len(end) > 1
    }


def _are_variants(one: str, other: str, *, alone: bool) -> bool:
    """Return True if two words may be one: a misspelling, a plural or a transliteration."""
    short, full = sorted((one, other), key=len)
    if is_plural(short, full):
        return True
    if short[:1] != full[:1] and (alone or len(short) != len(full)):
        return False  # a prefix changes the meaning: synchronous, asynchronous
    if alone and len(short) < _FEWEST_LETTERS_ALONE:
        return False
    most = (
        0 if len(short) < _FEWEST_LIKE_LETTERS else 1 if len(short) < _MANY_LETTERS or alone else 2
    )
    return edit_distance(short, full, most=most) <= most


def edit_distance(one: str, other: str, *, most: int) -> int:
    """Return the optimal string alignment distance of two words, or ``most`` + 1 if it is larger.

    Insertions, deletions, substitutions and swaps of adjacent letters each cost 1.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, opposite in enumerate(other, start=1):
            cost = above[column - 1] + (letter != opposite)
            cost = min(cost, above[column] + 1, current[-1] + 1)
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == opposite:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, above = above, current
    return min(above[-1], most + 1)
