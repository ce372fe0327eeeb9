"""Find documents that give different values for one thing, and order what they say by its date.

A claim is the value that a sentence states of something, and since when. Claims are compared only
if all their words agree but for the value: a disagreement that does not exist is worse than one
that is not found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._questions.languages import (
    CHINESE,
    ENGLISH,
    Operator,
    Words,
    known_units,
    read_amounts,
    read_comparisons,
    unit_at,
)
from knotwork._questions.reading import QuestionReading
from knotwork._stores.base import Store
from knotwork._stores.fields import DATE, file_stem, metadata_fields
from knotwork._text.dates import (
    DAY,
    DAY_OF_YEAR,
    MONTH_OF_YEAR,
    NUMERIC_DAY,
    RELATIVE,
    DayRange,
    read_day_range,
    resolve_relative,
)
from knotwork._text.languages import HAN_OR_KANA, simplify
from knotwork._text.numbers import Number, find_numbers
from knotwork._text.plain_text import name_cells, show_sentence
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Chunk, Conflict, ConflictingClaim, Document, Span

LONGEST_CLAIM = 400
"""Longer sentences state more than one value."""
ROUGHLY = Decimal("0.1")
"""The relative difference of two values that agree if one is stated as rounded."""
ROUNDED = Decimal("0.02")
"""The same if one has the leading digits of the other, as 3,500 and 3,512."""
_MOST_DIGITS = 15
"""Digits of values that may be rounded."""
_LOCAL = 6
"""Last digits of phone numbers that are compared: the code of a country may be left out."""
DATED, ONCE, CLOCK, CONTACT, NAME = "date", "once", "clock", "contact", "name"

_MARK = re.compile(r"^[\s>#*+•|-]*(?:\d{1,3}[.)]\s+)?")
_YEAR = (
    r"(?<![A-Za-z0-9_.,/$€£¥-])(?:19|20)\d{2}(?:\s?[-/–]\s?\d{2}(?!\d))?(?![.,]?\d|-\d)\s*年?度?"
)
TIME = re.compile(
    rf"{DAY}|{NUMERIC_DAY}|{MONTH_OF_YEAR}|(?<!\d)20\d{{6}}(?!\d)|{DAY_OF_YEAR}|{_YEAR}",
    re.IGNORECASE,
)
"""A time in a claim or a title."""
_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?\s?(?P<half>[ap])\.?m\b|\b(?P<h>\d{1,2}):(?P<m>\d{2})\b(?!:)"
    r"|(?P<part>上午|下午|晚上|早上|中午)?(?P<zh>[\d一二三四五六七八九十两]{1,3})[点时](?!间)(?P<late>半|\d{1,2}分?)?",
    re.IGNORECASE,
)
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])\+?\(?\d[\d ()/-]{4,20}\d(?!\w)")
_SIGN = re.compile(r"[$€£¥￥]\s?$")
_FURTHER = re.compile(r"\s*(?:[-–—~～]|to|and|[\u4e00-\u9fff]{0,3}[到至])\s*[\d.,]*\d")
_RANGE = re.compile(r"\s*(?:[-–—~～到至]|to|and|until|till)\s*")
_TO = re.compile(r"\bto\b|[到至为]")
_LONGEST_CHANGE = 25
_NOUN = re.compile(r"[\s-]([A-Za-z]{2,}[a-z-]*)|\s?([\u4e00-\u9fff])")
_CAPITAL = re.compile(r"\S\s[A-Z]\w*\s$")


class Slot(NamedTuple):
    """A value in a claim: its quantity or noun, its value in the base unit, and its words."""

    kind: str
    value: Decimal | str
    start: int
    end: int
    bound: str = ""
    is_rough: bool = False
    is_former: bool = False
    factor: Decimal = Decimal(1)


@dataclass(frozen=True)
class Claim:
    """What a sentence states: its values, and the terms of all else.

    ``since`` and ``until`` are its own times, ``former`` the values that it calls past ones.
    """

    text: str
    slots: tuple[Slot, ...]
    terms: frozenset[str]
    since: DayRange | None = None
    until: DayRange | None = None
    is_period: bool = False
    former: frozenset[Decimal | str] = frozenset()
    is_retracted: bool = False

    @property
    def words(self) -> str:
        """The words of its values."""
        return "; ".join(self.text[slot.start : slot.end].strip() for slot in self.slots)


def read_time(words: str) -> DayRange | None:
    """Return the days of a time in a claim; of "2023/24" those of the first year."""
    bare = words.strip().removesuffix("度").strip()
    year = re.match(r"(?:19|20)\d{2}(?=\s*(?:[-/–]\s?\d{2})?\s*年?$)", bare)
    return read_day_range(year[0] if year else bare, day_first=True) or read_day_range(bare)


def own_words(text: str) -> tuple[Mapping[str, Words], ...]:
    """Return the words of the languages that a text may be in."""
    return (CHINESE.claims, ENGLISH.claims) if HAN_OR_KANA.search(text) else (ENGLISH.claims,)


def without_glue(text: str, *, generic: bool = False) -> frozenset[str]:
    """Return the terms of a text that say what it is about."""
    for words in own_words(text):
        text = words["glue"].form.sub(" ", text)
        text = words["generic"].form.sub(" ", text) if generic else text
    return frozenset(content_terms(text))


def retracts(text: str) -> bool:
    """Return True if a text says that something holds no longer."""
    return any(words["retracted"].search(text) for words in own_words(text))


def read_claim(sentence: str) -> Claim | None:
    """Return the claim of a sentence; None if it asks, supposes or is too long."""
    if len(sentence) > LONGEST_CLAIM:
        return None
    reader = _Reader(simplify(sentence))
    return None if reader.has("unsure") else reader.read(sentence)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words = own_words(text)
        self.rest = list(_MARK.sub(lambda mark: " " * len(mark[0]), text))
        self.slots: list[Slot] = []
        self.since: DayRange | None = None
        self.until: DayRange | None = None
        self.is_period = False

    def has(self, key: str, text: str | None = None) -> bool:
        """Return True if a text, by default the sentence, has words of a kind."""
        text = self.text if text is None else text
        return any(words[key].search(text) for words in self.words)

    def starts(self, key: str, place: int) -> bool:
        return any(words[key].form.match(self.text, place) for words in self.words)

    def mask(self, start: int, end: int) -> None:
        self.rest[start:end] = " " * (end - start)

    def read(self, sentence: str) -> Claim:
        if self.has("phone") or "@" in self.text:
            self._read_contacts()
        self._read_clocks()
        self._read_times()
        self._read_numbers()
        if not self.slots and self.has("role"):
            self._read_name()
        self._join_slots()
        kept = tuple(slot for slot in self.slots if not slot.is_former)
        former = frozenset(slot.value for slot in self.slots if slot.is_former)
        return Claim(
            sentence,
            kept,
            without_glue("".join(self.rest)),
            self.since,
            self.until,
            self.is_period,
            former,
            retracts(self.text),
        )

    def _add(self, kind: str, value: Decimal | str, start: int, end: int) -> None:
        self.slots.append(Slot(kind, value, start, end))
        self.mask(start, end)

    def _read_contacts(self) -> None:
        for found in _CONTACT.finditer(self.text):
            digits = re.sub(r"\D", "", found[0])
            if "@" in found[0]:
                self._add("mail", found[0].casefold().rstrip("."), *found.span())
            elif len(digits) >= 6 and not read_time(found[0]):
                self._add(CONTACT, digits, *found.span())

    def _read_clocks(self) -> None:
        for found in _CLOCK.finditer("".join(self.rest)):
            hour, minute = found["hour"] or found["h"], found["minute"] or found["m"] or "0"
            if found["zh"]:
                number = next(find_numbers(found["zh"]), None)
                if number is None:
                    continue
                hour, late = str(int(min(number.values))), found["late"] or "0"
                minute = "30" if late == "半" else late.rstrip("分")
            is_late = found["half"] in ("p", "P") or found["part"] in ("下午", "晚上")
            hours = int(hour) % 12 + 12 * is_late if found["half"] or is_late else int(hour)
            self._add(CLOCK, Decimal(hours * 60 + int(minute)), *found.span())

    def _read_times(self) -> None:
        is_once, is_dated = self.has("once"), self.has("dated")
        for found in TIME.finditer("".join(self.rest)):
            days, bare = read_time(found[0]), found[0].strip()
            before, behind = self.text[: found.start()], found.end()
            unit, _ = unit_at(self.text, behind)
            if bare.isdigit() and unit and unit.quantity != "time":
                continue  # an amount such as 2000 euros
            is_start = self.has("since", before) or self.starts("from_then", behind)
            if is_once or (is_dated and not is_start):
                value = f"{days.first}/{days.last}" if days else bare
                if days is None:  # "31 March" is "-03-31"
                    is_han = HAN_OR_KANA.search(bare) is not None
                    in_a_year = read_day_range(f"2000年{bare}" if is_han else f"{bare} 2000")
                    value = in_a_year.first[4:] if in_a_year else bare
                self._add(ONCE if is_once else DATED, value, *found.span())
                continue
            if days is None:
                continue
            self.mask(found.start(), behind)
            for words in self.words:
                for key in ("from_then", "by_then"):
                    after = words[key].form.match(self.text, behind)
                    self.mask(behind, after.end() if after else behind)
                for key in ("since", "until", "during"):
                    ahead = words[key].search(before)
                    self.mask(ahead.start() if ahead else found.start(), found.start())
            if self.has("until", before) or self.starts("by_then", behind):
                self.until = days
            else:
                self.since, self.is_period = days, not is_start

    def _read_numbers(self) -> None:
        compared = read_comparisons(self.text, tuple(read_amounts(self.text)))
        bounds = [each for each in compared if each.operator is not Operator.EQUALS]
        for number in find_numbers("".join(self.rest)):
            before = self.text[: number.start]
            further = _FURTHER.match(self.text, number.end)
            unit, end = unit_at(self.text, number.end)
            sign, noun = _SIGN.search(before), _NOUN.match(self.text, number.end)
            start = sign.start() if sign else number.start
            if sign:
                (unit, _), end = unit_at(sign[0].strip(), 0), number.end
            elif not unit and further:
                unit, _ = unit_at(self.text, further.end())
            kind, factor = (unit.quantity, unit.factor) if unit else ("", Decimal(1))
            if not unit and not further and noun:
                kind = next(iter(without_glue(noun[0])), "")
            if self._is_name(number, before, kind):
                continue
            around = (b for b in bounds if b.span.start <= number.start < b.span.end)
            bound = next((str(each.operator) for each in around), "")
            self.mask(start, end)
            if not self.has("delta", before):
                rough, former = (self.has(key, self.text[:start]) for key in ("about", "former"))
                value = max(number.values) * factor
                self.slots.append(Slot(kind, value, start, end, bound, rough, former, factor))

    def _is_name(self, number: Number, before: str, kind: str) -> bool:
        """Return True if a number names a thing, as in "room 12", or is a word such as "one"."""
        is_bare = kind not in {unit.quantity for unit in known_units()}
        is_han = bool(HAN_OR_KANA.match(self.text, number.start))
        if number.is_written and (max(number.values) == 1 or (is_bare if is_han else not kind)):
            return True
        behind = self.text[number.end : number.end + 2].lower()
        named = self.has("label", before) or _CAPITAL.search(before) is not None
        return behind in ("st", "nd", "rd", "th") or (is_bare and named)

    def _read_name(self) -> None:
        for words in self.words:
            for found in words["named"].form.finditer(self.text):
                group = found.lastgroup or ""
                if without_glue(found[group]) and not words["role"].search(found[group]):
                    self._add(NAME, found[group].casefold(), *found.span(group))
                    return

    def _join_slots(self) -> None:
        """Join the ends of ranges, and mark the first value of "rose from 30 to 35" as former."""
        joined: list[Slot] = []
        changes = self.has("change")
        for slot in sorted(self.slots, key=lambda slot: slot.start):
            last = joined[-1] if joined else slot
            between = self.text[last.end : slot.start]
            if last.kind != slot.kind or last is slot or last.is_former:
                joined.append(slot)
            elif changes and len(between) < _LONGEST_CHANGE and _TO.search(between):
                joined[-1:] = [last._replace(is_former=True), slot._replace(bound="")]
            elif _RANGE.fullmatch(between):
                ends = f"{last.value}/{slot.value}"
                joined[-1] = Slot(slot.kind, ends, last.start, slot.end, "range")
            else:
                joined.append(slot)
        self.slots = joined


def values_differ(one: Slot, other: Slot) -> bool | None:
    """Return whether two values of one kind disagree; None if they cannot be compared."""
    a, b = one.value, other.value
    if one.kind != other.kind or one.bound != other.bound:
        return None
    if a == b:
        return False
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        share = abs(a - b) / max(abs(a), abs(b))
        # "10 km" is "6.2 miles", but "1 kg" is 1,000 g.
        is_converted = len((one.factor / other.factor).normalize().as_tuple().digits) > 1
        if one.is_rough or other.is_rough or is_converted:
            return share > ROUGHLY
        return share > ROUNDED or not (_rounds(a, b) or _rounds(b, a))
    return _words_differ(one.kind, str(a), str(b))


def _words_differ(kind: str, a: str, b: str) -> bool | None:
    if kind == NAME:
        mine, others = set(a.split()), set(b.split())
        return not (mine <= others or others <= mine)
    if kind == CONTACT:
        return a[-_LOCAL:] != b[-_LOCAL:]
    if kind not in (DATED, ONCE):
        return a != b
    (a1, _, a2), (b1, _, b2) = a.partition("/"), b.partition("/")
    if not a2 or not b2:
        return a1[-5:] != b1[-5:]
    is_of_two_years = kind == DATED and a1[:4] != b1[:4]
    return None if is_of_two_years else a2 < b1 or b2 < a1


def _rounds(one: Decimal, other: Decimal) -> bool:
    """Return True if a value is another one with two or more leading digits, then zeros."""
    bare = one.normalize()
    digits, exponent = len(bare.as_tuple().digits), int(bare.as_tuple().exponent)
    is_short = other.adjusted() - exponent < _MOST_DIGITS
    return digits > 1 and exponent != 0 and is_short and round(other, -exponent) == one


class Comparison(StrEnum):
    """How two claims about one thing relate, as far as their sentences say."""

    NONE = "none"
    DIFFERS = "differs"
    REPLACES = "replaces"
    """One states the value of the other as a past one."""


def compare_claims(one: Claim, other: Claim) -> Comparison:
    """Compare the values of two claims."""
    if len(one.slots) != len(other.slots):
        return Comparison.NONE
    compared = [values_differ(*pair) for pair in zip(one.slots, other.slots, strict=True)]
    differ = compared.count(True)
    if one.is_retracted != other.is_retracted and None not in compared and not differ:
        return Comparison.DIFFERS
    if None in compared or differ != 1 or one.is_retracted or other.is_retracted:
        return Comparison.NONE
    mine, others = ({slot.value for slot in each.slots} for each in (one, other))
    is_told = mine & other.former or others & one.former
    return Comparison.REPLACES if is_told else Comparison.DIFFERS


def first_time(texts: Sequence[str]) -> DayRange | None:
    """Return the first time in titles and names of files that says a year."""
    for text in texts:
        for found in TIME.finditer(re.sub("_", " ", text)):
            if days := read_time(found[0]):
                return days
    return None


_HEAD = 400
"""Characters at the start of a document in which it may say its date."""
_DATED_LINE = re.compile(
    r"(?:\b(?:date|dated|updated?|as of|version of|published|status|meeting (?:of|on)|minutes of)\b"
    r"|日期|时间|更新|发布|截至)[^\n]{0,30}$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_DAY = re.compile(rf"(?:\w+day,? )?(?:{DAY}|{NUMERIC_DAY}|{DAY_OF_YEAR})", re.IGNORECASE)
_BEFORE_DAY = "-*•([ "
_JOINED = re.compile(r"_|(?<=[^\W\d])-|-(?=[^\W\d])")
_RELATIVE = re.compile(RELATIVE, re.IGNORECASE)
_AFTER = re.compile(r"(?:\b(?:since|after)\s+(?:the\s+)?|[自从])$", re.IGNORECASE)
_BEFORE = re.compile(r"\bbefore\s+(?:the\s+)?$", re.IGNORECASE)
_BEFORE_ZH = re.compile(r"\s*[之以]?前")
_Key = tuple[str, Span]
"""The id of a document, and the span of a sentence in it."""
_MOST_ALIKE = 40
"""Claims with the same words that are compared; more are rows of a list."""


class DocumentDate(NamedTuple):
    """The date of a document, or of a section of it; ``is_of_file`` if only its file has one."""

    days: DayRange
    is_of_file: bool = False
    is_of_section: bool = False


@dataclass(frozen=True)
class PlacedClaim:
    """A claim with the terms of the titles and headings around it, and the date it has.

    ``titles`` are of the document and the name of its file, without dates and kinds of texts, and
    without numbers as in "scan0012" beside a title.
    """

    claim: Claim
    uri: str
    title: str
    span: Span
    titles: frozenset[str]
    headings: frozenset[str]
    dated: DocumentDate | None

    @property
    def about(self) -> frozenset[str]:
        """The terms of what the claim is about."""
        kinds = {slot.kind for slot in self.claim.slots}
        return self.claim.terms | self.titles | self.headings | kinds

    @property
    def is_of_section(self) -> bool:
        """True if a section of its document, or its line, begins with a date."""
        is_dated = self.dated is not None and self.dated.is_of_section
        return is_dated or _DAY.match(self.claim.text.lstrip(_BEFORE_DAY)) is not None

    @property
    def days(self) -> DayRange:
        """Since when it holds, as far as is known."""
        own = self.claim.since or self.claim.until
        return own or (self.dated.days if self.dated else DayRange(0, 0))

    @property
    def date(self) -> str:
        """The date as YYYY, YYYY-MM or YYYY-MM-DD; "" if it is unknown."""
        length = self.days.end - self.days.start
        return self.days.first[: 10 if length == 1 else 7 if length < 32 else 4] if length else ""

    def holds_at(self, day: int) -> bool:
        """Return True if the claim may hold on a day."""
        until = self.claim.until
        return day < until.end if until is not None else self.days.start <= day

    def shown(self) -> ConflictingClaim:
        """Return it as a record."""
        is_own = bool(self.claim.since or self.claim.until)
        is_of_file = not is_own and self.dated is not None and self.dated.is_of_file
        return ConflictingClaim(
            value=self.claim.words,
            date=self.date,
            is_of_file=is_of_file,
            document=self.uri,
            title=self.title,
            span=self.span,
            quote=self.claim.text,
        )


def read_claims(
    sentences: Iterable[tuple[Chunk, Span]],
    documents: Mapping[str, Document],
    dates: Mapping[str, DocumentDate],
) -> Iterator[PlacedClaim]:
    """Yield the claims of sentences of prose and of rows of tables."""
    for chunk, span in sentences:
        around, document = chunk.blocks_around(span), documents[chunk.document_id]
        if any(block.kind is BlockKind.CODE for block in around):
            continue
        columns = next((b.label for b in around if b.kind is BlockKind.TABLE), "")
        claim = read_claim(name_cells(show_sentence(chunk.text_at(span)), columns))
        if claim is None or not claim.terms:
            continue
        before = chunk.text[: span.start - chunk.span.start]
        own = [found[1] for found in _HEADING.finditer(before)][-1:]
        labels = [name for block in around for name in block.names]
        title, stem = _names(document.title), _names(file_stem(document.uri))
        serial = {term for term in stem - title if document.title and not term.isalpha()}
        titles = title | stem - serial
        headings = _names(" / ".join([*chunk.headings, *own, *labels])) - titles
        day = first_time([*own, *chunk.headings[::-1]])
        dated = DocumentDate(day, is_of_section=True) if day else dates.get(document.id)
        yield PlacedClaim(claim, document.uri, document.title, span, titles, headings, dated)


@lru_cache(maxsize=1_000)
def _names(text: str) -> frozenset[str]:
    """Return what titles are about, without dates and kinds of texts; of a diary, its day."""
    if _DAY.fullmatch(text):
        return frozenset([text])
    plain = _JOINED.sub(" ", text)
    terms = without_glue(TIME.sub(" ", plain), generic=True)
    return frozenset(term for term in terms if len(term) > 1 or term.isdigit())


def date_documents(store: Store, documents: Collection[Document]) -> dict[str, DocumentDate]:
    """Return the dates of documents, by id.

    A date in the title or the name of the file comes first, then that of the metadata, one at the
    beginning of the text, and the last change of the file.
    """
    ledger = store.ledger.get([document.uri for document in documents])
    found = {}
    for document in documents:
        stated = first_time([document.title, file_stem(document.uri)])
        if stated is None and (own := metadata_fields(document.metadata).get(DATE)):
            stated = read_day_range(own[0])
        if stated is None:
            head = document.text[:_HEAD]
            times = (t for t in TIME.finditer(head) if _DATED_LINE.search(head[: t.start()]))
            stated = next(filter(None, (read_time(time[0]) for time in times)), None)
        entry = ledger.get(document.uri)
        if stated is not None:
            found[document.id] = DocumentDate(stated)
        elif entry is not None and entry.modified_ns > 0:
            day = datetime.fromtimestamp(entry.modified_ns / 1e9, tz=UTC).date().toordinal()
            found[document.id] = DocumentDate(DayRange(day, day + 1), is_of_file=True)
    return found


def compare(one: PlacedClaim, other: PlacedClaim) -> Comparison:
    """Compare the values that two documents give for one thing."""
    a, b = one.claim.terms, other.claim.terms
    mine, others = (a | one.titles | one.headings), (b | other.titles | other.headings)
    are_sections = one.is_of_section and other.is_of_section and one.days != other.days
    are_apart = (
        (one.uri == other.uri and not are_sections)
        or not a & b
        or (not one.claim.slots and len(a & b) < 2)
        or not (a | one.headings <= others and b | other.headings <= mine)
        or (one.titles - other.titles - b and other.titles - one.titles - a)
        or _in_two_folders(one, other)
        or all(map(_is_of_its_time, (one, other)))
    )
    return Comparison.NONE if are_apart else compare_claims(one.claim, other.claim)


def _is_of_its_time(placed: PlacedClaim) -> bool:
    """Return True if a claim dates an event of the year that its document is of, as each year."""
    if placed.dated is None or placed.dated.is_of_file:
        return False
    years = {str(slot.value)[:4] for slot in placed.claim.slots if slot.kind == ONCE}
    return placed.dated.days.first[:4] in years


def _in_two_folders(one: PlacedClaim, other: PlacedClaim) -> bool:
    """Return True if folders name two things, as "ashford/fees.md" and "belton/fees.md"."""
    mine, others = (map(_names, each.uri.split("/")[:-1]) for each in (one, other))
    are_parallel = one.uri.count("/") == other.uri.count("/")
    return are_parallel and any(a - b and b - a for a, b in zip(mine, others, strict=True))


def is_of_periods(one: PlacedClaim, other: PlacedClaim) -> bool:
    """Return True if two claims are about two periods, each in its own words."""
    a, b = one.claim, other.claim
    return a.is_period and b.is_period and a.since != b.since


def sort_claims(claims: Sequence[PlacedClaim], day: int) -> list[PlacedClaim]:
    """Return claims in order: those that hold on a day, the newest first, then all others."""
    newest = sorted(claims, key=lambda each: (-each.days.start, each.uri, each.span))
    return sorted(newest, key=lambda each: not each.holds_at(day))


def asked_day(question: QuestionReading, today: date) -> int:
    """Return the day whose value a question asks for: today, unless it names a time."""
    text = _RELATIVE.sub(lambda found: f" {resolve_relative(found[0], today)} ", question.simple)
    times = [(t, days) for t in TIME.finditer(text) if (days := read_time(t[0]))]
    if len(times) != 1:
        return today.toordinal()
    (found, days), before = times[0], text[: times[0][0].start()]
    if _AFTER.search(before):
        return today.toordinal()
    is_before = _BEFORE.search(before) or _BEFORE_ZH.match(text, found.end())
    return days.start - 1 if is_before else days.end - 1


def may_be_of_section(item: SelectedSentence) -> bool:
    """Return True if a heading around a sentence, or the sentence itself, begins with a date."""
    headings = [*item.chunk.headings, *_HEADING.findall(item.chunk.text)]
    dated = first_time(headings) if headings else None
    return bool(dated or _DAY.match(show_sentence(item.text).lstrip(_BEFORE_DAY)))


def find_conflicts(store: Store) -> list[Conflict]:
    """Return what the documents of an index disagree on, ordered by their uris."""
    near: defaultdict[PlacedClaim, set[PlacedClaim]] = defaultdict(set)
    for claims in checked(_alike_claims(store)):
        for one, other in combinations(claims, 2):
            differs = one.uri != other.uri and compare(one, other) is Comparison.DIFFERS
            if differs and not is_of_periods(one, other):
                near[one].add(other)
                near[other].add(one)
    today, found = datetime.now().astimezone().date().toordinal(), []
    while near:
        joined, waiting = set(), [next(iter(near))]
        while waiting:
            joined.add(claim := waiting.pop())
            waiting += near.pop(claim, ())
        found.append(Conflict(tuple(c.shown() for c in sort_claims(list(joined), today))))
    return sorted(found, key=lambda each: [(claim.document, claim.span) for claim in each.claims])


def _alike_claims(store: Store) -> Iterator[list[PlacedClaim]]:
    """Yield the claims whose words are the same, but for those of titles."""
    alike: defaultdict[frozenset[str], list[PlacedClaim]] = defaultdict(list)
    retracted: set[frozenset[str]] = set()
    for is_second in (False, True):  # which looks for what was retracted
        for placed in _claims_of(store) if retracted or not is_second else ():
            claim, titles = placed.claim, placed.titles
            has_value = bool(claim.slots or claim.is_retracted)
            if claim.is_retracted and not claim.slots:
                retracted.add(claim.terms)
            if has_value != is_second and (has_value or claim.terms in retracted):
                for key in {claim.terms, claim.terms - titles, claim.terms | titles}:
                    alike[key].append(placed)
    yield from (claims for claims in alike.values() if 1 < len(claims) <= _MOST_ALIKE)


def _claims_of(store: Store) -> Iterator[PlacedClaim]:
    for identifier in checked(store.documents.document_ids()):
        documents = store.documents.documents([identifier])
        dates = date_documents(store, documents.values())
        chunk_ids = store.documents.chunk_ids_of([identifier]).get(identifier, [])
        chunks = (c for c in store.documents.chunks(chunk_ids).values() if not c.is_parent)
        sentences = {span: (chunk, span) for chunk in chunks for span in chunk.sentences}
        yield from read_claims(sentences.values(), documents, dates)
