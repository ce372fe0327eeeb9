"""Decide which names are entities, which are keywords, and which are aliases.

A capital marks a name only in the middle of a sentence; at the start of a sentence, in a heading,
in a table cell and in program output it means little. A name found only there is a keyword.
Aliases come from brackets, "also known as", initials and surnames.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from knotwork._text.languages import HAN, segment, word_set
from knotwork._text.names import STOP_NAMES
from knotwork._transform.rules.chinese_sentences import COMMON_NOUNS, is_chinese
from knotwork._transform.rules.english_clauses import is_predicate
from knotwork._transform.rules.english_names import YEAR, NameEvidence, opens
from knotwork._transform.rules.lexicon import (
    ADDRESS,
    CALENDAR,
    GENERIC_HEADS,
    HONORIFICS,
    JOINERS,
    PARTICLES,
    PRONOUNS,
    SIGN,
    STARTERS,
    WORD,
    EnglishSentence,
    Occurrence,
    common_words,
    given_names,
    is_command,
    looks_technical,
    name_type,
)
from knotwork.records import BlockKind, Chunk, Document, Span

_NAME_WORDS = re.compile(r"[^\W_][\w.'’-]*")
_NUMBERED_NAME = re.compile(
    r"(?:table|figure|fig\.?|example|section|chapter|appendix|part|step|listing|note|page|line|item)\b"
    r"\W*(?:\d|[ivxlc]+$|[a-z]$)",
    re.IGNORECASE,
)
_OWNED_ACRONYM = re.compile(r"['’]s [A-Z]+$")
_OWNED_PERSON = re.compile(
    rf".+?(?P<joined>['’]s )(?:{'|'.join(map(re.escape, HONORIFICS))})\b", re.IGNORECASE
)
_YEAR_AND_NAME = re.compile(r"\d{4} [A-Z][a-z]+ [A-Z][a-z]+")
_QUANTITY = re.compile(
    r"\d[\d.,]*[\s-]?(?:[KMGTP]i?[Bb]|[A-Za-z]{1,2}|Hz|[kMG]Hz|bit|bytes?|st|nd|rd|th)\b.*"
)
_KEPT_QUANTITY = re.compile(r"\d[GDK]")
_COMPOUND = re.compile(r"\w+(?:-[a-z]+)+")
_BEFORE_YEAR = word_set("en", "before_years")
_NUMBERED = re.compile(
    r"\W*(?:table|figure|fig\.|chapter|section|example|listing|表|图)\s*\d", re.IGNORECASE
)
_FEWEST_PROSE_WORDS = 2
_LONGEST_RUN = 6
_SURE_RUN = 3
"""Capitalised words that are certainly a name, even at the start of a sentence."""
_UNSHOWN = frozenset({"NUMBER", ADDRESS})
_NAMELESS = STOP_NAMES | STARTERS | PRONOUNS | CALENDAR
_HAN_CLAUSE = re.compile("积极|响应|携手|发布|推出|加快|持续|全面|深入|推动|开展|举办|召开|部门$")
"""Words that never occur in names, but in clauses that the segmentation takes for names."""
_HAN_LATIN = re.compile(r"[A-Za-z][\w.+#&/ -]*", re.ASCII)


class SentencePlace(Enum):
    """The place of a sentence in its document, which decides what a capital means."""

    PROSE = auto()
    FRAGMENT = auto()
    """A caption, a table cell or a list item: a capital at its start means nothing."""
    HEADING = auto()
    CODE = auto()


_TITLED = (BlockKind.SECTION, BlockKind.BOX, BlockKind.FIGURE)


class SentencePlaces:
    """The places of a document's sentences."""

    def __init__(self, document: Document, chunks: Iterable[Chunk]) -> None:
        code = [block.span for block in document.blocks if block.kind is BlockKind.CODE]
        self._code = sorted(code)
        self._code_starts = [span.start for span in self._code]
        self._headings = {
            title.strip()
            for chunk in chunks
            for title in (
                chunk.document_title,
                *chunk.headings,
                *(block.label for block in chunk.blocks if block.kind in _TITLED),
            )
        }

    def of(self, sentence: str, span: Span) -> SentencePlace:
        """Return the place of a sentence, ``span`` of the document."""
        number = bisect_right(self._code_starts, span.start) - 1
        if number >= 0 and span.start < self._code[number].end:
            return SentencePlace.CODE
        text = sentence.strip()
        if text.lstrip("#* ").rstrip("* ") in self._headings:
            return SentencePlace.HEADING
        words = _NAME_WORDS.findall(text)
        ends = text[-1:] in set('.!?。！？”"…')
        if _NUMBERED.match(text) or text.startswith("|") or not ends:
            return SentencePlace.FRAGMENT
        if is_chinese(text):
            return SentencePlace.PROSE
        lower = sum(word.islower() for word in words)
        return SentencePlace.PROSE if lower >= _FEWEST_PROSE_WORDS else SentencePlace.FRAGMENT


