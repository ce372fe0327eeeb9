"""Ground a reply in its chunk: find its names in the text, and add them to the rules' results.

A name belongs to a chunk if it occurs in its text, title or headings, if the rules found it there,
or if a part of it occurs in the text and the whole in the document or the chunk memory. Other
entities are dropped with their relations. No result of the rules is removed or weakened.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from knotwork._extensions.model_indexing.chunk_memory import remembered_names
from knotwork._extensions.model_indexing.reply_formats import (
    UNNAMED_RELATION,
    Complaint,
    Draft,
    EntityDraft,
    RelationDraft,
    fold_word,
)
from knotwork._text.languages import HAN_AND_KANA, simplify
from knotwork._text.names import STOP_NAMES, name_candidates, normal_form, without_suffix
from knotwork._text.terms import content_terms
from knotwork.records import KEYWORD, Chunk, Description, Extraction, Mention, Relation, Span

MOST_ABOUT = 0.4
"""Upper limit of the aboutness that follows from an entity's share of the chunk's mentions."""

SALIENCE_ABOUT = 0.6
"""Aboutness per share of the mentions; both constants are those of the rules."""

_LONGEST_DESCRIPTION = 240
"""Most characters of a sentence that serves as the description of a relation."""

_LONGEST_END = 60
"""Most characters of a relation's end that is not listed as an entity."""

_PRONOUN_LIST = "他 她 它 他们 她们 它们 我 我们 你 你们 其 该 此 这 那 本文 作者 自己"
_PRONOUNS = frozenset(_PRONOUN_LIST.split())
_TYPE_NAMES = {
    "人物": "PERSON", "人": "PERSON", "person": "PERSON", "组织": "ORGANIZATION",
    "机构": "ORGANIZATION", "organisation": "ORGANIZATION", "organization": "ORGANIZATION",
    "org": "ORGANIZATION", "地点": "PLACE", "地方": "PLACE", "geo": "PLACE", "location": "PLACE",
    "place": "PLACE", "事件": "EVENT", "作品": "WORK", "产品": "PRODUCT", "概念": "CONCEPT",
    "日期": "DATE", "时间": "DATE", "数字": "NUMBER", "其他": "", "其它": "", "other": "",
    "unknown": "", "none": "", "n a": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """The context for checking a chunk's names: its document's text and the memory of the prompt.

    ``language`` is "en" or "zh". ``typed`` is True if types and relations come from a schema; they
    then take precedence over those of the rules and keep their spelling.
    """

    document_text: str = ""
    memory: str = ""
    language: str = "en"
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Assembled:
    """A chunk's contributions; ``kept`` is the number of records of the reply in them."""

    extraction: Extraction
    descriptions: tuple[Description, ...]
    complaints: tuple[Complaint, ...]
    kept: int


def assemble(
    draft: Draft, chunk: Chunk, base: Extraction, surroundings: ReplyContext | None = None
) -> Assembled:
    """Add the records of a draft to ``base``, the result of the rules for the chunk."""
    return _Assembly(chunk, base, surroundings or ReplyContext()).assemble(draft)


class _Assembly:
    """Builds the contributions of one chunk."""

    def __init__(self, chunk: Chunk, base: Extraction, around: ReplyContext) -> None:
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
        form = self._mention(entity.name, entity.type)
        if not form:
            self.complaints.append(Complaint(entity.name, "the name is not in the text"))
            return
        self.kept += 1
        if entity.summary:
            self.summaries.setdefault(form, {})[entity.summary] = None

    def _mention(self, name: str, kind: str = "") -> str:
        """Add or extend the mention of a name and return its normal form; "" if it is not here."""
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
        fresh = [s for s in spans if not any(s.overlaps(o) for o in own)]
        merged = tuple(sorted((*own, *fresh)))
        kept_kind = kind if kind and (self.around.typed or not known_type) else known_type
        if merged != own or kept_kind != known.type:
            self.mentions[form] = replace(known, spans=merged, type=kept_kind)
        return form

    def _part_of_known(self, name: str, form: str) -> tuple[Span, ...]:
        """Return the spans of a part of a name whose whole is in the document or the memory."""
        if form not in self._memory_forms and not _occurs_in(name, self.around.document_text):
            return ()
        return self.text.find_part(name)

    @cached_property
    def _title_forms(self) -> frozenset[str]:
        return frozenset(form for form, _ in name_candidates(self.chunk.context))

    @cached_property
    def _memory_forms(self) -> frozenset[str]:
        return frozenset(normal_form(name) for name in remembered_names(self.around.memory))

    def _surface(self, name: str, form: str, spans: Iterable[Span]) -> str:
        forms = Counter(self.text.surface(span) for span in spans)
        whole = [surface for surface in forms if surface == name or normal_form(surface) == form]
        return max(whole, key=forms.__getitem__) if whole else name

    def _add_relation(self, relation: RelationDraft) -> None:
        source, target = self._end(relation.source), self._end(relation.target)
        fault = ""
        if not source or not target:
            fault = "an end of the relation is not in the text"
        elif source == target:
            fault = "a relation of an entity to itself"
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
        # Without a summary by the model, the sentence itself is the description.
        description = relation.summary or self._sentence(span)
        if known is None:
            self.relations[key] = Relation(
                self.chunk.id, ends[0], label, ends[1], span=span, description=description
            )
        elif relation.summary or not known.description:
            texts = dict.fromkeys(text for text in (known.description, description) if text)
            self.relations[key] = replace(known, description=" ".join(texts))

    def _sentence(self, span: Span | None) -> str:
        if span is None:
            return ""
        text = " ".join(self.chunk.text_at(span).split())
        return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}…"

    def _end(self, name: str) -> str:
        form = normal_form(name)
        if form in self.named:
            return form
        return self._mention(name) if len(name) <= _LONGEST_END else ""

    def _label(self, relation: str) -> str:
        if not relation:
            return UNNAMED_RELATION[self.around.language]
        if self.around.typed:
            return relation
        label = " ".join(relation.replace("_", " ").split())
        return label.lower() if label.isascii() else label

    def _cut_nested(self) -> None:
        """Remove spans inside longer names (北京 in 北京大学) if a name also occurs alone."""
        everywhere = [(f, s) for f, mention in self.mentions.items() for s in mention.spans]
        # Spans found may differ from those of the mention, if spans of the rules overlap them.
        nested = _nested({s for _, s in everywhere}.union(*self.named.values()))
        if not nested:
            return
        for form, spans in self.named.items():
            alone = tuple(
                span
                for span in spans
                if span not in nested
                or not any(
                    other != form and s.contains(span) and s != span for other, s in everywhere
                )
            )
            if alone and alone != spans:
                self.named[form] = alone
                kept = sorted({*alone, *self.base_spans.get(form, ())})
                self.mentions[form] = replace(self.mentions[form], spans=tuple(kept))

    def _weigh(self) -> None:
        """Raise the aboutness of what the model named to its share of the mentions."""
        total = sum(len(spans) for spans in self.named.values())
        for form, spans in self.named.items():
            own = min(MOST_ABOUT, SALIENCE_ABOUT * len(spans) / total) if total else 0.0
            mention = self.mentions[form]
            if own > mention.about:
                self.mentions[form] = replace(mention, about=round(own, 4))


