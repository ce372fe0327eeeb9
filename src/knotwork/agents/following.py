"""Questions that follow from what was found: the rest of the question, about a thing found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork.records import Entity, Evidence, Hit, Mention
from knotwork.retrieval.question import Question, rarity, read_question
from knotwork.retrieval.sentences import SHOWN_SENTENCES
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Store
from knotwork.text.terms import content_terms, terms

READ_HITS = 3
_LEAST_REST = 1
_WORD = re.compile(r"\w+(?:['’]\w+)?|\S", re.UNICODE)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A further question: what is not yet covered, about an entity that a passage names.

    ``worth`` in [0, 1] is how much the passage and its sentence bear on the question.
    """

    text: str
    entity: str
    chunk_id: str
    worth: float


def follow_up(
    evidence: Evidence, store: Store, *, most: int = 2, skip: Collection[str] = ()
) -> list[FollowUp]:
    """Return the likeliest further questions, one for each of the ``most`` likeliest entities.

    An entity counts by the passage that names it, by how well the sentence that does so bears on
    the question, and by how rare it is. Entities that the question names, those that a passage is
    titled by, and those in ``skip`` (by id) ask nothing new.
    """
    question = read_question(
        evidence.query.text, store=store, embedder=None, weights=DEFAULT_WEIGHTS
    )
    hits = evidence.hits[:READ_HITS]
    mentions = store.graph.mentions([hit.chunk.id for hit in hits])
    ids = {m.entity_id for found in mentions.values() for m in found}
    entities = store.graph.entities(ids)
    best: dict[str, FollowUp] = {}
    for entity_id, hit, sentence, worth in _candidates(hits, mentions, entities, question):
        is_name = any(character.isalpha() for character in entities[entity_id].name)
        if entity_id in question.named or entity_id in skip or not is_name:
            continue
        if entity_id in best and best[entity_id].worth >= worth:
            continue
        text = _rest_about(question, entities[entity_id].name, sentence)
        if text:
            best[entity_id] = FollowUp(text, entity_id, hit.chunk.id, worth)
    ranked = sorted(best.values(), key=lambda f: (-f.worth, f.entity))
    kept: list[FollowUp] = []
    for candidate in ranked:
        form = entities[candidate.entity].normal_form
        if len(kept) < most and not any(
            form in entities[k.entity].normal_form or entities[k.entity].normal_form in form
            for k in kept
        ):
            kept.append(candidate)
    return kept


def _candidates(
    hits: Sequence[Hit],
    mentions: Mapping[str, Sequence[Mention]],
    entities: Mapping[str, Entity],
    question: Question,
) -> Iterator[tuple[str, Hit, str, float]]:
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        share = hit.score / top if top > 0 else 0.0
        for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
            start = hit.chunk.span.start
            sentence = hit.chunk.text[span.start - start : span.end - start]
            for mention in mentions.get(hit.chunk.id, ()):
                inside = any(span.start <= m.start and m.end <= span.end for m in mention.spans)
                entity = entities.get(mention.entity_id)
                if inside and entity is not None and mention.about < 1.0:
                    rare = rarity(entity.chunk_count, question.chunk_count) ** (1 / 3)
                    yield entity.id, hit, sentence, max(share * relevance * rare, 0.0)


def _rest_about(question: Question, name: str, sentence: str) -> str:
    """Return the words of a question that a sentence does not hold, with the name of a thing.

    Empty where nothing of the question would be left to ask.
    """
    known = set(terms(sentence))
    kept, left = [], 0
    for match in _WORD.finditer(question.text):
        found = content_terms(match[0])
        if found and all(term in known for term in found):
            continue
        left += bool(found) and any(term in question.terms for term in found)
        kept.append(match[0])
    return f"{' '.join(kept)} {name}" if left >= _LEAST_REST else ""
