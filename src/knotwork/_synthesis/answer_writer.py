"""Have a language model write an answer from packed evidence, and check its reply.

The model is asked once. If it fails (no server, no budget, a reply that cites nothing), the answer
quotes sentences of the documents, with a note on the reason.

A mark in a reply has the number of a passage of the prompt; in the answer it cites the sentence of
that passage which supports the statement before it. Remembered facts are passages with negative
numbers, which a reply cites as [M1] for -1. A statement is shown once it was read whole and its
passages were found to say it, so that a streamed answer needs no correction. An item is a
statement, as is a row with the names of its columns; code is one, and the brackets in it are no
marks. Further checks find unknown numbers, misquotes and uncited sentences.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from knotwork._config import AnswerSettings
from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatReply, ChatRequest
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import comparable, restore
from knotwork._questions.reading import reading_of
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._synthesis.extractive_answers import cite_sentences, compose_answer
from knotwork._synthesis.grounding.statement_check import (
    FENCE,
    Fault,
    Finding,
    StatementCheck,
    is_code,
    is_row,
)
from knotwork._synthesis.memory_evidence import add_memory, fact_passages, stated_facts
from knotwork._synthesis.messages import make_request, no_answer
from knotwork._synthesis.prompt_context import (
    PromptPassage,
    clip,
    holds_rows,
    pack_evidence,
    sentences_of,
)
from knotwork._text.plain_text import gap_before_mark, gap_between, split_row
from knotwork._text.sentences import split_sentences
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import STOP_WORDS, content_terms, terms
from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.records import Answer, Evidence, MemoryCitation, Span, StageUsage, Usage

CUT_OFF = "The reply was cut off at its token limit."

_NOISE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A usable reply. ``is_unknown``: the model says that the passages do not answer.

    ``supported_share`` is the share of its statements that the passages say, from 0 to 1.
    ``remembered`` are the numbers of the facts that it cites, in the order of their marks.
    """

    text: str
    cited: tuple[SelectedSentence, ...]
    notes: tuple[str, ...]
    is_unknown: bool
    reply: ChatReply
    supported_share: float = 1.0
    remembered: tuple[int, ...] = ()


def parse_answer_reply(
    reply: ChatReply,
    passages: Sequence[PromptPassage],
    *,
    question: str,
    unknown: str,
    check: StatementCheck | None = None,
) -> ParsedReply:
    """Parse a reply; ``unknown`` is the sentence agreed on for "I don't know".

    ``check`` is that of the same passages and question, if the reply was read before.
    Raises Unparsable if the reply is empty, withheld, or cites no passage: then nothing in it can
    be traced to a source.
    """
    if reason := reply.why_empty:
        raise Unparsable(reason)
    numbered = {passage.number: passage for passage in passages}
    reader = ReplyReader(numbered, question=question, check=check)
    reader.feed(reply.text.strip())
    reader.finish(is_cut=reply.finish_reason == "length")
    if means_unknown(reader.plain, unknown, is_cited=reader.has_citations):
        return ParsedReply("", (), (), is_unknown=True, reply=reply)
    if not reader.has_citations:
        if reader.rejected:
            raise Unparsable(
                f"None of its statements is in the passages. {reader.rejected[0].reason}"
            )
        raise Unparsable("The reply cites none of the passages it was given.")
    notes = check_reply(reader, passages, question=question)
    if reply.finish_reason == "length":
        notes = (*notes, CUT_OFF)
    return ParsedReply(
        reader.text.strip(),
        tuple(reader.cited),
        notes,
        is_unknown=False,
        reply=reply,
        supported_share=reader.supported_share,
        remembered=tuple(reader.remembered),
    )


def means_unknown(plain: str, unknown: str, *, is_cited: bool) -> bool:
    """Return True if a reply, given without its marks, says that there is no answer.

    It does if it begins with the agreed sentence, in either language, or contains it and cites
    nothing.
    """
    said = bare_text(plain)
    return any(
        said.startswith(phrase) or (phrase in said and not is_cited) for phrase in _phrases(unknown)
    )


def may_become_unknown(plain: str, unknown: str) -> bool:
    """Return True if a reply that begins with ``plain`` may say that there is no answer."""
    said = bare_text(plain)
    return any(phrase.startswith(said) or said.startswith(phrase) for phrase in _phrases(unknown))


def _phrases(unknown: str) -> list[str]:
    return [bare_text(phrase) for phrase in {unknown, no_answer("en"), no_answer("zh")}]


