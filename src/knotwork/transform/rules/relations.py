"""Relations between the entities of a sentence, and which of them only stand in it together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from knotwork.records import CO_OCCURRENCE_RELATION
from knotwork.records import entity_id as _entity_id
from knotwork.transform.rules.chinese import HanSentence
from knotwork.transform.rules.chinese_relations import han_relation
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.relation_patterns import Side, read_relation, relation_between
from knotwork.transform.rules.rows import read_row
from knotwork.transform.rules.settings import RuleSettings
from knotwork.transform.rules.tokens import WORD, Sentence, Token

_SPEAKING_OF_SUBJECT = frozenset({"he", "she", "it"})

entity_id = lru_cache(maxsize=65_536)(_entity_id)
"""Return the id of a normal form; the same names come again and again."""


class Link(NamedTuple):
    """A relation of two normal forms in one sentence."""

    source: str
    relation: str
    target: str


def sentence_links(
    sentence: Sentence, names: Sequence[Occurrence], *, subject: str, settings: RuleSettings
) -> list[Link]:
    """Return the relations of one English sentence, then the pairs that only stand in it together.

    ``names`` are its entities with offsets into its text. A sentence that opens with a pronoun
    speaks of ``subject``, what its chunk is about; ``""`` if that is not sure.
    """
    ordered = _distinct(names)
    if links := _row_links(sentence.text, ordered):
        return _with_pairs(links, ordered, settings)
    sides = list(_sides(sentence.tokens, ordered))
    opening = sentence.tokens[0].lower if sentence.tokens else ""
    if subject and ordered and opening in _SPEAKING_OF_SUBJECT:
        between = sentence.tokens[1 : sides[0].first]
        words = relation_between(between, to_date=sides[0].is_date)
        if words and ordered[0].form != subject:
            links.append(Link(subject, words, ordered[0].form))
    for position, source in enumerate(sides):
        for target in range(position + 1, len(sides)):
            words = read_relation(sentence.tokens, source, sides[target])
            if words:
                links.append(Link(ordered[position].form, words, ordered[target].form))
            if words and not sides[target].is_date:
                break
            if not _is_passed_over(sentence.tokens, sides[target]):
                break
    return _with_pairs(links, ordered, settings)


def han_links(
    sentence: HanSentence, names: Sequence[Occurrence], *, settings: RuleSettings
) -> list[Link]:
    """Return the relations of one Chinese sentence, then the pairs that only stand in it."""
    ordered = _distinct(names)
    if links := _row_links(sentence.text, ordered):
        return _with_pairs(links, ordered, settings)
    for before, after in pairwise(ordered):
        said = han_relation(sentence, before, after)
        if said.words and said.reversed:
            links.append(Link(after.form, said.words, before.form))
        elif said.words:
            links.append(Link(before.form, said.words, after.form))
    return _with_pairs(links, ordered, settings)


def _row_links(text: str, names: Sequence[Occurrence]) -> list[Link]:
    return [Link(one.form, words, other.form) for one, words, other in read_row(text, names)]


def _with_pairs(
    links: list[Link], names: Sequence[Occurrence], settings: RuleSettings
) -> list[Link]:
    """Add the neighbouring pairs, and those one name apart, between which nothing is stated."""
    related = {frozenset((item.source, item.target)) for item in links}
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    for before, after in pairs:
        dated = "DATE" in {before.type, after.type}
        if not dated and frozenset((before.form, after.form)) not in related:
            links.append(co_occurrence(before.form, after.form))
    distinct = [item for item in links if item.source != item.target]
    return list(dict.fromkeys(distinct))[: settings.relations_per_sentence]


def co_occurrence(one: str, other: str) -> Link:
    """Return the link of two names that stand together: undirected, from the smaller id."""
    if entity_id(one) > entity_id(other):
        one, other = other, one
    return Link(one, CO_OCCURRENCE_RELATION, other)


def _sides(tokens: Sequence[Token], names: Sequence[Occurrence]) -> Iterator[Side]:
    """Yield the tokens that each name spans."""
    starts = [token.start for token in tokens]
    for name in names:
        first = max(0, bisect_right(starts, name.start) - 1)
        yield Side(first, bisect_left(starts, name.end), name.type == "DATE")


def _is_passed_over(tokens: Sequence[Token], name: Side) -> bool:
    """Return whether a relation may reach over a name: a date, or one that describes a noun."""
    following = tokens[name.end] if name.end < len(tokens) else None
    return name.is_date or (following is not None and following.kind == WORD)


def _distinct(names: Sequence[Occurrence]) -> list[Occurrence]:
    ordered: list[Occurrence] = []
    for name in sorted(names, key=lambda n: (n.start, -n.end)):
        if ordered and name.start < ordered[-1].end:
            continue
        ordered.append(name)
    return ordered
