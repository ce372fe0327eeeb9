"""Find stored values that a question mentions: by exact form, stem, date or spelling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from knotwork._retrieval.chunk_entities import entities_in_order
from knotwork._stores.base import Store
from knotwork._text.dates import find_days, read_date
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.terms import terms
from knotwork.records import PropertyValue, Span

_MOST_NEAR = 5
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


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A part of a question with the stored values that it may mean, most similar first."""

    span: Span
    surface: str
    found: tuple[NearValue, ...]


class CollectedValues:
    """An in-memory index of values, for graphs and tables beside the index."""

    def __init__(self, values: Iterable[StoredValue]) -> None:
        self._forms: defaultdict[str, list[StoredValue]] = defaultdict(list)
        self._stems: defaultdict[str, list[StoredValue]] = defaultdict(list)
        self._pieces: defaultdict[str, list[int]] = defaultdict(list)
        self._items: list[StoredValue] = []
        for item in values:
            text = str(item.value)
            self._forms[normal_form(text)].append(item)
            iso = read_date(text)
            if iso:
                self._forms[iso].append(item)
            if isinstance(item.value, str):
                self._stems[" ".join(terms(text))].append(item)
                for piece in _pieces(text):
                    self._pieces[piece].append(len(self._items))
                self._items.append(item)

    def exact(self, forms: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return the values with these normal forms, by form."""
        return {form: self._forms[form] for form in forms if form in self._forms}

    def stemmed(self, stems: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return the values with these stems, by stems."""
        return {key: self._stems[key] for key in stems if key and key in self._stems}

    def near(self, text: str, *, k: int) -> list[NearValue]:
        """Return the values that share most trigrams with a text (Dice coefficient)."""
        wanted = _pieces(text)
        shared: defaultdict[int, int] = defaultdict(int)
        for piece in wanted:
            for number in self._pieces.get(piece, ()):
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


class EntityNames:
    """The entity names of an index, found by its own lookup and full text."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def exact(self, forms: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return the entities with these normal forms, by form."""
        found = self._store.graph.lookup(list(forms))
        return {form: [StoredValue("Entity", "name", e.name)] for form, e in found.items()}

    def stemmed(self, stems: Sequence[str]) -> dict[str, list[StoredValue]]:
        """Return nothing, because entity names are not inflected."""
        del stems
        return {}

    def near(self, text: str, *, k: int) -> list[NearValue]:
        """Return the entities whose names share most words with a text."""
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
    found = _exact_mentions(text, values)
    taken = _longest(found)
    for span in _unfound_names(text, [m.span for m in taken]):
        surface = text[span.start : span.end]
        near = [n for n in values.near(surface, k=_MOST_NEAR) if n.nearness >= _LEAST_NEARNESS]
        if near:
            taken.append(ValueMention(span, surface, tuple(near)))
    return tuple(sorted(taken, key=lambda m: (m.span.start, m.span.end)))


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
    surface = text[span.start : span.end]
    as_written = sorted(items, key=lambda item: str(item.value) != surface)
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


def _unfound_names(text: str, taken: Sequence[Span]) -> list[Span]:
    names = []
    for match in _NAME.finditer(text):
        group = 1 if match[1] else 2
        span = Span(*match.span(group))
        is_first_word = span.start == 0 and " " not in match[group]
        is_taken = any(span.overlaps(other) for other in taken)
        if not is_taken and not is_first_word and len(match[group]) >= _FEWEST_LETTERS:
            names.append(span)
    return names


def _pieces(text: str) -> frozenset[str]:
    form = f"  {normal_form(text)} "
    return frozenset(form[i : i + 3] for i in range(len(form) - 2))
