"""Parse a model's reply: resolve its citation marks to sentences, and check it for errors.

A mark in a reply has the number of a passage of the prompt; in the answer it cites the sentence of
that passage which supports the statement before it. Both are known as soon as the mark is read, so
a streamed answer needs no correction. Checks find unknown numbers, misquotes and uncited sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork._inference.chat import ChatReply
from knotwork._inference.prompt_material import comparable
from knotwork._synthesis.citations import gap_before_mark, gap_between
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.prompt_context import PromptPassage, sentences_of
from knotwork._synthesis.sentence_selection import SelectedSentence
from knotwork._text.sentences import split_sentences
from knotwork._text.terms import content_terms
from knotwork.errors import Unparsable
from knotwork.records import Span

CUT_OFF = "The reply was cut off at its token limit."

_NOISE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A usable reply. ``is_unknown``: the model says that the passages do not answer."""

    text: str
    cited: tuple[SelectedSentence, ...]
    notes: tuple[str, ...]
    is_unknown: bool
    reply: ChatReply


def parse_answer_reply(
    reply: ChatReply, passages: Sequence[PromptPassage], *, question: str, unknown: str
) -> ParsedReply:
    """Parse a reply; ``unknown`` is the sentence agreed on for "I don't know".

    Raises Unparsable if the reply is empty, withheld, or cites no passage: then nothing in it can
    be traced to a source.
    """
    if reply.finish_reason == "filter":
        raise Unparsable("The reply was withheld by the server.")
    if not reply.text.strip():
        raise Unparsable("The reply is empty.")
    reader = ReplyReader({passage.number: passage for passage in passages})
    reader.feed(reply.text.strip())
    reader.finish()
    if means_unknown(reader.plain, unknown, is_cited=bool(reader.cited)):
        return ParsedReply("", (), (), is_unknown=True, reply=reply)
    if not reader.cited:
        raise Unparsable("The reply cites none of the passages it was given.")
    notes = check_reply(reader, passages, question=question)
    if reply.finish_reason == "length":
        notes = (*notes, CUT_OFF)
    return ParsedReply(
        reader.text.strip(), tuple(reader.cited), notes, is_unknown=False, reply=reply
    )


def means_unknown(plain: str, unknown: str, *, is_cited: bool) -> bool:
    """Return True if a reply, given without its marks, says that there is no answer.

    It does if it begins with the agreed sentence, in either language, or contains it and cites
    nothing.
    """
    said = _bare_text(plain)
    phrases = [_bare_text(phrase) for phrase in {unknown, no_answer("en"), no_answer("zh")}]
    if any(said.startswith(phrase) for phrase in phrases):
        return True
    return not is_cited and any(phrase in said for phrase in phrases)


def may_become_unknown(plain: str, unknown: str) -> bool:
    """Return True if a reply that begins with ``plain`` may say that there is no answer."""
    said = _bare_text(plain)
    phrases = [_bare_text(phrase) for phrase in {unknown, no_answer("en"), no_answer("zh")}]
    return any(phrase.startswith(said) or said.startswith(phrase) for phrase in phrases)


def _bare_text(text: str) -> str:
    return _NOISE.sub("", text).casefold()


_OPEN, _CLOSE, _BETWEEN = "[【［", "]】］", r"\s,，、;；\-–"
_MARK_WORD = r"(?:passages?|sources?|段落?|来源|第)"
_REPLY_MARK = re.compile(
    rf"(?<![ \t])[ \t]*+[{re.escape(_OPEN)}]\s*(?:{_MARK_WORD}\s*)?"
    rf"(\d(?:[\d{_BETWEEN}]|{_MARK_WORD})*)段?[{re.escape(_CLOSE)}]",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    rf"(?<![ \t])[ \t]*+(?:[{re.escape(_OPEN)}][^{re.escape(_OPEN + _CLOSE)}\n]*)?$"
)
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_LONGEST_RANGE = 20
_STATEMENT_CHARACTERS = 1_000
"""Characters before a mark that are searched for its statement."""
_FEWEST_STATEMENT_TERMS = 2


