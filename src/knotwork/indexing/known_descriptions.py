"""What is known of entities from all that was read of them, and the text it makes.

Descriptions of an entity are merged: distinct lines, the fullest first, none that repeats another.
Those of a name that means several things are merged for each of them, and told under numbers; a
model is not asked to write one text about several things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from knotwork.records import Description, EntitySummary, content_id
from knotwork.stores.readings import ReadingStore
from knotwork.text.languages import detect_language
from knotwork.text.sentences import split_sentences
from knotwork.text.terms import content_terms
from knotwork.text.tokens import count_tokens

MERGED_TOKENS = 120
"""The longest text that is merged; a longer one is for a model to write up."""

ENTRY_TOKENS = 320
"""How much of its descriptions a model is told of one entity, the fullest first."""

_REPEATED = 0.75
"""Share of a line's terms that another one holds when the line adds nothing."""
_NEW = 1 / 3
"""Share of lines that are new when a summary is written again."""
_MOST_LINES = 200
_MARK = 8
_STOPS = re.compile(r"[.!?。！？…;；]$")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an entity, or of a group: its distinct lines, and the summary there is.

    ``holder`` is the entity that keeps the summary, ``marks`` a short hash of each line that is
    there, where there is a summary to hold against them, ``told`` are the lines that a model would
    be told. ``meanings`` are the lines of each thing that a homonym means, the one of most chunks
    first.
    """

    holder: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    summary: EntitySummary | None
    meanings: tuple[tuple[str, ...], ...] = ()

    @property
    def is_short(self) -> bool:
        """Whether the merged lines are the text."""
        return bool(self.meanings) or _tokens(self.lines) <= MERGED_TOKENS

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(_within(self.lines, ENTRY_TOKENS))

    @property
    def is_right(self) -> bool:
        """Whether all that the summary was written from is still there, and little is new."""
        if self.summary is None:
            return False
        written = _marks_in(self.summary.content_key)
        told = [_mark(line) for line in self.told]
        new = sum(mark not in written for mark in told)
        return self.is_true and new <= _NEW * len(told)

    @property
    def is_true(self) -> bool:
        """Whether the summary says nothing that no document says any more."""
        return self.summary is not None and _marks_in(self.summary.content_key) <= self.marks

    def made(self, text: str, source: str, kind: str) -> EntitySummary:
        """Return a summary that is written from what is told."""
        return EntitySummary(
            self.holder, text, source, kind + "".join(sorted(map(_mark, self.told)))
        )


def merge_descriptions(texts: Iterable[str]) -> list[str]:
    """Return the lines that say something of their own, the fullest first."""
    flat = {" ".join(text.split()): None for text in texts}
    terms = {line: frozenset(content_terms(line)) for line in flat if line}
    ranked = sorted(terms, key=lambda line: (-len(terms[line]), len(line), line))
    kept: list[str] = []
    holding: dict[str, list[int]] = {}
    for line in ranked[:_MOST_LINES]:
        own = terms[line]
        shared = Counter(chain.from_iterable(holding.get(term, ()) for term in own))
        if kept and max(shared.values(), default=0) >= _REPEATED * len(own):
            continue
        for term in own:
            holding.setdefault(term, []).append(len(kept))
        kept.append(line)
    return kept


class Groups:
    """Entities that are the same, by the one that stands for them, and ``senses`` of homonyms."""

    def __init__(
        self, groups: Mapping[str, str], senses: Mapping[str, Mapping[str, int]] | None = None
    ) -> None:
        self._groups = groups
        self.senses = senses or {}
        self._members: dict[str, list[str]] = {}
        for key, standing in sorted(groups.items()):
            self._members.setdefault(standing, []).append(key)

    def standing_for(self, key: str) -> str:
        return self._groups.get(key, key)

    def members(self, standing: str) -> list[str]:
        return list(dict.fromkeys([standing, *self._members.get(standing, ())]))


def read_known(readings: ReadingStore, shared: Groups, standing: Iterable[str]) -> dict[str, Known]:
    """Return what is known of each group that anything describes."""
    members = {key: shared.members(key) for key in standing}
    every = {key for group in members.values() for key in group}
    descriptions = readings.descriptions(every)
    summaries = readings.summaries(every)
    found: dict[str, Known] = {}
    for key, group in members.items():
        described = [member for member in group if member in descriptions]
        if described:
            texts = [item.text for member in described for item in descriptions[member]]
            summary = summaries.get(described[0])
            every_line = texts if summary is not None else ()
            marks = frozenset(_mark(" ".join(text.split())) for text in every_line)
            lines = tuple(merge_descriptions(texts))
            meanings = _meanings(descriptions[described[0]], shared.senses.get(described[0], {}))
            found[key] = Known(described[0], lines, marks, summary, meanings)
    return found


def _meanings(
    descriptions: Iterable[Description], senses: Mapping[str, int]
) -> tuple[tuple[str, ...], ...]:
    """Return the merged lines of each sense; nothing where only one is described."""
    texts: dict[int, list[str]] = {}
    for item in descriptions:
        texts.setdefault(senses.get(item.chunk_id, 0), []).append(item.text)
    if len(texts) < 2:
        return ()
    return tuple(tuple(merge_descriptions(texts[number])) for number in sorted(texts))


def text_of(item: Known, most_tokens: int) -> str:
    """Return the best text of an entity."""
    if item.meanings:
        room = most_tokens // len(item.meanings)
        told = [_joined(_within(lines, room)) for lines in item.meanings]
        return " ".join(f"({number}) {text}" for number, text in enumerate(told, start=1))
    if item.summary is not None and not item.is_short and item.is_right:
        text = item.summary.text
        if count_tokens(text) <= most_tokens:
            return text
        return _joined(_within((text[slice(*span)] for span in split_sentences(text)), most_tokens))
    return _joined(_within(item.lines, most_tokens))


def _joined(lines: Iterable[str]) -> str:
    """Return lines as one text, each ended as a sentence."""
    told = list(lines)
    chinese = detect_language("".join(told)) == "zh"
    stop, gap = ("。", "") if chinese else (".", " ")
    return gap.join(line if _STOPS.search(line) else line + stop for line in map(str.strip, told))


def _within(lines: Iterable[str], most_tokens: int) -> Iterator[str]:
    """Yield lines in order that have room; the first in any case."""
    total = 0
    for line in lines:
        cost = count_tokens(line)
        if not total or total + cost <= most_tokens:
            total += cost
            yield line


def _tokens(lines: Iterable[str]) -> int:
    return sum(map(count_tokens, lines))


def _mark(line: str) -> str:
    return content_id("description", line)[:_MARK]


def _marks_in(key: str) -> set[str]:
    """Return the marks in a summary's key."""
    return {key[place : place + _MARK] for place in range(1, len(key), _MARK)}
