"""From a question to the entities that paths start from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.records import Entity, Span
from knotwork.retrieval.paths.wording import names_relations
from knotwork.retrieval.question import MIN_NAME_CHARACTERS, rarity
from knotwork.retrieval.things import read_things_of
from knotwork.stores.base import Store
from knotwork.text.names import name_candidates

MOST_SEEDS = 4
LOWER_CASE_TRUST = 0.3
MARKED_TRUST = 1.5
"""Trust in a name that stands by itself in brackets or quotation marks."""

_MARKED = re.compile(r"\[([^\[\]]+)\]|\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that the question names at ``span``, under all its names ``ids``.

    ``trust`` says how surely it is meant, ``rarity`` (0 to 1) how few chunks name it, ``share`` how
    much of the question its name is.
    """

    entity: Entity
    span: Span
    ids: tuple[str, ...]
    trust: float
    rarity: float
    share: float

    @property
    def weight(self) -> float:
        return self.trust * (0.5 + 0.5 * self.rarity) * (0.5 + min(self.share, 0.5))


def find_seeds(text: str, store: Store) -> list[Seed]:
    """Return the entities that a question names, the surest first, at most `MOST_SEEDS`.

    Of names that lie inside each other the longest counts; one in quotation marks or brackets
    counts before all that it overlaps.
    """
    marked = {
        Span(match.start(group), match.end(group))
        for match in _MARKED.finditer(text)
        for group in range(1, match.re.groups + 1)
        if match[group] is not None
    }
    spans = {
        form: span for form, span in name_candidates(text) if _may_name(form, text, span, marked)
    }
    found = store.graph.lookup(list(spans))
    kept = _choose({form: spans[form] for form in found}, marked)
    chunk_count = store.documents.chunk_count()
    things = read_things_of(store, [found[form].id for form in kept])
    has_capitals = not text.isupper() and any(c.isupper() for w in text.split()[1:] for c in w)
    seeds: dict[str, Seed] = {}
    for form in kept:
        entity, span = found[form], spans[form]
        thing = things.of(entity.id)
        seed = Seed(
            entity=entity,
            span=span,
            ids=tuple(dict.fromkeys([entity.id, *things.members(thing)])),
            trust=_trust(text, span, marked, has_capitals=has_capitals),
            rarity=rarity(entity.chunk_count, chunk_count),
            share=(span.end - span.start) / max(len(text), 1),
        )
        if thing not in seeds or seed.weight > seeds[thing].weight:
            seeds[thing] = seed
    ranked = sorted(seeds.values(), key=lambda seed: (-seed.weight, seed.span, seed.entity.id))
    return _without_words(ranked, text)[:MOST_SEEDS]


def _without_words(seeds: Sequence[Seed], text: str) -> list[Seed]:
    """Leave out what is a plain word of the question rather than a name, if names remain."""
    sure = [
        seed
        for seed in seeds
        if seed.trust >= 1.0
        and (seed.trust > 1.0 or not names_relations(text[seed.span.start : seed.span.end]))
    ]
    return sure or list(seeds)


def _may_name(form: str, text: str, span: Span, marked: set[Span]) -> bool:
    if len(form) >= MIN_NAME_CHARACTERS or not form.isascii():
        return True
    surface = text[span.start : span.end]
    is_named = surface[:1].isupper() or surface[:1].isdigit()
    return any(_same(span, other, text) for other in marked) or (is_named and span.start > 0)


def _same(span: Span, other: Span, text: str) -> bool:
    """Return whether two spans differ by nothing but marks and spaces."""
    start, end = min(span.start, other.start), max(span.end, other.end)
    around = text[start : max(span.start, other.start)] + text[min(span.end, other.end) : end]
    return not any(character.isalnum() for character in around)


def _choose(spans: dict[str, Span], marked: set[Span]) -> list[str]:
    """Keep the names that lie inside no other, and that overlap none which a mark sets apart."""
    whole = [span for span in spans.values() if any(other.start <= span.start < other.end and
             span.end <= other.end and span.end - span.start >= 0.8 * (other.end - other.start)
             for other in marked)]  # fmt: skip
    return [
        form
        for form, span in spans.items()
        if (span in whole or not any(_overlap(span, other) for other in whole))
        and not any(
            other != span and other.start <= span.start and span.end <= other.end
            for other in spans.values()
        )
    ]


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _trust(text: str, span: Span, marked: set[Span], *, has_capitals: bool) -> float:
    if any(other.start <= span.start and span.end <= other.end for other in marked):
        return MARKED_TRUST
    surface = text[span.start : span.end]
    if not has_capitals or any(not c.isascii() for c in surface):
        return 1.0
    words = surface.split()
    starts = [word[:1] for word in words]
    if span.start == 0 and len(words) == 1:
        return LOWER_CASE_TRUST
    return 1.0 if any(c.isupper() or c.isdigit() for c in starts) else LOWER_CASE_TRUST


def spans_of(seeds: Sequence[Seed]) -> list[Span]:
    """Return where the seeds stand in the question."""
    return [seed.span for seed in seeds]
