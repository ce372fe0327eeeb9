"""Have a model summarize the descriptions of entities, several in a call, and parse its replies."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from knotwork._indexing.batch_requests import (
    LONGEST_LINE,
    BatchOutcome,
    BatchReply,
    BatchTask,
    ask_in_batch,
    batches_by_language,
    make_messages,
    reply_lines,
)
from knotwork._inference.call_limits import PATIENCE, work_ordered
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork._inference.own_prompts import OwnPrompts, prompts_of
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork._transform.model.reply_records import (
    Complaint,
    bare_line,
    clean_field,
    fold_word,
    is_idle,
)

STAGE = "summarize"
TASK = "summarise-descriptions"
MISSING = "It has no usable line for an entry."

_OUTPUT_TOKENS = 160
_LONGEST_TOKENS = 240
_NUMBERED = re.compile(r"[\W_]{0,4}(\d{1,4})[\W_]{0,3}?\s*[|:：.、)）\]】]\s*(?=\S)(.*)", re.DOTALL)
_PAIRS = frozenset({"()", "（）", "``"})
_STOPS = (".", "!", "?", "。", "！", "？", "…", '"', "”", "」", "』", ")", "）")


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
            lambda item: ask_in_batch(self.model, item[1], _task(item[0], prompts_of(self.model))),
            batches,
            concurrency=self.concurrency,
        )


def _task(language: str, prompts: OwnPrompts) -> BatchTask[DescriptionEntry, str]:
    def request(entries: Sequence[DescriptionEntry], fault: str) -> ChatRequest:
        material = "\n".join(
            "\n".join((f"# {number} {entry.name}", *entry.lines))
            for number, entry in enumerate(entries, start=1)
        )
        return ChatRequest(
            make_messages(TASK, language, material, prompts=prompts, fault=fault),
            max_output_tokens=_OUTPUT_TOKENS * len(entries),
            stage=STAGE,
        )

    return BatchTask(request, parse_descriptions, MISSING)


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
        fault = _fault(text, entries[place], cut=cut and not text.endswith(_STOPS))
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
    """Return why a text cannot be the entry's summary; empty if it can."""
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
