"""Build the JSON objects of questions that commands print: the shared shapes, and a few more keys.

Their keys are a public interface: docs/cli.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knotwork._shapes.answers import AnswerShape
from knotwork._shapes.base import fields_of
from knotwork._shapes.evidence import EvidenceShape
from knotwork._stores.base import Store
from knotwork.records import Answer, Evidence

if TYPE_CHECKING:
    from knotwork.agents._chat import MemoryUpdate
    from knotwork.agents._fact_memory import RememberedFact
    from knotwork.agents._offers import MemoryOffer


def describe_answer(answer: Answer) -> dict[str, Any]:
    """Return the object of `ask --json`."""
    return fields_of(AnswerShape.of(answer))


def describe_evidence(evidence: Evidence, store: Store) -> dict[str, Any]:
    """Return the object of `search --json`."""
    return {"query": evidence.query.text, **fields_of(EvidenceShape.of(evidence, store))}


def describe_fact(fact: RememberedFact) -> dict[str, Any]:
    """Return a fact of `memory list --json`."""
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "since": fact.valid_from or None,
        "until": fact.valid_to,
        "source": fact.source,
    }


def describe_stated_facts(update: MemoryUpdate, *, tokens: int) -> dict[str, Any]:
    """Return the object of `memory tell --json`."""
    return {
        "learned": [describe_fact(fact) for fact in update.learned],
        "ended": [describe_fact(fact) for fact in update.ended],
        "note": update.note,
        "saved": update.saved,
        "tokens": tokens,
    }


def describe_offer(offer: MemoryOffer) -> dict[str, Any]:
    """Return an offer to remember facts, as in `chat --json`."""
    return {
        "id": offer.id,
        "statement": offer.statement,
        "facts": [describe_fact(fact) for fact in offer.facts],
        "ended": [describe_fact(fact) for fact in offer.ended],
    }
