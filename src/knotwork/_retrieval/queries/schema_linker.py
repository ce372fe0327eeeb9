"""Link words of a question to names of a schema: by stems, related words, vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from knotwork._inference.embedder import Embedder, FloatMatrix, to_similarity
from knotwork._retrieval.queries.target_schema import TargetSchema
from knotwork._text.chinese import simplify
from knotwork._text.names import STOP_NAMES
from knotwork._text.terms import content_terms, terms
from knotwork.records import Span

Element = Literal["kind", "link", "property"]

NEAR_MEANING = 0.6
"""Minimum similarity of words and a name that share no stem."""

_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?", re.UNICODE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")
_ABBREVIATIONS = {"no": "number", "nr": "number", "num": "number", "id": "identifier"}
_SHORT_FORMS = {"max": "maximum", "min": "minimum", "avg": "averag", "qty": "quantiti"}
"""Stems by their short forms, which mean the same in names and in questions."""
_COMMON_WORDS: dict[str, tuple[str, ...]] = {
    "person": ("who", "people", "individual", "someone", "anyone", "somebody", "everyone", "whom"),
    "location": ("where", "place"),
    "movie": ("film",),
    "film": ("movie",),
}
"""Common synonyms of kinds with these names."""

_IRREGULAR_WORDS = """
    wrote written writer=write sang sung=sing knew known=know led=lead won=win taught=teach
    built=build bought=buy sold=sell held=hold gave given=give took taken=take spoke spoken=speak
    drew drawn=draw drove driven=drive grew grown=grow flew flown=fly chose chosen=choose
    made=make met=meet paid=pay said=say sent=send told=tell went gone=go born=birth died=death
"""
_LEAST_SHARE = 0.4
_WIDEST = 2
_KIN_LETTERS = 3
_KIN_ENDING = 3


@dataclass(frozen=True, slots=True)
class SchemaMention:
    """A part of a question that may mean a kind, link or property of this name.

    ``score`` is above 0 and at most 1: all words of the name are in the question.
    """

    element: Element
    name: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True)
class _Phrase:
    element: Element
    name: str
    text: str
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    stem: str
    span: Span
    is_stop: bool


class SchemaLinker:
    """Finds the names of a schema in questions; with an embedder, also by meaning."""

    def __init__(self, schema: TargetSchema, *, embedder: Embedder | None = None) -> None:
        self._phrases = tuple(_phrases(schema))
        self._embedder = embedder
        self._vectors: FloatMatrix | None = None

    def link(self, text: str, *, taken: Sequence[Span] = ()) -> tuple[SchemaMention, ...]:
        """Return the schema elements that a question mentions, in order, outside the ``taken``
        spans.
        """
        tokens = [t for t in _tokens(text) if not any(t.span.overlaps(s) for s in taken)]
        found: dict[tuple[Element, str, int], SchemaMention] = {}
        for phrase in self._phrases:
            for mention in _by_stems(phrase, tokens, text):
                if not any(mention.span.overlaps(span) for span in taken):
                    _keep(found, mention)
        known = [m.span for m in found.values() if m.score >= 1.0]
        unknown = [t for t in tokens if not any(t.span.overlaps(s) for s in known)]
        for mention in self._by_meaning(text, unknown):
            _keep(found, mention)
        return tuple(
            sorted(found.values(), key=lambda m: (m.span.start, -m.score, m.element, m.name))
        )

    def _by_meaning(self, text: str, tokens: Sequence[_Token]) -> Iterator[SchemaMention]:
        if self._embedder is None or not tokens or not self._phrases:
            return
        spans = list(_windows(text, tokens))
        if not spans:
            return
        if self._vectors is None:
            self._vectors = self._embedder.embed([phrase.text for phrase in self._phrases])
        windows = self._embedder.embed([text[s.start : s.end] for s in spans])
        near = to_similarity(windows @ self._vectors.T, self._embedder.name)
        for row, span in zip(near, spans, strict=True):
            for number in np.flatnonzero(row >= NEAR_MEANING):
                phrase = self._phrases[int(number)]
                yield SchemaMention(phrase.element, phrase.name, span, 0.9 * float(row[number]))


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    """Return a mapping from the stems of irregular forms to the stem of their base form."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for word in _IRREGULAR_WORDS.split():
        form, _, base = word.partition("=")
        waiting.append(form)
        if base:
            found.update({terms(w)[0]: terms(base)[0] for w in waiting})
            waiting = []
    return found


