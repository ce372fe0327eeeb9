"""Decide by rules whether two entities are the same, different, or undecided.

A rule is one function in `_RULES`; it sees a `PairView` and returns a `Ruling`. The first rule that
applies decides. To merge two entities, a rule requires more than similar names: the same letters, a
text that states the alias, or documents that never mention one without the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from knotwork._indexing.resolution.name_evidence import EntityProfile, NameEvidence
from knotwork._indexing.resolution.name_shapes import (
    AMBIGUOUS_PLACES,
    HAN_GENERIC,
    HAN_LANDSCAPE,
    HAN_LANGUAGES,
    HAN_PLACE_FORMS,
    LOOSE_LEGAL_FORMS,
    PROVINCES,
    are_spellings,
    edit_distance,
    given_agree,
    is_plural,
)
from knotwork._text.languages import HAN, HAN_CHARACTER, segment
from knotwork._transform.rules.entity_names import (
    ALSO,
    BRACKET,
    HAN_ALSO,
    is_short_for,
    may_be_one_in_brackets,
)
from knotwork._transform.rules.lexicon import JOINERS
from knotwork.records import Span, Verdict


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision of a rule on a pair; without a verdict, a judge may decide.

    ``score`` is the confidence of the verdict or, without one, the estimated probability that the
    two are the same, from 0 to 1.
    """

    verdict: Verdict | None
    reason: str
    score: float


@dataclass(frozen=True)
class PairView:
    """A pair for the rules: the entity with the shorter name, the other one, and the evidence."""

    short: EntityProfile
    full: EntityProfile
    evidence: NameEvidence
    profiles: Mapping[str, EntityProfile]
    likeness: float = 0.0
    nearness: float = 0.0
    rivals: tuple[str, ...] = ()
    """Other entities that the name of ``short`` may mean."""

    @cached_property
    def chunks(self) -> tuple[str, ...]:
        """The chunks that state that one is an alias of the other."""
        pair = min(self.short.id, self.full.id), max(self.short.id, self.full.id)
        return self.evidence.aliases.get(pair, ())

    @cached_property
    def within(self) -> bool:
        """Whether every document with the short name also has the full one."""
        return self.evidence.is_within(self.short.id, self.full.id)

    @cached_property
    def introduced(self) -> bool:
        """Whether every document with both names mentions the full one first."""
        return self.evidence.is_introduced(self.short.id, self.full.id)

    @cached_property
    def together(self) -> bool:
        """Whether a document has both names."""
        return bool(self.evidence.shared_documents(self.short.id, self.full.id))


def view_pair(
    one: EntityProfile,
    other: EntityProfile,
    evidence: NameEvidence,
    profiles: Mapping[str, EntityProfile],
    *,
    likeness: float = 0.0,
    nearness: float = 0.0,
    rivals: tuple[str, ...] = (),
) -> PairView:
    """Return the view of two entities for the rules."""
    short, full = sorted((one, other), key=lambda p: (len(p.shape.squeezed), p.id))
    return PairView(short, full, evidence, profiles, likeness, nearness, rivals)


def differ(reason: str) -> Ruling:
    """Rule that two entities differ."""
    return Ruling(Verdict.DIFFERENT, reason, 1.0)


def agree(reason: str, score: float) -> Ruling:
    """Rule that two entities are the same, with this confidence."""
    return Ruling(Verdict.SAME, reason, score)


def leave_open(reason: str, score: float) -> Ruling:
    """Leave a pair to the judge, with the estimated probability that the two are the same."""
    return Ruling(None, reason, score)


_SURE_LETTERS = 5
_LONG_ACRONYM = 3
"""Initials that mean the only name with them in an index have at least so many letters."""
_PROPER_TAGS = frozenset({"nr", "nrt", "ns", "nt", "nz"})


def rule_on(pair: PairView) -> Ruling | None:
    """Return the ruling on a pair, or None if nothing suggests that the two are the same."""
    apart = rule_apart(pair.short, pair.full)
    if apart is not None:
        return apart
    for rule in _RULES:
        ruling = rule(pair)
        if ruling is not None:
            return ruling
    return None


def _by_letters(pair: PairView) -> Ruling | None:
    """Rule on names that differ only in blanks, legal forms, titles or generation."""
    one, other = pair.short.shape, pair.full.shape
    if one.squeezed != other.squeezed:
        return None
    if one.legal != other.legal:
        return _by_legal_form(pair)
    if one.generation != other.generation:
        return leave_open("the same but for junior or senior", 0.5)
    several = len(one.words) > 1 and len(other.words) > 1
    if one.titled != other.titled:
        return _by_title(pair, several=several)
    # Flo Rida is not Florida, but the capitals of FinanceAsia show where Finance Asia is split.
    cut = len(one.words) != len(other.words) and not (one.joined or other.joined)
    known = len(one.squeezed) >= _SURE_LETTERS or several or one.han
    if known and (pair.together or not cut):
        return agree("the same letters", 0.99)
    return leave_open("the same letters", 0.5)


