"""The extractor that adds extractions recorded elsewhere to what the rules find.

A recording is a file of JSON lines, one document a line: ``{"pid": uri, "entities": [name],
"triples": [[subject, predicate, object]]}``, as OpenIE by a language model is published. ``uri``
may be used for ``pid``; further lines of a document add to the earlier ones. A record is grounded
as a model's reply is, and what cannot be used is a complaint.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Extraction, content_id
from knotwork.transform.extractor import Extractor
from knotwork.transform.model.prompts import prompt_language
from knotwork.transform.model.reply_grounding import Assembled, ReplyContext, assemble
from knotwork.transform.model.reply_records import (
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
    clean_field,
    name_fault,
)
from knotwork.transform.rules import RuleExtractor

RECORDED_VERSION = 1
"""Raised with every change of what is made of equal recordings."""

_PARTS = 3
_log = logging.getLogger("knotwork.transform")


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded, by the uri of its document.

    ``lengthened`` counts the triples of more than three parts: all between the first and the last
    is their relation. Shorter ones, and whatever else is no record, are complaints of the drafts.
    """

    drafts: Mapping[str, Draft]
    fingerprint: str
    lengthened: int = 0

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a recording.

        Raises ConfigError that names the line when it is no object, or names no document.
        """
        if not path.is_file():
            raise ConfigError(f"`{path}` does not exist.")
        reading = _RecordingBuilder()
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                reading.take(line, f"{path}, line {number}")
        return cls(reading.drafts, content_id(text), reading.lengthened)


@dataclass(slots=True)
class _RecordingBuilder:
    """A recording in the making."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    lengthened: int = 0

    def take(self, line: str, where: str) -> None:
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{where} is not JSON: {error.msg}.") from error
        uri = (row.get("pid") or row.get("uri")) if isinstance(row, dict) else None
        if not isinstance(uri, str):
            raise ConfigError(f"{where} does not name its document under `pid` or `uri`.")
        read = [_entity(value) for value in _items(row, "entities", where)]
        facts = [self._relation(value) for value in _items(row, "triples", where)]
        draft = Draft(
            tuple(item for item in read if isinstance(item, EntityDraft)),
            tuple(item for item in facts if isinstance(item, RelationDraft)),
            tuple(item for item in (*read, *facts) if isinstance(item, Complaint)),
        )
        earlier = self.drafts.get(uri, Draft())
        joined = earlier.joined(draft)
        repeated = earlier.records + draft.records - joined.records
        self.drafts[uri] = replace(joined, repeated=joined.repeated + repeated)

    def _relation(self, value: object) -> RelationDraft | Complaint:
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            return _complaint(value, "no triple of texts")
        if len(value) < _PARTS:
            return _complaint(value, f"a triple of {len(value)} parts")
        source, target = clean_field(value[0]), clean_field(value[-1])
        fault = name_fault(source) or name_fault(target)
        if fault:
            return _complaint(value, fault)
        self.lengthened += len(value) > _PARTS
        relation = clean_field(" ".join(value[1:-1]))
        # The fact itself is its summary, so that it counts as what a model said.
        return RelationDraft(source, relation, target, f"{source} {relation} {target}")


def _items(row: Mapping[str, Any], key: str, where: str) -> list[Any]:
    values = row.get(key) or []
    if not isinstance(values, list):
        raise ConfigError(f"{where} has no list under `{key}`.")
    return values


def _entity(value: object) -> EntityDraft | Complaint:
    if not isinstance(value, str):
        return _complaint(value, "no name")
    name = clean_field(value)
    fault = name_fault(name)
    return _complaint(value, fault) if fault else EntityDraft(name)


def _complaint(value: object, reason: str) -> Complaint:
    return Complaint(json.dumps(value, ensure_ascii=False), reason)


@dataclass(frozen=True, slots=True)
class RecordedReading:
    """A document's extractions, one a leaf chunk, and all of its recording that none of them has.

    ``complaints`` hold what could not be read, and what is in the text of no chunk.
    """

    extractions: tuple[Extraction, ...]
    complaints: tuple[Complaint, ...] = ()


class RecordedExtractor:
    """Adds a recording to what the rules find; implements `Extractor`.

    A document that the recording lacks has what the rules found.
    """

    def __init__(self, recording: Recording, *, rules: Extractor | None = None) -> None:
        self.recording = recording
        self.rules = rules or RuleExtractor()
        self.name = f"recorded-{RECORDED_VERSION}-{recording.fingerprint}+{self.rules.name}"

    def read_document(self, document: Document, chunks: Sequence[Chunk]) -> RecordedReading:
        """Return what the rules and the recording say of one document."""
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        bases = self.rules.extract(document, leaves)
        draft = self.recording.drafts.get(document.uri)
        if draft is None:
            return RecordedReading(tuple(bases))
        around = ReplyContext(document.text, language=prompt_language(document.text))
        made = [
            assemble(draft, chunk, base, around) for chunk, base in zip(leaves, bases, strict=True)
        ]
        complaints = (*draft.complaints, *_of_no_chunk(made))
        return RecordedReading(tuple(item.extraction for item in made), complaints)

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        What of the recording is not used is logged; `read_document` returns it.
        """
        reading = self.read_document(document, chunks)
        for complaint in reading.complaints:
            _log.info("%s: %s: %s", document.uri, complaint.reason, complaint.line)
        return list(reading.extractions)


def _of_no_chunk(made: Sequence[Assembled]) -> list[Complaint]:
    """Return the complaints that all chunks of a document have: what one holds, others lack."""
    if not made:
        return []
    common = reduce(set.intersection, (set(item.complaints) for item in made))
    return [complaint for complaint in made[0].complaints if complaint in common]