class ReplyReader:
    """Rewrites the marks of a reply that is fed in pieces of any size.

    After `finish`, ``plain`` is the reply without marks, ``text`` the reply with the marks of the
    answer, ``cited`` are the sentences that these cite, ``unknown_numbers`` the numbers of the
    reply that no passage has.
    """

    def __init__(self, passages: Mapping[int, PromptPassage]) -> None:
        self._passages = passages
        self._pending = ""
        self._numbers: dict[tuple[str, Span], int] = {}
        self._mark_places: list[int] = []
        self._statement = ""
        self._just_marked: list[int] = []
        self.cited: list[SelectedSentence] = []
        self.unknown_numbers: list[int] = []
        self.plain = ""
        self.text = ""

    def feed(self, piece: str) -> str:
        """Add a piece of the reply, and return the text that can be shown next."""
        self._pending += piece
        shown = ""
        while (match := _REPLY_MARK.search(self._pending)) is not None:
            shown += self._say(self._pending[: match.start()])
            shown += self._cite(match)
            self._pending = self._pending[match.end() :]
        held = _UNFINISHED.search(self._pending)
        cut = held.start() if held else len(self._pending)
        shown += self._say(self._pending[:cut])
        self._pending = self._pending[cut:]
        self.text += shown
        return shown

    def finish(self) -> str:
        """Return the rest of the text to show."""
        shown = self._say(self._pending.rstrip())
        self._pending = ""
        self.text += shown
        return shown

    def sentences(self) -> Iterator[tuple[str, bool]]:
        """Yield each sentence of the reply, and whether a valid mark follows it."""
        spans = split_sentences(self.plain)
        ends = [*(span.start for span in spans[1:]), len(self.plain) + 1][: len(spans)]
        for (start, end), until in zip(spans, ends, strict=True):
            yield self.plain[start:end], any(start < p <= until for p in self._mark_places)

    def _say(self, text: str) -> str:
        if not text:
            return ""
        if self._just_marked and not gap_between(self.plain[-4:], text.lstrip(" \t")):
            text = text.lstrip(" \t")
        # A period right before a word does not end a sentence: put back the space of the mark.
        if self._just_marked and self.plain[-1:] in ".!?" and text[0].isalnum():
            self.plain += " "
        self._just_marked = []
        self.plain += text
        return text

    def _cite(self, match: re.Match[str]) -> str:
        """Return the marks of the answer that replace a mark of the reply."""
        found = list(self._read_numbers(match[1]))
        valid = [number for number in found if number in self._passages]
        self.unknown_numbers += [number for number in found if number not in self._passages]
        if not valid:
            return ""
        place = len(self.plain)
        if not self._mark_places or self._mark_places[-1] != place:
            self._statement = self._last_statement()
            self._mark_places.append(place)
        shown = ""
        for number in valid:
            own = self._number(number)
            if own not in self._just_marked:
                gap = "" if self._just_marked else self._gap()
                shown += f"{gap}[{own}]"
                self._just_marked.append(own)
        return shown

    def _gap(self) -> str:
        before = self.plain[-1:]
        return "" if not before or before.isspace() else gap_before_mark(self.plain[-4:])

    def _number(self, number: int) -> int:
        support = find_support(self._statement, self._passages[number])
        key = (support.chunk.document_id, support.span)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.cited.append(support)
        return self._numbers[key]

    def _last_statement(self) -> str:
        """Return the sentence before the mark, or its part since the previous mark."""
        searched = max(0, len(self.plain) - _STATEMENT_CHARACTERS)
        spans = split_sentences(self.plain[searched:])
        start = searched + (spans[-1].start if spans else 0)
        before = max(start, self._mark_places[-1]) if self._mark_places else start
        part = self.plain[before:]
        return part if len(content_terms(part)) >= _FEWEST_STATEMENT_TERMS else self.plain[start:]

    def _read_numbers(self, text: str) -> Iterator[int]:
        for first, last in _NUMBERS.findall(text):
            low = int(first)
            high = int(last) if last else low
            if low < high <= low + _LONGEST_RANGE:
                yield from range(low, high + 1)
            else:
                yield low
                if high != low:
                    yield high


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
        listed = ", ".join(f"[{number}]" for number in missing)
        notes.append(f"The model cited {listed}, which no passage has; the marks were removed.")
    notes += [
        f"“{quote}” is quoted in the answer, but no passage contains it."
        for quote in find_misquotes(reader.plain, passages, question=question)
    ]
    statements = [is_cited for sentence, is_cited in reader.sentences() if _is_statement(sentence)]
    bare = statements.count(False)
    if bare:
        verb = "cites" if bare == 1 else "cite"
        notes.append(f"{bare} of {len(statements)} sentences {verb} no source.")
    return tuple(notes)


def find_misquotes(text: str, passages: Sequence[PromptPassage], *, question: str) -> list[str]:
    """Return at most three quotes in a text that neither the passages nor the question contain.

    White space, letter case and the form of quotation marks are ignored; a quote with an ellipsis
    is checked in parts.
    """
    sources = [_normalise(p.chunk.text) for p in passages] + [_normalise(p.text) for p in passages]
    sources.append(_normalise(question))
    wrong = []
    for quote in _quotes(text):
        parts = [_normalise(part).strip(_EDGES) for part in _ELLIPSIS.split(quote)]
        if not all(any(part in source for source in sources) for part in parts):
            wrong.append(" ".join(quote.split()))
    return list(dict.fromkeys(wrong))[:_MOST_SHOWN]


def _quotes(text: str) -> Iterator[str]:
    for groups in _QUOTES.findall(text):
        quote = next(group for group in groups if group)
        if len(content_terms(quote)) >= _FEWEST_QUOTED_TERMS:
            yield quote


def _is_statement(sentence: str) -> bool:
    bare = sentence.strip()
    is_lead_in = bare.endswith((":", "：")) or bare.startswith("#")
    return not is_lead_in and len(content_terms(bare)) >= _FEWEST_QUOTED_TERMS


def _normalise(text: str) -> str:
    """Return a text for comparison: as documents and prompts have it, folded, plain quotes.

    Spaces beside wide characters are removed.
    """
    plain = comparable(text).translate(_PLAIN_QUOTES).casefold()
    return re.sub(r"\s+", " ", re.sub(r"(?<=[^\x00-\u2fff])\s+|\s+(?=[^\x00-\u2fff])", "", plain))


_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
