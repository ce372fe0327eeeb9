"""Communities of the knowledge graph, and the reports that tell what each is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from knotwork.records.documents import Span

EXTRACTIVE_SOURCE = "extractive"
"""The source of a report that was put together from sentences of the documents, by no model."""


class Member(NamedTuple):
    """An entity of a community; the importances of a community's members add up to 1."""

    entity_id: str
    importance: float


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that belong together, and the chunks that hold them together.

    Level 0 is the topmost. ``members`` come by importance, then id; ``chunk_ids`` ascend. A parent
    holds all members and chunks of its children, and the children share none but
    names that mean several things. A community that
    relations alone hold together has no chunks of its own.
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
    """Where a statement of a report stands: a document span inside a chunk."""

    chunk_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a report and the passages that support it."""

    text: str
    supports: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """What a community is about.

    ``rating`` in [0, 10] says how much of the index it covers; ``language`` is an ISO 639-1 code.
    ``source`` is "extractive" or the name of the model that wrote it. ``content_key`` changes
    whenever anything that the report is written from changes.
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
        """All of it as plain text, a paragraph for each part."""
        return "\n".join((self.title, self.summary, *(finding.text for finding in self.findings)))
