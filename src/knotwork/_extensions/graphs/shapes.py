"""Shapes of the graph: subgraphs, aliases, passages that mention an entity, and communities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from knotwork._extensions.graphs.corrections import RecordedCorrection
from knotwork._indexing.resolution.resolver import MergedEntity, NamedDecision, SameNames
from knotwork._retrieval.entity_lookup import DossierPassage
from knotwork._shapes.base import Json, Rounded, Shape, rounded, typed
from knotwork._shapes.results import section_of
from knotwork.records import CommunityReport, Span, Subgraph

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._knowledge_base import KnowledgeBase

SUBGRAPH = Shape(
    "SubgraphShape",
    Subgraph,
    "A part of the graph in the order of exploration; ``is_cut`` is true if the limit was hit.",
    is_cut=bool,
)
DECISION = Shape(
    "DecisionShape",
    NamedDecision,
    "A decision about two names; a refused one contradicts others and has no effect.",
    "first second ids=decision.pair verdict=decision.verdict source=decision.source "
    "reason=decision.reason score=decision.score refused",
    verdict=str,
    source=Annotated[str, "Who decided: rules, person or a model."],
    score=Rounded,
)
THING = Shape(
    "ThingShape",
    MergedEntity,
    "An entity with several names, the preferred one first, and the decisions behind it.",
    "names entity_ids chunks decisions",
)
NAMES = Shape(
    "NameList",
    SameNames,
    "Merged entities, and names that are kept apart.",
    compared=Annotated[bool, "False if names were never compared."],
    waiting=Annotated[int, "Number of entities that changed since names were compared."],
)
CORRECTION = Shape(
    "CorrectionShape",
    RecordedCorrection,
    "A correction of the graph by hand. ``entity`` and ``other`` are names as they were, ``was`` "
    "the name or type that the documents give; ``reason`` says why it is not applied.",
    "id=correction.id kind=correction.kind entity=correction.entity other=correction.other "
    "relation=correction.relation name=correction.name type=correction.type was=correction.was "
    "documents=correction.documents "
    "author=correction.author made=correction.made entity_ids=correction.entity_ids "
    "other_ids=correction.other_ids applied reason note",
    made=Annotated[str, "The time in UTC, as in 2026-03-01T12:00:00Z."],
    entity_ids=Annotated[tuple[str, ...], "The entity, then those that were merged with it."],
)
CORRECTION_LIST = Shape(
    "CorrectionList", None, "Corrections, the newest first.", corrections=CORRECTION.many
)
SOURCE = Shape(
    "SourceShape",
    DossierPassage,
    "A passage that mentions an entity; ``marks`` are the mentions, as offsets in the document.",
    "chunk_id=chunk.id document=document.uri document_id=chunk.document_id "
    "title=chunk.document_title section span=chunk.span text=chunk.text marks about",
    section=(str, lambda passage: section_of(passage.chunk)),
    about=Rounded,
)
MEMBER = Shape("MemberShape", None, "A member of a community.", id=str, name=str, importance=float)
SUPPORT = Shape(
    "SupportShape",
    None,
    "The position of a passage that supports a finding.",
    **typed(str, "document document_id chunk_id"),
    span=Span,
)
FINDING = Shape(
    "FindingShape",
    None,
    "A finding of a community report, and the passages that support it.",
    text=str,
    supports=SUPPORT.many,
)
COMMUNITY = Shape(
    "CommunityShape",
    CommunityReport,
    "A community with its report; level 0 is the top level.",
    "id level parent children is_stale size members title summary rating language source score "
    "findings",
    id=str,
    **typed(int, "level size"),
    parent=str | None,
    children=Annotated[int, "Number of communities inside it, of the next level."],
    is_stale=Annotated[bool, "Whether its documents changed since it was built."],
    members=MEMBER.many,
    score=float,
    findings=FINDING.many,
)


def describe_communities(
    base: KnowledgeBase, topics: Sequence[Topic], *, members: int = 8
) -> list[Json]:
    """Return the JSON of communities, with the most important ``members`` of each.

    Supports of a report whose chunk was deleted are left out.
    """
    store = base.store
    chunks = store.documents.chunks({i for topic in topics for i in topic.report.chunk_ids})
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    supported = {key: documents[chunk.document_id] for key, chunk in chunks.items()}
    names = base.communities.member_names(topics, most=members)
    communities = store.capabilities.communities
    children = Counter(communities.parents().values()) if communities and topics else Counter()
    stale = frozenset(communities.stale()) if communities and topics else frozenset()
    return [
        COMMUNITY(
            topic.report,
            id=topic.community.id,
            level=topic.community.level,
            parent=topic.community.parent_id,
            children=children[topic.community.id],
            is_stale=topic.community.id in stale,
            size=topic.community.size,
            members=[
                MEMBER(id=key, name=names[key], importance=round(importance, 6))
                for key, importance in topic.community.members
                if key in names
            ],
            score=rounded(topic.score),
            findings=[
                FINDING(
                    text=finding.text,
                    supports=[
                        SUPPORT(
                            document=supported[support.chunk_id].uri,
                            document_id=supported[support.chunk_id].id,
                            chunk_id=support.chunk_id,
                            span=support.span,
                        )
                        for support in finding.supports
                        if support.chunk_id in supported
                    ],
                )
                for finding in topic.report.findings
            ],
        )
        for topic in topics
    ]
