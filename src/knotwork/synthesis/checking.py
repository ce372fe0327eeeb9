"""Checking what a model wrote: numbers that lead nowhere, quotes of nothing, bare sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from knotwork.synthesis.marks import ReplyReader
from knotwork.synthesis.packing import Passage
from knotwork.text.terms import content_terms

_QUOTES = re.compile(r"“([^“”]+)”|\"([^\"\n]+)\"|「([^「」]+)」|『([^『』]+)』")
_ELLIPSIS = re.compile(r"\s*(?:…+|\.{3,}|\[…\])\s*")
_FEWEST_TERMS = 2
"""Fewer terms in quotation marks are a name or a manner of speaking; so is a short sentence."""

_MOST_SHOWN = 3
_EDGES = " \t.,;:!?，。；：！？、"


def check_reply(
    reader: ReplyReader, passages: Sequence[Passage], *, question: str
) -> tuple[str, ...]:
    """Return what is wrong with a reply that was read to its end, in sentences for the user."""
    notes = []
    missing = sorted(set(reader.unknown_numbers))
    if missing:
        listed = ", ".join(f"[{number}]" for number in missing)
        notes.append(f"The model cited {listed}, which no passage has; the marks were removed.")
    notes += [
        f"“{quote}” stands in quotation marks, but in none of the passages."
        for quote in find_misquotes(reader.plain, passages, question=question)
    ]
    statements = [is_cited for sentence, is_cited in reader.sentences() if _is_statement(sentence)]
    bare = statements.count(False)
    if bare:
        verb = "cites" if bare == 1 else "cite"
        notes.append(f"{bare} of {len(statements)} sentences {verb} no source.")
    return tuple(notes)


def find_misquotes(text: str, passages: Sequence[Passage], *, question: str) -> list[str]:
    """Return what stands in double quotation marks but neither in a passage nor in the question.

    White space, letter case and the form of quotation marks do not matter; a quote that leaves
    something out with an ellipsis is checked in parts. At most three are returned.
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
        if len(content_terms(quote)) >= _FEWEST_TERMS:
            yield quote


def _is_statement(sentence: str) -> bool:
    bare = sentence.strip()
    is_lead_in = bare.endswith((":", "：")) or bare.startswith("#")
    return not is_lead_in and len(content_terms(bare)) >= _FEWEST_TERMS


def _normalise(text: str) -> str:
    """Return a text in which equal words are equal: spaces fall away beside wide characters."""
    plain = text.translate(_PLAIN_QUOTES).casefold()
    return re.sub(r"\s+", " ", re.sub(r"(?<=[^\x00-\u2fff])\s+|\s+(?=[^\x00-\u2fff])", "", plain))


_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