def _by_title(pair: PairView, *, several: bool) -> Ruling:
    persons = pair.short.person is not None or pair.full.person is not None
    if pair.short.shape.han:
        persons = "PERSON" in {pair.short.entity.type, pair.full.entity.type}
    if persons and (several or pair.together):
        return agree("the same but for a title", 0.96)
    return leave_open("the same but for a title", 0.5 if pair.together else 0.3)


def _by_legal_form(pair: PairView) -> Ruling:
    one, other = pair.short.shape, pair.full.shape
    legal = {one.legal, other.legal} - {""}
    if legal <= HAN_PLACE_FORMS.keys():
        if len(legal) > 1:
            return differ("kinds of place differ")
        form = legal.pop()
        if _is_known_place(pair, form):
            return agree(f"the same but for {form}", 0.97)
        return leave_open(f"the same but for {form}", 0.5)
    if len(legal) > 1:
        return leave_open("legal forms differ", 0.4)
    form = legal.pop()
    bare = pair.short if not one.legal else pair.full
    known = _is_proper(bare) if one.han else len(one.words) > 1 or pair.together
    if known and form not in LOOSE_LEGAL_FORMS:
        return agree(f"the same but for the legal form {form}", 0.97)
    return leave_open("the same but for a legal form", 0.6)


def _is_known_place(pair: PairView, form: str) -> bool:
    """Return True if a place keeps its meaning without the form.

    山东省 and 石家庄市 do; 平原省, 大城市 and 井冈山市 do not.
    """
    core = pair.short.shape.squeezed
    if form == "省":
        return core in PROVINCES
    several = core in AMBIGUOUS_PLACES or core[-1] in HAN_LANDSCAPE or core[0] in HAN_GENERIC
    return pair.together and not several


def _is_proper(bare: EntityProfile) -> bool:
    """Return True if a Chinese name without its legal form is proper: 中国铁塔, not 互联网."""
    words = segment(bare.shape.core)
    named = len(words) > 1 and words[0].tag in _PROPER_TAGS
    return bare.entity.type == "ORGANIZATION" or named


def _by_acronym(pair: PairView) -> Ruling | None:
    """Rule on acronyms; they need a text that explains them and none that contradicts it."""
    for short, full in ((pair.short, pair.full), (pair.full, pair.short)):
        if not is_acronym_of(short, full):
            continue
        if not is_explained(pair, short, full):
            if _is_known_by_initials(pair, short, full):
                return agree("initials of a name that the same documents have before", 0.9)
            return leave_open("initials", 0.5 if pair.together else 0.25)
        others = [
            other
            for other in pair.evidence.partners.get(short.id, frozenset()) - {full.id}
            if other in pair.profiles and is_acronym_of(short, pair.profiles[other])
        ]
        if any(not _alike(pair.profiles[other], full) for other in others):
            return leave_open("initials, stated for several names", 0.5)
        if len(short.shape.acronym) > 2 or pair.evidence.is_within(short.id, full.id):
            return agree("an acronym that a text explains", 0.95)
        return leave_open("initials that a text explains", 0.6)
    return None


def _is_known_by_initials(pair: PairView, short: EntityProfile, full: EntityProfile) -> bool:
    """Return True if all documents with an acronym name one thing before it that it may mean."""
    if len(short.shape.acronym) < _LONG_ACRONYM or len(full.shape.words) < _LONG_ACRONYM:
        return False
    rivals = (pair.profiles[entity] for entity in pair.rivals)
    return (
        pair.evidence.is_within(short.id, full.id)
        and pair.evidence.is_introduced(short.id, full.id)
        and not any(is_acronym_of(short, rival) for rival in rivals)
    )


def _alike(one: EntityProfile, other: EntityProfile) -> bool:
    inside = set(one.shape.words) <= set(other.shape.words)
    around = set(other.shape.words) <= set(one.shape.words)
    return inside or around or are_spellings(one.shape, other.shape)


def _by_plural(pair: PairView) -> Ruling | None:
    one, other = pair.short.shape, pair.full.shape
    if one.acronym and one.acronym == other.acronym:
        return agree("the plural of an acronym", 0.96)
    if one.han or len(one.words) != len(other.words) or one.words[:-1] != other.words[:-1]:
        return None
    if not is_plural(one.words[-1], other.words[-1]) or pair.short.person or pair.full.person:
        return None
    if len(one.words) > 1 and one.words[0] not in JOINERS:
        return agree("the plural", 0.94)
    return leave_open("perhaps the plural", 0.5)


