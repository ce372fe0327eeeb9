"""Read replies in the tuple form of GraphRAG, `("entity"<|>NAME<|>TYPE<|>DESCRIPTION)##`."""

from __future__ import annotations

import re

from knotwork._extensions.model_indexing.reply_formats import (
    ENTITY_WORDS,
    RELATION_WORDS,
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
    clean_field,
    fold_word,
    name_fault,
    plain_text,
)

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TUPLE_END = re.compile(
    r"##+|<\|COMPLETE\|>|(?=\(\s*[\"“']?(?:entity|relationship)[\"”']?\s*<\|)", re.IGNORECASE
)
_NEXT_NUMBER = re.compile(r"(?<=\))\s*(?:[-*•]|\d+[.)])$")
_TUPLE_SEPARATOR = re.compile(r"<\|+>|<\|#\|>|\t")
_IDLE_TUPLE = re.compile(r"(?:[\W_\d]|\b(?:additional|entities|relationships?)\b)*", re.IGNORECASE)
"""Only punctuation, numbers and headings."""


class TupleReader:
    """Reads replies in the tuple form; implements `ReplyReader`."""

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        text = plain_text(reply)
        pieces = [_NEXT_NUMBER.sub("", piece.strip()) for piece in _TUPLE_END.split(text)]
        pieces = [piece for piece in pieces if piece]
        entities: list[EntityDraft] = []
        relations: list[RelationDraft] = []
        complaints: list[Complaint] = []
        idle = 0
        for position, piece in enumerate(pieces):
            if _IDLE_TUPLE.fullmatch(piece):
                idle += 1
                continue
            broken = cut and position == len(pieces) - 1 and not piece.endswith((")", "）"))
            record = _tuple_record(piece, broken=broken)
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


def _tuple_record(piece: str, *, broken: bool) -> EntityDraft | RelationDraft | str:
    """Return the record of a tuple, or the reason why it has none."""
    first = piece.find("(")
    inside = piece[first + 1 :] if 0 <= first < 4 else piece
    inside = inside[:-1] if inside.endswith((")", "）")) else inside
    if not _TUPLE_SEPARATOR.search(inside):
        return "neither an entity nor a relation"
    kind, *fields = (clean_field(field) for field in _TUPLE_SEPARATOR.split(inside))
    if fold_word(kind) in ENTITY_WORDS:
        return _tuple_entity(fields, broken=broken)
    if fold_word(kind) in RELATION_WORDS:
        return _tuple_relation(fields)
    return "neither an entity nor a relation"


def _tuple_entity(fields: list[str], *, broken: bool) -> EntityDraft | str:
    if not fields or (broken and len(fields) < 2):
        return "an entity without a name"
    name, kind, *rest = (*fields, "")
    return name_fault(name) or EntityDraft(name, kind, " ".join(part for part in rest if part))


def _tuple_relation(fields: list[str]) -> RelationDraft | str:
    if len(fields) < 3:
        return f"a relation with {len(fields)} fields, where 3 or 4 are needed"
    source, target, *rest = fields
    summary = " ".join(text for text in rest if text and not _NUMBER.fullmatch(text))
    if not summary:
        return "a relation without a name and a summary"
    return name_fault(source) or name_fault(target) or RelationDraft(source, "", target, summary)
