"""What a text without a title is about: the subject of its first sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from knotwork.text.names import STOP_NAMES, normal_form
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
    JOINERS,
    STARTERS,
    VERBS_OF_BEING,
    common_words,
)

_MARKUP = frozenset("\"“”«»‘’'*_#`")
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
_INSIDE_SIGNS = _MARKUP | {"&", "!", "-", "."}
_INSIDE_WORDS = JOINERS | {"or", "a", "an", "by", "into", "over", "under"}
_ARTICLES = frozenset({"the", "a", "an"})


def find_subject(sentence: Sentence | HanSentence) -> tuple[int, int] | None:
    """Return where the subject of a first sentence stands, or None when it has none to see.

    It is what is quoted at its start; or the capitalised name that opens it, before a bracket,
    comma or verb; or the few words before "is a"; in Chinese, nouns before 是, 为 or a mark.
    """
    if isinstance(sentence, HanSentence):
        return han_subject(sentence)
    quoted = _QUOTED_SUBJECT.match(sentence.text)
    if quoted is not None:
        return quoted.span(1)
    tokens = sentence.tokens
    first = 0
    while first < len(tokens) and tokens[first].kind == SIGN and tokens[first].text in _MARKUP:
        first += 1
    if first == len(tokens):
        return None
    named = _named_subject(tokens, first, through=True) or _named_subject(
        tokens, first, through=False
    )
    defined = _defined_subject(tokens, first)
    # "Cotula australis is a": what looked like a verb belongs to the name.
    return defined if defined and (named is None or defined[1] > named[1]) else named


def defines_subject(sentence: Sentence | HanSentence, end: int) -> bool:
    """Say whether the sentence goes on to define the subject that ends at ``end``.

    "X (born 1920) was a", "X, a city, is the", "X是" tell what X is; "X said on Monday" does not.
    """
    pattern = _HAN_DEFINITION if isinstance(sentence, HanSentence) else _DEFINITION
    return pattern.match(sentence.text, end) is not None


def _named_subject(tokens: Sequence[Token], first: int, *, through: bool) -> tuple[int, int] | None:
    """Return the name that opens a sentence; ``through`` reads on behind a colon or dash."""
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
    """Say whether a run can be a name, and not an adverbial ("In 1999, ...") or a pronoun."""
    opening = tokens[begin]
    if opening.lower in STARTERS or opening.lower in CALENDAR or opening.kind == NUMBER:
        named = any(t.kind == CAPITAL for t in tokens[begin + 1 : last + 1])
        function_word = opening.lower not in STARTERS or opening.lower in STOP_NAMES
        return named and function_word and _defines(tokens, end)
    if begin == last:
        return opening.lower not in common_words() or tokens[end].text in {"(", "is", "are", "（"}
    return True


def _defines(tokens: Sequence[Token], position: int) -> bool:
    """Say whether "is a" or an opening bracket stands here."""
    token = tokens[position]
    if token.lower in _BEING and position + 1 < len(tokens):
        return tokens[position + 1].lower in _AFTER_BEING
    return token.text in {"(", "（"}


def _defined_subject(tokens: Sequence[Token], first: int) -> tuple[int, int] | None:
    """Return the words of "The leopard cat is", without the article, or of "Graph search is a"."""
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

    Robert "Bob" Starr is Bob Starr too, and M. Irsadi Aksun Irsadi Aksun.
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
    """Return the form with the highest count of at least two, the first among equals."""
    best, most = "", 1
    for form, count in forms:
        if count > most:
            best, most = form, count
    return best
