"""Small indexes of other systems, written as these write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq

from knotwork._config import EmbeddingSettings, Settings

NO_EMBEDDER = Settings(embedding=EmbeddingSettings(model="none"))

ESSAY = (
    "# The Squad\n\n"
    "Ada Stone leads the Night Squad from Harbour Base. She trained Bo Finch there.\n\n"
    "Bo Finch repaired the radio. The radio caught a signal from the valley.\n\n"
    "Nobody at Harbour Base slept. Ada Stone read the signal twice and smiled at Bo Finch."
)
LETTER = "Dear Bo, the radio works. The Night Squad thanks you. Yours, Ada Stone"


def unit_texts() -> list[str]:
    """Return three pieces of the essay, the second overlapping the first."""
    first = ESSAY[: ESSAY.index("Bo Finch repaired")]
    second = ESSAY[ESSAY.index("She trained") : ESSAY.index("Nobody")]
    return [first, second, ESSAY[ESSAY.index("Nobody") :]]


def write_tables(folder: Path, tables: dict[str, list[dict[str, Any]]], prefix: str = "") -> Path:
    """Write one Parquet file a table."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{prefix}{name}.parquet")
    return folder


def current_tables() -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a small index in the layout of GraphRAG 3."""
    texts = unit_texts()
    units = ["u0", "u1", "u2", "u3"]
    documents = [
        {"id": "d0", "human_readable_id": 0, "title": "squad.txt", "text": ESSAY,
         "text_unit_ids": units[:3], "creation_date": "2025-09-16", "raw_data": None},
        {"id": "d1", "human_readable_id": 1, "title": "letter.txt", "text": LETTER,
         "text_unit_ids": units[3:], "creation_date": "2025-09-16", "raw_data": None},
    ]  # fmt: skip
    text_units = [
        {"id": key, "human_readable_id": n, "text": text, "n_tokens": 9, "document_id": document,
         "entity_ids": [], "relationship_ids": [], "covariate_ids": []}
        for n, (key, text, document) in enumerate(
            zip(units, [*texts, f"title: letter.txt.\n{LETTER}"], ["d0"] * 3 + ["d1"], strict=True)
        )
    ]  # fmt: skip
    entities = [
        entity(0, "ADA STONE", "PERSON", "Ada Stone leads the squad.", ["u0", "u2", "u3"]),
        entity(1, "NIGHT SQUAD", "ORGANIZATION", "The Night Squad keeps watch.", ["u0", "u3"]),
        entity(2, "HARBOUR BASE", "GEO", "Harbour Base is a base.", ["u0", "u2"]),
        entity(3, "BO FINCH", "PERSON", "", ["u0", "u1", "u2"]),
        entity(4, "RADIO", "", "The radio is old.", ["u1", "u3"]),
        entity(5, "COSMIC SILENCE", "EVENT", "A silence.", ["u2"]),
    ]
    relationships = [
        relation(0, "ADA STONE", "NIGHT SQUAD", "Ada Stone leads the Night Squad.", 17.0,
                 ["u0", "u3"]),
        relation(1, "ADA STONE", "BO FINCH", "She taught him all she knew", 8.0, ["u0"]),
        relation(2, "BO FINCH", "RADIO", "Bo Finch repaired the radio", 2.0, ["u1"]),
        relation(3, "RADIO", "SIGNAL", "The radio caught the signal", 1.0, ["u1"]),
        relation(4, "ADA STONE", "EMPEROR OF MARS", "A rumour", 1.0, ["u0"]),
    ]  # fmt: skip
    covariates = [
        claim(0, "ADA STONE", "BO FINCH", "MENTORSHIP", "Ada trained Bo.", "TRUE", "u0"),
        claim(1, "ADA STONE", "NONE", "VIGILANCE", "Ada read the signal.", "TRUE", "u2"),
        claim(2, "BO FINCH", "RADIO", "THEFT", "Bo stole the radio.", "FALSE", "u1"),
        claim(3, "THE KING", "NONE", "RULE", "He rules.", "TRUE", "u1"),
    ]
    communities = [
        community(0, 0, -1, ["e0", "e1", "e2", "e3"]),
        community(1, 0, -1, ["e4", "e5"]),
        community(2, 1, 0, ["e0", "e1"]),
    ]
    reports = [
        report(0, "The squad", "About the squad.", 8.5, [
            ("Leadership", "Ada leads [Data: Entities (0); Relationships (0, 1, +more)]."),
            ("Rest", "Nobody slept [Data: Sources (2)]. More [Data: Claims (1); Reports (9)]"),
        ]),
        report(2, "Ada and hers", "Two of them [Data: Entities (0)].", 4.0, [("One", "One")]),
    ]  # fmt: skip
    return {
        "documents": documents,
        "text_units": text_units,
        "entities": entities,
        "relationships": relationships,
        "covariates": covariates,
        "communities": communities,
        "community_reports": reports,
    }


def entity(number: int, title: str, kind: str, text: str, units: list[str]) -> dict[str, Any]:
    return {"id": f"e{number}", "human_readable_id": number, "title": title, "type": kind,
            "description": text, "text_unit_ids": units, "frequency": 1, "degree": 1}  # fmt: skip


def relation(
    number: int, source: str, target: str, text: str, weight: float, units: list[str]
) -> dict[str, Any]:
    return {"id": f"r{number}", "human_readable_id": number, "source": source, "target": target,
            "description": text, "weight": weight, "text_unit_ids": units}  # fmt: skip


def claim(
    number: int, subject: str, target: str, kind: str, text: str, status: str, unit: str
) -> dict[str, Any]:
    return {"id": f"c{number}", "human_readable_id": number, "covariate_type": "claim",
            "type": kind, "description": text, "subject_id": subject, "object_id": target,
            "status": status, "text_unit_id": unit}  # fmt: skip


def community(number: int, level: int, parent: int, members: list[str]) -> dict[str, Any]:
    return {"id": f"k{number}", "human_readable_id": number, "community": number, "level": level,
            "parent": parent, "children": [], "title": f"Community {number}",
            "entity_ids": members, "relationship_ids": [], "text_unit_ids": [],
            "period": "2026-01-09", "size": len(members)}  # fmt: skip


def report(
    number: int, title: str, summary: str, rank: float, findings: list[tuple[str, str]]
) -> dict[str, Any]:
    listed = [{"explanation": explanation, "summary": head} for head, explanation in findings]
    return {"id": f"p{number}", "human_readable_id": number, "community": number, "level": 0,
            "title": title, "summary": summary, "full_content": "", "rank": rank,
            "findings": listed, "full_content_json": json.dumps({"findings": listed})}  # fmt: skip


def older_tables() -> dict[str, list[dict[str, Any]]]:
    """Return the same index as GraphRAG 0.x wrote it, to files called `create_final_*`."""
    now = current_tables()
    members = {c["community"]: c for c in now["communities"]}
    nodes = [
        {"level": c["level"], "title": e["title"], "community": str(c["community"]), "id": e["id"]}
        for c in members.values()
        for e in now["entities"]
        if e["id"] in c["entity_ids"]
    ]
    outside = [e for e in now["entities"] if e["id"] not in members[2]["entity_ids"]]
    nodes += [{"level": 1, "title": e["title"], "community": None, "id": e["id"]} for e in outside]
    return {
        "documents": [
            {"id": d["id"], "title": d["title"], "raw_content": d["text"],
             "text_unit_ids": d["text_unit_ids"]}
            for d in now["documents"]
        ],
        "text_units": [
            {"id": u["id"], "text": u["text"], "document_ids": [u["document_id"]]}
            for u in now["text_units"]
        ],
        "entities": [
            {"id": e["id"], "name": f'"{e["title"]}"', "type": f'"{e["type"]}"',
             "description": e["description"], "human_readable_id": e["human_readable_id"],
             "text_unit_ids": e["text_unit_ids"], "description_embedding": [0.5, 0.25]}
            for e in now["entities"]
        ],
        "relationships": [
            {**r, "human_readable_id": str(r["human_readable_id"]),
             "text_unit_ids": [",".join(r["text_unit_ids"])]}
            for r in now["relationships"]
        ],
        "covariates": now["covariates"],
        "communities": [
            {"id": str(c["community"]), "title": c["title"], "level": c["level"],
             "raw_community": str(c["community"]),
             "text_unit_ids": ["u0,u1", "u2"]}
            for c in now["communities"]
        ],
        "community_reports": [
            {**r, "community": str(r["community"])} for r in now["community_reports"]
        ],
        "nodes": nodes,
    }  # fmt: skip


def write_lightrag(folder: Path, *, quoted: bool = False) -> Path:
    """Write a small working directory of LightRAG; ``quoted`` names as its first versions had."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [text.strip() for text in unit_texts()]
    chunks = {
        f"chunk-{n}": {"tokens": 9, "content": text, "chunk_order_index": n,
                       "full_doc_id": "doc-a", "file_path": "notes/squad.txt"}
        for n, text in enumerate(texts)
    }  # fmt: skip
    chunks["chunk-b"] = {"tokens": 9, "content": "Somebody edited this away.",
                         "chunk_order_index": 3, "full_doc_id": "doc-a"}  # fmt: skip
    files = {
        "full_docs": {"doc-a": {"content": ESSAY, "file_path": "notes/squad.txt"}},
        "text_chunks": chunks,
        "relation_chunks": {"Ada Stone<SEP>Night Squad": {"chunk_ids": ["chunk-2"], "count": 1}},
        "llm_response_cache": {"default": {}},
    }
    for name, value in files.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(value), "utf-8")
    graph = nx.Graph()
    people = [("Ada Stone", "person", "Ada leads.<SEP>Ada reads.", "chunk-0<SEP>chunk-2"),
              ("Night Squad", "organization", "A squad.", "chunk-0"),
              ("Bo Finch", "UNKNOWN", "He repairs.", "chunk-1")]  # fmt: skip
    marks = '"{}"' if quoted else "{}"
    for name, kind, text, source in people:
        graph.add_node(
            marks.format(name),
            entity_id=name,
            entity_type=marks.format(kind),
            description=text,
            source_id=source,
        )
    graph.add_edge(
        marks.format("Night Squad"), marks.format("Ada Stone"), weight=9.0,
        description="Ada Stone leads the Night Squad on most nights.", keywords="command, duty",
        source_id="chunk-0",
    )  # fmt: skip
    graph.add_edge(
        marks.format("Bo Finch"), marks.format("Ada Stone"), weight=1.5,
        description="They smile at each other.", keywords="friendship, trust", source_id="chunk-2",
    )  # fmt: skip
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    return folder
