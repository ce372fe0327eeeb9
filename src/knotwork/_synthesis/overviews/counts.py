"""Answer by counting: rank entities by their mentions, or count the mentions of a phrase."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork._stores.base import Store
from knotwork._stores.resolutions import read_groups
from knotwork._synthesis import messages
from knotwork._synthesis.messages import count_units
from knotwork._synthesis.overviews.lines import SummaryLine, SummaryPiece, SummaryText
from knotwork._text.chinese import HAN
from knotwork._text.prose import weigh_prose
from knotwork._text.statements import SelectedSentence, weigh_alone
from knotwork.records import Chunk, EdgeType, Label, Node, Span

USUAL_LIMIT = 5
MOST_LISTED = 20
_MOST_ENTITIES = 1_000_000
_MOST_CHUNKS = 100_000
_CANDIDATES = 4
"""How many times the wanted number of entities are counted exactly, as aliases are merged."""
_MOST_DOCUMENTS = 8

_VALUES = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
_TYPES: tuple[tuple[str, frozenset[str]], ...] = (
    (
        r"people|persons?|individuals?|characters?|figures?|who|人物|人名|人士|人|角色|谁|誰",
        frozenset({"PERSON", "PEOPLE", "CHARACTER"}),
    ),
    (
        r"compan(?:y|ies)|organi[sz]ations?|institutions?|firms?|公司|企业|企業|组织|組織|机构|機構|单位|單位",
        frozenset({"ORGANIZATION", "ORGANISATION", "COMPANY", "ORG", "INSTITUTION"}),
    ),
    (
        r"places?|locations?|cit(?:y|ies)|countr(?:y|ies)|regions?|地方|地点|地點|地名|城市|国家|國家",
        frozenset({"PLACE", "LOCATION", "GPE", "CITY", "COUNTRY", "GEO"}),
    ),
    (r"dates?", frozenset({"DATE"})),
    (r"works", frozenset({"WORK", "WORK_OF_ART"})),
)
_CASED = re.compile(r"[a-z]", re.IGNORECASE)
_NAMED_TYPES = frozenset().union(*(types for _, types in _TYPES[:3]))


@dataclass(frozen=True, slots=True)
class _Counted:
    name: str
    entity_ids: tuple[str, ...]
    chunk_ids: frozenset[str]
    importance: float


def rank_entities(
    store: Store, noun: str, language: str, *, limit: int = 0, by_importance: bool = False
) -> SummaryText:
    """Rank the entities of the type that a noun names, with a line for each.

    They are ranked by the number of passages that mention them or an alias. ``by_importance``
    multiplies this number by their PageRank share in their topmost community, weighted by the size
    of the community.
    """
    nodes = _entities_of(store, noun)
    if not nodes:
        return SummaryText(messages.no_entities(language, noun=noun), [])
    wanted = min(limit or USUAL_LIMIT, MOST_LISTED)
    importance = _importances(store) if by_importance else {}
    nodes.sort(
        key=lambda n: (
            -importance.get(n.id, 0.0) * int(n.properties["chunk_count"]),
            -int(n.properties["chunk_count"]),
            n.name,
        )
    )
    counted = _count_groups(store, nodes, wanted * _CANDIDATES, importance)
    counted.sort(key=lambda c: (-c.importance * len(c.chunk_ids), -len(c.chunk_ids), c.name))
    head = messages.most_important if by_importance else messages.most_often
    intro = head(
        language,
        count=f"{len(nodes):,}",
        noun=noun if language == "zh" or noun != "who" else "people",
    )
    lines = []
    for item in counted[:wanted]:
        source, documents = _cite_entity(store, item)
        if source is not None:
            text = messages.ranked(
                language,
                name=item.name,
                passages=count_units(len(item.chunk_ids), "passage", language),
                documents=count_units(documents, "document", language),
            )
            lines.append(SummaryLine("", (SummaryPiece(text, source),)))
    return SummaryText(intro, lines)


def count_mentions(store: Store, subject: str, language: str) -> SummaryText:
    """Count how often, and in how many passages and documents, a phrase occurs.

    Case is ignored. Each line is a document, those with most mentions first.
    """
    total = store.documents.document_count()
    form = _word_form(subject)
    found = store.texts("chunk").search(subject, k=_MOST_CHUNKS)
    held: dict[str, list[tuple[Chunk, list[re.Match[str]]]]] = defaultdict(list)
    ids = [item.id for item in found]
    for start in range(0, len(ids), 500):
        for chunk in store.documents.chunks(ids[start : start + 500]).values():
            if not chunk.is_parent and (matches := list(form.finditer(chunk.text))):
                held[chunk.document_id].append((chunk, matches))
    if not held:
        return SummaryText(messages.never(language, subject=subject, total=f"{total:,}"), [])
    times = {key: sum(len(m) for _, m in rows) for key, rows in held.items()}
    intro = messages.mentioned(
        language,
        subject=subject,
        times=count_units(sum(times.values()), "time", language),
        passages=count_units(sum(map(len, held.values())), "passage", language),
        documents=count_units(len(held), "document", language),
        total=f"{total:,}",
    )
    lines = []
    for key in sorted(held, key=lambda key: (-times[key], key))[:_MOST_DOCUMENTS]:
        chunk, matches = max(held[key], key=lambda row: (len(row[1]), -row[0].ordinal))
        source = _sentence_at(chunk, [chunk.span.start + m.start() for m in matches])
        extent = count_units(times[key], "time", language)
        label = messages.with_extent(language, title=chunk.document_title, extent=extent)
        lines.append(SummaryLine("", (SummaryPiece(label, source),)))
    return SummaryText(intro, lines)


def _entities_of(store: Store, noun: str) -> list[Node]:
    """Return the entities of the types that a noun names; all but values if it names no type."""
    types = next((t for form, t in _TYPES if re.fullmatch(form, noun)), None)

    def is_meant(node: Node) -> bool:
        kind = str(node.properties["type"]).upper()
        if types is None or kind not in types:
            return types is None and kind not in _VALUES
        # A name of a person, an organisation or a place has a capital, in scripts that have them.
        is_cased = kind in _NAMED_TYPES and _CASED.search(node.name) is not None
        return not is_cased or node.name != node.name.lower()

    return list(filter(is_meant, store.graph.find(label=Label.ENTITY, limit=_MOST_ENTITIES)))


def _importances(store: Store) -> dict[str, float]:
    """Return the importance of entities in the topmost communities, weighted by community size."""
    held = store.capabilities.communities
    levels = held.levels() if held else []
    found: dict[str, float] = defaultdict(float)
    for community in held.communities(levels[0]).values() if held and levels else ():
        extent = community.size + len(community.chunk_ids)
        for member in community.members:
            found[member.entity_id] += member.importance * extent
    return found


def _count_groups(
    store: Store, ranked: Sequence[Node], most: int, importance: Mapping[str, float]
) -> list[_Counted]:
    """Count the passages of the first ``most`` entities exactly, with aliases merged."""
    groups = read_groups(store)
    names: defaultdict[str, list[Node]] = defaultdict(list)
    for node in ranked:
        key = groups.get(node.id, node.id)
        if key in names or len(names) < most:
            names[key].append(node)
    ids = [node.id for nodes in names.values() for node in nodes]
    edges = store.graph.neighbours(ids, direction="in", types=[EdgeType.MENTIONS])
    counted = []
    for key, nodes in names.items():
        first = next((node for node in nodes if node.id == key), nodes[0])
        chunks = frozenset(edge.source for node in nodes for edge in edges.get(node.id, ()))
        total = sum(importance.get(node.id, 0.0) for node in nodes)
        counted.append(_Counted(first.name, tuple(n.id for n in nodes), chunks, total))
    return [item for item in counted if item.chunk_ids]


def _cite_entity(store: Store, item: _Counted) -> tuple[SelectedSentence | None, int]:
    """Return the sentence that best represents an entity, and the number of its documents."""
    chunks = store.documents.chunks(item.chunk_ids)
    documents = len({chunk.document_id for chunk in chunks.values()})
    best: tuple[float, str, SelectedSentence] | None = None
    named = (m for held in store.graph.mentions(item.chunk_ids).values() for m in held)
    for mention in (m for m in named if m.entity_id in item.entity_ids):
        chunk = chunks[mention.chunk_id]
        for span in mention.spans[:1]:
            sentence = _sentence_at(chunk, [span.start])
            worth = (0.5 + mention.about) * weigh_alone(sentence.text) * weigh_prose(sentence.text)
            if best is None or (worth, chunk.id) > best[:2]:
                best = worth, chunk.id, sentence
    return (best[2] if best else None), documents


def _sentence_at(chunk: Chunk, offsets: Sequence[int]) -> SelectedSentence:
    """Return the best sentence of a chunk that contains one of these document offsets."""
    holding = [
        (chunk.sentence_text(index), span)
        for index, span in enumerate(chunk.sentences)
        if any(span.start <= offset < span.end for offset in offsets)
    ]
    if not holding:
        return SelectedSentence(chunk, chunk.span, chunk.text, 1.0, 0)
    text, span = max(holding, key=lambda s: (weigh_prose(s[0]) * weigh_alone(s[0]), -s[1].start))
    return SelectedSentence(chunk, Span(*span), text, 1.0, 0)


def _word_form(subject: str) -> re.Pattern[str]:
    """Return a pattern of the words with any white space, and word bounds unless in Chinese."""
    words = r"\s+".join(re.escape(word) for word in subject.split())
    left = "" if re.match(f"[{HAN}]|\\W", subject) else r"(?<!\w)"
    right = "" if re.search(f"(?:[{HAN}]|\\W)$", subject) else r"(?!\w)"
    return re.compile(left + words + right, re.IGNORECASE)
