"""From a reply's records to the contributions of a chunk, on top of what the rules found.

A name counts as the chunk's own when it stands in its text, in its title or headings, when the
rules found it there, or when a part of it stands in the text and the whole in the document or in
the memory that the model was given. Any other entity is dropped, with its relations: it is not of
this chunk. Nothing that the rules found is taken away or made less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from knotwork.records import KEYWORD, Chunk, Description, Extraction, Mention, Relation, Span
from knotwork.text.names import STOP_NAMES, name_candidates, normal_form
from knotwork.transform.model.cleaning import fold
from knotwork.transform.model.drafts import (
    UNNAMED_RELATION,
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
)
from knotwork.transform.model.grounding import ChunkText
from knotwork.transform.model.memory import names_in

MOST_ABOUT = 0.4
"""The most that an entity's share of the chunk's mentions says of what the chunk is about."""

SALIENCE_ABOUT = 0.6
"""Times an entity's share of the mentions; both as the rules have it."""

_LONGEST_DESCRIPTION = 240
"""Characters of a sentence that stands as the description of a relation."""

_LONGEST_END = 60
"""Characters of the end of a relation that no line lists as an entity."""

_PRONOUN_LIST = "他 她 它 他们 她们 它们 我 我们 你 你们 其 该 此 这 那 本文 作者 自己"
_PRONOUNS = frozenset(_PRONOUN_LIST.split())
_TYPES = {
    "人物": "PERSON", "人": "PERSON", "person": "PERSON", "组织": "ORGANIZATION",
    "机构": "ORGANIZATION", "organisation": "ORGANIZATION", "organization": "ORGANIZATION",
    "org": "ORGANIZATION", "地点": "PLACE", "地方": "PLACE", "geo": "PLACE", "location": "PLACE",
    "place": "PLACE", "事件": "EVENT", "作品": "WORK", "产品": "PRODUCT", "概念": "CONCEPT",
    "日期": "DATE", "时间": "DATE", "数字": "NUMBER", "其他": "", "其它": "", "other": "",
    "unknown": "", "none": "", "n a": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a chunk's names are held against: its document's text, and the memory of the prompt.

    ``language`` is "en" or "zh". ``typed`` says that types and relations are those of a schema,
    which count before the rules' own and stay as they are written.
    """

    document_text: str = ""
    memory: str = ""
    language: str = "en"
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Assembled:
    """A chunk's contributions; ``kept`` of the reply's records are in them."""

    extraction: Extraction
    descriptions: tuple[Description, ...]
    complaints: tuple[Complaint, ...]
    kept: int


def assemble(
    draft: Draft, chunk: Chunk, base: Extraction, surroundings: Surroundings | None = None
) -> Assembled:
    """Add the records of a draft to ``base``, what the rules found in the chunk."""
    return _Assembly(chunk, base, surroundings or Surroundings()).assemble(draft)


class _Assembly:
    """One chunk's contributions in the making."""

    def __init__(self, chunk: Chunk, base: Extraction, around: Surroundings) -> None:
        self.chunk = chunk
        self.around = around
        self.text = ChunkText(chunk)
        self.mentions = {mention.normal_form: mention for mention in base.mentions}
        self.base_spans = {mention.normal_form: mention.spans for mention in base.mentions}
        self.relations = {(r.source, r.relation, r.target): r for r in base.relations}
        self.summaries: dict[str, dict[str, None]] = {}
        self.named: dict[str, tuple[Span, ...]] = {}
        self.complaints: list[Complaint] = []
        self.kept = 0

    def assemble(self, draft: Draft) -> Assembled:
        for entity in draft.entities:
            self._add_entity(entity)
        for relation in draft.relations:
            self._add_relation(relation)
        self._cut_nested()
        self._weigh()
        extraction = Extraction(
            self.chunk.id, tuple(self.mentions.values()), tuple(self.relations.values())
        )
        descriptions = tuple(
            Description(self.chunk.id, form, " ".join(texts))
            for form, texts in self.summaries.items()
        )
        return Assembled(extraction, descriptions, tuple(self.complaints), self.kept)

    def _add_entity(self, entity: EntityDraft) -> None:
        form = self._place(entity.name, entity.type)
        if not form:
            self.complaints.append(Complaint(entity.name, "the name is not in the text"))
            return
        self.kept += 1
        if entity.summary:
            self.summaries.setdefault(form, {})[entity.summary] = None

    def _place(self, name: str, kind: str = "") -> str:
        """Return the normal form of a name of this chunk, or "" if it is none; keep its mention."""
        form = normal_form(name)
        pronoun = form in STOP_NAMES and not name.isupper()
        if not form or pronoun or form in _PRONOUNS:
            return ""
        known = self.mentions.get(form)
        spans = self.text.find(name)
        if not spans and known is None and form not in self._title_forms:
            spans = self._part_of_known(name, form)
            if not spans:
                return ""
        self.named[form] = spans
        kind = kind.strip() if self.around.typed else _plain_type(kind)
        if known is None:
            self.mentions[form] = Mention(
                self.chunk.id, form, self._surface(name, form, spans), kind, spans
            )
            return form
        known_type = "" if known.type == KEYWORD else known.type
        own = known.spans
        fresh = [s for s in spans if not any(s.start < o.end and o.start < s.end for o in own)]
        merged = tuple(sorted((*own, *fresh)))
        kept_kind = kind if kind and (self.around.typed or not known_type) else known_type
        if merged != own or kept_kind != known.type:
            self.mentions[form] = replace(known, spans=merged, type=kept_kind)
        return form

    def _part_of_known(self, name: str, form: str) -> tuple[Span, ...]:
        """Return where a part of a name stands whose whole the document or the memory holds."""
        if form not in self._memory_forms and not _stands_in(name, self.around.document_text):
            return ()
        return self.text.find_part(name)

    @cached_property
    def _title_forms(self) -> frozenset[str]:
        return frozenset(form for form, _ in name_candidates(self.chunk.context))

    @cached_property
    def _memory_forms(self) -> frozenset[str]:
        return frozenset(normal_form(name) for name in names_in(self.around.memory))

    def _surface(self, name: str, form: str, spans: Iterable[Span]) -> str:
        """Return how the chunk writes a name most often, or the name itself."""
        forms = Counter(self.text.surface(span) for span in spans)
        whole = [surface for surface in forms if surface == name or normal_form(surface) == form]
        return max(whole, key=forms.__getitem__) if whole else name

    def _add_relation(self, relation: RelationDraft) -> None:
        source, target = self._end(relation.source), self._end(relation.target)
        fault = ""
        if not source or not target:
            fault = "an end of the relation is not in the text"
        elif source == target:
            fault = "a relation of a thing to itself"
        if fault:
            shown = f"{relation.source} | {relation.relation} | {relation.target}"
            self.complaints.append(Complaint(shown, fault))
            return
        self.kept += 1
        label = self._label(relation.relation)
        ends = self.mentions[source].entity_id, self.mentions[target].entity_id
        key = (ends[0], label, ends[1])
        known = self.relations.get(key)
        spans = (self.mentions[source].spans, self.mentions[target].spans)
        span = self.text.best_sentence(spans, f"{label} {relation.summary}")
        # The words of the text itself, where the model was not paid to say it in its own.
        told = relation.summary or self._sentence(span)
        if known is None:
            self.relations[key] = Relation(
                self.chunk.id, ends[0], label, ends[1], span=span, description=told
            )
        elif relation.summary or not known.description:
            said = dict.fromkeys(text for text in (known.description, told) if text)
            self.relations[key] = replace(known, description=" ".join(said))

    def _sentence(self, span: Span | None) -> str:
        """Return a sentence of the chunk on one line, cut where it is long."""
        if span is None:
            return ""
        start = self.chunk.span.start
        text = " ".join(self.chunk.text[span.start - start : span.end - start].split())
        return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}…"

    def _end(self, name: str) -> str:
        form = normal_form(name)
        if form in self.named:
            return form
        return self._place(name) if len(name) <= _LONGEST_END else ""

    def _label(self, relation: str) -> str:
        if not relation:
            return UNNAMED_RELATION[self.around.language]
        if self.around.typed:
            return relation
        label = " ".join(relation.replace("_", " ").split())
        return label.lower() if label.isascii() else label

    def _cut_nested(self) -> None:
        """Take back spans inside longer names, 北京 in 北京大学, where a name stands alone too."""
        everywhere = [(f, s) for f, mention in self.mentions.items() for s in mention.spans]
        # Spans found may not be those of the mention, where the rules' own lie across them.
        nested = _nested({s for _, s in everywhere}.union(*self.named.values()))
        if not nested:
            return
        for form, spans in self.named.items():
            alone = tuple(
                span
                for span in spans
                if span not in nested
                or not any(
                    other != form and s.start <= span.start and span.end <= s.end and s != span
                    for other, s in everywhere
                )
            )
            if alone and alone != spans:
                self.named[form] = alone
                kept = sorted({*alone, *self.base_spans.get(form, ())})
                self.mentions[form] = replace(self.mentions[form], spans=tuple(kept))

    def _weigh(self) -> None:
        """Give what the model named its share of the mentions as aboutness, where that is more."""
        total = sum(len(spans) for spans in self.named.values())
        for form, spans in self.named.items():
            own = min(MOST_ABOUT, SALIENCE_ABOUT * len(spans) / total) if total else 0.0
            mention = self.mentions[form]
            if own > mention.about:
                self.mentions[form] = replace(mention, about=round(own, 4))


def _nested(spans: Iterable[Span]) -> frozenset[Span]:
    """Return the spans, of different ones, that lie inside another."""
    nested: list[Span] = []
    reach = -1
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if span.end <= reach:
            nested.append(span)
        else:
            reach = span.end
    return frozenset(nested)


def _stands_in(name: str, text: str) -> bool:
    """Tell whether a text holds a name as it is written, though lines may break inside it."""
    if name in text:
        return True
    words = name.split()
    return len(words) > 1 and bool(re.search(r"\s+".join(map(re.escape, words)), text))


def _plain_type(kind: str) -> str:
    folded = fold(kind)
    return _TYPES.get(folded, folded.upper())
