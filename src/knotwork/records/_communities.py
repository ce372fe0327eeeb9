"""Records of communities of the knowledge graph and their reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from knotwork.records._documents import Span

EXTRACTIVE_SOURCE = "extractive"
"""The source of a report made of sentences of the documents, without a model."""


class Member(NamedTuple):
    """An entity of a community. The importances of all members add up to 1."""

    entity_id: str
    importance: float


@dataclass(frozen=True, slots=True)
class Community:
    """A group of closely linked entities and chunks.

    Level 0 is the topmost. ``members`` are ordered by importance, then id, ``chunk_ids`` by id. A
    parent has all members and chunks of its children; children share no members but homonyms. A
    community that only relations link has no chunks.
    """

    id: str
    level: int
    parent_id: str | None
    members: tuple[Member, ...]
    chunk_ids: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of member entities."""
        return len(self.members)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The ids of the members, the most important first."""
        return tuple(member.entity_id for member in self.members)


@dataclass(frozen=True, slots=True)
class Support:
    """The source of a finding: a document span inside a chunk."""

    chunk_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a report, and the spans that support it."""

    text: str
    supports: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A report on the topics of a community.

    ``rating`` in [0, 10] is the share of the index that it covers, ``language`` an ISO 639-1 code.
    ``source`` is "extractive" or the name of the model that wrote it. ``content_key`` changes with
    anything that the report is written from.
    """

    community_id: str
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    language: str
    source: str
    content_key: str

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The ids of the chunks it cites, ascending."""
        cited = {support.chunk_id for finding in self.findings for support in finding.supports}
        return tuple(sorted(cited))

    @property
    def text(self) -> str:
        """Title, summary and findings as plain text, one line each."""
        return "\n".join((self.title, self.summary, *(finding.text for finding in self.findings)))
