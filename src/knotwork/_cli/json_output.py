"""Build the JSON objects that commands print. Their keys are a public interface: docs/cli.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from knotwork._indexing.report import EventKind, IndexEvent, IndexReport, describe_counts
from knotwork._inference.chat import TokenUsage
from knotwork.records import (
    Answer,
    Chunk,
    Document,
    Evidence,
    GraphPath,
    Hit,
    QueryResult,
    Subgraph,
)

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._indexing.enrichment import Enrichment
    from knotwork._indexing.runs import IndexEstimate
    from knotwork._retrieval.entity_lookup import Dossier
    from knotwork.agents._chat import MemoryUpdate
    from knotwork.agents._fact_memory import RememberedFact


DocumentsById = Mapping[str, Document]


def describe_answer(answer: Answer) -> dict[str, Any]:
    """Return the object of `ask --json`. ``mode``, ``model`` and ``results`` are optional keys."""
    described: dict[str, Any] = {
        "question": answer.question,
        "answer": answer.text,
        "short": answer.short,
        "answered": answer.answered,
        "reason": answer.reason,
        "confidence": None if answer.confidence is None else round(answer.confidence, 4),
        "strength": answer.strength,
        "retriever": answer.retriever,
        "citations": [
            {
                "number": citation.number,
                "document": citation.document,
                "title": citation.title,
                "section": citation.section,
                "page": citation.page,
                "span": list(citation.span),
                "quote": citation.quote,
                "chunk_id": citation.chunk_id,
                "score": round(citation.score, 4),
            }
            for citation in answer.citations
        ],
        "usage": _describe_answer_usage(answer),
    }
    if answer.results:
        described["results"] = [describe_result(result) for result in answer.results]
    if answer.mode != "basic":
        described["mode"] = answer.mode
    if answer.model or answer.notes:
        described |= {"model": answer.model, "notes": list(answer.notes)}
    return described


def _describe_answer_usage(answer: Answer) -> dict[str, Any]:
    """Return the usage of an answer; calls reused, money and stages only with a language model."""
    usage = asdict(answer.usage)
    reused, money = usage.pop("reused_calls"), usage.pop("money")
    stages = {stage.pop("stage"): stage for stage in map(dict, usage.pop("stages"))}
    if answer.model or answer.notes:
        usage |= {"reused_calls": reused, "money": describe_money(money)}
    if stages:
        usage["stages"] = stages
    return usage


def describe_fact(fact: RememberedFact) -> dict[str, Any]:
    """Return a fact of `memory list --json`."""
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "since": fact.valid_from,
        "until": fact.valid_to,
        "source": fact.source,
    }


def describe_stated_facts(update: MemoryUpdate, *, tokens: int) -> dict[str, Any]:
    """Return the object of `memory tell --json`."""
    return {
        "learned": [describe_fact(fact) for fact in update.learned],
        "ended": [describe_fact(fact) for fact in update.ended],
        "note": update.note,
        "tokens": tokens,
    }


def describe_evidence(evidence: Evidence, documents: DocumentsById) -> dict[str, Any]:
    """Return the object of `search --json`; ``documents`` are those of the hits, by id."""
    return {
        "query": evidence.query.text,
        "filter": str(evidence.query.filter or ""),
        "retriever": evidence.retriever,
        "confidence": round(evidence.confidence, 4),
        "hits": [
            describe_hit(rank, hit, documents) for rank, hit in enumerate(evidence.hits, start=1)
        ],
        "paths": [describe_path(path) for path in evidence.paths],
        "results": [describe_result(result) for result in evidence.results],
        "trace": list(evidence.trace),
        "notes": list(evidence.notes),
    }


def describe_path(path: GraphPath) -> dict[str, Any]:
    """Return the object of a path in the graph."""
    hops = [
        {**asdict(hop), "span": None if hop.span is None else list(hop.span)} for hop in path.hops
    ]
    return {"text": path.text, "score": path.score, "scores": dict(path.scores), "hops": hops}


def describe_result(result: QueryResult) -> dict[str, Any]:
    """Return the object of a query and its rows."""
    return {
        "language": result.language,
        "statement": result.statement,
        "parameters": dict(result.parameters),
        "columns": list(result.columns),
        "rows": [list(row) for row in result.rows],
        "truncated": result.truncated,
        "seconds": round(result.seconds, 4),
        "place": result.place,
        "source": result.source,
        "confidence": round(result.confidence, 4),
        "row_sources": [
            {**asdict(source), "span": list(source.span)} for source in result.row_sources
        ],
        "row_count": result.row_count,
    }


def describe_hit(rank: int, hit: Hit, documents: DocumentsById) -> dict[str, Any]:
    """Return the object of one hit."""
    document = documents.get(hit.chunk.document_id)
    return {
        "rank": rank,
        "chunk_id": hit.chunk.id,
        "document": document.uri if document else "",
        "title": hit.chunk.document_title,
        "section": " > ".join(hit.chunk.headings),
        "span": list(hit.chunk.span),
        "text": hit.chunk.text,
        "score": hit.score,
        "scores": dict(hit.scores),
        "seeds": list(hit.seeds),
        "path": [{**asdict(step), "sentence": list(step.sentence)} for step in hit.path],
        "sentences": [
            {"span": list(span), "relevance": relevance} for span, relevance in hit.sentences
        ],
    }


def describe_subgraph(subgraph: Subgraph) -> dict[str, Any]:
    """Return the nodes and edges of `explore --json`."""
    return {
        "nodes": [
            {"id": node.id, "label": node.label, "name": node.name, **node.properties}
            for node in subgraph.nodes
        ],
        "edges": [
            {
                "source": edge.source,
                "type": edge.type,
                "target": edge.target,
                "relation": edge.relation,
                "weight": edge.weight,
                "chunks": list(edge.chunks),
            }
            for edge in subgraph.edges
        ],
    }


def describe_dossier(dossier: Dossier) -> dict[str, Any]:
    """Return an entity of `explore --json`."""
    entity = dossier.entity
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "names": list(dossier.names),
        "description": dossier.description,
        "communities": list(dossier.communities),
        "nearby": [
            {"id": other.id, "name": other.name, "is_keyword": other.is_keyword}
            for other in dossier.nearby
        ],
        "passages": [
            {
                "document": passage.document.uri,
                "section": " > ".join(passage.chunk.headings),
                "chunk_id": passage.chunk.id,
                "span": list(passage.chunk.span),
                "text": passage.chunk.text,
            }
            for passage in dossier.passages
        ],
    }


def describe_topics(
    topics: Sequence[Topic],
    names: Mapping[str, str],
    chunks: Mapping[str, Chunk],
    documents: DocumentsById,
) -> dict[str, Any]:
    """Return the object of `communities --json`; ``names`` are those of the members shown."""
    return {"communities": [_describe_topic(t, names, chunks, documents) for t in topics]}


def _describe_topic(
    topic: Topic, names: Mapping[str, str], chunks: Mapping[str, Chunk], documents: DocumentsById
) -> dict[str, Any]:
    community, report = topic.community, topic.report
    return {
        "id": community.id,
        "level": community.level,
        "parent": community.parent_id,
        "size": community.size,
        "members": [
            {"id": m.entity_id, "name": names[m.entity_id], "importance": round(m.importance, 6)}
            for m in community.members
            if m.entity_id in names
        ],
        "title": report.title,
        "summary": report.summary,
        "rating": report.rating,
        "language": report.language,
        "source": report.source,
        "score": round(topic.score, 4),
        "findings": [
            {
                "text": finding.text,
                "supports": [
                    {
                        "document": documents[chunks[s.chunk_id].document_id].uri,
                        "span": list(s.span),
                        "chunk_id": s.chunk_id,
                    }
                    for s in finding.supports
                    if s.chunk_id in chunks
                ],
            }
            for finding in report.findings
        ],
    }


def describe_report(report: IndexReport) -> dict[str, Any]:
    """Return the object of `index --json`."""
    seconds = {stage: round(value, 3) for stage, value in report.seconds.items()}
    described: dict[str, Any] = {
        **describe_counts(report),
        "reused": report.reused,
        "without_vectors": report.without_vectors,
        "seconds": seconds,
        "notes": list(report.notes),
        "interrupted": report.interrupted,
    }
    if report.usage:
        described["model"] = {
            "readings": {str(status): count for status, count in report.readings.items()},
            "usage": describe_model_usage(report.usage),
            "money": describe_money(report.money),
            "made": describe_enrichment(report.enrichment),
        }
    return described


def describe_event(event: IndexEvent) -> dict[str, Any]:
    """Return the object of one line of `index --progress json`."""
    described: dict[str, Any] = {
        "event": str(event.kind),
        "uri": event.uri,
        "done": event.done,
        "total": event.total,
        "chunks": event.chunks,
        "chunks_known": event.chunks_known,
    }
    if event.kind is EventKind.ENRICHING:
        described["step"] = event.message
    if event.kind is EventKind.LOADING:
        described["model"] = event.message
    if event.reason:
        described |= {"reason": event.reason, "message": event.message}
    if event.report is not None:
        described["report"] = describe_report(event.report)
    return described


def describe_model_usage(usage: Mapping[str, TokenUsage]) -> dict[str, Any]:
    """Return tokens and calls by stage."""
    return {stage: asdict(used) for stage, used in usage.items()}


def describe_money(money: Decimal | None) -> str | None:
    """Return an amount of money as text, since a float would not be exact."""
    return None if money is None else str(money)


def describe_estimate(estimate: IndexEstimate) -> dict[str, Any]:
    """Return the object of `index --estimate --json`."""
    described = asdict(estimate)
    described["run"] = {
        "calls": estimate.run.calls,
        "input_tokens": asdict(estimate.run.input_tokens),
        "output_tokens": asdict(estimate.run.output_tokens),
        "money": None
        if estimate.run.money is None
        else {key: str(value) for key, value in asdict(estimate.run.money).items()},
        "without_price": list(estimate.run.without_price),
    }
    return described


def describe_enrichment(done: Enrichment | None) -> dict[str, int]:
    """Return the numbers of merged entities, pairs not compared, descriptions and reports."""
    names = done.names if done else None
    descriptions = done.descriptions if done else None
    reports = done.reports if done else None
    return {
        "several_names": names.groups if names else 0,
        "left_apart": names.left if names else 0,
        "descriptions": descriptions.summarised if descriptions else 0,
        "reports": reports.by_model if reports else 0,
    }
