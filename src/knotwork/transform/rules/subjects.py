"""What a text without a title is about: the subject of its first sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from knotwork.transform.rules.chinese import HanSentence, han_subject
from knotwork.transform.rules.tokens import (
    CAPITAL,
    CODE,
    HAN,
    NUMBER,
    POSSESSIVE,
    SIGN,
    WORD,
    Sentence,
    Token,
)
from knotwork.transform.rules.vocabulary import (
    CALENDAR,
    HONORIFICS,
    JOINERS,
    PRONOUNS,
    STARTERS,
    VERBS_OF_BEING,
    common_words,
)

_MARKUP = frozenset("\"“”«»‘’'*_#`")
_ENDS = frozenset(",(（[–—:，")
_NEVER_NAMES = CALENDAR | STARTERS
_INSIDE_SIGNS = _MARKUP | {"&", "!", "-", "."}
_INSIDE_WORDS = JOINERS | {"or", "a", "an"}
_ARTICLES = frozenset({"the", "a", "an"})
_TITLE_WORDS = """
    my your our his her their all no every what who how if some this that we two one let between
    under up down over out do not never once when where why only just still such"""
_TITLE_OPENERS = frozenset(_TITLE_WORDS.split())
"""Words in front of names only by chance, but at the start of titles."""


def find_subject(sentence: Sentence | HanSentence) -> tuple[int, int] | None:
    """Return where the subject of a first sentence stands, or None when it has none to see.

    It is the capitalised name that opens the sentence, before a bracket, comma or verb; or one to
    three words behind an article and before "is" or "was"; in Chinese, nouns before 是, 为 or a
    mark.
    """
    if isinstance(sentence, HanSentence):
        return han_subject(sentence)
    tokens = sentence.tokens
    first = 0
    while first < len(tokens) and tokens[first].kind == SIGN and tokens[first].text in _MARKUP:
        first += 1
    article = first < len(tokens) and tokens[first].lower in _ARTICLES
    return _named_subject(tokens, first, article=article) or (
        _common_subject(tokens, first + 1) if article else None
    )


def _named_subject(tokens: Sequence[Token], first: int, *, article: bool) -> tuple[int, int] | None:
    begin = first + article
    last = -1
    position = begin
    while position < len(tokens):
        token = tokens[position]
        if token.kind in {CAPITAL, NUMBER, CODE, HAN}:
            last = position
        elif not (
            token.kind == POSSESSIVE
            or (token.kind == SIGN and token.text in _INSIDE_SIGNS)
            or (token.kind == WORD and token.lower in _INSIDE_WORDS and last >= 0)
        ):
            break
        position += 1
    if last < 0 or position == len(tokens) or position - last > 2 or last - begin > 12:
        return None
    if tokens[position].text == ":" or not _ends_subject(tokens[position], tokens[last]):
        return None
    if not _opens_subject(tokens, begin, last, ends_in=tokens[position]):
        return None
    start = tokens[first if article and first == begin else begin].start
    return start, tokens[last].end


def _ends_subject(token: Token, before: Token) -> bool:
    if token.kind == SIGN:
        return token.text in _ENDS and token.start - before.end < 3
    return token.kind == WORD and (
        token.lower in VERBS_OF_BEING or token.lower.endswith(("ed", "es", "s", "ew", "ote", "an"))
    )


def _opens_subject(tokens: Sequence[Token], begin: int, last: int, *, ends_in: Token) -> bool:
    """Say whether a run can be a name, and not an adverbial ("In 1999, ...") or a pronoun."""
    opening = tokens[begin]
    if all(t.kind == NUMBER or t.lower in _NEVER_NAMES for t in tokens[begin : last + 1]):
        return begin != last and ends_in.lower in {"is", "was", "("} and opening.kind != NUMBER
    if opening.lower in STARTERS or opening.lower in PRONOUNS:
        named = tokens[begin + 1].kind == CAPITAL and opening.lower in _TITLE_OPENERS
        return named and ends_in.lower in {"is", "was", "are", "were", "("}
    if begin == last:
        return opening.lower not in common_words() or ends_in.text in {"(", "is", "are", "（"}
    return opening.lower not in HONORIFICS or begin != last


def _common_subject(tokens: Sequence[Token], begin: int) -> tuple[int, int] | None:
    """Return the words of "The leopard cat is", without the article."""
    for position in range(begin + 1, min(begin + 4, len(tokens))):
        if tokens[position].lower in {"is", "are", "was", "were"}:
            return tokens[begin].start, tokens[position - 1].end
        if tokens[position].kind == SIGN:
            if tokens[position].text == "(" and tokens[position - 1].kind <= CAPITAL:
                return tokens[begin].start, tokens[position - 1].end
            return None
    return None


def short_subjects(form: str) -> Iterator[str]:
    """Yield "first last" and "first second" of a name of three words or more."""
    words = form.split(" ")
    if len(words) < 3 or {"of", "the", "and"} & set(words):
        return
    yield f"{words[0]} {words[-1]}"
    if len(words) > 3 or words[1] not in JOINERS:
        yield f"{words[0]} {words[1]}"


def most_mentioned(forms: Iterable[tuple[str, int]]) -> str:
    """Return the form with the highest count of at least two, the first among equals."""
    best, most = "", 1
    for form, count in forms:
        if count > most:
            best, most = form, count
    return best
