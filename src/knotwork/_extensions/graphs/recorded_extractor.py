"""Extract by rules, and add extractions that were recorded elsewhere.

A recording is a file of JSON lines, one document per line: ``{"pid": uri, "entities": [name],
"triples": [[subject, predicate, object]]}``, the published format of OpenIE by language models.
``uri`` is an alternative to ``pid``; further lines of a document add to the earlier ones. Records
are grounded like a model's reply, and unusable ones become complaints.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from knotwork._extensions.model_indexing.reply_formats import (
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
    clean_field,
    name_fault,
)
from knotwork._extensions.model_indexing.reply_grounding import ReplyContext, assemble
from knotwork._text.languages import prompt_language
from knotwork._transform.extractor import Extractor
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Extraction, content_id

RECORDED_VERSION = 1
"""Increment it whenever the result for an equal recording changes."""

_PARTS = 3
_log = logging.getLogger("knotwork.transform")


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded drafts by the URI of their document.

    The inner parts of a triple of more than three are together the relation. Shorter ones, and
    other invalid records, are complaints of the drafts.
    """

    drafts: Mapping[str, Draft]
    fingerprint: str

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a recording.

        Raises ConfigError if the file cannot be read, or, with the number of the line, if a line is
        not an object or does not name its document.
        """
        if not path.is_file():
            raise ConfigError(f"The recording `{path}` does not exist.")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"The recording `{path}` cannot be read: {error}.",
                fix="Use a UTF-8 file with one JSON object a line.",
            ) from error
        drafts: dict[str, Draft] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                uri, draft = _read_row(line, f"{path}, line {number}")
                earlier = drafts.get(uri, Draft())
                merged = earlier.merged(draft)
                repeated = earlier.records + draft.records - merged.records
                drafts[uri] = replace(merged, repeated=merged.repeated + repeated)
        return cls(drafts, content_id(text))


def _read_row(line: str, where: str) -> tuple[str, Draft]:
    """Return the document of a line and its records."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where} is not JSON: {error.msg}.") from error
    uri = (row.get("pid") or row.get("uri")) if isinstance(row, dict) else None
    if not isinstance(uri, str):
        raise ConfigError(f"{where} does not name its document under `pid` or `uri`.")
    entities: list[EntityDraft] = []
    relations: list[RelationDraft] = []
    complaints: list[Complaint] = []
    for value in _items(row, "entities", where):
        name = clean_field(value) if isinstance(value, str) else ""
        if fault := name_fault(name) if isinstance(value, str) else "not a name":
            complaints.append(_complaint(value, fault))
        else:
            entities.append(EntityDraft(name))
    for value in _items(row, "triples", where):
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            complaints.append(_complaint(value, "not a triple of texts"))
            continue
        if len(value) < _PARTS:
            complaints.append(_complaint(value, f"a triple with {len(value)} parts"))
            continue
        source, target = clean_field(value[0]), clean_field(value[-1])
        if fault := name_fault(source) or name_fault(target):
            complaints.append(_complaint(value, fault))
            continue
        relation = clean_field(" ".join(value[1:-1]))
        # The fact is its own summary, so that it counts as written by a model.
        summary = f"{source} {relation} {target}"
        relations.append(RelationDraft(source, relation, target, summary))
    return uri, Draft(tuple(entities), tuple(relations), tuple(complaints))


def _items(row: Mapping[str, Any], key: str, where: str) -> list[Any]:
    values = row.get(key) or []
    if not isinstance(values, list):
        raise ConfigError(f"`{key}` in {where} is not a list.")
    return values


def _complaint(value: object, reason: str) -> Complaint:
    return Complaint(json.dumps(value, ensure_ascii=False), reason)


class RecordedExtractor:
    """Adds a recording to the results of the rules; implements `Extractor`.

    A document that is not in the recording has only the results of the rules.
    """

    def __init__(self, recording: Recording, *, rules: Extractor | None = None) -> None:
        self.recording = recording
        self.rules = rules or RuleExtractor()
        self.name = f"recorded-{RECORDED_VERSION}-{recording.fingerprint}+{self.rules.name}"

    def read_document(
        self, document: Document, chunks: Sequence[Chunk]
    ) -> tuple[list[Extraction], list[Complaint]]:
        """Return the extractions of one document, one per leaf chunk, and complaints.

        These are about records that are unreadable or do not occur in the text of any chunk.
        """
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        bases = self.rules.extract(document, leaves)
        draft = self.recording.drafts.get(document.uri)
        if draft is None:
            return list(bases), []
        around = ReplyContext(document.text, language=prompt_language(document.text))
        made = [
            assemble(draft, chunk, base, around) for chunk, base in zip(leaves, bases, strict=True)
        ]
        # A record may be in any of the chunks: it is unused if all of them complain about it.
        unused = [
            complaint
            for complaint in (made[0].complaints if made else ())
            if all(complaint in item.complaints for item in made[1:])
        ]
        return [item.extraction for item in made], [*draft.complaints, *unused]

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order.

        Unused records are logged.
        """
        extractions, complaints = self.read_document(document, chunks)
        for complaint in complaints:
            _log.info("%s: %s: %s", document.uri, complaint.reason, complaint.line)
        return extractions


def add_recording(path: Path, rules: Extractor) -> RecordedExtractor:
    """Return an extractor that adds a recording to the results of another; raises as `read`."""
    return RecordedExtractor(Recording.read(path), rules=rules)
