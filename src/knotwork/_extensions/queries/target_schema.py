"""The schema of a query target, and the parts of it that a question mentions.

A `TargetSchema` has kinds of nodes or rows, their properties and their links. Labels and
relationship types have the same form as tables and the columns that join them, so translators need
not distinguish them. `SchemaLinker` links words of a question to these names: by stems, related
words, vectors. `find_mentions` finds the stored values in it: by exact form, stem, date, spelling.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Literal, NamedTuple, Protocol

import numpy as np

from knotwork._inference.embedder import Embedder, FloatMatrix, to_similarity
from knotwork._retrieval.chunk_entities import entities_in_order
from knotwork._stores.base import Store
from knotwork._text.dates import find_days, read_date
from knotwork._text.languages import simplify
from knotwork._text.names import STOP_NAMES, name_candidates, normal_form
from knotwork._text.relation_words import read_lexicon
from knotwork._text.terms import content_terms, terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import PropertyValue, Span

ANY_KIND = ""
"""The kind of nodes without a label."""

SHOWN_SAMPLES = 4
SAMPLE_CHARACTERS = 40
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{4}")
_DAY_FIRST = re.compile(r"\d{2}[/.]\d{2}[/.]\d{4}")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    ((list, tuple), "list"),
    (dict, "map"),
)


@dataclass(frozen=True, slots=True)
class PropertyShape:
    """A property or column: the type of its values, and distinct samples.

    ``type`` is "text", "integer", "number", "boolean", "date", "time", "list" or "map". ``quoted``
    means that numbers or dates are stored as text.
    """

    name: str
    type: str
    samples: tuple[PropertyValue, ...] = ()
    quoted: bool = False

    @property
    def is_ordered(self) -> bool:
        """True if values can be compared by size."""
        return self.type in {"integer", "number", "date", "time"}


@dataclass(frozen=True, slots=True)
class KindShape:
    """A label or table, with the number of its nodes or rows."""

    name: str
    count: int
    properties: tuple[PropertyShape, ...] = ()

    def property(self, name: str) -> PropertyShape | None:
        """Return the property of this name."""
        return next((item for item in self.properties if item.name == name), None)


@dataclass(frozen=True, slots=True)
class LinkShape:
    """Relationships of a type between two kinds, or a pair of columns that joins two tables.

    ``relation`` is the value of a property that distinguishes relationships of the same type, as
    with the relations of documents. ``columns`` are the source and target column in tables.
    """

    type: str
    source: str
    target: str
    count: int = 0
    relation: str = ""
    columns: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The relation, or else the type."""
        return self.relation or self.type


