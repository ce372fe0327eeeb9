"""One text for each entity from all that was read of it, by a model only where it is long.

An entity has a description for each chunk in which a model read of it. They are merged: distinct
lines, the fullest first, none that repeats another. What is merged is the text as long as it is
short. A model writes longer ones up, and again only once enough has come to them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from knotwork.indexing.known_descriptions import (
    MERGED_TOKENS,
    Groups,
    Known,
    read_known,
    text_of,
)
from knotwork.indexing.prompts.summaries import DescriptionWriter, Entry
from knotwork.indexing.steps import Steps, finish
from knotwork.records import EXTRACTIVE_SOURCE, EntitySummary
from knotwork.stores.base import Store
from knotwork.stores.homonyms import read_senses
from knotwork.stores.readings import ReadingStore, StoresReadings
from knotwork.transform.model.drafts import Complaint
from knotwork.transform.model.pool import Patience

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
class _Tally:
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
    return finish(describe_in_steps(store, writer=writer, entity_ids=entity_ids, groups=groups))


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
    tally = _Tally()
    if isinstance(store, StoresReadings):
        wanted = sorted(entity_ids) if entity_ids is not None else store.readings.described()
        shared = Groups(groups or {}, read_senses(store))
        holders = list(dict.fromkeys(shared.standing_for(key) for key in wanted))
        outdated: dict[str, Known] = {}
        for start in range(0, len(holders), _SLICE):
            known = read_known(store.readings, shared, holders[start : start + _SLICE])
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
        shared = Groups(self._groups, read_senses(self._store, new))
        known = read_known(self._readings, shared, new) if new else {}
        for holder in new:
            text = text_of(known[holder], self._most_tokens) if holder in known else ""
            self._texts[holder] = text
        found = ((key, self._texts[holder]) for key, holder in holders.items())
        return {key: text for key, text in found if text}


def _find_outdated(
    store: Store,
    readings: ReadingStore,
    known: Sequence[Known],
    writer: DescriptionWriter | None,
    tally: _Tally,
) -> dict[str, Known]:
    """Return what is for a model to write; replace what no document says any more."""
    outdated: dict[str, Known] = {}
    replaced: list[EntitySummary] = []
    for item in known:
        if item.is_short or (writer is None and not item.is_right):
            tally.merged += 1
            if item.summary is not None and not item.is_true:
                replaced.append(item.made(text_of(item, MERGED_TOKENS), EXTRACTIVE_SOURCE, _MERGED))
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
    outdated: Mapping[str, Known],
    writer: DescriptionWriter,
    tally: _Tally,
) -> Steps[None]:
    """Have a model write summaries, and store those of each call when it comes."""
    named = store.graph.entities(outdated.keys())
    entries = [
        Entry(key, named[key].name if key in named else "", item.told)
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
                    text_of(outdated[entry.key], MERGED_TOKENS), EXTRACTIVE_SOURCE, _STAND_IN
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


def _is_to_be_written(item: Known, writer: DescriptionWriter | None) -> bool:
    """Tell whether a model should take the place of the rules in a summary that is right."""
    assert item.summary is not None
    kind = item.summary.content_key[:1]
    return writer is not None and (kind == _MERGED or (kind == _STAND_IN and writer.retry))


def _put(store: Store, readings: ReadingStore, summaries: Sequence[EntitySummary]) -> None:
    """Store summaries of entities that something still describes."""
    with store.transaction():
        described = readings.descriptions([summary.entity_id for summary in summaries])
        readings.put_summaries(s for s in summaries if s.entity_id in described)
