"""Have a model summarize the descriptions of entities that are too long to be merged.

Several entities share a call, and a summary is written again only when enough is new.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from knotwork._extensions.model_indexing.batch_requests import (
    LONGEST_LINE,
    BatchOutcome,
    BatchReply,
    BatchTask,
    ask_in_batch,
    batches_by_language,
    make_messages,
    reply_lines,
)
from knotwork._extensions.model_indexing.reply_formats import (
    Complaint,
    bare_line,
    clean_field,
    fold_word,
    is_idle,
)
from knotwork._indexing.entity_descriptions import (
    MERGED_TOKENS,
    Describer,
    KnownDescription,
    description_of,
    members_of,
    read_known_descriptions,
)
from knotwork._inference.call_limits import PATIENCE, Patience, work_ordered
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork._inference.own_prompts import prompts_of
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store
from knotwork._stores.capabilities import ReadingStore
from knotwork._stores.resolutions import read_senses
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import EXTRACTIVE_SOURCE, EntitySummary

_SLICE = 1_000
_MODEL, _STAND_IN, _MERGED = "m", "s", "x"
"""Who wrote a summary, the first letter of its key: a model, the rules because the model's reply
was unusable, or the rules because no model is needed any more."""


@dataclass(slots=True)
class DescriptionChanges:
    """The outcome of an update: entities ``summarised`` by a model, and current summaries ``kept``.

    ``merged`` entities need no summary. ``stand_ins`` got merged descriptions because the model's
    replies were unusable; ``complaints`` say why, and which parts of other replies were dropped.
    For ``unanswered`` entities no server answered: they have merged descriptions until the next
    update asks again.
    """

    merged: int = 0
    summarised: int = 0
    kept: int = 0
    stand_ins: int = 0
    seconds: float = 0.0
    complaints: tuple[Complaint, ...] = ()
    unanswered: int = 0


@Verb
def describe_entities(
    store: Store,
    *,
    writer: DescriptionWriter,
    groups: Mapping[str, str] | None = None,
    describer: Describer | None = None,
) -> Steps[DescriptionChanges]:
    """Update the summaries of entities, and yield how many of those by a model are done.

    ``groups`` map entities to the one that stands for all that are the same: they share a text. The
    model is called between transactions, with several entities a call; the summaries of each call
    are stored at once. Does nothing for a store without readings. ``describer`` remembers the texts
    unless a model writes some, which takes so long that another writer may change the others.
    Raises ModelError and BudgetExceeded if no more calls can be made; what is finished is stored.
    """
    begun = time.monotonic()
    changes = DescriptionChanges()
    readings = store.capabilities.readings
    if readings is not None:
        standing, senses = groups or {}, read_senses(store)
        grouped = members_of(standing)
        holders = list(dict.fromkeys(standing.get(key, key) for key in readings.described()))
        outdated: dict[str, KnownDescription] = {}
        for start in range(0, len(holders), _SLICE):
            part = holders[start : start + _SLICE]
            known = read_known_descriptions(readings, grouped, senses, part)
            outdated |= _find_outdated(store, readings, known.values(), writer, changes)
            if describer is not None and not outdated:
                describer.remember(known)
        if outdated:
            if describer is not None:
                describer.forget()
            yield from _write(store, readings, outdated, writer, changes)
    changes.seconds = time.monotonic() - begun
    return changes


def _find_outdated(
    store: Store,
    readings: ReadingStore,
    known: Iterable[KnownDescription],
    writer: DescriptionWriter,
    changes: DescriptionChanges,
) -> dict[str, KnownDescription]:
    """Return what a model should summarize; replace summaries that no document supports."""
    outdated: dict[str, KnownDescription] = {}
    replaced: list[EntitySummary] = []
    for item in known:
        if item.is_short:
            changes.merged += 1
            if item.summary is not None and not item.is_supported:
                text = description_of(item, MERGED_TOKENS)
                replaced.append(item.summarized(text, EXTRACTIVE_SOURCE, _MERGED))
        elif item.is_current and not _is_to_be_written(item, writer):
            changes.kept += 1
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
    changes: DescriptionChanges,
) -> Steps[None]:
    named = store.graph.entities(outdated.keys())
    entries = [
        DescriptionEntry(key, named[key].name if key in named else "", item.prompt_lines)
        for key, item in outdated.items()
    ]
    patience = Patience(writer.patience)
    yield Progress("descriptions", 0, len(entries))
    with closing(writer.write(entries)) as calls:
        for outcome in calls:
            written = [
                outdated[entry.key].summarized(text, writer.model.name, _MODEL)
                for entry, text in outcome.made
            ]
            failed = [
                outdated[entry.key].summarized(
                    description_of(outdated[entry.key], MERGED_TOKENS), EXTRACTIVE_SOURCE, _STAND_IN
                )
                for entry, _ in outcome.failed
            ]
            _put(store, readings, [*written, *failed])
            changes.summarised += len(written)
            changes.stand_ins += len(failed)
            changes.complaints += (
                *outcome.complaints,
                *(Complaint(entry.name, reason) for entry, reason in outcome.failed),
            )
            changes.unanswered += len(outcome.unanswered)
            done = changes.summarised + changes.stand_ins
            yield Progress("descriptions", done, len(entries))
            patience.note("" if written or failed else outcome.absence)


def _is_to_be_written(item: KnownDescription, writer: DescriptionWriter) -> bool:
    assert item.summary is not None
    kind = item.summary.content_key[:1]
    return kind == _MERGED or (kind == _STAND_IN and writer.retry)


def _put(store: Store, readings: ReadingStore, summaries: Sequence[EntitySummary]) -> None:
    with store.transaction():
        described = readings.descriptions([summary.entity_id for summary in summaries])
        readings.put_summaries(s for s in summaries if s.entity_id in described)


STAGE = "summarize"
TASK = "summarise-descriptions"
MISSING = "It has no usable line for an entry."

_OUTPUT_TOKENS = 160
_LONGEST_TOKENS = 240
_NUMBERED = re.compile(r"[\W_]{0,4}(\d{1,4})[\W_]{0,3}?\s*[|:：.、)）\]】]\s*(?=\S)(.*)", re.DOTALL)
_PAIRS = frozenset({"()", "（）", "``"})
_ENDS_OF_SUMMARIES = (".", "!", "?", "。", "！", "？", "…", '"', "”", "」", "』", ")", "）")


@dataclass(frozen=True, slots=True)
class DescriptionEntry:
    """An entity to summarize: its name and the lines that describe it; ``key`` is the caller's."""

    key: str
    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DescriptionWriter:
    """Summarizes descriptions, ``entries_a_call`` in a prompt, ``concurrency`` calls at once.

    ``retry`` asks again about entities whose earlier replies were unusable. After ``patience``
    calls in a row without an answer from a server, the run stops.
    """

    model: ChatModel
    concurrency: int = 4
    entries_a_call: int = 6
    retry: bool = False
    patience: int = PATIENCE

    def write(
        self, entries: Sequence[DescriptionEntry]
    ) -> Generator[BatchOutcome[DescriptionEntry, str], None, None]:
        """Yield the outcome of each call; entries are grouped by language, in order.

        Raises ModelError if no more calls can be made; earlier outcomes have been yielded.
        """
        batches = batches_by_language(
            entries, lambda entry: "\n".join(entry.lines), size=self.entries_a_call
        )
        yield from work_ordered(
            lambda batch: self._write_batch(*batch), batches, concurrency=self.concurrency
        )

    def _write_batch(
        self, language: str, batch: Sequence[DescriptionEntry]
    ) -> BatchOutcome[DescriptionEntry, str]:
        def request(entries: Sequence[DescriptionEntry], fault: str) -> ChatRequest:
            material = "\n".join(
                "\n".join((f"# {number} {entry.name}", *entry.lines))
                for number, entry in enumerate(entries, start=1)
            )
            prompts = prompts_of(self.model)
            return ChatRequest(
                make_messages(TASK, language, material, prompts=prompts, fault=fault),
                max_output_tokens=_OUTPUT_TOKENS * len(entries),
                stage=STAGE,
            )

        return ask_in_batch(self.model, batch, BatchTask(request, parse_descriptions, MISSING))