@dataclass(frozen=True)
class TargetSchema:
    """All kinds and links of a target; ``words`` are a user's synonyms for their names.

    ``model_kinds`` and ``model_links`` are only for models that write whole statements. Plans leave
    them out, because their names ("level", "title") are too frequent in questions.
    """

    language: str
    kinds: tuple[KindShape, ...] = ()
    links: tuple[LinkShape, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    model_kinds: tuple[KindShape, ...] = ()
    model_links: tuple[LinkShape, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, KindShape]:
        """The kinds by name."""
        return {kind.name: kind for kind in self.kinds}

    def links_of(self, kind: str) -> list[LinkShape]:
        """Return the links that start or end at a kind."""
        return [link for link in self.links if kind in (link.source, link.target)]

    def whole(self) -> TargetSchema:
        """Return the schema including the kinds and links for models."""
        kinds, links = (*self.kinds, *self.model_kinds), (*self.links, *self.model_links)
        return TargetSchema(self.language, kinds, links, self.words)


def is_day_first(shape: PropertyShape) -> bool:
    """Return True if the dates of a property are written as DD/MM/YYYY."""
    return shape.type == "date" and any(_DAY_FIRST.fullmatch(str(v)) for v in shape.samples)


def shape_property(name: str, values: Iterable[PropertyValue]) -> PropertyShape:
    """Return the shape of a property with the most frequent type of some of its values."""
    present = [value for value in values if value is not None]
    types: dict[str, int] = {}
    quoted = 0
    for value in present:
        kind = _type_of(value)
        types[kind] = types.get(kind, 0) + 1
        quoted += isinstance(value, str) and kind != "text"
    main = max(sorted(types), key=lambda kind: types[kind]) if types else "text"
    if types.get("text", 0) * 20 > len(present) and main in {"integer", "number", "date", "time"}:
        main = "text"  # codes that are mostly numbers
    samples = list(dict.fromkeys(v for v in present if not isinstance(v, list | dict)))
    return PropertyShape(name, main, tuple(samples[:SHOWN_SAMPLES]), quoted * 2 > len(present))


def _type_of(value: PropertyValue) -> str:
    for types, name in _TYPES:
        if isinstance(value, types):
            return name
    text = str(value).strip()
    if _NUMBER.fullmatch(text) and (len(text) == 1 or text[0] != "0"):
        return "number" if "." in text else "integer"
    if _DATE.fullmatch(text):
        return "date"
    return "time" if _TIME.fullmatch(text) else "text"


def describe_target_schema(
    schema: TargetSchema, *, budget_tokens: int = 1_500, first: Sequence[str] = ()
) -> str:
    """Return the schema as text for a model: kinds with counts, properties with samples, links.

    Kinds in ``first`` are listed first, then the most frequent. If the budget is exceeded, the rest
    is left out and a last line states how much.
    """
    order = {name: number for number, name in enumerate(first)}
    last = len(order)
    is_sql = schema.language == "sql"

    def meaning(name: str) -> str:
        found = schema.words.get(name, ())
        return f" [{', '.join(found)}]" if found else ""

    lines: list[tuple[str, set[str]]] = []
    for kind in sorted(schema.kinds, key=lambda k: (order.get(k.name, last), -k.count, k.name)):
        parts = [f"{p.name} {p.type}{_samples(p)}{meaning(p.name)}" for p in kind.properties]
        label = f"table {kind.name}" if is_sql else (f"(:{kind.name})" if kind.name else "()")
        what = f"{label} {kind.count} {'rows' if is_sql else 'nodes'}{meaning(kind.name)}"
        lines.append((f"{what}: {'; '.join(parts)}", {kind.name}))
    for link in sorted(
        schema.links,
        key=lambda k: (min(order.get(k.source, last), order.get(k.target, last)), -k.count, k.name),
    ):
        line = f"{link.source}.{link.columns[0]} = {link.target}.{link.columns[1]}"
        if not is_sql:
            source, target = (f"(:{k})" if k else "()" for k in (link.source, link.target))
            inner = f"{link.type} {{relation: '{link.relation}'}}" if link.relation else link.type
            line = f"{source}-[:{inner}]->{target} {link.count} times{meaning(link.name)}"
        lines.append((line, {link.source, link.target}))
    left, shown = budget_tokens, list[str]()
    missing = {end for k in schema.links for end in (k.source, k.target)} - schema.by_name.keys()
    for number, (line, kinds) in enumerate(lines):
        cost = count_tokens(line)
        if cost > left or kinds & missing:  # no link is shown without both kinds
            missing |= kinds if number < len(schema.kinds) else set()
            continue
        shown.append(line)
        left -= cost
    if omitted := len(lines) - len(shown):
        shown.append(f"({omitted} more are not shown)")
    return "\n".join(shown)


def _samples(item: PropertyShape) -> str:
    shown = []
    for value in item.samples:
        text = " ".join(str(value).split())
        short = text if len(text) <= SAMPLE_CHARACTERS else text[: SAMPLE_CHARACTERS - 1] + "…"
        shown.append(f'"{short}"' if isinstance(value, str) else short)
    return f" (as {', '.join(shown)})" if shown else ""


Element = Literal["kind", "link", "property"]

NEAR_MEANING = 0.6
"""Minimum similarity of words and a name that share no stem."""

_LINKED_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?", re.UNICODE)
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

_LEAST_SHARE = 0.4
_WIDEST = 2
_KIN_LETTERS = 3
_KIN_ENDING = 3


class SchemaMention(NamedTuple):
    """A part of a question that may mean a kind, link or property of this name.

    ``score`` is above 0 and at most 1: all words of the name are in the question.
    """

    element: Element
    name: str
    span: Span
    score: float


class _Phrase(NamedTuple):
    element: Element
    name: str
    text: str
    stems: tuple[str, ...]


class _Token(NamedTuple):
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

        def keep(mention: SchemaMention) -> None:
            key = (mention.element, mention.name, mention.span.start)
            if key not in found or mention.score > found[key].score:
                found[key] = mention

        for phrase in self._phrases:
            for mention in _by_stems(phrase, tokens, text):
                if not any(mention.span.overlaps(span) for span in taken):
                    keep(mention)
        known = [m.span for m in found.values() if m.score >= 1.0]
        unknown = [t for t in tokens if not any(t.span.overlaps(s) for s in known)]
        for mention in self._by_meaning(text, unknown):
            keep(mention)
        return tuple(
            sorted(found.values(), key=lambda m: (m.span.start, -m.score, m.element, m.name))
        )

    def _by_meaning(self, text: str, tokens: Sequence[_Token]) -> Iterator[SchemaMention]:
        is_silent = self._embedder is None or not self._phrases
        spans = [] if is_silent else list(_windows(text, tokens))
        if self._embedder is None or not spans:
            return
        if self._vectors is None:
            self._vectors = self._embedder.embed([phrase.text for phrase in self._phrases])
        windows = self._embedder.embed([text[s.start : s.end] for s in spans])
        near = to_similarity(windows @ self._vectors.T, self._embedder.name)
        for row, span in zip(near, spans, strict=True):
            for number in np.flatnonzero(row >= NEAR_MEANING):
                phrase = self._phrases[int(number)]
                yield SchemaMention(phrase.element, phrase.name, span, 0.9 * float(row[number]))


@cache
def _irregular() -> dict[str, str]:
    """Return a mapping from the stems of irregular forms to the stem of their base form."""
    forms = read_lexicon().forms.items()
    return {terms(form)[0]: terms(base)[0] for form, base in forms if terms(form) and terms(base)}


def split_name(name: str) -> str:
    """Return the words of a name such as ``KNOWS_SN`` or ``phoneNo``, in lower case."""
    words = [part.lower() for part in _HUMP.split(name) if part]
    return " ".join(_ABBREVIATIONS.get(word, word) for word in words)


def _phrases(schema: TargetSchema) -> Iterator[_Phrase]:
    names: list[tuple[Element, str]] = []
    for kind in schema.kinds:
        names += [("kind", kind.name)] if kind.name else []
        names += [("property", item.name) for item in kind.properties]
    names += [("link", link.name) for link in schema.links]
    for element, name in dict.fromkeys(names):
        texts = [split_name(name), *schema.words.get(name, ())]
        if element == "kind":
            words = texts[0].split()
            texts += [more for word in words for more in _COMMON_WORDS.get(word, ())]
        for text in dict.fromkeys(texts):
            found = content_terms(text) or terms(text)
            stems = tuple(dict.fromkeys(_SHORT_FORMS.get(stem, stem) for stem in found))
            if stems:
                yield _Phrase(element, name, text, stems)


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
        stems = [tokens[place].stem for place, _ in group]
        best = [max((_kinship(f, stem) for f in stems), default=0.0) for stem in phrase.stems]
        score = sum(best) / len(best)
        if score >= _LEAST_SHARE:
            span = Span(tokens[group[0][0]].span.start, tokens[group[-1][0]].span.end)
            yield SchemaMention(phrase.element, phrase.name, span, score)


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
    for match in _LINKED_WORD.finditer(text):
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
            between = text[slice(*span)]
            words = between.lower().split()
            edges = {words[0], words[-1]} & STOP_NAMES
            if not edges and len(between) <= 40 and len(words) <= _WIDEST:
                yield span


_MOST_NEAR = 5
_MOST_STEMMED = 3
_LEAST_NEARNESS = 0.55
_LONGEST_WORDS = 8
_FEWEST_LETTERS = 4
_MOST_WITH_ONE_FORM = 16


class StoredValue(NamedTuple):
    """A stored value with its kind and property."""

    kind: str
    property: str
    value: PropertyValue


class NearValue(NamedTuple):
    """A stored value with its similarity to the wanted text, from 0 to 1 (equal)."""

    stored: StoredValue
    nearness: float


class StoredValues(Protocol):
    """An index of the stored values of a target."""

    def exact(self, forms: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return the values with these normal forms, by form."""

    def stemmed(self, stems: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return the values with these stems, joined by spaces, by stems."""

    def near(self, text: str, *, k: int) -> list[NearValue]:
        """Return the ``k`` values that share most words and letters with a text."""


class ValueMention(NamedTuple):
    """A part of a question with the stored values that it may mean, most similar first."""

    span: Span
    surface: str
    found: tuple[NearValue, ...]


class CollectedValues:
    """An in-memory index of values, for graphs and tables beside the index."""

    def __init__(self, values: Iterable[StoredValue]) -> None:
        self._forms: defaultdict[str, list[StoredValue]] = defaultdict(list)
        self._stems: defaultdict[str, list[StoredValue]] = defaultdict(list)
        self._items: list[StoredValue] = []
        for item in values:
            text = str(item.value)
            self._forms[normal_form(text)].append(item)
            iso = read_date(text)
            if iso:
                self._forms[iso].append(item)
            if isinstance(item.value, str):
                if text.count(" ") < _MOST_STEMMED:  # long names are not inflected
                    self._stems[" ".join(terms(text))].append(item)
                self._items.append(item)

    def exact(self, forms: Sequence[str]) -> dict[str, list[StoredValue]]:
        return {form: self._forms[form] for form in forms if form in self._forms}

    def stemmed(self, stems: Sequence[str]) -> dict[str, list[StoredValue]]:
        return {key: self._stems[key] for key in stems if key and key in self._stems}

    def near(self, text: str, *, k: int) -> list[NearValue]:
        """Return the values that share most trigrams with a text (Dice coefficient)."""
        wanted = _pieces(text)
        shared: defaultdict[int, int] = defaultdict(int)
        for piece in wanted:
            for number in self._numbers.get(piece, ()):
                shared[number] += 1
        first = sorted(shared, key=lambda number: (-shared[number], number))[: 20 * k]
        scored = [
            NearValue(
                self._items[number],
                2 * shared[number] / (len(wanted) + len(_pieces(str(self._items[number].value)))),
            )
            for number in first
        ]
        return sorted(scored, key=lambda near: (-near.nearness, str(near.stored)))[:k]

    @cached_property
    def _numbers(self) -> Mapping[str, list[int]]:
        """The numbers of the values with each trigram."""
        numbers = defaultdict[str, list[int]](list)
        for number, item in enumerate(self._items):
            for piece in _pieces(str(item.value)):
                numbers[piece].append(number)
        return numbers


class EntityNames:
    """The entity names of an index, found by its own lookup and full text."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def exact(self, forms: Sequence[str]) -> dict[str, list[StoredValue]]:
        found = self._store.graph.lookup(list(forms))
        return {form: [StoredValue("Entity", "name", e.name)] for form, e in found.items()}

    def stemmed(self, stems: Sequence[str]) -> dict[str, list[StoredValue]]:
        del stems
        return {}  # entity names are not inflected

    def near(self, text: str, *, k: int) -> list[NearValue]:
        hits = self._store.texts("entity").search(text, k=2 * k)
        wanted = _pieces(text)
        found = []
        for entity in entities_in_order(hits, self._store).values():
            pieces = _pieces(entity.name)
            dice = 2 * len(wanted & pieces) / max(len(wanted) + len(pieces), 1)
            found.append(NearValue(StoredValue("Entity", "name", entity.name), dice))
        return sorted(found, key=lambda near: (-near.nearness, str(near.stored)))[:k]


def find_mentions(text: str, values: StoredValues) -> tuple[ValueMention, ...]:
    """Return the stored values that a question mentions, in order; longer names win.

    Quoted and capitalised parts without an exact match are looked up by similar spelling.
    """
    kept = _longest(_exact_mentions(text, values))
    taken = [mention.span for mention in kept]
    for match in _NAME.finditer(text):
        group = 1 if match[1] else 2
        span, surface = Span(*match.span(group)), match[group]
        is_first_word = span.start == 0 and " " not in surface
        is_free = not is_first_word and not any(span.overlaps(other) for other in taken)
        if is_free and len(surface) >= _FEWEST_LETTERS:
            near = [n for n in values.near(surface, k=_MOST_NEAR) if n.nearness >= _LEAST_NEARNESS]
            kept += [ValueMention(span, surface, tuple(near))] if near else []
    return tuple(sorted(kept, key=lambda m: (m.span.start, m.span.end)))


def _exact_mentions(text: str, values: StoredValues) -> list[ValueMention]:
    found: list[ValueMention] = []
    for match in find_days(text):
        stored = values.exact([read_date(match[0])])
        span = Span(*match.span())
        found += [_mention(text, span, items, 1.0) for items in stored.values()]
    spans = dict(name_candidates(text, max_words=_LONGEST_WORDS))
    exact = values.exact(list(spans))
    found += [_mention(text, spans[form], items, 1.0) for form, items in exact.items()]
    stems = {" ".join(terms(text[s.start : s.end])): s for s in spans.values()}
    stemmed = values.stemmed(list(stems))
    found += [_mention(text, stems[key], items, 0.9) for key, items in stemmed.items()]
    return found


def _mention(text: str, span: Span, items: Sequence[StoredValue], nearness: float) -> ValueMention:
    surface = text[slice(*span)]
    # "The Wall" rather than "wall" if the text has the article.
    endings = {item: -text[: span.end].endswith(str(item.value)) for item in items}
    as_written = sorted(items, key=lambda item: endings[item] * len(str(item.value)))
    near = [NearValue(item, nearness) for item in as_written[:_MOST_WITH_ONE_FORM]]
    return ValueMention(span, surface, tuple(near))


def _longest(found: Sequence[ValueMention]) -> list[ValueMention]:
    """Return the mentions that do not overlap a longer one; equal spans are merged."""
    kept: list[ValueMention] = []
    order = sorted(
        found,
        key=lambda m: (m.span.start - m.span.end, -m.found[0].nearness, m.span.start),
    )
    for mention in order:
        same = next((k for k in kept if k.span == mention.span), None)
        if same is None and any(k.span.overlaps(mention.span) for k in kept):
            continue
        if same is not None:
            known = {near.stored for near in same.found}
            more = tuple(near for near in mention.found if near.stored not in known)
            kept[kept.index(same)] = ValueMention(same.span, same.surface, (*same.found, *more))
        else:
            kept.append(mention)
    return kept


_NAME = re.compile(
    r"[\"“”'‘’「《\[]([^\"“”'‘’」》\]]{2,60})[\"“”'‘’」》\]]"
    r"|((?:[A-Z][\w'’&.-]*)(?:\s+(?:(?:of|the|and|de|van|von|for|in)\s+)*[A-Z0-9][\w'’&.-]*)*)"
)


def _pieces(text: str) -> frozenset[str]:
    form = f"  {normal_form(text)} "
    return frozenset(form[i : i + 3] for i in range(len(form) - 2))
