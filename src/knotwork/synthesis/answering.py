"""Composing an answer from sentences of the sources, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork.config import AnswerSettings
from knotwork.records import Answer, Citation, Document, Evidence, Section, Usage
from knotwork.stores.base import Store
from knotwork.synthesis.messages import no_answer, no_match
from knotwork.synthesis.ordering import order_sentences
from knotwork.synthesis.selection import Selected, select_sentences
from knotwork.text.characters import HAN_AND_KANA
from knotwork.text.languages import detect_language

NO_EVIDENCE = "no_evidence"
LOW_CONFIDENCE = "low_confidence"

_MARKUP = re.compile(r"^(?:[#>\-*+•]+\s+|\d+[.)]\s+)+|[*_`]{2,}|\s*\|\s*$|^\s*\|\s*")
_SPACES = re.compile(r"\s+")
# Curly quotes are of both scripts: what they enclose decides.
_WIDE = rf"{HAN_AND_KANA}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65"
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t]*\r?\n\s*(?=[{_WIDE}])")
_WIDE_START = re.compile(rf"[“‘…—\d]*[{_WIDE}]")
_WIDE_END = re.compile(rf"[{_WIDE}][”’…—]*$")


def compose_answer(
    evidence: Evidence,
    *,
    store: Store,
    settings: AnswerSettings | None = None,
    usage: Usage | None = None,
) -> Answer:
    """Answer with the sentences of the evidence that answer best, or say that there is none.

    With less confidence than ``settings.abstain_below`` no answer is given: the citations are then
    the nearest passages. No model is called.
    """
    settings = settings or AnswerSettings()
    question = evidence.query.text
    language = detect_language(question)
    chosen = order_sentences(select_sentences(evidence, most=settings.max_sentences), evidence)
    citations = cite_sentences(chosen, store)
    answered = bool(chosen) and evidence.confidence >= settings.abstain_below
    if answered:
        text, reason = _join(chosen), ""
    elif chosen:
        text, reason = no_answer(language), LOW_CONFIDENCE
    else:
        text, reason = no_match(language), NO_EVIDENCE
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=citations,
        reason=reason,
        confidence=evidence.confidence,
        retriever=evidence.retriever,
        usage=usage or Usage(),
    )


def _join(sentences: Sequence[Selected]) -> str:
    """Return the sentences with their marks, spaced as the scripts on both sides of a gap ask.

    Chinese and Japanese are written without spaces: a sentence of theirs has its mark right behind
    it, and the next one right behind that.
    """
    text, before = "", ""
    for number, item in enumerate(sentences, start=1):
        shown = show_sentence(item.text)
        text += (gap_between(before, shown) if text else "") + shown
        text += f"{gap_before_mark(shown)}[{number}]"
        before = shown
    return text


def gap_between(before: str, after: str) -> str:
    """Return what parts two sentences: a space, but none between wide characters."""
    return "" if _WIDE_END.search(before) and _WIDE_START.match(after) else " "


def gap_before_mark(text: str) -> str:
    """Return what parts a text from the mark behind it."""
    return "" if _WIDE_END.search(text) else " "


def show_sentence(text: str) -> str:
    """Return a sentence as prose: white space collapsed, list and table marks removed."""
    bare = _WIDE_BREAK.sub("", _MARKUP.sub("", text.strip()))
    return _SPACES.sub(" ", bare).strip()


def cite_sentences(sentences: Sequence[Selected], store: Store) -> tuple[Citation, ...]:
    """Return where each sentence stands, numbered from 1 in the order given."""
    documents = store.documents.documents({item.chunk.document_id for item in sentences})
    citations = []
    for number, item in enumerate(sentences, start=1):
        document = documents[item.chunk.document_id]
        citations.append(
            Citation(
                number=number,
                document=document.uri,
                title=document.title,
                section=_section_path(item, store.documents.sections(document.id)),
                page=_page(document, item.span.start),
                span=item.span,
                quote=document.text[item.span.start : item.span.end],
                chunk_id=item.chunk.id,
                score=item.worth,
            )
        )
    return tuple(citations)


def _section_path(item: Selected, sections: Sequence[Section]) -> str:
    """Return the titles of the sections around the sentence, outermost first."""
    start = item.span.start
    around = [s for s in sections if s.span.start <= start < s.span.end and s.level > 0]
    return " > ".join(s.title for s in sorted(around, key=lambda s: s.level) if s.title)


def _page(document: Document, offset: int) -> str:
    """Return the label of the page that holds the offset; empty for a document without pages."""
    before = [page.label for page in document.pages if page.start <= offset]
    return before[-1] if before else ""
