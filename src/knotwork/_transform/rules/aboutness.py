"""Weigh how much a chunk is about its entities, from titles, headings, subjects and salience."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._text.languages import HAN_OR_KANA, word_list
from knotwork._text.names import STOP_NAMES, normal_form
from knotwork._transform.rules.chinese_sentences import HanSentence, han_subject
from knotwork._transform.rules.lexicon import (
    CALENDAR,
    CAPITAL,
    CODE,
    HAN,
    JOINERS,
    NUMBER,
    POSSESSIVE,
    SIGN,
    STARTERS,
    VERBS_OF_BEING,
    WORD,
    EnglishSentence,
    Token,
    common_words,
)
from knotwork._transform.rules.rule_settings import RuleSettings
from knotwork.records import Chunk


@dataclass(frozen=True, slots=True)
class WeightedTopic:
    """A topic that a title, a heading or a first sentence states, and its weight."""

    name: str
    form: str
    about: float


def title_topics(
    title: Title, parts: Iterable[tuple[str, str]], *, weight: float, settings: RuleSettings
) -> Iterator[WeightedTopic]:
    """Yield the topics of a title; ``parts`` are (name, form) of the names inside a phrase."""
    if title.form:
        yield WeightedTopic(title.text, title.form, weight)
        head, comma, _ = title.text.partition(",")
        if comma and not title.is_phrase and normal_form(head):
            yield WeightedTopic(head, normal_form(head), weight * settings.comma_title_about)
    for name, form in parts:
        yield WeightedTopic(name, form, weight * settings.title_part_about)


def title_weight(chunk: Chunk, *, headings: int, settings: RuleSettings) -> float:
    """Return how much a chunk is about its document's title."""
    if chunk.ordinal == 0:
        return settings.title_about
    return settings.later_title_about * settings.outer_heading_about ** max(0, headings - 1)


def heading_weights(chunk: Chunk, before: Chunk | None, settings: RuleSettings) -> list[float]:
    """Return how much a chunk is about each of its headings, outermost first."""
    opens = before is None or before.headings != chunk.headings
    nearest = settings.heading_about if opens else settings.later_heading_about
    depth = len(chunk.headings)
    return [nearest * settings.outer_heading_about ** (depth - 1 - level) for level in range(depth)]


def subject_topics(
    name: str, form: str, *, weight: float, settings: RuleSettings
) -> list[WeightedTopic]:
    """Return the topics of a first sentence's subject: itself and its short forms."""
    topics = [WeightedTopic(name, form, weight)]
    topics += [
        WeightedTopic(short, short, weight * settings.short_subject_about)
        for short in short_subjects(name)
        if short and short != form
    ]
    return topics


def salience(
    counts: Mapping[str, int], aliases: Mapping[str, str], settings: RuleSettings
) -> dict[str, float]:
    """Return each entity's share of the chunk's mentions as aboutness.

    Mentions of a short form also count for its full name in ``aliases``.
    """
    total = sum(counts.values())
    shares = dict(counts)
    for short, full in aliases.items():
        if short in counts and full in counts:
            shares[full] += counts[short]
    return {
        form: min(settings.most_salience_about, settings.salience_about * count / total)
        for form, count in shares.items()
    }


def strongest_topics(topics: Sequence[WeightedTopic]) -> dict[str, WeightedTopic]:
    """Return the strongest topic of each form, in order of first appearance."""
    best: dict[str, WeightedTopic] = {}
    for topic in topics:
        known = best.get(topic.form)
        if known is None or topic.about > known.about:
            best[topic.form] = topic
    return best


def salient_topic(counts: Mapping[str, int], types: Mapping[str, str]) -> str:
    """Return the entity mentioned most often, at least twice, except dates and numbers; or ""."""
    return most_mentioned(
        (form, count)
        for form, count in counts.items()
        if types.get(form, "") not in {"DATE", "NUMBER"}
    )


_MARKUP_SIGNS = frozenset("\"“”«»‘’'*_#`")
_ENDS = frozenset(",(（[–—，")
_BRIDGING_SIGNS = frozenset(":–—")
_BEING = frozenset({"is", "are", "was", "were"})
_AFTER_BEING = frozenset({"a", "an", "the", "one", "any", "both"})
_QUOTED_SUBJECT = re.compile(
    r"[\s*_#]*(?:The |the )?(?:[\"“«]|``)\s?([^\"“”«»`\n]{2,80}?)\s?(?:[\"”»]|'')"
    r"\s*(?:is\b|was\b|are\b|were\b|[(（])"
)
_NICKNAME = re.compile(r"\s*[\"“]([^\"“”]+)[\"”]\s*")
_DEFINITION = re.compile(
    r"[\s\"“”»'’*_]*(?:"
    r"[(（]\s*(?:born|b\.|c\.|d\.|died|née?|[^()（）]{0,60}\d)"
    r"|(?:[(（\[][^()（）\]]{0,120}[)）\]]\s*)?(?:,[^.;!?]{1,120},\s*)?,?\s*"
    r"(?:(?:also|formerly|often|originally|commonly|better|officially|sometimes)\s[^.;]{0,80}?)?"
    r"\b(?:is|was|are|were)\s+(?:an?|the|one|any|both|born|located|among)\b)"
)
_HAN_DEFINITION = re.compile(r"[\s》」』”*_]*(?:[(（][^()（）]{0,80}[)）])?[^。！？]{0,12}[是為为]")
_LONGEST_DEFINED = 5
_LONGEST_BEFORE_BEING = 3
_INSIDE_SIGNS = _MARKUP_SIGNS | {"&", "!", "-", "."}
_INSIDE_WORDS = JOINERS | {"or", "a", "an", "by", "into", "over", "under"}
_ARTICLES = frozenset({"the", "a", "an"})


