"""The things that a question names, and whether a passage is about them or about others like them.

"The repair of buoy 7 cost 4,200 crowns" says nothing of buoy 9, however alike question and sentence
are. Few forms make one thing another than those like it: a number behind a noun, a year, a name, a
word of which there are few (east and west, Monday and Sunday), or a word before a noun that the
sentence has with another word before it ("the pilot boat" for "the fire boat"). Other words of a
question may stand for other words of a passage, so that they count for nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import NamedTuple

from knotwork._questions.languages import read_words, unit_at
from knotwork._questions.reading import reading_of
from knotwork._text.languages import HAN, HAN_CHARACTER, HanWord, segment, simplify, word_set
from knotwork._text.numbers import SMALL_NUMBERS, read_chinese
from knotwork._text.relation_words import base_form, likeness
from knotwork._text.sentences import split_sentences
from knotwork._text.terms import STOP_WORDS, terms


class Missing(NamedTuple):
    """A thing of a question that a passage lacks; ``sibling`` is what it has instead, or "".

    ``is_sure`` if no other word for the thing can be meant.
    """

    words: str
    sibling: str = ""
    is_sure: bool = False


class Passage:
    """A sentence that may answer, the titles above it, the ``text`` around it, its document."""

    def __init__(self, sentence: str, titles: str = "", text: str = "", document: str = "") -> None:
        self.sentence, self.titles = simplify(sentence), simplify(titles)
        self.near = f"{self.titles}\n{self.sentence}"
        self.whole = f"{self.near}\n{simplify(text)}"
        self._document = document or text

    @cached_property
    def document(self) -> str:
        """Its document in simplified characters and lower case."""
        return simplify(self._document).casefold()

    @cached_property
    def words(self) -> list[re.Match[str]]:
        """The words of the sentence."""
        return list(_WORD.finditer(self.sentence))

    @cached_property
    def han_words(self) -> list[HanWord]:
        """The words of a Chinese sentence."""
        return segment(self.sentence)

    def has(self, word: str, text: str = "") -> bool:
        """Return True if the whole, or another text, has a word or one like it."""
        return _is_among(word.lower(), _words_of(text or self.whole))

    def has_name(self, name: str) -> bool:
        """Return True if it has a name, or another spelling of it."""
        name = name.lower()
        is_held = any(_is_same_name(name, other) for other in set(_words_of(self.whole)))
        return is_held or (len(name) > _ROOT and name in _squeeze(self.whole))


_HELD = read_words("things")
_ENGLISH, _CHINESE = _HELD["english"], _HELD["chinese"]
_NO_NAME, _PLAIN, _TITLES, _VERBS, _CALENDAR = (
    frozenset(_ENGLISH[name].split())
    for name in ("no_name", "plain", "titles", "verbs", "calendar")
)
_OPPOSED = [frozenset(line.split()) for line in re.split(r"[|\n]", _ENGLISH["opposed"].strip())]
_NUMBERS = {word: value for value, word in enumerate(SMALL_NUMBERS)} | {
    word: value for value, word in enumerate(_ENGLISH["ordinals"].split(), 1)
}
_GLOSS = re.compile(r"(?<=\w)\s?[(（][^()（）]*[)）]")
"""Matches another name in brackets behind a word."""
_ROOT, _LEAST_SLIP, _SLIP = 4, 6, 0.85
_WORD = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*")
_END = r"(?![\w%]|[.,:/]\d)"
_NUMBERED = re.compile(
    rf"\b(?P<noun>[^\W\d_]+)(?:[ -]|\s?#|\s(?:no\.?|number|nr\.?)\s)"
    rf"(?P<number>\d{{1,5}}|{'|'.join(SMALL_NUMBERS)}){_END}"
    rf"|\b(?P<letters>[A-Z]{{1,5}})-?(?P<digits>\d{{1,5}}){_END}"
    rf"|\b(?P<ordinal>\d{{1,2}}(?=st|nd|rd|th)|{'|'.join(_ENGLISH['ordinals'].split())})"
    r"(?:st|nd|rd|th)?[ -](?P<of>[^\W\d_]{3,})",
    re.IGNORECASE,
)
"""Matches what a number names: buoy 7, flight KX12, the third floor."""
_PLURAL = re.compile(r"\s(?!(?:does|is|was|has|costs|this|its)\b)[a-z]+s\b")
_DATES = {
    name: number
    for words in (_ENGLISH["calendar"].title(), _CHINESE["calendar"])
    for number, names in enumerate(words.split())
    for name in names.split("|")
}
_DAYS, _MONTHS = range(7), range(7, 19)
_COVERED = dict(zip(_HELD["covering"], (_DAYS, _DAYS[:5], _DAYS[5:], _MONTHS), strict=True))
"""The days or months that words like "daily" are about."""
_ONE_DATE = rf"(?:{'|'.join(sorted(_DATES, key=len, reverse=True))})"
_DATE = re.compile(
    rf"(?!^May\b)(?<!\d)(?P<first>{_ONE_DATE})(?:s\b|\d+[日号])?"
    rf"(?:\s?(?:to|until|till|through|and|[-–—~至到])\s?(?:\d+ )?(?P<last>{_ONE_DATE}))?"
    + "".join(f"|(?P<{name}>{form})" for name, form in _HELD["covering"].items())
)
_YEAR = re.compile(r"(?<![\d.,:/-])(?:1[5-9]|20)\d\d(?![\d%s]|[.,]\d)")
_SINCE = re.compile(
    r"(?:\b(?:since|from|of|after|until|till|before|between|to)|[自从至到])\W*$", re.IGNORECASE
)
_THEN = re.compile(r"\s*年?[^。，；]{0,8}?(?:起|以来|之?后|开始|之?前|至|到|[-–—~～])")
_BEFORE_YEAR = 12
_DETERMINER = re.compile(
    r"(?:^|[^\w\s]\s*|\b(?:the|an?|of|for|in|on|at|from|by|with|and|or)\s)$", re.IGNORECASE
)
_ASKED = re.compile(r"\b(?:what|which|whose|many|much)\s$", re.IGNORECASE)
_KIND = re.compile(r"\b(?:what|which|whose)\s$", re.IGNORECASE)
_ONE, _CLAUSE = re.compile(r"\ban? $"), re.compile(r"[.,;:!?]\s|\n")
_LOOSE, _NEAREST = {"of", "before", "done"}, {"before", "for"}
"""Roles that may mean the same: the music school, the school of music; rent a boat, its rent."""
_TIES = [re.compile(rf"(?<![\w'’.-])(?={form})", re.IGNORECASE) for form in _ENGLISH["ties"]]
_LAST = re.compile(r" (?:cost|take|last|weigh|open|start|begin|end|close)s?\b|\W*$")
"""Matches what may be behind the last thing of a question."""
_CAPITAL = r"[A-Z][\w’'-]+"
_MOST_CAPITALS = 0.7
"""The share of words with a capital from which on capitals show no names."""
_NO_OWN = re.compile(r"^[A-Z.-]{1,5}s?$|(?:ish|ese|[ie]an|ern|can|I)s?$")
"""Matches abbreviations and words for people of a country, which often have other words."""
_LONGEST_INITIALS = 6
_BEHIND_AUXILIARY = re.compile(r"\b(?:(is|are|was|were)|did|do(?:es)?|ha[sd]|have|can|will) (.+)")
_OF_NAME = re.compile(rf"\b(?:of|in|at|for|from|by) (?:the )?{_CAPITAL}(?: {_CAPITAL})*")
_SUBJECT = re.compile(
    r"(?!(?:He|She|It|They|We|I|You|The|This|That|These|Those|Both|All|Each|In|On|At|Since|By) )"
    rf"\b((?:{_CAPITAL} )+)((?:is|are|was|were) )?"
    r"(?:(?:ha[sd]|have|been|also|first) )*([a-z]{3,})\b"
)


@lru_cache(maxsize=256)
def _words_of(text: str) -> tuple[str, ...]:
    words = [_bare(word[0]).lower() for word in _WORD.finditer(text)]
    return tuple(chain(words, *(word.split("-") for word in words if "-" in word)))


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


def _squeeze(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()


def _is_same_name(name: str, other: str) -> bool:
    if name[0] != other[0]:
        return False
    short, long = sorted((name, other), key=len)
    is_longer = len(short) > _ROOT and (long.startswith(short[:-1]) or _is_slip(name, other))
    return is_longer or terms(name) == terms(other)


def _is_slip(word: str, other: str) -> bool:
    """Return True if two words of six letters or more differ in about one of seven."""
    if min(len(word), len(other)) < _LEAST_SLIP or abs(len(word) - len(other)) > 1:
        return False
    return SequenceMatcher(None, word, other).ratio() >= _SLIP


def _is_among(word: str, words: Iterable[str]) -> bool:
    """Return True if a word or one like it is among others, in lower case."""
    return any(likeness(word, other) > 0 or _is_slip(word, other) for other in set(words))


def _is_naming(word: str) -> bool:
    """Return True for a word that may name a thing or be a part of its name."""
    lower = word.lower()
    is_word = len(word) > 2 and word.isalpha() and not lower.endswith("ly")
    return is_word and not any(lower in each for each in (STOP_WORDS, _NO_NAME, _VERBS, _NUMBERS))


def missing_things(question: str, passage: Passage) -> list[Missing]:
    """Return the things that a question names and a passage lacks.

    A question for yes or no may be answered by what it does not name, so that nothing is sure.
    """
    is_open = not reading_of(question).asks_yes_or_no
    question = _GLOSS.sub("", simplify(question)).strip()
    readers = _READERS_ZH if HAN_CHARACTER.search(question) else _READERS
    found: list[Missing] = []
    for read, is_sure in readers.items():
        for missing in read(question, passage):
            if not any(m.words in missing.words or missing.words in m.words for m in found):
                is_known = bool(missing.sibling) and (is_sure or missing.is_sure)
                found.append(missing._replace(is_sure=is_known and is_open))
    return found


def is_about_another(question: str, passage: Passage) -> bool:
    """Return True if a passage is surely about a sibling of a thing that a question names."""
    return any(missing.is_sure for missing in missing_things(question, passage))


class _Numbered(NamedTuple):
    """What a number names: "3号浮标" and "5号浮标" have the same noun."""

    noun: str
    number: int
    text: str


def _read_numbered(text: str) -> Iterator[_Numbered]:
    for found in _NUMBERED.finditer(text):
        noun = found["noun"] or found["letters"] or found["of"]
        number = (found["number"] or found["digits"] or found["ordinal"]).lower()
        is_amount = found["noun"] and (noun.lower() in _NO_NAME or _counts(text, found.end()))
        if not is_amount and noun.lower() not in _CALENDAR:
            value = _NUMBERS.get(number)
            yield _Numbered(base_form(noun), int(number) if value is None else value, found[0])


def _counts(text: str, end: int) -> bool:
    """Return True if the number before a place is an amount, as in "wait 20 days"."""
    return unit_at(text, end)[0] is not None or _PLURAL.match(text, end) is not None


def _missing_numbers(
    question: str, passage: Passage, read: Callable[[str], Iterator[_Numbered]]
) -> Iterator[Missing]:
    asked = list(read(question))
    near = list(chain(read(passage.sentence), read(passage.titles))) if asked else []
    for noun in dict.fromkeys(each.noun for each in asked):
        named = {each.number: each.text for each in asked if each.noun == noun}
        held = {each.number: each.text for each in near if each.noun == noun}
        if not held.keys().isdisjoint(named):
            continue  # of several, one is enough
        number, text = next(iter(named.items()))
        far = {each.number: each.text for each in read(passage.whole) if each.noun == noun}
        others = held or ({} if number in far else far)
        if others:
            yield Missing(text, next(iter(others.values())))
        elif not far and text[-1].isdigit() and noun in passage.whole.lower():
            is_there = re.search(rf"(?<!\d){number}(?!\d)", passage.whole) is not None
            yield from () if is_there else (Missing(text),)


def _years(question: str, passage: Passage) -> Iterator[Missing]:
    whole = passage.whole
    for found in _YEAR.finditer(question):
        year = found[0]
        is_since = any(
            each[0] <= year
            and (
                _SINCE.search(whole[max(0, each.start() - _BEFORE_YEAR) : each.start()])
                or _THEN.match(whole, each.end())
            )
            for each in _YEAR.finditer(whole)
        )
        if year in whole or is_since:
            continue
        held = chain(_YEAR.findall(passage.sentence), _YEAR.findall(passage.titles))
        other = next((each for each in held if each not in question), "")
        if other or year not in passage.document:
            yield Missing(year, other)


def _dates(question: str, passage: Passage) -> Iterator[Missing]:
    """Yield the days and months of a question, if a passage has only others and no word for all."""
    asked = list(_read_dates(question))
    held = dict(_read_dates(passage.whole)) if asked else {}
    for number, text in asked:
        others = [held[other] for other in held if (other in _DAYS) == (number in _DAYS)]
        if number not in held and others:
            yield Missing(text, others[0])


def _read_dates(text: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of the days and months that a text names, and those between."""
    for found in _DATE.finditer(text):
        numbers = _COVERED.get(found.lastgroup or "", range(0))
        if found["first"]:
            first, last = _DATES[found["first"]], _DATES[found["last"] or found["first"]]
            kind = _DAYS if first < _MONTHS[0] else _MONTHS
            turned = [*kind[first - kind[0] :], *kind[: first - kind[0]]]
            numbers = turned[: turned.index(last) + 1] if last in kind else [first]
        yield from ((number, found[0]) for number in numbers)


