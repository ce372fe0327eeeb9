"""Load subtitles (SubRip and WebVTT), and write what is spoken with the times of its parts."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise

from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    broken_file_error,
    clean_line,
)
from knotwork._indexing.loaders.titles_and_captions import item_term
from knotwork._text.languages import HAN_AND_KANA
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

    ``turn`` is equal for what a speaker says without interruption, 0 if speakers cannot be
    distinguished. The name of the ``speaker`` of a turn may be unknown.
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


_ARROW = "-->"
_TIME = r"(?:(\d{1,4})[ ]?:[ ]?)?(\d{1,3})[ ]?:[ ]?(\d{1,2})(?:[ ]?[,.:][ ]?(\d{1,6}))?"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?![\d:])")
_NUMBER = re.compile(r"[ \t]*\d{1,9}[ \t]*")
_SKIPPED_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t]|$)")

_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,100})*[ \t]+([^<>]{1,200})>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:i|b|u|s|c|v|em|strong|font|ruby|rt|lang|span)(?:[.\s][^<>]{0,300})?/?>"
    r"|<[\d:.,]{5,20}>|<br[ ]?/?>|\{\\[^{}]{1,100}\}",
    re.IGNORECASE,
)
_DASH = re.compile(r"(?:[-‐–—]|>{2,3})[ ]?(?=[^\W\d_]|[\"“„«¿¡\[(♪])")
"""In subtitles, a dash at the start of a line is another speaker."""
_NAMED = re.compile(r"\[?([^\W\d_][^:：<>\[\]]{0,30}?)\]?\s?[:：]\s*(?=\S)(?!//)")
"""A line that begins with the name of its speaker, in capitals or more than once in the file."""

_SAME_MOMENT_S = 0.1
"""Lines that a cue repeats within this time of the last are still shown, not said again."""


@dataclass(frozen=True, slots=True)
class _Cue:
    """Lines of text that are shown together. Their times are None if the file has no valid ones."""

    lines: tuple[str, ...]
    start_s: float | None
    end_s: float | None


class SubtitlesLoader(FormatLoader, name="subtitles"):
    """Reads .srt and .vtt; a speaker in `<v Name>` is written before what the speaker says."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        is_vtt = text.startswith("WEBVTT")
        cues = list(_read_cues(text.split("\n"), is_vtt=is_vtt))
        if not cues:
            raise broken_file_error(source, "it has no line with times such as 00:01 --> 00:03")
        writer = BlockWriter(source)
        add_utterances(writer, _utterances(list(_without_repetitions(_in_order(cues)))))
        return writer.content("text/vtt" if is_vtt else "application/x-subrip")


def _read_cues(lines: Sequence[str], *, is_vtt: bool) -> Iterator[_Cue]:
    """Yield the cues of a file in its order.

    A line with an arrow begins a cue, whatever precedes it. Text with invalid times is kept.
    """
    timed = [number for number, line in enumerate(lines) if _ARROW in line]
    for number, following in pairwise([*timed, len(lines)]):
        end = following
        if following < len(lines):
            end = _before_name(lines, number + 1, following, is_vtt=is_vtt)
        shown = lines[number + 1 : end]
        if is_vtt:
            shown = list(_without_blocks(shown))
        yield _Cue(tuple(filter(_plain, map(clean_line, shown))), *_read_times(lines[number]))


def _before_name(lines: Sequence[str], start: int, timing: int, *, is_vtt: bool) -> int:
    """Return where the text of a cue ends: before the number or name above the next timing."""
    name = timing - 1
    if name < start:
        return timing
    if is_vtt and name > start and not lines[name - 1].strip():
        return name
    return name if _NUMBER.fullmatch(lines[name]) else timing


def _without_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that are not in a comment or a style sheet, which end at a blank line."""
    is_skipped, after_blank = False, False
    for line in lines:
        is_blank = not line.strip()
        if is_blank:
            is_skipped = False
        elif after_blank and _SKIPPED_BLOCK.match(line):
            is_skipped = True
        if not is_skipped:
            yield line
        after_blank = is_blank


def _read_times(line: str) -> tuple[float | None, float | None]:
    match = _TIMING.match(line)
    if match is None:
        return None, None
    values = match.groups()
    start_s, end_s = _seconds(values[:4]), _seconds(values[4:])
    return start_s, max(start_s, end_s)


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = parts
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return round(whole + float(f"0.{fraction or 0}"), 3)


def _in_order(cues: Sequence[_Cue]) -> list[_Cue]:
    """Return the cues by the time when they begin; one without times stays behind its neighbour."""
    latest = 0.0
    placed: list[tuple[float, _Cue]] = []
    for cue in cues:
        latest = latest if cue.start_s is None else cue.start_s
        placed.append((latest, cue))
    return [cue for _, cue in sorted(placed, key=lambda item: item[0])]


def _without_repetitions(cues: Sequence[_Cue]) -> Iterator[_Cue]:
    """Yield the cues without lines that the cue before shows too.

    Captions that scroll repeat each line until it leaves the screen.
    """
    shown: tuple[str, ...] = ()
    until_s: float | None = None
    for cue in cues:
        lines = tuple(_plain(line) for line in cue.lines)
        repeated = 0
        if (
            cue.start_s is not None
            and until_s is not None
            and cue.start_s - until_s <= _SAME_MOMENT_S
        ):
            most = min(len(shown), len(lines))
            repeated = next((n for n in range(most, 0, -1) if shown[-n:] == lines[:n]), 0)
        if lines:
            shown, until_s = lines, cue.end_s
        yield replace(cue, lines=cue.lines[repeated:])


def _utterances(cues: Sequence[_Cue]) -> Iterator[Utterance]:
    """Yield utterances. A name before a colon is that of the speaker until the next one begins.

    A voice, and a speaker whose name is unknown, has the cues in which it is marked.
    """
    names = _speakers(cues)
    turns, turn, speaker, has_voice = count(1), 0, "", False
    for cue in cues:
        is_first = True
        for line in cue.lines:
            for voice, part in _by_voice(line):
                text = _plain(part)
                dash = _DASH.match(text)
                text = text[dash.end() :] if dash else text
                named = _NAMED.match(text)
                name = voice
                if not voice and named and named[1] in names:
                    name, text = named[1], text[named.end() :]
                if dash or (name and name != speaker):
                    turn, speaker, has_voice = next(turns), name, bool(voice)
                elif is_first and not name and (has_voice or not speaker):
                    turn, speaker = 0, ""
                is_first = False
                yield Utterance(text, cue.start_s, cue.end_s, speaker, turn=turn)


def _speakers(cues: Sequence[_Cue]) -> frozenset[str]:
    """Return the names before a colon that are those of speakers."""
    lines = (_plain(line) for cue in cues for line in cue.lines)
    lines = (line[dash.end() :] if (dash := _DASH.match(line)) else line for line in lines)
    counts = Counter(match[1] for line in lines if (match := _NAMED.match(line)))
    return frozenset(
        name
        for name, lines_of in counts.items()
        if item_term(f"{name}: x") and (lines_of > 1 or name.isupper())
    )


def _by_voice(line: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line, each with the name of its speaker, "" if it names none."""
    start, name = 0, ""
    for match in _VOICE.finditer(line):
        if line[start : match.start()].strip():
            yield name, line[start : match.start()]
        start, name = match.end(), clean_line(html.unescape(match.group(1)))
    yield name, line[start:]


def _plain(text: str) -> str:
    """Return text without markup, on one line."""
    return clean_line(html.unescape(_TAG.sub(" " if "<br" in text else "", _VOICE.sub("", text))))