def parse_descriptions(reply: ChatReply, entries: Sequence[DescriptionEntry]) -> BatchReply[str]:
    """Return the texts of a reply by the position of their entry; never raises.

    A text must share a term with the lines that it summarizes, which garbage does not. Of two texts
    for an entry, the first counts.
    """
    found: dict[int, str] = {}
    complaints: list[Complaint] = []
    lines = reply_lines(reply.text)
    if len(entries) == 1 and lines and not any(_place(line, entries) for line in lines):
        lines = [f"1 | {' '.join(lines)}"]
    for position, line in enumerate(lines):
        placed = _place(line, entries)
        if placed is None:
            if not is_idle(line):
                complaints.append(Complaint(line, "it belongs to no entry"))
            continue
        place, text = placed
        cut = reply.finish_reason == "length" and position == len(lines) - 1
        fault = _fault(text, entries[place], cut=cut and not text.endswith(_ENDS_OF_SUMMARIES))
        if not fault and place in found:
            fault = "the entry has a line already"
        if fault:
            complaints.append(Complaint(line, fault))
        else:
            found[place] = text
    return BatchReply(found, tuple(complaints))


def _place(line: str, entries: Sequence[DescriptionEntry]) -> tuple[int, str] | None:
    """Return the position of a line's entry, found by number or by name, and the line's text."""
    if line[0] + line[-1] in _PAIRS:
        line = line[1:-1].strip()
    match = _NUMBERED.fullmatch(line[:LONGEST_LINE])
    if match and 1 <= int(match[1]) <= len(entries):
        text = match[2]
        name = entries[int(match[1]) - 1].name
        head, bar, rest = text.partition("|")
        if bar and fold_word(head) == fold_word(name):
            text = rest
        return int(match[1]) - 1, _cleaned(text)
    head, bar, rest = bare_line(line).partition("|")
    for place, entry in enumerate(entries):
        if bar and fold_word(head) and fold_word(head) == fold_word(entry.name):
            return place, _cleaned(rest)
    return None


def _cleaned(text: str) -> str:
    return clean_field(text.strip().strip("|"))


def _fault(text: str, entry: DescriptionEntry, *, cut: bool) -> str:
    if cut:
        return "it was cut off"
    if "|" in text:
        return "it has a field too many"
    if count_tokens(text) > _LONGEST_TOKENS:
        return "it is too long"
    known = set(content_terms("\n".join((entry.name, *entry.lines))))
    if known.isdisjoint(content_terms(text)):
        return "it shares no term with the descriptions"
    return ""