def bare_text(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return _NOISE.sub("", text).casefold()


_OPEN, _CLOSE, _BETWEEN = "[【［", "]】］", r"\s,，、;；\-–"
_MARK_WORD = (
    r"(?:passages?|sources?|citations?|cite|refs?|references?|documents?|docs?|chunks?"
    r"|段落?|来源|出处|引用|文档|资料|片段|参考|材料|文献|第)"
)
_NUMBER_LIST = rf"M?\d(?:M?\d|[{_BETWEEN}^]|{_MARK_WORD}\s*+[:：#]?+)*+"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹①②③④⑤⑥⑦⑧⑨⑩"
_CIRCLE = _RAISED.index("①")
_CIRCLED = tuple(_RAISED[_CIRCLE:])
_MAY_BE_RAISED = re.compile(r"(?:[^\W\d_]{3}|[\u3400-\u9fff]|[^\w\s])$")
"""What is before a raised mark: a word or a sign, not a number or a unit such as "km"."""
_BRACKETS = re.escape(_OPEN + _CLOSE)
_WRAPPER = r"[(（]\s*+(?:see|cf\.|见|参见)?\s*+"
_LISTED = rf"[{_BRACKETS}{_BETWEEN}:：#\d^]|{_MARK_WORD}|and|和|与|及"
_REPLY_MARK = re.compile(
    rf"(?<![ \t])[ \t]*+(?:"
    rf"\[\[\^?(?P<double>{_NUMBER_LIST})\]\]"
    rf"|(?<!\[)[{re.escape(_OPEN)}]\s*+\^?(?:{_MARK_WORD}\s*+[:：#]?\s*+)?(?P<plain>{_NUMBER_LIST})"
    rf"(?:(?::\d+)?†[^{re.escape(_CLOSE)}\n]*+)?[{re.escape(_CLOSE)}]"
    rf"|{_WRAPPER}(?:{_MARK_WORD}|(?=[{re.escape(_OPEN)}]))(?P<named>(?:{_LISTED})*+)[)）]"
    rf"|[(（](?P<counted>\d{{1,2}})[)）]"
    rf"|<(?P<tag>sup|cite|ref)>\s*+(?P<tagged>(?:{_LISTED})*+)</(?P=tag)>"
    rf"|(?P<raised>[{_RAISED}]))",
    re.IGNORECASE,
)
"""The marks of this prompt, and those that models learned elsewhere, as 【1†source】, [^1], [[1]],
(Source 1), <sup>1</sup> and ¹. Of these, `ReplyReader` reads only what cannot mean another thing.
"""
_MAY_END = re.compile(r"(?:[.!?…。！？｡；]|\n)[\"'”’»)\]}」』）】*_]*\s*$")
_UNFINISHED = re.compile(
    rf"(?<![ \t])[ \t]*+(?:[{re.escape(_OPEN)}]{{1,2}}[^{_BRACKETS}\n]*+"
    r"|[(（][^()（）.!?。！？\n]*+|<[^<>\n]{0,5}+(?:>[^<>\n]{0,40}+(?:</?[a-z]{0,5}+)?)?)?$"
)
_WRAPPED = re.compile(
    rf"(?:{_WRAPPER}(?:{_MARK_WORD}|(?=[{re.escape(_OPEN)}]))|<(?:sup|cite|ref)>|\[(?=\[))"
    rf"(?:{_LISTED})*+(?:[a-z]{{1,10}}|</?[a-z]*+)?$",
    re.IGNORECASE,
)
"""The beginning of a mark that may hold another one, as (Source [1])."""
_NUMBERS = re.compile(r"(M?)(\d+)(?:\s*[-–]\s*M?(\d+))?", re.IGNORECASE)
_LONGEST_RANGE = 20
_SEARCHED_CHARACTERS = 200
"""Characters before the beginning of a statement that are searched for the end of another."""
_LONGEST_END = 20
_LONGEST_STATEMENT = 800
"""A statement of more characters is cut, so that no reply takes long to check."""
_LONGEST_CODE = 4_000
"""The same limit for code in a fence."""
_BLOCK_STARTS = tuple("|`-*+•#>")
"""Characters that begin a block at the start of a line."""
_LONGEST_MARK = 120
"""An open bracket with more characters after it begins no mark."""
_FEWEST_STATEMENT_TERMS = 2


@dataclass(frozen=True, slots=True)
class Rejected:
    """A statement that was left out of the answer; ``finding`` is None if it only repeats words."""

    text: str
    finding: Finding | None

    @property
    def reason(self) -> str:
        """The reason in a sentence."""
        shown = clip(" ".join(self.text.split()), _SHOWN_TOKENS)
        if self.finding is None:
            return f"“{shown}” repeats what was said."
        fault, word = self.finding
        return f"“{shown}”: {_REASONS[fault].format(word=word)}"


_SHOWN_TOKENS = 40
_REASONS = {
    Fault.NUMBER: "the passages do not give {word} for it.",
    Fault.NAME: "the passages do not say this of {word}.",
    Fault.NEGATION: "the passages say the opposite (“{word}”).",
    Fault.ROLES: "the passages have “{word}” the other way round.",
    Fault.WORDS: "the passages do not say this.",
    Fault.SELF: "the model speaks about itself.",
}


@dataclass(slots=True)
class _OpenStatement:
    """The statement that is being read: its text, and the marks at their places in it."""

    text: str = ""
    marks: list[tuple[int, list[int]]] = field(default_factory=list)

    @property
    def fences(self) -> int:
        """The number of its fences: 1 inside code, 2 behind it."""
        return self.text.count(FENCE) if is_code(self.text) else 0

    @property
    def end(self) -> int:
        """The place of marks at its end: that of a row is in its last cell."""
        text = self.text.rstrip()
        return len(text.removesuffix("|").rstrip() if is_row(text) else text)

    @property
    def numbers(self) -> list[int]:
        """The numbers of its marks, each once."""
        return list(dict.fromkeys(number for _, marked in self.marks for number in marked))


class ReplyReader:
    """Rewrites the marks of a reply that is fed in pieces of any size, and checks its statements.

    A statement is shown once it is whole and the passages that it cites were found to say it. After
    `finish`, ``plain`` is the reply without marks, ``text`` is the answer, ``cited`` are the
    sentences that its marks cite, ``remembered`` the numbers of the facts that they cite,
    ``unknown_numbers`` are the numbers of the reply that no passage has, ``rejected`` are the
    statements that were left out.
    """

    def __init__(
        self,
        passages: Mapping[int, PromptPassage],
        *,
        question: str = "",
        check: StatementCheck | None = None,
    ) -> None:
        self._passages = passages
        self._check = check or StatementCheck(passages, question=question)
        self._pending = ""
        self._open = _OpenStatement()
        self._header: list[_OpenStatement] = []
        self._columns: tuple[str, ...] = ()
        self._numbers: dict[tuple[str, Span], int] = {}
        self._seen: set[str] = set()
        self._before_mark = ""
        self._counts = False
        self.cited: list[SelectedSentence] = []
        self.remembered: list[int] = []
        self.unknown_numbers: list[int] = []
        self.rejected: list[Rejected] = []
        self.moved = 0
        self.added = 0
        self.statements: list[bool] = []
        self.plain = ""
        self.text = ""

    def feed(self, piece: str) -> str:
        """Add a piece of the reply, and return the text that can be shown next."""
        # Where statements end may not depend on the pieces, so that each character is read alone.
        shown = "".join(map(self._feed_character, piece))
        self.text += shown
        return shown

    def finish(self, *, is_cut: bool = False) -> str:
        """Return the rest of the text to show.

        If the reply ``is_cut`` off, a statement that does not end is left out behind others.
        """
        shown = self._say(self._pending.rstrip())
        if is_cut and self.statements and not _MAY_END.search(self._open.text[-_LONGEST_END:]):
            self._open = _OpenStatement()
        shown += self._close() + self._end_table()
        self._pending = ""
        self.text += shown
        return shown

    @property
    def has_citations(self) -> bool:
        """Whether the answer cites a sentence or a remembered fact."""
        return bool(self.cited or self.remembered)

    @property
    def supported_share(self) -> float:
        """The share of the statements that are in the answer; repetitions count as one."""
        unsupported = sum(rejected.finding is not None for rejected in self.rejected)
        repeats = any(rejected.finding is None for rejected in self.rejected)
        return len(self.statements) / max(len(self.statements) + unsupported + repeats, 1)

    def _feed_character(self, character: str) -> str:
        self._pending += character
        shown = ""
        if self._open.fences == 1:
            shown, self._pending = self._say(self._pending), ""
            return shown
        is_short = len(self._pending) <= _LONGEST_MARK
        wrapped = _WRAPPED.search(self._pending) if is_short else None
        if wrapped and not _REPLY_MARK.match(wrapped[0]):
            return ""
        if match := _REPLY_MARK.search(self._pending):
            shown = self._say(self._pending[: match.start()])
            if self._is_mark(match):
                self._mark(match)
            else:
                shown += self._say(match[0])
            self._pending = self._pending[match.end() :]
        held = _UNFINISHED.search(self._pending) if is_short else None
        cut = held.start() if held else len(self._pending)
        shown += self._say(self._pending[:cut])
        self._pending = self._pending[cut:]
        return shown

    def _say(self, text: str) -> str:
        """Add plain text; return the statement before it, if that is whole now."""
        if not text:
            return ""
        after_mark = bool(self._open.marks) and self._open.marks[-1][0] == len(self._open.text)
        # A period right before a word does not end a sentence: put back the space of the mark.
        gap = " " if after_mark and self._open.text[-1:] in ".!?" and text[0].isalnum() else ""
        self.plain += gap + text
        shown = ""
        if text.strip() and self._begins_statement(gap + text):
            shown = self._close()
        self._open.text += gap + text
        return shown

    def _begins_statement(self, text: str) -> bool:
        fences = self._open.fences
        if fences == 1 and len(self._open.text) <= _LONGEST_CODE:
            return False
        if fences or len(self._open.text) > _LONGEST_STATEMENT:
            return True
        before = self._open.text[-_SEARCHED_CHARACTERS:]
        space = text[: len(text) - len(text.lstrip())]
        line = (before + space).rstrip(" \t")
        if before.strip() and line.endswith("\n") and text.lstrip().startswith(_BLOCK_STARTS):
            return True
        if not before.strip() or not _MAY_END.search(before[-_LONGEST_END:] + space):
            return False
        spans = split_sentences(before + text)
        return len(spans) > 1 and spans[-1].start >= len(before)

    def _is_mark(self, match: re.Match[str]) -> bool:
        """Return True for a mark of this prompt, and for one of another kind that is certainly one.

        It names passages, is not in their text, and is neither an exponent nor the number of an
        item.
        """
        if match["plain"]:
            return True
        numbers, written = _numbers_of(match), match[0].strip()
        if not numbers or not self._passages.keys() >= set(numbers):
            return False
        if any(written in passage.chunk.text for passage in self._passages.values()):
            return False
        before = self._open.text.rstrip(" \t")
        if match["counted"] or match["raised"] in _CIRCLED:
            self._counts |= not any(map(str.isalnum, before)) or before.endswith(("\n", ":", "："))
            return not self._counts
        if match["raised"]:
            return bool(_MAY_BE_RAISED.search(before[-3:])) and before == self._open.text
        return True

    def _mark(self, match: re.Match[str]) -> None:
        found = _numbers_of(match)
        self.unknown_numbers += [number for number in found if number not in self._passages]
        valid = [number for number in found if number in self._passages]
        if not valid or not self._open.text.strip():  # a mark without a statement cites nothing
            return
        if self._open.marks and self._open.marks[-1][0] == len(self._open.text):
            self._open.marks[-1][1].extend(valid)
        else:
            self._open.marks.append((len(self._open.text), valid))

    def _close(self) -> str:
        """Check the open statement, and return it with the marks of the answer, or ""."""
        said, self._open = self._open, _OpenStatement()
        said.text = restore(said.text)
        bare = said.text.strip()
        if not is_row(bare):
            return self._end_table() + self._check_statement(said)
        if self._columns:
            shown = self._check_statement(said, self._columns)
            if shown.strip():  # the header comes before the first row
                shown = "".join(part.text for part in self._header) + shown
                self._header = []
            return shown
        cells = split_row(bare)
        if self._header and all(not cell.strip(":- ") for cell in cells):
            self._columns = split_row(self._header[0].text)
            self._header.append(said)
            return ""
        shown = self._end_table()
        self._header = [said]  # held back: the next row shows whether this is a header
        return shown

    def _end_table(self) -> str:
        """Forget the open table; return the row that is held back, if it is no header."""
        held, columns = self._header, self._columns
        self._header, self._columns = [], ()
        return self._check_statement(held[0]) if held and not columns else ""

    def _check_statement(self, said: _OpenStatement, columns: Sequence[str] = ()) -> str:
        bare = said.text.strip()
        if not bare:
            return said.text
        if _TAG.fullmatch(bare) or self._is_chatter(bare):  # or the model repeats its prompt
            return ""
        if is_row(bare) and said.marks:
            said.marks = [(said.end, said.numbers)]
        is_lead_in = bare.endswith((":", "：")) or bare.startswith("#")
        is_statement = not is_lead_in and len(content_terms(bare)) >= _FEWEST_QUOTED_TERMS
        key = bare_text(bare)
        if (is_statement and key in self._seen) or (not is_code(bare) and _goes_in_circles(bare)):
            self.rejected.append(Rejected(bare, None))
            return ""
        self._seen.add(key)
        if is_statement:
            stated = self._check.read_row(bare, columns) if columns else _LEAD.sub("", bare)
            finding = self._check.find_fault(stated, said.numbers)
            if finding or not said.numbers:
                self._cite_another(said, stated, is_wrong=finding is not None)
            if finding and not said.marks:
                self.rejected.append(Rejected(bare, finding))
                return ""
            self.statements.append(bool(said.marks))
        return self._cite(said)

    def _is_chatter(self, bare: str) -> bool:
        """Return True for politeness to the user that the passages do not say."""
        if not _CHATTER.fullmatch(bare.strip("*_ ")):
            return False
        said = bare_text(bare)
        return not any(said in bare_text(p.chunk.text) for p in self._passages.values())

    def _cite_another(self, said: _OpenStatement, stated: str, *, is_wrong: bool) -> None:
        """Cite the passage that says a statement, if one does, instead of none or a wrong one."""
        number = self._check.find_passage(stated)
        self.moved += bool(said.marks) and number is not None
        self.added += not said.marks and number is not None
        place = said.marks[-1][0] if said.marks else said.end
        if number is not None:
            said.marks = [(place, [number])]
        elif is_wrong:
            said.marks = []

    def _cite(self, said: _OpenStatement) -> str:
        """Return a statement with the marks of the answer in place of those of the reply."""
        text = said.text
        if self._before_mark and not gap_between(self._before_mark, text.lstrip(" \t")):
            text = text.lstrip(" \t")
        shown, place = "", len(said.text) - len(text)
        for end, numbers in said.marks:
            shown += said.text[place:end]
            support = said.text[:end] if place == 0 else said.text[place:end]
            if len(content_terms(support)) < _FEWEST_STATEMENT_TERMS:
                support = said.text[:end]
            marks = dict.fromkeys(self._mark_of(number, support) for number in numbers)
            gap = "" if not shown or shown[-1:].isspace() else gap_before_mark(shown[-4:])
            gap = "\n" if gap and shown.endswith(FENCE) else gap
            shown += gap + "".join(marks)
            place = end
        shown += said.text[place:]
        self._before_mark = said.text[-4:] if said.marks and place == len(said.text) else ""
        return shown

    def _mark_of(self, number: int, statement: str) -> str:
        """Return the mark in the answer for a passage that a statement cites."""
        if number < 0:
            if number not in self.remembered:
                self.remembered.append(number)
            return f"[M{self.remembered.index(number) + 1}]"
        support = find_support(statement, self._passages[number])
        key = (support.chunk.document_id, support.span)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.cited.append(support)
        return f"[{self._numbers[key]}]"


def _numbers_of(match: re.Match[str]) -> list[int]:
    kinds = ("plain", "double", "named", "counted", "tagged", "raised")
    text = next(filter(None, map(match.group, kinds)), "")
    if match["raised"]:
        place = _RAISED.index(text)
        return [place if place < _CIRCLE else place - _CIRCLE + 1]
    found: list[int] = []
    for letter, first, last in _NUMBERS.findall(text):
        low, high = int(first), int(last or first)
        is_range = low < high <= low + _LONGEST_RANGE
        numbers = range(low, high + 1) if is_range else dict.fromkeys((low, high))
        found += (-number if letter else number for number in numbers)
    return found


SECOND_GAIN = 0.2
"""A second sentence is added if the support then has this larger share of the statement's terms."""


def find_support(statement: str, passage: PromptPassage) -> SelectedSentence:
    """Return the sentence that covers the statement best, or two neighbours that do much better.

    ``worth`` is the covered share of the statement's terms. Among equals the most relevant sentence
    of the passage wins, as for a statement in another language than its passage.
    """
    asked = set(content_terms(statement))
    chunk = passage.chunk
    places = {span: place for place, span in enumerate(sentences_of(chunk))}
    held = [set(content_terms(chunk.text_at(span))) & asked for span in passage.spans]
    best = max(
        range(len(held)),
        key=lambda place: (len(held[place]), passage.spans[place] == passage.best, -place),
    )
    span, found = passage.spans[best], held[best]
    needed = len(found) + SECOND_GAIN * len(asked)
    for other in (best - 1, best + 1):
        if not 0 <= other < len(held):
            continue
        second = passage.spans[other]
        both = held[best] | held[other]
        is_beside = abs(places[second] - places[passage.spans[best]]) == 1
        if asked and is_beside and len(both) >= needed and len(both) > len(found):
            start, end = min(passage.spans[best], second), max(passage.spans[best], second)
            span, found = Span(start.start, end.end), both
    share = len(found) / len(asked) if asked else 0.0
    return SelectedSentence(chunk, span, chunk.text_at(span), share, passage.number)


_QUOTES = re.compile(r"“([^“”]+)”|\"([^\"\n]+)\"|「([^「」]+)」|『([^『』]+)』")
_ELLIPSIS = re.compile(r"\s*(?:…+|\.{3,}|\[…\])\s*")
_FEWEST_QUOTED_TERMS = 2
"""A quote of fewer terms is a name or a figure of speech; a sentence of fewer is no statement."""

_MOST_SHOWN = 3
_EDGES = " \t.,;:!?，。；：！？、"


def check_reply(
    reader: ReplyReader, passages: Sequence[PromptPassage], *, question: str
) -> tuple[str, ...]:
    """Return notes for the user on the errors in a reply that was read to its end."""
    notes = []
    missing = sorted(set(reader.unknown_numbers))
    if missing:
        listed = ", ".join(f"[{n}]" if n >= 0 else f"[M{-n}]" for n in missing)
        notes.append(f"The model cited {listed}, which no passage has; the marks were removed.")
    notes += [
        f"“{quote}” is quoted in the answer, but no passage contains it."
        for quote in find_misquotes(reader.plain, passages, question=question)
    ]
    bare = reader.statements.count(False)
    if bare:
        verb = "cites" if bare == 1 else "cite"
        notes.append(f"{bare} of {len(reader.statements)} sentences {verb} no source.")
    if reader.added:
        notes.append(
            "1 sentence had no mark and now cites the passage that says it."
            if reader.added == 1
            else f"{reader.added} sentences had no mark and now cite the passages that say them."
        )
    if reader.moved:
        notes.append(
            "1 mark led to a passage that does not say it, and now cites one that does."
            if reader.moved == 1
            else f"{reader.moved} marks led to passages that do not say it, and now cite others."
        )
    if reader.rejected:
        total = len(reader.rejected) + len(reader.statements)
        verb = "was" if len(reader.rejected) == 1 else "were"
        notes.append(f"{len(reader.rejected)} of {total} statements {verb} left out.")
        notes += dict.fromkeys(rejected.reason for rejected in reader.rejected[:_MOST_SHOWN])
    return tuple(notes)


def find_misquotes(text: str, passages: Sequence[PromptPassage], *, question: str) -> list[str]:
    """Return at most three quotes in a text that neither the passages nor the question contain.

    White space, letter case and the form of quotation marks are ignored; a quote with an ellipsis
    is checked in parts.
    """
    sources = [_normalise(p.chunk.text) for p in passages] + [_normalise(p.text) for p in passages]
    sources.append(_normalise(question))
    wrong = []
    for quote in (next(filter(None, groups)) for groups in _QUOTES.findall(text)):
        if len(content_terms(quote)) < _FEWEST_QUOTED_TERMS:
            continue
        parts = [_normalise(part).strip(_EDGES) for part in _ELLIPSIS.split(quote)]
        if not all(any(part in source for source in sources) for part in parts):
            wrong.append(" ".join(quote.split()))
    return list(dict.fromkeys(wrong))[:_MOST_SHOWN]


_REST = r"[^.!?。！？\n\d]{0,120}"
_CHATTER = re.compile(
    rf"(?:(?:i (?:really )?)?(?:hope|trust) (?:this|that|it|these)\b{_REST}"
    rf"|(?:please )?(?:let me know|feel free|(?:do not|don['’]t) hesitate)\b{_REST}"
    rf"|if (?:you|there)\b{_REST}(?:let me know|feel free|ask|happy to help|glad to help"
    rf"|(?:do not|don['’]t) hesitate){_REST}"
    rf"|(?:(?:i['’]?(?:m| am|d be| would be|ll be| will be)|always) )?"
    rf"(?:happy|glad|here) to (?:help|assist)\b{_REST}"
    r"|(?:is there|do you have|would you like|need)\b[^.!?\n\d]{0,120}\?"
    r"|(?:sure(?: thing)?|certainly|of course|absolutely|gladly|okay|ok|alright)"
    rf"(?:[,!.—– -]+here(?:['’]s| is| are)\b{_REST})?"
    rf"|(?:great|good|excellent|interesting) question\b{_REST}"
    rf"|(?:thanks|thank you)\b{_REST}|you['’]?(?:re| are) welcome|good luck\b{_REST}"
    rf"|(?:我)?(?:衷心)?希望(?:这|以上|上述|本|我的|能|可以|对|回答){_REST}"
    rf"|(?:如果?|若|假如)(?:您|你|还|有|仍|需){_REST}(?:告诉我|告知|提问|联系|询问|提出|补充|解答|问我|帮){_REST}"
    rf"|(?:请|欢迎|您可以|你可以)?随时(?:告诉|提问|联系|询问|问){_REST}|欢迎(?:继续|随时|再次){_REST}"
    rf"|(?:还有|需要|是否)(?:什么|其他|我|别的|需要){_REST}[吗呢么]"
    r"|(?:好的|当然(?:可以)?|没问题|不客气|没关系)(?:[，,](?:以下|下面|这是|我来)[^。！？\n\d]{0,60})?"
    rf"|很?(?:高兴|乐意|荣幸)(?:能)?(?:为|帮|回答){_REST}|(?:谢谢|感谢)(?:您|你){_REST}|祝(?:您|你){_REST})"
    r"[\s.!?:。！？：~～…\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]*",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely)[,!] )?"
    r"(?:(?:based on|according to|as (?:stated|mentioned|described) in|from) (?:the |these |this )?"
    r"(?:given |provided |above |retrieved |supplied |following )?(?:passages?|sources?|documents?"
    r"|context|information|text|excerpts?)(?: (?:provided|given|above|you provided))?,? )?"
    r"|(?:好的[，,]|当然[，,])(?:(?:根据|基于|按照|从)[^，,]{0,20}[，,])?|(?:根据|基于|按照|从)(?:您|你)?(?:所)?(?:提供|上述|以上|给出|给定|现有)?的?"
    r"(?:资料|段落|文档|文本|内容|信息|材料|上下文|片段)(?:中?可知|可知|来看|显示)?[，,]",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][a-z_]{1,30}>")