def _by_person(pair: PairView) -> Ruling | None:
    """Rule on two forms of a person's name, one of which omits or abbreviates given names."""
    one, other = pair.short.person, pair.full.person
    if one is None or other is None or one.surname != other.surname:
        return None
    if not given_agree(one, other):
        return leave_open("given names are alike", 0.5)
    shared = pair.evidence.shared_documents(pair.short.id, pair.full.id)
    rival = any(
        pair.evidence.documents.get(rival, frozenset()) & shared
        for rival in pair.rivals
        if _is_rival(pair, rival)
    )
    if rival or not shared:
        return leave_open("the same person by initials or given name", 0.3 if rival else 0.6)
    cut = len(one.given[0]) == 1 or len(other.given[0]) == 1
    if (cut and not pair.within) or not pair.introduced:
        return leave_open("the same person by initials or given name", 0.6)
    return agree("the same person, named in full elsewhere in the document", 0.95)


def _is_rival(pair: PairView, rival: str) -> bool:
    other, short, full = pair.profiles[rival].person, pair.short.person, pair.full.person
    if other is None or short is None or full is None:
        return False
    return given_agree(other, short) and not given_agree(other, full)


def _by_surname(pair: PairView) -> Ruling | None:
    """Rule on a surname or a first name alone, for a person whom a document also names in full."""
    person, words = pair.full.person, pair.short.shape.words
    if person is None or not pair.chunks or words not in {(person.surname,), person.given[:1]}:
        return None
    owners = [pair.profiles[i] for i in pair.evidence.partners[pair.short.id] if i in pair.profiles]
    persons = [o.person for o in owners if o.person is not None]
    if not all(o.surname == person.surname and given_agree(o, person) for o in persons):
        return None
    if pair.within and pair.introduced:
        return agree("a part of the name, always behind the full name", 0.9)
    return leave_open("a part of the name", 0.5)


def _by_statement(pair: PairView) -> Ruling | None:
    if not pair.chunks:
        return None
    if is_other_name(pair):
        if pair.short.shape.han and _has_other_full_name(pair):
            return leave_open("a text says that it is another name, and of others too", 0.5)
        return agree("a text says that it is another name", 0.93)
    words = len(pair.full.shape.words)
    return leave_open("perhaps another name", 0.4 if pair.within and words <= 3 else 0.2)


def _has_other_full_name(pair: PairView) -> bool:
    for partner in pair.evidence.partners[pair.short.id] - {pair.full.id}:
        other = pair.profiles.get(partner)
        if other is None or other.shape.squeezed == pair.full.shape.squeezed:
            continue
        beside = view_pair(pair.short, other, pair.evidence, pair.profiles)
        if beside.short is pair.short and is_other_name(beside):
            return True
    return False


def _by_spelling(pair: PairView) -> Ruling | None:
    one, other = pair.short.shape, pair.full.shape
    if sorted(one.words) == sorted(other.words):
        if (one.inverted or other.inverted) and pair.full.entity.type in {"", "PERSON"}:
            return agree("the same words, surname first", 0.95)
        if JOINERS.isdisjoint(one.words):
            return leave_open("the same words in another order", 0.5)
        return None
    if pair.likeness and are_spellings(one, other):
        return leave_open("spelt alike", 0.5 * pair.likeness)
    if pair.nearness:
        return leave_open("alike in meaning", 0.4 * pair.nearness)
    return None


_RULES: tuple[Callable[[PairView], Ruling | None], ...] = (
    _by_letters,
    _by_acronym,
    _by_plural,
    _by_person,
    _by_surname,
    _by_statement,
    _by_spelling,
)


CONFLICTS = frozenset(
    frozenset(pair)
    for pair in (
        ("PERSON", "PLACE"),
        ("PERSON", "ORGANIZATION"),
        ("PERSON", "WORK"),
        ("PERSON", "EVENT"),
        ("PERSON", "PRODUCT"),
        ("PLACE", "WORK"),
    )
)
"""Types that exclude each other."""


