"""Find names in English sentences, and repeated noun phrases in documents.

Names are runs of capitalised words and numbers, quoted titles, and code. A run with a joining word,
such as "Bishop of Elmham", also yields its parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._text.languages import word_set
from knotwork._text.names import STOP_NAMES, normal_form
from knotwork._transform.rules.lexicon import (
    CALENDAR,
    CAPITAL,
    CODE,
    DATE,
    GENERIC_HEADS,
    HAN,
    HONORIFICS,
    JOINERS,
    LOOSE_JOINERS,
    NOBLE_TITLES,
    NUMBER,
    ORGANIZATION_ENDS,
    PARTICLES,
    PLACE_ENDS,
    POSSESSIVE,
    SIGN,
    STARTERS,
    WORD,
    EnglishSentence,
    Occurrence,
    Token,
    common_words,
    noun_type,
    place_names,
    technical_type,
)

_OPENERS = frozenset('"“‘«:•*–—#>|;?!.')
_QUOTED = re.compile(
    r"(?:[\"“«]|``)\s?([^\"“”«»`\n]{2,80}?)\s?(?:[\"”»]|'')|(?<!\w)[‘']([A-Z][^'‘’\n]{2,60})['’](?!\w)"
)
_NUMBER_NAME = re.compile(r"1\d{3}\b|20\d\d\b|\d+(?:st|nd|rd|th|[A-Z])|\d{1,3}(?:-|$)")
_QUOTE = re.compile(r"[\"“«‘'`]")
_CONTRACTION = re.compile(r"(?:n['’]t|['’](?:ve|re|ll|d|m))$")
_AFTER_NO_TITLE = ORGANIZATION_ENDS | PLACE_ENDS | {"electric", "edward"}
_COMPANY_TAILS = frozenset({"inc.", "ltd.", "inc", "ltd", "llc", "plc"})
_CALLED = re.compile(
    r"\b[Tt]he ([a-z][a-z\d]*(?:[+.-][a-z\d]+)*)"
    r"(?= (?:package|command|utility|daemon|parameter|directive|option|function|library)\b)"
)
_BEFORE_YEAR = frozenset({"in", "since", "by", "from", "until", "after", "before"})


class NameEvidence(NamedTuple):
    """Evidence from a whole document on which words are names."""

    lower: frozenset[str]
    """Words that occur in lower case."""
    capitalised: frozenset[str]
    """Words that occur with a capital inside a sentence, headlines excluded."""
    unnumbered: frozenset[str] = frozenset()
    """Words that also occur with a capital and without a number before them."""


def gather_evidence(sentences: Iterable[EnglishSentence]) -> NameEvidence:
    """Collect the words of a document that occur in lower case, and those with a capital."""
    lower: set[str] = set()
    capitalised: set[str] = set()
    unnumbered: set[str] = set()
    for sentence in checked(sentences):
        if sentence.headline:
            continue
        tokens = sentence.tokens
        lower.update([t.lower for t in tokens if t.kind == WORD])
        capitalised.update(
            [
                tokens[i].lower
                for i in sentence.marked
                if tokens[i].kind == CAPITAL and not opens(tokens, i)
            ]
        )
        unnumbered.update(
            tokens[i].lower
            for i in sentence.marked
            if tokens[i].kind == CAPITAL and (not i or tokens[i - 1].kind != NUMBER)
        )
    return NameEvidence(frozenset(lower), frozenset(capitalised), frozenset(unnumbered))


def find_names(sentence: EnglishSentence, evidence: NameEvidence) -> list[Occurrence]:
    """Return the names of a sentence; a name inside or around another one is marked as a part."""
    text, tokens = sentence.text, sentence.tokens
    quoted = list(_quoted_titles(text)) if _QUOTE.search(text) else []
    found: list[Occurrence] = list(quoted)
    runs: list[tuple[int, int]] = []
    for first, last in _name_runs(sentence, evidence):
        start, end = tokens[first].start, tokens[last].end
        inside = any(q.start <= start and end <= q.end for q in quoted)
        if inside and (
            last == first or any(normal_form(text[start:end]) == q.form for q in quoted)
        ):
            continue
        runs.append((first, last))
        found.extend(_name_and_parts(text, tokens, first, last, inside=inside))
    found.extend(_comma_names(text, tokens, runs))
    found.extend(_called(text))
    for position in sentence.marked:
        token = tokens[position]
        if token.kind == DATE:
            found.append(Occurrence(token.start, token.end, normal_form(token.text), "DATE"))
        elif token.kind == CODE and any(character.isalnum() for character in token.text):
            found.extend(_code(token))
        elif token.kind == HAN and 2 <= len(token.text) <= 12:
            found.append(Occurrence(token.start, token.end, normal_form(token.text)))
    return found


def opens(tokens: Sequence[Token], position: int) -> bool:
    """Return True at the start of a sentence or quotation, where any word has a capital."""
    if position == 0:
        return True
    before = tokens[position - 1]
    return before.kind == SIGN and (before.text in _OPENERS or position == 1)


def _name_runs(sentence: EnglishSentence, evidence: NameEvidence) -> Iterator[tuple[int, int]]:
    tokens = sentence.tokens
    behind = -1
    for position in sentence.marked:
        if position <= behind:
            continue
        token = tokens[position]
        if token.kind > NUMBER or not _is_name_word(token, evidence, headline=sentence.headline):
            continue
        behind = position
        while True:
            following = _continuation(tokens, behind, evidence, headline=sentence.headline)
            if following is None:
                break
            behind = following
        run = _trimmed(tokens, position, behind, evidence)
        if run is not None:
            yield run


def _is_name_word(token: Token, evidence: NameEvidence, *, headline: bool) -> bool:
    if headline and token.kind == CAPITAL and token.lower in common_words():
        return token.lower in evidence.capitalised and token.lower not in evidence.lower
    return token.kind in {CAPITAL, NUMBER}


def _continuation(
    tokens: Sequence[Token], last: int, evidence: NameEvidence, *, headline: bool
) -> int | None:
    """Return the next token of the run that ends at ``last``, skipping joiners; None at its end."""
    end = tokens[last].end
    for joiners, token in enumerate(tokens[last + 1 : last + 6]):
        position = last + 1 + joiners
        gap = token.start - end
        if gap > 2 or joiners > 3:
            return None
        if _is_planet(token, tokens[last]) and gap == 1:
            return position
        if token.kind == NUMBER:
            alone = tokens[last].kind == NUMBER
            return None if joiners or gap != 1 or alone else position
        if token.kind == CAPITAL:
            adverb = (
                token.lower in STARTERS
                and not token.text.isupper()
                and (joiners or not _is_capital(tokens, position + 1))
            )
            apart = gap or joiners or tokens[last].text[-1] == "."
            named = _is_name_word(token, evidence, headline=headline)
            return position if named and apart and not adverb else None
        if not _joins(token, tokens[last], gap):
            return None
        end = token.end
    return None


def _is_planet(token: Token, before: Token) -> bool:
    """Return True for the letter behind the number of a star: LHS 475 b."""
    return before.kind == NUMBER and len(token.text) == 1 and token.text in "bcdefgh"


def _is_capital(tokens: Sequence[Token], position: int) -> bool:
    return position < len(tokens) and tokens[position].kind == CAPITAL


def _joins(token: Token, before: Token, gap: int) -> bool:
    if token.kind == POSSESSIVE:
        return token.text not in "'’"
    if token.kind == SIGN:
        return token.text == "&" or (token.text in "–/" and gap == 0)
    if token.kind != WORD or token.lower not in JOINERS:
        return False
    return before.kind != NUMBER or token.lower in {"of", "the"}


def _trimmed(
    tokens: Sequence[Token], first: int, last: int, evidence: NameEvidence
) -> tuple[int, int] | None:
    """Remove words with a capital only as the start of a sentence; None if no name is left."""
    while first < last and (
        (tokens[first].lower in STARTERS and opens(tokens, first))
        or tokens[first].lower in {"the", "a", "an"}
        or tokens[first].kind in {WORD, SIGN, POSSESSIVE}
    ):
        first += 1
        while first < last and tokens[first].kind in {WORD, SIGN, POSSESSIVE}:
            first += 1
    opening = tokens[first]
    common = opening.lower in common_words() and opening.lower not in evidence.capitalised
    counted = last == first + 1 and tokens[last].lower in evidence.unnumbered
    if (
        opening.kind == NUMBER
        and first < last
        and (not _NUMBER_NAME.match(opening.text) or (counted and not YEAR.match(opening.text)))
    ):
        return _trimmed(tokens, first + 1, last, evidence)
    if first == last:
        return (first, last) if _names_alone(tokens, first, evidence, common=common) else None
    if (
        common
        and opens(tokens, first)
        and (opening.lower in evidence.lower or tokens[first + 1].lower in LOOSE_JOINERS)
    ):
        return _trimmed_of_common_word(tokens, first, last, evidence)
    return first, last


def _trimmed_of_common_word(
    tokens: Sequence[Token], first: int, last: int, evidence: NameEvidence
) -> tuple[int, int] | None:
    following = first + 1
    while following < last and tokens[following].kind not in {CAPITAL, NUMBER}:
        following += 1
    if following == last and tokens[last].kind == NUMBER:
        return None
    return _trimmed(tokens, following, last, evidence)


def _names_alone(
    tokens: Sequence[Token], position: int, evidence: NameEvidence, *, common: bool
) -> bool:
    token = tokens[position]
    if token.kind == NUMBER:
        return number_type(token.text) is not None
    if token.lower in CALENDAR or len(token.text.rstrip(".")) < 2:
        return False
    if _CONTRACTION.sub("", token.lower) in STARTERS:
        return token.text.isupper() and token.lower in STOP_NAMES and token.lower != "i"
    if opens(tokens, position):
        if (
            token.lower.endswith("ly")
            and tokens[position + 1 : position + 2]
            and (tokens[position + 1].text == ",")
        ):
            return False
        return not common and not (
            token.lower in evidence.lower and token.lower not in evidence.capitalised
        )
    return token.lower.rstrip(".") not in HONORIFICS and not (
        token.lower in evidence.lower and token.lower in common_words()
    )


def _name_and_parts(
    text: str, tokens: Sequence[Token], first: int, last: int, *, inside: bool
) -> Iterator[Occurrence]:
    start, end = tokens[first].start, tokens[last].end
    if first == last:
        name = text[start:end]
        kind = (number_type(name) or "") if tokens[first].kind == NUMBER else ""
        yield Occurrence(start, end, normal_form(name), kind, inside)
        return
    if YEAR.fullmatch(tokens[first].text):
        before = tokens[first - 1].lower if first else "in"
        whole = last > first + 1 and before not in _BEFORE_YEAR
        if whole:  # 2010 FIFA World Cup
            yield Occurrence(start, end, normal_form(text[start:end]), "", inside)
        yield Occurrence(start, tokens[first].end, tokens[first].text, "DATE", inside or whole)
        inside = inside or whole
        first += 1
    for begin, finish, main in segments(tokens, first, last):
        start, end = tokens[begin].start, tokens[finish].end
        yield Occurrence(start, end, normal_form(text[start:end]), "", inside or not main)
        bare = _without_title(tokens, begin, finish)
        if bare is not None:
            bare_start = tokens[bare].start
            yield Occurrence(bare_start, end, normal_form(text[bare_start:end]), "", part=True)
        if tokens[finish].kind == NUMBER and finish > begin:
            end = tokens[finish - 1].end
            if not is_generic(tokens, begin, finish - 1) and tokens[finish - 1].kind == CAPITAL:
                yield Occurrence(start, end, normal_form(text[start:end]), "", part=True)


def _without_title(tokens: Sequence[Token], first: int, last: int) -> int | None:
    """Return the position of a name after honorifics or initials: King Norodom, S. R. Kanagal."""
    bare = first
    while bare < last and (
        tokens[bare].lower in HONORIFICS
        or (tokens[bare].text[-1] == "." and len(tokens[bare].text) == 2 and bare + 1 < last)
    ):
        bare += 1
    if bare == first or tokens[bare].kind != CAPITAL or tokens[last].lower in _AFTER_NO_TITLE:
        return None
    return None if bare == last and is_generic(tokens, bare, bare) else bare


def _quoted_titles(text: str) -> Iterator[Occurrence]:
    """Yield quotations that are capitalised like a title."""
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] else 2
        title = match[group].lstrip()
        words = title.rstrip(",.!?;").split()
        if not 1 <= len(words) <= 12:
            continue
        small = sum(
            not (w[0].isupper() or w[0].isdigit()) and w.lower() not in JOINERS for w in words
        )
        if small or not (words[0][0].isupper() or words[0][0].isdigit()):
            continue
        start = match.end(group) - len(title)
        form = normal_form(title)
        if len(words) > 1 or (form not in STARTERS and len(form) > 1):
            yield Occurrence(start, start + len(title.rstrip(",.;'’")), form)


def _comma_names(
    text: str, tokens: Sequence[Token], runs: Sequence[tuple[int, int]]
) -> Iterator[Occurrence]:
    """Yield names with a comma: "Rochester, New York" and "Lambert, Margrave of Tuscany"."""
    for (first, last), (after, end) in pairwise(runs):
        if after != last + 2 or tokens[last + 1].text != "," or tokens[last].kind == NUMBER:
            continue
        behind = text[tokens[after].start : tokens[end].end]
        region = (
            normal_form(behind) in place_names()
            and normal_form(text[tokens[first].start : tokens[last].end]) not in place_names()
        )
        if region or tokens[after].lower in NOBLE_TITLES or tokens[after].lower in _COMPANY_TAILS:
            start = tokens[first].start
            form = normal_form(text[start : tokens[end].end])
            yield Occurrence(start, tokens[end].end, form, "", part=True)


def _code(token: Token) -> Iterator[Occurrence]:
    """Yield a name in code style, and for a path also its file name."""
    text = token.text
    start, end = token.start, token.end
    if text.startswith("`"):
        start, end, text = start + 1, end - 1, text.strip("`")
    stripped = text.rstrip(".,;:!?")
    end -= len(text) - len(stripped)
    yield Occurrence(start, end, normal_form(stripped), technical_type(stripped))
    last = stripped.rpartition("/")[2]
    if len(last) > 1 and last != stripped and "." in last and "://" not in stripped:
        yield Occurrence(end - len(last), end, normal_form(last), part=True)


def _called(text: str) -> Iterator[Occurrence]:
    """Yield lower-case names between an article and a technical noun: "the aide package"."""
    for match in _CALLED.finditer(text):
        if match[1] not in common_words():
            kind = noun_type(text, *match.span(1))
            plain = match[1].isalpha() and kind not in {"COMMAND", "PACKAGE", "SERVICE"}
            vague = plain or match[1].endswith(("ed", "ing"))
            yield Occurrence(*match.span(1), normal_form(match[1]), kind, doubtful=vague)


YEAR = re.compile(r"1\d{3}|20\d\d")


def number_type(text: str) -> str | None:
    """Return the type of a number that is a name on its own; None for any other number."""
    if YEAR.fullmatch(text):
        return "DATE"
    digits = sum(c.isdigit() for c in text)
    if not text[0].isdigit() or text[-1] == "%" or (text.replace(",", "").isdigit() and digits > 2):
        return "NUMBER"
    if not text[-1].isdigit() and text.isupper() and digits < len(text):
        return ""  # 5G, 3D
    return None


def segments(
    tokens: Sequence[Token], first: int, last: int, *, main: bool = True
) -> Iterator[tuple[int, int, bool]]:
    """Yield a run if it may be one name, and then its parts between joining words.

    The flag is True for the name itself and False for a part or a doubtful whole.
    """
    for cut in (_is_and, _is_loose, _is_possessive, _is_of):
        sides = _split_run(tokens, first, last, cut)
        if len(sides) == 1:
            continue
        whole = _holds_together(tokens, first, last, cut, sides)
        if whole:
            yield first, last, main and cut is not _is_loose
        if cut is _is_of and len(sides) > 2:
            yield from ((first, end, False) for _, end in sides[1:-1])
        main = main and (not whole or cut is _is_loose)
        for begin, end in sides:
            for part in segments(tokens, begin, end, main=main):
                if not is_generic(tokens, part[0], part[1]):
                    yield part
        return
    yield first, last, main


def _is_and(token: Token) -> bool:
    return token.lower in {"and", "&", "/"}


def _is_loose(token: Token) -> bool:
    return token.lower in LOOSE_JOINERS


def _is_possessive(token: Token) -> bool:
    return token.kind == POSSESSIVE


def _is_of(token: Token) -> bool:
    return token.lower in {"of", "for"}


def _split_run(
    tokens: Sequence[Token], first: int, last: int, cut: Callable[[Token], bool]
) -> list[tuple[int, int]]:
    sides: list[tuple[int, int]] = []
    begin = first
    for position in range(first + 1, last):
        if tokens[position].kind in {WORD, SIGN, POSSESSIVE} and cut(tokens[position]):
            end = position - 1
            while end > begin and tokens[end].lower in JOINERS and tokens[end].kind == WORD:
                end -= 1
            if end >= begin:
                sides.append((begin, end))
            begin = position + 1
            while (
                begin < last and tokens[begin].kind == WORD and tokens[begin].lower not in PARTICLES
            ):
                begin += 1
    sides.append((begin, last))
    return sides


def _holds_together(
    tokens: Sequence[Token],
    first: int,
    last: int,
    cut: Callable[[Token], bool],
    sides: list[tuple[int, int]],
) -> bool:
    """Return True if a joined run may be one name, rather than two adjacent names."""
    if last - first >= 14:
        return False
    if cut is _is_and and len(sides) == 2:
        (_, left), (right, _) = sides
        has_of = any(_is_of(token) for token in tokens[first:left])
        tail = tokens[left + 2 : last]
        if tokens[left + 2].text == "the":  # Harry Potter and the Goblet of Fire
            return not has_of
        short = has_of or min(left - first, last - right) == 0  # Pride and Prejudice
        return short and not any(_is_of(token) for token in tail)
    return cut not in {_is_and, _is_loose} or (cut is _is_loose and len(sides) == 2)


def is_generic(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Return True if a part is a single word that is not a name without the rest."""
    if first != last:
        return False
    token = tokens[first]
    if token.kind == NUMBER:
        return number_type(token.text) is None
    return (
        token.lower.rstrip(".") in GENERIC_HEADS
        or token.lower in STARTERS
        or token.lower in CALENDAR
        or token.lower in common_words()
        or len(token.text.rstrip(".")) < 2
    )