_Words = list[re.Match[str]]


def _name_groups(question: str) -> Iterator[_Words]:
    """Yield the names of a question: runs of words with capitals, without a first word."""
    words = list(_WORD.finditer(question))
    capitals = sum(word[0][0].isupper() for word in words)
    run: _Words = []
    for number, word in enumerate(words if capitals <= _MOST_CAPITALS * len(words) else []):
        lower, before = word[0].lower(), question[: word.start()].rstrip()
        is_name = (
            word[0][0].isupper()
            and number > 0
            and before[-1] not in ".!?:"
            and len(word[0]) > 1
            and not any(map(str.isdigit, word[0]))
            and not any(lower in each for each in (STOP_WORDS, _CALENDAR, _TITLES))
        )
        if run and (not is_name or question[run[-1].end() : word.start()] != " "):
            yield run
            run = []
        if is_name:
            run.append(word)
    if run:
        yield run


def _names(question: str, passage: Passage) -> Iterator[Missing]:
    for group in _name_groups(question):
        name = _bare(question[group[0].start() : group[-1].end()])
        lacking = [word for word in group if not passage.has_name(_bare(word[0]))]
        if not lacking:
            if other := _other_subject(question, name, passage):
                yield Missing(name, other)
        elif not _is_shortened(name, passage.whole):
            other = _other_name(question, group, lacking, passage)
            is_rest = len(lacking) < len(group) or _NO_OWN.search(name)
            is_known = all(word in passage.document for word in name.lower().split())
            if other or not (is_rest or is_known):
                yield Missing(name, other)


