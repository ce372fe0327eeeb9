"""The tuple form of other frameworks: ("entity"<|>NAME<|>TYPE<|>DESCRIPTION)##, as in GraphRAG.

Replies that another program recorded, or a prompt that a user brings, can so be read as ours are.
Relations of this form have a description and a strength, but no label.
"""

from __future__ import annotations

import re

from knotwork.transform.model.cleaning import clean_field, fold, name_fault, plain_text
from knotwork.transform.model.drafts import Complaint, Draft, EntityDraft, RelationDraft
from knotwork.transform.model.lines import ENTITY_WORDS, RELATION_WORDS

_END = re.compile(
    r"##+|<\|COMPLETE\|>|(?=\(\s*[\"“']?(?:entity|relationship)[\"”']?\s*<\|)", re.IGNORECASE
)
_NEXT_NUMBER = re.compile(r"(?<=\))\s*(?:[-*•]|\d+[.)])$")
_SEPARATOR = re.compile(r"<\|+>|<\|#\|>|\t")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IDLE = re.compile(r"(?:[\W_\d]|\b(?:additional|entities|relationships?)\b)*", re.IGNORECASE)
"""Nothing but signs, numbers and headings."""


class TupleReader:
    """Reads replies in the tuple form; implements `ReplyReader`."""

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        text = plain_text(reply)
        pieces = [_NEXT_NUMBER.sub("", piece.strip()) for piece in _END.split(text)]
        pieces = [piece for piece in pieces if piece]
        entities: list[EntityDraft] = []
        relations: list[RelationDraft] = []
        complaints: list[Complaint] = []
        idle = 0
        for position, piece in enumerate(pieces):
            if _IDLE.fullmatch(piece):
                idle += 1
                continue
            broken = cut and position == len(pieces) - 1 and not piece.endswith((")", "）"))
            record = _record(piece, broken=broken)
            if isinstance(record, EntityDraft):
                entities.append(record)
            elif isinstance(record, RelationDraft):
                relations.append(record)
            else:
                complaints.append(Complaint(piece, record))
        distinct = dict.fromkeys(entities), dict.fromkeys(relations)
        repeated = len(entities) + len(relations) - len(distinct[0]) - len(distinct[1])
        return Draft(
            tuple(distinct[0]),
            tuple(distinct[1]),
            tuple(complaints),
            repeated,
            idle,
            cut=cut,
            says_nothing=not pieces and "<|COMPLETE|>" in text,
        )


def _record(piece: str, *, broken: bool) -> EntityDraft | RelationDraft | str:
    """Return the record of a tuple, or why there is none."""
    first = piece.find("(")
    inside = piece[first + 1 :] if 0 <= first < 4 else piece
    inside = inside[:-1] if inside.endswith((")", "）")) else inside
    if not _SEPARATOR.search(inside):
        return "neither an entity nor a relation"
    kind, *fields = (clean_field(field) for field in _SEPARATOR.split(inside))
    if fold(kind) in ENTITY_WORDS:
        return _entity(fields, broken=broken)
    if fold(kind) in RELATION_WORDS:
        return _relation(fields)
    return "neither an entity nor a relation"


def _entity(fields: list[str], *, broken: bool) -> EntityDraft | str:
    if not fields or (broken and len(fields) < 2):
        return "an entity without a name"
    name, kind, *rest = (*fields, "")
    return name_fault(name) or EntityDraft(name, kind, " ".join(part for part in rest if part))


def _relation(fields: list[str]) -> RelationDraft | str:
    if len(fields) < 3:
        return f"a relation of {len(fields)} fields, where 3 or 4 are needed"
    source, target, *rest = fields
    said = " ".join(text for text in rest if text and not _NUMBER.fullmatch(text))
    if not said:
        return "a relation that says nothing"
    return name_fault(source) or name_fault(target) or RelationDraft(source, "", target, said)
