"""Find names, terms and relations in Chinese sentences, from words with their parts of speech."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from knotwork._text.languages import HAN_CHARACTER, HanWord, segment, simplify, word_list, word_set
from knotwork._text.names import normal_form
from knotwork._transform.rules.english_names import YEAR
from knotwork._transform.rules.lexicon import (
    IDENTIFIER,
    Occurrence,
    common_words,
    noun_type,
    technical_type,
)

HAN_ORGANIZATION_ENDS = word_list("zh", "organization_ends")
ORGANIZATION_WORDS = frozenset((*HAN_ORGANIZATION_ENDS, *"部局署厅院队党社会馆团"))

HAN_PLACE_ENDS = frozenset(
    (*"省市县区镇乡村州岛河江湖海山路街桥港站湾洲国", "机场", "半岛", "山脉")
)

PERSON_TITLES = word_set("zh", "person_titles")

NOUN_ENDS = frozenset("性化类库间证单")
"""Characters that end nouns but rarely names of persons (许可证, 安全性, 白名单)."""

SURNAMES: frozenset[str] = frozenset(*word_list("zh", "surnames"))

TRANSLITERATING = "".join(word_list("zh", "transliterating"))

COMMON_NOUNS = word_set("zh", "common_nouns")


_PERSON_TAGS = frozenset({"nr", "nrt", "nrfg"})
_NAME_TAGS = _PERSON_TAGS | {"ns", "nt", "nz", "eng"}
_NOUN_TAGS = _NAME_TAGS | {"n", "vn", "an", "j", "l", "ng", "b", "nrt"}
_FOREIGN = re.compile(rf"[{TRANSLITERATING}]{{1,9}}(?:\s?[·•‧・･]\s?[{TRANSLITERATING}]{{1,9}})+")
_CERTAIN_NAME_TAGS = frozenset({"ns", "nt", "nz", "nr"})
_PARTICLE_TAGS = frozenset({"p", "c", "d", "uj", "ul", "u", "r"})
_TITLE_MARKS = re.compile(r"[《〈]([^《》〈〉\n]{1,40})[》〉]")
_QUOTES = re.compile(r"[“「『\"]([^“”「」『』\"\n，。！？；,!?;]{2,16})[”」』\"]")
_DATES = re.compile(
    r"(?:\d{3,4}|[〇零一二三四五六七八九]{4})\s*年(?:\s*\d{1,2}\s*月(?:\s*\d{1,2}\s*[日号])?)?"
    r"|\d{4}-\d{2}-\d{2}"
)
_NUMBERS = re.compile(r"\d[\d,]*(?:\.\d+)?\s*(?:[万亿億萬]+元?|[%％元])|\d{4,}")
_LATIN = re.compile(
    r"(?<![\w./~])(?:~/|/(?=[\w.+-]+/|(?:etc|usr|var|tmp|dev|proc|srv|opt|boot)\b))[\w.+@/-]{0,120}\w"
    r"|(?<![\w-])--[a-z][\w-]{1,60}"
    r"|https?://[^\s<>\"')\]，。）]+"
    r"|(?<![<\w])[A-Za-z][\w.+#&/-]*(?:\s[A-Z0-9][\w.+#&/-]*)*|(?<![\w])\d+[A-Z][\w+-]*",
    re.ASCII,
)
_SUBJECT_END = re.compile(r"[是为為，,（(：:；。、]|(?:一)?[种種]")
_HAN_SHARE = 0.3
_LONG_SURNAMES = frozenset({"欧阳", "司马", "诸葛", "上官", "司徒", "夏侯", "皇甫", "东方"})
_LONGEST_RUN = 10
"""Most words of an organization or a chain of places."""


class HanSentence:
    """A segmented Chinese sentence and its offset in the document."""

    __slots__ = ("end", "simplified", "start", "text", "words")

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.start = start
        self.end = start + len(text)
        simplified = simplify(text)
        lower = simplified.lower()
        self.simplified = lower if len(lower) == len(text) else simplified
        self.words = [part for word in segment(text) for part in _without_conjunction(word)]


def _without_conjunction(word: HanWord) -> Iterator[HanWord]:
    """Split off an "and" that the segmentation attached to a place (和澳洲)."""
    if word.tag == "ns" and len(word.text) > 2 and word.simplified[0] in "和与及跟":
        middle = word.start + 1
        yield HanWord(word.text[0], "c", word.start, middle, word.simplified[0])
        yield HanWord(word.text[1:], "ns", middle, word.end, word.simplified[1:])
        return
    yield word


def is_chinese(text: str) -> bool:
    """Return True if a sentence has enough Han characters, about a third, to be read as Chinese."""
    if text.isascii():
        return False
    return len(HAN_CHARACTER.findall(text)) >= _HAN_SHARE * sum(not c.isspace() for c in text)


def find_han_names(sentence: HanSentence) -> tuple[list[Occurrence], list[Occurrence]]:
    """Return the names of a sentence, and nouns that become terms if the document repeats them."""
    text = sentence.text
    names = list(_marked(text))
    names.extend(_foreign(sentence))
    taken = [(n.start, n.end) for n in names]
    names.extend(_beside(_latin(text), taken))
    words = sentence.words
    nouns: list[Occurrence] = []
    position = 0
    while position < len(words):
        last = position
        while last < len(words) and _continues(words, last):
            last += 1
        if last == position:
            position += 1
            continue
        run = words[position:last]
        found, terms = _run_names(run, words[last] if last < len(words) else None)
        names.extend(_beside(found, taken))
        nouns.extend(_beside(terms, taken))
        position = last
    return names, nouns


def _foreign(sentence: HanSentence) -> Iterator[Occurrence]:
    """Yield names with a middle dot, without the particles that may begin or end them."""
    bounds = {word.start: word for word in sentence.words}
    ends = {word.end: word for word in sentence.words}
    for match in _FOREIGN.finditer(sentence.simplified):
        start, end = match.span()
        while (word := bounds.get(start)) is not None and word.tag in _PARTICLE_TAGS:
            start = word.end
        while (word := ends.get(end)) is not None and word.tag in _PARTICLE_TAGS:
            end = word.start
        if sentence.text[end - 1] in "于於" and _DATES.match(sentence.text, end):
            end -= 1
        yield Occurrence(start, end, normal_form(sentence.text[start:end]), "PERSON")


def _beside(found: Iterable[Occurrence], taken: Sequence[tuple[int, int]]) -> Iterator[Occurrence]:
    """Yield names that do not overlap a marked name partly; those inside one become its parts."""
    for name in found:
        around = [(s, e) for s, e in taken if s < name.end and name.start < e]
        if not around:
            yield name
        elif all(
            s <= name.start and name.end <= e and e - s > name.end - name.start for s, e in around
        ):
            yield name._replace(part=True)


def count_nouns(sentences: Iterable[Sequence[Occurrence]]) -> Counter[str]:
    """Count the candidate terms of a document's sentences."""
    return Counter(noun.form for nouns in sentences for noun in nouns)