def _is_shortened(name: str, text: str) -> bool:
    """Return True if a text has the first letters of a name, or the words of which it has them."""
    words = name.split()
    if len(words) > 1:
        return re.search(rf"\b{re.escape(''.join(w[0] for w in words))}\b", text) is not None
    if not name.isupper() or len(name) > _LONGEST_INITIALS:
        return False
    between = r"[\w’'-]*(?:[\s-]+(?:of|the|for|and|de|in))?[\s-]+"
    return (
        re.search(rf"\b{between.join(map(re.escape, name.lower()))}\w+", text.lower()) is not None
    )


def _other_name(question: str, group: _Words, lacking: _Words, passage: Passage) -> str:
    """Return the name that a passage has where the question has one that it lacks, or ""."""
    asked = {*_words_of(question), *_TITLES, *STOP_WORDS, *_CALENDAR}
    kept = [word for word in group if word not in lacking]

    def find(form: str, text: str) -> str:
        for found in re.finditer(form, text):
            other = _bare(found[1]).lower()
            if other not in asked and not any(_is_same_name(w[0].lower(), other) for w in lacking):
                return found[0]
        return ""

    if kept:  # "Ilse Thorne" for "Oriane Thorne"
        bare, is_ahead = re.escape(_bare(kept[0][0])), lacking[0].start() < kept[0].start()
        form = rf"\b({_CAPITAL}) {bare}\b" if is_ahead else rf"\b{bare} ({_CAPITAL})"
        return find(form, passage.whole)
    behind = re.match(r"(?:['’]s)? ([a-z]\w{2,})", question[group[-1].end() :])
    if behind and _is_naming(behind[1]) and not behind[1].endswith("ed"):
        form = rf"\b({_CAPITAL})(?:['’]s)? {re.escape(behind[1])}"
        if other := find(form, passage.sentence):  # "the Kestrel probe" for "the Osprey probe"
            return other
    ahead = question[: group[0].start()]
    before = re.search(r"([^\W\d_]{3,})((?: (?:of|to|from|in|for|at|on)(?: the)?)? )$", ahead)
    if before and before[1].lower() not in STOP_WORDS:
        form = rf"\b(?i:{re.escape(before[1])}){before[2]}({_CAPITAL})"
        if other := find(form, passage.sentence):  # "ferries to Falster" for "ferries to Moen"
            return other
    name = question[group[0].start() : group[-1].end()]
    return _other_subject(question, name, passage)


