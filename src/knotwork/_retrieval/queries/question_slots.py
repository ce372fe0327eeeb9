"""Read what a question asks of a graph: the form of the answer, and its slots.

Slots are the nodes that a question mentions, in order, with conditions and the links before them.
The form of the answer is a count, a value, an extreme, or the nodes themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from knotwork._questions.amounts import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.evidence_builder import is_in_han
from knotwork._retrieval.queries.query_plans import (
    LinkedQuestion,
    PropertyCondition,
    Returned,
)
from knotwork._retrieval.queries.schema_linker import SchemaLinker, SchemaMention
from knotwork._retrieval.queries.stored_values import NearValue, StoredValue, ValueMention
from knotwork._retrieval.queries.target_schema import TargetSchema
from knotwork.records import Span

LEAST_KIND = 0.5
LEAST_LINK = 0.5
LEAST_PROPERTY = 0.7
_NEAR_CHARACTERS = 30
_ADJACENT_CHARACTERS = 4
_NAMING = ("name", "title", "label")
_RELATIVE = ("who", "whom", "where")
_HINT_SCORE = 0.6
"""Score of a link whose words also name a kind."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A node that a question mentions: its kind, conditions, and the links mentioned before it.

    ``is_named`` means that the question contains a word for its kind, not only its value.
    """

    kind: str
    span: Span
    conditions: tuple[PropertyCondition, ...] = ()
    wanted: tuple[Mapping[str, float], ...] = ()
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class SlotReading:
    """The slots of a question, the number of the one asked for, and the properties asked for."""

    slots: tuple[Slot, ...]
    answer: int
    properties: tuple[SchemaMention, ...] = ()
    mentions: tuple[SchemaMention, ...] = ()


@dataclass(slots=True)
class _SlotDraft:
    kind: str
    span: Span
    is_named: bool
    conditions: list[PropertyCondition] = field(default_factory=list)


def read_slots(
    asked: LinkedQuestion, linker: SchemaLinker, wording: AnswerWording
) -> SlotReading | None:
    """Return the slots of a question, or None if it mentions nothing of the schema."""
    compared = [c.span for c in wording.comparisons if c.operator is not Operator.EQUALS]
    named = [m for m in asked.mentions if not any(m.span.overlaps(span) for span in compared)]
    values = [m for m in named if is_sure(m)]
    mentions = linker.link(asked.text, taken=[m.span for m in values])
    unsure = [
        m
        for m in named
        if m not in values
        and m.found[0].nearness == 1.0
        and not any(s.score >= 0.75 and s.span.overlaps(m.span) for s in mentions)
    ]
    values = sorted([*values, *unsure], key=lambda m: m.span.start)
    kinds = _best_apart(
        [m for m in mentions if m.element == "kind" and _counts_as_kind(m, asked.text, wording)],
        [m for m in mentions if m.element == "property" and m.score >= 0.85],
    )
    properties = _best_apart(
        [m for m in mentions if m.element == "property" and m.score >= LEAST_PROPERTY], []
    )
    links = [m for m in mentions if m.element == "link" and m.score >= LEAST_LINK]
    parted = _parting_links(links, asked.schema)
    slots = _fill_slots(values, kinds, properties, parted)
    properties = [m for m in properties if not _is_hint(m, values)]
    if not slots:
        owned = ((k, m) for m in properties for k in asked.schema.kinds if k.property(m.name))
        slots = [_SlotDraft(kind.name, m.span, is_named=False) for kind, m in islice(owned, 1)]
    if not slots:
        return None
    answer = _find_answer(
        slots, properties, wording, asked.schema, parted, head_last=is_in_han(asked.text)
    )
    groups = _group_links(links, kinds)
    return SlotReading(
        tuple(_with_links(slots, groups, answer)), answer, tuple(properties), tuple(mentions)
    )


def is_sure(mention: ValueMention) -> bool:
    """Return True if a value is written as a name: with a digit, a capital or several words."""
    surface = mention.surface
    if not surface.isascii() or any(c.isdigit() for c in surface) or " " in surface.strip():
        return True
    return surface[:1].isupper() and (mention.span.start > 0 or mention.found[0].nearness == 1.0)


def _counts_as_kind(mention: SchemaMention, text: str, wording: AnswerWording) -> bool:
    word = text[mention.span.start : mention.span.end].lower()
    if word in _RELATIVE and mention.span.end > max(wording.asked_at, len(word)):
        return False
    return mention.score >= LEAST_KIND


def _best_apart(
    mentions: Sequence[SchemaMention], stronger: Sequence[SchemaMention]
) -> list[SchemaMention]:
    """Return the best of overlapping mentions; a longer one of ``stronger`` replaces them."""
    kept: list[SchemaMention] = []
    for mention in sorted(mentions, key=lambda m: (-m.score, m.span.start - m.span.end, m.name)):
        beaten = any(
            mention.span.overlaps(s.span)
            and s.span.end - s.span.start > mention.span.end - mention.span.start
            for s in stronger
        )
        if not beaten and not any(mention.span.overlaps(k.span) for k in kept):
            kept.append(mention)
    return sorted(kept, key=lambda m: m.span.start)


def _fill_slots(
    values: Sequence[ValueMention],
    kinds: Sequence[SchemaMention],
    properties: Sequence[SchemaMention],
    parted: Sequence[tuple[Span, str]],
) -> list[_SlotDraft]:
    drafts: list[_SlotDraft] = []
    items: list[ValueMention | SchemaMention] = sorted(
        [*values, *kinds], key=lambda item: item.span.start
    )
    for item in items:
        last = drafts[-1] if drafts else None
        if isinstance(item, SchemaMention):
            beside = last is not None and _is_adjacent(last, item.span)
            if last is not None and beside and _is_same(last, item.name, item.span, parted):
                last.span, last.is_named = Span(last.span.start, item.span.end), True
            else:
                drafts.append(_SlotDraft(item.name, item.span, is_named=True))
            continue
        stored = choose_value(item, drafts, kinds, properties)
        condition = PropertyCondition(stored.property, stored.value)
        same = last is not None and _is_same(last, stored.kind, item.span, parted)
        is_free = last and all(c.property != condition.property for c in last.conditions)
        if last is not None and same and is_free:
            last.conditions.append(condition)
            last.span = Span(last.span.start, item.span.end)
        else:
            drafts.append(_SlotDraft(stored.kind, item.span, False, [condition]))
    return drafts


def choose_value(
    mention: ValueMention,
    drafts: Sequence[_SlotDraft],
    kinds: Sequence[SchemaMention],
    properties: Sequence[SchemaMention],
) -> StoredValue:
    """Return the stored value that a mention means, by the words around it."""
    near_words = {
        m.name: m.score
        for m in properties
        if -_NEAR_CHARACTERS / 2 <= mention.span.start - m.span.end <= _NEAR_CHARACTERS
    }
    named = {kind.name for kind in kinds}
    beside = {
        kind.name
        for kind in kinds
        if kind.span.start >= mention.span.end
        and kind.span.start - mention.span.end <= _ADJACENT_CHARACTERS
    }

    def worth(near: NearValue) -> tuple[float, str]:
        stored = near.stored
        total = near.nearness + 0.6 * near_words.get(stored.property, 0.0)
        total += 0.45 * bool(drafts and drafts[-1].kind == stored.kind)
        total += 0.5 * (stored.kind in beside) + 0.25 * (stored.kind in named)
        total += 0.1 * (stored.property.lower() in _NAMING)
        return -total, str(stored)

    return min(mention.found, key=worth).stored


def _is_adjacent(draft: _SlotDraft, span: Span) -> bool:
    gap = span.start - draft.span.end
    return (not draft.is_named and gap <= _NEAR_CHARACTERS) or gap <= _ADJACENT_CHARACTERS


def _parting_links(links: Sequence[SchemaMention], schema: TargetSchema) -> list[tuple[Span, str]]:
    """Return mentions of links from a kind to itself; they separate two nodes of that kind."""
    own = {link.name: link.source for link in schema.links if link.source == link.target}
    return [(m.span, own[m.name]) for m in links if m.name in own and m.score >= 0.6]


def _is_same(draft: _SlotDraft, kind: str, span: Span, parted: Sequence[tuple[Span, str]]) -> bool:
    return draft.kind == kind and not any(
        of == kind and draft.span.end <= between.start and between.end <= span.start
        for between, of in parted
    )


def _is_hint(mention: SchemaMention, values: Sequence[ValueMention]) -> bool:
    """Return True if a property only describes a value next to it."""
    return any(
        0 <= value.span.start - mention.span.end <= _NEAR_CHARACTERS / 2
        and any(near.stored.property == mention.name for near in value.found)
        for value in values
    )


def _find_answer(
    slots: list[_SlotDraft],
    properties: Sequence[SchemaMention],
    wording: AnswerWording,
    schema: TargetSchema,
    parted: Sequence[tuple[Span, str]],
    *,
    head_last: bool,
) -> int:
    """Return the number of the slot asked for; one is added for a property that no slot has.

    With ``head_last`` the answer follows its description, as in Chinese.
    """
    after = [n for n, slot in enumerate(slots) if slot.span.end >= wording.asked_at]
    if head_last and (not after or not wording.asked_at):
        return max((n for n, slot in enumerate(slots) if slot.is_named), default=len(slots) - 1)
    first = after[0] if after else 0
    leading = [
        m
        for m in properties
        if wording.asked_at <= m.span.start < slots[first].span.start and m.score >= 0.85
    ]
    if not leading:
        return first
    wanted = leading[0].name
    owners = [kind.name for kind in schema.kinds if kind.property(wanted)]
    has_it = [n for n, s in enumerate(slots) if s.kind in owners and n >= first]
    if has_it and has_it[0] == first:
        if not _is_same(
            _SlotDraft("", leading[0].span, False),
            "",
            slots[first].span,
            [(span, "") for span, kind in parted if kind == slots[first].kind],
        ):
            slots.insert(first, _SlotDraft(slots[first].kind, leading[0].span, is_named=True))
        return first
    if has_it and len(owners) > 1:
        return has_it[0]
    slots.insert(first, _SlotDraft(owners[0], leading[0].span, is_named=True))
    return first


def _group_links(
    links: Sequence[SchemaMention], kinds: Sequence[SchemaMention]
) -> list[tuple[Span, dict[str, float]]]:
    """Return groups of overlapping link mentions, with the scores of the names they may mean."""
    groups: list[tuple[Span, dict[str, float]]] = []
    for mention in sorted(links, key=lambda m: (m.span.start, m.span.end)):
        in_kind = any(mention.span.overlaps(kind.span) for kind in kinds)
        score = mention.score * (_HINT_SCORE if in_kind else 1.0)
        if groups and groups[-1][0].overlaps(mention.span):
            span, names = groups[-1]
            names[mention.name] = max(score, names.get(mention.name, 0.0))
            joined = Span(min(span.start, mention.span.start), max(span.end, mention.span.end))
            groups[-1] = joined, names
        else:
            groups.append((mention.span, {mention.name: score}))
    return groups


def _with_links(
    slots: Sequence[_SlotDraft], groups: Sequence[tuple[Span, dict[str, float]]], answer: int
) -> list[Slot]:
    """Return the slots with the links mentioned before each; those after the last slot belong to
    it.
    """
    wanted: list[list[dict[str, float]]] = [[] for _ in slots]
    for span, names in groups:
        after = [n for n, slot in enumerate(slots) if slot.span.start >= span.start]
        number = after[0] if after else len(slots) - 1
        if number == answer:
            number = answer - 1 if answer > 0 else min(1, len(slots) - 1)
        wanted[number].append(names)
    return [
        Slot(draft.kind, draft.span, tuple(draft.conditions), tuple(links), draft.is_named)
        for draft, links in zip(slots, wanted, strict=True)
    ]


_COUNT = re.compile(
    r"\bhow (?:many|often|frequently)\b|\bcount (?:the|how)\b"
    r"|^\W*(?:\w+\W+){0,6}?(?:the|a|total|what) (?:total )?(?:number|count|tally|quantity)"
    r" (?:of|for)\b"
    r"|\bin total\b|多少|几(?:个|位|部|名|次|条)|数量|个数|总数",
    re.IGNORECASE,
)
_AVERAGE = re.compile(r"\b(?:average|mean)\b|平均", re.IGNORECASE)
_SUM = re.compile(r"\b(?:sum|total (?!number|count))\b|总(?:和|计|共)", re.IGNORECASE)
_SUPERLATIVES: tuple[tuple[str, str, bool], ...] = (
    (
        r"most recent(?:ly)?|latest|newest|last(?! name)|most lately|最近|最新|最晚|最后",
        "time",
        True,
    ),
    (r"earliest|first(?! name)|oldest|original|initial(?:ly)?|最早|最先|第一", "time", False),
    (r"youngest|最年轻|最小的?", "age", False),
    (r"oldest|eldest|最年长|最老", "age", True),
    (r"longest|最长", "length", True),
    (r"shortest|briefest|quickest|最短", "length", False),
    (r"largest|biggest|highest|greatest|most expensive|maximum|most|最大|最高|最多", "size", True),
    (r"smallest|lowest|least|fewest|cheapest|minimum|最低|最少", "size", False),
)
_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE), dimension, descending)
    for words, dimension, descending in _SUPERLATIVES
    for latin in ("|".join(word for word in words.split("|") if word[0].isascii()),)
    for han in ("|".join(word for word in words.split("|") if not word[0].isascii()),)
    for pattern in (rf"\b(?:{latin})\b", han)
)
_SHARES = re.compile(r"\b(?:shar(?:e|es|ed|ing)|same|also|co-?\w+)\b|共同|相同|同一", re.IGNORECASE)
_TOP = re.compile(r"\b(?:top|first|best|last|latest) (\d{1,3})\b|前\s*(\d{1,3})", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:how many|which|what|who|whom|whose|where|when|list|show|name|give|find|provide"
    r"|identify|number of|count of)\b|哪些?|什么|谁|多少|几",
    re.IGNORECASE,
)
DIMENSIONS = {
    "time": ("date", "time", "year", "day", "when", "born", "released"),
    "age": ("age", "born", "birth"),
    "length": ("duration", "length", "runtime", "seconds", "minutes", "hours"),
    "size": ("size", "amount", "count", "total", "price", "rating", "score", "number"),
}
"""Words in property names that indicate what they measure."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """The end of a scale that a question asks for; ``dimension`` is a key of `DIMENSIONS`."""

    dimension: str
    descending: bool
    start: int
    limit: int = 1


@dataclass(frozen=True, slots=True)
class AnswerWording:
    """The form of the answer; ``asked_at`` is the end of the question word."""

    returned: Returned
    superlatives: tuple[Superlative, ...]
    comparisons: tuple[AmountComparison, ...]
    asked_at: int
    asks_when: bool
    shares: bool


def read_answer_wording(text: str) -> AnswerWording:
    """Return the form of answer that the words of a question ask for."""
    returned = Returned.THING
    if _COUNT.search(text):
        returned = Returned.COUNT
    elif _AVERAGE.search(text):
        returned = Returned.AVERAGE
    elif _SUM.search(text):
        returned = Returned.SUM
    asked = _ASKING.search(text)
    top = _TOP.search(text)
    limit = int(next(g for g in top.groups() if g)) if top else 1
    superlatives = [  # an ambiguous one such as "oldest" has two
        Superlative(dimension, descending, match.start(), limit)
        for pattern, dimension, descending in _PATTERNS
        for match in pattern.finditer(text)
    ]
    return AnswerWording(
        returned,
        tuple(sorted(superlatives, key=lambda s: s.start)),
        reading_of(text).comparisons,
        asked.end() if asked else 0,
        reading_of(text).asked_when is not None,
        bool(_SHARES.search(text)),
    )