def find_subject(sentence: EnglishSentence | HanSentence) -> tuple[int, int] | None:
    """Return the start and end of the subject of a first sentence, or None if it is not clear.

    The subject is a quotation at the start, or the capitalised name that opens the sentence before
    a bracket, comma or verb, or the few words before "is a". In Chinese, it is the nouns before 是,
    为 or a punctuation mark.
    """
    if isinstance(sentence, HanSentence):
        return han_subject(sentence)
    quoted = _QUOTED_SUBJECT.match(sentence.text)
    if quoted is not None:
        return quoted.span(1)
    tokens = sentence.tokens
    first = 0
    while (
        first < len(tokens) and tokens[first].kind == SIGN and tokens[first].text in _MARKUP_SIGNS
    ):
        first += 1
    if first == len(tokens):
        return None
    named = _named_subject(tokens, first, through=True) or _named_subject(
        tokens, first, through=False
    )
    defined = _defined_subject(tokens, first)
    # "Cotula australis is a": the apparent verb belongs to the name.
    return defined if defined and (named is None or defined[1] > named[1]) else named


def defines_subject(sentence: EnglishSentence | HanSentence, end: int) -> bool:
    """Return True if the sentence defines the subject that ends at ``end``.

    "X (born 1920) was a", "X, a city, is the" and "X是" define X; "X said on Monday" does not.
    """
    pattern = _HAN_DEFINITION if isinstance(sentence, HanSentence) else _DEFINITION
    return pattern.match(sentence.text, end) is not None


def _named_subject(tokens: Sequence[Token], first: int, *, through: bool) -> tuple[int, int] | None:
    """Return the name that opens a sentence; ``through`` continues after a colon or dash."""
    begin = first + (tokens[first].lower in _ARTICLES)
    last = -1
    position = begin
    while position < len(tokens):
        token = tokens[position]
        if token.kind in {CAPITAL, NUMBER, HAN} or (token.kind == CODE and position == begin):
            last = position
        elif not (
            token.kind == POSSESSIVE
            or (token.kind == SIGN and token.text in _INSIDE_SIGNS)
            or (token.kind == WORD and token.lower in _INSIDE_WORDS and last >= 0)
            or (through and token.text in _BRIDGING_SIGNS and position == last + 1)
        ):
            break
        position += 1
    if last < 0 or position == len(tokens) or position - last > 2 or last - begin > 12:
        return None
    if tokens[begin].lower.endswith("ed") and tokens[begin + 1].kind == WORD:
        return None  # Produced by, Released in
    if not _ends_subject(tokens[position], tokens[last]):
        return None
    if not _opens_subject(tokens, begin, last, position):
        return None
    return tokens[begin].start, tokens[last].end


def _ends_subject(token: Token, before: Token) -> bool:
    if token.kind == SIGN:
        return token.text in _ENDS and token.start - before.end < 3
    return token.kind == WORD and (
        token.lower in VERBS_OF_BEING or token.lower.endswith(("ed", "es", "s", "ew", "ote", "an"))
    )


def _opens_subject(tokens: Sequence[Token], begin: int, last: int, end: int) -> bool:
    """Return True if a run can be a name, not an adverbial ("In 1999, ...") or a pronoun."""
    opening = tokens[begin]
    if opening.lower in STARTERS or opening.lower in CALENDAR or opening.kind == NUMBER:
        named = any(t.kind == CAPITAL for t in tokens[begin + 1 : last + 1])
        function_word = opening.lower not in STARTERS or opening.lower in STOP_NAMES
        return named and function_word and _defines(tokens, end)
    if begin == last:
        return opening.lower not in common_words() or tokens[end].text in {"(", "is", "are", "（"}
    return True


def _defines(tokens: Sequence[Token], position: int) -> bool:
    """Return True if "is a" or an opening bracket starts at this position."""
    token = tokens[position]
    if token.lower in _BEING and position + 1 < len(tokens):
        return tokens[position + 1].lower in _AFTER_BEING
    return token.text in {"(", "（"}


def _defined_subject(tokens: Sequence[Token], first: int) -> tuple[int, int] | None:
    article = tokens[first].lower in _ARTICLES
    begin = first + article
    for position in range(begin, min(begin + _LONGEST_DEFINED + 1, len(tokens))):
        token = tokens[position]
        short = article and position - begin <= _LONGEST_BEFORE_BEING
        defines = _defines(tokens, position) or (short and token.lower in _BEING)
        if position > begin and defines:
            return tokens[begin].start, tokens[position - 1].end
        if token.kind > NUMBER or (position == begin and not article and token.lower in STARTERS):
            return None
        if token.lower in _BEING or token.lower.endswith("ed"):
            return None
    return None


