"""The fact that a question asks for: an event, a role, a number of things, a place, a deed.

A sentence about the right thing may state another fact of it: when somebody joined a company, not
when it was founded. A deed has two sides: who sells and who buys, who hires and who is hired. Words
are on a side by their place before or behind the verb, by its voice, and by a word such as "by"
before them. A sentence may also be about another thing than the one named: "Flight KX12 leaves at
6:40" says nothing of flight KX21, however alike the sentences are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from knotwork._questions.asked_things import Passage, is_about_another
from knotwork._questions.languages import DIMENSIONS, Amount, Words, read_words, unit_at
from knotwork._questions.reading import QuestionReading, reading_of
from knotwork._text.languages import HAN, HAN_CHARACTER, simplify
from knotwork._text.terms import content_terms, terms
from knotwork.records import Span

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
        found = [
            (match, side)
            for side, words in enumerate(self.kind.verbs)
            for match in words.form.finditer(text)
        ]
        if self.stem:
            words = re.finditer("[A-Za-z]{3,}", text)
            found += [(word, FIRST) for word in words if terms(word[0]) == [self.stem]]
        sides = set()
        for match, side in found:
            has_be = _PASSIVE.search(text[: match.start()]) is not None
            verb = _Verb(*match.span(), side, has_be and not match[0].endswith("ing"))
            sides.add(self._side(text, verb, place, is_name=is_name))
        return sides

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
            is_other = (_WITH_ZH.search(before) or "被" in between) and not _BY_ZH.search(before)
            return None if _OF_ZH.search(before) else other if is_other else verb.side
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


_HELD = read_words("asked_facts")
_ASKED = {name: Words(form["asks"]) for name, form in _HELD["events"].items()}
_STATED = {
    name: Words(f"{form['asks']}|{form['states']}") for name, form in _HELD["events"].items()
}
_ROLES = {name: Words(form) for name, form in _HELD["roles"].items()}
_MEASURES = {name: Words(form) for name, form in _HELD["measures"].items()}
_DENIAL, _BEFORE, _LACK = (Words(form) for form in _HELD["denial"].values())
_PERIODS = {
    name: Words(rf"(?:{_HELD['rates']['each']})(?:{form})|{_HELD['rates']['adverbs'][name]}")
    for name, form in _HELD["rates"]["periods"].items()
}
_RATE = Words(_HELD["rates"]["behind"])
_RATE_ZH = Words(_HELD["rates"]["before"])
_TIMES_EACH = Words(_HELD["rates"]["times"])
_HOW = re.compile(r"\bhow (?:deep|tall|high|wide|heavy)\b|\bweigh\b|多[深高宽重]", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were)\b")
_CALLED = re.compile(r"\bcalled\b|\bname of the\b|叫什么", re.IGNORECASE)
_COUNTED = re.compile(
    r"\bhow many ((?:[a-z-]+ ){0,2}?[a-z-]{3,})(?=\s*\?|\s*$|\s+(?:are|is|do|does|did|can|may|were"
    r"|was|has|have|had|in|of|on|at|must|will|should|per|there|work|live)\b)"
    rf"|(?:多少|几)[名位个艘本台辆家间所座张件只条份种项支棵头匹架栋]([{HAN}]{{1,4}}?)(?=[？?]|$)"
    r"|多少(人)(?=[？?]|$)",
    re.IGNORECASE,
)
PEOPLE = frozenset(
    terms(
        "people person persons employees staff workers members inhabitants residents population"
        " students pupils passengers visitors users crew men women players soldiers guests children"
    )
) | set("人员名位工")
"""Terms for people who are counted."""
_TIME = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|century"
    r"|spring|summer|autumn|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|ago"
    r"|yesterday|tomorrow|noon|midnight|morning|evening|night|easter|christmas|januar|februar|märz|mai|juni|juli|oktober|dezember|jahr\w*|seit|vor|nach|year|years|day|days|after|before|during|while|when|age|war)\b"
    r"|[年月日时点周岁代期]|世纪|前|后",
    re.IGNORECASE,
)
_PREPOSITION = (
    r"\b(?:in|at|on|near|from|to|into|inside|outside|behind|under|above|beside|opposite|along|off|by"
    r"|between|across|around|through|within|beneath|below|beyond|over|via|of|im|auf|bei|beim|neben|hinter"
    r"|zwischen|zum|zur|nach|aus|vom|von|vor|unter|über)"
)
_PLACE = re.compile(
    rf"{_PREPOSITION}\s+(?:(?:the|a|an|its|his|her|their|de[mnr]|die|das|eine[mnr]?) )?([\w'’-]+)",
    re.IGNORECASE,
)
_PLACE_ZH = re.compile(
    rf"[在于位到去往]\s?[{HAN}A-Z]|[{HAN}](?:[省市县区镇村路街国州岛山河人站场厂馆院校港湾海湖城洲楼室])"
)
_NO_PLACE = frozenset(terms("one two three four five six seven eight nine ten least most all any"))
_SIMPLE = re.compile(
    r"^\W*(?:in |on |at )?(?:wh(?:en|ere|o|om|at|ich)\b|how\b|w(?:ann|er|en|em|o)\b)"
    r"(?!.*\b(?:that|which|who|whose|whom|where|when|while)\b)",
    re.IGNORECASE,
)
"""Matches an English question without a subordinate clause, which could hold the event."""
_CLAUSE = re.compile(
    r"[,;:] |[，；。]|\b(?:and|but|while|otherwise|aber|und|sonst)\b|而|但", re.IGNORECASE
)
_SUPPOSED = re.compile(r"\b(?:if|unless|wenn)\b[^,?]*|(?:如果|若)[^，？]*", re.IGNORECASE)
_LONGEST_HAN = 40
_LONGEST_UNIT = 8
_TIMES = frozenset({"clock", "year", "duration"})
_OF_AGE = re.compile(r"\b(?:of|aged?|for)\s*$", re.IGNORECASE)
_THINGS = re.compile(r"[\s-]*([a-z]+s)\b", re.IGNORECASE)
_STATING, _DENYING = 2.0, 0.5
"""Factors of the worth of a sentence that states what is asked for, or something else."""


class Fit(Enum):
    """How well a sentence fits the fact that is asked for."""

    STATES = "states"
    OPEN = "open"
    OTHER = "other"


@dataclass(frozen=True)
class AskedFact:
    """What a question asks to be stated; each part is "" if it asks for nothing of the kind."""

    reading: QuestionReading
    event: str = ""
    role: str = ""
    counted: str = ""
    asks_place: bool = False
    is_simple: bool = True

    def weigh(self, sentence: str) -> float:
        """Return the factor of the worth of a sentence for the fact, and the amount, asked for."""
        fits = {self.fit_of(sentence)}
        if self.amount is not None:
            fits.add(self.fit_amount(sentence))
        return (_STATING if Fit.STATES in fits else 1.0) * (_DENYING if Fit.OTHER in fits else 1.0)

    @cached_property
    def deed(self) -> Deed | None:
        """Who does what to whom in the question; None if it is about no verb with two sides."""
        text = self.reading.simple.strip()
        if HAN_CHARACTER.search(text):
            text = text.replace("谁", _WHO)
        elif asks := _ASKS.match(text):
            text = _as_statement(asks)
        else:
            return None
        kinds = [
            kind for kind in _KINDS.values() if any(words.search(text) for words in kind.verbs)
        ]
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
        names = ((m[0], deed.sides(text, m.start(), is_name=True)) for m in _NAME.finditer(plain))
        found = ((name, sides) for name, sides in names if sides)
        named = {name: side for name, (side, *more) in found if side is not None and not more}
        asked = list(deed.sides(text, text.find(_WHO))) if _WHO in text else []
        return Deed(deed.kind, deed.stem, asked[0] if len(asked) == 1 else None, named)

    @cached_property
    def about(self) -> frozenset[str]:
        """The terms of what the question is about, without those of its verb."""
        text, deed = self.reading.simple, self.deed
        for words in (*(deed.kind.verbs if deed else ()), _STATED.get(self.event)):
            text = words.sub(text) if words else text
        return frozenset(content_terms(text)) - {deed.stem if deed else ""}

    @cached_property
    def amount(self) -> Amount | None:
        """The only amount that a question is about: "a ship of 6 metres", "a 12-year-old"."""
        if not self.reading.amounts:
            return None
        compared = () if self.reading.asks_yes_or_no else self.reading.comparisons
        asked = [
            amount
            for amount in self.reading.amounts
            if amount.number is not None
            and not amount.first
            and not any(comparison.span.contains(amount.span) for comparison in compared)
        ]
        return asked[0] if len(asked) == 1 else None

    def fit_amount(self, sentence: str) -> Fit:
        """Return whether the amount of a question meets the conditions of a sentence.

        Of several clauses, one is enough.
        """
        if self.amount is None:
            return Fit.OPEN
        fits = {_meets(self.amount, self.reading.text, clause) for clause in _clauses(sentence)}
        return next((fit for fit in (Fit.STATES, Fit.OTHER) if fit in fits), Fit.OPEN)

    def disagrees_with(self, sentence: str, words: Span) -> bool:
        """Return True if some words of a sentence are in a clause about something else.

        It denies what is asked, states it of other amounts, or of other people in the same deed; or
        the words are only a condition.
        """
        sentence, deed = simplify(sentence), self.deed
        clause = next((c for c in _clauses(sentence, words) if c), sentence)
        return (
            (deed is not None and not deed.allows(sentence, words.start))
            or is_about_another(self.reading.text, Passage(sentence))
            or (self.amount is not None and self._has_other_amount(sentence, clause, words))
            or self._denies(clause, sentence[: words.start])
        )

    def _has_other_amount(self, sentence: str, clause: str, words: Span) -> bool:
        compared = (comparison.span for comparison in QuestionReading(sentence).comparisons)
        around = (span for span in compared if span.overlaps(words))
        bounds = (sentence[span.start : span.end + _LONGEST_UNIT] for span in around)
        return Fit.OTHER in (self.fit_amount(clause), self.fit_amount(sentence)) or any(
            self.fit_amount(bound) is not Fit.OPEN for bound in bounds
        )

    def _denies(self, clause: str, before: str) -> bool:
        """Return True if either a clause or the question denies, but not both."""
        question = _SUPPOSED.sub("", self.reading.simple)
        is_asked = bool(_DENIAL.search(question) or _BEFORE.search(question))
        denied = _DENIAL.search(clause) or _BEFORE.search(_clauses(before)[-1])
        if is_asked:
            denied = denied or _BEFORE.search(clause) or _LACK.search(clause)
        return is_asked != bool(denied)

    def with_rate(self, sentence: str, words: Span, text: str) -> str:
        """Return words with the rate behind or before them: "40 crowns per month".

        "" if a rate is asked for that neither the sentence nor the ``text`` around it states.
        """
        found = sentence[words.start : words.end]
        if not any(map(str.isnumeric, found)):
            return found
        behind, before = _RATE.form.match(sentence, words.end), sentence[: words.start]
        ahead = _RATE_ZH.search(before)
        whole = f"{ahead[0] if ahead else ''}{found}{behind[0] if behind else ''}"
        asked, stated = (
            {name for name, form in _PERIODS.items() if form.search(held)}
            for held in (self.reading.simple, f"{sentence} {text}")
        )
        if not asked or any(form.search(whole) for form in _PERIODS.values()):
            return whole
        return "" if _TIMES_EACH.search(sentence) or not asked & stated else whole

    def fit_of(self, sentence: str) -> Fit:
        """Return whether a sentence states the event that is asked for, or another one."""
        sentence = simplify(sentence)
        if not self.event:
            return Fit.OPEN
        if _STATED[self.event].search(sentence):
            return Fit.STATES
        others = (words.search(sentence) for words in _ASKED.values())
        return Fit.OTHER if any(others) else Fit.OPEN

    def is_missed_by(self, sentence: str, text: str) -> bool:
        """Return True if neither a sentence nor the ``text`` around it states the fact."""
        sentence, text = simplify(sentence), simplify(text)
        known = _NO_PLACE.union(self.reading.terms)
        places = (terms(found[1])[:1] for found in _PLACE.finditer(text))
        deed = self.deed
        return (
            (deed is not None and deed.is_reversed_by(sentence))
            or self._misses_event(sentence, text)
            or (self.role != "" and _has_others(_ROLES, [self.role], text))
            or (self.is_simple and self._has_other_measure(sentence, text))
            or (self.counted != "" and not self._has_counted(text))
            or (
                self.asks_place
                and not _PLACE_ZH.search(text)
                and all(map(known.issuperset, places))
            )
        )

    def _misses_event(self, sentence: str, text: str) -> bool:
        fit = self.fit_of(sentence)
        is_past = self.is_simple and self.reading.asked_when and _PAST.search(self.reading.simple)
        if is_past and not _TIME.search(text):
            return True
        if not self.event or (fit is Fit.OPEN and _STATED[self.event].search(text)):
            return False
        is_timeless = self.reading.asked_when is not None and not _TIME.search(sentence)
        return fit is not Fit.STATES or is_timeless

    def _has_other_measure(self, sentence: str, text: str) -> bool:
        """Return True for a sentence with a length for a depth, or with a weight for a price.

        Without a unit in the sentence, the ``text`` around it counts for measures.
        """
        asked, expected = self.reading.simple, self.reading.expected
        how, wanted = _HOW.search(asked), expected.dimensions
        own = [name for name, words in _MEASURES.items() if how and words.search(how[0])]
        held = sentence if expected.has_unit(sentence) else text
        if own and _has_others(_MEASURES, own, held):
            return True
        # "How long" may ask for a length or a time.
        if not wanted or wanted & _TIMES or ("length" in wanted and not how):
            return False
        units = {
            name: held.units
            for name, held in DIMENSIONS.items()
            # "Of 20 kg" in a question is no weight instead of a price.
            if name in wanted or not (name in _TIMES or held.units.search(asked))
        }
        return _has_others(units, wanted, sentence)

    def _has_counted(self, text: str) -> bool:
        """Return True if a text speaks of people where they are counted.

        Other things have too many names: "runs" of a statement may be its "executions".
        """
        if HAN_CHARACTER.search(self.counted):
            counted, people, held = list(self.counted), frozenset(self.counted), list(text)
        else:
            counted, people, held = content_terms(self.counted)[-1:], PEOPLE, terms(text)
        return PEOPLE.isdisjoint(counted) or not people.isdisjoint(held)


def _has_others(forms: Mapping[str, Words], own: Collection[str], text: str) -> bool:
    """Return True if a text has words of some forms, but none of its ``own``."""
    stated = {name for name, words in forms.items() if words.search(text)}
    return bool(stated) and stated.isdisjoint(own)


def _clauses(sentence: str, words: Span | None = None) -> list[str]:
    """Return the clauses of a sentence, or those that contain some of its words."""
    ends = [0, *(match.end() for match in _CLAUSE.finditer(sentence)), len(sentence)]
    return [
        sentence[start:end]
        for start, end in pairwise(ends)
        if words is None or start <= words.start < end
    ]


def _meets(asked: Amount, question: str, clause: str) -> Fit:
    """Return whether an amount of a question meets all conditions of a clause on such amounts."""
    own = QuestionReading(clause)  # not one of the readings that are kept
    quantity, factor = _measure_at(question, asked.span.end)
    is_bare = not quantity and not _OF_AGE.search(question[: asked.span.start])
    met = []
    for comparison in own.comparisons:
        for held in own.amounts:
            other, other_factor = _measure_at(clause, held.span.end)
            # "Children under 12" are compared by their years.
            is_age = not is_bare and {quantity, other} <= {"", "time"} and "" in (quantity, other)
            if comparison.span.contains(held.span) and (quantity == other != "" or is_age):
                times = 1.0 if is_age else factor / other_factor
                met.append(comparison.is_met_by((asked.number or 0.0) * times))
    return Fit.OPEN if not met else Fit.STATES if all(met) else Fit.OTHER


def _measure_at(text: str, end: int) -> tuple[str, float]:
    """Return the quantity and the factor of the unit behind a number, or the things there."""
    unit, _ = unit_at(text, end)
    if unit:
        return unit.quantity, float(unit.factor)
    thing = _THINGS.match(text, end)
    return terms(thing[1])[0] if thing else "", 1.0


@lru_cache(maxsize=64)
def asked_fact(question: str) -> AskedFact:
    """Return the fact that a question asks for."""
    reading = reading_of(question)
    question = reading.simple
    is_han = HAN_CHARACTER.search(question)
    if len(question) > _LONGEST_HAN if is_han else not _SIMPLE.match(question):
        return AskedFact(reading, is_simple=False)
    is_of_event = reading.asked_when or reading.asks_where or reading.asks_who
    events = [name for name, words in _ASKED.items() if words.search(question)]
    roles = [name for name, words in _ROLES.items() if words.search(question)]
    names = reading.asks_who or _CALLED.search(question)
    counted = _COUNTED.search(question)
    return AskedFact(
        reading,
        events[0] if is_of_event and len(events) == 1 else "",
        roles[0] if names and len(roles) == 1 and not events else "",
        next((group for group in counted.groups() if group), "") if counted else "",
        asks_place=reading.asks_where,
    )
