"""Write pieces of documents as Markdown, as they are in their documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from knotwork._questions.reading import open_pronoun
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.citations import gap_before_mark, gap_between, show_sentence
from knotwork._synthesis.pieces import GRAIN_OF, DocumentBlocks, Grain, Piece
from knotwork._text.sentences import is_wide
from knotwork._text.terms import terms
from knotwork.records import Block, BlockKind, Evidence, Mention, Span, Step

LEAST_ABOUT = 0.8
"""How much a passage must be about an entity that any pronoun in it may stand for."""
_KINDS = ("one", "ones", "it", "its")
_OF_PEOPLE = ("one", "ones")
_POSSESSIVE = ("ones", "its")
_NO_SUBJECT = ("DATE", "KEYWORD", "NUMBER")


def name_subjects(pieces: Iterable[Piece], evidence: Evidence, store: Store) -> None:
    """Set the subject of each piece of prose that begins with a pronoun, if it is known.

    It is the entity over which the evidence path leads to the passage, or the one that the passage
    is about; for a person also the only name in the sentence before.
    """
    opening = [
        (piece, match)
        for piece in pieces
        if piece.grain is Grain.PARAGRAPH and (match := _opening(piece.text))
    ]
    if not opening:
        return
    mentions = store.graph.mentions({piece.best.chunk.id for piece, _ in opening})
    for piece, match in opening:
        steps = evidence.hits[piece.best.rank].path
        held = mentions.get(piece.best.chunk.id, [])
        is_person = match.lastgroup in _OF_PEOPLE
        piece.subject = _find_subject(piece, steps, held, is_person=is_person)


def _find_subject(
    piece: Piece, steps: Sequence[Step], mentions: Sequence[Mention], *, is_person: bool
) -> str:
    fitting = [
        mention
        for mention in mentions
        if _may_be(mention, is_person=is_person)
        and not any(piece.span.contains(span) for span in mention.spans)
    ]
    for mention in fitting:
        if steps and mention.entity_id == steps[-1].entity_id:
            return mention.name
    about = max(fitting, key=lambda mention: mention.about, default=None)
    if about is not None and about.about >= LEAST_ABOUT:
        return about.name
    before = [m.name for m in fitting if any(_is_right_before(s.end, piece) for s in m.spans)]
    return before[0] if is_person and len(before) == 1 else ""


def _may_be(mention: Mention, *, is_person: bool) -> bool:
    if is_person:
        return mention.type in ("", "PERSON")
    return mention.type not in ("PERSON", *_NO_SUBJECT)


def _is_right_before(end: int, piece: Piece) -> bool:
    """Return whether an offset is in the sentence before a piece, in the same paragraph."""
    starts = (span for span in piece.best.chunk.sentences if span.end <= piece.span.start)
    before = max(starts, default=None)
    if before is None:
        return False
    between = piece.source.document.text[before.end : piece.span.start]
    return before.start < end <= before.end and "\n\n" not in between


def _opening(sentence: str) -> re.Match[str] | None:
    """Return the pronoun that a sentence begins with, if it stands for one thing or person."""
    found = open_pronoun(sentence)
    return found if found is not None and found.lastgroup in _KINDS else None


def with_subject(sentence: str, subject: str) -> str:
    """Return a sentence with its first word, a pronoun, replaced by a name in brackets."""
    match = _opening(sentence)
    if match is None or not subject:
        return sentence
    shown = f"[{subject}]'s" if match.lastgroup in _POSSESSIVE else f"[{subject}]"
    return shown + sentence[match.end() :]


MOST_ITEMS, FEWEST_LEFT = 12, 4
"""Items of a list and rows of a table that are printed; the others are counted, if not few."""
MOST_DEFINITION = 420
"""Characters of a definition that are printed, in whole paragraphs but for the first."""
_ENTRIES = (BlockKind.DEFINITION, BlockKind.ITEM)
_ITEM_MARK = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_PARAGRAPHS = re.compile(r"```.*?```|(?:(?!\n\n).)+", re.DOTALL)
_BOLD = re.compile(r".*[^\s.!?。！？…]", re.DOTALL)
"""A sentence without its stop: behind one, in Chinese, Markdown sees no end of bold text."""
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)


def write_piece(piece: Piece, language: str) -> str:
    """Return a piece as Markdown, without its citation mark."""
    source = piece.source
    if piece.grain is Grain.PARAGRAPH:
        block = piece.announced
        texts = [_write_paragraph(piece)]
        if block is not None and block.kind in GRAIN_OF:
            texts.append(_write_block(source, GRAIN_OF[block.kind], block.span, language))
        elif block is not None:
            told = source.text(block.span)  # without known blocks, its lines may be a list
            texts.append(show_sentence(told) if source.document.blocks else told)
        return "\n\n".join(texts)
    lead = show_sentence(source.text(piece.lead)) if piece.lead is not None else ""
    if piece.grain is Grain.DEFINITION:
        body = _write_definition(piece)
    else:
        body = _write_block(source, piece.grain, piece.span, language)
    return f"{lead}\n\n{body}" if lead else body


def _write_block(source: DocumentBlocks, grain: Grain, span: Span, language: str) -> str:
    if grain is Grain.LIST:
        return _write_list(source, span, language)
    if grain is Grain.TABLE:
        return _write_rows(source, span, [], language)
    if grain is Grain.ROW:
        return write_row(source, span, language)
    if grain is Grain.CODE:
        return _dedent(source, span)
    if grain is Grain.SECTION:
        return _HEADING.sub(r"**\1**", source.text(span))
    return _write_item(source, span, language)


def _write_paragraph(piece: Piece) -> str:
    """Return prose, after the term that it is about unless it names that.

    Of several sentences, the one that likely answers is bold.
    """
    source, whole, best = piece.source, piece.span, piece.best
    spans = [whole]
    if best.span != whole and best.is_likely:
        spans = [Span(whole.start, best.span.start), best.span, Span(best.span.end, whole.end)]
    shown = before = ""
    for span in spans:
        text = show_sentence(source.text(span))
        if not text:
            continue
        written = text if before else with_subject(text, piece.subject)
        if span != whole and span == best.span:
            written = _BOLD.sub(r"**\g<0>**", written, count=1)
        shown += (gap_between(before, text) if before else "") + written
        before = text
    about = (b.label for b in source.index.around(whole) if b.kind in _ENTRIES and b.label)
    term = show_sentence(" > ".join(about)).rstrip(":： ")
    if not term or set(terms(term)) <= set(terms(shown)):
        return shown
    return f"{term}：{shown}" if is_wide(shown[0]) else f"{term}: {shown}"


def with_mark(text: str, number: int) -> str:
    """Return the text of a piece with its citation mark."""
    last = text.rpartition("\n")[2]
    if last.startswith(("```", "|")):
        return f"{text}\n\n[{number}]"
    return f"{text}{gap_before_mark(text)}[{number}]"


def unmark(text: str) -> str:
    """Return a text with nothing in bold."""
    return text.replace("**", "")


def mark_also(text: str, other: str) -> str:
    """Return a text in which the words that are bold in ``other``, the same text, are bold too."""
    for marked in re.findall(r"\*\*(.+?)\*\*", other):
        if f"**{marked}**" not in text:
            text = text.replace(marked, f"**{marked}**", 1)
    return text


def _dedent(source: DocumentBlocks, span: Span) -> str:
    """Return a text without the indent of its block and the marks of quotes around it."""
    start = source.document.text.rfind("\n", 0, span.start) + 1
    before = source.document.text[start : span.start]
    text = source.text(span)
    if before.startswith(">"):
        text = _QUOTE_MARK.sub("", text)
    return text.replace(f"\n{' ' * len(before)}", "\n")


def _write_list(source: DocumentBlocks, span: Span, language: str) -> str:
    items: list[Block] = []
    for block in source.index.inside(span):
        if block.kind in _ENTRIES and (not items or block.span.start >= items[-1].span.end):
            items.append(block)
    if len(items) == 1:
        return _write_item(source, items[0].span, language)
    if len(items) < MOST_ITEMS + FEWEST_LEFT:
        return _dedent(source, span)
    shown = Span(span.start, items[MOST_ITEMS - 1].span.end)
    left = len(items) - MOST_ITEMS
    return f"{_dedent(source, shown)}\n{messages.more_items(language, left=left)}"


def _write_item(source: DocumentBlocks, span: Span, language: str) -> str:
    """Return an item without its mark, and the list in it, if any."""
    nested = next(
        (
            block
            for block in source.index.inside(span)
            if block.kind is BlockKind.LIST and block.span.start > span.start
        ),
        None,
    )
    if nested is None:
        return _ITEM_MARK.sub("", _dedent(source, span))
    own = _ITEM_MARK.sub("", source.text(Span(span.start, nested.span.start)).strip())
    return f"{show_sentence(own)}\n\n{_write_list(source, nested.span, language)}"


def write_row(source: DocumentBlocks, span: Span, language: str) -> str:
    """Return a row below the header of its table."""
    table = source.table_around(span)
    return _write_rows(source, table.span, [span], language) if table else source.text(span)


def _write_rows(source: DocumentBlocks, span: Span, chosen: Sequence[Span], language: str) -> str:
    """Return a table with the header and some rows, by default the first ones."""
    rows = [block.span for block in source.index.inside(span) if block.kind is BlockKind.ROW]
    header = source.text(Span(span.start, rows[0].start if rows else span.end)).strip()
    is_long = len(rows) >= MOST_ITEMS + FEWEST_LEFT
    shown = list(chosen) or (rows[:MOST_ITEMS] if is_long else rows)
    lines = [line.strip() for line in header.split("\n")] + [source.text(row) for row in shown]
    left = len(rows) - len(shown)
    table = "\n".join(lines)
    if chosen or not left:
        return table
    return f"{table}\n\n{messages.more_rows(language, left=left)}"


def _write_definition(piece: Piece) -> str:
    """Return a term and what defines it: the first paragraphs, and the best sentence."""
    source, (start, end) = piece.source, piece.span
    head, _, rest = _dedent(source, piece.span).partition("\n")
    if not head.startswith("**"):
        head, rest = "", _dedent(source, Span(start, end))
    paragraphs = _PARAGRAPHS.findall(rest.strip())
    kept: list[str] = []
    for paragraph in paragraphs:
        if kept and sum(map(len, kept)) + len(paragraph) > MOST_DEFINITION:
            break
        kept.append(paragraph)
    best = show_sentence(piece.best.text)
    if best not in " ".join(" ".join([head, *kept]).split()):
        kept.append(best)
    if not head:
        return "\n\n".join(kept)
    is_short = len(kept) == 1 and "\n" not in kept[0]
    return f"{head}: {kept[0]}" if is_short else "\n\n".join([head, *kept])
