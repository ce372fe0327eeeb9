"""Search communities by their reports and passages, and read the reports.

A question about the whole documents has no topic; it gets the largest communities.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.evidence_builder import rank
from knotwork._retrieval.question import can_embed, require_vectors
from knotwork._stores.base import Scored, Store
from knotwork._stores.capabilities import CommunityStore
from knotwork._text.terms import content_terms
from knotwork.records import EXTRACTIVE_SOURCE, Community, Evidence

FEWEST_THEMES = 4
"""With fewer topmost communities, an overview uses the children of the largest ones instead."""

REPORT_INDEX = "report"
"""The name of the text index and of the vector index of reports, by community id."""

_CANDIDATES = 50
_RANK_OFFSET = 10
"""The constant of reciprocal rank fusion (Cormack et al., SIGIR 2009), small for short lists."""
_LEAST_SHARE = 0.35
"""Communities with a smaller share of the best score are left out as irrelevant."""
_VOTING_HITS = 10
_LEAST_VECTOR_SHARE = 0.5
"""Share of the reports that must have a vector: a few with vectors would pass for the nearest."""
_BATCH = 200


def has_report_vectors(store: Store) -> bool:
    """Return True if enough reports have a vector for a search by vectors."""
    reports = store.texts(REPORT_INDEX).count()
    return store.vectors(REPORT_INDEX).count() >= _LEAST_VECTOR_SHARE * reports > 0


def holds_written_reports(store: Store) -> bool:
    """Return True if a language model wrote any report of this index."""
    held = store.capabilities.communities
    ids = [i for level in held.levels() for i in level] if held else []
    return any(
        report.source != EXTRACTIVE_SOURCE
        for start in range(0, len(ids), _BATCH)
        for report in (held.reports(ids[start : start + _BATCH]) if held else {}).values()
    )


def find_communities(
    question: str,
    *,
    store: Store,
    evidence: Evidence | None = None,
    embedder: Embedder | None = None,
    most: int,
    fewest: int = FEWEST_THEMES,
) -> list[Scored]:
    """Return the communities that a question is about, best first, none inside another.

    A question with a topic gets the communities whose reports are nearest to it, by words and by
    vectors, and those that contain the passages of ``evidence``. A question about the whole gets
    the largest ones, at least ``fewest`` if there are as many.
    """
    held = store.capabilities.communities
    if held is None or most <= 0:
        return []
    topic = find_topic(question)
    scores: defaultdict[str, float] = defaultdict(float)
    lists = _read_lists(topic, question, store, held, evidence, embedder) if topic else []
    for found in lists:
        for number, item in enumerate(found, start=1):
            scores[item.id] += 1.0 / (_RANK_OFFSET + number)
    return _relevant(scores, held, most) if scores else _largest(held, most, fewest)


def search_communities(
    topic: str,
    *,
    store: Store,
    evidence: Evidence,
    embedder: Embedder | None = None,
    within: Collection[str] | None = None,
    most: int,
) -> list[Scored]:
    """Return the communities on a topic, best first; with ``within``, only of these ids.

    They are found as by `find_communities`. Scores are sums of each list's scores relative to its
    best, not of ranks: many reports share nearly the same words of a short topic, so ranks among
    them say little.
    """
    held = store.capabilities.communities
    if held is None or most <= 0:
        return []
    scores: defaultdict[str, float] = defaultdict(float)
    for found in _read_lists(topic, topic, store, held, evidence, embedder, within):
        top = max((item.score for item in found), default=0.0)
        for item in found if top > 0 else ():
            scores[item.id] += item.score / top
    return _relevant(scores, held, most)


def _relevant(scores: Mapping[str, float], held: CommunityStore, most: int) -> list[Scored]:
    """Return the communities with a fair share of the best score, none around a better one."""
    ranked, tree = ranked_scores(scores, len(scores)), CommunityTree(held.parents())
    above = {item.id: set(tree.around(item.id)) for item in ranked if item.id in tree.parents}
    kept: list[Scored] = []
    for item in ranked:
        if item.score < _LEAST_SHARE * ranked[0].score or item.id not in above:
            continue
        if not any(item.id in above[k.id] or k.id in above[item.id] for k in kept):
            kept.append(item)
    return kept[:most]


def ranked_scores(scores: Mapping[str, float], most: int) -> list[Scored]:
    """Return the ``most`` best scores above 0, descending, ties by ascending id."""
    return [item for item in rank(scores, most) if item.score > 0]


class CommunityTree:
    """The hierarchy of communities; those whose parent is missing are topmost."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self.parents = parents
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        self.top: list[str] = []
        for identifier, parent in parents.items():
            if parent in parents and parent is not None:
                self._children[parent].append(identifier)
            else:
                self.top.append(identifier)

    def children(self, community_id: str) -> Sequence[str]:
        """Return the direct children of a community, by ascending id."""
        return self._children.get(community_id, ())

    def around(self, community_id: str) -> Iterator[str]:
        """Yield the ancestors of a community, nearest first."""
        parent = self.parents.get(community_id)
        while parent is not None and parent in self.parents:
            yield parent
            parent = self.parents[parent]