def _other_subject(question: str, name: str, passage: Passage) -> str:
    """Return who does what a question asks of another name: "Ann died" for "When did Bo die?".

    "" if a sentence around says it of the name.
    """
    asked = {term[:_ROOT] for term in terms(name)}  # other spellings share the first letters
    sentence, rest = passage.sentence, _BEHIND_AUXILIARY.search(question)
    if rest is None or not asked.isdisjoint(term[:_ROOT] for term in terms(passage.near)):
        return ""
    ahead = terms(_OF_NAME.sub(" ", rest[2]))  # who is "the head of Kelp" has another name
    for found in _SUBJECT.finditer(sentence):
        verb = terms(found[3])[0]
        before = ahead[: ahead.index(verb)] if verb in ahead else []
        is_other = set(terms(found[1])) - {*terms(question)}
        is_verb = bool(found[2]) or not rest[1]
        if is_verb and is_other and not asked.isdisjoint(term[:_ROOT] for term in before):
            texts = (
                passage.whole[span.start : span.end] for span in split_sentences(passage.whole)
            )
            others = [terms(text) for text in texts]
            if not any(verb in ws and asked & {word[:_ROOT] for word in ws} for ws in others):
                return found[1].strip()
    return ""


class _Tie(NamedTuple):
    """Words that tell which or what another word is about: pilot of boat, router of password.

    The ``role`` is "before" for a word before a noun or a verb, "done" for what something is done
    to, or a preposition; ``heads`` are the words that it may be about.
    """

    heads: set[str]
    role: str
    words: list[str]
    text: str
    start: int

    def is_like(self, other: _Tie) -> bool:
        """Return True if both are about the same word in ways that may mean the same."""
        roles = {self.role, other.role}
        is_same = len(roles) == 1 or (roles <= _LOOSE and roles != {"before", "done"})
        return is_same and not self.heads.isdisjoint(other.heads)


