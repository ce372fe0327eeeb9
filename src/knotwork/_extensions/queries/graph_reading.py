"""Read a question as one about a graph: its names and values, its items, and its form.

Each word must be accounted for: by a name, a link, a property, a kind of nodes, a comparison or a
word of its form. Those that are not are left over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from knotwork._extensions.queries.graph_plans import (
    WHEN,
    ChainFinder,
    Name,
)
from knotwork._extensions.queries.graph_words import (
    PLACING,
    SPENDING,
    STARTING,
    GraphLink,
    GraphModel,
    Item,
    Meaning,
    Measure,
)
from knotwork._extensions.queries.query_plans import Returned
from knotwork._extensions.queries.table_rows import (
    OPERATIONS,
    Extreme,
    TableWording,
    overlaps_any,
)
from knotwork._extensions.queries.target_schema import (
    StoredValue,
    ValueMention,
    find_mentions,
)
from knotwork._questions.languages import AmountComparison, Operator, unit_at
from knotwork._questions.reading import reading_of
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.schema_words import Degree, Role, ScaleMention, find_scales
from knotwork.records import (
    PropertyValue,
    Span,
)

_NEAR_NAMES = 5
_LEAST_NEARNESS = 0.9
_LEAST_LETTERS = 5
_NOT = re.compile(
    r"\b(?:not|without|except(?: for)?|excluding|other than|apart from|never)\b|n['’]t\b"
    r"|\b(?-i:no)\b(?! (?:more|less|fewer|later|earlier|longer)\b)"
    r"|除了?|没有?|不(?:是|由|在|属于)|未",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"\b(?:work|collaborat)\w* with\b|合作过?", re.IGNORECASE)
_SAME = re.compile(r"\bsame\b|同一?(?=[个所家座条名种])|相同|同样|一样", re.IGNORECASE)
_SHARES = re.compile(r"\bshar(?:e|es|ed|ing)\b", re.IGNORECASE)
THAN = re.compile(r"\s*(?:than|as)\s+(?:the\s+)?|比", re.IGNORECASE)
MORE_THAN = re.compile(r"\b(?:more|less|higher|lower|fewer)\b(?=\s+than\b)", re.IGNORECASE)
_LONGEST_OPERATION = 12
_EXTREME_FORMS = {
    "price": "most expensive",
    "time": "latest",
    "age": "oldest",
    "score": "best",
    "weight": "heaviest",
    "height": "tallest",
    "length": "longest",
    "size": "largest",
}
"""The adjective for the upper end of each scale of tables."""
_BY = re.compile(r"\bby\b")
_NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "两": "2"}
_NUMBER_WORD = re.compile(
    r"(\b(?:more|less|fewer) than |\bat least |超过|至少)((?:one|two|three|four|five)\b|两)",
    re.IGNORECASE,
)
_COUNTED_BY = re.compile(r"\s*(?:个|名|位|部|家|条|种|of\s+(?:the|its|their))?\s*", re.IGNORECASE)
_MANNER = re.compile(r"\bhow\b(?! (?:many|much)\b)", re.IGNORECASE)
_SHARED = re.compile(r"共同")
_NUMBER_OF = re.compile(
    r"\b(?:the|a|total|overall) ((?:number|count) of)"
    r"(?= (?:all |the )*[a-z]*(?:s|people|men|children)\b)",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"\bhow (?:long|many)\b.*\b(last)\W*$", re.IGNORECASE)
_EVENTS = re.compile(
    r"\bevents?\b|\bwhat (?:did|has) (?:[A-Z][\w.-]*\s+)+(?:do|done)\b|\bwhat (?:has )?happened\b"
    r"|事件|做了(?:些|哪些)?(?:什么|哪些事)|发生了?(?:什么|哪些)",
    re.IGNORECASE,
)
_PART = r"(?:[A-Z](?:[^\W\u3400-\u9fff]|['’&.-])*|\d[A-Za-z0-9.-]*)"
_PROPER = re.compile(rf"{_PART}(?:\s+(?:(?:of|the|and|de|van|von|for)\s+)*{_PART})*")
_PROPER_WORD = re.compile(r"[A-Z][\w.-]*|\d+")
_FRAME = frozenset(
    """
    who what which when where how whose is are was were did does do has have had in a an the list
    tell give show name find
    """.split()  # noqa: SIM905
)
"""Words that may be capitalised before a name."""


class Held(NamedTuple):
    """A value in a question, with the properties of links or of nodes that have it."""

    span: Span
    links: Sequence[tuple[GraphLink, str]] = ()
    nodes: Mapping[tuple[str, str], PropertyValue] = MappingProxyType({})


class GraphReading:
    """A question read as one about a graph.

    ``names`` are the nodes that it names, ``left`` the words that the graph does not account for.
    The spans ``words`` are words rather than names. With ``is_loose``, words may be left over.
    """

    def __init__(
        self,
        model: GraphModel,
        question: str,
        *,
        words: Sequence[Span] = (),
        is_loose: bool = False,
    ) -> None:
        self._model = model
        self._is_loose = is_loose
        self._text = question
        written = _NUMBER_WORD.sub(
            lambda word: word[1] + _NUMBER_WORDS[word[2].lower()].rjust(len(word[2])), question
        )
        asked = reading_of(written)
        self.language = asked.language
        mentions = [m for m in find_mentions(question, model.values) if m.span not in words]
        self.names, self._unknown = self._find_names(mentions, asked.comparisons)
        self._held = [*self._find_values(mentions), *self._find_held()]
        taken = [*(name.span for name in self.names), *(value.span for value in self._held)]
        verb = _LAST_WORD.search(question)  # "how long does it last"
        self._wording = TableWording(question, [*taken, *([Span(*verb.span(1))] if verb else [])])
        self._comparisons = [
            comparison
            for comparison in asked.comparisons
            if not any(span.overlaps(comparison.span) for span in taken)
            and (comparison.operator is not Operator.EQUALS or comparison.is_time)
        ]
        self._items, self.left, covered = self._read_words(taken)
        numbers = (a.span for a in asked.amounts if not overlaps_any(a.span, covered))
        self.left += [question[slice(*span)] for span in numbers]
        self._tally = self._find_tally()
        negations = (Span(*match.span()) for match in _NOT.finditer(question))
        self._negation = next((span for span in negations if not overlaps_any(span, covered)), None)
        self._yes_no = asked.asks_yes_or_no
        operation = self._wording.operation
        self._counts = operation is Returned.COUNT
        self._mean = operation if operation in (Returned.AVERAGE, Returned.SUM) else None
        self._is_planned = False
        # "Whom did he play in that film" asks for what the link between two names holds.
        asks_held = len(self.names) == 2 and len(self._items) == 1 and not self._negation
        compares = bool(self._comparisons or self._extreme)
        self._finder = ChainFinder(model, question, compares=compares, asks_held=asks_held)

    def _read_words(self, taken: Sequence[Span]) -> tuple[list[Item], list[str], list[Span]]:
        """Return the items, the words that are left over, and the spans of names and of forms."""
        text = self._text
        scales = [scale for scale in find_scales(text) if not overlaps_any(scale.span, taken)]
        self._extreme, self._ends = self._find_extreme(scales)
        self._than = self._find_than(scales)
        measured, left = self._find_measured(scales)
        covered = [*taken, *self._find_form(), *(item.span for item in measured)]
        items, unread = self._model.read(text, covered)
        if any(item.names_value for item in items):
            general = {scale.span for scale in scales if scale.is_general}
            measured = [item for item in measured if item.span not in general]
        items = sorted([*items, *measured], key=lambda item: item.span)
        return items, [*self._find_left(items, unread), *left], covered

    def _find_left(self, items: Sequence[Item], unread: Sequence[str]) -> Iterator[str]:
        """Yield the words that neither an item nor a form accounts for."""
        text, joining = self._text, set[str]()
        held = {text[slice(*value.span)] for value in self._held}
        yield from (name for name in self._unknown if name not in held)
        if any(m.held or m.property for item in items for m in item.meanings):
            joining |= SPENDING
        if self._names_place(items):
            joining |= PLACING
        if WHEN.search(text) and items:
            joining |= STARTING
        yield from (word for word in unread if word.lower() not in joining)
        if len(self.names) < 2 and (shared := _SHARED.search(text)):
            yield shared[0]
        if self._extreme is None:  # "employees by salary"
            starts = [i.span.start for i in items if any(m.property for m in i.meanings)]
            for mark in _BY.finditer(text):
                if any(0 < start - mark.end() <= len(" the ") for start in starts):
                    yield mark[0]
        for manner in _MANNER.finditer(text):
            if not overlaps_any(Span(*manner.span()), [item.span for item in items]):
                yield manner[0]

    @property
    def is_about(self) -> bool:
        """True if it names a node, or a relation of the graph with a name that it lacks."""
        return bool(self.names) or bool(self._unknown and self._items)

    @property
    def _is_computed(self) -> bool:
        """True if it asks for more than the names at the end of a path."""
        parts = (self._yes_no, self._counts, self._mean, self._negation, self._asks_same)
        ordered = (self._extreme, self._comparisons, self._than, self._asks_more)
        return any((*parts, *ordered))

    @property
    def allows_lines(self) -> bool:
        """True if lines about the nodes that it names may answer: it asks for no relation."""
        return self._asks_events or not (self.left or self._items or self._is_computed)

    @property
    def allows_paths(self) -> bool:
        """True if a path may answer that no plan covers."""
        return not (self.left or self._is_computed or self._is_planned or len(self.names) > 1)

    @property
    def _asks_events(self) -> bool:
        """True if it asks for all that happened, which is no relation of its own."""
        return _EVENTS.search(self._text) is not None

    # Names

    def _find_names(
        self, mentions: Iterable[ValueMention], comparisons: Iterable[AmountComparison]
    ) -> tuple[list[Name], list[str]]:
        """Return the nodes that the question names, and names that the graph does not have.

        A name that is part of a longer one in capitals is another name.
        """
        text = self._text
        ranges = [c.span for c in comparisons if c.operator is not Operator.EQUALS]
        runs = [Span(*match.span()) for match in _PROPER.finditer(text)]
        found = [
            self._longer_name(name)
            for mention in mentions
            if not (mention.surface.isdigit() and overlaps_any(mention.span, ranges))
            and (name := self._name_of(mention))
        ]
        names, unknown = list[Name](), list[str]()
        for name in found:
            around = next((run for run in runs if run.contains(name.span)), name.span)
            rest = text[around.start : name.span.start] + text[name.span.end : around.end]
            words = [word for word in _PROPER_WORD.findall(rest) if word.lower() not in _FRAME]
            more = [word for word in words if not self._model.is_agent(word)]  # "CEO of"
            others = (n.span for n in found if n is not name)
            if more and not any(around.contains(span) for span in others):
                unknown.append(text[slice(*around)])
            else:
                names.append(name)
        return names, unknown

    def _doubtful_names(self) -> list[Span]:
        """Return the names that may be common words, if other names are not."""
        written = {name.span: name.surface for name in self.names}
        common = [span for span, text in written.items() if text.isascii() and text.islower()]
        return common if len(common) < len(written) else []

    def _find_values(self, mentions: Iterable[ValueMention]) -> list[Held]:
        """Return the values of other properties of nodes that the question names: a city."""
        names = [name.span for name in self.names]
        model, found = self._model, list[Held]()
        for mention in mentions:
            surface = mention.surface
            is_word = surface.isdigit() or (surface.islower() and " " not in surface)
            is_free = not (is_word or overlaps_any(mention.span, names))
            places = {
                (stored.kind, stored.property): stored.value
                for stored, nearness in mention.found
                if is_free and nearness >= _LEAST_NEARNESS and isinstance(stored.value, str)
            }
            if places and all(p != model.naming_of(kind) for kind, p in places):
                found.append(Held(mention.span, nodes=places))
        return found

    def _name_of(self, mention: ValueMention) -> Name | None:
        """Return the node that a mention means; one found by its spelling must differ little."""
        model, surface = self._model, mention.surface
        is_word = surface.islower() and surface.isascii() and bool(model.meanings(surface))
        for stored, nearness in () if is_word else mention.found:
            is_near = nearness >= _LEAST_NEARNESS or _is_misspelt(surface, str(stored.value))
            if is_near and stored.property == model.naming_of(stored.kind):
                return _name(mention.span, surface, stored)
        return None  # "year" is a relation rather than a node of that name

    def _longer_name(self, name: Name) -> Name:
        """Return the only node whose name ends with a name and the word behind it in the question.

        "LHS 475 b" is the "exoplanet LHS 475 b" rather than the star "LHS 475".
        """
        more = re.match(r"\s+\w+", self._text[name.span.end :])
        if more is None:
            return name
        span = Span(name.span.start, name.span.end + more.end())
        written = self._text[slice(*span)]
        ending = f" {normal_form(written)}"
        found = {
            stored.value: stored
            for stored, _ in self._model.values.near(written, k=_NEAR_NAMES)
            if f" {normal_form(str(stored.value))}".endswith(ending)
            and stored.property == self._model.naming_of(stored.kind)
        }
        return _name(span, written, *found.values()) if len(found) == 1 else name

    def _find_held(self) -> list[Held]:
        """Return the value of a property of links that the question names: a role, a position."""
        text, known = self._text, self._model.link_values
        names = [name.span for name in self.names]
        found = [
            Held(span, links=known[form])
            for form, span in (name_candidates(text) if known else ())
            if form in known
            and not (text[span.start].isascii() and text[span.start].islower())
            and not overlaps_any(span, names)
            and text[slice(*span)].lower() not in _FRAME
        ]
        return sorted(found, key=lambda held: held.span.start - held.span.end)[:1]

    # Forms

    def _find_extreme(self, scales: Iterable[ScaleMention]) -> tuple[Extreme | None, list[Measure]]:
        """Return the end of a scale that is asked for, and what may be measured by it."""
        extreme, self._is_general = self._wording.extreme, True
        mention = next((scale for scale in scales if scale.degree is Degree.MOST), None)
        if mention is not None and (extreme is None or extreme.span.overlaps(mention.span)):
            measures = self._model.measures(mention)
            upper = mention.scales[0][1]
            if measures or extreme is None:
                self._is_general = mention.is_general
                adds = extreme is not None and extreme.adds and not measures
                return Extreme("", upper, mention.span, adds), measures
        if extreme is None:
            return None, []
        general = find_scales(_EXTREME_FORMS.get(extreme.dimension, ""))
        measures = [measure for scale in general for measure in self._model.measures(scale)]
        ends = [m._replace(upper=m.upper == extreme.descending) for m in measures]
        return extreme, ends

    def _find_than(self, scales: Iterable[ScaleMention]) -> ScaleMention | None:
        """Return the adjective that compares with a named node: "older than Ann"."""
        numbers = [comparison.span for comparison in self._comparisons]
        for scale in scales:
            if scale.degree is Degree.MORE and not overlaps_any(scale.span, numbers):
                return scale
        return None

    def _find_measured(self, scales: Iterable[ScaleMention]) -> tuple[list[Item], list[str]]:
        """Return the adjectives that name a property, and those without one."""
        items, left = list[Item](), list[str]()
        numbers = [comparison.span for comparison in self._comparisons]
        for scale in scales:
            compares = scale.degree is Degree.MORE and overlaps_any(scale.span, numbers)
            if scale.degree is Degree.HOW or compares:
                word = self._text[slice(*scale.span)]
                found = self._model.measures(scale, rising=compares)
                meanings = tuple(
                    Meaning(0.0, m.link, Role.DOER if m.link else Role.DEED, m.kind, m.property)
                    if m.property
                    else Meaning(0.0, m.link, Role.DOER)
                    for m in found
                )
                if meanings:
                    items.append(Item(scale.span, word, meanings))
                elif not scale.is_general:
                    left.append(word)
        return items, left

    def _find_form(self) -> list[Span]:
        """Return the words that compare, compute a mean or a sum, limit the rows or say "same"."""
        text, same = self._text, _SAME.search(self._text)
        found = [comparison.span for comparison in self._comparisons]
        self._units = [
            unit
            for span in found
            if (unit := Span(span.end, unit_at(text, span.end)[1])).start < unit.end
            and not self._model.meanings(text[slice(*unit)].strip())
        ]
        found += self._units
        found += [Span(*match.span()) for match in _TOGETHER.finditer(text)]
        found += [Span(*match.span(1)) for match in _NUMBER_OF.finditer(text)]
        found += [
            Span(*match.span())
            for operation in (Returned.AVERAGE, Returned.SUM)
            for match in OPERATIONS[operation].finditer(text)
            if match.end() - match.start() <= _LONGEST_OPERATION
        ]
        if self._extreme:
            found += [self._extreme.span, *self._wording.limited]
        if self._than:
            found += [self._than.span, *(Span(*m.span()) for m in THAN.finditer(text))]
        is_plain = bool(self.names) and not (self._than or self._comparisons)
        more = [Span(*match.span()) for match in MORE_THAN.finditer(text)] if is_plain else []
        self._asks_more = bool(more)  # "earns more than Ann"
        self._asks_same = same is not None and len(self.names) == 1
        shares = [Span(*match.span()) for match in _SHARES.finditer(text)]
        self._shared = shares[0] if shares and len(self.names) == 1 and not same else None
        found += shares if self._shared or self._asks_same else []
        return [*found, *more, *([Span(*same.span())] if same and self._asks_same else [])]

    def _names_place(self, items: Iterable[Item]) -> bool:
        """Return True if a value or a property of the question is a place: a country."""
        places = [place for held in self._held for place in held.nodes]
        for item in items:
            places += [(m.kind or "", m.property.name) for m in item.meanings if m.property]
        return any(self._model.is_place(*place) for place in places)

    def _find_tally(self) -> tuple[AmountComparison, Item] | None:
        """Return a comparison with a number of nodes, and what is counted: "2 followers"."""
        for comparison in self._comparisons:
            for item in self._items:
                between = self._text[comparison.span.end : item.span.start]
                is_next = item.span.start >= comparison.span.end and _COUNTED_BY.fullmatch(between)
                if is_next and not item.names_value:
                    return comparison, item
        return None


def _name(span: Span, surface: str, stored: StoredValue) -> Name:
    return Name(span, surface, stored.kind, stored.property, stored.value)


def _is_misspelt(written: str, stored: str) -> bool:
    """Return True if a name differs in one letter, or in two that were exchanged."""
    one, other = written.casefold(), stored.casefold()
    is_short = min(len(one), len(other)) < _LEAST_LETTERS
    if is_short or len(one.split()) != len(other.split()):
        return False
    pairs = enumerate(zip(one, other, strict=False))
    first = next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
    rest, far = one[first:], other[first:]
    is_exchanged = rest[2:] == far[2:] and rest[:2] == far[1::-1]
    return rest[1:] == far[1:] or rest[1:] == far or rest == far[1:] or is_exchanged
