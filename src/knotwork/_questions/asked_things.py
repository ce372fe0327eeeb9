"""The things that a question names, and whether a passage is about them or about others like them.

"The repair of buoy 7 cost 4,200 crowns" says nothing of buoy 9, however alike question and sentence
are. What tells a thing from others like it has few forms: a number behind a noun, a year, a name, a
word of which there are few (east and west, Monday and Sunday), or a word before a noun that the
sentence has with another word before it ("the pilot boat" for "the fire boat"). Other words of a
question may stand for other words of a passage, so that they count for nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from knotwork._questions.languages import CHINESE, read_words, unit_at
from knotwork._text.languages import HAN, HAN_CHARACTER, HanWord, segment, simplify, word_set
from knotwork._text.numbers import SMALL_NUMBERS, read_chinese
from knotwork._text.relation_words import likeness
from knotwork._text.terms import STOP_WORDS, terms


class Missing(NamedTuple):
    """A thing of a question that a passage lacks; ``sibling`` is what it has instead, or ""."""

    words: str
    sibling: str = ""
    is_sure: bool = False


class Passage:
    """A sentence that may answer, the titles above it, the ``text`` around it, its document."""

    def __init__(self, sentence: str, titles: str, text: str, document: str) -> None:
        self.sentence, self.titles = simplify(sentence), simplify(titles)
        self.near = f"{self.titles}\n{self.sentence}"
        self.whole = f"{self.near}\n{simplify(text)}"
        self._document = document

    @cached_property
    def document(self) -> str:
        """Its document in simplified characters and lower case."""
        return simplify(self._document).casefold()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the whole in lower case."""
        return frozenset(_words_of(self.whole))

    @cached_property
    def tokens(self) -> list[re.Match[str]]:
        """The words of the sentence."""
        return list(_WORD.finditer(self.sentence))

    @cached_property
    def han(self) -> list[HanWord]:
        """The words of the sentence, if it is Chinese."""
        return segment(self.sentence)

    def has(self, word: str) -> bool:
        """Return True if the passage has a word, or one that is like it."""
        return any(_is_alike(word, other) for other in self.words)

    def has_name(self, name: str) -> bool:
        """Return True if the passage has a name, or another spelling of it."""
        name = name.lower()
        is_held = any(_is_same_name(name, other) for other in self.words)
        return is_held or (len(name) > _ROOT and name in _squeeze(self.whole))


_HELD = read_words("things")
_ENGLISH, _HAN = _HELD["english"], _HELD["chinese"]
_ROOT = 4
_LEAST_SLIP, _SLIP = 6, 0.85
_WORD = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*")
_SMALL = {word: value for value, word in enumerate(SMALL_NUMBERS)}
_ORDINALS = {word: value for value, word in enumerate(_ENGLISH["ordinals"].split(), 1)}
_NO_NAME, _PLAIN, _TITLES, _VERBS = (
    frozenset(_ENGLISH[name].split()) for name in ("no_name", "plain", "titles", "verbs")
)
_CALENDAR = frozenset(_ENGLISH["calendar"].split())
_COVERING, _COVERING_ZH = re.compile(_ENGLISH["covering"], re.IGNORECASE), re.compile(_HAN["covering"])
_OPPOSED = [frozenset(line.split()) for line in re.split(r"[|\n]", _ENGLISH["opposed"].strip())]
_OPPOSED_ZH = [frozenset(line) for line in _HAN["opposed"].split("|")]
_END = r"(?![\w%]|[.,:/]\d)"
_NUMBERED = re.compile(
    rf"\b(?P<noun>[^\W\d_]+)(?:[ -]|\s?#|\s(?:no\.?|number|nr\.?)\s)"
    rf"(?P<number>\d{{1,5}}|{'|'.join(_SMALL)}){_END}"
    rf"|\b(?P<letters>[A-Z]{{1,5}})-?(?P<digits>\d{{1,5}}){_END}"
    rf"|\b(?P<ordinal>\d{{1,2}}(?=st|nd|rd|th)|{'|'.join(_ORDINALS)})(?:st|nd|rd|th)?[ -]"
    r"(?P<of>[^\W\d_]{3,})",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"\s(?!(?:does|is|was|has|costs|this|its)\b)[a-z]+s\b")