def _read_lists(
    topic: str,
    question: str,
    store: Store,
    held: CommunityStore,
    evidence: Evidence | None,
    embedder: Embedder | None,
    within: Collection[str] | None = None,
) -> list[list[Scored]]:
    """Return communities by the words of their reports, by their vectors, and by their passages.

    The last are the lowest communities, of ``within``, that contain the passages of the evidence.
    """
    texts, vectors = store.texts(REPORT_INDEX), store.vectors(REPORT_INDEX)
    lists = [texts.search(topic, k=_CANDIDATES, where=within)]
    if embedder is not None and can_embed(embedder, question) and has_report_vectors(store):
        vector = require_vectors(embedder.embed([question]), embedder)[0]
        lists.append(vectors.search(vector, k=_CANDIDATES, where=within))
    if evidence is not None:
        hits = [hit for hit in evidence.hits[:_VOTING_HITS] if hit.score > 0]
        around = held.of_chunks([hit.chunk.id for hit in hits])
        votes: defaultdict[str, float] = defaultdict(float)
        for hit in hits:
            inside = around.get(hit.chunk.id, ())
            for lowest in [key for key in inside if within is None or key in within][-1:]:
                votes[lowest] += hit.score
        lists.append(ranked_scores(votes, len(votes)))
    return lists


def _largest(held: CommunityStore, most: int, fewest: int) -> list[Scored]:
    """Return the largest topmost communities; their children while there are few."""
    levels = held.levels()
    chosen = {c.id: c for c in held.communities(levels[0] if levels else []).values()}
    tree = CommunityTree(held.parents()) if len(chosen) < fewest else CommunityTree({})
    while len(chosen) < fewest:
        whole = [c for c in chosen.values() if tree.children(c.id)]
        if not whole:
            break
        largest = min(whole, key=_by_extent)
        del chosen[largest.id]
        chosen.update(held.communities(tree.children(largest.id)))
    ranked = sorted(chosen.values(), key=_by_extent)[:most]
    return [Scored(c.id, float(c.size + len(c.chunk_ids))) for c in ranked]


def _by_extent(community: Community) -> tuple[int, str]:
    return -(community.size + len(community.chunk_ids)), community.id


_WHOLE = re.compile(
    r"\b(?:please|what|which|who|how|can|could|would|you|give|list|tell|show|find|provide|make|write"
    r"|me|us|an?|is|are|do|does|of|in|on|about|main(?:ly)?|key|major|central|common(?:ly)?"
    r"|recurring|overarching|overall|general(?:ly)?|primary|principal|dominant|important|most"
    r"|frequent(?:ly)?|often|typical(?:ly)?|usually|any|all|whole|entire|across|throughout"
    r"|themes?|topics?|subjects?|ideas?|points?|takeaways?|gist|contents?|summar(?:y|i[sz]e)"
    r"|overview|outline|big picture|documents?|docs|corpus|collections?|texts?|files?|data ?sets?"
    r"|knowledge base|materials?|sources?|cover(?:s|ed)?|discuss(?:es|ed|ions?)?"
    r"|mention(?:s|ed)?|talk(?:s|ed)?|describe[sd]?|sa(?:y|ys|id)|deals?|with|contains?"
    r"|emphasi[sz]ed?|there)\b",
    re.IGNORECASE,
)
_WHOLE_ZH = re.compile(
    r"请|請|帮我|幫我|一下|总结|總結|概括|概述|综述|綜述|归纳|歸納|梳理|纵览|主要|核心|共同|常见|常見"
    r"|总体|總體|整体|整體|全部|所有|整个|整個|这些|這些|这批|這批|本|我的|文档|文檔|文件|资料|資料|文章"
    r"|材料|知识库|知識庫|语料|語料|内容|內容|主题|主題|话题|話題|议题|議題|要点|要點|大意|中心思想|观点|觀點"
    r"|有哪些|哪些|什么|什麼|方面|涉及|讨论|討論|介绍|介紹|包含|包括|关于|關於|讲述|講述|讲|講|谈|談|说|說"
    r"|是|的|了|都|里|裡|中|在|有|上|来看|來看|而言|给出|給出|列出"
)


def find_topic(question: str) -> str:
    """Return the question without words that ask about the whole; "" if nothing else is left.

    "What are the main themes of the documents?" has no topic; "Which risks of wind power are
    mentioned most?" has "risks wind power".
    """
    rest = _WHOLE_ZH.sub(" ", _WHOLE.sub(" ", question))
    rest = " ".join(re.sub(r"[^\w\s]", " ", rest).split())
    return rest if content_terms(rest) else ""