def english_entities(
    sentence: EnglishSentence,
    names: Sequence[Occurrence],
    place: SentencePlace,
    evidence: NameEvidence,
) -> Iterable[str]:
    """Yield the normal forms of the names that are entities by the evidence of a sentence."""
    if place is SentencePlace.CODE:
        return
    starts = {token.start: position for position, token in enumerate(sentence.tokens)}
    for name in names:
        if name.part or name.doubtful or name.type in _UNSHOWN:
            continue
        position = starts.get(name.start)
        if name.type == "DATE" and position is not None and YEAR.fullmatch(name.form):
            if _is_year(sentence, position):
                yield name.form
        elif name.type:
            yield name.form
        elif place is not SentencePlace.HEADING and not sentence.headline:
            if position is None or not _is_name(sentence, name, position, place, evidence):
                continue
            sides = _sides(sentence, name, names)
            yield from [side.form for side in sides] or [name.form]


def _sides(
    sentence: EnglishSentence, name: Occurrence, names: Sequence[Occurrence]
) -> Sequence[Occurrence]:
    """Return the names on both sides of an "and", or of "'s" before a title; () for one name."""
    surface = sentence.text[name.start : name.end]
    owned = _OWNED_PERSON.match(surface)
    left, joined, _ = surface.partition(owned["joined"] if owned else " and ")
    quoted = sentence.text[max(0, name.start - 1) : name.start] in set("\"“«‘`'")
    if not joined or quoted or (name_type(surface, name.form) and not owned):
        return ()
    ends = (name.start + len(left), name.end)
    starts = (name.start, name.start + len(left) + len(joined))
    return [
        n
        for n in names
        if (n.start, n.end) in zip(starts, ends, strict=True) and n.form not in _NAMELESS
    ]


def _is_year(sentence: EnglishSentence, position: int) -> bool:
    """Return True if four digits are a year: "in 1999", not "1024 bytes"."""
    before = sentence.tokens[position - 1].lower if position else ""
    following = sentence.tokens[position + 1] if position + 1 < len(sentence.tokens) else None
    counts = following is not None and following.kind == WORD and following.lower not in JOINERS
    return before in _BEFORE_YEAR and (not counts or before in {"in", "since", "until"})


def _is_name(  # noqa: PLR0911  one for each kind of evidence
    sentence: EnglishSentence,
    name: Occurrence,
    position: int,
    place: SentencePlace,
    evidence: NameEvidence,
) -> bool:
    tokens = sentence.tokens
    surface = sentence.text[name.start : name.end]
    words = _NAME_WORDS.findall(surface)
    if not words or len(words) > _LONGEST_RUN or tokens[position].kind in {WORD, SIGN}:
        return False
    before, behind = sentence.text[: name.start], sentence.text[name.end : name.end + 2]
    cut = len(behind) > 1 and behind[0] == "." and behind[1].isalnum()  # Identi.ca
    if cut or before.endswith("\\"):
        return False
    if looks_technical(words[0]) and len(words) == 1:
        return True
    listed = _YEAR_AND_NAME.fullmatch(surface) and before.rstrip().endswith(",")
    if listed or _is_no_name(surface, words):
        return False
    capitals = [word for word in words if word.lower() not in JOINERS]
    if not any(word[0].isupper() or word[0].isdigit() for word in capitals):
        return False
    quoted = position > 0 and tokens[position - 1].text in set('"“«‘`')
    opening = opens(tokens, position) and not quoted
    named = _is_spoken_of(sentence, name, capitals)
    if len(words) == 1:
        return _is_single_name(words[0], place, evidence, opening=opening and not named)
    if opening:
        return _is_opening_name(words[0].lower(), len(capitals), place, evidence, named=named)
    return place is SentencePlace.PROSE or not all(word.lower() in common_words() for word in words)


