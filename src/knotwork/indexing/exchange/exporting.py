"""Writing an index as the tables of Microsoft GraphRAG.

What its layout has no column for goes into the descriptions: a relation's name, as "Ada leads the
Squad." Passages that support a finding become references to text units. The tables follow from the
index alone; ids are made from ours, in the shapes that GraphRAG gives them.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from knotwork.errors import StoreBusy
from knotwork.indexing.exchange.contents import Contents, make_uuid, time_of
from knotwork.indexing.exchange.graphrag_tables import write_table
from knotwork.indexing.exchange.labels import join_sentences, say_relation
from knotwork.indexing.exchange.reports import write_reference
from knotwork.records import (
    Chunk,
    Community,
    CommunityReport,
    Document,
    Finding,
)
from knotwork.stores.base import Store
from knotwork.stores.communities import StoresCommunities
from knotwork.text.tokens import count_tokens

_BATCH = 1000
_NO_PARENT = -1

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TablesReport:
    """What was written: rows by table, and the files."""

    rows: Mapping[str, int]
    files: tuple[Path, ...]


def export_graphrag(store: Store, output: Path) -> TablesReport:
    """Write documents, text units, entities, relationships, communities and reports to a folder.

    All tables are replaced, or none. Raises MissingExtra without the extra `parquet`, StoreBusy
    when the index changes meanwhile, and OSError where the place cannot be written.
    """
    generation = store.generation()
    tables = _Tables(Contents(store))
    rows: dict[str, int] = {}
    files: list[Path] = []
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output, prefix=".knotwork-") as unfinished:
        for name, content in (
            ("documents", tables.documents()),
            ("text_units", tables.text_units()),
            ("entities", tables.entities()),
            ("relationships", tables.relationships()),
            ("communities", tables.communities()),
            ("community_reports", tables.reports()),
        ):
            file, rows[name] = write_table(Path(unfinished), name, content)
            files.append(file)
        if store.generation() != generation:
            raise StoreBusy(
                "The index changed while it was being exported; nothing was written.",
                fix="Export again when indexing has ended.",
            )
        files = [file.replace(output / file.name) for file in files]
    return TablesReport(rows, tuple(files))


class _Tables:
    """The rows of all tables of one index."""

    def __init__(self, held: Contents) -> None:
        self._held = held

    def documents(self) -> Iterator[Row]:
        for number, key in enumerate(self._held.document_ids):
            document = self._held.store.documents.documents([key])[key]
            entry = self._held.entries.get(key)
            created = time_of(entry.modified_ns) if entry and entry.modified_ns > 0 else None
            yield {
                "id": _sha512(key, document.text),
                "human_readable_id": number,
                "title": document.title or document.uri,
                "text": document.text,
                "text_unit_ids": [self._unit_id(chunk) for chunk in self._held.leaves[key]],
                "creation_date": created.strftime("%Y-%m-%d %H:%M:%S %z") if created else "",
                "raw_data": None,
            }

    def text_units(self) -> Iterator[Row]:
        related: defaultdict[str, list[str]] = defaultdict(list)
        for edge in self._held.edges:
            for chunk_id in edge.chunk_ids:
                related[chunk_id].append(edge.id)
        for document_id in self._held.document_ids:
            document = self._held.store.documents.documents([document_id])[document_id]
            chunks = self._held.store.documents.chunks(self._held.leaves[document_id])
            mentions = self._held.store.graph.mentions(self._held.leaves[document_id])
            for key in self._held.leaves[document_id]:
                named = (mention.entity_id for mention in mentions.get(key, ()))
                yield {
                    "id": self._unit_id(key),
                    "human_readable_id": self._held.units[key],
                    "text": _unit_text(document, chunks[key]),
                    "n_tokens": count_tokens(chunks[key].text),
                    "document_id": _sha512(document_id, document.text),
                    "entity_ids": [make_uuid("entity", entity) for entity in named],
                    "relationship_ids": related.get(key, []),
                    "covariate_ids": [],
                }

    def entities(self) -> Iterator[Row]:
        told = self._held.descriptions()
        for number, (key, entity) in enumerate(self._held.entities.items()):
            yield {
                "id": make_uuid("entity", key),
                "human_readable_id": number,
                "title": self._held.titles[key],
                "type": entity.type,
                "description": told.get(key, ""),
                "text_unit_ids": [self._unit_id(chunk) for chunk in self._held.mentions[key]],
                "frequency": len(self._held.mentions[key]),
                "degree": self._held.degrees.get(key, 0),
            }

    def relationships(self) -> Iterator[Row]:
        for start in range(0, len(self._held.edges), _BATCH):
            batch = self._held.edges[start : start + _BATCH]
            told = self._held.told(batch)
            for edge in batch:
                source, target = self._held.titles[edge.source], self._held.titles[edge.target]
                said = join_sentences(told.get(edge.id, ()))
                degrees = [self._held.degrees.get(end, 0) for end in (edge.source, edge.target)]
                yield {
                    "id": edge.id,
                    "human_readable_id": edge.number,
                    "source": source,
                    "target": target,
                    "description": say_relation(source, edge.relation, target, said),
                    "weight": float(edge.weight),
                    "combined_degree": sum(degrees),
                    "text_unit_ids": [self._unit_id(chunk) for chunk in edge.chunk_ids],
                }

    def communities(self) -> Iterator[Row]:
        within = self._held.edges_within()
        for key, (number, community) in self._held.communities.items():
            edges = within[key]
            chunks = {chunk for edge in edges for chunk in edge.chunk_ids}
            chunks.update(chunk for chunk in community.chunk_ids if chunk in self._held.units)
            members = [member.entity_id for member in community.members]
            yield {
                "id": make_uuid("community", key),
                **self._place(number, community),
                "title": f"Community {number}",
                "entity_ids": [make_uuid("entity", i) for i in members if i in self._held.entities],
                "relationship_ids": [edge.id for edge in edges],
                "text_unit_ids": [self._unit_id(chunk) for chunk in sorted(chunks)],
                "period": self._held.period,
                "size": community.size,
            }

    def reports(self) -> Iterator[Row]:
        if not isinstance(self._held.store, StoresCommunities):
            return
        found = self._held.store.communities.reports(list(self._held.communities))
        for key, (number, community) in self._held.communities.items():
            if key not in found:
                continue
            report = found[key]
            findings = [self._finding(finding) for finding in report.findings]
            yield {
                "id": make_uuid("report", key).replace("-", ""),
                **self._place(number, community),
                "title": report.title,
                "summary": report.summary,
                "full_content": _full_content(report, findings),
                "rank": report.rating,
                "rating_explanation": "",
                "findings": findings,
                "full_content_json": _full_json(report, findings),
                "period": self._held.period,
                "size": community.size,
            }

    def _place(self, number: int, community: Community) -> Row:
        """Return the columns that say where in the hierarchy a community is."""
        numbered = self._held.communities
        parent = numbered.get(community.parent_id or "")
        return {
            "human_readable_id": number,
            "community": number,
            "level": community.level,
            "parent": parent[0] if parent else _NO_PARENT,
            "children": [n for n, child in numbered.values() if child.parent_id == community.id],
        }

    def _finding(self, finding: Finding) -> dict[str, str]:
        """Return a finding as GraphRAG has it: a heading, and the rest with its references."""
        summary, _, explanation = finding.text.partition("\n")
        cited = {
            self._held.units[s.chunk_id] for s in finding.supports if s.chunk_id in self._held.units
        }
        reference = write_reference(sorted(cited))
        return {"explanation": f"{explanation or summary}{reference}", "summary": summary}

    def _unit_id(self, chunk_id: str) -> str:
        return _sha512("text unit", chunk_id)


def _unit_text(document: Document, chunk: Chunk) -> str:
    return document.text[chunk.span.start : chunk.span.end]


def _full_content(report: CommunityReport, findings: Sequence[Mapping[str, str]]) -> str:
    parts = [f"# {report.title}", report.summary]
    parts += [f"## {found['summary']}\n\n{found['explanation']}" for found in findings]
    return "\n\n".join(parts)


def _full_json(report: CommunityReport, findings: Sequence[Mapping[str, str]]) -> str:
    whole = {
        "title": report.title,
        "summary": report.summary,
        "findings": findings,
        "rating": report.rating,
        "rating_explanation": "",
    }
    return json.dumps(whole, ensure_ascii=False, indent=4)


def _sha512(*parts: str) -> str:
    text = "\n".join(parts).encode("utf-8", "backslashreplace")
    return hashlib.sha512(text).hexdigest()
