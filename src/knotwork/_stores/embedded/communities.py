"""Store communities and their reports in tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import keys_of, pack_keys, unpack_json
from knotwork.records import (
    Community,
    CommunityReport,
    Finding,
    Member,
    Span,
    Support,
    id_to_int,
    int_to_id,
)

_COMMUNITIES = (
    "SELECT c.id, c.level, c.parent FROM json_each(?) j CROSS JOIN community c ON c.id = j.value"
)
_MEMBERS = (
    "SELECT m.community, m.entity, m.importance FROM json_each(?) j"
    " CROSS JOIN community_member m ON m.community = j.value"
    " ORDER BY m.community, m.importance DESC, m.entity"
)
_CHUNKS = (
    "SELECT c.community, c.chunk FROM json_each(?) j"
    " CROSS JOIN community_chunk c ON c.community = j.value ORDER BY c.community, c.chunk"
)
_OF_ENTITIES = (
    "SELECT m.entity, m.community FROM json_each(?) j"
    " CROSS JOIN community_member m ON m.entity = j.value"
    " CROSS JOIN community c ON c.id = m.community ORDER BY m.entity, c.level, c.id"
)
_OF_CHUNKS = (
    "SELECT h.chunk, h.community FROM json_each(?) j"
    " CROSS JOIN community_chunk h ON h.chunk = j.value"
    " CROSS JOIN community c ON c.id = h.community ORDER BY h.chunk, c.level, c.id"
)
_MARK = (
    "UPDATE community SET stale = 1 WHERE id IN"
    " (SELECT m.community FROM json_each(?1) j"
    " CROSS JOIN community_member m ON m.entity = j.value"
    " UNION SELECT c.community FROM json_each(?2) j"
    " CROSS JOIN community_chunk c ON c.chunk = j.value)"
)
_EMPTY = (
    "SELECT id FROM community WHERE stale = 1 AND NOT EXISTS"
    " (SELECT 1 FROM community_member WHERE community = community.id)"
)
_CITING = (
    "SELECT DISTINCT r.community FROM json_each(?) j"
    " CROSS JOIN report_citation r ON r.chunk = j.value"
)
_REPORTS = (
    "SELECT r.community, r.title, r.summary, r.findings, r.rating, r.language, r.source,"
    " r.content_key FROM json_each(?) j CROSS JOIN report r ON r.community = j.value"
)
_PUT_REPORT = "INSERT OR REPLACE INTO report VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_CITATION = "INSERT OR IGNORE INTO report_citation VALUES (?, ?)"


@reports_damage
class EmbeddedCommunities:
    """The `CommunityStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, communities: Iterable[Community]) -> None:
        """Replace all stored communities; writes only those that differ."""
        with self._database.transaction():
            ids = [key for level in self.levels() for key in level]
            stored = self.communities(ids)
            wanted = {community.id: community for community in communities}
            self._remove([id_to_int(key) for key in stored if key not in wanted])
            self.write([c for key, c in wanted.items() if stored.get(key) != c])
            self._database.write("UPDATE community SET stale = 0 WHERE stale = 1")

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        """Return the communities with these ids."""
        keys = dict(keys_of(ids))
        packed = (pack_keys(keys.values()),)
        with self._database.reading():
            rows = self._database.fetch(_COMMUNITIES, packed)
            member_rows = self._database.fetch(_MEMBERS, packed)
            chunk_rows = self._database.fetch(_CHUNKS, packed)
        members: defaultdict[int, list[Member]] = defaultdict(list)
        for key, entity, importance in member_rows:
            members[key].append(Member(int_to_id(entity), importance))
        chunks: defaultdict[int, list[str]] = defaultdict(list)
        for key, chunk in chunk_rows:
            chunks[key].append(int_to_id(chunk))
        found = {
            key: Community(
                int_to_id(key),
                level,
                None if parent is None else int_to_id(parent),
                tuple(members[key]),
                tuple(chunks[key]),
            )
            for key, level, parent in rows
        }
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, topmost level first, ids ascending."""
        found: list[list[str]] = []
        for level, key in self._database.rows("SELECT level, id FROM community ORDER BY 1, 2"):
            while len(found) <= level:
                found.append([])
            found[level].append(int_to_id(key))
        return found

    def parents(self) -> dict[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""
        rows = self._database.rows("SELECT id, parent FROM community ORDER BY id")
        return {
            int_to_id(key): None if parent is None else int_to_id(parent) for key, parent in rows
        }

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the communities of each entity, from the topmost to the lowest."""
        return self._communities_of(_OF_ENTITIES, entity_ids)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the communities with each chunk, from the topmost to the lowest."""
        return self._communities_of(_OF_CHUNKS, chunk_ids)

    def stale(self) -> list[str]:
        """Return the ids of the communities that a removal changed since `replace`, ascending."""
        rows = self._database.rows("SELECT id FROM community WHERE stale = 1 ORDER BY id")
        return [int_to_id(key) for (key,) in rows]

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        """Remove chunks and vanished entities from all communities; see `CommunityStore.forget`."""
        database = self._database
        chunks = [key for _, key in keys_of(chunk_ids)]
        entities = [key for _, key in keys_of(mentioned)]
        with database.transaction():
            if database.fetch("SELECT 1 FROM community LIMIT 1") == []:
                return []
            database.write(_MARK, (pack_keys(entities), pack_keys(chunks)))
            database.write_many(
                "DELETE FROM community_chunk WHERE chunk = ?", ((key,) for key in chunks)
            )
            database.write_many(
                "DELETE FROM community_member WHERE entity = ?",
                ((key,) for _, key in keys_of(vanished)),
            )
            dropped = {key for (key,) in database.fetch(_CITING, (pack_keys(chunks),))}
            empty = [key for (key,) in database.fetch(_EMPTY)]
            dropped.update(map(id_to_int, self.reports([int_to_id(key) for key in empty])))
            self._remove(empty)
            self._remove_reports(sorted(dropped))
        return [int_to_id(key) for key in sorted(dropped)]

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        """Add or replace the reports of communities."""
        with self._database.transaction():
            for report in reports:
                key = id_to_int(report.community_id)
                self._remove_reports([key])
                self._database.write(_PUT_REPORT, (key, *_report_columns(report)))
                cited = ((id_to_int(chunk), key) for chunk in report.chunk_ids)
                self._database.write_many(_PUT_CITATION, cited)

    def remove_reports(self, community_ids: Collection[str]) -> None:
        """Remove the reports of these communities."""
        with self._database.transaction():
            self._remove_reports([key for _, key in keys_of(community_ids)])

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports of these communities, by community id."""
        keys = dict(keys_of(community_ids))
        rows = self._database.rows(_REPORTS, (pack_keys(keys.values()),))
        found = {key: _report(int_to_id(key), *columns) for key, *columns in rows}
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def _communities_of(self, statement: str, ids: Collection[str]) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        packed = pack_keys(key for _, key in keys_of(ids))
        for key, community in self._database.rows(statement, (packed,)):
            found[int_to_id(key)].append(int_to_id(community))
        return dict(found)

    def write(self, communities: Sequence[Community]) -> None:
        """Add or replace communities without a mark, in the open transaction; reports stay."""
        database = self._database
        keys = [id_to_int(community.id) for community in communities]
        self._remove(keys, with_reports=False)
        database.write_many(
            "INSERT INTO community VALUES (?, ?, ?, 0)",
            (
                (key, c.level, None if c.parent_id is None else id_to_int(c.parent_id))
                for key, c in zip(keys, communities, strict=True)
            ),
        )
        database.write_many(
            "INSERT INTO community_member VALUES (?, ?, ?)",
            (
                (key, id_to_int(member.entity_id), member.importance)
                for key, community in zip(keys, communities, strict=True)
                for member in community.members
            ),
        )
        database.write_many(
            "INSERT INTO community_chunk VALUES (?, ?)",
            (
                (key, id_to_int(chunk))
                for key, community in zip(keys, communities, strict=True)
                for chunk in community.chunk_ids
            ),
        )

    def _remove(self, keys: Sequence[int], *, with_reports: bool = True) -> None:
        rows = [(key,) for key in keys]
        self._database.write_many("DELETE FROM community WHERE id = ?", rows)
        self._database.write_many("DELETE FROM community_member WHERE community = ?", rows)
        self._database.write_many("DELETE FROM community_chunk WHERE community = ?", rows)
        if with_reports:
            self._remove_reports(keys)

    def _remove_reports(self, keys: Sequence[int]) -> None:
        rows = [(key,) for key in keys]
        self._database.write_many("DELETE FROM report WHERE community = ?", rows)
        self._database.write_many("DELETE FROM report_citation WHERE community = ?", rows)


def _report_columns(report: CommunityReport) -> tuple[str | float, ...]:
    findings = [
        [finding.text, [[support.chunk_id, *support.span] for support in finding.supports]]
        for finding in report.findings
    ]
    return (
        report.title,
        report.summary,
        json.dumps(findings),
        report.rating,
        report.language,
        report.source,
        report.content_key,
    )


def _report(
    community_id: str,
    title: str,
    summary: str,
    findings: str,
    rating: float,
    language: str,
    source: str,
    content_key: str,
) -> CommunityReport:
    unpacked = tuple(
        Finding(text, tuple(Support(chunk, Span(start, end)) for chunk, start, end in supports))
        for text, supports in unpack_json(findings)
    )
    return CommunityReport(
        community_id, title, summary, unpacked, rating, language, source, content_key
    )
