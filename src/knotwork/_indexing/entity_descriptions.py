"""Merge the descriptions of each entity into one text, or use the summary that a model wrote.

An entity has a description for each chunk in which a model read about it, or that defines it.
Distinct lines are merged, the fullest first. A short merged text is used unchanged; of longer ones
a model may have written a summary. A homonym has a part for each of its meanings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from knotwork._stores.base import Store
from knotwork._stores.capabilities import ReadingStore
from knotwork._stores.resolutions import read_senses
from knotwork._text.languages import detect_language
from knotwork._text.sentences import split_sentences
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import Description, EntitySummary, content_id

MERGED_TOKENS = 120
"""The longest text that is only merged; a model summarizes longer ones."""

ENTRY_TOKENS = 320
"""Tokens of an entity's descriptions in a prompt, the fullest first."""

_REPEATED = 0.75
"""A line is dropped if another line has this share of its terms."""
_NEW = 1 / 3
"""A summary is written again if more than this share of the lines is new."""
_MOST_LINES = 200
_MARK = 8
_STOPS = re.compile(r"[.!?。！？…;；]$")


class Describer:
    """Returns the best text of entities, and reads each only once.

    That is the merged descriptions if they are short, else a current summary, else as many
    descriptions as fit. A text has at most about ``most_tokens`` and ends with a sentence.
    ``groups`` map each merged entity to the one that stands for it.
    """

    def __init__(
        self,
        store: Store,
        *,
        groups: Mapping[str, str] | None = None,
        most_tokens: int = MERGED_TOKENS,
    ) -> None:
        self._readings = store.capabilities.readings
        self._store = store
        self._groups = groups or {}
        self._grouped = members_of(self._groups)
        self._most_tokens = most_tokens
        self._texts: dict[str, str] = {}

    def remember(self, known: Mapping[str, KnownDescription]) -> None:
        """Take the texts of descriptions that were read, by the entity that stands for them."""
        self._texts |= {k: description_of(item, self._most_tokens) for k, item in known.items()}

    def forget(self) -> None:
        """Read all texts again."""
        self._texts.clear()

    def describe(self, entity_ids: Collection[str]) -> dict[str, str]:
        """Return the text of each entity that has one, in the order of ``entity_ids``."""
        if self._readings is None:
            return {}
        holders = {key: self._groups.get(key, key) for key in entity_ids}
        new = [holder for holder in holders.values() if holder not in self._texts]
        self._texts |= dict.fromkeys(new, "")
        if new:
            senses = read_senses(self._store, new)
            self.remember(read_known_descriptions(self._readings, self._grouped, senses, new))
        found = ((key, self._texts[holder]) for key, holder in holders.items())
        return {key: text for key, text in found if text}


@dataclass(frozen=True, slots=True)
class KnownDescription:
    """The distinct description lines of an entity or a group, and its stored summary.

    ``holder`` is the entity that has the summary. ``marks`` are short hashes of all lines before
    merging, to compare a summary with; empty without a summary. ``meanings`` are the lines of each
    meaning of a homonym, that of most chunks first.
    """

    holder: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    summary: EntitySummary | None
    meanings: tuple[tuple[str, ...], ...] = ()

    @property
    def is_short(self) -> bool:
        """True if the merged lines are the text."""
        return bool(self.meanings) or sum(map(count_tokens, self.lines)) <= MERGED_TOKENS

    @property
    def prompt_lines(self) -> tuple[str, ...]:
        """The lines that a model gets."""
        return tuple(_within(self.lines, ENTRY_TOKENS))

    @property
    def is_current(self) -> bool:
        """True if all lines that the summary was written from still exist, and few are new."""
        if self.summary is None:
            return False
        written = _marks_in(self.summary.content_key)
        lines = self.prompt_lines
        new = sum(_mark(line) not in written for line in lines)
        return self.is_supported and new <= _NEW * len(lines)

    @property
    def is_supported(self) -> bool:
        """True if all lines that the summary was written from still exist."""
        return self.summary is not None and _marks_in(self.summary.content_key) <= self.marks

    def summarized(self, text: str, source: str, kind: str) -> EntitySummary:
        """Return a summary with this text, keyed by the lines that it was written from."""
        marks = sorted(map(_mark, self.prompt_lines))
        return EntitySummary(self.holder, text, source, kind + "".join(marks))


