"""Which sentences of a passage support a statement: those that hold most of its terms."""

from __future__ import annotations

from knotwork.records import Span
from knotwork.synthesis.packing import Passage, sentences_of
from knotwork.synthesis.selection import Selected
from knotwork.text.terms import content_terms

SECOND_GAIN = 0.2
"""A second sentence belongs to the support if it holds this much more of the statement's terms."""


def find_support(statement: str, passage: Passage) -> Selected:
    """Return the sentence that covers the statement best, or two neighbours that do much better.

    ``worth`` is the covered share of the statement's terms. Of equals that one counts which bears
    most on the question, as where a statement is in another language than its passage.
    """
    asked = set(content_terms(statement))
    chunk = passage.chunk
    places = {span: place for place, span in enumerate(sentences_of(chunk))}
    held = [set(content_terms(_text(passage, span))) & asked for span in passage.spans]
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
    return Selected(chunk, span, _text(passage, span), share, passage.number)


def _text(passage: Passage, span: Span) -> str:
    start = passage.chunk.span.start
    return passage.chunk.text[span.start - start : span.end - start]
