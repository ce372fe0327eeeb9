"""Answer from imported graphs: rows of a statement planned from the words of a question.

Precision comes first. A question has rows only if each of its words is accounted for: by a name,
a link, a property, a kind of nodes, a comparison or a word of its form. A plan is a chain of links
to the answer that uses all that the question mentions; with several names, a chain from each. If a
word is left over, nothing of the graph is quoted, as it is about another relation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from knotwork._extensions.queries.graph_plans import (
    ASKING,
    MOST_ITEMS,
    WHEN,
    WHERE,
    Chain,
    ChainFinder,
    GraphPlan,
    Name,
    StatementWriter,
    Step,
    check_ending,
    count_ending,
)
from knotwork._extensions.queries.graph_words import ANY, GraphLink, GraphModel, Item
from knotwork._extensions.queries.plan_assembly import DIMENSIONS
from knotwork._extensions.queries.query_plans import Returned, Statement, conditions_of
from knotwork._extensions.queries.query_targets import CypherGraph, quote_name
from knotwork._extensions.queries.table_rows import (
    NUMERIC,
    TableRows,
    TableWording,
    overlaps_any,
)
from knotwork._extensions.queries.target_schema import (
    PropertyShape,
    StoredValue,
    ValueMention,
    find_mentions,
    split_name,
)
from knotwork._questions.languages import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.graph_paths import find_imported_chunks
from knotwork._retrieval.query_rows import ROWS_SCORE, show_value
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.schema_words import Role
from knotwork.records import (
    ENTITY_EDGES,
    Chunk,
    Evidence,
    Hit,
    PropertyValue,
    QueryResult,
    RowSource,
    Span,
)

_SOURCE = "graph"
_SUREST = 0.9
_UNSURE = 0.8
_PLAIN_COST = 0.5
"""The cost below which each link of a plan has a word of its own."""
_MARGIN = 0.05
"""Plans that cost this much more than the cheapest do not answer in its place."""
_MOST_RUN = 6
_FAR = 0.1
_CITED_ROWS = 6
_FAN = 200
_ABOUT_FAN = 4
_NEAR_NAMES = 5
_LEAST_NEARNESS = 0.9
_LEAST_LETTERS = 5
_NOT = re.compile(
    r"\b(?:not|without|except(?: for)?|excluding|other than|apart from|never)\b|n['’]t\b"
    r"|除了?|没有?|不(?:是|由|在|属于)|未",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:other|else|another|others)\b|\balso\b|\bco-|其他|其它|另外|别的", re.IGNORECASE
)
_BOTH = re.compile(r"既.*又|\bboth\b.*\band\b", re.IGNORECASE)
_AND = re.compile(r"\s*(?:in\s+)?(?:and|并且?|且|和|又)\s*(?:also\s+)?(?:了)?\s*", re.IGNORECASE)
_TOGETHER = re.compile(r"\b(?:work|collaborat)\w* with\b|合作过?", re.IGNORECASE)
_MUTUAL = re.compile(r"\bco-(?=[a-z])", re.IGNORECASE)
_MANNER = re.compile(r"\bhow\b(?! (?:many|much)\b)", re.IGNORECASE)
_SHARED = re.compile(r"共同")
_JOINED = re.compile(
    r"\s*(?:,|，|、|and|和|与|跟|及|以及|as well as)\s*(?:and\s+|the\s+)?", re.IGNORECASE
)
_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪些人|哪个人|哪位|什么人|几个人|几位", re.IGNORECASE)
_TIMES = re.compile(r"date|year|born|release|time|日期|年|时间", re.IGNORECASE)
_TIMELY = re.compile(r"\d{3,4}|\d+\s*年")
_LAST_WORD = re.compile(r"\blast(?=\W*$)")
_EVENTS = frozenset({"event", "events", "事件"})
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

_models: WeakKeyDictionary[Store, dict[str, tuple[int, GraphModel]]] = WeakKeyDictionary()
_lock = threading.Lock()


class AnswerRows:
    """Answers questions that are clearly about a table beside the index or an imported graph."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_rows(self, evidence: Evidence, question: str) -> Evidence:
        """Return the evidence with the rows that answer a question.

        Without any, it is unchanged, but for lines of a graph and paths in it if the question is
        about a relation that the graph does not have.
        """
        found = TableRows(self._store).add_rows(evidence, question)
        graphs = self._store.capabilities.property_graphs
        if found is not evidence or graphs is None:
            return found
        failed: GraphQuestion | None = None
        for name in graphs.names():
            asked = GraphQuestion(_model_of(self._store, name), question)
            if answer := asked.answer():
                return self._with_result(evidence, *answer)
            if asked.is_about and (failed is None or len(asked.left) < len(failed.left)):
                failed = asked
        return evidence if failed is None else self._without_lines(evidence, failed)

    def _with_result(
        self, evidence: Evidence, result: QueryResult, hops: Iterable[RowHop]
    ) -> Evidence:
        lines = dict[tuple[int, str, Span], None]()
        held = dict[str, Chunk]()
        for row, first, second, value in hops:
            for chunk, span in self._find_lines(first, second, value):
                lines[row, chunk.id, span] = None
                held[chunk.id] = chunk
        documents = self._store.documents.documents({c.document_id for c in held.values()})
        sources = tuple(
            RowSource(documents[held[key].document_id].uri, "", row + 1, span)
            for row, key, span in lines
        )
        top = max((hit.score for hit in evidence.hits), default=1.0)
        hits = [
            Hit(
                chunk,
                top,
                {ROWS_SCORE: top},
                sentences=tuple({span: 1.0 for _, key, span in lines if key == chunk.id}.items()),
            )
            for chunk in held.values()
        ]
        hits += [hit for hit in evidence.hits if hit.chunk.id not in held]
        return replace(
            evidence,
            hits=tuple(hits[: max(evidence.query.k, len(held))]),
            results=(replace(result, row_sources=sources), *evidence.results),
            paths=(),
            confidence=max(evidence.confidence, result.confidence),
        )

    def _find_lines(self, first: str, second: str, value: str) -> Iterator[tuple[Chunk, Span]]:
        """Yield the line of the graph that states a link, or the value of a property."""
        forms = {name: normal_form(name) for name in (first, second)}
        found = self._store.graph.lookup(list(forms.values()))
        ids = [found[form].id for form in forms.values() if form in found]
        if len(ids) < len(forms):
            return
        if first == second:
            about = chunks_about(self._store, ids, fan=_ABOUT_FAN)
            keys = [chunk.id for chunk in about.get(ids[0], ())]
        else:
            edges = self._store.graph.neighbours(ids[:1], types=ENTITY_EDGES, fan=_FAN)
            keys = [
                key
                for edge in edges.get(ids[0], ())
                if ids[1] in (edge.source, edge.target)
                for key in edge.chunks
            ]
        chunks = self._store.documents.chunks(set(keys))
        imported = find_imported_chunks(chunks.values(), self._store)
        for key in dict.fromkeys(keys):
            for span in chunks[key].sentences if key in imported else ():
                text = chunks[key].text_at(span)
                if first in text and second in text and value in text:
                    yield chunks[key], span
                    return

    def _without_lines(self, evidence: Evidence, asked: GraphQuestion) -> Evidence:
        """Return the evidence without what a graph says of other relations than the asked one."""
        if asked.allows_lines:
            return evidence
        imported = find_imported_chunks([hit.chunk for hit in evidence.hits], self._store)
        texts = tuple(hit for hit in evidence.hits if hit.chunk.id not in imported)
        paths = evidence.paths if asked.allows_paths else ()
        if len(texts) == len(evidence.hits) and paths == evidence.paths:
            return evidence
        notes = evidence.notes
        if asked.left:
            notes = (*notes, messages.no_relation(asked.language, word=asked.left[0]))
        if texts:
            return replace(evidence, hits=texts, paths=paths, notes=notes)
        return replace(evidence, paths=paths, notes=notes, confidence=0.0)


