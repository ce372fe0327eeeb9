"""The reading of a question: what it asks, read once for all that need it.

Each part is read when it is first asked for. Equal texts share one reading. A question has a scope
(the whole, a document, a topic, a number) if it matches a form of its language as a whole, so that
a question for a fact is rarely taken for one about a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from knotwork._questions.amounts import Amount, AmountComparison, read_amounts, read_comparisons
from knotwork._questions.kinds import QuestionKind, read_kinds
from knotwork._questions.languages import CHINESE, DIMENSIONS, ENGLISH, Language, Words
from knotwork._questions.parts import DividedQuestion, divide_question
from knotwork._text.chinese import HAN, HAN_CHARACTER, simplify
from knotwork._text.languages import detect_language
from knotwork._text.terms import content_terms
from knotwork.records import Span


class ScopeKind(StrEnum):
    """What is summarised or counted."""

    WHOLE = "whole"
    """All documents."""
    PART = "part"
    """A document or a section."""
    TOPIC = "topic"
    """What the documents say about ``subject``."""
    THING = "thing"
    """What they say about the entity ``subject``: a language model gets the graph around it, not
    community reports."""
    RANKING = "ranking"
    """The entities of a type, by how often they are mentioned; ``subject`` is the word for them."""
    LISTING = "listing"
    """The titles of documents or sections, and their number; ``subject`` is the word for them."""
    MENTIONS = "mentions"
    """How often, and where, ``subject`` is mentioned."""


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What a question asks for. See `ScopeKind` for ``subject``.

    ``named`` is a phrase that may name a document or section, which is then summarised, or searched
    for the topic. A scope that is not ``is_sure`` holds only if there is such a document. ``limit``
    is the number of entities asked for, 0 if none is stated. ``by_importance`` asks for important
    entities rather than for those mentioned often. ``names_text`` is True for a document or section
    that a word for texts names, as in "the page on storms".
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False
    names_text: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")
_MOST_NAME_WORDS = 12
_NO_TEXT = frozenset(["to", "you", "i", "we", "can", "could", "do", "would", "should"])


def strip_text_nouns(phrase: str, language: Language) -> str:
    """Return a phrase without words for texts: "travel" for "the travel chapter"."""
    bare = language.scopes["determiner"].sub(phrase)
    text = language.scopes["text"].match(simplify(bare))
    return (bare[: text.end("rest")] if text else bare).strip()


def read_scope(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of a question with single spaces; None if it matches no form."""
    return (
        _read_count(text, language)
        or _read_listing(text, language)
        or _read_summary(text, language)
        or _read_topic(text, language)
        or _read_subject(text, language)
    )


def _find(text: str, forms: Sequence[Words]) -> dict[str, str] | None:
    """Return the words of a text for each group of the first form that it has."""
    simple = simplify(text)
    for form in forms:
        if found := form.search(simple):
            spans = ((name, found.span(name)) for name in found.re.groupindex)
            return {name: text[start:end] if start >= 0 else "" for name, (start, end) in spans}
    return None


def _read_count(text: str, language: Language) -> QuestionScope | None:
    if ranked := _find(text, language.scope_forms["rankings"]):
        most = ranked.get("most", "").casefold()
        return QuestionScope(
            ScopeKind.RANKING,
            ranked["noun"].casefold(),
            limit=int(ranked.get("limit") or 0),
            by_importance=bool(most) and not _MENTIONED_OFTEN.search(most),
        )
    counted = _find(text, language.scope_forms["mentions"])
    return QuestionScope(ScopeKind.MENTIONS, _bare(counted["subject"])) if counted else None


def _read_listing(text: str, language: Language) -> QuestionScope | None:
    listed = _find(text, language.scope_forms["listings"])
    if listed is None:
        return None
    where, noun = listed.get("where", "").strip(), listed["noun"] or listed.get("other", "")
    where = "" if _means_all(where, language) else where
    return QuestionScope(ScopeKind.LISTING, noun.casefold(), where, is_sure=False)