def _ties(text: str) -> Iterator[_Tie]:
    for form in _TIES:
        for found in form.finditer(text):
            groups = found.groupdict()
            role = (groups.get("mark") or ("before" if "first" in groups else "done")).lower()
            words, start = found["words"].split(), found.start(1)
            is_thing = _ONE.search(text[: found.start("words")]) and words[0] in _NUMBERS
            if not (_is_naming(words[0]) or is_thing):
                continue
            kept = [word for word in words if _is_naming(word) or is_thing]
            shown, head = " ".join(kept), found["head"]
            if head.lower() in STOP_WORDS or (role == "before" and not _is_naming(head)):
                continue
            shown = f"{shown} {head}" if role == "before" else shown
            yield _Tie(
                {base_form(head.lower())}, "of" if role == "for" else role, kept, shown, start
            )
            if role == "for":  # of what goes before too: charge a day for a film
                clause = _words_of(_CLAUSE.split(text[: start + len(head)])[-1])
                heads = {base_form(each) for each in clause if each not in STOP_WORDS}
                yield _Tie(heads, role, kept, shown, start)


def _modifiers(question: str, passage: Passage) -> Iterator[Missing]:
    asked, held = _words_of(question), list(_ties(passage.sentence))
    for tie in _ties(question):
        is_before, text = tie.role == "before", passage.near if tie.role in _NEAREST else ""
        lacking = [each for each in tie.words if not passage.has(each, text)]
        is_asked = (_KIND if tie.role == "done" else _ASKED).search(question[: tie.start])
        if is_asked or lacking[:1] != tie.words[:1] or not (is_before or lacking[-1].islower()):
            continue
        word = lacking[-1]
        opposed = next((words for words in _OPPOSED if word.lower() in words), frozenset[str]())
        if word.lower() in _PLAIN and not opposed:
            continue
        for other in held:
            last = other.words[-1].lower()
            is_whole = other.role != "before" or _DETERMINER.search(passage.sentence[: other.start])
            is_named = last in opposed or (bool(is_whole) and last not in _PLAIN)
            is_named &= not any(_is_among(each.lower(), asked) for each in other.words)
            if is_named and tie.is_like(other):
                yield Missing(tie.text if is_before else word, other.text, last in opposed)
                break
        else:
            is_last = tie.role == "of" and _LAST.match(question.partition(f" {word}")[2])
            if is_last and not passage.has(word) and not passage.has(word, passage.document):
                yield Missing(word)


