"""Nodes, edges and walks of the property graph, the same on every store.

The first half shows each kind of record as a `Node`. The second is the breadth-first walk: a store
hands over `AdjacentEdge`s, whose keys are whatever it uses for nodes (integers or ids; both have
the same order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from knotwork.records import (
    KEYWORD_TYPES,
    Chunk,
    Community,
    CommunityReport,
    Document,
    Edge,
    Entity,
    Label,
    Node,
    QueriedLabel,
    Section,
    content_id,
    entity_label,
)


def document_name(uri: str, title: str) -> str:
    """Return the name of a document's node."""
    return title or uri


def chunk_name(document_title: str, headings: Sequence[str]) -> str:
    """Return the name of a chunk's node: the innermost title above it."""
    return headings[-1] if headings else document_title


def document_node(document: Document) -> Node:
    """Show a document as a node."""
    return Node(
        document.id,
        Label.DOCUMENT,
        document_name(document.uri, document.title),
        {"uri": document.uri, "media_type": document.media_type, "language": document.language},
    )


def section_node(section: Section) -> Node:
    """Show a section as a node."""
    return Node(
        section.id,
        Label.SECTION,
        section.title,
        {
            "document": section.document_id,
            "level": section.level,
            "ordinal": section.ordinal,
            "start": section.span.start,
            "end": section.span.end,
        },
    )


def chunk_node(chunk: Chunk) -> Node:
    """Show a chunk as a node."""
    return Node(
        chunk.id,
        Label.CHUNK,
        chunk_name(chunk.document_title, chunk.headings),
        {
            "document": chunk.document_id,
            "section": chunk.section_id,
            "ordinal": chunk.ordinal,
            "start": chunk.span.start,
            "end": chunk.span.end,
            "text": chunk.text,
        },
    )


def entity_node(entity: Entity) -> Node:
    """Show an entity as a node."""
    return Node(
        entity.id,
        entity_label(entity.type),
        entity.name,
        {
            "type": entity.type,
            "normal_form": entity.normal_form,
            "chunk_count": entity.chunk_count,
        },
    )


def community_node(community: Community, report: CommunityReport | None) -> Node:
    """Show a community as a node, with its report if it has one."""
    properties: dict[str, str | int | float] = {
        "level": community.level,
        "entity_count": community.size,
        "chunk_count": len(community.chunk_ids),
    }
    if report is not None:
        properties |= {
            "title": report.title,
            "summary": report.summary,
            "rating": report.rating,
            "language": report.language,
        }
    name = report.title if report else ""
    return Node(community.id, QueriedLabel.COMMUNITY, name, properties)


def question_id(chunk_id: str, text: str) -> str:
    """Return the id of a question that a chunk answers."""
    return content_id("question", chunk_id, text)


def question_node(chunk_id: str, ordinal: int, text: str) -> Node:
    """Show a question that a chunk answers as a node."""
    return Node(
        question_id(chunk_id, text),
        QueriedLabel.QUESTION,
        text,
        {"chunk": chunk_id, "ordinal": ordinal},
    )


def most_frequent(forms: Mapping[str, int]) -> str:
    """Return the most frequent form, the smallest of equals, an empty one for none."""
    return min(forms, key=lambda form: (-forms[form], form), default="")


def entity_type(types: Mapping[str, int], mentions: int) -> str:
    """Return the type of an entity, given how many of its mentions have each type.

    It is a keyword only if all its mentions are: what one text names is an entity.
    """
    named = {type_: times for type_, times in types.items() if type_ not in KEYWORD_TYPES}
    if named or sum(types.values()) < mentions:
        return most_frequent(named)
    return most_frequent(types)


Key = TypeVar("Key", int, str)

EDGE_CHUNKS = 16
"""How many supporting chunks, smallest ids first, an edge shows outside a full scan."""

_BATCH_NODES = 64


class AdjacentEdge(NamedTuple, Generic[Key]):
    """An edge as seen from one of its ends; ``other`` is the far end.

    Its fields stand so that the strongest link sorts first.
    """

    negative_weight: float
    other: Key
    type: str
    relation: str
    source: Key
    target: Key

    @property
    def weight(self) -> float:
        return -self.negative_weight


class WalkResult(NamedTuple, Generic[Key]):
    """Nodes and links in the order they were reached."""

    nodes: list[Key]
    links: list[AdjacentEdge[Key]]


def strongest_edges(links: Iterable[AdjacentEdge[Key]], fan: int | None) -> list[AdjacentEdge[Key]]:
    """Return the links to the ``fan`` strongest neighbours, strongest first.

    Every link to a chosen neighbour is kept, however weak. A link given twice counts once.
    """
    ordered = sorted(set(links))
    if fan is None:
        return ordered
    chosen: set[Key] = set()
    for link in ordered:
        if len(chosen) >= fan:
            break
        chosen.add(link.other)
    return [link for link in ordered if link.other in chosen]


def walk_graph(
    adjacent: Callable[[Sequence[Key]], Iterable[list[AdjacentEdge[Key]]]],
    seeds: Iterable[Key],
    *,
    depth: int,
    limit: int,
) -> WalkResult[Key]:
    """Walk breadth first from ``seeds``, as `GraphStore.explore` describes.

    ``adjacent`` returns the links of each of some nodes, in their order, already cut to the fan.
    It is asked for few nodes at a time, so that reaching ``limit`` saves the rest.
    """
    nodes = dict.fromkeys(seeds)
    taken: dict[tuple[Key, Key, str, str], AdjacentEdge[Key]] = {}
    frontier = list(nodes)
    for _ in range(depth):
        reached: list[Key] = []
        for links in _by_batches(adjacent, frontier):
            for link in links:
                if len(taken) >= limit:
                    return WalkResult(list(nodes), list(taken.values()))
                edge = (link.source, link.target, link.type, link.relation)
                if edge in taken:
                    continue
                taken[edge] = link
                if link.other not in nodes:
                    nodes[link.other] = None
                    reached.append(link.other)
        frontier = reached
    return WalkResult(list(nodes), list(taken.values()))


def _by_batches(
    adjacent: Callable[[Sequence[Key]], Iterable[list[AdjacentEdge[Key]]]], frontier: Sequence[Key]
) -> Iterable[list[AdjacentEdge[Key]]]:
    for start in range(0, len(frontier), _BATCH_NODES):
        yield from adjacent(frontier[start : start + _BATCH_NODES])


def edge_order(edge: Edge) -> tuple[str, str, str, str]:
    """Return the sort key of a full scan."""
    return edge.type, edge.source, edge.target, edge.relation
