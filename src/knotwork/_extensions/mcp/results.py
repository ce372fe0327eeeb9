"""Results of the MCP tools: compact views of the shared shapes, and each as text.

A view has fewer keys, entities by name, and the URI of a resource instead of a document's id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any
from urllib.parse import quote

from knotwork._indexing.report import Failure, IndexReport
from knotwork._indexing.resolution.resolver import MergedEntity, NamedDecision, NamedHomonym
from knotwork._shapes.base import Json, Rounded, View, typed
from knotwork._shapes.results import CITATION, describe_evidence, locate
from knotwork._stores.base import Store
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    AnswerPiece,
    Edge,
    EdgeType,
    Evidence,
    GraphPath,
    Hop,
    Node,
    QueryResult,
    Span,
    Strength,
    Subgraph,
    lead_gap,
)

_TIME = "Seconds in the recording where it is spoken; null for other documents"
_PLACE: dict[str, Any] = {
    "document": Annotated[str, "URI of the document"],
    "title": str,
    "section": str,
    "page": str,
    "start": Annotated[int, "Offset of the first character in the text of the document"],
    "end": Annotated[int, "Offset after the last character"],
    "score": Rounded,
    "chunk_id": str,
    "start_s": Annotated[float | None, _TIME],
    "end_s": Annotated[float | None, _TIME],
    "box": Annotated[
        list[float] | None,
        "Left, top, right and bottom edge on a scanned page, as shares of its width and height; "
        "null for other documents",
    ],
    "resource": Annotated[str, "URI of the resource with exactly this passage"],
}
PASSAGE = View("PassageResult", None, "A passage of a document.", **_PLACE, text=str)
HOP = View(
    "PathHop",
    Hop,
    "One relation of a path, with the passage that states it.",
    "source relation target chunk_id",
    source=(str, lambda hop: hop.source_name if hop.forward else hop.target_name),
    target=(str, lambda hop: hop.target_name if hop.forward else hop.source_name),
)
PATH = View(
    "PathResult",
    GraphPath,
    "A path in the knowledge graph.",
    "text score links=hops",
    score=Rounded,
    links=HOP.many,
)
PATHS = View(
    "PathsResult",
    None,
    "Paths of at most five relations between two entities, best first.",
    paths=PATH.many,
)
ROWS = View(
    "QueryRows",
    QueryResult,
    "The rows that a query returned.",
    "language statement columns rows truncated place source parameters",
    truncated=Annotated[bool, "Whether there are more rows than the limit"],
    place=Annotated[str, "The graph or the tables that the statement read"],
    source=Annotated[
        str, "The retriever that wrote the statement, or retrieval_query; may be empty"
    ],
    parameters=dict[str, Any],
)
SEARCH = View(
    "SearchResult",
    Evidence,
    "The evidence found for a question, best first.",
    "question=query.text retriever confidence passages paths results notes",
    confidence=Annotated[
        Rounded, "0 to 1: the estimated probability that the passages contain an answer"
    ],
    passages=PASSAGE.many,
    paths=PATH.many,
    results=ROWS.many,
)
ANSWER_SOURCE = View(
    "AnswerSource",
    None,
    "A source of an answer: characters `start` to `end` of the document are the quote.",
    **_PLACE,
    number=int,
    quote=str,
)
ANSWER_PART = View(
    "AnswerPart",
    AnswerPiece,
    "A part of a document that answers, as it is in the document.",
    kind=Annotated[str, "sentence, item, list, row, table, definition, code or section"],
    citation=Annotated[int, "Number of its source"],
)
REPLY = View(
    "AnswerResult",
    Answer,
    "An answer. [1], [2], … in its text refer to its sources. `pieces` are the parts of documents "
    "that the text consists of, empty if a model wrote it. `results` are the rows of the query "
    "that answers the question, and of retrieval_query.",
    "question text short answered reason confidence strength pieces sources results mode model "
    "notes",
    text=Annotated[str, "Markdown"],
    short=Annotated[str, "The answer in a few words, if it is certain; else empty"],
    answered=Annotated[bool, "False if the documents contain no answer; see reason"],
    confidence=Annotated[
        Rounded | None,
        "0 to 1: the estimated probability that it is right; null for outlines, counts",
    ],
    strength=Annotated[
        Strength | None,
        "The confidence as a word: strong, weak or none; null if confidence is null",
    ],
    pieces=ANSWER_PART.many,
    sources=ANSWER_SOURCE.many,
    results=ROWS.many,
    model=Annotated[str, "The model that wrote it; empty if sentences are quoted"],
)
ENTITY = View(
    "EntityResult",
    Node,
    "An entity of the knowledge graph.",
    "id name label",
    type=(str, lambda node: str(node.properties.get("type", ""))),
)
RELATION = View(
    "RelationResult",
    Edge,
    "A relation between two entities, with the chunks that state it.",
    "source relation=name target weight chunk_ids=chunks",
)


def _edges_of(subgraph: Subgraph, *, co_occurring: bool) -> list[Json]:
    names = {node.id: node.name for node in subgraph.nodes}
    return [
        RELATION(edge, source=names[edge.source], target=names[edge.target])
        for edge in subgraph.edges
        if (edge.type == EdgeType.CO_OCCURS) is co_occurring
    ]


SUBGRAPH = View(
    "SubgraphResult",
    Subgraph,
    "A part of the graph, strongest first: relations that chunks state between entities, and "
    "co-occurrences, pairs of entities in one sentence.",
    "things=nodes",
    things=ENTITY.many,
    relations=(RELATION.many, lambda subgraph: _edges_of(subgraph, co_occurring=False)),
    co_occurrences=(RELATION.many, lambda subgraph: _edges_of(subgraph, co_occurring=True)),
)
FINDING = View(
    "ReportFinding",
    None,
    "A finding of a community report, and the passages that support it.",
    text=str,
    resources=list[str],
)
COMMUNITY = View(
    "CommunityResult",
    None,
    "A group of closely related entities, with its report.",
    **typed(str, "id title summary resource"),
    level=Annotated[int, "0 is the top level"],
    parent=str | None,
    size=Annotated[int, "Number of entities"],
    members=Annotated[list[str], "Names of the most important entities"],
    rating=float,
    findings=FINDING.many,
)
COMMUNITIES = View(
    "CommunitiesResult", None, "Communities with their reports.", communities=COMMUNITY.many
)
MERGED = View("MergedEntity", MergedEntity, "An entity with several names.", "names chunks")
SPLIT = View(
    "SplitPair",
    NamedDecision,
    "Two names that are kept as different entities.",
    "first second reason=decision.reason",
)
HOMONYM = View(
    "HomonymResult",
    NamedHomonym,
    "A name shared by several entities, with the documents of each.",
    "name documents",
)
SAME_NAMES = View(
    "NamesResult",
    None,
    "Merged entities, names kept apart, and names shared by several entities.",
    things=MERGED.many,
    apart=SPLIT.many,
    homonyms=HOMONYM.many,
    compared=Annotated[bool, "Whether entity resolution has run"],
)
UNREAD = View(
    "FailedFile", Failure, "A file that could not be read, and why.", "uri reason message"
)
INDEXED = View(
    "IndexResult",
    IndexReport,
    "The result of an indexing run.",
    "added changed unchanged removed unread=failures documents=total_documents "
    "chunks=total_chunks entities=total_entities notes",
    unread=UNREAD.many,
    documents=Annotated[int, "Documents in the index now"],
)


SCHEME = "knotwork"
_UNQUOTED = "/:@!$'()*,;=+~"
"""Characters of a document URI that are not percent-encoded in the URI of its resource."""


def document_resource_uri(uri: str, span: Span | None = None) -> str:
    """Return the URI of the resource with the text of a document, or with one span of it."""
    resource = f"{SCHEME}://documents/{quote(uri, safe=_UNQUOTED)}"
    return resource if span is None else f"{resource}?start={span.start}&end={span.end}"


def report_resource_uri(community_id: str) -> str:
    """Return the URI of the resource with the report of a community."""
    return f"{SCHEME}://reports/{community_id}"


def _locate(place: Json) -> Json:
    resource = document_resource_uri(place["document"], place["span"])
    return place | locate(place) | {"resource": resource}


def to_search_result(evidence: Evidence, store: Store) -> Json:
    """Return the JSON of evidence; hits of deleted documents are left out."""
    hits = describe_evidence(evidence, store)["hits"]
    return SEARCH(evidence, passages=[_locate(hit) for hit in hits if hit["document"]])


def to_answer_result(answer: Answer) -> Json:
    """Return the JSON of an answer with the resource of each source."""
    return REPLY(answer, sources=[_locate(CITATION(cited)) for cited in answer.citations])


def to_community_result(community: Json) -> Json:
    """Return the JSON of a community with the names of its most important members."""
    findings = [
        {
            "text": finding["text"],
            "resources": [
                document_resource_uri(s["document"], s["span"]) for s in finding["supports"]
            ],
        }
        for finding in community["findings"]
    ]
    return COMMUNITY(
        community,
        members=[member["name"] for member in community["members"]],
        findings=findings,
        resource=report_resource_uri(community["id"]),
    )


PASSAGE_CHARACTERS = 700
FEWEST_CHARACTERS = 160
ALL_PASSAGES_CHARACTERS = 12_000
"""Limit for all passages of one result; with many, each is cut. The object has the full text."""

SUBGRAPH_CHARACTERS = 6_000
"""Limit for the text of a subgraph. The object has all of it."""

MOST_LINES = 60


def format_passages(found: Json) -> str:
    """Return the numbered passages with their positions, then paths, rows and notes."""
    if not (found["passages"] or found["paths"] or found["results"]):
        return "\n".join(["Nothing was found.", *found["notes"]])
    share = ALL_PASSAGES_CHARACTERS // max(len(found["passages"]), 1)
    most = min(max(share, FEWEST_CHARACTERS), PASSAGE_CHARACTERS)
    parts = [
        f"[{number}] {_location(item)}\n{_shorten(item['text'], most)}"
        for number, item in enumerate(found["passages"], start=1)
    ]
    parts += [f"Path: {path['text']}" for path in found["paths"]]
    parts += [format_rows(rows) for rows in found["results"]]
    return "\n\n".join([*parts, *found["notes"]])


def format_answer(reply: Json) -> str:
    """Return the answer with its confidence, queries and sources."""
    lead = f"{reply['short']}{lead_gap(reply['text'])}" if reply["short"] else ""
    lines = [lead + reply["text"], ""]
    if not reply["answered"] and reply["reason"]:
        lines.append(f"Reason: {reply['reason']}")
    if reply["answered"] and reply["confidence"] is not None:
        lines.append(f"Confidence: {reply['confidence']:.2f} ({reply['strength']})")
    for rows in reply["results"]:
        lines.append(f"Query{_query_scope(rows)}: {' '.join(rows['statement'].split())}")
        if rows["source"] == RETRIEVAL_QUERY:  # the rows of other queries are in the answer's text
            lines.append(format_rows(rows))
    if reply["sources"]:
        lines.append("Sources:" if reply["answered"] else "Nearest passages:")
    lines += [
        f"[{source['number']}] {_location(source)}: “{_shorten(source['quote'], 200)}”"
        for source in reply["sources"]
    ]
    return "\n".join([*lines, *reply["notes"]]).rstrip()


def format_subgraph(subgraph: Subgraph) -> str:
    """Return as much of a subgraph as fits."""
    return subgraph.format(budget=SUBGRAPH_CHARACTERS)


def format_paths(found: Json) -> str:
    """Return one line per path."""
    if not found["paths"]:
        return "No path of at most five relations found."
    return _join_lines(path["text"] for path in found["paths"])


def format_communities(found: Json) -> str:
    """Return the title and the findings of each community report."""
    if not found["communities"]:
        return (
            "No matching community. An index has its communities after `knotwork communities`, or "
            "once its server has built them."
        )
    parts = [
        "\n".join([
            f"{item['title']} (level {item['level']}, {item['size']} entities, {item['resource']})",
            *(f"• {finding['text']}" for finding in item["findings"]),
        ])
        for item in found["communities"]
    ]  # fmt: skip
    return "\n\n".join(parts)


def format_names(names: Json) -> str:
    """Return one line per merged entity, per pair kept apart, and per ambiguous name."""
    lines = [" = ".join(thing["names"]) for thing in names["things"]]
    lines += [f"{pair['first']} ≠ {pair['second']}: {pair['reason']}" for pair in names["apart"]]
    lines += [
        f"{item['name']} is the name of {len(item['documents'])} entities, in "
        + "; in ".join(", ".join(documents) for documents in item["documents"])
        for item in names["homonyms"]
    ]
    nothing = "No merged names." if names["compared"] else "Entity resolution has not run."
    return _join_lines(lines) if lines else nothing


def format_rows(found: Json) -> str:
    """Return a header and one line per row, with values separated by bars."""
    lines = [" | ".join(found["columns"])]
    lines += [" | ".join(_shorten(str(value), 200) for value in row) for row in found["rows"]]
    if found["truncated"]:
        lines.append("There are more rows.")
    return _join_lines(lines) if found["rows"] else "No rows."


def format_index_report(done: Json) -> str:
    """Return the counts of an indexing run and the files that could not be read."""
    counts = (
        f"{done['added']} added, {done['changed']} changed, {done['unchanged']} unchanged, "
        f"{len(done['removed'])} removed. The index has {done['documents']} documents."
    )
    unread = (f"Not read: {item['uri']}: {item['message']}" for item in done["unread"])
    return _join_lines([counts, *unread, *done["notes"]])


def _location(place: Json) -> str:
    parts = (place["document"], place["section"], f"characters {place['start']}-{place['end']}")
    return ", ".join(filter(None, parts))


def _query_scope(rows: Json) -> str:
    bound = ", ".join(f"{name} = {value!r}" for name, value in rows["parameters"].items())
    place = f" on {rows['place']}" if rows["place"] else ""
    return f"{place} with {bound}" if bound else place


def _shorten(text: str, most: int) -> str:
    """Return a text on one line, cut to at most ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _join_lines(lines: Iterable[str]) -> str:
    """Join at most `MOST_LINES` lines, and say how many are left out."""
    listed = list(lines)
    rest = len(listed) - MOST_LINES
    return "\n".join([*listed[:MOST_LINES], f"… and {rest} more."] if rest > 0 else listed)
