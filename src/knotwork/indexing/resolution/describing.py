"""What a judge is told of an entity: its type, and a few words of the documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from knotwork.indexing.resolution.evidence import Profile
from knotwork.records import Chunk, content_id
from knotwork.stores.base import Store
from knotwork.stores.readings import StoresReadings
from knotwork.text.sentences import split_sentences
from knotwork.text.tokens import count_tokens, token_starts

VERSION = "pairs-1"
"""Changes whenever a judge would be asked something else about the same entities."""

DESCRIPTION_TOKENS = 14
_BREAKS = re.compile(r"\s*(?:\|+|[\r\n\t]+)\s*")
_MARKS = re.compile(r"<(/?\w+)\s*>")
_EDGE = re.compile(r"^[\W_]+")
_COLON = re.compile(r"\s*[:：]\s*")


@dataclass(frozen=True, slots=True)
class Question:
    """A pair that a judge is asked about: two descriptions, and what they are worth.

    ``content_key`` is of all that is shown, and of no model.
    """

    pair: tuple[str, str]
    first: str
    second: str
    reason: str
    worth: float

    @property
    def content_key(self) -> str:
        return content_id(VERSION, self.first, self.second)

    @property
    def text(self) -> str:
        """The pair in one line."""
        return f"{self.first} || {self.second}"


def describe(store: Store, profiles: Collection[Profile]) -> dict[str, str]:
    """Return a line for each entity: "NAME: TYPE, words", `DESCRIPTION_TOKENS` of words at most.

    The words are a model's description where the store has one, else the sentence that names the
    entity in the chunk that is most about it. Equal graphs give equal lines.
    """
    told = _told_by_model(store, [profile.id for profile in profiles])
    rest = [profile for profile in profiles if profile.id not in told]
    chunks = _telling_chunks(store, [profile.id for profile in rest])
    lines: dict[str, str] = {}
    for profile in profiles:
        entity = profile.entity
        words = told.get(profile.id, "")
        if not words and profile.id in chunks:
            words = _telling_words(chunks[profile.id].text, entity.name)
        shown = ", ".join(part for part in (entity.type, _cut(_EDGE.sub("", _flat(words)))) if part)
        name = _COLON.sub(" ", _flat(entity.name))
        lines[profile.id] = f"{name}: {shown}" if shown else name
    return lines


def _told_by_model(store: Store, entity_ids: list[str]) -> dict[str, str]:
    if not isinstance(store, StoresReadings):
        return {}
    # Not the summaries: they are written later, and would make each pair another question.
    described = store.readings.descriptions(entity_ids)
    return {entity: notes[0].text for entity, notes in described.items() if notes}


def _telling_chunks(store: Store, entity_ids: list[str]) -> Mapping[str, Chunk]:
    best = {e: found[0].id for e, found in store.graph.about(entity_ids, fan=1).items() if found}
    chunks = store.documents.chunks(sorted(set(best.values())))
    return {entity: chunks[chunk] for entity, chunk in best.items() if chunk in chunks}


def _telling_words(text: str, name: str) -> str:
    """Return the part of a text that first says something of a name: its sentence from the name on,
    or from a little before it where little comes behind.
    """
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    folded = name.lower()
    for sentence in sentences:
        place = sentence.lower().find(folded)
        if place < 0:
            continue
        rest = sentence[place:]
        if count_tokens(rest) - count_tokens(name) >= DESCRIPTION_TOKENS // 2:
            return rest[len(name) :]
        return sentence
    return sentences[0] if sentences else ""


def _cut(text: str) -> str:
    starts = token_starts(text)
    if len(starts) <= DESCRIPTION_TOKENS:
        return text
    end = starts[DESCRIPTION_TOKENS]
    while end > 0 and text[end - 1].isascii() and text[end - 1].isalnum() and text[end].isalnum():
        end -= 1
    return text[:end].rstrip(" ,，、(（#")


def _flat(text: str) -> str:
    """Return a text on one line, without what parts fields or marks sections of a prompt."""
    return " ".join(_MARKS.sub(r"‹\1›", _BREAKS.sub(" ", text)).split())