def han_subject(sentence: HanSentence) -> tuple[int, int] | None:
    """Return the subject of a definition: the nouns before 是 or the first punctuation mark."""
    text = sentence.text
    first = len(text) - len(text.lstrip(" \t\u3000#*-“「『\"'"))
    title = _TITLE_MARKS.match(text, first)
    if title is not None:
        return title.start(1), title.end(1)
    match = _SUBJECT_END.search(text, first)
    if match is None or not 2 <= match.start() - first <= 16:
        return None
    words = [w for w in sentence.words if w.start >= first and w.end <= match.start()]
    if not words or words[-1].end != match.start() or words[0].tag[0] in "pcdrmtuf":
        return None
    if words[-1].tag in {"uj", "v"} or any(w.tag == "v" and len(w.text) == 1 for w in words):
        return None
    tags = {word.tag for word in words if word.text.strip(" ·•‧・･")}
    if not tags & (_NAME_TAGS | {"n", "vn", "j", "l"}) or tags - _NOUN_TAGS - {
        "uj",
        "a",
        "m",
        "v",
        "zg",
    }:
        return None
    return first, match.start()


def _marked(text: str) -> Iterator[Occurrence]:
    for match in _TITLE_MARKS.finditer(text):
        yield Occurrence(*match.span(1), normal_form(match[1]), "WORK")
    for match in _QUOTES.finditer(text):
        yield Occurrence(*match.span(1), normal_form(match[1]), doubtful=True)
    dated = -1
    for match in _DATES.finditer(text):
        dated = match.end()
        yield Occurrence(*match.span(), normal_form(match[0]), "DATE")
    for match in _NUMBERS.finditer(text) if dated < 0 else ():
        alone = not HAN_CHARACTER.match(text, match.end())
        kind = "DATE" if alone and YEAR.fullmatch(match[0]) else "NUMBER"
        yield Occurrence(*match.span(), normal_form(match[0]), kind)


def _latin(text: str) -> Iterator[Occurrence]:
    for match in _LATIN.finditer(text):
        name = match[0].rstrip(".-/&")
        if len(name) < 2 or (name.islower() and name in common_words()):
            continue
        start, end = match.start(), match.start() + len(name)
        kind = technical_type(name)
        if kind == IDENTIFIER and "_" not in name:
            kind = noun_type(text, start, end) if name.islower() else ""
        yield Occurrence(start, end, normal_form(name), kind)


def _continues(words: Sequence[HanWord], position: int) -> bool:
    """Return True if a word belongs to a run of nouns: a noun, or a verb inside a name."""
    word = words[position]
    if word.tag == "eng":
        return False
    if word.tag in _NOUN_TAGS and HAN_CHARACTER.match(word.text):
        return True
    following = words[position + 1] if position + 1 < len(words) else None
    before = words[position - 1] if position else None
    # 中国(ns) 联合(v) 网络通信(nt): a verb of two characters between name and noun.
    return (
        word.tag == "v"
        and len(word.text) == 2
        and before is not None
        and following is not None
        and before.tag in {"ns", "nt", "nz"}
        and following.tag in {"n", "nt", "nz"}
    )


