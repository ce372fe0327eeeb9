"""The paragraphs and items of a section, each with the sentence that stands best for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from knotwork.indexing.communities.sentences import flat_text, is_prose
from knotwork.records import Chunk, FrameKind, Span
from knotwork.retrieval.confidence import is_in_han
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.overviews.statements import (
    LEAST_PROSE,
    OPENING_GAIN,
    is_statement,
    weigh_alone,
)
from knotwork.synthesis.prose import weigh_prose
from knotwork.synthesis.selection import Selected
from knotwork.text.languages import detect_language
from knotwork.text.terms import content_terms

_LONGEST_ITEM, _LONGEST_ITEM_WIDE = 160, 80
"""Characters up to which the sentences of an item are quoted together."""
_STEP_GAIN = 1.3
"""How much more a sentence is worth that speaks of a step."""
_TITLE_GAIN = 0.5
"""How much more one is worth that names all that the heading does, or all that is asked for."""
_FULL_TERMS = 6
"""Distinct terms from which a sentence says enough; one of fewer is worth less."""
_ASIDE_WEIGHT = 0.3
"""What a sentence in a box beside the text is worth."""
_OTHER_LANGUAGE_WEIGHT = 0.5
_FRAGMENT_WEIGHT = 0.5
"""What an item is worth that goes on from the line above, as it begins with a small letter."""

_BREAK = re.compile(r"\n[ \t\r]*\n")
_MARK = re.compile(r"[ \t]*(?:[-*+•‣◦]|\(?\d{1,3}[.)、]|\(?[a-z][.)])[ \t]+")
_SEQUENCE = re.compile(
    r"^(?:now that|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|now|finally|lastly|also"
    r"|afterwards?|after that|in addition)\b,?\s*"
    r"|^(?:首先|其次|再次|然后|然後|接着|接著|接下来|接下來|之后|之後|最后|最後|同时|同時|同样|同樣|另外|现在|現在)[，,]?",
    re.IGNORECASE,
)
_SPEAKS_OF_STEP = re.compile(
    r"\b(?:first|second|third|next|last|final|this|following) (?:step|stage|thing|task)\b"
    r"|步骤|步驟|[一二三四五这這]步|[个個]阶段|[个個]階段",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or an item: the sentence that stands for it, and what that is worth.

    ``place`` counts from the beginning of the section. An item of a list ``is_numbered`` if it has
    a number or letter; ``is_stated`` is False for one that does not end as a sentence does.
    """

    sentence: Selected
    worth: float
    place: int
    is_item: bool
    is_numbered: bool
    is_stated: bool


def read_paragraphs(
    chunks: Sequence[Chunk], within: Span, text: str, subject: str, language: str
) -> list[Paragraph]:
    """Return the paragraphs and items with a sentence to quote, in reading order.

    They are those ``within`` a section; ``chunks`` are its passages, in order, which may reach
    beyond it, and ``text`` is that of their document. A sentence is worth more if it opens its
    paragraph, stands alone, is in ``language``, and names what its heading or the ``subject`` does.
    """
    asked = set(content_terms(subject))
    found = (
        _stand_for(sentences, text, asked, language, place)
        for place, sentences in enumerate(_group_sentences(chunks, within, text))
    )
    return [paragraph for paragraph in found if paragraph is not None]


def _group_sentences(chunks: Sequence[Chunk], within: Span, text: str) -> Iterator[list[Selected]]:
    """Yield the sentences of each paragraph or item; passages may divide one."""
    group: list[Selected] = []
    for chunk in chunks:
        for span in chunk.sentences:
            if not within.start <= span.start < within.end:
                continue
            if group and (
                _BREAK.search(text, group[-1].span.end, span.start) or _item_mark(text, span.start)
            ):
                yield group
                group = []
            group.append(Selected(chunk, span, text[span.start : span.end], 1.0, 0))
    if group:
        yield group


def _item_mark(text: str, start: int) -> str:
    """Return the mark of the item that a sentence begins, in or before its span; "" if none."""
    line = text.rfind("\n", 0, start) + 1
    mark = _MARK.match(text, line)
    return mark[0].strip() if mark and (start == line or mark.end() >= start) else ""


def _stand_for(
    sentences: Sequence[Selected], text: str, asked: set[str], language: str, place: int
) -> Paragraph | None:
    """Return a paragraph with the sentence that stands for it, or None if none does."""
    mark = _item_mark(text, sentences[0].span.start)
    is_item, is_numbered = bool(mark), len(mark) > 1
    best, most = None, 0.0
    for index, sentence in enumerate(sentences):
        if not _may_stand(sentence, is_item=is_item):
            continue
        worth = _weigh(sentence, asked, language, is_item=is_item)
        worth *= OPENING_GAIN if index == 0 else 1.0
        if best is None or worth > most:
            best, most = sentence, worth
    if best is None:
        return None
    is_stated = is_statement(best.chunk, best.span, best.text)
    shown = (_open_item(sentences, text) if is_item else None) or best
    return Paragraph(shown, most, place, is_item, is_numbered, is_stated)


def _may_stand(sentence: Selected, *, is_item: bool) -> bool:
    """Return whether a sentence can be quoted.

    Items need not end as sentences do, if a line leads into their list: others are menus.
    """
    chunk, span = sentence.chunk, sentence.span
    if is_statement(chunk, span, sentence.text):
        return not sentence.text.lstrip().startswith("#")
    kinds = {frame.kind for frame in chunk.frames_around(span)}
    if not is_item or FrameKind.LEAD not in kinds or FrameKind.CODE in kinds:
        return False
    shown = show_sentence(sentence.text)
    return is_prose(flat_text(shown)) and weigh_prose(shown) >= LEAST_PROSE


def _weigh(sentence: Selected, asked: set[str], language: str, *, is_item: bool) -> float:
    """Return how well a sentence stands for its paragraph, in a text that is read in order."""
    shown = _SEQUENCE.sub("", show_sentence(sentence.text))
    terms = set(content_terms(shown))
    worth = weigh_alone(shown) * weigh_prose(shown) * min(1.0, len(terms) / _FULL_TERMS)
    title = set(content_terms(sentence.chunk.headings[-1] if sentence.chunk.headings else ""))
    for named in (title, asked):
        worth *= 1 + _TITLE_GAIN * len(named & terms) / max(len(named), 1)
    if _SPEAKS_OF_STEP.search(shown):
        worth *= _STEP_GAIN
    if is_item and shown.split(" ", 1)[0].islower():
        worth *= _FRAGMENT_WEIGHT
    if detect_language(shown) != language:
        worth *= _OTHER_LANGUAGE_WEIGHT
    if any(f.kind is FrameKind.TITLE for f in sentence.chunk.frames_around(sentence.span)):
        worth *= _ASIDE_WEIGHT
    return worth


def _open_item(sentences: Sequence[Selected], text: str) -> Selected | None:
    """Return the first sentences of an item as one citation: as many as are short together."""
    first = sentences[0]
    longest = _LONGEST_ITEM_WIDE if is_in_han(first.text) else _LONGEST_ITEM
    opened: Selected | None = None
    for sentence in sentences:
        span = Span(first.span.start, sentence.span.end)
        item = replace(first, span=span, text=text[span.start : span.end])
        if sentence.chunk != first.chunk or len(item.text) > longest:
            break
        opened = item if _may_stand(item, is_item=True) else opened
    return opened
