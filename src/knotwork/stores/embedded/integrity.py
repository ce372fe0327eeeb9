"""Checks of an index file: that it is sound to SQLite, and its tables agree with each other."""

from __future__ import annotations

from knotwork.stores.embedded.database import Database

_MOST_FAULTS = 20

_AGREEMENTS = {
    "chunks without a document": (
        "SELECT count(*) FROM chunk WHERE document NOT IN (SELECT id FROM document)"
    ),
    "sections without a document": (
        "SELECT count(*) FROM section WHERE document NOT IN (SELECT id FROM document)"
    ),
    "mentions without a chunk": (
        "SELECT count(*) FROM mention WHERE chunk NOT IN (SELECT id FROM chunk)"
    ),
    "relations without a chunk": (
        "SELECT count(*) FROM contribution WHERE chunk NOT IN (SELECT id FROM chunk)"
    ),
    "entities that no chunk mentions": (
        "SELECT count(*) FROM entity WHERE id NOT IN (SELECT entity FROM mention)"
    ),
    "entities with a wrong count of chunks": (
        "SELECT count(*) FROM entity e WHERE chunk_count != "
        "(SELECT count(*) FROM mention m WHERE m.entity = e.id)"
    ),
    "edges that differ from what supports them": (
        "SELECT count(*) FROM edge e WHERE (weight, supports) IS NOT "
        "(SELECT sum(c.weight), count(*) FROM contribution c WHERE c.source = e.source "
        "AND c.target = e.target AND c.relation = e.relation)"
    ),
    "members of communities that are no entities": (
        "SELECT count(*) FROM community_member WHERE entity NOT IN (SELECT id FROM entity)"
        " OR community NOT IN (SELECT id FROM community)"
    ),
    "chunks of communities that do not exist": (
        "SELECT count(*) FROM community_chunk WHERE chunk NOT IN (SELECT id FROM chunk)"
        " OR community NOT IN (SELECT id FROM community)"
    ),
    "readings without a chunk": (
        "SELECT count(*) FROM chunk_reading WHERE chunk NOT IN (SELECT id FROM chunk)"
    ),
    "questions without a chunk": (
        "SELECT count(*) FROM question WHERE chunk NOT IN (SELECT id FROM chunk)"
    ),
    "descriptions without a chunk": (
        "SELECT count(*) FROM description WHERE chunk NOT IN (SELECT id FROM chunk)"
    ),
    "summaries of entities that nothing describes": (
        "SELECT count(*) FROM entity_summary WHERE entity NOT IN (SELECT entity FROM description)"
    ),
    "imported relationships without their ends": (
        "SELECT count(*) FROM property_relationship r WHERE"
        " NOT EXISTS (SELECT 1 FROM property_node WHERE graph = r.graph AND position = r.source)"
        " OR NOT EXISTS (SELECT 1 FROM property_node WHERE graph = r.graph AND position = r.target)"
    ),
    "reports that cite what does not exist": (
        "SELECT count(*) FROM report_citation WHERE chunk NOT IN (SELECT id FROM chunk)"
        " OR community NOT IN (SELECT community FROM report)"
    ),
}


def find_faults(database: Database) -> list[str]:
    """Return what is wrong with an index, in words; reads the whole file.

    Raises StoreError where the file is too damaged to be read.
    """
    found = [str(row[0]) for row in database.rows(f"PRAGMA quick_check({_MOST_FAULTS})")]
    faults = [message for message in found if message != "ok"]
    if faults:
        return faults
    for name, sql in _AGREEMENTS.items():
        ((count,),) = database.rows(sql)
        if count:
            faults.append(f"{count} {name}")
    return faults
