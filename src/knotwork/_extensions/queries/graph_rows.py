"""Answer from imported graphs: rows of a statement planned from the words of a question.

Precision comes first. A question has rows only if each of its words is accounted for: by a name,
a link, a property, a kind of nodes, a comparison or a word of its form. A plan is a chain of links
to the answer that uses all that the question mentions; with several names, a chain from each. If a
word is left over, nothing of the graph is quoted, as it is about another relation.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from knotwork._extensions.queries.graph_plans import (
    ASKING,
    MOST_ITEMS,
    WHEN,
    WHERE,
    Chain,
    GraphPlan,
    Name,
    StatementWriter,
    Step,
    check_ending,
    count_ending,
)
from knotwork._extensions.queries.graph_reading import MORE_THAN, THAN, GraphReading
from knotwork._extensions.queries.graph_words import (
    ANY,
    GraphLink,
    GraphModel,
    Item,
    Meaning,
    Measure,
)
from knotwork._extensions.queries.query_plans import Statement, conditions_of
from knotwork._extensions.queries.query_targets import CypherGraph, quote_name, sort_key
from knotwork._extensions.queries.table_rows import (
    NUMERIC,
    TableRows,
)
from knotwork._extensions.queries.target_schema import (
    PropertyShape,
    split_name,
)
from knotwork._questions.languages import AmountComparison
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.graph_paths import find_imported_chunks
from knotwork._retrieval.query_rows import HOLDS, ROWS_SCORE, show_value
from knotwork._stores.base import Store, graph_names
from knotwork._synthesis import messages
from knotwork._text.names import normal_form
from knotwork._text.schema_words import Role
from knotwork.errors import GraphServerError
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
LOOSE = 0.6
"""The confidence in rows for a question of which words were left out."""
_PLAIN_COST = 0.5
"""The cost below which each link of a plan has a word of its own."""
_MOST_COST = 1.3
"""The cost from which a plan is too far-fetched to be meant."""
_MARGIN = 0.05
"""Plans that cost this much more than the cheapest do not answer in its place."""
_MOST_RUN = 6
_FAR = 0.1
_CITED_ROWS = 6
_FAR_OFF = 20.0
_FAN = 200
_ABOUT_FAN = 4
_OTHER = re.compile(
    r"\b(?:other|else|another|others)\b|\balso\b|\bco-|其他|其它|另外|别的", re.IGNORECASE
)
_BOTH = re.compile(r"既.*又|\bboth\b.*\band\b", re.IGNORECASE)
_AND = re.compile(r"\s*(?:in\s+)?(?:and|并且?|且|和|又)\s*(?:also\s+)?(?:了)?\s*", re.IGNORECASE)
_MUTUAL = re.compile(r"\bco-(?=[a-z])", re.IGNORECASE)
_FEWER = frozenset({"less", "lower", "fewer"})
_EVENT_WORDS = frozenset(
    ["event", "events", "happened", "happen", "do", "done", "did", "事件", "发生", "做", "事", "有"]
)
_PLAIN = re.compile(
    r"(?:(?:who|what|which)(?:\s+(?:is|are|was|were)|['’]s)?|name|list|find|show(?: me)?"
    r"|give(?: me)?|tell me)?\s*(?:the\s+|a\s+)?",
    re.IGNORECASE,
)
_PLAIN_ZH = re.compile(r"(?:是|有|叫)?(?:谁|哪|什么)|\W*$")
_ARTICLE = re.compile(r"\bthe\s+$|的$", re.IGNORECASE)
_JOINED = re.compile(
    r"\s*(?:,|，|、|and|和|与|跟|及|以及|as well as)\s*(?:and\s+|the\s+)?", re.IGNORECASE
)
_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪些人|哪个人|哪位|什么人|几个人|几位", re.IGNORECASE)
_TIMES = re.compile(
    r"date|year|born|release|time|since|until|start|begin|began|end|from|founded|built"
    r"|日期|年(?!龄)|时间|起|始",
    re.IGNORECASE,
)
_TIMELY = re.compile(r"\d{3,4}|\d+\s*年")
_REST_S = 60.0
"""Seconds for which a server that failed is not asked."""


class AnswerRows:
    """Answers questions that are clearly about a table beside the index or an imported graph."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._models: dict[str, _HeldModel] = {}

    def add_rows(self, evidence: Evidence, question: str) -> Evidence:
        """Return the evidence with the rows that answer a question.

        Without any, it is unchanged, but for lines of a graph and paths in it if the question is
        about a relation that the graph does not have.
        """
        found = TableRows(self._store).add_rows(evidence, question)
        if found is not evidence:
            return found
        failed: GraphQuestion | None = None
        for name in graph_names(self._store):
            held = self._models.get(name)
            if held is None:
                held = self._models.setdefault(name, _HeldModel(self._store, name))
            try:
                asked = GraphQuestion(held.current(), question)
                answer = asked.answer()
            except GraphServerError as error:
                held.rest(error)
                note = f"The graph `{name}` was left out: {error}"
                evidence = replace(evidence, notes=(*evidence.notes, note))
                continue
            if answer:
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