def members_of(groups: Mapping[str, str]) -> dict[str, list[str]]:
    """Return all that are the same as an entity that stands for others, itself first."""
    members: dict[str, list[str]] = {}
    for key, standing in sorted(groups.items()):
        members.setdefault(standing, [standing]).append(key)
    return {standing: list(dict.fromkeys(keys)) for standing, keys in members.items()}


def read_known_descriptions(
    readings: ReadingStore,
    grouped: Mapping[str, list[str]],
    senses: Mapping[str, Mapping[str, int]],
    standing: Iterable[str],
) -> dict[str, KnownDescription]:
    """Return the descriptions of each group that has any, by the entity that stands for it.

    ``grouped`` are the members of groups, ``senses`` the meanings of homonyms in chunks.
    """
    members = {key: grouped.get(key, [key]) for key in standing}
    every = {key for group in members.values() for key in group}
    descriptions = readings.descriptions(every)
    summaries = readings.summaries(every)
    found: dict[str, KnownDescription] = {}
    for key, group in members.items():
        described = [member for member in group if member in descriptions]
        if described:
            texts = [item.text for member in described for item in descriptions[member]]
            summary = summaries.get(described[0])
            marked = texts if summary is not None else ()
            marks = frozenset(_mark(" ".join(text.split())) for text in marked)
            lines = tuple(merge_descriptions(texts))
            meanings = _meanings(descriptions[described[0]], senses.get(described[0], {}))
            found[key] = KnownDescription(described[0], lines, marks, summary, meanings)
    return found


def merge_descriptions(texts: Iterable[str]) -> list[str]:
    """Return the distinct lines, the fullest first, without those that others repeat."""
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


def _meanings(
    descriptions: Iterable[Description], senses: Mapping[str, int]
) -> tuple[tuple[str, ...], ...]:
    texts: dict[int, list[str]] = {}
    for item in descriptions:
        texts.setdefault(senses.get(item.chunk_id, 0), []).append(item.text)
    if len(texts) < 2:
        return ()
    return tuple(tuple(merge_descriptions(texts[number])) for number in sorted(texts))


def description_of(item: KnownDescription, most_tokens: int) -> str:
    """Return the best text of an entity in at most about ``most_tokens``."""
    if item.meanings:
        room = most_tokens // len(item.meanings)
        parts = [_as_sentences(_within(lines, room)) for lines in item.meanings]
        return " ".join(f"({number}) {text}" for number, text in enumerate(parts, start=1))
    if item.summary is not None and not item.is_short and item.is_current:
        text = item.summary.text
        if count_tokens(text) <= most_tokens:
            return text
        sentences = (text[slice(*span)] for span in split_sentences(text))
        return _as_sentences(_within(sentences, most_tokens))
    return _as_sentences(_within(item.lines, most_tokens))


def _as_sentences(lines: Iterable[str]) -> str:
    stripped = [line.strip() for line in lines]
    chinese = detect_language("".join(stripped)) == "zh"
    stop, gap = ("。", "") if chinese else (".", " ")
    return gap.join(line if _STOPS.search(line) else line + stop for line in stripped)


def _within(lines: Iterable[str], most_tokens: int) -> Iterator[str]:
    total = 0
    for line in lines:
        cost = count_tokens(line)
        if not total or total + cost <= most_tokens:
            total += cost
            yield line


def _mark(line: str) -> str:
    return content_id("description", line)[:_MARK]


def _marks_in(key: str) -> set[str]:
    return {key[place : place + _MARK] for place in range(1, len(key), _MARK)}
