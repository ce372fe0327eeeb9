"""Show sentences as prose with citation marks, and locate them in their documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork._stores.base import Store
from knotwork._synthesis.sentence_selection import SelectedSentence, name_cells
from knotwork._text.chinese import HAN_AND_KANA
from knotwork._text.plain_text import strip_links
from knotwork._text.terms import terms
from knotwork.records import Citation, Section

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


def introduce_sentence(item: SelectedSentence, *, after: str = "") -> str:
    """Return a sentence as prose, preceded by the term that it is about but does not name.

    The term is left out if the sentence before was about it too (``after``). Cells of a table row
    get the names of their columns; code that a sentence introduces follows on the same line.
    """
    shown = show_sentence(name_cells(item.text, item.columns))
    if item.code:
        shown += f" {_SPACES.sub(' ', item.code)}"
    if not item.term or item.term == after or set(terms(item.term)) <= set(terms(shown)):
        return shown
    term = show_sentence(item.term).rstrip(":： ")
    return f"{term}：{shown}" if _WIDE_START.match(shown) else f"{term}: {shown}"


def join_sentences(sentences: Sequence[SelectedSentence]) -> str:
    """Return the sentences as one text, each followed by its citation mark.

    Chinese and Japanese text gets no spaces before marks and between sentences.
    """
    text = before = term = ""
    for number, item in enumerate(sentences, start=1):
        shown = introduce_sentence(item, after=term)
        text += (gap_between(before, shown) if text else "") + shown
        text += f"{gap_before_mark(shown)}[{number}]"
        before, term = shown, item.term
    return text


def cite_sentences(sentences: Sequence[SelectedSentence], store: Store) -> tuple[Citation, ...]:
    """Return a citation for each sentence, numbered from 1 in the given order."""
    with store.reading():
        documents = store.documents.documents({item.chunk.document_id for item in sentences})
        sections = store.documents.sections_of(documents)
    citations = []
    for number, item in enumerate(sentences, start=1):
        document = documents[item.chunk.document_id]
        citations.append(
            Citation(
                number=number,
                document=document.uri,
                title=document.title,
                section=_section_path(item, sections.get(document.id, [])),
                page=document.page_at(item.span.start),
                span=item.span,
                quote=document.text[item.span.start : item.span.end],
                chunk_id=item.chunk.id,
                score=item.worth,
                time=document.time_of(item.span),
                box=document.box_of(item.span),
            )
        )
    return tuple(citations)


def _section_path(item: SelectedSentence, sections: Sequence[Section]) -> str:
    """Return the titles of the sections around the sentence, outermost first."""
    start = item.span.start
    around = [s for s in sections if s.span.start <= start < s.span.end and s.level > 0]
    return " > ".join(s.title for s in sorted(around, key=lambda s: s.level) if s.title)
