"""Build the JSON objects of questions that commands print: the shared shapes, and a few more keys.

Their keys are a public interface: docs/cli.md.
"""

from __future__ import annotations

from typing import Any

from knotwork._shapes.answers import AnswerShape
from knotwork._shapes.base import fields_of
from knotwork._shapes.evidence import EvidenceShape
from knotwork._stores.base import Store
from knotwork.records import Answer, Evidence


def describe_answer(answer: Answer) -> dict[str, Any]:
    """Return the object of `ask --json`."""
    return fields_of(AnswerShape.of(answer))


def describe_evidence(evidence: Evidence, store: Store) -> dict[str, Any]:
    """Return the object of `search --json`."""
    return {"query": evidence.query.text, **fields_of(EvidenceShape.of(evidence, store))}
