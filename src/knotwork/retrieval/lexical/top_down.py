"""Top-down: choose documents, then their sections, by the evidence in them, then their chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Hit, Query, Section
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import Passages, replace_hits
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import Store
from knotwork.text.terms import content_terms

BREADTH = 100
"""Hits of the retriever below that count as evidence for the sections above them."""

HALVING = 0.5
"""What each further hit adds to the evidence of a section, of the one before."""

SHOWN = 3


class TopDownRetriever:
    """The hits of another retriever, lifted by the sections in which they stand.

    The evidence for a section is that of its best hits, each counting half of the one before, more
    where its title speaks of the question (``titles``). From the roots down, the ``documents`` best
    and then the ``sections`` best of each level are entered; a hit gains ``lift`` times the mean
    evidence of what was entered above it. A title alone, or one passage alone, thus no longer
    decides; hits outside of what was entered gain nothing.
    """

    name = "top_down"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        documents: int = 5,
        sections: int = 3,
        lift: float = 0.2,
        titles: float = 0.3,
    ) -> None:
        if documents < 1 or sections < 1:
            raise ConfigError("`documents` and `sections` must be at least 1.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._documents = documents
        self._sections = sections
        self._lift = lift
        self._titles = titles
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks of the best sections of the best documents first."""
        evidence = self._base.retrieve(Query(query.text, max(BREADTH, query.k)))
        passages = Passages(self._store)
        asked = frozenset(content_terms(query.text))
        by_document: dict[str, list[Hit]] = {}
        for hit in evidence.hits:
            by_document.setdefault(hit.chunk.document_id, []).append(hit)
        roots = {
            document_id: self._gather(hits, hits[0].chunk.document_title, asked)
            for document_id, hits in by_document.items()
        }
        strongest = max(roots.values(), default=0.0) or 1.0
        entered = sorted(roots, key=lambda i: (-roots[i], i))[: self._documents]
        lifts: dict[str, float] = {}
        for document_id in entered:
            hits = by_document[document_id]
            sections = passages.sections(document_id)
            start = [roots[document_id] / strongest]
            lifts |= self._descend(sections, hits, start, strongest, asked)
        hits = [self._lifted(hit, lifts.get(hit.chunk.id, 0.0)) for hit in evidence.hits]
        trace = [*evidence.trace]
        for document_id in entered[:SHOWN]:
            title = by_document[document_id][0].chunk.document_title
            trace.append(f"Entered “{title or passages.document(document_id).uri}”.")
        done = replace_hits(evidence, hits, query=query, retriever=self.name)
        return replace(done, trace=tuple(trace))

    def _gather(self, hits: Sequence[Hit], title: str, asked: Collection[str]) -> float:
        """Return the evidence for a section with these hits, best first."""
        total = sum(max(hit.score, 0.0) * HALVING**place for place, hit in enumerate(hits))
        told = {term for term in content_terms(title) if term in asked}
        return total * (1 + self._titles * len(told) / max(len(asked), 1))

    def _descend(
        self,
        sections: Sequence[Section],
        hits: Sequence[Hit],
        above: list[float],
        strongest: float,
        asked: Collection[str],
    ) -> dict[str, float]:
        """Return the mean evidence above each hit of what is entered, by the id of its chunk."""
        children: dict[str | None, list[Section]] = {}
        for section in sections:
            children.setdefault(section.parent_id, []).append(section)
        lifts: dict[str, float] = {}
        open_nodes = [(section, list(hits), above) for section in children.get(None, [])]
        while open_nodes:
            node, inside, values = open_nodes.pop()
            lifts |= {hit.chunk.id: sum(values) / len(values) for hit in inside}
            found = self._below(children.get(node.id, []), inside, asked)
            for child, held, value in found[: self._sections]:
                open_nodes.append((child, held, [*values, value / strongest]))
            for _, held, _ in found[self._sections :]:
                for hit in held:
                    lifts.pop(hit.chunk.id, None)
        return lifts

    def _below(
        self, sections: Sequence[Section], hits: Sequence[Hit], asked: Collection[str]
    ) -> list[tuple[Section, list[Hit], float]]:
        """Return subsections with the hits in them and their evidence, the best first."""
        found = []
        for section in sections:
            held = [
                hit for hit in hits if section.span.start <= hit.chunk.span.start < section.span.end
            ]
            if held:
                found.append((section, held, self._gather(held, section.title, asked)))
        return sorted(found, key=lambda item: (-item[2], item[0].id))

    def _lifted(self, hit: Hit, value: float) -> Hit:
        gain = self._lift * value
        scores: Mapping[str, float] = hit.scores | {"sections": gain}
        return replace(hit, score=hit.score + gain, scores=dict(scores))
