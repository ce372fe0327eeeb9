"""Show sentences as prose with citation marks, and locate them in their documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork._stores.base import Store
from knotwork._text.chinese import HAN_AND_KANA
from knotwork._text.plain_text import strip_links
from knotwork._text.statements import SelectedSentence
from knotwork.records import Citation, Span

_MARKUP = re.compile(r"^(?:[#>\-*+•]+\s+|\d+[.)]\s+)+|[*_`]{2,}|\s*\|\s*$|^\s*\|\s*")
_SPACES = re.compile(r"\s+")
# Both scripts use curly quotes: the text inside them decides.
_WIDE = rf"{HAN_AND_KANA}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65"
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t]*\r?\n\s*(?=[{_WIDE}])")
_WIDE_START = re.compile(rf"[“‘…—\d]*[{_WIDE}]")
_WIDE_END = re.compile(rf"[{_WIDE}][”’…—]*$")


def gap_between(before: str, after: str) -> str:
    """Return the separator of two sentences: a space, or "" between wide characters."""
    return "" if _WIDE_END.search(before) and _WIDE_START.match(after) else " "


def gap_before_mark(text: str) -> str:
    """Return the separator of a text and the citation mark after it."""
    return "" if _WIDE_END.search(text) else " "


def show_sentence(text: str) -> str:
    """Return a sentence as prose, without the marks of lists, tables and links."""
    bare = _WIDE_BREAK.sub("", _MARKUP.sub("", strip_links(text.strip())))
    return _SPACES.sub(" ", bare).strip()


def cite_sentences(
    sentences: Sequence[SelectedSentence], store: Store, pieces: Sequence[tuple[Span, Span]] = ()
) -> tuple[Citation, ...]:
    """Return a citation for each sentence, numbered from 1 in the given order.

    ``pieces`` has, for each sentence, the span that is cited instead of it, and the one whose page
    and time are given.
    """
    with store.reading():
        documents = store.documents.documents({item.chunk.document_id for item in sentences})
        sections = store.documents.sections_of(documents)
    citations = []
    for number, item in enumerate(sentences, start=1):
        document = documents[item.chunk.document_id]
        start = item.span.start
        around = [s for s in sections.get(document.id, ()) if s.span.start <= start < s.span.end]
        levels = sorted((s for s in around if s.level > 0), key=lambda s: s.level)
        span, place = pieces[number - 1] if pieces else (item.span, item.span)
        citations.append(
            Citation(
                number=number,
                document=document.uri,
                title=document.title,
                section=" > ".join(s.title for s in levels if s.title),
                page=document.page_at(place.start),
                span=span,
                quote=document.text[span.start : span.end],
                chunk_id=item.chunk.id,
                score=item.worth,
                time=document.time_of(place),
                box=document.box_of(span),
            )
        )
    return tuple(citations)
