"""Write what is spoken in a recording as turns and paragraphs, with the times of their parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.loader import clean_line
from knotwork._text.chinese import HAN_AND_KANA
from knotwork.records import BlockKind, TimedSpan

PAUSE_S = 2.0
"""A sentence that ends before a pause of this length ends its paragraph."""

PARAGRAPH_CHARACTERS = 600
"""A paragraph of this length ends with its sentence."""

LONGEST_PARAGRAPH = 1_500
"""A paragraph of this length ends, as speech without punctuation has no sentences."""

_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’」』）)\]♪]*$")
_WIDE = rf"{HAN_AND_KANA}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65…"
_WIDE_END = re.compile(rf"[{_WIDE}]$")
_WIDE_START = re.compile(rf"[{_WIDE}]")


@dataclass(frozen=True, slots=True)
class Utterance:
    """Words that one speaker says, from ``start_s`` to ``end_s``; times of None are unknown.

    ``turn`` is equal for what a speaker says without interruption, 0 if nothing tells speakers
    apart. The name of the ``speaker`` of a turn may be unknown.
    """

    text: str
    start_s: float | None
    end_s: float | None
    speaker: str = ""
    begins_paragraph: bool = False
    turn: int = 0


def add_utterances(writer: BlockWriter, utterances: Iterable[Utterance]) -> None:
    """Append utterances as paragraphs, those of one turn in a block that begins with its speaker.

    A paragraph ends with its turn, at a pause after a sentence, and when it is long.
    """
    before: Utterance | None = None
    turn: OpenBlock | None = None
    length = 0
    for said in utterances:
        text = clean_line(said.text)
        if not text:
            continue
        begins = before is None or _begins(said, before, writer.last, length)
        if before is None or said.turn != before.turn:
            if turn is not None:
                writer.end(turn)
            turn = writer.begin(BlockKind.TURN, said.speaker) if said.turn else None
            text = f"{said.speaker}: {text}" if said.speaker else text
        if begins:
            span = writer.paragraph(text)
            length = 0
        else:
            wide = _WIDE_END.search(writer.last) and _WIDE_START.match(text)
            span = writer.extend(text, gap="" if wide else " ")
        length += len(text)
        if said.start_s is not None and said.end_s is not None:
            writer.times.append(TimedSpan(span, said.start_s, said.end_s))
        before = said


def _begins(said: Utterance, before: Utterance, last: str, length: int) -> bool:
    """Return True if an utterance begins a paragraph, after one of ``length`` characters."""
    if said.begins_paragraph or said.turn != before.turn or length >= LONGEST_PARAGRAPH:
        return True
    pause_s = 0.0 if said.start_s is None or before.end_s is None else said.start_s - before.end_s
    ends = _SENTENCE_END.search(last[-10:]) is not None
    return ends and (pause_s >= PAUSE_S or length >= PARAGRAPH_CHARACTERS)
