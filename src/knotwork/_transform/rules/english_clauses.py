"""The patterns of English clauses, and the letters of English words in them.

N name, D date, B be, H have, M modal, V verb, C verb of making, Z born or died, G "starring",
g other word in -ing, l called, p preposition, i preposition of place, o "of", t to, y by, q before
or since, A as, a particle (up, out), d article, ' possessive, f noun of a relation (founder, wife),
k noun of a place (village), s technical noun, 1 "one", w other word, x other name, # number, c and,
r adverb, R who or which, | other conjunction, ! not, - dash; other signs stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from knotwork._text.languages import word_list, word_set
from knotwork._transform.rules.clauses import Grammar, Pattern, Unit
from knotwork._transform.rules.lexicon import (
    CAPITAL,
    NUMBER,
    PERSON_NOUNS,
    PLACE_ENDS,
    PLACE_HEADS,
    POSSESSIVE,
    SIGN,
    VERBS_OF_BEING,
    WORD,
    WORK_NOUNS,
    EnglishSentence,
    Occurrence,
    Token,
    place_names,
    type_of_noun,
)

_BEING = frozenset({"is", "are", "was", "were", "been", "be"})
_HAVING = frozenset({"has", "have", "had"})
_MODALS = frozenset({"can", "may", "must"})
_ADVERBS = word_set("en", "adverbs")
_NOT_ADVERBS = word_set("en", "not_adverbs")
_RELATION_NOUNS = word_set("en", "nouns_of_relations")
_SORTS = word_set("en", "technical_nouns")
_MAKING = word_set("en", "verbs_of_making")
_SAYING = word_set("en", "verbs_of_saying")
_DATED = frozenset({"in", "on", "since", "from", "until", "born", "died"})
_THE = (["the"], ["this"])
_PRONOUNS = {"he": True, "she": True, "it": False}
_OWNERS = {"his": True, "her": True, "its": False}

_NW = "[wfkslVCZGx1#]"
_W = "[wfkslVCZGx1]"
_L = r"N(?:(?:,c?|c)d?N(?![rBHMVCZwfkx#']))*s?(?![wfkx#'BHM])"
_O = rf"(?P<o>D|{_L})"
_SORT = rf"d?(?:{_W}{{1,3}}|{_W}(?:,{_W}{{1,2}})*c{_W}{{1,2}})?"
"""Words before a name that say what it is: "the composer", "songwriter and producer"."""
_PP = rf"(?P<p>[pioAyq]|t(?=d?(?:[wN]?ko)?d?[ND]))(?:d?[wN]?ko)?{_SORT}{_O}"
_AUX = "(?:Hr*B|B|H)?r*"
_NOUN = "d[ND#x']*(?P<n>[wfkslVCZGx1g]{0,3}[wfks])"
_ANY = "[wfkslVCZGx1#ND'og-]{1,12}?"
_OF = f"(?:Br*d{_ANY},?R)?"
_V = "(?P<v>[VCZ]a?)"
_REST = f"(?:{_AUX}[VCB])?[wfkslgx1#NDdopityq'ra]{{0,16}}?"
"""What a clause may have left before a verb that is joined to it."""
_TAIL = rf"(?P<p>[piyq]|t(?=d?[ND]))(?:d?[wN]?ko)?{_SORT}{_O}"
_DATE = "(?P<p>[piq])(?P<o>D)"
_LIFE = r"\([^()]{0,3}?"


def _stored(one: Unit, label: str, other: Unit) -> str:  # noqa: PLR0911
    """Return the relation as it is stored, "" if its names or words rule it out."""
    words = label.split()
    if one.type in {"DATE", "NUMBER"} or other.type == "NUMBER" or words[0] in _SAYING:
        return ""
    if other.type == "DATE":
        if label == "year":
            return label if one.type != "PERSON" else ""
        if label in {"born", "died"}:
            sure = one.type == "PERSON" or (not one.type and not other.form.isdigit())
            return label if sure and not one.words.isupper() else ""
        return label if words[-1] in _DATED and words[-1] not in {"born", "died"} else ""
    if label in {"born", "died", "year"}:
        return ""
    if one.type == "PLACE" and type_of_noun(words[-2] if len(words) > 1 else "") == "PERSON":
        return ""
    if label in {"located in", "in"}:
        return "located in" if _is_placed(one, label, other) else ""
    return label


def _is_placed(one: Unit, label: str, other: Unit) -> bool:
    known = place_names()
    if one.form in known:
        return False
    if label == "in":  # "the University of Colorado in Boulder", but not "Anna Smith in Boulder"
        return " " in one.form and one.type in {"PLACE", "ORGANIZATION"} and other.type == "PLACE"
    return other.form in known and one.type in {"PLACE", ""}


ENGLISH = Grammar(
    fronted=re.compile(r"(?:^|;)i(?P<o>D),?d?[wfkxl]{0,4}$"),
    starts=re.compile(r"(?:^|[;:(|qR.]|^[piq]D|(?<!^N)(?<!^x),|[^N]c)d?[wfkxlgs#]{0,5}$"),
    subjects=re.compile(r"N(?:(?:,c?|c)d?N)*s?(?![wfkx#'])|N"),
    skipped=re.compile(r"(?:,?r*wAN(?:cN)?)?(?:\([^()]*\))?(?:,[^,;|]{1,40},)?(?:,?R)?"),
    joined=re.compile(rf"{_REST},?c(?=r*(?:B?r*[VCZ]|G))|,?c(?=d?w?f|r*[BH])|,(?=r*[VCZG])"),
    predicates=(
        Pattern(rf"{_OF}H?r*(?P<v>C)r*{_SORT}(?P<o>{_L})", "{v}", tail=_TAIL, tail_of_object=True),
        Pattern(rf"{_OF}H?r*{_V}r*{_SORT}(?P<o>{_L})", "{v}"),
        Pattern(rf"{_OF}(?P<b>B)r*{_V}d?(?P<o>{_L})", "{b} {v}", tail=_DATE),
        Pattern(rf"{_OF}{_AUX}{_V}r*(?P<o>D)", "{v}", tail=_TAIL),
        Pattern(rf"{_OF}{_AUX}{_V}(?:c[VCZ])?r*#?{_PP}", "{v} {p}", tail=_TAIL),
        Pattern(rf"{_OF}(?P<m>M)r*Br*{_V}r*{_PP}", "{m} be {v} {p}", tail=_TAIL),
        Pattern(
            rf"{_OF}{_AUX}(?P<v>[VCZ]a?|H)(?P<n>(?:Ad?)?{_NW}{{1,4}}|d{_NW}{{1,4}}){_PP}",
            "{v} {n} {p}",
        ),
        Pattern(rf"{_OF}{_AUX}{_V}[pi]d?{_W}{{1,3}}{_TAIL}", "{v} {p}"),
        Pattern(rf"(?:Br*)?(?P<n>1od{_W}{{1,3}}){_PP}", "{n} {p}"),
        Pattern(rf"{_OF}Br*{_NOUN}{_PP}", "{n} {p}", tail=_TAIL),
        Pattern(rf"Br*d{_ANY}{_V}(?:c[VCZ])?{_PP}", "{v} {p}", tail=_TAIL),
        Pattern(rf"Br*d?(?P<o>N)'{_W}{{0,1}}?(?P<n>w?f)(?![wfkxN#'])", "{n} of"),
        Pattern(rf"(?P<b>B)r*d?(?P<o>{_L})", "{b}", tail=_DATE),
        Pattern(rf"(?P<v>H)r*{_SORT}(?P<o>{_L})", "{v}"),
        Pattern(rf"Br*d{_ANY}(?P<v>G)(?P<o>{_L})", "{v}"),
        Pattern(rf"(?P<v>G){_SORT}(?P<o>{_L})", "{v}"),
        Pattern(rf"(?:B[rw]*A?)?d?(?P<n>w?f){_PP}", "{n} {p}"),
    ),
    after_names=(
        Pattern(rf"(?<![ik]N),d(?P<n>{_W}{{0,3}}[wfk]){_PP}", "{n} {p}"),
        Pattern(rf"(?<![ik]N)[,(](?P<n>w?f){_PP}", "{n} {p}"),
        Pattern(r"i(?P<o>N)(?![wfkx#'])", "in"),
        Pattern(rf",R(?P<b>B)r*d?(?P<o>{_L})", "{b}"),
        Pattern(rf",R{_AUX}{_V}{_PP}", "{v} {p}"),
        Pattern(rf",RH?r*{_V}{_SORT}(?P<o>{_L})", "{v}"),
        Pattern(rf"(?:\([^()]*\))?,r*{_V}{_PP}", "{v} {p}", tail=_TAIL),
        Pattern(rf"r*(?P<v>[VC])(?P<p>y){_SORT}{_O}", "{v} {p}"),
        Pattern(rf"\((?P<v>Z)#?{_PP}", "{v} {p}", tail=_TAIL),
        Pattern(rf"\({_V}(?P<o>D)", "{v}", tail=_TAIL),
        Pattern(r"\((?P<o>D)\)", "year"),
        Pattern(rf"'[#D]?{_W}{{0,1}}?(?P<n>w?f),?(?P<o>{_L})", "{n} of", reverse=True),
        Pattern(rf"'(?P<n>{_W}{{1,3}})B{_SORT}(?P<o>{_L})", "{n} of", reverse=True),
        Pattern(r"(?P<n>(?:f[c-])?f)(?P<o>N)(?![wfkx#'])", "{n} of", reverse=True),
        Pattern(rf"{_LIFE}(?P<o>D)[^()]{{0,4}}-", "born"),
        Pattern(rf"{_LIFE}D[^()]{{0,4}}-[^()D]{{0,2}}(?P<o>D)", "died"),
        Pattern(rf"{_LIFE}D,(?P<o>N)[^()]{{0,4}}-", "born in"),
        Pattern(rf"{_LIFE}D[^()]{{0,4}}-D,(?P<o>N)", "died in"),
        Pattern(r"(?<=[piotk(,]N),(?P<o>N)(?![wfkx#'VCBHM])", "located in"),
    ),
    allows=_stored,
)


def english_units(  # noqa: C901  a case for each kind of word
    sentence: EnglishSentence,
    names: Sequence[Occurrence],
    subject: Occurrence | None,
    kinds: Collection[str] = (),
) -> list[Unit]:
    """Return the letters of a sentence. A pronoun that opens it, and its "his", name ``subject``;
    so does "the" with one of ``kinds``, the nouns that say what it is.
    """
    units: list[Unit] = []
    tokens, left = sentence.tokens, list(reversed(names))
    was_named = False
    opens_by_verb = _opens_by_verb(sentence, names)
    for number, token in enumerate(tokens):
        if left and token.start >= left[-1].end:
            left.pop()
        if left and left[-1].start <= token.start:
            if number and tokens[number - 1].start >= left[-1].start:
                continue
            name = left[-1]
            is_date = name.type == "DATE"
            was_named = was_named or not (is_date or opens_by_verb or name.type == "NATIONALITY")
            surface = sentence.text[name.start : name.end]
            tag = "D" if is_date else "w" if name.type == "NATIONALITY" else "N"
            units.append(Unit("w", "") if tag == "w" else Unit(tag, surface, name.form, name.type))
            continue
        tag, words = _read_word(token)
        if subject is not None and not was_named:
            if token.lower in _PRONOUNS and _may_be(subject, is_person=_PRONOUNS[token.lower]):
                units.append(Unit("N", "", subject.form, subject.type))
                was_named = True
                continue
            if token.lower in _OWNERS and _may_be(subject, is_person=_OWNERS[token.lower]):
                units.append(Unit("N", "", subject.form, subject.type))
                tag = "'"
            if words in kinds and [unit.words for unit in units] in _THE and tag in "wfks":
                units[:] = [Unit("N", "", subject.form, subject.type)]
                was_named = True
                continue
        if tag in "VC" and units and units[-1].tag in "Hr" and "H" in {u.tag for u in units[-3:]}:
            words = _verbs().past_of.get(words, words)  # "has run" becomes "ran"
        if tag:
            units.append(Unit(tag, words))
    return _with_subject_first(units) if opens_by_verb else units


def _opens_by_verb(sentence: EnglishSentence, names: Sequence[Occurrence]) -> bool:
    if not sentence.tokens or any(name.start <= sentence.tokens[0].start for name in names[:1]):
        return False
    first = sentence.tokens[0].lower
    return first in _verbs().past_of or (first.endswith("ed") and first not in _NOT_ADVERBS)


def _with_subject_first(units: list[Unit]) -> list[Unit]:
    """Move the subject of "Born in Vienna, Anna Smith …" before the participle."""
    units[0] = Unit("V", units[0].words)
    found = re.match(r"[^;|RBH,]*,d?[wfksx]{0,3}(?=N)", "".join(unit.tag for unit in units))
    if found is None:
        return units
    comma, name = Unit(",", ","), units[found.end()]
    return [name, comma, *units[: found.end()], comma, *units[found.end() + 1 :]]


def _may_be(subject: Occurrence, *, is_person: bool) -> bool:
    if not subject.type:
        return not is_person or " " in subject.form
    return (subject.type == "PERSON") is is_person


def is_predicate(word: str) -> bool:
    """Return True if a word may follow the subject of a sentence: a verb or an adverb."""
    return _letters().get(word, "") in {*"BHMVCZr"} or word in VERBS_OF_BEING


def _read_word(token: Token) -> tuple[str, str]:  # noqa: C901, PLR0911  a case for each kind
    word = token.lower
    if token.kind == SIGN:
        if word in '"“”‘’«»`*_':
            return "", ""
        return ("-" if word in "-–—" else word if word in ",;:().|!" else "|"), word
    if token.kind == POSSESSIVE:
        return "'", word
    if token.kind == NUMBER:
        return "#", word
    if token.kind not in {WORD, CAPITAL}:
        return "x", word
    letter = _letters().get(word, "")
    if token.kind == CAPITAL and letter not in {*"pityqdocBHr"}:
        return "x", word
    if not letter:
        if word.endswith("ed") and len(word) > 4:
            letter = "V"
        elif word.endswith("ing") and len(word) > 5 and word not in _NOT_ADVERBS:
            letter = "g"
        elif word.endswith("ly"):
            letter = "r"
        elif word.endswith("s") and word[:-1] in _RELATION_NOUNS:
            return "f", word[:-1]
    return letter or "w", word


@cache
def _letters() -> dict[str, str]:
    """Return the letter of each word that has one of its own."""
    verbs = _verbs()
    letters = dict.fromkeys((*verbs.active, *verbs.past_of), "V")
    letters.update(dict.fromkeys(_MAKING, "C"))
    letters.update(dict.fromkeys(("starring", "featuring"), "G"))
    letters.update(dict.fromkeys(PLACE_ENDS | PLACE_HEADS | word_set("en", "place_nouns"), "k"))
    letters.update(dict.fromkeys(_RELATION_NOUNS | PERSON_NOUNS | WORK_NOUNS, "f"))
    letters.update(dict.fromkeys(word_set("en", "prepositions"), "p"))
    letters.update(
        dict.fromkeys((_SORTS | word_set("en", "nouns_behind_names")) - letters.keys(), "s")
    )
    letters.update(dict.fromkeys(("before", "after", "since", "until"), "q"))
    letters.update(dict.fromkeys(("in", "at", "near"), "i"))
    letters.update(dict.fromkeys(("up", "out", "back", "off", "down", "away", "together"), "a"))
    letters.update(dict.fromkeys(word_set("en", "conjunctions"), "|"))
    letters.update(dict.fromkeys(_ADVERBS, "r"))
    letters.update(dict.fromkeys(_NOT_ADVERBS, "w"))
    letters.update(dict.fromkeys(_BEING, "B"))
    letters.update(dict.fromkeys(_HAVING, "H"))
    letters.update(dict.fromkeys(_MODALS, "M"))
    letters.update(dict.fromkeys(("a", "an", "the", "its", "his", "her", "their"), "d"))
    letters.update(dict.fromkeys(("and", "or", "&", "both", "but"), "c"))
    letters.update(dict.fromkeys(("who", "which", "that"), "R"))
    letters.update(dict.fromkeys(("not", "no", "never", "nor", "neither", "without"), "!"))
    letters.update(dict.fromkeys(("named", "called", "titled", "entitled", "dubbed"), "l"))
    letters.update(
        {"of": "o", "as": "A", "to": "t", "by": "y", "one": "1", "born": "Z", "died": "Z"}
    )
    return letters


class _Verbs(NamedTuple):
    """Forms of verbs; ``past_of`` maps participles to past tenses, such as "run" to "ran"."""

    active: frozenset[str]
    past_of: dict[str, str]


@cache
def _verbs() -> _Verbs:
    active: set[str] = set()
    past_of: dict[str, str] = {}
    for line in word_list("en", "verbs_of_relations"):
        base, *irregular = line.split()
        past, participle = irregular or (_past(base), _past(base))
        active |= {past, _third_person(base)}
        past_of.setdefault(participle, past)
    return _Verbs(frozenset(active), past_of)


def _third_person(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "z")):
        return f"{base}es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    doubled = base in {"star", "transfer", "refer", "program", "transmit"}
    return f"{base}{base[-1] if doubled else ''}ed"
