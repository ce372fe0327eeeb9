"""Export an index as the tables of Microsoft GraphRAG, version 3.

Values without a column go into descriptions: the name of a relation as in "Ada leads the Squad."
Passages that support a finding become references to text units. The tables depend on the index
alone; ids are derived from ours in the formats of GraphRAG.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from knotwork._extensions.graphs.export import require_parquet, split_batches, write_parquet_table
from knotwork._extensions.graphs.foreign_indexes.index_importer import write_reference
from knotwork._extensions.graphs.foreign_indexes.labels import describe_relation, join_sentences
from knotwork._indexing.communities.detection import stored_communities
from knotwork._stores.base import Store
from knotwork._text.names import normal_form
from knotwork._text.token_counts import count_tokens
from knotwork.errors import StoreBusy
from knotwork.records import ENTITY_EDGES, Community, Edge, EdgeType, Entity, Finding

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH = 1000
_NO_PARENT = -1

ExportRow = dict[str, Any]


def export_graphrag(store: Store, output: Path) -> dict[Path, int]:
    """Write documents, text units, entities, relationships, communities and reports to a folder.

    Returns the number of rows of each file.

    All tables are replaced, or none. Raises MissingExtra without the extra `parquet`, StoreBusy if
    the index changes during the export, and OSError if the folder is not writable.
    """
    require_parquet("Export as tables of GraphRAG")
    generation = store.generation()
    tables = _Tables(store)
    rows: dict[str, int] = {}
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output, prefix=".knotwork-") as unfinished:
        for name, content in (
            ("documents", tables.document_rows()),
            ("text_units", tables.text_unit_rows()),
            ("entities", tables.entity_rows()),
            ("relationships", tables.relationship_rows()),
            ("communities", tables.community_rows()),
            ("community_reports", tables.report_rows()),
        ):
            file = f"{name}.parquet"
            rows[file] = write_parquet_table(Path(unfinished, file), _schema(name), content)
        if store.generation() != generation:
            raise StoreBusy(
                "The index changed during the export; nothing was written.",
                fix="Export again after indexing has ended.",
            )
        return {Path(unfinished, file).replace(output / file): n for file, n in rows.items()}


def _sha512(*parts: str) -> str:
    text = "\n".join(parts).encode("utf-8", "backslashreplace")
    return hashlib.sha512(text).hexdigest()


_NAMESPACE = uuid.UUID("8f1c1f3e-6f3e-5c0e-9d0b-6b6e6f742d6b")
_NO_DATE = "1970-01-01"


class _Tables:
    """The rows of all tables of an index: documents by uri, text units in reading order."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.entries = {e.document_id: e for e in store.ledger.entries() if e.document_id}

    @cached_property
    def document_ids(self) -> list[str]:
        known = self.store.documents.documents(self.store.documents.document_ids())
        return sorted(known, key=lambda key: known[key].uri)

    @cached_property
    def leaves(self) -> dict[str, list[str]]:
        """The ids of the leaf chunks of each document, in order."""
        found: dict[str, list[str]] = {}
        held = self.store.documents.chunk_ids_of(self.document_ids)
        for key in self.document_ids:
            chunks = self.store.documents.chunks(held.get(key, []))
            leaves = [chunk for chunk in chunks.values() if not chunk.is_parent]
            found[key] = [c.id for c in sorted(leaves, key=lambda c: c.ordinal)]
        return found

    @cached_property
    def units(self) -> dict[str, int]:
        """The number of each text unit, by chunk id."""
        chunks = (chunk for key in self.document_ids for chunk in self.leaves[key])
        return {chunk: number for number, chunk in enumerate(chunks)}

    @cached_property
    def mentions(self) -> dict[str, list[str]]:
        """The chunks of each entity, in the order of the text units."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for edge in self.store.graph.edges(types=[EdgeType.MENTIONS]):
            if edge.source in self.units:
                found[edge.target].append(edge.source)
        return {key: sorted(found[key], key=self.units.__getitem__) for key in sorted(found)}

    @cached_property
    def entities(self) -> dict[str, Entity]:
        found: dict[str, Entity] = {}
        for keys in split_batches(self.mentions, _BATCH):
            entities = self.store.graph.entities(keys)
            found |= {key: entities[key] for key in keys if key in entities}
        return found

    def title(self, key: str) -> str:
        """Return the name of an entity, or its normal form if the name has another one."""
        entity = self.entities[key]
        has_form = normal_form(entity.name) == entity.normal_form
        return entity.name if has_form else entity.normal_form

    @cached_property
    def edges(self) -> dict[str, Edge]:
        """The edges between entities by the id of their row, with the chunks in order."""
        edges = self.store.graph.edges(types=ENTITY_EDGES)
        kept = (e for e in edges if e.source in self.entities and e.target in self.entities)
        place = self.units.__getitem__
        return {
            _uuid("relationship", edge.source, edge.relation, edge.target): replace(
                edge, chunks=tuple(sorted(set(edge.chunks) & self.units.keys(), key=place))
            )
            for edge in kept
        }

    @cached_property
    def degrees(self) -> dict[str, int]:
        """The number of neighbours of each entity."""
        linked: defaultdict[str, set[str]] = defaultdict(set)
        for edge in self.edges.values():
            linked[edge.source].add(edge.target)
            linked[edge.target].add(edge.source)
        return {key: len(others) for key, others in linked.items()}

    @cached_property
    def communities(self) -> dict[str, tuple[int, Community]]:
        """The communities by id, the topmost first, with their numbers."""
        held = self.store.capabilities.communities
        found = enumerate(stored_communities(held) if held is not None else ())
        return {community.id: (number, community) for number, community in found}

    @cached_property
    def period(self) -> str:
        """The date of the newest source, so that equal indexes give equal tables."""
        newest = max((entry.modified_ns for entry in self.entries.values()), default=0)
        return _time_of(newest).date().isoformat() if newest > 0 else _NO_DATE

    def descriptions(self) -> dict[str, str]:
        """Return the summary of each entity, or else its joined descriptions."""
        readings = self.store.capabilities.readings
        if readings is None:
            return {}
        found: dict[str, str] = {}
        for batch in split_batches(self.entities, _BATCH):
            for key, given in readings.descriptions(batch).items():
                ordered = sorted(given, key=lambda item: self.units.get(item.chunk_id, -1))
                found[key] = join_sentences(item.text for item in ordered)
            summaries = readings.summaries(batch)
            found |= {key: summary.text for key, summary in summaries.items()}
        return found

    def relation_descriptions(
        self, batch: Sequence[tuple[str, Edge]]
    ) -> dict[str, dict[str, None]]:
        """Return the distinct descriptions of relationships, by row id."""
        ids = {(edge.source, edge.relation, edge.target): key for key, edge in batch}
        chunks = {chunk for _, edge in batch for chunk in edge.chunks}
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        held = self.store.graph.relations(sorted(chunks))
        for chunk in sorted(held, key=lambda key: self.units[key]):
            for relation in held[chunk]:
                key = ids.get((relation.source, relation.relation, relation.target))
                if key is not None and relation.description:
                    found[key][relation.description] = None
        return found

    def edges_within(self) -> dict[str, list[str]]:
        """Return the ids of the relationships between members of each community."""
        of: defaultdict[str, set[str]] = defaultdict(set)
        for key, (_, community) in self.communities.items():
            for member in community.members:
                of[member.entity_id].add(key)
        within: defaultdict[str, list[str]] = defaultdict(list)
        for identifier, edge in self.edges.items():
            for key in of[edge.source] & of[edge.target]:
                within[key].append(identifier)
        return within

    def document_rows(self) -> Iterator[ExportRow]:
        for number, key in enumerate(self.document_ids):
            document = self.store.documents.documents([key])[key]
            entry = self.entries.get(key)
            created = _time_of(entry.modified_ns) if entry and entry.modified_ns > 0 else None
            yield {
                "id": _sha512(key, document.text),
                "human_readable_id": number,
                "title": document.title or document.uri,
                "text": document.text,
                "text_unit_ids": [self._unit_id(chunk) for chunk in self.leaves[key]],
                "creation_date": created.strftime("%Y-%m-%d %H:%M:%S %z") if created else "",
                "raw_data": None,
            }

    def text_unit_rows(self) -> Iterator[ExportRow]:
        related: defaultdict[str, list[str]] = defaultdict(list)
        for identifier, edge in self.edges.items():
            for chunk_id in edge.chunks:
                related[chunk_id].append(identifier)
        for document_id in self.document_ids:
            document = self.store.documents.documents([document_id])[document_id]
            chunks = self.store.documents.chunks(self.leaves[document_id])
            mentions = self.store.graph.mentions(self.leaves[document_id])
            for key in self.leaves[document_id]:
                named = (mention.entity_id for mention in mentions.get(key, ()))
                yield {
                    "id": self._unit_id(key),
                    "human_readable_id": self.units[key],
                    "text": document.text[slice(*chunks[key].span)],
                    "n_tokens": count_tokens(chunks[key].text),
                    "document_id": _sha512(document_id, document.text),
                    "entity_ids": [_uuid("entity", entity) for entity in named],
                    "relationship_ids": related.get(key, []),
                    "covariate_ids": [],
                }

    def entity_rows(self) -> Iterator[ExportRow]:
        descriptions = self.descriptions()
        for number, (key, entity) in enumerate(self.entities.items()):
            yield {
                "id": _uuid("entity", key),
                "human_readable_id": number,
                "title": self.title(key),
                "type": entity.type,
                "description": descriptions.get(key, ""),
                "text_unit_ids": [self._unit_id(chunk) for chunk in self.mentions[key]],
                "frequency": len(self.mentions[key]),
                "degree": self.degrees.get(key, 0),
            }

    def relationship_rows(self) -> Iterator[ExportRow]:
        numbers = count()
        for batch in split_batches(self.edges.items(), _BATCH):
            descriptions = self.relation_descriptions(batch)
            for identifier, edge in batch:
                source, target = self.title(edge.source), self.title(edge.target)
                text = join_sentences(descriptions.get(identifier, ()))
                degrees = [self.degrees.get(end, 0) for end in (edge.source, edge.target)]
                yield {
                    "id": identifier,
                    "human_readable_id": next(numbers),
                    "source": source,
                    "target": target,
                    "description": describe_relation(source, edge.relation, target, text),
                    "weight": float(edge.weight),
                    "combined_degree": sum(degrees),
                    "text_unit_ids": [self._unit_id(chunk) for chunk in edge.chunks],
                }

    def community_rows(self) -> Iterator[ExportRow]:
        within = self.edges_within()
        for key, (number, community) in self.communities.items():
            chunks = {chunk for edge in within[key] for chunk in self.edges[edge].chunks}
            chunks.update(chunk for chunk in community.chunk_ids if chunk in self.units)
            members = [member.entity_id for member in community.members]
            yield {
                "id": _uuid("community", key),
                **self._place(number, community),
                "title": f"Community {number}",
                "entity_ids": [_uuid("entity", i) for i in members if i in self.entities],
                "relationship_ids": within[key],
                "text_unit_ids": [self._unit_id(chunk) for chunk in sorted(chunks)],
                "period": self.period,
                "size": community.size,
            }

    def report_rows(self) -> Iterator[ExportRow]:
        communities = self.store.capabilities.communities
        if communities is None:
            return
        found = communities.reports(list(self.communities))
        for key, (number, community) in self.communities.items():
            if key not in found:
                continue
            report = found[key]
            findings = [self._finding(finding) for finding in report.findings]
            texts = [f"## {one['summary']}\n\n{one['explanation']}" for one in findings]
            whole = {
                "title": report.title,
                "summary": report.summary,
                "findings": findings,
                "rating": report.rating,
                "rating_explanation": "",
            }
            yield {
                "id": _uuid("report", key).replace("-", ""),
                **self._place(number, community),
                "title": report.title,
                "summary": report.summary,
                "full_content": "\n\n".join([f"# {report.title}", report.summary, *texts]),
                "rank": report.rating,
                "rating_explanation": "",
                "findings": findings,
                "full_content_json": json.dumps(whole, ensure_ascii=False, indent=4),
                "period": self.period,
                "size": community.size,
            }

    def _place(self, number: int, community: Community) -> ExportRow:
        """Return the columns with the position of a community in the hierarchy."""
        numbered = self.communities
        parent = numbered.get(community.parent_id or "")
        return {
            "human_readable_id": number,
            "community": number,
            "level": community.level,
            "parent": parent[0] if parent else _NO_PARENT,
            "children": [n for n, child in numbered.values() if child.parent_id == community.id],
        }

    def _finding(self, finding: Finding) -> dict[str, str]:
        """Return a finding in the form of GraphRAG: a heading, and a text with references."""
        summary, _, explanation = finding.text.partition("\n")
        cited = {self.units[s.chunk_id] for s in finding.supports if s.chunk_id in self.units}
        reference = write_reference(sorted(cited))
        return {"explanation": f"{explanation or summary}{reference}", "summary": summary}

    def _unit_id(self, chunk_id: str) -> str:
        return _sha512("text unit", chunk_id)


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, "\n".join(parts)))


def _time_of(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


_KINDS = {
    "int64": "human_readable_id n_tokens frequency degree combined_degree community level parent"
    " size",
    "double": "weight rank",
    "list<string>": "text_unit_ids entity_ids relationship_ids covariate_ids",
    "list<int64>": "children",
    "finding": "findings",
}
"""The columns that are no text, by kind."""
_COMMUNITY = "id human_readable_id community level parent children title"
_COLUMNS = {
    "documents": "id human_readable_id title text text_unit_ids creation_date raw_data",
    "text_units": "id human_readable_id text n_tokens document_id entity_ids relationship_ids"
    " covariate_ids",
    "entities": "id human_readable_id title type description text_unit_ids frequency degree",
    "relationships": "id human_readable_id source target description weight combined_degree"
    " text_unit_ids",
    "communities": f"{_COMMUNITY} entity_ids relationship_ids text_unit_ids period size",
    "community_reports": f"{_COMMUNITY} summary full_content rank rating_explanation findings"
    " full_content_json period size",
}
"""The columns of each table, in order."""


def _schema(name: str) -> pa.Schema:
    import pyarrow as pa

    finding = pa.struct([("explanation", pa.string()), ("summary", pa.string())])
    types = {
        "int64": pa.int64(),
        "double": pa.float64(),
        "list<string>": pa.list_(pa.string()),
        "list<int64>": pa.list_(pa.int64()),
        "finding": pa.list_(finding),
    }
    kinds = {column: types[kind] for kind in _KINDS for column in _KINDS[kind].split()}
    return pa.schema([(c, kinds.get(c, pa.string())) for c in _COLUMNS[name].split()])