def _is_no_name(surface: str, words: Sequence[str]) -> bool:
    """Return True if the form of capitals and digits rules out a name."""
    quantity = _QUANTITY.fullmatch(surface) and not _KEPT_QUANTITY.fullmatch(surface)
    large = [word.isupper() and len(word) > 1 for word in words]
    label = large[0] and len(words) > 1 and words[0].lower() in common_words() | STARTERS
    return bool(
        quantity
        or _NUMBERED_NAME.match(surface)  # Table 8.16
        or _COMPOUND.fullmatch(words[-1])  # SCRAM-based
        or _OWNED_ACRONYM.search(surface)  # PostgreSQL's EXPLAIN
        or (" and " in surface and any(large))  # OLD and DELETE
        or (label and not surface.isupper())  # NOTE Secure Boot
    )


def _is_opening_name(
    first: str, capitals: int, place: SentencePlace, evidence: NameEvidence, *, named: bool
) -> bool:
    """Return True if several words that start a sentence are a name; ``first`` is the first."""
    if first in _NAMELESS:
        return False
    verb = first.endswith(("ing", "ed"))
    if place is SentencePlace.PROSE and (named or (capitals >= _SURE_RUN and not verb)):
        return True
    common = first in common_words() or first in evidence.lower or verb
    return not common or (first in evidence.capitalised and place is SentencePlace.PROSE)


def _is_spoken_of(sentence: EnglishSentence, name: Occurrence, capitals: Sequence[str]) -> bool:
    """Return True if all words are capitalised and the sentence continues with a predicate."""
    following = next((t for t in sentence.tokens if t.start >= name.end), None)
    return (
        following is not None
        and (following.text in {"(", "（"} or is_predicate(following.lower))
        and all(word[0].isupper() or word[0].isdigit() for word in capitals)
    )


def _is_single_name(
    word: str, place: SentencePlace, evidence: NameEvidence, *, opening: bool
) -> bool:
    lower = word.lower()
    if len(word) < 2 or lower in _NAMELESS or lower in GENERIC_HEADS or not word[0].isalpha():
        return bool(YEAR.fullmatch(word))
    if is_command(word):
        return place is SentencePlace.PROSE
    if lower in common_words() or lower in evidence.lower:
        return not opening and place is SentencePlace.PROSE and word.isupper() and len(word) > 2
    if not opening:
        return place is SentencePlace.PROSE or not word.isupper()
    return lower in evidence.capitalised


def han_entities(names: Sequence[Occurrence], text: str, place: SentencePlace) -> Iterable[str]:
    """Yield the normal forms of the names of a Chinese sentence that are entities."""
    if place is SentencePlace.CODE:
        return
    for name in names:
        if name.part or name.doubtful or name.type in _UNSHOWN:
            continue
        surface = text[name.start : name.end]
        if name.type:
            if surface not in COMMON_NOUNS and not _HAN_CLAUSE.search(surface):
                yield name.form
        elif place is SentencePlace.HEADING or text[max(0, name.start - 1)] == "\\":
            continue
        elif _HAN_LATIN.fullmatch(surface):
            words = surface.split()
            common = all(word.lower() in common_words() for word in words)
            quantity = _QUANTITY.fullmatch(surface) and not _KEPT_QUANTITY.fullmatch(surface)
            capital = any(c.isupper() for c in words[0]) and not quantity
            if capital and not common and words[0].lower() not in _NAMELESS and len(surface) > 1:
                yield name.form
        else:
            yield name.form