_OPPOSED_ZH = [frozenset(line) for line in _CHINESE["opposed"].split("|")]
_COLOURS = {*"红黄蓝绿白黑紫橙灰大小新老"}
_LETTERS = frozenset(_CHINESE["opposed"].replace("|", ""))
_RARE, _TIMES, _PARTICLES, _HEADS, _SUFFIXES = (
    frozenset(_CHINESE[name]) for name in ("rare", "times", "particles", "heads", "suffixes")
)
_COMMON, _SURNAMES = word_set("zh", "common_nouns"), frozenset("".join(word_set("zh", "surnames")))
_ASKS_ZH, _PART = re.compile(_CHINESE["asks"]), re.compile(_CHINESE["nouns"], re.IGNORECASE)
_ALONE = _CHINESE["alone"].split("|")
_KINDS = f"{_CHINESE['alone']}|{_CHINESE['classes']}"
_NUMBERED_ZH = re.compile(
    rf"(?P<first>第?)(?P<number>[零〇一二两三四五六七八九十百\d]+)"
    rf"(?P<kind>{_KINDS})(?=(?P<next>[{HAN}]?))"
    r"|(?P<letters>[A-Za-z]{1,6})-?(?P<digits>\d{1,5})(?![A-Za-z0-9_%.])"
    rf"|(?P<han>[{HAN}]{{2}})(?P<of>\d{{2,5}})(?![A-Za-z0-9_%.]|\s?(?:[{_CHINESE['units']}]|{_KINDS}))"
)
"""Matches what a number names: 3号浮标, 第二条, F3, 溪流350."""
_TITLED = re.compile("《([^《》]+)》|[“「『]([^”」』]{2,9})[”」』]")
_LATIN = re.compile(r"[A-Za-z][A-Za-z+#._-]+(?!\d)")
_NAME_TAGS = ("nr", "nrt", "ns", "nt")
_DENIALS = frozenset("不没未无")
_PAIR, _LONGEST_VERB, _AHEAD, _NEAR = 2, 3, 8, 3


def _read_numbered_zh(text: str) -> Iterator[_Numbered]:
    for found in _NUMBERED_ZH.finditer(text):
        kind, noun = found["kind"] or "", found["letters"] or found["han"] or ""
        if kind:
            is_day = kind == "号" and text[: found.start()].endswith("月")
            is_group = kind == "人" and found["next"] in _PARTICLES | {""}
            is_day |= text[: found.start()].endswith("哪")
            if is_day or is_group or not (found["first"] or kind in _ALONE):
                continue
            # 3号浮标 and 5号滤芯 are numbered apart; the floor of a thing is a floor.
            noun = kind + (found["next"] if kind in "号人" else "")
        number = found["number"] or found["digits"] or found["of"]
        value = int(number) if number.isdecimal() else read_chinese(number)
        if value is not None:
            yield _Numbered(noun.lower(), int(value), found[0])