def _nested(spans: Iterable[Span]) -> frozenset[Span]:
    nested: list[Span] = []
    reach = -1
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if span.end <= reach:
            nested.append(span)
        else:
            reach = span.end
    return frozenset(nested)


def _occurs_in(name: str, text: str) -> bool:
    """Return True if a text contains a name verbatim, except for line breaks inside it."""
    if name in text:
        return True
    words = name.split()
    return len(words) > 1 and bool(re.search(r"\s+".join(map(re.escape, words)), text))


def _plain_type(kind: str) -> str:
    folded = fold_word(kind)
    return _TYPE_NAMES.get(folded, folded.upper())


_TOKEN = re.compile(
    rf"[{HAN_AND_KANA}]|[^\W_{HAN_AND_KANA}]+(?:[\u0300-\u036f]+[^\W_{HAN_AND_KANA}]*)*"
)
_ASCII_TOKEN = re.compile("[a-z0-9]+")
_POSSESSIVE = "s"
_APOSTROPHES = "'’ʼ＇`"
_ARTICLES = frozenset({"the", "a", "an"})
_ENDS = frozenset("。！？；!?;|，,：:")
_LONGEST_GAP = 2
"""Most punctuation marks between two words of a name, such as the dot after an initial."""


class _Tokens(NamedTuple):
    """The folded words and Han characters of a text, and their offsets."""

    forms: list[str]
    spans: list[tuple[int, int]]

    def places(self, form: str) -> list[int]:
        """Return the positions of a word, in order."""
        count = self.forms.count(form)
        found: list[int] = []
        position = -1
        for _ in range(count):
            position = self.forms.index(form, position + 1)
            found.append(position)
        return found