_MOST_REPEATED = 4
"""Times that the words of a statement are said on average, from which it only repeats them."""


def _goes_in_circles(sentence: str) -> bool:
    """Return True for a sentence as "The bridge is the bridge of the bridge"."""
    said = [term for term in terms(sentence) if term not in STOP_WORDS]
    distinct = len(set(said))
    return len(said) > 1 and (distinct == 1 or len(said) >= _MOST_REPEATED * distinct)


def _normalise(text: str) -> str:
    """Return a text for comparison: as documents and prompts have it, folded, plain quotes.

    Spaces beside wide characters are removed.
    """
    plain = comparable(text).translate(_PLAIN_QUOTES).casefold()
    return re.sub(r"\s+", " ", re.sub(r"(?<=[^\x00-\u2fff])\s+|\s+(?=[^\x00-\u2fff])", "", plain))


_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


SOURCES_SILENT = "sources_silent"
"""The reason if the model found no answer in the passages."""

ROWS_UNCITED = (
    "The language model was not asked: it must cite passages, and no passage states the rows."
)
NOT_ASKED = "The language model was not asked, as nothing was found."
ANSWER_STAGE = "answer"
ANSWER_OUTPUT_TOKENS = 600

_log = logging.getLogger("knotwork.synthesis")


class AnswerWriter:
    """Writes the answer to one question with a chat model, whose meter counts the cost.

    ``notes`` are put before those of the answer. Without ``fallback``, a failure of the model is
    raised instead of quoting sentences. ``memory`` are remembered facts, which the model may cite
    as it cites passages.
    """

    def __init__(
        self,
        model: CachedChatModel,
        *,
        store: Store,
        settings: AnswerSettings,
        prices: PriceTable | None = None,
        notes: Sequence[str] = (),
        fallback: bool = True,
        memory: Sequence[MemoryCitation] = (),
    ) -> None:
        self._model = model
        self._store = store
        self._settings = settings
        self._prices = prices or PriceTable()
        self._notes = tuple(notes)
        self._fallback = fallback
        self._memory = tuple(memory)

    def write(self, evidence: Evidence) -> Iterator[Progress]:
        """Yield the steps to an answer; the last event carries it.

        The model itself judges whether the passages answer. Without ``fallback``, raises ModelError
        as `ChatModel.stream`, or Unparsable. Raises ConfigError for an invalid setting.
        """
        quoted = compose_answer(evidence, store=self._store, settings=self._settings)
        passages = pack_evidence(evidence, budget_tokens=self._settings.context_tokens)
        if not passages and not self._memory:
            yield self.finish(quoted, NOT_ASKED)
            return
        if quoted.results and not holds_rows(evidence):
            yield self.finish(quoted, ROWS_UNCITED)
            return
        request = make_answer_request(quoted.question, passages, self._model)
        yield from self.write_from(request, passages, quoted)

    def write_from(
        self,
        request: ChatRequest,
        passages: Sequence[PromptPassage],
        quoted: Answer,
        *,
        notes: Sequence[str] = (),
    ) -> Iterator[Progress]:
        """Ask for an answer that cites ``passages``; ``quoted`` is used if the model fails.

        ``notes`` are put before those of the answer. Yields and raises as `write`.
        """
        quoted = replace(quoted, notes=(*notes, *quoted.notes))
        facts = fact_passages(self._memory)
        request = add_memory(request, facts, prompts_of(self._model), question=quoted.question)
        passages = [*passages, *facts]
        yield Progress(Stage.ASKED, note=self._model.name)
        unknown = no_answer(reading_of(quoted.question).language)
        numbered = {passage.number: passage for passage in passages}
        check = StatementCheck(numbered, question=quoted.question)
        showing = _StreamedText(ReplyReader(numbered, check=check), unknown)
        parse = partial(
            parse_answer_reply,
            passages=passages,
            question=quoted.question,
            unknown=unknown,
            check=check,
        )
        parsed: ParsedReply | None = None
        note = ""
        try:
            for item in self._model.stream_checked(request, parse):
                if isinstance(item, ParsedReply):
                    parsed = item
                elif shown := showing.feed(item):
                    yield Progress(Stage.TEXT, note=shown)
        except (ModelError, StoreError) as error:
            parsed, note = self._recover(error, showing, parse)
        if parsed is not None and not parsed.is_unknown:
            if rest := showing.finish(is_cut=parsed.reply.finish_reason == "length"):
                yield Progress(Stage.TEXT, note=rest)
            citations = cite_sentences(parsed.cited, self._store)
            confidence = quoted.confidence if citations else None
            answer = replace(
                quoted,
                text=parsed.text,
                short="",
                answered=True,
                reason="",
                citations=citations,
                memory=stated_facts(parsed.remembered, self._memory),
                confidence=None if confidence is None else confidence * parsed.supported_share,
                model=self._model.name,
                notes=(*quoted.notes, *parsed.notes),
            )
            yield self.finish(answer, note)
            return
        if showing.has_shown:
            yield Progress(Stage.WITHDRAWN, note=note)
        yield self.finish(self.decline(quoted) if parsed else quoted, note)

    def _recover(
        self, error: KnotworkError, showing: _StreamedText, parse: partial[ParsedReply]
    ) -> tuple[ParsedReply | None, str]:
        """Return the reply if only caching it failed, else None, and a note on the error."""
        _log.info("no answer from %s: %s", self._model.name, error)
        if isinstance(error, StoreError):
            # Replies are cached once they are complete: this one is whole, and was paid for.
            if not showing.received:
                raise error
            try:
                return parse(ChatReply(showing.received)), f"The reply was not cached. {error}"
            except Unparsable as unparsable:
                error = unparsable
        if not self._fallback:
            raise error
        return None, f"Sentences are quoted, because {self._model.name} gave no answer: {error}"

    def decline(self, quoted: Answer) -> Answer:
        """Return the answer that nothing was found, citing the nearest passages."""
        return replace(
            quoted,
            text=no_answer(reading_of(quoted.question).language),
            short="",
            answered=False,
            reason=SOURCES_SILENT,
            model=self._model.name,
        )

    def finish(self, answer: Answer, note: str = "") -> Progress:
        """Return the last event, with the cost of the answer and all notes."""
        total = self._model.meter.total()
        usage = Usage(
            model_calls=total.calls,
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            reused_calls=total.reused,
            cached_tokens=total.cached_tokens,
            money=self._model.meter.money(self._prices),
            stages=tuple(
                StageUsage(
                    stage,
                    *(used.calls, used.input_tokens, used.output_tokens),
                    *(used.reused, used.cached_tokens),
                )
                for stage, used in self._model.meter.by_stage().items()
            ),
        )
        notes = (*self._notes, *answer.notes, *([note] if note else ()))
        return Progress(Stage.FINISHED, value=replace(answer, usage=usage, notes=notes))