_LONGEST_PHRASE = 4
_NEVER_INSIDE = word_set("en", "never_inside_terms")


def repeated_phrases(sentences: Iterable[EnglishSentence], *, repeats: int) -> dict[str, int]:
    """Return phrases of two to four words that occur at least ``repeats`` times, with their counts.

    A phrase inside a longer one counts only if it also occurs often enough outside it.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for sentence in checked(sentences):
        for run in _phrase_runs(sentence.tokens):
            size = len(run)
            for length in range(2, min(_LONGEST_PHRASE, size) + 1):
                counts.update([tuple(run[i : i + length]) for i in range(size - length + 1)])
    kept = {words: count for words, count in counts.items() if count >= repeats}
    longest_first = sorted(kept.items(), key=lambda item: (-len(item[0]), item[0]))
    for words, count in longest_first:
        for length in range(2, len(words)):
            for start in range(len(words) - length + 1):
                inner = words[start : start + length]
                if kept.get(inner, 0) and kept[inner] - count < repeats:
                    kept[inner] = 0
    return {
        " ".join(words): count for words, count in kept.items() if count and _is_noun_phrase(words)
    }


def _phrase_runs(tokens: Sequence[Token]) -> Iterator[list[str]]:
    run: list[str] = []
    for token in tokens:
        word = token.lower
        if (
            token.kind == WORD
            and len(word) > 2
            and word not in STARTERS
            and word not in _NEVER_INSIDE
        ):
            run.append(word)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def _is_noun_phrase(words: Sequence[str]) -> bool:
    return not (
        words[-1].endswith(("ly", "ed", "ive", "ous", "ful", "able", "ible"))
        or words[0].endswith("ly")
        or any("'" in word or "’" in word for word in words)
    )
