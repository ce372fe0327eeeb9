"""Follow planned relations through the graph from a named entity, and cite every hop.

After Luo et al., "Reasoning on Graphs" (2024): a plan lists the relations that lead to the
answer, and counts only if the graph has such a path. Plans come from the words of the question,
or from a model that sees the relations around the entity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from knotwork._extensions.queries.plan_assembly import assemble_chains, read_answer_wording
from knotwork._extensions.queries.query_plans import LinkedQuestion
from knotwork._extensions.queries.target_schema import (
    EntityNames,
    KindShape,
    LinkShape,
    SchemaLinker,
    TargetSchema,
    find_mentions,
)
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_material import escape_tags
from knotwork._retrieval.base import HybridRetriever, Retriever
from knotwork._retrieval.fusion import raise_hits
from knotwork._retrieval.question import request_about
from knotwork._stores.base import Store
from knotwork._synthesis.prompt_context import says_nothing
from knotwork._text.names import normal_form
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Edge, EdgeType, Entity, Evidence, GraphPath, Hit, Hop, Query

RELATIONS_STAGE = "relations"
FAN = 60
MOST_PATHS = 10
MOST_RELATIONS = 80
MOST_HOPS = 4
"""The longest path with detours."""
_WIDEST = 40
_DETOUR = 0.3
"""What a path is worth after a hop that its plan does not name."""
_PATH_SHARE = 0.5
"""What a passage on the best path gains, as a share of the best score of the text search."""
_LINE = re.compile(r"^[^\w\n]*+path\s*[|｜]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)


class RelationPlan(NamedTuple):
    """Relations to follow from an entity; each step is a set of equivalent relations."""

    start: str
    steps: tuple[frozenset[str], ...]
    origin: str


class _Way(NamedTuple):
    """Hops from the start of a plan to an entity, and what they are worth, up to 1."""

    end: str
    hops: tuple[Hop, ...]
    score: float


class GraphReasoner:
    """Finds paths that fit a plan of relations, and raises the scores of their passages."""

    name = "reasoning"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        text: Retriever | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._model = model
        self._text = text or HybridRetriever(store=store, embedder=embedder)

    def retrieve(self, query: Query) -> Evidence:
        """Return the paths of the first plan that the graph supports, and the passages found.

        If it supports none, a plan may be followed with detours: one relation that it does not
        name, before a hop that the graph lacks. The trace says so, and such paths count less.
        """
        evidence = replace(self._text.retrieve(query), retriever=self.name)
        trace: list[str] = []
        notes = list(evidence.notes)
        plans = self._plans(query.text, notes)
        for may_detour in (False, True):
            for plan in plans:
                paths = self._walk(plan, may_detour=may_detour)
                trace.append(f"plan {plan.origin}: {_show_plan(plan, paths)}")
                if paths:
                    hits = self._raise(evidence, paths, worth=_DETOUR if may_detour else 1.0)
                    found = replace(evidence, hits=hits, paths=tuple(paths))
                    return replace(found, trace=tuple(trace), notes=tuple(notes))
        return replace(evidence, trace=tuple(trace), notes=tuple(notes))

    def _plans(self, question: str, notes: list[str]) -> list[RelationPlan]:
        mentions = find_mentions(question, EntityNames(self._store))
        forms = [normal_form(str(m.found[0].stored.value)) for m in mentions]
        entities = self._store.graph.lookup(forms)
        if not entities:
            return []
        relations = self._relations_around(list(entities.values()))
        schema = TargetSchema(
            "cypher",
            (KindShape("Entity", len(entities)),),
            tuple(LinkShape("RELATES", "Entity", "Entity", n, r) for r, n in relations.items()),
        )
        asked = LinkedQuestion(question, schema, mentions)
        plans = self._by_model(asked, entities, notes)
        linker = SchemaLinker(schema, embedder=self._embedder)
        for plan in assemble_chains(asked, linker, read_answer_wording(question)):
            start = entities.get(normal_form(str(plan.nodes[0].conditions[0].value)))
            if start is not None:
                steps = tuple(frozenset(link.relation for link in hop.links) for hop in plan.hops)
                plans.append(RelationPlan(start.id, steps, "by rules"))
                # Of two words for relations, either may be the one next to the entity.
                if len(steps) > 1:
                    plans.append(RelationPlan(start.id, steps[::-1], "by rules"))
        return plans

    def _relations_around(self, entities: Sequence[Entity]) -> dict[str, int]:
        """Return the most frequent relations within two hops of entities, with their counts."""
        counts: dict[str, int] = {}
        frontier = [entity.id for entity in entities]
        for _ in range(2):
            following: dict[str, None] = {}
            for here, edges in self._edges(frontier).items():
                for edge in edges:
                    counts[edge.relation] = counts.get(edge.relation, 0) + 1
                    following[edge.target if edge.source == here else edge.source] = None
            frontier = list(following)[:_WIDEST]
        best = sorted(counts, key=lambda r: (-counts[r], r))[:MOST_RELATIONS]
        return {relation: counts[relation] for relation in best if relation}

    def _edges(self, ids: Sequence[str]) -> Mapping[str, Sequence[Edge]]:
        return self._store.graph.neighbours(ids, types=[EdgeType.RELATES], fan=FAN)

    def _by_model(
        self, asked: LinkedQuestion, entities: Mapping[str, Entity], notes: list[str]
    ) -> list[RelationPlan]:
        if self._model is None:
            return []
        request = request_about(
            asked.text,
            "knotwork._extensions.agents",
            "relations",
            self._model,
            stage=RELATIONS_STAGE,
            output_tokens=200,
            question=escape_tags(asked.text.strip()),
            names=escape_tags("\n".join(sorted(e.name for e in entities.values()))),
            relations=escape_tags("\n".join(link.relation for link in asked.schema.links)),
        )
        known = {link.relation for link in asked.schema.links}
        try:
            return complete_checked(
                self._model, request, lambda reply: parse_plans(reply, entities, known)
            )
        except ModelError as error:
            notes.append(f"The language model did not plan a path: {error}")
            return []

    def _walk(self, plan: RelationPlan, *, may_detour: bool = False) -> list[GraphPath]:
        """Return the paths of a plan in the graph, strongest first, without loops."""
        if plan.start not in self._store.graph.entities([plan.start]):
            return []
        partial = [_Way(plan.start, (), 1.0)]
        for step in plan.steps:
            grown = self._follow(partial, step, start=plan.start)
            if not grown and may_detour:
                around = self._follow(partial, None, start=plan.start)
                short = [way for way in around if len(way.hops) < MOST_HOPS]
                worth = [way._replace(score=_DETOUR * way.score) for way in short]
                grown = self._follow(worth, step, start=plan.start)
            partial = grown
        return self._name(partial[:MOST_PATHS])

    def _follow(
        self, ways: Sequence[_Way], step: frozenset[str] | None, *, start: str
    ) -> list[_Way]:
        """Return ways that are one hop longer, by relations of a step or by any, best first."""
        edges = self._edges([way.end for way in ways])
        grown = []
        for here, hops, score in ways:
            visited = {start, *(hop.target for hop in hops)}
            around = edges.get(here, ())
            fitting = [e for e in around if e.chunks and (step is None or e.relation in step)]
            for edge in fitting:
                other = edge.target if edge.source == here else edge.source
                if other not in visited:
                    share = score / len(fitting) ** 0.5
                    forward, first = edge.source == here, edge.chunks[0]
                    hop = Hop(
                        here, "", edge.relation, other, "", forward, first, weight=edge.weight
                    )
                    grown.append(_Way(other, (*hops, hop), share))
        return sorted(grown, key=lambda way: (-way.score, way.end))[:_WIDEST]

    def _name(self, ways: Sequence[_Way]) -> list[GraphPath]:
        """Return ways as paths with the names of their entities."""
        ends = {end for way in ways for hop in way.hops for end in (hop.source, hop.target)}
        names = {key: entity.name for key, entity in self._store.graph.entities(ends).items()}

        def named(hop: Hop) -> Hop:
            source, target = (names.get(end, end) for end in (hop.source, hop.target))
            return replace(hop, source_name=source, target_name=target)

        return [
            GraphPath(tuple(map(named, way.hops)), way.score, {"plan": way.score}) for way in ways
        ]

    def _raise(
        self, evidence: Evidence, paths: Sequence[GraphPath], *, worth: float
    ) -> tuple[Hit, ...]:
        """Return the hits with those on paths raised; ``worth`` is that of the plan, up to 1."""
        top = max((hit.score for hit in evidence.hits), default=1.0)
        best = max(path.score for path in paths)
        gains: dict[str, float] = {}
        for path in paths:
            for hop in path.hops:
                gain = worth * _PATH_SHARE * top * path.score / best
                gains[hop.chunk_id] = max(gain, gains.get(hop.chunk_id, 0.0))
        return raise_hits(evidence, gains, part="path", store=self._store)


def _show_plan(plan: RelationPlan, paths: Sequence[GraphPath]) -> str:
    """Return a plan for the trace, with how many paths fit it and by which detour."""
    shown = " -> ".join("|".join(sorted(step)[:3]) for step in plan.steps)
    found = f"{shown}: {len(paths)} paths in the graph"
    if not paths or len(paths[0].hops) == len(plan.steps):
        return found
    taken = " -> ".join(hop.relation for hop in paths[0].hops)
    return f"{found}, with a detour: {taken}"


def parse_plans(
    reply: ChatReply, entities: Mapping[str, Entity], relations: frozenset[str] | set[str]
) -> list[RelationPlan]:
    """Parse plans, ``path | NAME | relation | relation``, one a line; "none" is an empty list.

    Raises Unparsable if no line is a path of known relations.
    """
    plans = []
    by_form = {normal_form(relation): relation for relation in relations}
    for match in _LINE.finditer(reply.text):
        name, *steps = [part.strip() for part in re.split(r"[|｜]", match[1])]
        entity = entities.get(normal_form(name))
        known = [by_form.get(normal_form(step)) for step in steps]
        found = [frozenset({step}) for step in known if step is not None]
        if entity is not None and found and len(found) == len(steps):
            plans.append(RelationPlan(entity.id, tuple(found), "by the model"))
    if not plans and not says_nothing(reply.text):
        raise Unparsable("The reply has no path of known relations from a named entity.")
    return plans