def _model_of(store: Store, name: str) -> GraphModel:
    """Return the model of a graph, read again after each change of the index."""
    with _lock:
        held = _models.setdefault(store, {})
        version = store.generation()
        if name not in held or held[name][0] != version:
            held[name] = version, GraphModel(CypherGraph(store, graph=name))
        return held[name][1]


RowHop = tuple[int, str, str, str]
"""A row, the names of two nodes that a link joins, or twice the same, and a value of its."""


class Held(NamedTuple):
    """A value in a question, with the properties of links or of nodes that have it."""

    span: Span
    links: Sequence[tuple[GraphLink, str]] = ()
    nodes: Mapping[tuple[str, str], PropertyValue] = MappingProxyType({})


class GraphQuestion:
    """A question read as one about a graph.

    ``names`` are the nodes that it names, ``left`` the words that the graph does not account for.
    """

    def __init__(self, model: GraphModel, question: str) -> None:
        self._model = model
        self._text = question
        asked = reading_of(question)
        self.language = asked.language
        mentions = find_mentions(question, model.values)
        self.names, self._unknown = self._find_names(mentions, asked.comparisons)
        self._held = [*self._find_values(mentions), *self._find_held()]
        held = {question[slice(*value.span)] for value in self._held}
        taken = [*(name.span for name in self.names), *(value.span for value in self._held)]
        verb = _LAST_WORD.search(question)  # "how long does it last"
        self._wording = TableWording(question, [*taken, *([Span(*verb.span())] if verb else [])])
        self._comparisons = [
            comparison
            for comparison in asked.comparisons
            if not any(span.overlaps(comparison.span) for span in taken)
            and (comparison.operator is not Operator.EQUALS or comparison.is_time)
        ]
        self._extreme = self._wording.extreme
        covered = [*taken, *(comparison.span for comparison in self._comparisons)]
        covered += [Span(*match.span()) for match in _TOGETHER.finditer(question)]
        covered += [self._extreme.span] if self._extreme else []
        self._items, left = model.read(question, covered)
        numbers = (a.span for a in asked.amounts if not overlaps_any(a.span, covered))
        names = (name for name in self._unknown if name not in held)
        self.left = [*names, *left, *(question[slice(*span)] for span in numbers)]
        if len(self.names) < 2 and (shared := _SHARED.search(question)):
            self.left.append(shared[0])
        self.left += [match[0] for match in _MANNER.finditer(question)]
        negations = (Span(*match.span()) for match in _NOT.finditer(question))
        self._negation = next((span for span in negations if not overlaps_any(span, covered)), None)
        self._yes_no = asked.asks_yes_or_no
        self._counts = self._wording.operation is Returned.COUNT
        self._is_planned = False
        # "Whom did he play in that film" asks for what the link between two names holds.
        asks_held = len(self.names) == 2 and len(self._items) == 1 and not self._negation
        compares = bool(self._comparisons)
        self._finder = ChainFinder(model, question, compares=compares, asks_held=asks_held)

    @property
    def is_about(self) -> bool:
        """True if it names a node, or a relation of the graph with a name that it lacks."""
        return bool(self.names) or bool(self._unknown and self._items)

    @property
    def _is_computed(self) -> bool:
        """True if it asks for more than the names at the end of a path."""
        parts = (self._yes_no, self._counts, self._extreme, self._comparisons, self._negation)
        return any(parts)

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
        return any(item.word.lower() in _EVENTS for item in self._items)

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
            more = [w for w in _PROPER_WORD.findall(rest) if w.lower() not in _FRAME]
            others = (n.span for n in found if n is not name)
            if more and not any(around.contains(span) for span in others):
                unknown.append(text[slice(*around)])
            else:
                names.append(name)
        return names, unknown

    def _find_values(self, mentions: Iterable[ValueMention]) -> list[Held]:
        """Return the values of other properties of nodes that the question names: a city."""
        names = [name.span for name in self.names]
        model, found = self._model, list[Held]()
        for mention in mentions:
            surface = mention.surface
            is_free = not (
                overlaps_any(mention.span, names) or surface.islower() or surface.isdigit()
            )
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

    # Answers

    def answer(self) -> tuple[QueryResult, list[RowHop]] | None:
        """Return the rows that answer the question, or None if it is not clear what it asks.

        With them are the links between the names on the way to each of the first rows.
        """
        if self.left or self._asks_events or len(self._items) > MOST_ITEMS:
            return None
        plans = sorted(self._plans(), key=lambda plan: plan.cost)
        self._is_planned = bool(plans)
        if self._yes_no:
            tried = ((plan, self._run(plan)) for plan in plans[:_MOST_RUN])
            checks = [(plan, result) for plan, result in tried if result is not None]
            # That it holds is enough; that it does not, only what holds instead can show.
            checks.sort(key=lambda c: (not c[1].rows[0][0], len(c[1].rows[0][1])))
            return self._with_hops(*checks[0]) if checks else None
        seen = set[tuple[str, str]]()
        for plan in plans:
            key = plan.text, repr(plan.parameters)
            if plan.cost > plans[0].cost + _MARGIN or len(seen) == _MOST_RUN:
                break  # what is meant has no rows
            if key not in seen and (result := self._run(plan)) is not None:
                return self._with_hops(plan, result)
            seen.add(key)
        return None

    def _run(self, plan: GraphPlan) -> QueryResult | None:
        """Return the rows of a plan that the question asks for, or None without any."""
        statement = Statement(plan.text, plan.parameters)
        result = self._model.target.run(statement, source=_SOURCE)
        sureness = _SUREST if plan.cost < _PLAIN_COST else _UNSURE
        result = replace(result, seconds=0.0, confidence=sureness)
        rows = result.rows
        if plan.is_check:
            holds, found = rows[0]
            shown = list(plan.names) if holds else found
            return replace(result, rows=((holds, shown),)) if found else None
        if plan.is_count:
            # A graph without labels rarely lists all that exists.
            is_known = rows[0][0] or self._model.is_labelled
            return replace(result, row_count=1) if is_known else None
        rows = tuple(row for row in rows if row[0] is not None)
        if plan.limit and rows:
            last = rows[: plan.limit][-1][-1]
            equal = (row for row in rows[plan.limit :] if row[-1] == last)
            return replace(result, rows=(*rows[: plan.limit], *equal), truncated=False)
        if plan.wants_time:
            rows = tuple(row for row in rows if _TIMELY.search(str(row[0])))
        elif WHERE.search(self._text):
            rows = tuple(row for row in rows if not _TIMELY.fullmatch(str(row[0])))
        return replace(result, rows=rows) if rows else None

    def _with_hops(self, plan: GraphPlan, result: QueryResult) -> tuple[QueryResult, list[RowHop]]:
        """Return a result with the links on the way to its first rows."""
        found = self._model.target.run(Statement(plan.sources, plan.parameters)).rows
        is_single = plan.is_count or plan.is_check
        shown = result.rows[0][1] if is_single else [row[0] for row in result.rows]
        kept = [(row, show_value(row[0])) for row in found if row[0] in shown[:_CITED_ROWS]]
        hops = [
            (
                0 if is_single else shown.index(row[0]),
                show_value(row[1 + first]),
                show_value(row[1 + second]),
                value if first == second else "",
            )
            for row, value in kept
            for first, second in plan.hops
        ]
        return result, list(dict.fromkeys(hops))

    # Plans

    def _plans(self) -> Iterator[GraphPlan]:
        names = self.names
        if not names:
            yield from self._from_kinds()
        elif len(names) == 1 and not self._yes_no:
            for kind in self._kinds_of(names[0]):
                yield from self._from_one(names[0], Chain(kind))
        elif len(names) == 2:
            one, two = names
            for first, second in product(self._kinds_of(one), self._kinds_of(two)):
                pair = (one, Chain(first)), (two, Chain(second))
                yield from self._check(*pair) if self._yes_no else self._from_two(*pair)

    def _kinds_of(self, name: Name) -> list[str]:
        return self._model.kinds_of(name.kind, name.value)

    def _from_one(self, name: Name, start: Chain) -> Iterator[GraphPlan]:
        """Yield plans with one name; two chains from it lead to what they have in common."""
        items, find = self._items, self._finder.find
        if self._negation:
            end = self._negation.end
            denied = [item for item in items if item.span.start >= end]
            flags = self._flags(denied)
            for chain in find(start, name, [i for i in items if i.span.start < end]):
                if flags:
                    yield from self._write(name, chain, flags=flags)
                for other in find(start, name, denied) if denied and not flags else ():
                    if other.end == chain.end:
                        yield from self._write(name, chain, denied=(name, other))
            return
        cuts = self._cuts()
        for cut in cuts:
            for one, two in product(find(start, name, items[:cut]), find(start, name, items[cut:])):
                if one.end == two.end and one.steps and two.steps:
                    yield from self._write(name, one, joined=(name, two))
        for chain in () if cuts else find(start, name, items):
            is_mutual = chain.steps and _MUTUAL.search(self._text)
            yield from self._write(
                name, chain.with_step(chain.steps[-1].back, 0.0) if is_mutual else chain
            )

    def _cuts(self) -> list[int]:
        """Return where the items of two deeds of one answer part: "directed and acted in"."""
        items = self._items
        if _BOTH.search(self._text):
            return list(range(1, len(items)))
        deeds = [any(m.link and m.role is Role.DEED for m in item.meanings) for item in items]
        return [
            number
            for number in range(1, len(items))
            if deeds[number - 1]
            and deeds[number]
            and _AND.fullmatch(self._text[items[number - 1].span.end : items[number].span.start])
        ]

    def _flags(self, items: Iterable[Item]) -> list[tuple[str, str]]:
        """Return the properties that are true or false and that all items mean, with their kind."""
        found = []
        for item in items:
            flags = (
                (meaning.kind or "", meaning.property.name)
                for meaning in item.meanings
                if meaning.property is not None and meaning.property.type == "boolean"
            )
            if (flag := next(flags, None)) is None:
                return []
            found.append(flag)
        return found

    def _check(self, one: tuple[Name, Chain], two: tuple[Name, Chain]) -> Iterator[GraphPlan]:
        """Yield plans that test whether a chain from one name leads to the other.

        "Is A the mother of B" begins with B; from A, the noun is A itself. The way back shows what
        holds of the other name instead.
        """
        if self._held or self._negation:
            return
        for (name, start), (goal, end) in ((one, two), (two, one)):
            is_turned = name is one[0] and not self._model.is_labelled
            for chain in self._finder.find(start, name, self._items, is_turned=is_turned):
                fits = chain.end == end.end or not self._model.is_labelled
                if chain.steps and fits and not (chain.properties or chain.conditions):
                    yield self._test(name, chain, goal)
                    if len(chain.steps) == 1:
                        back = Chain(chain.end, (chain.steps[0].back,), cost=chain.cost + _FAR)
                        yield self._test(goal, back, name)

    def _test(self, name: Name, chain: Chain, goal: Name) -> GraphPlan:
        writer = StatementWriter(self._model)
        answer = writer.follow(writer.named(name), chain.steps)[-1]
        value = writer.name_of(answer, chain.end)
        ending = check_ending(value, writer.parameter(goal.value), self._label(chain))
        names = (str(name.value), str(goal.value))
        return writer.plan(value, chain.cost, ending, is_check=True, names=names)

    def _from_two(self, one: tuple[Name, Chain], two: tuple[Name, Chain]) -> Iterator[GraphPlan]:
        """Yield plans with a chain from each name to one answer; a negation is about the second."""
        (name, start), (other_name, other_start) = one, two
        find, negation = self._finder.find, self._negation
        between = Span(name.span.end, other_name.span.start)
        if negation is not None and not between.contains(negation):
            return
        if _JOINED.fullmatch(self._text[slice(*between)]):
            found = find(start, name, self._items), find(other_start, other_name, self._items)
            for chain, other in product(*found):
                if chain.types == other.types and chain.end == other.end:
                    yield from self._write(name, chain, joined=(other_name, other))
            return
        for own, others, cost in self._divisions(name, other_name):
            found = (
                find(replace(start, cost=cost), name, own, may_be_free=True),
                find(other_start, other_name, others, may_be_free=True),
            )
            for chain, other in product(*found):
                if chain.end == other.end and negation is not None:
                    yield from self._write(name, chain, denied=(other_name, other))
                elif chain.end == other.end and (other.steps or chain.held):
                    yield from self._write(name, chain, joined=(other_name, other))

    def _divisions(self, one: Name, two: Name) -> Iterator[tuple[list[Item], list[Item], float]]:
        """Yield the items divided between two names, with the cost of those near the other one."""
        for picks in product((False, True), repeat=len(self._items)):
            pairs = list(zip(self._items, picks, strict=True))
            start = self._negation.start if self._negation else None
            if start is not None and any((i.span.start >= start) != pick for i, pick in pairs):
                continue
            far = sum(
                (i.span.distance(one.span) < i.span.distance(two.span)) == pick
                for i, pick in pairs
                if i.span.distance(one.span) != i.span.distance(two.span)
            )
            own = [item for item, pick in pairs if not pick]
            yield own, [item for item, pick in pairs if pick], _FAR * far

    def _from_kinds(self) -> Iterator[GraphPlan]:
        """Yield plans of questions without a name, from a kind of nodes."""
        if self._negation or self._yes_no or not self._model.is_labelled:
            return
        for item in self._items:
            others = [other for other in self._items if other is not item]
            for meaning in item.meanings:
                starts, rest = list[Chain](), others
                if meaning.property is not None and self._comparisons:
                    # "Who was born before 1950"
                    starts, rest = [Chain(meaning.kind or "", cost=2 * _FAR)], self._items
                elif meaning.kind and meaning.property is None:
                    starts = [Chain(meaning.kind)]
                elif meaning.link and meaning.role is not Role.DEED and meaning.held is None:
                    starts = _noun_starts(meaning.link, meaning.role)
                for start in starts:
                    for chain in self._finder.find(start, None, rest):
                        yield from self._write(None, chain)

    # Statements

    def _write(
        self,
        name: Name | None,
        chain: Chain,
        *,
        joined: tuple[Name, Chain] | None = None,
        denied: tuple[Name, Chain] | None = None,
        flags: Iterable[tuple[str, str]] = (),
    ) -> Iterator[GraphPlan]:
        """Yield the statement of a chain, with all that the question computes from its end.

        The chain ``joined`` leads to the same answer, ``denied`` must not.
        """
        if name is not None and not chain.steps and (joined or denied or not chain.properties):
            return
        writer = StatementWriter(self._model)
        start = writer.kind(chain.kind) if name is None else writer.named(name)
        nodes = writer.follow(start, chain.steps)
        answer, cost = nodes[-1], chain.cost
        if not self._hold(writer, nodes, chain):
            return
        if joined is not None:
            other_name, other = joined
            other_start = start if other_name is name else writer.named(other_name)
            writer.follow(other_start, other.steps, end=answer)
            if not other.steps:
                writer.where.append(f"{other_start} = {answer}")
            cost += other.cost
        if denied is not None:
            writer.deny(writer.named(denied[0]), denied[1].steps, answer)
            cost += denied[1].cost
        for kind, flag in flags:
            if kind != chain.end:
                return
            writer.where.append(f"{answer}.{quote_name(flag)} = false")
        if self._other and name is not None:
            kinds = [chain.kind, *(step.end for step in chain.steps)]
            same = (n for n, kind in zip(nodes[:-1], kinds, strict=False) if kind == chain.end)
            writer.where += [f"{node} <> {answer}" for node in same]
        left = self._compare(writer, nodes, chain)
        if left is not None:
            is_bound = name is not None or bool(writer.where or chain.steps)
            yield from self._finish(
                writer, nodes, replace(chain, cost=cost, properties=left), is_bound
            )

    @property
    def _other(self) -> bool:
        return _OTHER.search(self._text) is not None

    def _hold(self, writer: StatementWriter, nodes: Sequence[str], chain: Chain) -> bool:
        """Require the values that the question names; False if not exactly one place has each."""
        kinds = [chain.kind, *(step.end for step in chain.steps)]
        for held in self._held:
            links = [
                f"toLower(toString(r{node}.{quote_name(name)}))"
                for node, step in zip(nodes[1:], chain.steps, strict=True)
                for link, name in held.links
                if link.type == step.link.type
            ]
            values = [
                (f"{node}.{quote_name(name)}", value)
                for node, kind in zip(nodes, kinds, strict=True)
                for (wanted, name), value in held.nodes.items()
                if wanted == kind
            ]
            if len(links) + len(values) != 1:
                return False
            if links:
                value = writer.parameter(self._text[slice(*held.span)])
                writer.where.append(f"{links[0]} CONTAINS toLower({value})")
            else:
                writer.where.append(f"{values[0][0]} = {writer.parameter(values[0][1])}")
        return True

    def _compare(
        self, writer: StatementWriter, nodes: Sequence[str], chain: Chain
    ) -> tuple[tuple[int, PropertyShape, Item], ...] | None:
        """Add the comparisons of the question, and return the properties that none of them uses.

        Return None if one cannot be made, or a link to a number is named for nothing.
        """
        left, is_used = chain.properties, not chain.conditions
        for comparison in self._comparisons:
            named = [p for p in chain.properties if conditions_of(comparison, p[1])]
            held = [
                (f"r{node}", shape)
                for node, shape in chain.held_by(nodes)
                if conditions_of(comparison, shape)
            ]
            if named:
                place, shape, _ = min(named, key=lambda p: comparison.span.distance(p[2].span))
                left = tuple(p for p in left if p[1] != shape)
                writer.compare(nodes[place], conditions_of(comparison, shape))
            elif held:
                writer.compare(held[0][0], conditions_of(comparison, held[0][1]))
            elif chain.conditions:
                writer.compare_name(nodes[-1], chain.conditions[0], comparison)
                is_used = True
            else:
                times = self._times(chain.end, comparison)
                if len(times) != 1:
                    return None
                writer.compare(nodes[-1], conditions_of(comparison, times[0]))
        return left if is_used else None

    def _times(self, kind: str, comparison: AmountComparison) -> list[PropertyShape]:
        """Return the properties of a kind that a time can be compared with."""
        shape = self._model.kinds.get(kind)
        return [
            item
            for item in (shape.properties if shape and comparison.is_time else ())
            if conditions_of(comparison, item) and _TIMES.search(item.name)
        ]

    def _finish(
        self, writer: StatementWriter, nodes: Sequence[str], chain: Chain, is_bound: bool
    ) -> Iterator[GraphPlan]:
        """Yield the statement with what it returns."""
        asked = list({(place, shape.name): shape for place, shape, _ in chain.properties}.items())
        for (place, flag), shape in asked:
            if shape.type == "boolean":  # "which products are discontinued"
                writer.where.append(f"{nodes[place]}.{quote_name(flag)} = true")
        is_bound |= bool(writer.where)
        held = {name for value in self._held for _, name in value.nodes}
        asked = [
            (key, shape)
            for key, shape in asked
            if shape.type != "boolean" and shape.name not in held
        ]
        if self._extreme is not None:
            yield from self._at_end(writer, nodes, chain, [s for _, s in asked])
        elif chain.held and not self._comparisons:
            yield from self._held_value(writer, nodes, chain)
        elif not asked and is_bound | self._counts and self._fits(chain, None):
            value = writer.name_of(nodes[-1], chain.end)
            if self._counts:
                ending = count_ending(nodes[-1], value, self._label(chain))
                yield writer.plan(value, chain.cost, ending, is_count=True)
            else:
                ending = f"RETURN DISTINCT {value} AS {quote_name(self._label(chain))}"
                wants_time = bool(WHEN.search(self._text)) and not self._comparisons
                yield writer.plan(value, chain.cost, ending, wants_time=wants_time)
        elif is_bound and len(asked) == 1 and asked[0][0][0] == len(chain.steps):
            if not self._fits(chain, asked[0][1]):
                return
            name = quote_name(asked[0][1].name)
            value = f"{nodes[-1]}.{name}"
            writer.where.append(f"{value} IS NOT NULL")
            number = int(nodes[-1][1:])
            writer.hops.append((number, number))
            yield writer.plan(value, chain.cost, f"RETURN DISTINCT {value} AS {name}")

    def _held_value(
        self, writer: StatementWriter, nodes: Sequence[str], chain: Chain
    ) -> Iterator[GraphPlan]:
        """Yield the statement for a property of a link: a role, a number of stars."""
        found = {(node, shape.name) for node, shape in chain.held_by(nodes)}
        is_number = all(shape.type in NUMERIC for _, shape in chain.held)
        is_time = all(_TIMES.search(shape.name) for _, shape in chain.held)
        wants_other = WHERE.search(self._text) or (self._counts and not is_number)
        if wants_other or (WHEN.search(self._text) and not is_time):
            return
        if len(found) == 1:
            ((node, shape_name),) = found
            name = quote_name(shape_name)
            value = f"r{node}.{name}"
            writer.where.append(f"{value} IS NOT NULL")
            yield writer.plan(value, chain.cost, f"RETURN DISTINCT {value} AS {name}")

    def _at_end(
        self,
        writer: StatementWriter,
        nodes: Sequence[str],
        chain: Chain,
        asked: Sequence[PropertyShape],
    ) -> Iterator[GraphPlan]:
        """Yield the statement for the end of a scale, or for the most nodes of a kind."""
        extreme = self._extreme
        if extreme is None or not self._fits(chain, None):
            return
        answer, limit, descending = nodes[-1], self._wording.limit, extreme.descending
        name, label = writer.name_of(answer, chain.end), quote_name(self._label(chain))
        if extreme.adds and not asked and not self.names and chain.steps:
            counted = f"WITH {answer}, count(DISTINCT {nodes[0]}) AS total"
            order = f"ORDER BY total {'DESC' if descending else 'ASC'}"
            ending = f"RETURN {name} AS {label}, total {order}"
            yield writer.plan(name, chain.cost, counted, ending, limit=limit)
            return
        shapes = [shape for shape in asked if shape.is_ordered]
        kind = self._model.kinds.get(chain.end)
        if not asked and kind is not None:
            shapes, is_turned = _find_scale(kind.properties, extreme.dimension)
            descending ^= is_turned
        if len(shapes) == 1 and kind is not None and kind.property(shapes[0].name):
            by, shown = f"{answer}.{quote_name(shapes[0].name)}", quote_name(shapes[0].name)
            writer.where.append(f"{by} IS NOT NULL")
            order = f"ORDER BY {by} {'DESC' if descending else 'ASC'}"
            ending = f"RETURN DISTINCT {name} AS {label}, {by} AS {shown} {order}"
            yield writer.plan(name, chain.cost + _FAR, ending, limit=limit)

    @staticmethod
    def _label(chain: Chain) -> str:
        return "name" if chain.end.startswith("~") or not chain.end else split_name(chain.end)

    def _fits(self, chain: Chain, shape: PropertyShape | None) -> bool:
        """Return True if the end of a chain is of the kind that the question word asks for."""
        if self._counts and shape is None:
            return self._is_asked_kind(chain)
        if WHEN.search(self._text) and not self._comparisons:
            if shape is not None:
                return shape.type == "date" or bool(_TIMES.search(shape.name))
            placed = any(m.link and m.link.is_placed for i in self._items for m in i.meanings)
            return bool(placed and chain.steps and chain.steps[-1].link.is_placed)
        if _WHO.search(self._text):
            is_value = bool(chain.steps) and chain.steps[-1].link.has_values
            if shape is not None or is_value or self._model.is_person(chain.end) is False:
                return False
        return shape is not None or self._is_asked_kind(chain)

    def _is_asked_kind(self, chain: Chain) -> bool:
        """Return True if the noun behind the question word names the kind of the answer."""
        match = ASKING.search(self._text)
        behind = (item for item in self._items if match and item.span.start >= match.end())
        item = next(behind, None)
        if match is None or item is None or self._text[match.end() : item.span.start].strip():
            return True
        if match[0].lower().startswith("whose"):
            return True  # its noun is not the answer
        kinds = {m.kind for m in item.meanings if m.kind and m.property is None}
        if ANY in kinds or any(m.held for m in item.meanings):
            return True
        for meaning in item.meanings:
            if meaning.link is not None:
                kinds.update(meaning.link.side_of(meaning.role))
        return not kinds or chain.end in kinds


def _name(span: Span, surface: str, stored: StoredValue) -> Name:
    return Name(span, surface, stored.kind, stored.property, stored.value)


def _noun_starts(link: GraphLink, role: Role) -> list[Chain]:
    """Return chains to the nodes that a noun means, and from them: directors, their films."""
    if link.doer is None or link.source == link.target:
        return []
    to = Step(link, link.doer != (role is Role.DOER))
    return [Chain(to.back.end, (to,), cost=2 * _FAR), Chain(to.end, (to.back,), cost=4 * _FAR)]


def _find_scale(
    shapes: Iterable[PropertyShape], dimension: str
) -> tuple[list[PropertyShape], bool]:
    """Return the property of a scale, and True if it runs the other way, as years do for ages."""
    ordered = [(shape, split_name(shape.name).split()) for shape in shapes if shape.is_ordered]
    scales = {"price": ("price", "cost"), **DIMENSIONS}
    for scale in (dimension, "time") if dimension == "age" else (dimension,):
        for word in scales.get(scale, ()):
            for shape, words in ordered:
                if word in words:
                    return [shape], dimension == "age" and "age" not in words
    return [], False


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
