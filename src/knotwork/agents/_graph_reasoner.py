"""Follow planned relations through the graph from a named entity, and cite every hop.

After Luo et al., "Reasoning on Graphs" (2024): a plan lists the relations that lead to the
answer, and counts only if the graph has such a path. Plans come from the words of the question,
or from a model that sees the relations around the entity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, complete_checked
from knotwork._inference.embedder import Embedder
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import escape_tags
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.basic_retrievers import HybridRetriever
from knotwork._retrieval.queries.chain_plans import assemble_chains
from knotwork._retrieval.queries.query_plans import LinkedQuestion
from knotwork._retrieval.queries.question_slots import read_answer_wording
from knotwork._retrieval.queries.schema_linker import SchemaLinker
from knotwork._retrieval.queries.stored_values import EntityNames, find_mentions
from knotwork._retrieval.queries.target_schema import KindShape, LinkShape, TargetSchema
from knotwork._stores.base import Store
from knotwork._text.languages import detect_language
from knotwork._text.names import normal_form
from knotwork.agents._prompting import fill_prompt
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Edge, EdgeType, Entity, Evidence, GraphPath, Hit, Hop, Query

RELATIONS_STAGE = "relations"
FAN = 60
MOST_PATHS = 10
MOST_RELATIONS = 80
_WIDEST = 40
_PATH_SHARE = 0.5
"""What a passage on the best path gains, as a share of the best score of the text search."""
_LINE = re.compile(r"^[^\w\n]*+path\s*[|｜]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_NONE = re.compile(r"\W*(?:none|无|没有)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RelationPlan:
    """Relations to follow from an entity; each step is a set of equivalent relations."""

    start: str
    steps: tuple[frozenset[str], ...]
    origin: str


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
        """Return the paths of the first plan that the graph supports, and the passages found."""
        evidence = replace(self._text.retrieve(query), retriever=self.name)
        trace: list[str] = []
        notes = list(evidence.notes)
        for plan in self._plans(query.text, notes):
            paths = self._walk(plan)
            shown = " -> ".join("|".join(sorted(step)[:3]) for step in plan.steps)
            trace.append(f"plan {plan.origin}: {shown}: {len(paths)} paths in the graph")
            if paths:
                hits = self._raise(evidence, paths)
                return replace(
                    evidence, hits=hits, paths=tuple(paths), trace=tuple(trace), notes=tuple(notes)
                )
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
        blanks = {
            "question": escape_tags(asked.text.strip()),
            "names": escape_tags("\n".join(sorted(e.name for e in entities.values()))),
            "relations": escape_tags("\n".join(link.relation for link in asked.schema.links)),
        }
        messages = fill_prompt(
            "relations", detect_language(asked.text), blanks, prompts_of(self._model)
        )
        request = ChatRequest(messages, max_output_tokens=200, stage=RELATIONS_STAGE)
        known = {link.relation for link in asked.schema.links}
        try:
            return complete_checked(
                self._model, request, lambda reply: parse_plans(reply, entities, known)
            )
        except ModelError as error:
            notes.append(f"The language model did not plan a path: {error}")
            return []

    def _walk(self, plan: RelationPlan) -> list[GraphPath]:
        """Return the paths of a plan in the graph, strongest first, without loops."""
        start = self._store.graph.entities([plan.start])
        if plan.start not in start:
            return []
        partial: list[tuple[str, tuple[Hop, ...], float]] = [(plan.start, (), 1.0)]
        for step in plan.steps:
            edges = self._edges([here for here, _, _ in partial])
            grown = []
            for here, hops, score in partial:
                visited = {plan.start, *(hop.target for hop in hops)}
                fitting = [e for e in edges.get(here, ()) if e.relation in step]
                for edge in fitting:
                    other = edge.target if edge.source == here else edge.source
                    if other not in visited and edge.chunks:
                        share = score / len(fitting) ** 0.5
                        grown.append((other, (*hops, _hop(edge, here, other)), share))
            partial = sorted(grown, key=lambda item: (-item[2], item[0]))[:_WIDEST]
        return self._name([GraphPath(h, s, {"plan": s}) for _, h, s in partial[:MOST_PATHS] if h])

    def _name(self, paths: Sequence[GraphPath]) -> list[GraphPath]:
        ids = {identifier for path in paths for identifier in path.entity_ids}
        names = {key: e.name for key, e in self._store.graph.entities(ids).items()}
        return [
            replace(
                path,
                hops=tuple(
                    replace(
                        hop,
                        source_name=names.get(hop.source, hop.source),
                        target_name=names.get(hop.target, hop.target),
                    )
                    for hop in path.hops
                ),
            )
            for path in paths
        ]

    def _raise(self, evidence: Evidence, paths: Sequence[GraphPath]) -> tuple[Hit, ...]:
        top = max((hit.score for hit in evidence.hits), default=1.0)
        best = max(path.score for path in paths)
        worth: dict[str, float] = {}
        for path in paths:
            for hop in path.hops:
                gain = _PATH_SHARE * top * path.score / best
                worth[hop.chunk_id] = max(gain, worth.get(hop.chunk_id, 0.0))
        known = {hit.chunk.id: hit for hit in evidence.hits}
        chunks = self._store.documents.chunks([i for i in worth if i not in known])
        hits = [*known.values(), *(Hit(chunk, 0.0) for chunk in chunks.values())]
        raised = [
            replace(
                hit,
                score=hit.score + worth[hit.chunk.id],
                scores={**hit.scores, "path": worth[hit.chunk.id]},
            )
            if hit.chunk.id in worth
            else hit
            for hit in hits
        ]
        return tuple(sorted(raised, key=lambda h: (-h.score, h.chunk.id))[: evidence.query.k])


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
    if not plans and not _NONE.fullmatch(reply.text):
        raise Unparsable("The reply has no path of known relations from a named entity.")
    return plans


def _hop(edge: Edge, here: str, other: str) -> Hop:
    forward = edge.source == here
    return Hop(here, here, edge.relation, other, other, forward, edge.chunks[0], weight=edge.weight)