def rule_apart(one: EntityProfile, other: EntityProfile) -> Ruling | None:
    """Return the ruling that types or names exclude a merge, or None."""
    kinds = frozenset((one.entity.type, other.entity.type))
    if kinds in CONFLICTS:
        return differ(f"types differ: {' and '.join(sorted(kinds))}")
    generations = {one.shape.generation, other.shape.generation} - {""}
    if len(generations) > 1:
        return differ("generations differ")
    if is_acronym_of(one, other) or is_acronym_of(other, one):
        return None
    if one.shape.marks != other.shape.marks:
        odd = sorted(one.shape.marks ^ other.shape.marks)
        return differ(f"one has what the other has not: {', '.join(odd)}")
    return _rule_given_names(one, other)


def _rule_given_names(one: EntityProfile, other: EntityProfile) -> Ruling | None:
    first, second = one.person, other.person
    if first is None or second is None or first.surname != second.surname:
        return None
    if given_agree(first, second):
        return None
    alike = edit_distance(" ".join(first.given), " ".join(second.given), most=2) <= 2
    return None if alike else differ("given names differ")


def is_acronym_of(short: EntityProfile, full: EntityProfile) -> bool:
    """Return True if the short name is an acronym that matches the words of the full one."""
    if not short.shape.acronym or full.shape.acronym:
        return False
    if len(full.shape.words) == 3 and "and" in full.shape.words:  # two names, not one
        return False
    name = short.entity.name.removesuffix("s")
    return short.shape.acronym in full.shape.initials or is_short_for(name, full.entity.name)


_BETWEEN = 60
_CUT_OFF = re.compile(
    r"(?:[A-Z][\w.'’-]*|&|\b(?:of|and|for|first|second|third))[\s,-]+(?:(?:the|The)\s+)?$"
    rf"|[{HAN}]$|\w\s?[/–-]\s?$"
)
"""Text before a name that is only the end of a longer one."""


_FORMER = re.compile(r"[,(]\s*(?:formerly|previously|now)\s+\S+$")


def is_explained(pair: PairView, short: EntityProfile, full: EntityProfile) -> bool:
    """Return True if a text has one name in brackets after the other, or states the alias."""
    han = full.shape.han or short.shape.han
    cues = (BRACKET, HAN_ALSO if han else ALSO)
    return any(
        _find_statement(text, first.entity.name, second.entity.name, cues) is not None
        for text in _texts(pair)
        for first, second in ((full, short), (short, full))
    )


def is_other_name(pair: PairView) -> bool:
    """Return True if a text states that one whole name is an alias of the other."""
    han = pair.full.shape.han or pair.short.shape.han
    short, full = pair.short.entity.name, pair.full.entity.name
    if {pair.short.shape.core, pair.full.shape.core} & HAN_LANGUAGES:
        return False
    whole = han and is_short_for(short, full)
    cues = [HAN_ALSO if han else ALSO]
    # "Lisa Quenu (formerly Macquart)": a former surname is also that of others.
    if pair.full.person is not None and len(pair.short.shape.words) == 1:
        cues = [] if _is_former(pair) else cues
    if (pair.full.shape.han != pair.short.shape.han) or _is_part(pair.short, pair.full):
        cues += [BRACKET] if may_be_one_in_brackets(short, full) or not han else []
    for text in _texts(pair):
        for first, second in ((full, short), (short, full)):
            found = _find_statement(text, first, second, cues)
            if found is not None and (whole or not _is_cut_off(text, found)):
                return True
    return False


def _is_former(pair: PairView) -> bool:
    names = (pair.full.entity.name, pair.short.entity.name)
    found = [(text, _find_statement(text, *names, (ALSO,))) for text in _texts(pair)]
    return any(span and _FORMER.search(text[slice(*span)]) for text, span in found)


def _is_part(short: EntityProfile, full: EntityProfile) -> bool:
    """Return True if a name is the first words of another, as of the parties of a contract."""
    words = short.shape.words
    return full.shape.words[: len(words)] == words


def _is_cut_off(text: str, found: Span) -> bool:
    """Return True if the names of a statement are parts of longer names."""
    before = _CUT_OFF.search(text, max(0, found.start - 40), found.start)
    return before is not None or HAN_CHARACTER.match(text, found.end) is not None


def _texts(pair: PairView) -> Iterator[str]:
    return (pair.evidence.texts[c] for c in pair.chunks if c in pair.evidence.texts)


def _find_statement(
    text: str, first: str, second: str, cues: Sequence[re.Pattern[str]]
) -> Span | None:
    folded = text.lower()
    if len(folded) != len(text):  # İ has two characters in lower case
        folded = text
    first, second = first.lower(), second.lower()
    start = folded.find(first)
    while start >= 0:
        end = start + len(first)
        place = folded.find(second, end, end + _BETWEEN + len(second))
        if place >= 0 and any(cue.fullmatch(text, end, place) for cue in cues):
            return Span(start, place + len(second))
        start = folded.find(first, end)
    return None