def _opposed_zh(question: str, passage: Passage) -> Iterator[Missing]:
    words = segment(question)
    for word, following in zip(words, [*words[1:], None], strict=True):
        text, is_noun = word.simplified, following is not None and bool(_PART.match(following.tag))
        for place in {0, len(text) - 1} if len(text) <= _PAIR else {0}:
            letter, is_last = text[place], place == len(text) - 1
            others = next((held - {letter} for held in _OPPOSED_ZH if letter in held), None)
            behind = re.match(rf"[{HAN}]{{1,3}}", question[word.start + place + 1 :])
            is_held = letter in _RARE and letter in passage.near  # 蓝灯 is a 蓝色指示灯
            is_part = is_noun or not is_last or (len(text) > 1 and letter not in _TIMES)
            if others is None or behind is None or is_held or word.tag[0] in "mqr" or not is_part:
                continue
            if behind[0][0] in _PARTICLES:
                continue
            for length in range(len(behind[0]), 0 if is_noun or not is_last else 1, -1):
                noun = behind[0][:length]
                if f"{letter}{noun}" in passage.near:
                    break
                form = rf"[{''.join(sorted(others))}]{re.escape(noun)}"
                found = re.search(form, passage.sentence)
                if found and found[0] not in question:
                    rest = following.simplified if following and is_last else ""
                    other = f"{text[:place]}{found[0][0]}{text[place + 1 :]}{rest}"
                    yield Missing(f"{text}{rest}", other)
                    break


def _names_zh(question: str, passage: Passage) -> Iterator[Missing]:
    for name in _LATIN.findall(question):
        is_held = passage.has_name(name) or name.casefold() in passage.document
        is_held |= _squeeze(name) in _squeeze(passage.whole)
        if not is_held and not _is_shortened(name, passage.whole):
            yield Missing(name)
    words = list(_words_zh(question))
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, is_person = word.simplified, word.tag == "nr" and word.simplified[0] in _SURNAMES
        if is_person and len(name) == 1 and following and following.tag in ("n", "nr", "nz"):
            if following.simplified in passage.whole:  # as the captain behind a family name
                continue
            name += following.simplified
        is_name = word.tag in _NAME_TAGS and len(name) > 1 and name not in _COMMON
        if not is_name or name in passage.whole or not _PARTICLES.isdisjoint(name):
            continue
        known = name[:-1]  # 叶文海 for 叶文山
        form = rf"(?<![{HAN}]){re.escape(known)}([{HAN}])"
        behind = set(re.findall(form, passage.near)) if is_person else set()
        if len(behind) == 1 and behind.isdisjoint(_PARTICLES):
            yield Missing(name, f"{known}{behind.pop()}")
        elif not behind and name not in passage.document and word.tag != "nr":
            yield Missing(name)


def _titles_zh(question: str, passage: Passage) -> Iterator[Missing]:
    titles = [name or quoted for name, quoted in _TITLED.findall(passage.sentence)]
    for name in filter(None, (name for name, _ in _TITLED.findall(question))):
        other = next((each for each in titles if each not in question), "")
        if other and name not in passage.whole and not any(set(each) == {*name} for each in titles):
            yield Missing(name, other)
    for name in titles:  # “海燕号” for 白海燕号
        longer = f"{question.partition(name)[0][-1:]}{name}" if name in question else ""
        if longer[:1] in _COLOURS and longer not in passage.whole:
            yield Missing(longer, name)


def _modifiers_zh(question: str, passage: Passage) -> Iterator[Missing]:
    for run, starts in _runs_zh(question):
        end = len(run)
        while end > 1:
            cut = next((at for at in range(end) if run[at:end] in passage.sentence), end)
            if cut == end or run[cut - 1 : end] in passage.near:
                cut = end
            elif cut and (end - cut > 1 or end in starts or end == len(run)):
                first = max((at for at in starts if at < cut), default=0)
                border = min((at for at in starts if cut < at < end), default=cut)
                for at in dict.fromkeys((cut, border)):  # 港灯塔 in 北港灯塔, or 灯塔
                    other = _other_before(run[at:end], run[first:at], question, passage)
                    is_word = at in starts or not any(at < each < end for each in starts)
                    if other and (is_word or len(other) - (end - at) == at - first):
                        yield Missing(run[first:end], other)
                        return
            end = min(cut, end - 1)


