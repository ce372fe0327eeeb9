"""The patterns of Chinese clauses, and the letters of Chinese words in them.

N name, D date, B 是, V verb, C verb of beginning (成立), b 由 or 被, i 于 or 在, p other
preposition, c and, d 的, u 了, a adverb, t time, f noun of a relation (妻子, 董事长), m number,
w noun, ! not, x other; ( ) and , stand for themselves, - for a dash, ; for any other sign.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from knotwork._text.languages import word_list, word_set
from knotwork._transform.rules.chinese_sentences import PERSON_TITLES, HanSentence
from knotwork._transform.rules.clauses import Grammar, Pattern, Unit
from knotwork._transform.rules.lexicon import Occurrence

_V = "(?P<v>[VC])"
_O = "(?P<o>N(?:cN)*)"
_END = "(?=[,;()cu-]|$)"
_WHEN = "(?:[at]|i?D)*"
_LIFE = r"\([^()]{0,3}?"


def _stored(one: Unit, label: str, other: Unit) -> str:
    """Return the relation as it is stored, "" if its names or words rule it out."""
    if one.type in {"DATE", "NUMBER"} or other.type == "NUMBER":
        return ""
    if label[0] == "与" and label[2:] not in _between_two():
        return ""
    if (other.type == "DATE") is not (label[-1] in "于自至" and other.tag == "D"):
        return label if other.type != "DATE" else ""
    if (
        label[0] != "是"
        and label.endswith(_titles())
        and (one.type != "PERSON" or other.type == "PERSON")
    ):
        return ""
    return label


_COURTESY = frozenset(["先生", "女士", "小姐", "老师", "同志", "夫人"])


@cache
def _titles() -> tuple[str, ...]:
    return (*sorted(PERSON_TITLES - _COURTESY), *word_list("zh", "posts"))


_SIGNS = {
    **dict.fromkeys("，,", ","),
    **dict.fromkeys("（(", "("),
    **dict.fromkeys("）)", ")"),
    **dict.fromkeys("—–-－~～", "-"),
    **dict.fromkeys("《》〈〉“”「」『』\"'‘’ \u3000*_", ""),
    "、": "c",
}
_OF_TAG = {"d": "a", "t": "t", "m": "m", "q": "m", "p": "p", "uj": "d", "ul": "u", "ug": "u"}


@cache
def _between_two() -> frozenset[str]:
    return word_set("zh", "verbs_between_two")


CHINESE = Grammar(
    fronted=re.compile(r"(?!)(?P<o>)"),
    starts=re.compile(r"(?:^|[,;(])(?:[atcx]|i?D|iw{1,2})*$"),
    subjects=re.compile(r"N(?:cN)*"),
    skipped=re.compile(rf"(?:\([^()]*\))?{_WHEN},?{_WHEN}"),
    joined=re.compile(rf"[,c]{{1,2}}(?={_WHEN}(?:u?[VCbiB]))"),
    predicates=(
        Pattern(rf"(?:B|a)*(?P<b>b)(?P<o>N)w?(?:i?D|iN|[au])*{_V}", "{b}…{v}"),
        Pattern(rf"B(?P<o>N)d(?P<n>w{{0,2}}?[wf]){_END}", "是…的{n}"),
        Pattern(rf"B(?P<o>N)(?P<n>w?f){_END}", "是…的{n}"),
        Pattern(r"(?P<b>B)(?P<o>N)(?=[,;)]|$)", "{b}"),
        Pattern(r"(?P<v>C)i?(?P<o>D)", "{v}于"),
        Pattern(r"(?P<v>V)(?P<o>D)", "{v}"),
        Pattern(r"i(?P<o>N)w?(?P<v>C)", "{v}于"),
        Pattern(rf"{_V}u?[mw]{{0,3}}?{_O}{_END}", "{v}"),
        Pattern(rf"{_V}i{_O}", "{v}于"),
    ),
    after_names=(
        Pattern(r"(?P<n>w{0,3}f(?:c?f)*)(?P<o>N)", "{n}", reverse=True),
        Pattern(rf"d(?P<n>w{{0,2}}?f)B?(?P<o>N){_END}", "是…的{n}", reverse=True),
        Pattern(rf"(?P<n>f)B(?P<o>N){_END}", "是…的{n}", reverse=True),
        Pattern(rf"[cp](?P<o>N)a?(?P<v>V){_END}", "与…{v}"),
        Pattern(rf"(?:{_LIFE}(?P<o>D)[^()]{{0,4}}-)", "出生于"),
        Pattern(rf"(?:{_LIFE}D[^()]{{0,4}}-[^()D]{{0,2}}(?P<o>D))", "逝世于"),
    ),
    allows=_stored,
    joiner="",
)


@cache
def _letters() -> dict[str, str]:
    letters = dict.fromkeys(word_list("zh", "verbs_of_relations"), "V")
    letters.update(dict.fromkeys(word_set("zh", "verbs_of_beginning"), "C"))
    letters.update(dict.fromkeys((*_titles(), *word_list("zh", "nouns_of_relations")), "f"))
    for words, letter in (
        ("是 系 即 为 成为", "B"),
        ("由 被", "b"),
        ("于 在", "i"),
        ("和 与 及 以及 或 跟 暨", "c"),
        ("的 之", "d"),
        ("了 过 着 所", "u"),
        ("不 没 没有 未 无 并非 非", "!"),
    ):
        letters.update(dict.fromkeys(words.split(), letter))
    return letters


_THIS = frozenset({"该", "本"})


@cache
def _beginnings() -> frozenset[str]:
    """Return what longer words with a letter of their own begin with."""
    return frozenset(word[:end] for word in _letters() for end in range(1, len(word)))


_PRONOUNS = {"他": True, "她": True, "它": False, "其": None}


def chinese_units(  # noqa: C901, PLR0912  a case for each kind of word
    sentence: HanSentence, names: Sequence[Occurrence], subject: Occurrence | None
) -> list[Unit]:
    """Return the letters of a sentence. ``subject`` is meant by a pronoun that opens it, or by
    nothing at all before its verb.
    """
    units: list[Unit] = []
    left = list(reversed(names))
    letters = _letters()
    words = sentence.words
    done = 0
    for number, word in enumerate(words):
        while left and word.start >= left[-1].end:
            left.pop()
        if left and word.end > left[-1].start:
            name = left.pop()
            if word.start < name.start:  # 由 of a word that goes into a name
                before = sentence.simplified[max(word.start, done) : name.start]
                units += [Unit(letters[before], before)] if before in letters else []
            tag = "D" if name.type == "DATE" else "N"
            units.append(Unit(tag, sentence.text[name.start : name.end], name.form, name.type))
            done = name.end
            behind = sentence.simplified[name.end : word.end]
            units += [Unit(letters[behind], behind)] if behind in letters else []
            done = max(done, word.end)
        if word.start < done:
            continue
        text = word.simplified
        if subject is not None and text in _THIS and number + 1 < len(words):
            units.append(Unit("N", "", subject.form, subject.type))
            done = words[number + 1].end
            continue
        if subject is not None and text in _PRONOUNS and not any(u.tag == "N" for u in units):
            is_person = _PRONOUNS[text]
            if is_person is None or is_person is (subject.type == "PERSON"):
                units.append(Unit("N", text, subject.form, subject.type))
                if is_person is None:
                    units.append(Unit("d", "的"))
                continue
        known, joined = text if text in letters else "", text
        for following in words[number + 1 : number + 3]:
            if joined not in _beginnings():
                break
            joined += following.simplified
            known = joined if joined in letters else known
        if known:
            units.append(Unit(letters[known], known))
            done = word.start + len(known)
        elif tag := _letter(text, word.tag):
            units.append(Unit(tag, text))
    opening = "".join(unit.tag for unit in units)
    if subject is not None and re.match(rf"{_WHEN}(?:b|C|V[iuN])", opening):
        units.insert(0, Unit("N", "", subject.form, subject.type))
    return units


def _letter(text: str, tag: str) -> str:
    if not text[0].isalnum():
        return _SIGNS.get(text[0], ";")
    if tag in _OF_TAG:
        return _OF_TAG[tag]
    if tag == "v" and len(text) > 1 and text not in _vague():
        return "V"
    return "w" if tag[0] in "njlbsf" or tag in {"vn", "an"} else "x"


@cache
def _vague() -> frozenset[str]:
    return word_set("zh", "vague_verbs")