def _read_summary(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "summarise …" and "an overview of …"."""
    if language.scopes["bare"].match(simplify(text)):
        return QuestionScope(ScopeKind.WHOLE)
    found = _find(text, (language.scopes["summary"],))
    if found is None or _asks_for_fact(found["target"], found, language):
        return None
    # "Summarize what the documents say about storms" is about storms.
    return _read_topic(found["target"], language) or _of_target(
        found["target"], language, otherwise=ScopeKind.TOPIC
    )


def _read_topic(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "what do the documents say about …"."""
    found = _find(text, language.scope_forms["said"])
    if found is None:
        return None
    where = found.get("where") or found.get("place", "")
    topic = QuestionScope(ScopeKind.TOPIC, found["subject"], where)
    if _means_all(where, language):
        return replace(topic, named="")
    if "place" not in found:
        return topic
    if len(where.split()) > _MOST_NAME_WORDS or where.split()[0].casefold() in _NO_TEXT:
        return None
    # "the maintenance chapter" means a part of the corpus; for "BBC article" one must exist.
    is_ours = (
        language.scopes["text"].match(where) is not None
        and language.scopes["determiner"].match(where) is not None
    )
    return replace(topic, is_sure=is_ours and where == where.lower())


def _read_subject(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "describe …", "what is … about" and the like."""
    told = _find(text, (language.scopes["tell"],))
    if told and not _asks_for_fact(told["target"], told, language):
        target = told["target"]
        if _means_all(target, language) or language.scopes["titled"].search(simplify(target)):
            return _of_target(target, language, otherwise=ScopeKind.PART)
    # "Tell me about Ada" is about her, even if a document has her name as its title.
    told = _find(text, (language.scopes["tell_all"],))
    if told and not _asks_for_fact(told["subject"], told, language):
        return QuestionScope(ScopeKind.THING, told["subject"])
    found = _find(text, language.scope_forms["about"])
    if found is None:
        return None
    target = found.get("target") or found.get("topic", "")
    return _of_target(target, language, otherwise=ScopeKind.PART)


def _asks_for_fact(target: str, found: Mapping[str, str], language: Language) -> bool:
    """Return True for "归纳法是谁提出的", which begins with a word for summaries."""
    return not found.get("once") and language.scopes["fact"].search(simplify(target)) is not None


def _of_target(target: str, language: Language, *, otherwise: ScopeKind) -> QuestionScope | None:
    """Return the scope of a phrase: all documents, or else of the kind ``otherwise``.

    None if the phrase is too long to be a name.
    """
    target = target.removesuffix("的")
    if _means_all(target, language):
        return QuestionScope(ScopeKind.WHOLE)
    if otherwise is ScopeKind.PART and len(target.split()) > _MOST_NAME_WORDS:
        return None
    name = _bare(target)
    is_text = language.scopes["titled"].search(simplify(target)) is not None
    is_sure = otherwise is ScopeKind.TOPIC
    return QuestionScope(otherwise, name, name, is_sure=is_sure, names_text=is_text)


def _means_all(phrase: str, language: Language) -> bool:
    return not phrase or language.scopes["whole"].fullmatch(simplify(phrase)) is not None


def _bare(phrase: str) -> str:
    """Return a phrase without surrounding quotes."""
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")


MOST_PARTS = 4
"""A text with more questions is not divided: it is a list of tasks."""

_LONGEST_SCOPED = 240
_LONGEST_DIVIDED = 400
_KEPT_READINGS = 64
_LEAST_WHOLE = 0.75
"""The least probability that a question asks for a summary of everything, for one that does."""
_SUMMARIES = (QuestionKind.SUMMARY_ONE, QuestionKind.SUMMARY_ALL, QuestionKind.COUNT)
_MAY_ASK_MORE = re.compile(
    r"\b(?:and|but|vs|versus|compare|differ\w*|distinction)\b|;|[?!.]\s+\S"
    r"|,\s+(?:\w+\s+)?(?:wh(?:o|at|ich|en|ere|y)|how)",
    re.IGNORECASE,
)
"""Matches every English question that can be divided."""


FULL, PARTIAL = 1.0, 0.5


class AnswerKind(StrEnum):
    """A kind of answer that the form of a sentence shows."""

    AMOUNT = "amount"
    DEFAULT = "default"
    DATE = "date"


_NUMBER_WORD = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    "fifty|sixty|hundred|thousand|million|billion|half|quarter|third|twice|double|once|zero|"
    "unlimited|dozen"
)
_AMOUNT = re.compile(
    rf"(?<![\w.-])[-+]?\d[\d,.]*(?:\s?%|[^\W\d_]{{0,3}})?(?!\w)|\b(?:{_NUMBER_WORD})\b"
    rf"|[一二两三四五六七八九十百千万亿半]+\s?[{HAN}]|\d+",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much (?!time|longer|later)")
_DEFAULT = re.compile(r"\bdefaults?\b|默认|缺省|预设", re.IGNORECASE)
_DATE = re.compile(
    r"\b1[5-9]\d\d\b|\b20\d\d\b|\b\d{1,2}:\d\d\b|\b(?:January|February|March|April|May|June|July"
    r"|August|September|October|November|December)\b|\d+\s?[年月日]|世纪|\bcentury\b"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The kinds of answer that a question expects; ``asked`` is its case-folded text."""

    asked: str
    kinds: frozenset[AnswerKind]
    dimensions: frozenset[str] = frozenset()

    def allows(self, words: str) -> bool:
        """Return False for words with a unit of another dimension than those asked for alone."""
        if not self.dimensions:  # "how much" is no time
            is_time = DIMENSIONS["duration"].units.search(words)
            return not (is_time and _HOW_MUCH.search(self.asked))
        if self.dimensions == {"clock"}:
            return self.has_unit(words)
        had = {name for name, held in DIMENSIONS.items() if held.units.search(words)}
        return not had or bool(had & self.dimensions)

    def has_unit(self, words: str) -> bool:
        """Return True if words have a unit of a dimension that is asked for."""
        return any(DIMENSIONS[name].units.search(words) for name in self.dimensions)

    def is_asked_by(self, words: str) -> bool:
        """Return True if words have, or ask for, a dimension that is asked for."""
        return any(
            DIMENSIONS[name].units.search(words) or DIMENSIONS[name].asks.search(words)
            for name in self.dimensions
        )

    def met_by(self, sentence: str) -> float:
        """Return how well a sentence has the expected kinds of values, from 0 to 1.

        Values that the question itself contains do not count.
        """
        met = 0.0
        if AnswerKind.DEFAULT in self.kinds and _DEFAULT.search(sentence):
            met = PARTIAL
        if AnswerKind.AMOUNT in self.kinds and self._is_new(_AMOUNT, sentence):
            met = FULL if met or AnswerKind.DEFAULT not in self.kinds else PARTIAL
        elif met and AnswerKind.AMOUNT not in self.kinds:
            met = FULL
        if AnswerKind.DATE in self.kinds and self._is_new(_DATE, sentence):
            met = FULL
        if "clock" in self.dimensions:
            met = FULL if DIMENSIONS["clock"].units.search(sentence) else 0.0
        return met

    def _is_new(self, form: re.Pattern[str], sentence: str) -> bool:
        return any(
            found[0].casefold().strip() not in self.asked for found in form.finditer(sentence)
        )


class Extent(StrEnum):
    """How much of the documents a question is about: all, a thing and its relations, a passage."""

    ALL = "all"
    THING = "thing"
    PASSAGE = "passage"


_EXTENTS = {
    ScopeKind.WHOLE: Extent.ALL,
    ScopeKind.TOPIC: Extent.ALL,
    ScopeKind.RANKING: Extent.ALL,
    ScopeKind.THING: Extent.THING,
}


def _asks_for(name: str) -> cached_property[bool]:
    return cached_property(
        lambda self: any(each.words[name].search(self.simple) for each in self._languages)
    )


@dataclass(frozen=True)
class QuestionReading:
    """A question, and what its words ask; see `reading_of`."""

    text: str

    @cached_property
    def plain(self) -> str:
        """The question with single spaces."""
        return " ".join(self.text.split())

    @cached_property
    def simple(self) -> str:
        """The question in simplified characters; offsets are those of the text."""
        return simplify(self.text)

    @cached_property
    def language(self) -> str:
        """The code of its language, "" if it is unclear."""
        return detect_language(self.text)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Its content terms in order, each once."""
        return tuple(dict.fromkeys(content_terms(self.text)))

    @cached_property
    def _languages(self) -> tuple[Language, ...]:
        """The languages whose words it may have."""
        # The title in "总结一下《Almanac》" may be longer than the rest.
        return (CHINESE, ENGLISH) if HAN_CHARACTER.search(self.text) else (ENGLISH,)

    @cached_property
    def _own_language(self) -> Language:
        """The language whose rules it follows."""
        count = len(HAN_CHARACTER.findall(self.plain))
        return CHINESE if count * 4 >= len(self.plain) > 0 else ENGLISH

    @cached_property
    def kinds(self) -> dict[QuestionKind, float]:
        """The probabilities of the kinds of answer that it expects, the most probable first."""
        return read_kinds(self.text)

    asks_yes_or_no = _asks_for("yes_no")
    """Whether it can be answered with yes or no."""
    asks_name = _asks_for("name")
    """Whether it asks for a name: a person, an option, a program."""
    asks_who = _asks_for("who")
    """Whether it asks for a person."""
    asks_where = _asks_for("where")
    """Whether it asks for a place."""

    @cached_property
    def asked_when(self) -> Span | None:
        """Its words that ask for a time."""
        found = (language.words["when"].search(self.simple) for language in self._languages)
        return next((Span(*match.span()) for match in found if match), None)

    @cached_property
    def expected(self) -> Expectation:
        """The values that it expects."""
        asked = self.text.casefold().strip(" ?？")
        simple = simplify(asked)
        kinds = frozenset(
            kind
            for language in self._languages
            for kind, words in (
                (AnswerKind.AMOUNT, language.words["amount"]),
                (AnswerKind.DEFAULT, language.words["default"]),
                (AnswerKind.DATE, language.words["date"]),
            )
            if words.search(simple)
        )
        dimensions = (name for name, held in DIMENSIONS.items() if held.asks.search(simple))
        return Expectation(asked, kinds, frozenset(dimensions))

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """Its numbers and times, in order."""
        return tuple(read_amounts(self.text))

    @cached_property
    def comparisons(self) -> tuple[AmountComparison, ...]:
        """Its comparisons with amounts, in order; a range is two with the same span."""
        return tuple(read_comparisons(self.text, self.amounts))

    @cached_property
    def scope(self) -> QuestionScope | None:
        """What it asks to be summarised or counted; None for any other question."""
        if not 0 < len(self.plain) <= _LONGEST_SCOPED:
            return None
        scopes = (read_scope(self.plain, language) for language in self._languages)
        return next((scope for scope in scopes if scope is not None), None)

    def strip_text_nouns(self) -> str:
        """Return a phrase without words for texts: "travel" for "the travel chapter"."""
        return strip_text_nouns(self.text, self._own_language)

    @cached_property
    def extent(self) -> Extent:
        """How much of the documents it is about."""
        if self.scope is not None and self.scope.is_sure and self.scope.kind in _EXTENTS:
            return _EXTENTS[self.scope.kind]
        if self.kinds[QuestionKind.SUMMARY_ALL] >= _LEAST_WHOLE:
            return Extent.ALL
        language, simple = self._own_language, simplify(self.plain)
        if language.words["general"].match(simple):
            return Extent.ALL
        return Extent.THING if language.words["relations"].search(simple) else Extent.PASSAGE

    @cached_property
    def summarizing(self) -> float:
        """The probability that it asks for a summary or a count."""
        return sum(self.kinds[kind] for kind in _SUMMARIES)

    @cached_property
    def division(self) -> DividedQuestion | None:
        """Its parts; None if it asks for one thing, or for more than `MOST_PARTS`."""
        text = self.plain
        if len(text) > _LONGEST_DIVIDED:
            return None
        language = self._own_language
        if language is ENGLISH and not _MAY_ASK_MORE.search(text):
            return None  # compiling the forms of a language is slow
        return divide_question(text, language, most=MOST_PARTS)


@lru_cache(maxsize=_KEPT_READINGS)
def reading_of(text: str) -> QuestionReading:
    """Return the reading of a question, the same one for equal texts."""
    return QuestionReading(text)


def open_pronoun(sentence: str) -> re.Match[str] | None:
    """Return what a sentence begins with that stands for a name: a pronoun, "the company"."""
    return ENGLISH.words["pronoun"].match(sentence) or CHINESE.words["pronoun"].match(
        simplify(sentence)
    )