def _runs_zh(question: str) -> Iterator[tuple[str, set[int]]]:
    """Yield the runs of words that may name something, with the offsets at which words begin.

    What is done may end one, as in 出国考察; a verb also stands alone: it may be a noun.
    """
    run, starts = "", set[int]()
    for word in [*_words_zh(question), HanWord("", "x", 0, 0, "")]:
        text = word.simplified
        bare = text.removesuffix("的") if len(text) > 1 else text
        is_noun = bool(_PART.match(word.tag)) or bare != text
        is_noun = is_noun and bool(HAN_CHARACTER.match(bare)) and text not in STOP_WORDS
        if is_noun or (run and word.tag == "v" and len(text) == _PAIR):
            starts.add(len(run))
            run += bare
        if (not is_noun and text != "的") or bare != text:
            if len(run) > 1:
                yield run, starts
            run, starts = "", set()
            if word.tag == "v" and 1 < len(text) <= _LONGEST_VERB:
                yield text, {0}


def _words_zh(question: str) -> Iterator[HanWord]:
    """Yield the words of a question; for those behind "what" or "which" signs in their place."""
    is_asked = False
    for word in segment(question):
        if _ASKS_ZH.search(word.simplified):
            is_asked = True
        elif word.tag[0] not in "mq":
            is_asked = is_asked and _PART.match(word.tag) is not None
        yield word._replace(simplified="？", tag="x") if is_asked else word


def _other_before(noun: str, own: str, question: str, passage: Passage) -> str:
    """Return a noun with other words before it than a question has.

    "" if the noun stands alone somewhere, or the words may mean the same.
    """
    sentence, others = passage.sentence, list[str]()
    is_loose = len(noun) == 1 or segment(noun)[0].tag == "v"
    if len(own) == 1 and noun in _HEADS:  # 货 of 退货 says nothing of 货车
        is_held = any(word.simplified == own for word in passage.han_words)
    else:
        is_held = any(own[at : at + 2] in passage.near for at in range(max(len(own) - 1, 1)))
        is_held |= is_loose and (noun in _SUFFIXES or own in passage.whole)
    if is_held or noun[0] in _DENIALS:
        return ""
    for found in re.finditer(re.escape(noun), sentence):
        start, end = found.span()
        start -= sentence[:start].endswith("的")
        inside = [w for w in passage.han_words if w.start < found.start() < w.end == end]
        ahead = inside or segment(sentence[max(0, start - _AHEAD) : start])
        before, tag = (ahead[-1].simplified, ahead[-1].tag) if ahead else ("", "")
        before = before[: -len(noun)] if inside else before
        if not set(own).isdisjoint(sentence[max(0, start - _NEAR) : start]):
            is_same = before[0] == own[0] in _LETTERS  # 冬天 and 冬季
            if len(noun) == 1 or len(before) != len(own) or is_same:
                return ""
        is_part = _PART.match(tag) is not None or before[-1:] == own[-1]  # 焊工 for 电工
        if len(noun) == 1:
            is_done = f"{noun}了" in question and sentence.startswith("了", end)  # 坏了
            is_part = tag[:1] == "n" and bool(
                inside or ((noun in _HEADS or is_done) and len(before) > 1)
            )
        if not is_part or not HAN_CHARACTER.match(before) or before in _PARTICLES:
            if len(noun) > 1:
                return ""
            continue
        if not set(before).isdisjoint(set(question) - set(own)):
            return ""
        others.append(f"{before}{noun}")
    return others[0] if others else ""


_Read = Callable[[str, Passage], Iterator[Missing]]
_READERS: dict[_Read, bool] = {
    partial(_missing_numbers, read=_read_numbered): True,
    _dates: True,
    _years: False,
    _names: True,
    _modifiers: False,
}
"""What finds missing things, and whether it is sure about siblings."""
_READERS_ZH: dict[_Read, bool] = {
    partial(_missing_numbers, read=_read_numbered_zh): True,
    _dates: True,
    _years: False,
    _opposed_zh: True,
    _titles_zh: True,
    _names_zh: True,
    _modifiers_zh: False,
}
