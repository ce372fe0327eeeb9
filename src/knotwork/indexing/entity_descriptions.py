"""Merge the descriptions of each entity into one text, by a model only if they are long.

An entity has a description for each chunk in which a model read of it. Distinct lines are merged,
the fullest first. A short merged text is used unchanged; a model summarizes longer ones, and again
only when enough is new. A homonym has a part for each of its meanings.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from knotwork.indexing.description_writer import DescriptionEntry, DescriptionWriter
from knotwork.indexing.steps import Steps, finish_steps
from knotwork.inference.concurrency import Patience
from knotwork.records import EXTRACTIVE_SOURCE, Description, EntitySummary, content_id
from knotwork.stores.base import Store
from knotwork.stores.extensions import ReadingStore, StoresReadings
from knotwork.stores.resolutions import read_senses
from knotwork.text.languages import detect_language
from knotwork.text.sentences import split_sentences
from knotwork.text.terms import content_terms
from knotwork.text.token_counts import count_tokens
from knotwork.transform.model.reply_records import Complaint

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
class KnownDescription:
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


class EntityGroups:
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


def read_known_descriptions(
    readings: ReadingStore, shared: EntityGroups, standing: Iterable[str]
) -> dict[str, KnownDescription]:
    """Return what is known of each group that anything describes."""
    members = {key: shared.members(key) for key in standing}
    every = {key for group in members.values() for key in group}
    descriptions = readings.descriptions(every)
    summaries = readings.summaries(every)
    found: dict[str, KnownDescription] = {}
    for key, group in members.items():
        described = [member for member in group if member in descriptions]
        if described:
            texts = [item.text for member in described for item in descriptions[member]]
            summary = summaries.get(described[0])
            every_line = texts if summary is not None else ()
            marks = frozenset(_mark(" ".join(text.split())) for text in every_line)
            lines = tuple(merge_descriptions(texts))
            meanings = _meanings(descriptions[described[0]], shared.senses.get(described[0], {}))
            found[key] = KnownDescription(described[0], lines, marks, summary, meanings)
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


def description_of(item: KnownDescription, most_tokens: int) -> str:
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


_SLICE = 1_000
_MODEL, _STAND_IN, _MERGED = "m", "s", "x"
"""Who wrote a summary, the first letter of its key: a model, the rules since a model could not, or
the rules since there was none."""


@dataclass(frozen=True, slots=True)
class DescriptionChanges:
    """What a refresh did: ``summarised`` by a model, ``kept`` summaries that were still right.

    ``merged`` entities need no summary. ``stand_ins`` have merged descriptions, because the model's
    replies could not be used; ``complaints`` say what of the others was not. For ``unanswered`` no
    server answered: they have merged descriptions until the next refresh asks again.
    """

    merged: int = 0
    summarised: int = 0
    kept: int = 0
    stand_ins: int = 0
    seconds: float = 0.0
    complaints: tuple[Complaint, ...] = ()
    unanswered: int = 0


@dataclass(slots=True)
class _DescriptionTally:
    merged: int = 0
    kept: int = 0
    summarised: int = 0
    stand_ins: int = 0
    unanswered: int = 0
    complaints: list[Complaint] = field(default_factory=list)


def refresh_descriptions(
    store: Store,
    *,
    writer: DescriptionWriter | None = None,
    entity_ids: Collection[str] | None = None,
    groups: Mapping[str, str] | None = None,
) -> DescriptionChanges:
    """Write up the descriptions of entities that are long, where the last text is outdated.

    See `describe_in_steps`, which this does at once.
    """
    return finish_steps(
        describe_in_steps(store, writer=writer, entity_ids=entity_ids, groups=groups)
    )


def describe_in_steps(
    store: Store,
    *,
    writer: DescriptionWriter | None = None,
    entity_ids: Collection[str] | None = None,
    groups: Mapping[str, str] | None = None,
) -> Steps[DescriptionChanges]:
    """Write up descriptions, and yield how many of those that a model writes are done.

    All entities, or those of ``entity_ids``. ``groups`` lead from entities to the one that stands
    for all that are the same: they share a text. The model is asked between transactions, several
    entities a call; each call's summaries are stored when it comes. Without ``writer`` only what no
    document says any more is replaced. A store that keeps no readings has nothing to describe.
    Raises ModelError and BudgetExceeded when no more calls can be made; what is finished is stored.
    """
    begun = time.monotonic()
    tally = _DescriptionTally()
    if isinstance(store, StoresReadings):
        wanted = sorted(entity_ids) if entity_ids is not None else store.readings.described()
        shared = EntityGroups(groups or {}, read_senses(store))
        holders = list(dict.fromkeys(shared.standing_for(key) for key in wanted))
        outdated: dict[str, KnownDescription] = {}
        for start in range(0, len(holders), _SLICE):
            known = read_known_descriptions(store.readings, shared, holders[start : start + _SLICE])
            outdated |= _find_outdated(store, store.readings, list(known.values()), writer, tally)
        if writer is not None and outdated:
            yield from _write(store, store.readings, outdated, writer, tally)
    return DescriptionChanges(
        tally.merged,
        tally.summarised,
        tally.kept,
        tally.stand_ins,
        time.monotonic() - begun,
        tuple(tally.complaints),
        tally.unanswered,
    )


class Describer:
    """Tells the best text there is of entities, and looks at each only once.

    Merged descriptions where they are short, else the summary, else as many descriptions as there
    is room for. A text is about ``most_tokens`` long at most, and ends with a sentence. ``groups``
    tell which entity each one that has several names stands under.
    """

    def __init__(
        self,
        store: Store,
        *,
        groups: Mapping[str, str] | None = None,
        most_tokens: int = MERGED_TOKENS,
    ) -> None:
        self._readings = store.readings if isinstance(store, StoresReadings) else None
        self._store = store
        self._groups = groups or {}
        self._most_tokens = most_tokens
        self._texts: dict[str, str] = {}

    def describe(self, entity_ids: Collection[str]) -> dict[str, str]:
        """Return the text of each entity that has one, in the order of ``entity_ids``."""
        if self._readings is None:
            return {}
        holders = {key: self._groups.get(key, key) for key in entity_ids}
        new = [holder for holder in holders.values() if holder not in self._texts]
        shared = EntityGroups(self._groups, read_senses(self._store, new))
        known = read_known_descriptions(self._readings, shared, new) if new else {}
        for holder in new:
            text = description_of(known[holder], self._most_tokens) if holder in known else ""
            self._texts[holder] = text
        found = ((key, self._texts[holder]) for key, holder in holders.items())
        return {key: text for key, text in found if text}


def _find_outdated(
    store: Store,
    readings: ReadingStore,
    known: Sequence[KnownDescription],
    writer: DescriptionWriter | None,
    tally: _DescriptionTally,
) -> dict[str, KnownDescription]:
    """Return what is for a model to write; replace what no document says any more."""
    outdated: dict[str, KnownDescription] = {}
    replaced: list[EntitySummary] = []
    for item in known:
        if item.is_short or (writer is None and not item.is_right):
            tally.merged += 1
            if item.summary is not None and not item.is_true:
                replaced.append(
                    item.made(description_of(item, MERGED_TOKENS), EXTRACTIVE_SOURCE, _MERGED)
                )
        elif item.is_right and not _is_to_be_written(item, writer):
            tally.kept += 1
        else:
            outdated[item.holder] = item
    if replaced:
        _put(store, readings, replaced)
    return outdated


def _write(
    store: Store,
    readings: ReadingStore,
    outdated: Mapping[str, KnownDescription],
    writer: DescriptionWriter,
    tally: _DescriptionTally,
) -> Steps[None]:
    """Have a model write summaries, and store those of each call when it comes."""
    named = store.graph.entities(outdated.keys())
    entries = [
        DescriptionEntry(key, named[key].name if key in named else "", item.told)
        for key, item in outdated.items()
    ]
    patience = Patience(writer.patience)
    yield 0, len(entries)
    with closing(writer.write(entries)) as calls:
        for outcome in calls:
            made = [
                outdated[entry.key].made(text, writer.model.name, _MODEL)
                for entry, text in outcome.made
            ]
            failed = [
                outdated[entry.key].made(
                    description_of(outdated[entry.key], MERGED_TOKENS), EXTRACTIVE_SOURCE, _STAND_IN
                )
                for entry, _ in outcome.failed
            ]
            _put(store, readings, [*made, *failed])
            tally.summarised += len(made)
            tally.stand_ins += len(failed)
            tally.complaints += outcome.complaints
            tally.complaints += [Complaint(entry.name, reason) for entry, reason in outcome.failed]
            tally.unanswered += len(outcome.unanswered)
            yield tally.summarised + tally.stand_ins, len(entries)
            patience.note("" if made or failed else outcome.absence)


def _is_to_be_written(item: KnownDescription, writer: DescriptionWriter | None) -> bool:
    """Tell whether a model should take the place of the rules in a summary that is right."""
    assert item.summary is not None
    kind = item.summary.content_key[:1]
    return writer is not None and (kind == _MERGED or (kind == _STAND_IN and writer.retry))


def _put(store: Store, readings: ReadingStore, summaries: Sequence[EntitySummary]) -> None:
    """Store summaries of entities that something still describes."""
    with store.transaction():
        described = readings.descriptions([summary.entity_id for summary in summaries])
        readings.put_summaries(s for s in summaries if s.entity_id in described)