class ChunkText:
    """A chunk's text, prepared for finding names; all offsets are those of the document."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._tokens = _tokens(chunk.text)
        self._sentences = chunk.sentences or (chunk.span,)
        self._terms: dict[int, set[str]] = {}
        self._holders: dict[tuple[Span, ...], list[int]] = {}

    def find(self, name: str) -> tuple[Span, ...]:
        """Return the spans of a name, in order and without overlap.

        The search ignores case, width, accents, punctuation between words, a possessive ending, a
        leading article, a suffix in brackets, and the difference of traditional and simplified
        Chinese.
        """
        found = self._sequence(name)
        if not found and (bare := without_suffix(name)) != name:
            found = self._sequence(bare)
        if not found:
            span = self._forms.get(normal_form(name))
            whole = span and _foreign_ends(name).isdisjoint(self.chunk.text[span.start : span.end])
            found = [span] if span and whole else []
        offset = self.chunk.span.start
        return tuple(Span(span.start + offset, span.end + offset) for span in found)

    def find_part(self, name: str) -> tuple[Span, ...]:
        """Return the spans of a part of a longer name: "Scrooge" of "Ebenezer Scrooge".

        A part is the last word of a name, or else its first; it must be capitalised in the text
        too.
        """
        name = without_suffix(name)
        tokens = self._tokens
        words = [(f, s) for f, (s, _) in zip(*_tokens(name), strict=True) if len(f) > 2]
        if len(words) < 2:
            return ()
        offset, text = self.chunk.span.start, self.chunk.text
        for form, start in (words[-1], words[0]):
            if form in STOP_NAMES or not name[start].isupper():
                continue
            places = [tokens.spans[place] for place in tokens.places(form)]
            spans = [Span(s + offset, e + offset) for s, e in places if text[s].isupper()]
            if spans:
                return tuple(spans)
        return ()

    def best_sentence(self, ends: Iterable[tuple[Span, ...]], words: str) -> Span | None:
        """Return the sentence that best supports a fact: by ends named, then by words shared.

        Returns None if no sentence names an end. ``ends`` are the spans of source and target.
        """
        named: dict[int, int] = {}
        for spans in ends:
            for index in self._sentences_of(spans):
                named[index] = named.get(index, 0) + 1
        if not named:
            return None
        most = max(named.values())
        best = [index for index, count in sorted(named.items()) if count == most]
        if len(best) > 1:  # compare words only to break ties
            wanted = set(content_terms(words))
            shared = [len(wanted & self._terms_of(index)) if wanted else 0 for index in best]
            return self._sentences[best[shared.index(max(shared))]]
        return self._sentences[best[0]]

    def surface(self, span: Span) -> str:
        """Return the text of a span on one line."""
        return " ".join(self.chunk.text_at(span).split())

    @cached_property
    def _forms(self) -> dict[str, Span]:
        return dict(name_candidates(self.chunk.text))

    def _sentences_of(self, spans: tuple[Span, ...]) -> list[int]:
        held = self._holders.get(spans)
        if held is None:
            held = self._holders[spans] = [
                index
                for index, (start, end) in enumerate(self._sentences)
                if any(start <= span.start and span.end <= end for span in spans)
            ]
        return held

    def _terms_of(self, index: int) -> set[str]:
        terms = self._terms.get(index)
        if terms is None:
            whole = not self.chunk.sentences
            text = self.chunk.text if whole else self.chunk.sentence_text(index)
            terms = self._terms[index] = set(content_terms(text))
        return terms

    def _sequence(self, name: str) -> list[Span]:
        if name.rstrip().endswith(("+", "#")):  # C++ is not C
            return []
        wanted = _forms(name)
        while len(wanted) > 1 and wanted[0] in _ARTICLES:
            del wanted[0]
        if not wanted:
            return []
        forms, places = self._tokens
        closing = _foreign_ends(name)
        spans: list[Span] = []
        behind = 0
        for first in self._tokens.places(wanted[0]):
            last = first + len(wanted)
            if first < behind or forms[first:last] != wanted:
                continue
            if self._is_close(first, last, closing):
                spans.append(Span(places[first][0], places[last - 1][1]))
                behind = last
        return spans

    def _is_close(self, first: int, last: int, closing: frozenset[str]) -> bool:
        """Return True if words are adjacent within a sentence, and Han characters without a gap."""
        forms, places = self._tokens
        for place in range(first, last - 1):
            gap = self.chunk.text[places[place][1] : places[place + 1][0]]
            if gap in {"", " "}:
                continue
            signs = gap.strip(" \t\r\n-")  # a single line break inside a name is wrapping
            if "\n\n" in gap or len(signs) > _LONGEST_GAP or not closing.isdisjoint(signs):
                return False
            apart = signs.strip("·•‧・･")
            if apart and _is_han(forms[place]) and _is_han(forms[place + 1]):
                return False
        return True


def _tokens(text: str) -> _Tokens:
    is_plain = text.isascii()
    pattern, read = (_ASCII_TOKEN, text.lower()) if is_plain else (_TOKEN, text)
    spans = [match.span() for match in pattern.finditer(read)]
    forms = [read[start:end] for start, end in spans]
    if not is_plain:
        forms = list(map(_fold, forms))
    if _POSSESSIVE in forms or "" in forms:
        kept = [
            place
            for place, (form, (start, _)) in enumerate(zip(forms, spans, strict=True))
            if form and not (form == _POSSESSIVE and start and text[start - 1] in _APOSTROPHES)
        ]
        return _Tokens([forms[place] for place in kept], [spans[place] for place in kept])
    return _Tokens(forms, spans)


def _forms(text: str) -> list[str]:
    if text.isascii() and "'" not in text and "`" not in text:
        return _ASCII_TOKEN.findall(text.lower())
    return _tokens(text).forms


@lru_cache(maxsize=65_536)
def _fold(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold()
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFD", simplify(folded))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not unicodedata.combining(c))
    )


def _foreign_ends(name: str) -> frozenset[str]:
    """Return the signs that end a name, except those inside it, as in "Rochester, New York"."""
    return _ENDS.difference(name)


def _is_han(form: str) -> bool:
    return len(form) == 1 and form >= "\u3040"