def short_subjects(name: str) -> Iterator[str]:
    """Yield "first last" and "first second" of a name of three words or more, as normal forms.

    Robert "Bob" Starr also yields Bob Starr, and M. Irsadi Aksun yields Irsadi Aksun.
    """
    nickname = _NICKNAME.search(name)
    if nickname is not None and nickname.end() < len(name):
        name = f"{name[: nickname.start()]} {name[nickname.end() :]}"
        yield normal_form(f"{nickname[1]} {name.split()[-1]}")
        yield normal_form(name)
    words = normal_form(name).split(" ")
    if len(words) < 3 or {"of", "the", "and"} & set(words):
        return
    if len(words[0]) == 1:
        yield " ".join(words[1:])
    yield f"{words[0]} {words[-1]}"
    if len(words) > 3 or words[1] not in JOINERS:
        yield f"{words[0]} {words[1]}"


def most_mentioned(forms: Iterable[tuple[str, int]]) -> str:
    """Return the form with the highest count of at least two, or ""; ties go to the first."""
    best, most = "", 1
    for form, count in forms:
        if count > most:
            best, most = form, count
    return best


_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_NUMBERING = re.compile(
    r"^\s*(?:#+\s*)?(?:"
    r"(?:chapter|section|part|appendix|article|book|volume|annex)\s+(?:[ivxlc]+|\d+|[a-z])\b"
    r"\s*[.:—–-]*\s*"
    r"|\d{1,2}(?:\.\d+)*[.)、．:]?\s+|\d+(?:\.\d+)+[.)]?\s*|[ivxlc]{1,6}[.)]\s+|[a-z][.)]\s+"
    r"|第[\d一二三四五六七八九十百零〇]+[章节節回篇部条條卷编編][\s:：、.]*"
    r"|[（(]?[一二三四五六七八九十]{1,3}[）)、．.]\s*|\d+、\s*"
    r")",
    re.IGNORECASE,
)
_LONGEST_READ = 400
_TITLE_MARKUP = re.compile(r"[*_`#]+|\s+#+$")
_CODE_TITLE = re.compile(r"[a-z]{0,4}[\W_]*\d+(?:[\W_]*\d+)*[a-z]?", re.IGNORECASE)
_NUMBERED_TITLE = re.compile(
    r"(?:novel|doc|document|file|page|text|chapter|part|section|slide|sheet|scan|img|image|untitled"
    r"|article|passage|note|notes|draft|copy|report|book|story|figure|table|appendix|文档|文件|第)"
    r"[\W_]*\d*[\W_]*",
    re.IGNORECASE,
)
_GENERIC_FORMS = frozenset(
    map(normal_form, word_list("en", "generic_titles") + word_list("zh", "generic_titles"))
)


_SENTENCE_WORDS = STOP_NAMES - JOINERS - {"a", "an", "i", "my", "no"}


class Title(NamedTuple):
    """A title that names something: its text, its normal form, and whether it is a phrase.

    The topics of a phrase ("Why travel abroad must be approved") are the names inside it.
    """

    text: str
    form: str
    is_phrase: bool


def read_title(raw: str, *, longest_words: int, heading: bool = False) -> Title | None:
    """Return the name in a document's title or a heading, or None if it names nothing.

    Markup, file extensions and heading numbers are dropped. "Untitled 3", "AF01.md" and "Overview"
    name nothing.
    """
    text = _TITLE_MARKUP.sub("", raw[:_LONGEST_READ]).strip()
    bare = _EXTENSION.sub("", text)
    if bare != text and " " not in bare:
        if _CODE_TITLE.fullmatch(bare):
            return None
        text = re.sub(r"[_-]+", " ", bare).strip()
    if heading:
        text = _NUMBERING.sub("", text, count=1)
    text = text.strip(" \t:：.。、")
    if not text or _NUMBERED_TITLE.fullmatch(text):
        return None
    form = normal_form(text)
    words = text.split()
    han = len(HAN_OR_KANA.findall(text))
    number = form.isdigit() and (heading or len(form) < 3)
    if form in _GENERIC_FORMS or len(form) < 2 or number or not any(c.isalnum() for c in form):
        return None
    if len(words) > longest_words or han > 3 * longest_words:
        return Title(text, "", is_phrase=True)
    return Title(text, form, _is_phrase(words, text, han))


def _is_phrase(words: list[str], text: str, han: int) -> bool:
    if han:
        return han > 12 or any(sign in text for sign in "，：,:！？!?")
    small = sum(word[0].islower() and word.lower() not in JOINERS for word in words)
    if len(words) > 6 and small == 0:
        return any(word.lower() in _SENTENCE_WORDS for word in words)
    return len(words) > 6 or text.endswith("?") or (small > 1 and len(words) > 4)
