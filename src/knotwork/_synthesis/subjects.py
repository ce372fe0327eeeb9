"""Name what a sentence is about that begins with a pronoun."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from knotwork._questions.reading import open_pronoun
from knotwork._stores.base import Store
from knotwork._synthesis.pieces import Grain, Piece
from knotwork.records import Evidence, Mention, Step

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
