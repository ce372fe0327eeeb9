"""Find the relations that sentences and table rows state between names, and co-occurrences.

Patterns read every word between two names: the first must be a subject, and the second must not be
part of a longer phrase. A single word that does not fit rules out a relation, which favours
precision over recall. Rows have the form that loaders write: "name: Ada Stone; manager: Bo Finch".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from knotwork._text.languages import HAN_CHARACTER, word_list, word_set
from knotwork._transform.rules.chinese_sentences import HanSentence, han_relation
from knotwork._transform.rules.lexicon import (
    CODE,
    DATE,
    NUMBER,
    POSSESSIVE,
    SIGN,
    VERBS_OF_BEING,
    WORD,
    EnglishSentence,
    Occurrence,
    Token,
)
from knotwork._transform.rules.rule_settings import RuleSettings
from knotwork.records import CO_OCCURRENCE_RELATION, entity_id

_SPEAKING_OF_SUBJECT = frozenset({"he", "she", "it"})


class SentenceRelation(NamedTuple):
    """A relation of two normal forms in one sentence."""

    source: str
    relation: str
    target: str


def sentence_links(
    sentence: EnglishSentence,
    names: Sequence[Occurrence],
    *,
    subject: str,
    columns: str = "",
    settings: RuleSettings,
) -> list[SentenceRelation]:
    """Return the relations of one English sentence, then its co-occurrences.

    ``names`` are its entities with offsets into its text. The pronoun at the start of a sentence
    refers to ``subject``, the topic of its chunk, ``""`` if that is not certain. ``columns`` are
    the names of the columns if the sentence is a row of a table, separated by " | ".
    """
    ordered = _distinct(names)
    if links := _row_links(sentence.text, ordered, columns):
        return _with_pairs(links, ordered, settings)
    sides = list(_sides(sentence.tokens, ordered))
    opening = sentence.tokens[0].lower if sentence.tokens else ""
    if subject and ordered and opening in _SPEAKING_OF_SUBJECT:
        between = sentence.tokens[1 : sides[0].first]
        words = relation_between(between, to_date=sides[0].is_date)
        if words and ordered[0].form != subject:
            links.append(SentenceRelation(subject, words, ordered[0].form))
    for position, source in enumerate(sides):
        for target in range(position + 1, len(sides)):
            words = read_relation(sentence.tokens, source, sides[target])
            if words:
                links.append(SentenceRelation(ordered[position].form, words, ordered[target].form))
            if words and not sides[target].is_date:
                break
            if not _is_passed_over(sentence.tokens, sides[target]):
                break
    return _with_pairs(links, ordered, settings)


def han_links(
    sentence: HanSentence,
    names: Sequence[Occurrence],
    *,
    columns: str = "",
    settings: RuleSettings,
) -> list[SentenceRelation]:
    """Return the relations of one Chinese sentence or row, then its co-occurrences."""
    ordered = _distinct(names)
    if links := _row_links(sentence.text, ordered, columns):
        return _with_pairs(links, ordered, settings)
    for before, after in pairwise(ordered):
        stated = han_relation(sentence, before, after)
        if stated.words and stated.reversed:
            links.append(SentenceRelation(after.form, stated.words, before.form))
        elif stated.words:
            links.append(SentenceRelation(before.form, stated.words, after.form))
    return _with_pairs(links, ordered, settings)


def _row_links(text: str, names: Sequence[Occurrence], columns: str) -> list[SentenceRelation]:
    return [
        SentenceRelation(one.form, words, other.form)
        for one, words, other in read_row(text, names, columns)
    ]


def _with_pairs(
    links: list[SentenceRelation], names: Sequence[Occurrence], settings: RuleSettings
) -> list[SentenceRelation]:
    """Add co-occurrences of names that are adjacent or one name apart and have no relation."""
    related = {frozenset((item.source, item.target)) for item in links}
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    for before, after in pairs:
        dated = "DATE" in {before.type, after.type}
        if not dated and frozenset((before.form, after.form)) not in related:
            links.append(co_occurrence(before.form, after.form))
    distinct = [item for item in links if item.source != item.target]
    return list(dict.fromkeys(distinct))[: settings.relations_per_sentence]


def co_occurrence(one: str, other: str) -> SentenceRelation:
    """Return the co-occurrence of two names; it is undirected and starts at the smaller id."""
    if entity_id(one) > entity_id(other):
        one, other = other, one
    return SentenceRelation(one, CO_OCCURRENCE_RELATION, other)


def _sides(tokens: Sequence[Token], names: Sequence[Occurrence]) -> Iterator[TokenSpan]:
    starts = [token.start for token in tokens]
    for name in names:
        first = max(0, bisect_right(starts, name.start) - 1)
        yield TokenSpan(first, bisect_left(starts, name.end), name.type == "DATE")


def _is_passed_over(tokens: Sequence[Token], name: TokenSpan) -> bool:
    """Return True if a relation may skip a name: a date, or a name that modifies a noun."""
    following = tokens[name.end] if name.end < len(tokens) else None
    return name.is_date or (following is not None and following.kind == WORD)


def _distinct(names: Sequence[Occurrence]) -> list[Occurrence]:
    ordered: list[Occurrence] = []
    for name in sorted(names, key=lambda n: (n.start, -n.end)):
        if ordered and name.start < ordered[-1].end:
            continue
        ordered.append(name)
    return ordered


_BEING = frozenset({"is", "are", "was", "were"})
_HAVING = frozenset({"has", "have", "had"})
_MODALS = frozenset({"can", "may", "must"})
_ARTICLES = frozenset({"a", "an", "the"})
_DETERMINERS = _ARTICLES | {"its", "his", "her", "their"}
_PREPOSITIONS = word_set("en", "prepositions")
_DATED = frozenset({"in", "on", "since", "from", "until"})
_CONJUNCTIONS = word_set("en", "conjunctions")
_ADVERBS = word_set("en", "adverbs")
_NOT_ADVERBS = word_set("en", "not_adverbs")
_ENDS_PHRASE = _PREPOSITIONS | _CONJUNCTIONS | _BEING | _HAVING | _ADVERBS
_BARE_NOUNS = word_set("en", "nouns_of_relations")
_ADJECTIVES = word_set("en", "adjectives_of_relations")
_SORTS = word_set("en", "technical_nouns")
_NOUN_PREPOSITIONS = frozenset({"of", "in", "from", "at", "to", "for", "on"})
_LONGEST_NOUN_PHRASE = 4
_BARE_WORDS = 2
_LONGEST_PREMODIFIERS = 5


class _Verbs(NamedTuple):
    """Forms of verbs; ``past_of`` maps participles to past tenses, such as "run" to "ran"."""

    active: frozenset[str]
    past_of: dict[str, str]

    @property
    def participles(self) -> Collection[str]:
        return self.past_of.keys()


class TokenSpan(NamedTuple):
    """The half-open range of tokens of a name."""

    first: int
    end: int
    is_date: bool = False


def read_relation(tokens: Sequence[Token], source: TokenSpan, target: TokenSpan) -> str:
    """Return the relation that the words between two names state, or ``""``."""
    if source.is_date or not is_subject(tokens, source.first) or not _is_whole(tokens, target):
        return ""
    between = tokens[source.end : target.first]
    listed = source.first > 0 and tokens[source.first - 1].text == ","
    if listed and between and between[0].text in {",", "("}:
        return ""  # Albuquerque, New Mexico, the daughter of
    return relation_between(tokens[source.end : target.first], to_date=target.is_date)


def relation_between(between: Sequence[Token], *, to_date: bool = False) -> str:
    """Return the relation that these words state about a subject before them, or ``""``."""
    if between and between[0].kind == WORD and between[0].lower in _SORTS:
        between = between[1:]
    words = [token.lower for token in between]
    if len(words) > 12 or not words:
        return ""
    if between[0].kind == POSSESSIVE:
        return _owned(between)
    apart = words[0] if words[0] in {",", "("} else ""
    rest = list(between[1:] if apart else between)
    relative = bool(apart == "," and rest and rest[0].lower in {"who", "which"})
    rest = _without_adverbs(rest[1:] if relative else rest)
    being = bool(rest) and rest[0].lower in _BEING
    having = bool(rest) and rest[0].lower in _HAVING
    modal = bool(rest) and rest[0].lower in _MODALS
    if modal and len(rest) > 1 and rest[1].lower == "be":
        rest, being = rest[2:], True
        stated = _passive(_without_adverbs(rest), to_date=to_date) if rest else ""
        return f"{next(word for word in words if word in _MODALS)} be {stated}" if stated else ""
    if being or having:
        rest = rest[1:]
    if having and rest and rest[0].lower == "been":
        being, rest = True, rest[1:]
    rest = _without_adverbs(rest)
    if not rest or (apart and not relative and (being or having)):
        return ""
    stated = _passive(rest, to_date=to_date) if being or not having else ""
    if not stated and not being and (not apart or relative):
        stated = _active(rest, to_date=to_date, perfect=having)
    if not stated and not having and (being or apart == ",") and not to_date:
        stated = _nominal(rest)
    return stated


def is_predicate(word: str) -> bool:
    """Return True if a word may follow the subject of a sentence: a verb or an adverb."""
    being = word in _BEING or word in _HAVING or word in _MODALS or word in VERBS_OF_BEING
    return being or word in _verbs().active or word in _ADVERBS


def is_subject(tokens: Sequence[Token], first: int) -> bool:
    """Return True if a name can be a subject: no preposition or verb comes before it."""
    for back, position in enumerate(range(first - 1, -1, -1)):
        token = tokens[position]
        if token.kind in {SIGN, POSSESSIVE}:
            return token.text not in {"/", "-", "–", "=", "|", "<", ">", "$", "+", "%", "@", "…"}
        if token.lower in _CONJUNCTIONS:
            return True
        if token.kind in {CODE, DATE, NUMBER} or token.lower in _PREPOSITIONS:
            return False
        if token.lower in _DETERMINERS:
            continue
        if token.kind == WORD and (
            token.lower in _verbs().active
            or token.lower in _verbs().participles
            or token.lower in _BEING | _HAVING
        ):
            return False
        if back >= _LONGEST_PREMODIFIERS:
            return False
    return True


def _is_whole(tokens: Sequence[Token], name: TokenSpan) -> bool:
    """Return True if a name ends its phrase: "the Linux kernel" is not about Linux."""
    if name.end >= len(tokens):
        return True
    following = tokens[name.end]
    if following.kind == SIGN:
        gap = following.start - tokens[name.end - 1].end
        return following.text in ".,;:)!?\"”’'»[(—" or gap > 0
    if name.is_date:
        return following.kind != NUMBER
    if following.kind == WORD and following.lower in _SORTS:
        return _is_whole(tokens, TokenSpan(name.first, name.end + 1))
    if following.kind == WORD:
        return following.lower in _ENDS_PHRASE or following.lower.endswith("ly")
    return False


def _without_adverbs(tokens: list[Token]) -> list[Token]:
    while tokens and (
        tokens[0].lower in _ADVERBS
        or (tokens[0].lower.endswith("ly") and tokens[0].lower not in _NOT_ADVERBS)
    ):
        tokens = tokens[1:]
    return tokens


def _owned(between: Sequence[Token]) -> str:
    """Return the noun of "Norway's capital" before a name."""
    nouns = [token.lower for token in between[1:]]
    plain = all(token.kind == WORD for token in between[1:])
    return nouns[-1] if plain and 1 <= len(nouns) <= 2 and nouns[-1] in _BARE_NOUNS else ""


def _passive(tokens: Sequence[Token], *, to_date: bool) -> str:
    """Read "directed by", "born on 3 May 1990 in": a participle and a preposition."""
    participle = tokens[0].lower
    if tokens[0].kind != WORD:
        return ""
    rest = _without_date(tokens[1:])
    if not rest:
        return "born" if to_date and participle == "born" else ""
    preposition = rest[0].lower
    if preposition not in _PREPOSITIONS or not _only_determiners(rest[1:]):
        return ""
    if to_date and preposition not in _DATED:
        return ""
    known = participle in _verbs().participles
    open_class = preposition == "by" and participle.endswith("ed") and len(participle) > 4
    return f"{participle} {preposition}" if known or open_class else ""


def _without_date(tokens: Sequence[Token]) -> Sequence[Token]:
    """Skip "on 3 May 1990" before another preposition."""
    if (
        len(tokens) > 2
        and tokens[0].lower in {"in", "on", "c."}
        and tokens[1].kind in {DATE, NUMBER}
    ):
        rest = tokens[2:]
        return rest[1:] if rest[0].text == "," else rest
    dated = len(tokens) > 1 and tokens[0].kind in {DATE, NUMBER}
    return tokens[1:] if dated else tokens


def _active(tokens: Sequence[Token], *, to_date: bool, perfect: bool) -> str:
    """Read "founded", "depends on the": a verb and an optional preposition."""
    verb = tokens[0].lower
    known = _verbs().participles if perfect else _verbs().active
    if tokens[0].kind != WORD or verb not in known:
        return ""
    rest = tokens[1:]
    preposition = ""
    if rest and rest[0].lower in _PREPOSITIONS:
        preposition, rest = rest[0].lower, rest[1:]
    if not _only_determiners(rest) or (to_date and preposition not in _DATED):
        return ""
    finite = _verbs().past_of[verb] if perfect else verb  # "has run" becomes "ran"
    return f"{finite} {preposition}".strip()


def _nominal(tokens: Sequence[Token]) -> str:
    """Read "a former member of the", ", the capital of", "son of", "a film directed by"."""
    rest = list(tokens)
    article = rest[0].lower in _ARTICLES
    if article:
        rest = rest[1:]
    prefix = ""
    if [t.lower for t in rest[:3]] == ["one", "of", "the"]:
        prefix, rest, article = "one of the ", rest[3:], True
    end = next((i for i, t in enumerate(rest) if t.lower in _PREPOSITIONS), len(rest))
    phrase, after = rest[:end], rest[end:]
    if not phrase or not after or not _only_determiners(after[1:]):
        return ""
    nouns = [t.lower for t in phrase if t.kind == WORD]
    if not _is_noun_phrase(phrase, nouns):
        return ""
    words = f"{prefix}{' '.join(nouns)} {after[0].lower}"
    last = nouns[-1]
    if len(phrase) > 1 and article and (last in _verbs().participles or after[0].lower == "by"):
        known = last in _verbs().participles or last.endswith("ed")
        return f"{last} {after[0].lower}" if known else ""
    if article:
        stated = after[0].lower in _NOUN_PREPOSITIONS and not last.endswith("ing")
    else:
        stated = len(nouns) <= _BARE_WORDS and last in _BARE_NOUNS | _ADJECTIVES
    return words if stated else ""


def _is_noun_phrase(phrase: Sequence[Token], nouns: Sequence[str]) -> bool:
    odd = any(t.kind in {SIGN, POSSESSIVE, CODE} or t.lower in _CONJUNCTIONS for t in phrase)
    bounded = 0 < len(nouns) <= _LONGEST_NOUN_PHRASE and phrase[-1].kind == WORD
    opening = list(phrase) == _without_adverbs(list(phrase))
    return not odd and bounded and opening and nouns[0] not in {"not", "no"}


def _only_determiners(tokens: Sequence[Token]) -> bool:
    return all(token.lower in _DETERMINERS or token.text in set('"“«‘`') for token in tokens)


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


FEWEST_FIELDS = 3
"""Least fields of a row; a text with fewer may be prose, such as "Note: see below"."""

_ROW_FIELD = re.compile(r"\s*(?P<column>[^:;,.!?\n]{1,40}): (?P<value>[^;\n]*?)\s*(?:;(?=\s)|$)")
_NO_SUBJECTS = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
_DATE_TYPES = frozenset({"DATE"})


class NamedCell(NamedTuple):
    """A column whose whole value is a name."""

    column: str
    name: Occurrence


def read_row(
    text: str, names: Sequence[Occurrence], columns: str = ""
) -> list[tuple[Occurrence, str, Occurrence]]:
    """Return the relations of a row, from its first value to each further value that is a name.

    A row has bars between its cells, and ``columns`` between theirs; or it is a text of fields, as
    "name: Ada; manager: Bo; site: Tarnby". Returns [] if the first value is not a name.
    """
    places = {(name.start, name.end): name for name in names}
    cells = _cells_of_columns(text, columns, places) if columns else _read_cells(text, places)
    if not cells or cells[0] is None or cells[0].name.type in _NO_SUBJECTS:
        return []
    subject = cells[0].name
    return [
        (subject, _relation_of(cell), cell.name)
        for cell in cells[1:]
        if cell is not None and cell.name.form != subject.form
    ]


_BAR = re.compile(r"(?<!\\)\|")
_INK = re.compile(r"\S(?:.*\S)?", re.DOTALL)


def _cells_of_columns(
    text: str, columns: str, names: Mapping[tuple[int, int], Occurrence]
) -> list[NamedCell | None]:
    bars = [match.end() for match in _BAR.finditer(text)]
    cells: list[NamedCell | None] = []
    for column, (start, after) in zip(columns.split(" | "), pairwise(bars), strict=False):
        value = _INK.search(text, start, after - 1)
        if value is not None:
            name = names.get(value.span())
            cells.append(NamedCell(column.strip(), name) if name and column.strip() else None)
    return cells


def _read_cells(text: str, names: Mapping[tuple[int, int], Occurrence]) -> list[NamedCell | None]:
    cells: list[NamedCell | None] = []
    place = 0
    while place < len(text.rstrip()):
        field = _ROW_FIELD.match(text, place)
        if field is None:
            return []
        name = names.get(field.span("value"))
        cells.append(NamedCell(field["column"].strip(), name) if name else None)
        place = field.end()
    return cells if len(cells) >= FEWEST_FIELDS else []


def _relation_of(cell: NamedCell) -> str:
    """Return the relation of a column: "has manager", "since" for a date, "经理为"."""
    column = cell.column.replace("_", " ").lower()
    if HAN_CHARACTER.search(column):
        return f"{column}为"
    return column if cell.name.type in _DATE_TYPES else f"has {column}"