class Alias(NamedTuple):
    """A short or alternative name and the full name, as normal forms."""

    short: str
    full: str


ALSO = re.compile(
    r"\s*[,(（，;]?\s*[(（]?(?:(?:also|formerly|otherwise|commonly|better|originally|sometimes"
    r"|previously|widely|now)?\s*(?:known|referred to|called|abbreviated|shortened|nicknamed)"
    r"(?:\s+(?:simply|often|also|commonly|professionally))?(?:\s+(?:as|to))?"
    r"|a\.?k\.?a\.?|(?<=[,(（，;] )(?:formerly|previously|alias)"
    r"|(?<=[(（])(?:formerly|previously|alias|now)"
    r"|(?:is |are |was )?(?P<reversed>short for|stands? for"
    r"|an? (?:acronym|abbreviation) (?:of|for)))"
    r"\s*[\"“‘']?(?:the\s+|The\s+)?"
)
"""What a text has between two names of one thing; ``reversed`` if the full name is the second."""
HAN_ALSO = re.compile(
    r"[\s，,、]*[（(]?\s*(?:以下|下文)?(?:(?:或|又|亦|也|统|統|旧|舊|原|俗|合|通|下|后|後)"
    r"(?:简|簡|被)?(?:称|稱|名|叫)|(?:简|簡|别|別)(?:称|稱|名|写|寫)|缩写|縮寫"
    r"|(?P<reversed>全称|全稱|全名)|(?<![立随當当在旋亦，,、（(\s])即(?![使将將可便刻时時日席位是用]))(?:作|是|为|為)*"
    r"\s*[：:]?\s*[“「『\"《]?"
)
BRACKET = re.compile(
    r"\s*[(（]\s*(?:(?:hereinafter|hereafter|from now on)(?: (?:called|referred to as))?,?\s*)?"
    r"(?:the\s+)?[\"“”「『']?"
)
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&.-]{1,9}")
_NEVER_IN_PERSONS = JOINERS - PARTICLES
_HAN_NAME = re.compile(f"[{HAN}]{{2,16}}")


def find_aliases(text: str, names: Sequence[Occurrence]) -> Iterator[Alias]:
    """Yield the aliases that a sentence states; ``names`` are its names with offsets into it."""
    mains = sorted(
        (n for n in names if n.type not in {"DATE", "NUMBER"} and not n.part),
        key=lambda name: (name.start, -name.end),
    )
    for position, later in enumerate(mains):
        for first in mains[max(0, position - 3) : position]:
            if first.end > later.start or first.form == later.form:
                continue
            between = text[first.end : later.start]
            if len(between) > 60:
                continue
            stated = ALSO.fullmatch(between) or (between and HAN_ALSO.fullmatch(between))
            one, other = (text[n.start : n.end] for n in (first, later))
            if stated:
                is_reversed = stated["reversed"] is not None
            elif _is_of_several(text, first, later):
                continue
            elif BRACKET.fullmatch(between) and (
                may_be_one_in_brackets(one, other)
                or (_DEFINES.search(between) and one.startswith(f"{other} "))
            ):
                is_reversed = is_short_for(one, other)
            else:
                continue
            short, full = (first, later) if is_reversed else (later, first)
            yield Alias(short.form, full.form)
            break


_DEFINES = re.compile(r"[\"“「『]|hereinafter|hereafter")
_ROLE = re.compile(r"C[A-Z]{1,2}O|MBA|PhD|VIP|USA|PDF|[A-Z]{1,2}|[A-Z]{2,}[a-z]+")
"""Acronyms in brackets behind Chinese names that are no names of these."""
_FOREIGN = re.compile(r"[A-Z][\w.&’'-]*(?: (?:[A-Z][\w.&’'-]*|of|the|and|for|de|von|van)){0,6}")


def _is_of_several(text: str, first: Occurrence, later: Occurrence) -> bool:
    """Return True if a name in brackets is one of a list, or inside a longer name."""
    is_listed = _LISTED.search(text[: first.start]) or text[later.end : later.end + 1] in {
        "、",
        "-",
    }
    return bool(is_listed) or _OF_A_NAME.match(text, later.start) is not None