class _StreamedText:
    """The part of a streamed reply that can already be shown."""

    def __init__(self, reader: ReplyReader, unknown: str) -> None:
        self._reader = reader
        self._unknown = unknown
        self._held = ""
        self.received = ""
        self.has_shown = False

    def feed(self, piece: str) -> str:
        """Return the text to show next; "" while the reply may still be "no answer"."""
        if not self.received.strip():
            piece = piece.lstrip()
        self.received += piece
        self._held += self._reader.feed(piece)
        if not self.has_shown and may_become_unknown(self._reader.plain, self._unknown):
            return ""
        # Hold back white space: it may be the end of the reply, which is stripped.
        shown = self._held.rstrip()
        self._held = self._held[len(shown) :]
        self.has_shown = self.has_shown or bool(shown)
        return shown

    def finish(self, *, is_cut: bool) -> str:
        """Return the rest of a reply that is an answer; ``is_cut`` as in `ReplyReader.finish`."""
        rest = self._held + self._reader.finish(is_cut=is_cut)
        self._held = ""
        return rest if self.has_shown else rest.lstrip()


def make_answer_request(
    question: str, passages: Sequence[PromptPassage], model: object = None
) -> ChatRequest:
    """Return the request that asks a question of packed passages, in the question's language."""
    context = "\n".join(passage.text for passage in passages)
    return make_request(
        "answer", question, model, output_tokens=ANSWER_OUTPUT_TOKENS, context=context
    )
