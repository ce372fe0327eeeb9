"""Store communities and their reports in tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from knotwork._stores.sql.database import (
    Dialect,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    insert_new,
    reports_damage,
)
from knotwork._stores.sql.packing import keys_of, unpack_json
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


class CommunityStatements:
    """The statements of `SqlCommunities` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.communities = f"""
            SELECT c.id, c.level, c.parent FROM {keys} CROSS JOIN community c WHERE c.id = j.value
        """
        self.members = f"""
            SELECT m.community, m.entity, m.importance
            FROM {keys} CROSS JOIN community_member m WHERE m.community = j.value
            ORDER BY m.community, m.importance DESC, m.entity
        """
        self.chunks = f"""
            SELECT c.community, c.chunk
            FROM {keys} CROSS JOIN community_chunk c WHERE c.community = j.value
            ORDER BY c.community, c.chunk
        """
        self.levels = "SELECT level, id FROM community ORDER BY level, id"
        self.parents = "SELECT id, parent FROM community ORDER BY id"
        self.of_entities = f"""
            SELECT m.entity, m.community
            FROM {keys} CROSS JOIN community_member m CROSS JOIN community c
            WHERE m.entity = j.value AND c.id = m.community
            ORDER BY m.entity, c.level, c.id
        """
        self.of_chunks = f"""
            SELECT h.chunk, h.community
            FROM {keys} CROSS JOIN community_chunk h CROSS JOIN community c
            WHERE h.chunk = j.value AND c.id = h.community
            ORDER BY h.chunk, c.level, c.id
        """
        self.any = "SELECT 1 FROM community LIMIT 1"
        self.stale = "SELECT id FROM community WHERE stale = 1 ORDER BY id"
        self.empty = """
            SELECT c.id FROM community c
            WHERE c.stale = 1
            AND NOT EXISTS (SELECT 1 FROM community_member m WHERE m.community = c.id)
        """
        self.mark = f"""
            UPDATE community SET stale = 1 WHERE id IN (
                SELECT m.community FROM {keys} CROSS JOIN community_member m
                WHERE m.entity = j.value
                UNION SELECT c.community FROM {dialect.keys("$2")} CROSS JOIN community_chunk c
                WHERE c.chunk = j.value
            )
        """
        self.settle = "UPDATE community SET stale = 0 WHERE stale = 1"
        self.reports = f"""
            SELECT r.community, r.title, r.summary, r.findings, r.rating, r.language, r.source,
                r.content_key
            FROM {keys} CROSS JOIN report r WHERE r.community = j.value
        """
        self.citing = f"""
            SELECT DISTINCT r.community
            FROM {keys} CROSS JOIN report_citation r WHERE r.chunk = j.value
        """
        self.put_community = insert("community", "id", "level", "parent", "stale")
        self.put_member = insert("community_member", "community", "entity", "importance")
        self.put_chunk = insert("community_chunk", "community", "chunk")
        self.put_report = insert(
            "report",
            *("community", "title", "summary", "findings", "rating", "language", "source"),
            "content_key",
        )
        self.put_citation = insert_new("report_citation", "chunk", "community")
        self.remove = {"community": delete_keys(dialect, "community", "id")} | {
            table: delete_keys(dialect, table, "community")
            for table in ("community_member", "community_chunk")
        }
        self.remove_reports = {
            table: delete_keys(dialect, table, "community")
            for table in ("report", "report_citation")
        }
        self.forget_chunks = delete_keys(dialect, "community_chunk", "chunk")
        self.forget_entities = delete_keys(dialect, "community_member", "entity")


@reports_damage
class SqlCommunities(SqlPart):
    """The `CommunityStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
        self._sql = CommunityStatements(database.dialect)

    def replace(self, communities: Iterable[Community]) -> None:
        """Replace all stored communities; writes only those that differ."""
        with self._database.transaction():
            ids = [key for level in self.levels() for key in level]
            stored = self.communities(ids)
            wanted = {community.id: community for community in communities}
            gone = [id_to_int(key) for key in stored if key not in wanted]
            self._delete(gone, self._sql.remove, self._sql.remove_reports)
            self.write([c for key, c in wanted.items() if stored.get(key) != c])
            self._database.write(self._sql.settle)

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        keys = dict(keys_of(ids))
        bound = (self._bind(keys.values()),)
        with self._database.reading():
            rows = self._database.fetch(self._sql.communities, bound)
            member_rows = self._database.fetch(self._sql.members, bound)
            chunk_rows = self._database.fetch(self._sql.chunks, bound)
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
        found: list[list[str]] = []
        for level, key in self._database.rows(self._sql.levels):
            while len(found) <= level:
                found.append([])
            found[level].append(int_to_id(key))
        return found

    def parents(self) -> dict[str, str | None]:
        rows = self._database.rows(self._sql.parents)
        return {
            int_to_id(key): None if parent is None else int_to_id(parent) for key, parent in rows
        }

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(self._sql.of_entities, entity_ids, _other_id)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(self._sql.of_chunks, chunk_ids, _other_id)

    def stale(self) -> list[str]:
        return self._ids(self._sql.stale)

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        database, sql, bind = self._database, self._sql, self._bind
        (chunks,), (entities,) = self._bound(chunk_ids), self._bound(mentioned)
        with database.transaction():
            if not database.fetch(sql.any):
                return []
            database.write(sql.mark, (entities, chunks))
            database.write(sql.forget_chunks, (chunks,))
            database.write(sql.forget_entities, self._bound(vanished))
            dropped = {key for (key,) in database.fetch(sql.citing, (chunks,))}
            empty = [key for (key,) in database.fetch(sql.empty)]
            dropped.update(key for key, *_ in database.fetch(sql.reports, (bind(empty),)))
            self._delete(empty, sql.remove, sql.remove_reports)
            self._delete(sorted(dropped), sql.remove_reports)
        return [int_to_id(key) for key in sorted(dropped)]

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        with self._database.transaction():
            new = {id_to_int(report.community_id): report for report in reports}
            self._delete(new, self._sql.remove_reports)
            self._database.write_many(
                self._sql.put_report, ((key, *_report_columns(r)) for key, r in new.items())
            )
            self._database.write_many(
                self._sql.put_citation,
                ((id_to_int(chunk), key) for key, r in new.items() for chunk in r.chunk_ids),
            )

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        return self._by_id(self._sql.reports, community_ids, _report)

    def write(self, communities: Sequence[Community]) -> None:
        """Add or replace communities without a mark, in the open transaction; reports stay."""
        database, sql = self._database, self._sql
        keys = [id_to_int(community.id) for community in communities]
        self._delete(keys, sql.remove)
        keyed = list(zip(keys, communities, strict=True))
        database.write_many(
            sql.put_community,
            (
                (key, c.level, None if c.parent_id is None else id_to_int(c.parent_id), 0)
                for key, c in keyed
            ),
        )
        database.write_many(
            sql.put_member,
            (
                (key, id_to_int(member.entity_id), member.importance)
                for key, community in keyed
                for member in community.members
            ),
        )
        database.write_many(
            sql.put_chunk,
            ((key, id_to_int(chunk)) for key, community in keyed for chunk in community.chunk_ids),
        )

    def _delete(self, keys: Iterable[int], *tables: Mapping[str, str]) -> None:
        bound = (self._bind(keys),)
        for statements in tables:
            for sql in statements.values():
                self._database.write(sql, bound)


def _other_id(_: str, key: int) -> str:
    return int_to_id(key)


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