def may_be_one_in_brackets(one: str, other: str) -> bool:
    """Return True if a name may be that in brackets behind another: its acronym, its short form or
    what that stands for, or the same in another script.
    """
    if is_short_for(one, other) or is_short_for(other, one):
        return True
    han, latin = sorted((one, other), key=lambda name: not _HAN_NAME.fullmatch(name))
    is_foreign = _FOREIGN.fullmatch(latin) and not _ROLE.fullmatch(latin)
    return bool(is_foreign and re.fullmatch(f"(?!.*[的和与及或])[{HAN}·・]{{3,16}}", han))


_HAN_RUN = re.compile(f"[{HAN}A-Za-z·・]{{2,20}}")
_HAN_CUT = re.compile(r"[是在由于位为成和与]")
_LATIN_BEFORE = re.compile(r"[A-Z][\w.&’'-]*(?: (?:of |the |and |for |de )?[A-Z][\w.&’'-]*){0,6}$")
_CUES = re.compile(f"(?:{ALSO.pattern.replace('?P<reversed>', '?:')})(?=[A-Z])")
_HAN_CUES = re.compile(f"(?:{HAN_ALSO.pattern.replace('?P<reversed>', '?:')})(?=[{HAN}A-Za-z])")
_HAN_BRACKETS = re.compile(f"(?<=[{HAN}A-Za-z])[(（](?=[{HAN}A-Z])")
_SEPARATORS = frozenset("，,、（( ")
_LISTED = re.compile("[、和与及]$")
_OF_A_NAME = re.compile(r"[A-Za-z]+\s*[)）]\s*(?:有限|股份|公司|集团)")
_PROPER_TAGS = ("nr", "ns", "nt", "nz", "j")
_NAMING_TAGS = ("n", "j", "eng", "vn", "b", "a", "s", "f", "i", "l", "m", "q", "x", "t")


def find_stated_names(text: str, names: Sequence[Occurrence]) -> Iterator[str]:
    """Yield names that only the statement of an alias shows to be names.

    ``names`` are those that are known, with offsets into the text.
    """
    is_han = is_chinese(text)
    before = {name.end: text[name.start : name.end] for name in names if not name.part}
    after = {name.start: text[name.start : name.end] for name in names if not name.part}
    cues = list((_HAN_CUES if is_han else _CUES).finditer(text))
    for cue in (*cues, *(_HAN_BRACKETS.finditer(text) if is_han else ())):
        one = before.get(cue.start(), "")
        if not one:
            one = _name_before(text[: cue.start()], is_han=is_han)
            if is_han and cue[0][0] not in _SEPARATORS and not _is_proper(one):
                continue  # 证券简称：中国联通
        if is_han and (
            _LISTED.search(text[: cue.start() - len(one)]) or _OF_A_NAME.match(text, cue.end())
        ):
            continue
        other = after.get(cue.end()) or _name_after(text[cue.end() :], is_han=is_han)
        is_stated = cue in cues or (one and may_be_one_in_brackets(one, other))
        if one and other and one != other and is_stated:
            yield from (one, other)


def _is_proper(name: str) -> bool:
    words = segment(name) if name else []
    return bool(words) and words[-1].tag.startswith(_PROPER_TAGS)


def _name_before(text: str, *, is_han: bool) -> str:
    """Return the capitalised words, or Chinese nouns, at the end of a text."""
    if not is_han:
        found = _LATIN_BEFORE.search(text)
        return found[0] if found else ""
    run = re.search(rf"(?:[{HAN}·・]|[A-Z][A-Za-z]*)+$", text)
    nouns, tags = list[str](), list[str]()
    for word in reversed(segment(run[0][-20:]) if run else []):
        if not word.tag.startswith(_NAMING_TAGS) and not word.text.isascii():
            break
        nouns.insert(0, word.text)
        tags.insert(0, word.tag)
    while tags and tags[0] in {"m", "q", "t", "f"}:
        del tags[0], nouns[0]
    return name if len(name := "".join(nouns)) > 1 else ""


