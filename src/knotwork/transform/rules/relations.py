"""Relations between the entities of a sentence, from the words between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from knotwork.records import CO_OCCURRENCE_RELATION
from knotwork.records import entity_id as _entity_id
from knotwork.transform.rules.chinese import HanSentence, han_relation
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.settings import RuleSettings
from knotwork.transform.rules.vocabulary import PRONOUNS, TRIMMED_WORDS

_WORDS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|['’]s\b")
_BREAK = re.compile(r"[.;!?|\n\t]")
_OPENING = re.compile(r"\W*([A-Za-z]+)\b")


entity_id = lru_cache(maxsize=65_536)(_entity_id)
"""Return the id of a normal form; the same names come again and again."""


class Link(NamedTuple):
    """A relation of two normal forms in one sentence."""

    source: str
    relation: str
    target: str


def relation_words(between: str, *, longest: int) -> str:
    """Return the words between two names as a relation, or ``""`` when they are none."""
    if len(between) > 12 * longest or _BREAK.search(between):
        return ""
    words = _WORDS.findall(between.lower())
    if not words or len(words) > longest:
        return ""
    first, last = 0, len(words)
    while first < last and words[first] in TRIMMED_WORDS:
        first += 1
    while last > first and words[last - 1] in TRIMMED_WORDS:
        last -= 1
    kept = words[first:last]
    if kept and kept[0] in {"'s", "’s"}:
        kept = kept[1:] or ["of"]
    if len(kept) > 1 and kept[0] in {"was", "were", "is", "are"}:
        kept = [word for word in kept[1:] if word not in {"a", "an", "the"}]
    return " ".join(kept)


def sentence_links(
    text: str, names: Sequence[Occurrence], *, subject: str, settings: RuleSettings
) -> list[Link]:
    """Return the relations of one English sentence, nearest pairs first.

    ``names`` are its main names with offsets into ``text``. A sentence that opens with a pronoun
    speaks of ``subject``, what its chunk is about.
    """
    ordered = _distinct(names)
    links: list[Link] = []
    opening = _OPENING.match(text)
    if subject and ordered and opening is not None and opening[1].lower() in PRONOUNS:
        start = opening.end(1)
        links.extend(_subject_links(text, start, ordered, subject, settings))
    for before, after in pairwise(ordered):
        words = relation_words(text[before.end : after.start], longest=settings.relation_words)
        if words or "DATE" not in {before.type, after.type}:
            links.append(link(before.form, words, after.form))
    return _bounded(links, ordered, settings)


def han_links(
    sentence: HanSentence, names: Sequence[Occurrence], *, settings: RuleSettings
) -> list[Link]:
    """Return the relations of one Chinese sentence, nearest pairs first."""
    ordered = _distinct(names)
    links: list[Link] = []
    for before, after in pairwise(ordered):
        near = after.start - before.end <= settings.relation_han
        words = han_relation(sentence, before.end, after.start) if near else ""
        if words or "DATE" not in {before.type, after.type}:
            links.append(link(before.form, words, after.form))
    return _bounded(links, ordered, settings)


def _bounded(links: list[Link], names: Sequence[Occurrence], settings: RuleSettings) -> list[Link]:
    """Add the pairs that are one name apart, and keep the first links; dates only get words."""
    for before, after in zip(names, names[2:], strict=False):
        if "DATE" not in {before.type, after.type}:
            links.append(link(before.form, "", after.form))
    distinct = [item for item in links if item.source != item.target]
    return list(dict.fromkeys(distinct))[: settings.relations_per_sentence]


def _subject_links(
    text: str, start: int, names: Sequence[Occurrence], subject: str, settings: RuleSettings
) -> Iterator[Link]:
    for position, name in enumerate(names[:3]):
        if name.start < start:
            continue
        words = relation_words(text[start : name.start], longest=settings.relation_words)
        yield link(subject, words if position == 0 else "", name.form)


def link(source: str, words: str, target: str) -> Link:
    """Return a link; one without words is undirected, and starts at the smaller id."""
    if words:
        return Link(source, words, target)
    if entity_id(source) > entity_id(target):
        source, target = target, source
    return Link(source, CO_OCCURRENCE_RELATION, target)


def _distinct(names: Sequence[Occurrence]) -> list[Occurrence]:
    ordered: list[Occurrence] = []
    for name in sorted(names, key=lambda n: (n.start, -n.end)):
        if name.type == "NUMBER" or (ordered and name.start < ordered[-1].end):
            continue
        ordered.append(name)
    return ordered