def split_name(name: str) -> str:
    """Return the words of a name such as ``KNOWS_SN`` or ``phoneNo``, in lower case."""
    words = [part.lower() for part in _HUMP.split(name) if part]
    return " ".join(_ABBREVIATIONS.get(word, word) for word in words)


def _phrases(schema: TargetSchema) -> Iterator[_Phrase]:
    for element, name in dict.fromkeys(_names(schema)):
        texts = [split_name(name), *schema.words.get(name, ())]
        if element == "kind":
            words = texts[0].split()
            texts += [more for word in words for more in _COMMON_WORDS.get(word, ())]
        for text in dict.fromkeys(texts):
            found = content_terms(text) or terms(text)
            stems = tuple(dict.fromkeys(_SHORT_FORMS.get(stem, stem) for stem in found))
            if stems:
                yield _Phrase(element, name, text, stems)


def _names(schema: TargetSchema) -> Iterator[tuple[Element, str]]:
    for kind in schema.kinds:
        if kind.name:
            yield "kind", kind.name
        for item in kind.properties:
            yield "property", item.name
    for link in schema.links:
        yield "link", link.name


def _by_stems(phrase: _Phrase, tokens: Sequence[_Token], text: str) -> Iterator[SchemaMention]:
    if not phrase.text.isascii():
        wanted, where = simplify(phrase.text), simplify(text)
        for match in re.finditer(re.escape(wanted), where):
            yield SchemaMention(phrase.element, phrase.name, Span(*match.span()), 1.0)
        return
    places = [
        (place, max(_kinship(token.stem, stem) for stem in phrase.stems))
        for place, token in enumerate(tokens)
    ]
    near = [
        (place, kinship)
        for place, kinship in places
        if kinship == 1.0 or (kinship > 0 and not tokens[place].is_stop)
    ]
    for group in _groups(near, reach=len(phrase.stems) + 1):
        score = _share(phrase, [tokens[place].stem for place, _ in group])
        if score >= _LEAST_SHARE:
            span = Span(tokens[group[0][0]].span.start, tokens[group[-1][0]].span.end)
            yield SchemaMention(phrase.element, phrase.name, span, score)


def _share(phrase: _Phrase, found: Sequence[str]) -> float:
    """Return the share of a phrase's stems that are found; related stems count less."""
    best = [max((_kinship(f, stem) for f in found), default=0.0) for stem in phrase.stems]
    return sum(best) / len(best)


def _groups(near: Sequence[tuple[int, float]], *, reach: int) -> Iterator[list[tuple[int, float]]]:
    """Yield runs of positions less than ``reach`` after the first."""
    group: list[tuple[int, float]] = []
    for item in near:
        if group and (reach == 2 or item[0] - group[0][0] >= reach):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


@lru_cache(maxsize=65_536)
def _kinship(first: str, second: str) -> float:
    """Return 1 for equal stems, less for related ones (direct, director), else 0."""
    if first == second:
        return 1.0
    irregular = _irregular()
    if irregular.get(first, first) == irregular.get(second, second):
        return 0.9
    short, long = sorted((first, second), key=len)
    if len(short) < _KIN_LETTERS or not short.isalpha():
        return 0.0
    if long.startswith(short) and len(long) - len(short) <= _KIN_ENDING:
        return 0.85
    shared = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), 0)
    return 0.75 if shared >= 4 and shared >= 0.6 * len(short) and len(long) - shared <= 4 else 0.0


def _tokens(text: str) -> list[_Token]:
    found = []
    for match in _WORD.finditer(text):
        stems = terms(match[0])
        if stems and match[0].isascii():
            is_stop = match[0].lower() in STOP_NAMES
            stem = _SHORT_FORMS.get(stems[0], stems[0])
            found.append(_Token(stem, Span(*match.span()), is_stop))
    return found


def _windows(text: str, tokens: Sequence[_Token]) -> Iterator[Span]:
    """Yield spans of one or two words without stop words."""
    for first, token in enumerate(tokens):
        for last in range(first, min(first + _WIDEST, len(tokens))):
            span = Span(token.span.start, tokens[last].span.end)
            between = text[span.start : span.end]
            words = between.lower().split()
            edges = {words[0], words[-1]} & STOP_NAMES
            if not edges and len(between) <= 40 and len(words) <= _WIDEST:
                yield span


def _keep(found: dict[tuple[Element, str, int], SchemaMention], mention: SchemaMention) -> None:
    key = (mention.element, mention.name, mention.span.start)
    if key not in found or mention.score > found[key].score:
        found[key] = mention
