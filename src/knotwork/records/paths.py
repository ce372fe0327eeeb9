"""Paths in the knowledge graph, each hop with the passage that states it."""

from __future__ import annotations

from dataclasses import dataclass, field

from knotwork.records.documents import Span


@dataclass(frozen=True, slots=True)
class Hop:
    """One relation of a path, walked from ``source`` to ``target`` (ids of entities).

    ``forward`` tells whether the relation itself goes that way. It stands in the chunk
    ``chunk_id``, at ``span`` of its document where that is known.
    """

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    forward: bool
    chunk_id: str
    span: Span | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Hops of which each begins where the last one ends; ``scores`` are parts of ``score``.

    ``answers`` are the names of all that paths over the same relations lead to, this path's own
    first: their ends or, where a path ends at another entity of the question, what lies between.
    ``walks`` are the paths to the answers after the first, in their order, of as many as are cited.
    """

    hops: tuple[Hop, ...]
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    walks: tuple[tuple[Hop, ...], ...] = ()

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The entities on the path, in order."""
        return (self.hops[0].source, *(hop.target for hop in self.hops)) if self.hops else ()

    @property
    def text(self) -> str:
        """The path as a person reads it: ``A -relation→ B ←relation- C``."""
        if not self.hops:
            return ""
        parts = [self.hops[0].source_name]
        for hop in self.hops:
            arrow = f"-{hop.relation}→" if hop.forward else f"←{hop.relation}-"
            parts += [arrow, hop.target_name]
        return " ".join(parts)