_YEAR = re.compile(r"(?<![\d.,:/-])(?:1[5-9]|20)\d\d(?![\d%s]|[.,]\d)")
_SINCE = re.compile(r"(?:\b(?:since|from|of|after|until|till|before|between|to)|[自从至到])\W*$", re.I)
_THEN = re.compile(r"\s*年?[^。，；]{0,8}?(?:起|以来|之?后|开始|之?前|至|到|[-–—~～])")
_DETERMINER = re.compile(r"(?:^|[^\w\s]\s*|\b(?:the|a|an|of|for|in|on|at|from|by|with|and|or)\s)$", re.I)
_ASKED = frozenset(["what", "which", "whose", "many", "much"])
_OF = re.compile(
    r"(?P<head>[^\W\d_]{3,}) (?P<mark>of|for|to|from|in|on|at|with) (?:(?:the|an?|my|our) )?"
    r"(?P<of>[^\W\d_]{3,}(?: [^\W\d_]{3,})?)",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)
def _words_of(text: str) -> tuple[str, ...]:
    found = (word[0].lower() for word in _WORD.finditer(text))
    return tuple(re.sub(r"['’]s?$", "", word) for word in found)


def _squeeze(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()


def _is_same_name(name: str, other: str) -> bool:
    if name[0] != other[0]:
        return False
    if terms(name) == terms(other):
        return True
    short, long = sorted((name, other), key=len)
    return len(short) > _ROOT and (long.startswith(short[:-1]) or _is_slip(name, other))


def _is_slip(word: str, other: str) -> bool:
    """Return True if two words of six letters or more differ in one of seven."""
    if min(len(word), len(other)) < _LEAST_SLIP or abs(len(word) - len(other)) > 1:
        return False
    return SequenceMatcher(None, word, other).ratio() >= _SLIP


def _is_alike(word: str, other: str) -> bool:
    return likeness(word, other) > 0 or _is_slip(word, other)


def _stem(word: str) -> str:
    return next(iter(terms(word)), word.lower())


def missing_things(question: str, passage: Passage) -> list[Missing]:
    """Return the things that a question names and a passage lacks, those with a sibling first."""
    question = simplify(question).strip()
    is_han = HAN_CHARACTER.search(question) is not None
    readers = (
        (_numbers_zh, _years, _opposed_zh, _names_zh, _modifiers_zh)
        if is_han
        else (_numbers, _years, _opposed, _names, _modifiers, _complements)
    )
    return [
        missing._replace(is_sure=bool(missing.sibling) and read not in _UNSURE)
        for read in readers
        for missing in read(question, passage)
    ]


class _Numbered(NamedTuple):
    noun: str
    number: int
    span: re.Match[str]


def _read_numbered(text: str) -> Iterator[_Numbered]:
    for found in _NUMBERED.finditer(text):
        noun = found["noun"] or found["letters"] or found["of"]
        number = found["number"] or found["digits"] or found["ordinal"]
        if noun.lower() in _CALENDAR:
            continue
        if found["noun"] and (noun.lower() in _NO_NAME or _counts(text, found.end())):
            continue
        value = _SMALL.get(number.lower(), _ORDINALS.get(number.lower()))
        yield _Numbered(_stem(noun), int(number) if value is None else value, found)


def _counts(text: str, end: int) -> bool:
    """Return True if a number before a place is an amount, as in "wait 20 days"."""
    return unit_at(text, end)[0] is not None or _PLURAL.match(text, end) is not None


def _numbers(question: str, passage: Passage) -> Iterator[Missing]:
    for asked in _named_apart(list(_read_numbered(question)), passage, _read_numbered):
        yield from _missed_number(asked.noun, asked.number, asked.span[0], passage, _read_numbered)


def _named_apart(asked, passage, read):  # noqa
    """Return the numbered things of a question without those listed beside one that is there."""
    held = {(e.noun, e.number) for e in read(passage.near)}
    there = {e.noun for e in asked if (e.noun, e.number) in held}
    return [each for each in asked if each.noun not in there]


def _missed_number(noun, number, written, passage, read) -> Iterator[Missing]:  # noqa
    near = {e.number: e.span[0] for t in (passage.sentence, passage.titles) for e in read(t) if e.noun == noun}
    if number in near:
        return
    far = {e.number: e.span[0] for e in read(passage.whole) if e.noun == noun}
    if near:
        yield Missing(written, next(iter(near.values())))
    elif far and number not in far:
        yield Missing(written, next(iter(far.values())))
    elif not far and written[-1:].isdigit() and noun in passage.whole.lower():
        if not re.search(rf"(?<!\d){number}(?!\d)", passage.whole):
            yield Missing(written)


def _years(question: str, passage: Passage) -> Iterator[Missing]:
    for found in _YEAR.finditer(question):
        year, whole = found[0], passage.whole
        held = list(_YEAR.finditer(whole))
        is_since = any(
            each[0] <= year and (_SINCE.search(whole[: each.start()][-12:]) or _THEN.match(whole, each.end()))
            for each in held
        )
        if year in whole or is_since:
            continue
        others = (other for text in (passage.sentence, passage.titles) for other in _YEAR.finditer(text))
        near = next((other for other in others if other[0] not in question), None)
        if near or year not in passage.document:
            yield Missing(year, near[0] if near else "")


def _opposed(question: str, passage: Passage) -> Iterator[Missing]:
    words = list(_WORD.finditer(question))
    for number, word in enumerate(words):
        asked = word[0].lower()
        others = next((held - {asked} for held in _OPPOSED if asked in held), None)
        if others is None or (asked in _CALENDAR and not word[0][0].isupper()):
            continue
        following = words[number + 1][0] if number + 1 < len(words) else ""
        noun = _stem(following) if following and following.lower() not in STOP_WORDS else ""
        if any(likeness(asked, each) > 0 for each in _words_of(f"{passage.sentence} {passage.titles}")):
            continue
        is_day = asked in _CALENDAR and not passage.has(asked) and not _covers(passage.whole, asked)
        tokens = list(_WORD.finditer(passage.whole)) if is_day else passage.tokens
        for at, other in enumerate(tokens):
            if other[0].lower() not in others or other[0].lower() in question.lower():
                continue
            behind = tokens[at + 1][0] if at + 1 < len(tokens) else ""
            is_same = bool(noun) and _stem(behind) == noun
            if is_same or is_day:
                yield Missing(" ".join(filter(None, (word[0], following if is_same else ""))), other[0])
                break


def _covers(sentence: str, asked: str) -> bool:
    """Return True if a sentence speaks of all days, or of a range of days or months."""
    is_free = asked in ("saturday", "sunday")
    return any(not (is_free and "day" in found[0] and "every" not in found[0]) for found in _COVERING.finditer(sentence.lower()))


def _groups(question: str) -> Iterator[list[re.Match[str]]]:
    """Yield the names of a question: runs of words with capitals, the first word left out."""
    words = list(_WORD.finditer(question))
    capital = [w[0][0].isupper() for w in words]
    if not any(capital[1:]) or sum(capital) > 0.7 * len(words):
        return
    run: list[re.Match[str]] = []
    for number, word in enumerate(words):
        before = question[: word.start()].rstrip()
        is_first = not number or before[-1:] in ".!?:"
        lower = word[0].lower()
        is_name = (
            capital[number] and not is_first and len(word[0]) > 1
            and lower not in STOP_WORDS and lower not in _CALENDAR and lower not in _TITLES
            and not (any(map(str.isdigit, word[0])))
        )
        if is_name and run and question[run[-1].end() : word.start()] != " ":
            yield run
            run = []
        if is_name:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _names(question: str, passage: Passage) -> Iterator[Missing]:
    for group in _groups(question):
        start, end = group[0].start(), group[-1].end()
        name = re.sub(r"['’]s?$", "", question[start:end])
        lacking = [word for word in group if not passage.has_name(re.sub(r"['’]s?$", "", word[0]))]
        if not lacking or _is_shortened(name, passage.whole):
            continue
        sibling = _other_name(question, group, lacking, passage)
        is_rest = len(lacking) < len(group) or _NO_OWN.search(name)
        if sibling or not (is_rest or all(w in passage.document for w in name.lower().split())):
            yield Missing(name, sibling)


_NO_OWN = re.compile(r"^[A-Z.]{1,4}s?$|(?:ish|ese|[ie]an|ern|can|I)s?$")
"""Matches abbreviations and words for people of a country, which have other words more often."""


def _is_shortened(name: str, text: str) -> bool:
    """Return True if a text has the first letters of a name, or the words of which it has them."""
    words = name.split()
    if len(words) > 1 and re.search(rf"\b{re.escape(''.join(w[0] for w in words))}\b", text):
        return True
    if len(words) > 1 or not name.isupper() or len(name) > 6:
        return False
    between = r"[\w’'-]*(?:[\s-]+(?:of|the|for|and|de|in))?[\s-]+"
    return re.search(rf"\b{between.join(name.lower())}\w+", text.lower()) is not None


def _other_name(question, group, lacking, passage) -> str:  # noqa
    asked = set(_words_of(question))
    kept = [word for word in group if word not in lacking]
    capital = r"[A-Z][\w’'-]+"

    def find(form: str) -> str:
        for found in re.finditer(form, passage.whole):
            other = found[1].lower()
            is_slip = any(_is_same_name(word[0].lower(), other) for word in lacking)
            if other not in asked | _TITLES | STOP_WORDS | _CALENDAR and not is_slip:
                return found[0]
        return ""

    for word in kept:  # "Ilse Thorne" for "Oriane Thorne"
        bare = re.escape(re.sub(r"['’]s?$", "", word[0]))
        is_ahead = lacking[0].start() < word.start()
        if found := find(rf"\b({capital}) {bare}\b" if is_ahead else rf"\b{bare} ({capital})"):
            return found
    if kept:
        return ""
    behind = re.match(r"(?:['’]s)? ([a-z]\w{2,})", question[group[-1].end() :])
    sentence = passage.sentence
    if behind and _is_naming(behind[1]) and not behind[1].endswith("ed") and (found := re.search(rf"\b({capital})(?:['’]s)? {re.escape(behind[1])}", sentence)):
        return found[0] if found[1].lower() not in asked else ""
    before = re.search(r"([^\W\d_]{3,})(?: (?:of|to|from|in|for|at|on)(?: the)?)? $", question[: group[0].start()])
    if before and before[1].lower() not in STOP_WORDS:
        mark = question[before.end(1) : group[0].start()]
        found = re.search(rf"\b(?i:{re.escape(before[1])}){mark}({capital})", sentence)
        if found and found[1].lower() not in asked:
            return found[0]
    return ""


def _modifiers(question: str, passage: Passage) -> Iterator[Missing]:
    asked, held = _words_of(question), set(_words_of(passage.near))
    words = list(_WORD.finditer(question))
    for ahead, word, head in zip([None, *words], words, words[1:], strict=False):
        lower, noun = word[0].lower(), _stem(head[0])
        if (
            question[word.end() : head.start()] not in (" ", "-")
            or (ahead is not None and ahead[0].lower() in _ASKED)
            or not _is_naming(word[0])
            or not _is_naming(head[0])
            or lower in _PLAIN
            or any(_is_alike(lower, each) for each in held)
        ):
            continue
        for before, other in pairwise(passage.tokens):
            sign, first = passage.sentence[before.end() : other.start()], before[0].lower()
            if (
                _stem(other[0]) == noun
                and sign in (" ", "-")
                and _is_naming(first)
                and first not in _PLAIN
                and not any(_is_alike(first, each) for each in asked)
                and _DETERMINER.search(passage.sentence[: before.start()])
            ):
                yield Missing(f"{word[0]} {head[0]}", f"{before[0]} {other[0]}")
                break
    for found in _OF.finditer(question):
        last = next((w for w in reversed(found["of"].split()) if _is_naming(w)), "").lower()
        is_asked = found["of"].split()[0].lower() in _ASKED
        if not last or is_asked or last in _PLAIN or passage.has(last) or found["of"][0].isupper():
            continue
        for other in _OF.finditer(passage.sentence):
            is_same = _stem(other["head"]) == _stem(found["head"]) and other["mark"].lower() == found["mark"].lower()
            first = other["of"].split()[0]
            if is_same and not set(_words_of(other["of"])) & set(asked) and _is_naming(first):
                yield Missing(last, other["of"])
                break


_END_OF = re.compile(
    r"\b(?:for|of) (?:the |an? |my |our )?(?P<of>[^\W\d_]{3,})"
    r"(?= (?:costs?|takes?|lasts?|weighs?|opens?|starts?|begins?|ends?|closes?)\b|\W*$)",
    re.IGNORECASE,
)


def _complements(question: str, passage: Passage) -> Iterator[Missing]:
    found = _END_OF.search(question)
    if found and _is_naming(found["of"]) and found["of"].islower() and found["of"] not in _PLAIN:
        last = found["of"]
        if not passage.has(last) and not any(_is_alike(last, w) for w in set(_words_of(passage.document))):
            yield Missing(last)


def _is_naming(word: str) -> bool:
    lower = word.lower()
    return (
        len(word) > 2
        and word.isalpha()
        and not lower.endswith("ly")
        and not any(lower in words for words in (STOP_WORDS, _NO_NAME, _VERBS, _SMALL, _ORDINALS))
    )


_CLASS = "号楼路期季度班组区栋室厅届章条款代版册卷队"
_NUMBER_ZH = r"[零〇一二两三四五六七八九十百\d]+"
_UNITS = "元岁人个年米克吨级度次周分天日月小公千厘毫点时秒种条名位倍页张台升瓦伏斤块毛只支把辆件套平％号楼世"
_NUMBERED_ZH = re.compile(
    rf"(?P<first>第?)(?P<number>{_NUMBER_ZH})(?:(?P<kind>季度|单元|车间|号楼|[{_CLASS}])(?!线)(?=(?P<next>[{HAN}]?)))"
    r"|(?P<letters>[A-Za-z]{1,6})-?(?P<digits>\d{1,5})(?![A-Za-z0-9_%.])"
    rf"|(?P<han>[{HAN}]{{2}})(?P<of>\d{{2,5}})(?![A-Za-z0-9_%.]|\s?[{_UNITS}])"
)
"""Matches what a number names: 3号浮标, 第二条, F3, 溪流350."""
_ALONE = frozenset(["号", "楼", "路", "栋", "班", "季度", "单元", "号楼", "室", "区"])


def _read_numbered_zh(text: str) -> Iterator[_Numbered]:
    for found in _NUMBERED_ZH.finditer(text):
        kind, noun = found["kind"], found["letters"] or found["han"]
        if kind:
            is_day = kind == "号" and text[: found.start()].endswith("月")
            if is_day or not (found["first"] or kind in _ALONE):
                continue
            # 3号浮标 and 5号滤芯 are numbered apart; the floor of a thing is a floor.
            noun = kind + (found["next"] if kind == "号" else "")
        number = found["number"] or found["digits"] or found["of"]
        value = int(number) if number.isdecimal() else read_chinese(number)
        if value is not None:
            yield _Numbered(noun.lower(), int(value), found)


def _numbers_zh(question: str, passage: Passage) -> Iterator[Missing]:
    for asked in _named_apart(list(_read_numbered_zh(question)), passage, _read_numbered_zh):
        yield from _missed_number(asked.noun, asked.number, asked.span[0], passage, _read_numbered_zh)


def _opposed_zh(question: str, passage: Passage) -> Iterator[Missing]:
    words = segment(question)
    for word, following in zip(words, [*words[1:], None], strict=True):
        is_whole = len(word.simplified) == 1
        places = {0, 1} if len(word.simplified) == _PAIR else {0}
        for place in places:
            letter = word.simplified[place]
            others = next((held - {letter} for held in _OPPOSED_ZH if letter in held), None)
            behind = re.match(rf"[{HAN}]{{1,3}}", question[word.start + place + 1 :])
            if letter in _RARE and letter in passage.near:
                continue
            if others is None or behind is None or word.tag[0] in "mqr" or _BORDER.match(behind[0]):
                continue
            is_last = place == len(word.simplified) - 1
            is_noun = following is not None and _PART.match(following.tag) is not None
            if (is_last and letter in _TIMES and not is_noun) or (is_whole and not is_noun):
                continue
            least = 1 if is_noun or not is_last else 2
            for length in range(len(behind[0]), least - 1, -1):
                noun = behind[0][:length]
                if f"{letter}{noun}" in passage.near:
                    break
                found = re.search(rf"[{''.join(sorted(others))}]{re.escape(noun)}", passage.sentence)
                if found and found[0] not in question:
                    yield Missing(f"{letter}{noun}", found[0])
                    break


_PAIR = 2
_RARE = frozenset("春夏秋冬红黄蓝绿白黑紫橙灰")
"""Characters that count wherever a passage has them: 蓝灯 is a 蓝色指示灯."""
_TIMES = frozenset("日周月季年")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#._-]+")
_NAME_TAGS = ("nr", "nrt", "ns", "nt")


def _names_zh(question: str, passage: Passage) -> Iterator[Missing]:
    squeezed = _squeeze(passage.whole)
    for found in _LATIN.finditer(question):
        name = found[0]
        is_held = _squeeze(name) in squeezed or name.casefold() in passage.document
        if is_held or passage.has_name(name) or _is_shortened(name, passage.whole):
            continue
        if not any(map(str.isdigit, name)):
            yield Missing(name)
    words = list(_words_zh(question))
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, is_person = word.simplified, word.tag == "nr"
        if is_person and len(name) == 1 and following and following.tag in ("n", "nr", "nz"):
            if following.simplified in passage.whole:  # as the captain behind a family name
                continue
            name += following.simplified
        is_name = word.tag in _NAME_TAGS and len(name) > 1 and name not in _COMMON
        if not is_name or name in passage.whole or not _PARTICLES.isdisjoint(name):
            continue
        # 叶文海 for 叶文山
        known = name[: len(name) - 1]
        form = rf"(?<![{HAN}]){re.escape(known)}([{HAN}])"
        is_person &= known[0] in _SURNAMES
        behind = set(re.findall(form, passage.near)) if is_person else set()
        if len(behind) == 1 and behind.isdisjoint(_PARTICLES):
            yield Missing(name, known + behind.pop())
        elif not behind and name not in passage.document and word.tag != "nr":
            yield Missing(name)


def _modifiers_zh(question: str, passage: Passage) -> Iterator[Missing]:
    for run, starts in _runs_zh(question):
        end = len(run)
        while end > 1:
            cut = next((at for at in range(end) if run[at:end] in passage.sentence), end)
            if cut == end or run[cut - 1 : end] in passage.near:
                cut = end
            elif cut and (end - cut > 1 or end in starts or end == len(run)):
                first = max((at for at in starts if at < cut), default=0)
                if other := _other_before(run[cut:end], run[first:cut], question, passage):
                    yield Missing(run[first:end], other)
                    return
            end = min(cut, end - 1)


def _runs_zh(question: str) -> Iterator[tuple[str, set[int]]]:
    """Yield the runs of words that may name something, with the offsets at which words begin.

    A verb is alone: it may be none.
    """
    run, starts = "", set[int]()
    for word in [*_words_zh(question), None]:
        text = word.simplified if word else ""
        bare = text.removesuffix("的") if len(text) > 1 else text
        is_noun = word is not None and (_PART.match(word.tag) is not None or bare != text)
        is_noun = is_noun and bool(HAN_CHARACTER.match(bare)) and text not in STOP_WORDS
        if run and word is not None and word.tag == "v" and len(text) == _PAIR:
            starts.add(len(run))  # what is done may be a thing: the trip of 出国考察
            run += text
        if is_noun:
            starts.add(len(run))
            run += bare
        if (not is_noun and text != "的") or bare != text:
            if len(run) > 1:
                yield run, starts
            run, starts = "", set()
            if word is not None and word.tag in ("v", "i", "z") and 1 < len(text) < 4:
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


_ASKS_ZH = re.compile("什么|甚么|哪|[几多]少|^何|^几")
_PART = re.compile(r"n|vn|an|ng|ag|vg|g$|[abfjstl]$", re.IGNORECASE)
_PARTICLES = frozenset(_HAN["particles"])
_HEADS = frozenset(_HAN["heads"])
_SUFFIXES = frozenset(_HAN["suffixes"])
_COMMON, _SURNAMES = word_set("zh", "common_nouns"), frozenset("".join(word_set("zh", "surnames")))
_BORDER = re.compile("[的了是在由被把给和与及或从对于为有]")


def _other_before(noun: str, own: str, question: str, passage: Passage) -> str:
    """Return a noun with other words before it than a question has, "" if it has those as well."""
    sentence = passage.sentence
    if any(own[at : at + 2] in passage.near for at in range(max(len(own) - 1, 1))):
        return ""
    is_loose = len(noun) == 1 or segment(noun)[0].tag == "v"
    if is_loose and (noun in _SUFFIXES or f"{own}{noun}" in passage.whole or own in passage.whole):
        return ""
    others = []
    for found in re.finditer(re.escape(noun), sentence):
        inside = next((w for w in passage.han if w.start < found.start() < w.end == found.end()), None)
        if inside is not None:
            before, tag = inside.simplified[: -len(noun)], inside.tag
        else:
            ahead = segment(sentence[max(0, found.start() - 8) : found.start()])
            before, tag = (ahead[-1].simplified, ahead[-1].tag) if ahead else ("", "")
        is_word = inside is not None or (noun in _HEADS and len(before) > 1)
        is_part = _PART.match(tag) and (len(noun) > 1 or (is_word and tag[0] == "n"))
        is_near = set(sentence[max(0, found.start() - 3) : found.start()]) & set(own)
        if is_near and (len(noun) == 1 or len(before) != len(own) or before[0] == own[0]):
            return ""
        if not is_part or not HAN_CHARACTER.match(before) or _BORDER.fullmatch(before):
            if len(noun) > 1:
                return ""  # it stands there without other words before it
            continue
        if set(before) & (set(question) - set(own)):
            return ""
        others.append(f"{before}{noun}")
    return others[0] if others else ""


_UNSURE = frozenset([_modifiers, _complements, _modifiers_zh])
"""The readers that may be wrong."""
