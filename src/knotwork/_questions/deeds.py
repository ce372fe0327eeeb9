"""Who does what to whom, in a question and in a sentence.

A deed has two sides: who sells and who buys, who hires and who is hired. Words are on a side by
their place before or behind the verb, by its voice, and by a word such as "by" before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from knotwork._questions.languages import Words, read_words
from knotwork._text.chinese import HAN, HAN_CHARACTER, simplify
from knotwork._text.terms import terms

FIRST, SECOND, THING = 0, 1, 2
_NONE = Words("(?!)")


class _Kind(NamedTuple):
    """The verbs of a kind of deed by the side of their subject; ``to`` is the side behind "to"."""

    verbs: tuple[Words, Words] = (_NONE, _NONE)
    to: int = SECOND
    is_of_things: bool = False


_KINDS = {
    name: _Kind(
        (Words(held["first"]), Words(held.get("second", "(?!)"))),
        FIRST if held.get("to") == "first" else SECOND,
        held.get("of_things", False),
    )
    for name, held in read_words("deeds").items()
}
_MUTUAL = _KINDS.pop("mutual").verbs[FIRST]
_WHO = "¤"
"""Stands for who is asked for, where a statement would name them."""
_ASKS = re.compile(
    r"^\W*(?:(?P<mark>by|to|from) )?"
    r"(?:(?P<who>whom?)|(?:since )?when|where|why|(?:how|what|which)\b.*?)"
    r" (?:(?P<did>did|does|do) |(?P<be>is|are|was|were) |(?:has|have|had) )?(?P<rest>.+?)"
    r"(?P<end> (?:by|to|from))?\W*$",
    re.IGNORECASE,
)
_AUX = r"(?:(?:is|are|was|were|has|had|have|been|also|first|once|\w+ly) )*([a-z]{3,})\b"
_OF = re.compile(
    rf"^{_WHO} (?:is|are|was|were) (?:the|an?) (?P<noun>[a-z -]+) of\b"
    rf"|的(?P<zh>[{HAN}]{{1,4}})是{_WHO}"
)
"""Asks who is the mother of somebody."""
_BEHIND_WHO = re.compile(rf"^{_WHO} {_AUX}")
_BEHIND_NAME = re.compile(rf"(?:\b[A-Z][\w’'-]*\s)+{_AUX}")
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)(?: \w+)? $", re.IGNORECASE)
_MARK = re.compile(r"\b(by|to|from) (?!.*\b(?:by|to|from|in|on|at|for|of|with|as) )", re.IGNORECASE)
_BREAK = re.compile(
    r"[.;:；。]|\b(?:and|but|while|because|who|whom|whose|which|that)\b", re.IGNORECASE
)
_NAME = re.compile(rf"\b[A-Z][\w’'-]+(?: (?:(?:de|van|von|la) )?[A-Z][\w’'-]+)*|[{HAN}]{{2,4}}")
_NO_NAME_ZH = re.compile(
    r"[谁把被给从向跟由让将了是在吗呢过]|什么|多少钱?|[哪那][里年个]|何时|时候"
)
_BY_ZH, _WITH_ZH, _OF_ZH = (re.compile(form) for form in ("[被由让]$", "[从向跟找问]$", "[把将]$"))


class _Verb(NamedTuple):
    start: int
    end: int
    side: int
    is_passive: bool


@dataclass(frozen=True)
class Deed:
    """What a question asks about; ``asked`` is the side of "who", None if it asks for no one.

    ``named`` are the sides of the names of the question. ``stem`` is that of a verb of no kind.
    """

    kind: _Kind
    stem: str
    asked: int | None = None
    named: Mapping[str, int] = field(default_factory=dict)

    def allows(self, sentence: str, place: int) -> bool:
        """Return False if the words at a place of a sentence are on the other side."""
        sides = self.sides(simplify(sentence), place)
        return self.asked is None or not sides or not sides.isdisjoint({None, self.asked})

    def is_reversed_by(self, sentence: str) -> bool:
        """Return True if a sentence has the names of the question on their other sides only."""
        sentence, found = simplify(sentence), list[bool]()
        for name, side in self.named.items():
            places = (match.start() for match in re.finditer(re.escape(name), sentence))
            sides = {held for place in places for held in self.sides(sentence, place)}
            fitting = {None, FIRST if side == THING else side}  # who is bought may be who sells
            found += [sides.isdisjoint(fitting)] if sides else []
        return all(found) and len(found) > (self.asked is None)

    def sides(self, text: str, place: int, *, is_name: bool = False) -> set[int | None]:
        """Return the sides of the words at a place for each verb; None if it is unclear."""
        return {self._side(text, verb, place, is_name=is_name) for verb in self._verbs(text)}

    def _verbs(self, text: str) -> Iterator[_Verb]:
        found = [
            (match, side)
            for side, words in enumerate(self.kind.verbs)
            for match in words.form.finditer(text)
        ]
        if self.stem:
            words = re.finditer("[A-Za-z]{3,}", text)
            found += [(word, FIRST) for word in words if terms(word[0]) == [self.stem]]
        for match, side in found:
            has_be = _PASSIVE.search(text[: match.start()]) is not None
            yield _Verb(*match.span(), side, has_be and not match[0].endswith("ing"))

    def _side(self, text: str, verb: _Verb, place: int, *, is_name: bool) -> int | None:
        before, other = text[:place], 1 - verb.side
        is_ahead = place < verb.start
        between = text[place : verb.start] if is_ahead else text[verb.end : place]
        is_object = is_name and self.kind.is_of_things  # which may be what is sold
        is_bought = verb.side == SECOND and between.strip() in ("", "the")
        thing = THING if is_bought else None
        if HAN_CHARACTER.match(text, verb.start):
            if not is_ahead:
                return thing if is_object and "给" not in between else other
            return _side_ahead(before, between, verb.side)
        if _BREAK.search(between):
            return None
        mark = _MARK.search(before if is_ahead else between)
        if mark and not (is_ahead and before[mark.end() :].strip()):
            to = self.kind.to
            return {"by": verb.side, "to": to, "from": 1 - to}[mark[1].lower()]
        if is_ahead:
            is_sold = verb.is_passive and self.kind.is_of_things
            return None if is_sold else other if verb.is_passive else verb.side
        return None if verb.is_passive else thing if is_object else other


def _side_ahead(before: str, between: str, side: int) -> int | None:
    """Return the side of words ahead of a Chinese verb."""
    if _OF_ZH.search(before):
        return None
    is_other = _WITH_ZH.search(before) or "被" in between
    return 1 - side if is_other and not _BY_ZH.search(before) else side


@lru_cache(maxsize=64)
def read_deed(question: str) -> Deed | None:
    """Return the deed that a question asks about, None if it is about no verb with two sides."""
    text = simplify(question).strip()
    if HAN_CHARACTER.search(text):
        text = text.replace("谁", _WHO)
    elif asks := _ASKS.match(text):
        text = _as_statement(asks)
    else:
        return None
    kinds = [kind for kind in _KINDS.values() if any(words.search(text) for words in kind.verbs)]
    if kinds:
        deed = Deed(kinds[0], "")
    elif of := _OF.search(text):
        of_noun = rf"\b(?:is|are|was|were|became) (?:the|an?) (?:\w+ )?{of['noun']} of\b"
        if of["zh"]:
            of_noun = rf"是(?=.*的{of['zh']})"
            text = f"{_WHO}是{text[: of.start()]}的{of['zh']}"
        deed = Deed(_Kind((Words(of_noun), _NONE)), "")
    else:
        verb = _BEHIND_WHO.match(text) or _BEHIND_NAME.search(text)
        if verb is None or _MUTUAL.search(verb[1]):
            return None
        deed = Deed(_Kind(), next(iter(terms(verb[1])), ""))
    plain = text
    for form in (_NO_NAME_ZH, *(words.form for words in deed.kind.verbs)):
        plain = form.sub(lambda match: " " * len(match[0]), plain)
    found = ((m[0], deed.sides(text, m.start(), is_name=True)) for m in _NAME.finditer(plain))
    named = {name: side for name, sides in found if (side := _only(sides)) is not None}
    asked = deed.sides(text, text.find(_WHO)) if _WHO in text else set()
    return Deed(deed.kind, deed.stem, _only(asked), named)


def _only(sides: set[int | None]) -> int | None:
    return next(iter(sides)) if len(sides) == 1 else None


def _as_statement(asks: re.Match[str]) -> str:
    """Return "Ann sell the mill to ¤" for "Who did Ann sell the mill to?"."""
    rest, mark = asks["rest"], asks["mark"] or (asks["end"] or "").strip()
    who = _WHO if asks["who"] else ""
    if asks["did"] or (mark and who):
        if asks["be"]:
            *subject, verb = rest.split(" ")
            rest = f"{' '.join(subject)} {asks['be']} {verb}"
        return f"{rest} {mark} {who}" if mark else f"{rest} {who}"
    return f"{who} {asks['be']} {rest}" if asks["be"] and who else f"{who} {rest}"