def _run_names(
    run: Sequence[HanWord], following: HanWord | None
) -> tuple[list[Occurrence], list[Occurrence]]:
    names: list[Occurrence] = []
    terms: list[Occurrence] = []
    position = 0
    while position < len(run):
        for finder in (_organization, _branch, _place):
            last = finder(run, position)
            if last is not None:
                kind = _KIND_OF[finder]
                names.append(_joined(run[position : last + 1], kind))
                if last > position:
                    places = [word for word in run[position : last + 1] if word.tag == "ns"]
                    names.extend(_joined([word], "PLACE", part=True) for word in places)
                position = last
                break
        else:
            name = _single(
                run[position], run[position + 1] if position + 1 < len(run) else following
            )
            if name is not None:
                names.append(name)
        position += 1
    plain = [word for word in run if word.tag not in _PERSON_TAGS]
    if len(plain) == len(run):
        terms.extend(_terms(run))
    return names, [term for term in terms if all(term.form != name.form for name in names)]


def _branch(run: Sequence[HanWord], position: int) -> int | None:
    """Return the end of a place followed by a name (福建联通)."""
    following = run[position + 1] if position + 1 < len(run) else None
    if run[position].tag != "ns" or following is None or following.tag not in {"nt", "nz"}:
        return None
    return position + 1 if len(following.text) <= 4 else None


def _organization(run: Sequence[HanWord], position: int) -> int | None:
    first = run[position]
    if first.tag not in {"ns", "nt", "nz", "n", "j", "nr", "vn"}:
        return None
    if first.simplified in ORGANIZATION_WORDS:
        return None  # 公司总部
    for last in range(min(len(run), position + _LONGEST_RUN) - 1, position - 1, -1):
        text = run[last].simplified
        alone = last == position
        if alone and (len(text) < 4 or {text, text[:2]} & ORGANIZATION_WORDS):
            continue
        if text in ORGANIZATION_WORDS or text.endswith(HAN_ORGANIZATION_ENDS):
            named = any(word.tag in _CERTAIN_NAME_TAGS for word in run[position : last + 1])
            if named and run[position].tag not in _CERTAIN_NAME_TAGS:
                return None  # 时任 紫金山实验室
            long_enough = run[last].end - run[position].start >= 4
            if long_enough and (named or alone):
                return last
    return None


def _place(run: Sequence[HanWord], position: int) -> int | None:
    """Return the end of a chain of places (北京市 海淀区 中关村)."""
    if run[position].tag != "ns":
        return None
    last = position
    while last + 1 < min(len(run), position + _LONGEST_RUN) and run[last + 1].tag == "ns":
        last += 1
    if last + 1 < len(run) and run[last + 1].simplified in HAN_PLACE_ENDS:
        last += 1
    if last == position and run[last].simplified in COMMON_NOUNS:
        return None
    return last if run[last].end - run[position].start >= 2 else None


_KIND_OF = {_organization: "ORGANIZATION", _branch: "ORGANIZATION", _place: "PLACE"}


def _single(word: HanWord, following: HanWord | None) -> Occurrence | None:
    text = word.simplified
    if len(text) < 2 or text in COMMON_NOUNS:
        return None
    if word.tag in _PERSON_TAGS:
        titled = following is not None and following.simplified in PERSON_TITLES
        likely = text[0] in SURNAMES and len(text) <= 4 and text[-1] not in NOUN_ENDS
        if titled or likely or len(text) >= 3:
            certain = titled or (likely and len(text) == 3) or text[:2] in _LONG_SURNAMES
            name = _joined([word], "PERSON" if certain else "")
            return name if certain else name._replace(doubtful=True)
        return None
    if word.tag == "nt":
        return _joined([word], "ORGANIZATION")
    return _joined([word], "")._replace(doubtful=True) if word.tag == "nz" else None


def _terms(run: Sequence[HanWord]) -> Iterator[Occurrence]:
    while run and (run[0].tag == "ng" or len(run[0].text) < 2):
        run = run[1:]
    if not run:
        return
    if len(run) > 1 and run[-1].end - run[0].start <= 12:
        yield _joined(run, "")
    if len(run) > 2:
        yield _joined(run[-2:], "", part=True)
        yield _joined(run[:2], "", part=True)
    for word in run:
        if len(word.text) >= 3 and word.tag in {"n", "nz", "l", "j"}:
            yield _joined([word], "", part=len(run) > 1)


def _joined(words: Sequence[HanWord], kind: str, *, part: bool = False) -> Occurrence:
    form = normal_form("".join(word.text for word in words))
    return Occurrence(words[0].start, words[-1].end, form, kind, part)