class _HeldModel:
    """The model of a graph, read again after each change of the index. Safe for many threads."""

    def __init__(self, store: Store, name: str) -> None:
        self._target = CypherGraph(store, graph=name)
        self._lock = threading.Lock()
        self._version: object = None
        self._model: GraphModel | None = None
        self._failure: GraphServerError | None = None
        self._rests_until_s = 0.0

    def current(self) -> GraphModel:
        """Return the model. Raises GraphServerError, also while a server that failed rests."""
        with self._lock:
            if self._failure is not None and time.monotonic() < self._rests_until_s:
                raise self._failure
            version = self._target.version()
            if self._model is None or self._version != version:
                try:
                    self._model, self._version = GraphModel(self._target), version
                except GraphServerError as error:
                    self.rest(error)
                    raise
            return self._model

    def rest(self, failure: GraphServerError) -> None:
        """Do not ask a server that failed for a while, so that other answers do not wait."""
        if failure is not self._failure:
            self._failure, self._rests_until_s = failure, time.monotonic() + _REST_S


RowHop = tuple[int, str, str, str]
"""A row, the names of two nodes that a link joins, or twice the same, and a value of its."""

Found = tuple[GraphPlan, QueryResult]
"""A plan with its rows."""


class GraphQuestion(GraphReading):
    """A question about a graph with the plans that answer it."""

    # Answers

    def answer(self) -> tuple[QueryResult, list[RowHop]] | None:
        """Return the rows that answer the question, or None if it is not clear what it asks.

        With them are the links between the names on the way to each of the first rows.
        """
        found = self.find()
        return None if found is None else (found[1], self._hops_of(*found))

    def statement(self) -> Statement | None:
        """Return the statement that answers the question, with its rows: nodes, not names."""
        found = self.find()
        if found is None:
            return None
        plan, result = found
        sureness = LOOSE if self._is_loose and self.left else result.confidence
        origin = "fragments by rules"
        statement = Statement(plan.of_nodes, plan.parameters, origin, sureness, True, result)
        if statement.text == plan.text:
            return statement

        def named(row: tuple[PropertyValue, ...]) -> str:
            return repr((row[0]["properties"].get(plan.naming), *row[1:]))

        of_nodes = self._model.target.run(statement)
        places = {repr(row): place for place, row in enumerate(result.rows)}
        kept = [row for row in of_nodes.rows if named(row) in places]
        rows = tuple(sorted(kept, key=lambda row: places[named(row)]))
        shown = replace(of_nodes, rows=rows, seconds=0.0, truncated=result.truncated)
        return replace(statement, result=shown)

    def find(self) -> Found | None:
        """Return the plan that answers, and its rows.

        A common word that is also a name, as "fall", is read as a name first.
        """
        found = self._find_named()
        if found is None and (words := self._doubtful_names()):
            return self._reread(self._text, words=words).find()
        return found

    def _reread(self, text: str, *, words: Sequence[Span] = ()) -> GraphQuestion:
        return GraphQuestion(self._model, text, words=words, is_loose=self._is_loose)

    def _find_named(self) -> Found | None:
        if self._asks_events:
            return self._find_events()
        left = self.left
        if self._is_loose:  # no number may be left out
            left = [word for word in left if any(map(str.isdigit, word))]
        if left or len(self._items) > MOST_ITEMS:
            return None
        if (inner := self._find_inner()) is not None:
            return self._find_about(inner)
        plans = sorted(
            (plan for plan in self._plans() if plan.cost < _MOST_COST), key=lambda plan: plan.cost
        )
        self._is_planned = bool(plans)
        if self._yes_no:
            tried = ((plan, self._run(plan)) for plan in plans[:_MOST_RUN])
            checks = [(plan, result) for plan, result in tried if result is not None]
            # That it holds is enough; that it does not, only what holds instead can show.
            checks.sort(key=lambda c: (not c[1].rows[0][0], len(c[1].rows[0][1])))
            return checks[0] if checks else None
        seen = set[tuple[str, str]]()
        for plan in plans:
            key = plan.text, repr(plan.parameters)
            if plan.cost > plans[0].cost + _MARGIN or len(seen) == _MOST_RUN:
                break  # what is meant has no rows
            if key not in seen and (result := self._run(plan)) is not None:
                return plan, result
            seen.add(key)
        return None

    def _find_events(self) -> Found | None:
        """Return what a named node did or underwent; times are left to the words of documents."""
        rest = [word for word in self.left if word.lower() not in _EVENT_WORDS]
        is_plain = not (rest or self._comparisons or self._held or self._extreme)
        links = [link for link in self._model.links if link.is_deed]
        if len(self.names) != 1 or not is_plain or not links or self._model.is_labelled:
            return None
        writer = StatementWriter(self._model)
        node = writer.around(writer.named(self.names[0]), links)
        value = writer.name_of(node, "")
        ending = f"RETURN DISTINCT {value} AS name, type(r{node}) AS event"
        plan = writer.plan(value, 0.0, ending)
        result = self._run(plan)
        return None if result is None else (plan, result)

    def _find_inner(self) -> Item | None:
        """Return the noun behind the end of a scale if the question is about what it means.

        "Where does the oldest user live" is, "who is the oldest user" is not.
        """
        extreme, text = self._extreme, self._text
        is_one = max(self._wording.limit, self._wording.rank) == 1
        if extreme is None or extreme.adds or not is_one or self.names:
            return None
        for item in self._items:
            is_next = 0 <= item.span.start - extreme.span.end <= 1
            is_noun = any(
                not m.held and ((m.kind and not m.property) or (m.link and m.role is not Role.DEED))
                for m in item.meanings
            )
            if is_next and is_noun:
                is_plain = _PLAIN.fullmatch(text[: extreme.span.start])
                if self.language == "zh":
                    is_plain = _PLAIN_ZH.match(text[item.span.end :])
                return None if is_plain else item
        return None

    def _find_about(self, inner: Item) -> Found | None:
        """Return the plan and rows about the node at the end of a scale, which is found first."""
        if self._extreme is None:
            return None
        written = self._text[self._extreme.span.start : inner.span.end]
        form = "{}是谁？" if self.language == "zh" else "Which is the {}?"
        found = self._reread(form.format(written)).find()
        if found is None or len(found[1].rows) != 1:
            return None
        name = show_value(found[1].rows[0][0])
        before = _ARTICLE.sub("", self._text[: self._extreme.span.start])
        asked = self._reread(f"{before}{name}{self._text[inner.span.end :]}")
        return asked.find() if asked.names else None

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
        if plan.is_value:
            return replace(result, rows=rows, row_count=1) if rows else None
        if plan.limit and rows:
            rows = self._first_rows(plan, () if plan.numbers and result.truncated else rows)
            return replace(result, rows=rows, truncated=False) if rows else None
        if plan.wants_time:
            rows = tuple(row for row in rows if _TIMELY.search(str(row[0])))
        elif WHERE.search(self._text):
            rows = tuple(row for row in rows if not _TIMELY.fullmatch(str(row[0])))
        return replace(result, rows=rows) if rows else None

    def _first_rows(
        self, plan: GraphPlan, rows: Sequence[tuple[PropertyValue, ...]]
    ) -> tuple[tuple[PropertyValue, ...], ...]:
        """Return the first of sorted rows, with all that are equal to the last of them."""
        if (numbers := plan.numbers) is not None:
            held = [row for row in rows if str(row[-1]) in numbers]
            rows = sorted(held, key=lambda r: numbers[str(r[-1])], reverse=plan.descending)
        if (rank := self._wording.rank) > 1:
            ends = list(dict.fromkeys(row[-1] for row in rows))[rank - 1 : rank]
            return tuple(row for row in rows if row[-1] in ends)
        equal = (row for row in rows[plan.limit :] if row[-1] == rows[plan.limit - 1][-1])
        return (*rows[: plan.limit], *equal)

    def _hops_of(self, plan: GraphPlan, result: QueryResult) -> list[RowHop]:
        """Return the links on the way to the first rows of a result."""
        found = self._model.target.run(Statement(plan.sources, plan.parameters)).rows
        is_single = plan.is_count or plan.is_check
        shown = result.rows[0][1] if is_single else [row[0] for row in result.rows]
        kept = [(row, show_value(row[0])) for row in found if row[0] in shown[:_CITED_ROWS]]
        if plan.is_value:
            is_single, kept = True, [(row, show_value(row[0])) for row in found[:_CITED_ROWS]]
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
        return list(dict.fromkeys(hops))

    # Plans

    def _plans(self) -> Iterator[GraphPlan]:
        names = self.names
        if self._than is not None or self._asks_more:
            yield from self._beyond()
        elif not names:
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
        if self._asks_same:
            yield from self._same_as(name, start)
            return
        if self._negation:
            yield from self._denied(name, start, self._negation)
            return
        if self._shared is not None:
            yield from self._sharing(name, start, self._shared)
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

    def _same_as(self, name: Name, start: Chain) -> Iterator[GraphPlan]:
        """Yield plans for nodes that share a node, or a value, with a named one."""
        asked = next((item for item in self._items if self._finder.is_asked(item)), None)
        shared = [item for item in self._items if item is not asked]
        for chain in self._finder.find(start, name, shared):
            if chain.steps and not chain.properties and len({*chain.types}) == len(chain.types):
                both = (*chain.steps, *chain.back.steps)
                yield from self._write(name, replace(chain, steps=both))
            elif not chain.steps and len(chain.properties) == 1:
                order = chain.properties[0][1], "="
                yield from self._write_beyond(name, chain.kind, [], order, cost=chain.cost)

    def _sharing(self, name: Name, start: Chain, shared: Span) -> Iterator[GraphPlan]:
        """Yield plans from nodes that share with a named one what the next word means."""
        behind = [item for item in self._items if item.span.start >= shared.end]
        for item in behind[:1]:
            rest = [other for other in self._items if other is not item]
            for chain in self._finder.find(start, name, [item]):
                if chain.steps and not (chain.properties or chain.held or chain.conditions):
                    both = replace(chain, steps=(*chain.steps, *chain.back.steps))
                    for longer in self._finder.find(both, name, rest):
                        yield from self._write(name, longer)

    def _denied(self, name: Name, start: Chain, negation: Span) -> Iterator[GraphPlan]:
        """Yield plans for nodes that are not related to a named one, or lack a property."""
        before = [item for item in self._items if item.span.start < negation.end]
        denied = [item for item in self._items if item.span.start >= negation.end]
        flags, find = self._flags(denied), self._finder.find
        if name.span.start >= negation.end and self._model.is_labelled:
            for subject, rest in self._subjects(before):
                for chain in find(subject, None, rest):
                    for other in find(start, name, denied):
                        if other.end == chain.end and other.steps:
                            yield from self._write(None, chain, denied=(name, other))
            return
        for chain in find(start, name, before):
            if flags:
                yield from self._write(name, chain, flags=flags)
            for other in find(start, name, denied) if denied and not flags else ():
                if other.end == chain.end:
                    yield from self._write(name, chain, denied=(name, other))

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
                elif chain.end == other.end and (
                    other.steps or chain.held or self._asks_date(chain)
                ):
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
        if self._yes_no or self._cuts():
            return
        if self._negation:
            yield from self._without(self._negation)
            return
        for start, rest, origin in self._starts():
            for chain in self._finder.find(start, None, rest, origin=origin):
                yield from self._write(None, chain)
        if self._tally or (self._extreme and self._extreme.adds):
            for start, rest in self._subjects(self._items):
                for chain in self._finder.find(start, None, rest):
                    is_within = any(step.is_within for step in chain.steps)
                    if chain.steps and (self._tally or is_within):
                        yield from self._write(None, chain.back)

    def _starts(self) -> Iterator[tuple[Chain, list[Item], Span]]:
        """Yield nodes from which the answer may be found, with the items still to be used.

        The span is that of the words that mean these nodes.
        """
        for item in self._items if not self._tally else ():
            others = [other for other in self._items if other is not item]
            for meaning in item.meanings:
                yield from (
                    (start, self._items if is_used else others, item.span)
                    for start, is_used in self._starts_of(meaning)
                )
        if self._extreme and not self._tally:
            for measure in self._ends:
                yield Chain(measure.kind, cost=3 * _FAR), self._items, self._extreme.span

    def _starts_of(self, meaning: Meaning) -> Iterator[tuple[Chain, bool]]:
        """Yield chains from what a word means, with True if it is still to be used."""
        link, role = meaning.link, meaning.role
        if meaning.property is not None or (link and link.has_values):
            # "Who was born before 1950"
            if self._comparisons or self._extreme or self._mean:
                yield Chain(link.source if link else meaning.kind or "", cost=2 * _FAR), True
        elif meaning.kind and meaning.kind != ANY:
            yield Chain(meaning.kind), False
        elif link and role is not Role.DEED and meaning.held is None:
            adds = self._extreme is not None and self._extreme.adds
            for start in _noun_starts(link, role, adds=adds):
                yield start, False

    def _subjects(self, items: Sequence[Item]) -> Iterator[tuple[Chain, list[Item]]]:
        """Yield the kinds of what the question asks for, with the items of other words."""
        who = _WHO.search(self._text)
        for item in items:
            kinds = [m.kind for m in item.meanings if m.kind and m.kind != ANY and not m.property]
            rest = [other for other in items if other is not item]
            for kind in kinds if not who else ():
                yield Chain(kind, subject=item.span), rest
        if who:
            for kind in self._model.kinds:
                if self._model.is_person(kind):
                    yield Chain(kind, subject=Span(*who.span())), list(items)

    def _without(self, negation: Span) -> Iterator[GraphPlan]:
        """Yield plans for nodes that lack a link: "users that follow nobody"."""
        before = [item for item in self._items if item.span.start < negation.end]
        denied = [item for item in self._items if item.span.start >= negation.end]
        if not before and not _WHO.search(self._text) and len(denied) > 1:
            before = [denied.pop()]  # 没有粉丝的用户
        flags = self._flags(denied)
        for start, rest in self._subjects(before):
            for chain in self._finder.find(start, None, rest):
                if flags or not denied:
                    if flags:
                        yield from self._write(None, chain, flags=flags)
                    continue
                other_start = Chain(chain.end, subject=start.subject)
                for other in self._finder.find(other_start, None, denied):
                    if other.steps and not (other.properties or other.conditions or other.held):
                        yield from self._write(None, chain, lacking=other)

    def _beyond(self) -> Iterator[GraphPlan]:
        """Yield plans for nodes that are further on a scale than a named one, or not."""
        names, more = self.names, MORE_THAN.search(self._text)
        if self._negation or self._comparisons or not names:
            return
        others = list(self._items)
        measures = self._model.measures(self._than) if self._than else []
        if more is not None and not self._than:  # "costs more than"
            upper = more[0].lower() not in _FEWER
            for item in self._items:
                found = [m for m in item.meanings if m.property and m.property.is_ordered]
                measures += [Measure(m.kind or "", m.property, None, upper) for m in found]
                if found:
                    others.remove(item)
        for measure in measures:
            shape, kind = measure.property, measure.kind
            if shape is None or any(kind not in self._kinds_of(n) for n in names):
                continue
            sign = ">" if measure.upper else "<"
            if len(names) == 2 and self._yes_no and not others:
                yield self._test_order(kind, shape, sign)
            elif len(names) == 1 and not self._yes_no and THAN.search(self._text):
                yield from self._write_beyond(names[0], kind, others, (shape, sign))

    # Statements

    def _write(
        self,
        name: Name | None,
        chain: Chain,
        *,
        joined: tuple[Name, Chain] | None = None,
        denied: tuple[Name, Chain] | None = None,
        lacking: Chain | None = None,
        flags: Sequence[tuple[str, str]] = (),
    ) -> Iterator[GraphPlan]:
        """Yield the statement of a chain, with all that the question computes from its end.

        The chain ``joined`` leads to the same answer, ``denied`` must not, and no node is at the
        end of ``lacking``.
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
        if lacking is not None:
            writer.lack(answer, lacking.steps)
        cost += sum(chain.cost for chain in (denied[1] if denied else None, lacking) if chain)
        if any(kind != chain.end for kind, _ in flags):
            return
        writer.where += [f"{answer}.{quote_name(flag)} = false" for _, flag in flags]
        self._differ(writer, nodes, chain, is_named=name is not None)
        left = self._compare(writer, nodes, chain)
        if left is not None:
            is_bound = name is not None or bool(writer.where or chain.steps)
            yield from self._finish(
                writer, nodes, replace(chain, cost=cost, properties=left), is_bound
            )

    def _differ(
        self, writer: StatementWriter, nodes: Sequence[str], chain: Chain, *, is_named: bool
    ) -> None:
        """Require that the answer differs from the nodes before it, if the question asks so."""
        if is_named and (self._asks_same or self._shared or _OTHER.search(self._text)):
            kinds = [chain.kind, *(step.end for step in chain.steps)]
            before = nodes[:1] if self._shared else nodes[:-1]
            same = (n for n, kind in zip(before, kinds, strict=False) if kind == chain.end)
            writer.where += [f"{node} <> {nodes[-1]}" for node in same]

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
        left, is_used = chain.properties, not chain.conditions or self._extreme is not None
        for comparison in self._comparisons:
            if self._tally and comparison is self._tally[0]:
                continue
            has_unit = any(unit.start == comparison.span.end for unit in self._units)
            values = [v for _, shape, _ in chain.properties for v in shape.samples]
            for step in chain.conditions:
                values += self._model.numbers_of(step.link).values()
            if has_unit and not _is_plausible(comparison, values):
                return None  # hours, of a number of minutes
            named = [p for p in chain.properties if conditions_of(comparison, p[1])]
            held = [
                (f"r{node}", shape)
                for node, shape in chain.held_by(nodes)
                if conditions_of(comparison, shape)
            ]
            if named:
                place, shape, _ = min(named, key=lambda p: comparison.span.distance(p[2].span))
                left = tuple(p for p in left if p[1] != shape)
                writer.compare(nodes[place], shape, comparison)
            elif held:
                writer.compare(*held[0], comparison)
            elif chain.conditions:
                writer.compare_name(nodes[-1], chain.conditions[0], comparison)
                is_used = True
            else:
                dated = self._dated(nodes, chain) if comparison.is_time else []
                times = [(nodes[-1], shape) for shape in self._times(chain.end, comparison)]
                found = [(n, s) for n, s in dated if conditions_of(comparison, s)] or times
                if len(found) != 1:
                    return None
                writer.compare(*found[0], comparison)
        return left if is_used else None

    def _asks_date(self, chain: Chain) -> bool:
        """Return True if the question asks since when, or when, a link of a chain is."""
        nodes = [""] * (len(chain.steps) + 1)
        return WHEN.search(self._text) is not None and bool(self._dated(nodes, chain))

    @staticmethod
    def _dated(nodes: Sequence[str], chain: Chain) -> list[tuple[str, PropertyShape]]:
        """Return the properties of links that are times: since when they are."""
        return [
            (f"r{node}", shape)
            for node, step in zip(nodes[1:], chain.steps, strict=True)
            for shape in step.link.properties
            if shape.is_ordered and _TIMES.search(shape.name)
        ]

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
        dated = self._dated(nodes, chain) if WHEN.search(self._text) else []
        if self._tally or self._mean or self._extreme:
            yield from self._computed(writer, nodes, chain, asked)
        elif chain.held and not self._comparisons:
            yield from self._held_value(writer, nodes, chain)
        elif not asked and len(dated) == 1 and not self._comparisons and is_bound:
            value = f"{dated[0][0]}.{quote_name(dated[0][1].name)}"
            writer.where.append(f"{value} IS NOT NULL")
            label = quote_name(dated[0][1].name)
            yield writer.plan(value, chain.cost + _FAR, f"RETURN DISTINCT {value} AS {label}")
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
            ending = f"RETURN DISTINCT {value} AS {name}"
            yield writer.plan(value, chain.cost, ending, naming="")

    def _computed(
        self,
        writer: StatementWriter,
        nodes: Sequence[str],
        chain: Chain,
        asked: Sequence[tuple[tuple[int, str], PropertyShape]],
    ) -> Iterator[GraphPlan]:
        """Yield the statement for a number of nodes, a mean, a sum, or the end of a scale."""
        if self._tally is not None:
            yield from self._count_of(writer, nodes, chain)
        elif self._extreme is not None:
            yield from self._at_end(writer, nodes, chain, asked)
        else:
            yield from self._mean_of(writer, nodes, chain, asked)

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

    def _count_of(
        self, writer: StatementWriter, nodes: Sequence[str], chain: Chain
    ) -> Iterator[GraphPlan]:
        """Yield the statement for nodes with a number of others that is compared."""
        if self._tally is None or not self._fits(chain, None):
            return
        label, value = self._label(chain), writer.name_of(nodes[-1], chain.end)
        tests = [
            f"total {condition.operator} {writer.parameter(condition.value)}"
            for condition in conditions_of(self._tally[0], PropertyShape("", "integer"))
        ]
        counted = f"WITH {nodes[-1]}, count(DISTINCT {nodes[0]}) AS total"
        test = f"{counted} WHERE {' AND '.join(tests)}"
        if self._counts:
            ending = count_ending(nodes[-1], value, label)
            yield writer.plan(value, chain.cost, test, ending, is_count=True)
        else:
            ending = f"RETURN {value} AS {quote_name(label)}, total ORDER BY total DESC"
            yield writer.plan(value, chain.cost, test, ending)

    def _mean_of(
        self,
        writer: StatementWriter,
        nodes: Sequence[str],
        chain: Chain,
        asked: Sequence[tuple[tuple[int, str], PropertyShape]],
    ) -> Iterator[GraphPlan]:
        """Yield the statement for the mean or the sum of a property of nodes or of links."""
        places = [(nodes[place], shape) for (place, _), shape in asked]
        places += [(f"r{node}", shape) for node, shape in chain.held_by(nodes)]
        if len(places) != 1 or places[0][1].type not in NUMERIC:
            return
        ((node, shape),) = places
        value = f"{node}.{quote_name(shape.name)}"
        writer.where.append(f"{value} IS NOT NULL")
        if not node.startswith("r"):
            writer.hops.append((int(node[1:]), int(node[1:])))
        label = quote_name(f"{self._mean} {split_name(shape.name)}")
        ending = f"RETURN {self._mean}({sort_key(value, shape)}) AS {label}"
        yield writer.plan(value, chain.cost, f"WITH DISTINCT {node}", ending, is_value=True)

    def _at_end(
        self,
        writer: StatementWriter,
        nodes: Sequence[str],
        chain: Chain,
        asked: Sequence[tuple[tuple[int, str], PropertyShape]],
    ) -> Iterator[GraphPlan]:
        """Yield the statement for the end of a scale, or for the most nodes of a kind."""
        extreme = self._extreme
        if extreme is None or not self._fits(chain, None):
            return
        answer, limit, descending = nodes[-1], self._wording.limit, extreme.descending
        name, label = writer.name_of(answer, chain.end), quote_name(self._label(chain))
        order = f"ORDER BY total {'DESC' if descending else 'ASC'}"
        ending = f"RETURN {name} AS {label}, total {order}"
        if extreme.adds and not asked and not self.names and chain.steps:
            counted = f"WITH {answer}, count(DISTINCT {nodes[0]}) AS total"
            plan = writer.plan(name, chain.cost, counted, ending, limit=limit)
            if not descending:  # those that have none at all
                if writer.where or not self._model.is_labelled:
                    return
                every = f"MATCH ({answer}:{quote_name(chain.end)})\nOPTIONAL {plan.text}"
                plan = replace(plan, text=every)
            yield plan
            return
        ordered = [(place, shape) for (place, _), shape in asked if shape.is_ordered]
        if self._mean and ordered:  # "the department with the highest average salary"
            place, shape = ordered[0]
            value = sort_key(f"{nodes[place]}.{quote_name(shape.name)}", shape)
            if place < len(chain.steps) and shape.type in NUMERIC:
                counted = f"WITH {answer}, {self._mean}({value}) AS total WHERE total IS NOT NULL"
                yield writer.plan(name, chain.cost, counted, ending, limit=limit)
            return
        measure = self._measure_of(chain, [shape for _, shape in ordered])
        if measure is not None and not self._mean:
            yield self._by_measure(writer, answer, chain, measure)

    def _measure_of(self, chain: Chain, ordered: Sequence[PropertyShape]) -> Measure | None:
        """Return what the end of a scale is about; None if that is unclear."""
        upper = self._extreme is not None and self._extreme.descending
        found = [Measure(chain.end, shape, None, upper) for shape in ordered]
        found += [Measure(chain.end, None, step.link, upper) for step in chain.conditions]
        own = [measure for measure in self._ends if measure.kind == chain.end]
        if found and own and not self._is_general:
            if {m.property for m in own} != {m.property for m in found}:
                return None  # "the salary of the oldest"
            found = own
        found = found or own
        return found[0] if len(found) == 1 else None

    def _by_measure(
        self, writer: StatementWriter, answer: str, chain: Chain, measure: Measure
    ) -> GraphPlan:
        """Return the statement that sorts nodes by what the question is about."""
        name, label = writer.name_of(answer, chain.end), quote_name(self._label(chain))
        limit, cost = self._wording.limit, chain.cost + _FAR
        if measure.link is not None:
            value = writer.follow(answer, (Step(measure.link, True),))[-1]
            by, shown = writer.name_of(value, measure.link.target), quote_name(measure.link.type)
            ending = f"RETURN DISTINCT {name} AS {label}, {by} AS {shown}"
            numbers = self._model.numbers_of(measure.link)
            order = {"numbers": numbers, "descending": measure.upper}
            return writer.plan(name, cost, ending, limit=limit, **order)
        shape = measure.property or PropertyShape("", "")
        by = f"{answer}.{quote_name(shape.name)}"
        writer.where.append(f"{by} IS NOT NULL")
        ending = f"RETURN DISTINCT {name} AS {label}, {by} AS {quote_name(shape.name)}"
        order_text = f"ORDER BY {sort_key(by, shape)} {'DESC' if measure.upper else 'ASC'}"
        writer.hops.append((int(answer[1:]), int(answer[1:])))
        return writer.plan(name, cost, ending, order_text, limit=limit)

    def _write_beyond(
        self,
        name: Name,
        kind: str,
        items: Sequence[Item],
        order: tuple[PropertyShape, str],
        *,
        cost: float = 0.0,
    ) -> Iterator[GraphPlan]:
        """Yield the statement for nodes whose property is more, less or equal to a named one's."""
        shape, sign = order
        for chain in self._chains_to(kind, items):
            writer = StatementWriter(self._model)
            named, first = writer.named(name), writer.kind(chain.kind)
            answer = writer.follow(first, chain.steps)[-1]
            column = quote_name(shape.name)
            both = [sort_key(f"{node}.{column}", shape) for node in (answer, named)]
            writer.where += [f"{both[0]} {sign} {both[1]}", f"{answer} <> {named}"]
            value, number = writer.name_of(answer, kind), int(answer[1:])
            writer.hops.append((number, number))
            label, total = self._label(Chain(kind)), cost + chain.cost
            if self._counts:
                ending = count_ending(answer, value, label)
                yield writer.plan(value, total, ending, is_count=True)
            else:
                ending = f"RETURN DISTINCT {value} AS {quote_name(label)}"
                yield writer.plan(value, total, ending)

    def _chains_to(self, kind: str, items: Sequence[Item]) -> Iterator[Chain]:
        """Yield chains that use all items and end at a kind that the question may ask for."""
        if not items and self._fits(Chain(kind), None):
            yield Chain(kind)
        for start, rest, origin in self._starts() if items else ():
            left = [item for item in rest if item in items]
            for chain in self._finder.find(start, None, left, origin=origin):
                if chain.end == kind and not chain.properties and self._fits(chain, None):
                    yield chain

    def _test_order(self, kind: str, shape: PropertyShape, sign: str) -> GraphPlan:
        """Return the statement that compares a property of two named nodes."""
        writer = StatementWriter(self._model)
        one, two = (writer.named(name) for name in self.names)
        column = quote_name(shape.name)
        names = f"[{writer.name_of(one, kind)}, {writer.name_of(two, kind)}]"
        keys = [sort_key(f"{node}.{column}", shape) for node in (one, two)]
        test = f"{keys[0]} {sign} {keys[1]}"
        writer.where += [f"{node}.{column} IS NOT NULL" for node in (one, two)]
        writer.hops += [(int(node[1:]), int(node[1:])) for node in (one, two)]
        ending = f"RETURN {test} AS {HOLDS}, {names} AS {quote_name(self._label(Chain(kind)))}"
        shown = tuple(str(name.value) for name in self.names)
        return writer.plan(writer.name_of(one, kind), 0.0, ending, is_check=True, names=shown)

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
            last = chain.steps[-1] if chain.steps else None
            is_thing = last is not None and (
                last.link.has_values or (last.link.has_agents and last.reaches_doer is False)
            )
            is_person = self._model.is_person(chain.end)
            if shape is not None or is_person is False or (is_person is None and is_thing):
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


def _noun_starts(link: GraphLink, role: Role, *, adds: bool) -> list[Chain]:
    """Return chains to the nodes that a noun means, and from them: directors, their films.

    Between nodes of one kind, those that are counted are at the start, all others at the end.
    """
    if link.doer is None:
        return []
    to = Step(link, link.doer != (role is Role.DOER))
    chains = [Chain(to.back.end, (to,), cost=2 * _FAR), Chain(to.end, (to.back,), cost=4 * _FAR)]
    return chains if link.source != link.target else chains[adds : adds + 1]


def _is_plausible(comparison: AmountComparison, values: Iterable[PropertyValue]) -> bool:
    """Return False if a number with a unit is far from all values, which may have another one."""
    numbers = [abs(v) for v in values if isinstance(v, int | float) and v]
    if not numbers or not comparison.number:
        return True
    return min(numbers) / _FAR_OFF < abs(comparison.number) < max(numbers) * _FAR_OFF