def _name_after(text: str, *, is_han: bool) -> str:
    """Return the capitalised words, or Chinese characters before a verb, that begin a text."""
    if found := _FOREIGN.match(text):
        return found[0]
    run = _HAN_RUN.match(text) if is_han else None
    name = _HAN_CUT.split(run[0])[0] if run else ""
    return name if len(name) > 1 else ""


def is_short_for(short: str, full: str) -> bool:
    """Return True if ``short`` can be an acronym or abbreviation of ``full``."""
    if _HAN_NAME.fullmatch(short) and len(short) < len(full):
        characters = iter(full)
        return all(character in characters for character in short)
    if not looks_like_acronym(short):
        return False
    letters = [c.lower() for c in short if c.isalnum()]
    words = [w for w in re.split(r"[\s–-]+", full) if w]
    if len(words) < 2:
        return False
    if letters[0] != words[0][0].lower():
        return False
    initials = [w[0].lower() for w in words]
    content = [w[0].lower() for w in words if w.lower() not in JOINERS]
    if letters in (initials, content, content[: len(letters)] if len(letters) > 2 else content):
        return True
    return len(letters) >= 3 and _in_order(letters, initials) and _in_order(content, letters)


def looks_like_acronym(name: str) -> bool:
    """Return True if a name is spelt like an acronym: WHO, DNSSEC, G&CU."""
    return _ACRONYM.fullmatch(name) is not None and sum(c.isupper() for c in name) > 1


def _in_order(parts: Iterable[str], whole: Iterable[str]) -> bool:
    rest = iter(whole)
    return all(part in rest for part in parts)


_ANOTHER = re.compile(r"\b(?:named|called|christened|nicknamed|known as)\s+$")
_JOINED = re.compile(r"\s?[-–]\s?[A-Z]")


def is_of_another(text: str, name: Occurrence) -> bool:
    """Return True if a sentence gives a name to somebody, or it is cut off a longer one."""
    given = _ANOTHER.search(text, 0, name.start) is not None
    return given or _JOINED.match(text, name.end) is not None


def surname_aliases(
    types: Mapping[str, str], forms: Iterable[str], alone: Collection[str]
) -> dict[str, str]:
    """Return the full name of the person that each lone surname, or known first name, refers to.

    Names of several persons are left out.

    ``types`` are the types of all names of the document, ``forms`` the names themselves, and
    ``alone`` those that also occur outside longer names.
    """
    known = {form: _without_title(form.split(" ")) for form in forms}
    owners: dict[str, set[str]] = {}
    for form, words in known.items():
        if not 2 <= len(words) <= 4 or not _may_be_person(words, types.get(form, "")):
            continue
        is_plain = words[0] in given_names() and all(len(w) > 2 or w in PARTICLES for w in words)
        for name in {words[-1], words[0] if is_plain else words[-1]}:
            if len(name) > 2 and types.get(name, "") in {"", "PERSON"}:
                owners.setdefault(name, set()).add(form)
    shortest = {name: min(full, key=len) for name, full in owners.items()}
    meant = {
        name: full
        for name, full in shortest.items()
        if all(other.endswith(full) for other in owners[name])  # Judge Lewis Kaplan, Lewis Kaplan
    }
    return {
        form: meant[words[0]]
        for form, words in known.items()
        if len(words) == 1 and words[0] in meant and form in alone
    }


def _without_title(words: list[str]) -> list[str]:
    place = next((n for n, word in enumerate(words[:-1]) if word not in HONORIFICS), len(words) - 1)
    return words[place:]


def _may_be_person(words: Sequence[str], kind: str) -> bool:
    if kind not in {"", "PERSON"} or not _NEVER_IN_PERSONS.isdisjoint(words):
        return False
    last = words[-1]
    return (
        all(word.replace("'", "").isalpha() for word in words)
        and last not in GENERIC_HEADS
        and last not in common_words()
        and (kind == "PERSON" or (words[0] not in GENERIC_HEADS and words[0] not in common_words()))
    )
