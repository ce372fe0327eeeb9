"""Build the brief from which a model writes a community report.

A brief holds a part of the community's material, under a ceiling of tokens: names, descriptions and
numbered sentences. Its key is the hash of its content, so a change of the documents that leaves the
brief unchanged costs no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

from knotwork.indexing.communities.detection import community_store
from knotwork.indexing.communities.extractive_reports import (
    Children,
    ExtractiveReports,
    Material,
    central_names,
    read_material,
)
from knotwork.indexing.communities.report_sentences import ReportSentence
from knotwork.indexing.entity_descriptions import Describer
from knotwork.records import (
    ALIAS_RELATION,
    Community,
    CommunityReport,
    EdgeType,
    Support,
    content_id,
)
from knotwork.stores.base import Store
from knotwork.stores.resolutions import read_groups
from knotwork.text.languages import detect_language
from knotwork.text.token_counts import count_tokens

BriefItem = TypeVar("BriefItem", ReportSentence, "BriefLine")

BRIEF_VERSION = "model-1"
"""The kind of writer, a part of every key; raised when the same brief should be written anew.

No name of a model is part of a key: what one model wrote stays when another one is set.
"""

BRIEF_TOKENS = 320
PARENT_TOKENS = 600
"""The most that a model is told of a community, and of one with others below it. What a brief holds
must not depend on who asks, or a report that was paid for would be lost to whoever has no model.
"""

_NAMES = 12
_DESCRIBED = 8
_DESCRIPTION_TOKENS = 40
_RELATED = 20
_RELATIONS = 4
_FAN = 32
_ROOM_FOR_RELATIONS = 48
_PARTS = 8
_TITLE_TOKENS = 14
_LONGEST_NAME = 40
_FEW_CHUNKS = 8
"""A parent of so few may be told of by its own sentences, if all of them have room."""
_HEADING_SHARE = 0.4
"""Share of a brief's tokens that names, descriptions and relations may take."""
_LINE_TOKENS = 4
"""What the number of a line and its break cost."""

_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)")
_ADDRESS = re.compile(r"\bhttps?://[^\s，。、）)>\]]{12,}")
_NUMBER = re.compile(r"[\[【［](\d{1,4}(?:\s*[,，、;；–-]\s*\d{1,4})*)[\]】］]")


@dataclass(frozen=True, slots=True)
class ReportBudgets:
    """When a model is asked: no key depends on it.

    A community of which the documents say less than ``least_tokens`` keeps its extractive report,
    which then holds most of it. ``reports_a_call`` share one prompt.
    """

    least_tokens: int = 600
    reports_a_call: int = 4


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A numbered line: a sentence, or a finding of a report below, and where it stands."""

    text: str
    supports: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """What a model writes one report from. ``heading`` is what stands above the numbered lines."""

    material: Material
    key: str
    language: str
    heading: tuple[str, ...]
    lines: tuple[BriefLine, ...]

    @property
    def community_id(self) -> str:
        return self.material.community_id

    def rendered(self, number: int, *, first: int) -> str:
        """Return it as a group of a prompt, its lines numbered from ``first``."""
        told = (f"[{place}] {line.text}" for place, line in enumerate(self.lines, start=first))
        return "\n".join((f"# {number}", *self.heading, *told))


class BriefDesk:
    """Makes the briefs of communities, from the reports of their children as they stand.

    ``known`` are extractive reports to build on: see `Foundation`.
    """

    def __init__(
        self,
        store: Store,
        children: Children,
        budgets: ReportBudgets | None = None,
        known: Iterable[CommunityReport] = (),
    ) -> None:
        self.foundation = ExtractiveReports(store, children, known)
        self._describer = Describer(
            store, groups=read_groups(store), most_tokens=_DESCRIPTION_TOKENS
        )
        self._store = store
        self._budgets = budgets or ReportBudgets()

    def is_worth_a_model(self, community: Community, material: Material) -> bool:
        """Tell whether there is more to say of a community than a few of its sentences do."""
        if self.foundation.children(community):
            return True
        tokens = 0
        for sentence in material.sentences:
            tokens += count_tokens(sentence.text)
            if tokens >= self._budgets.least_tokens:
                return True
        return False

    def brief(self, community: Community, material: Material | None = None) -> Brief:
        """Return the brief of a community, whose material is gathered where it is not given."""
        material = material or self.foundation.material(community)
        children = self.foundation.children(community)
        if not children:
            return self._make(community, material, BRIEF_TOKENS)
        ceiling = PARENT_TOKENS
        if len(community.chunk_ids) <= _FEW_CHUNKS:
            own = read_material(self._store, community)
            if sum(_cost(plain_line(s.text)) for s in own.sentences) <= ceiling:
                return self._make(community, material, ceiling, own=own)
        reports = community_store(self._store).reports([child.id for child in children])
        below = sorted(reports.values(), key=lambda report: (-report.rating, report.community_id))
        return self._make(community, material, ceiling, below=below)

    def _make(
        self,
        community: Community,
        material: Material,
        ceiling: int,
        *,
        own: Material | None = None,
        below: Sequence[CommunityReport] = (),
    ) -> Brief:
        heading = _known_of_names(self._describer, material, ceiling)
        related = _relations(self._store, community, material)
        return make_brief(material, heading, related, ceiling=ceiling, own=own, below=below)


def make_brief(
    material: Material,
    heading: Sequence[str],
    related: Sequence[Related],
    *,
    ceiling: int,
    own: Material | None = None,
    below: Sequence[CommunityReport] = (),
) -> Brief:
    """Return the brief of a community, of at most ``ceiling`` tokens.

    ``heading`` says what is known of its names, ``related`` how they are related, as far as no
    sentence does. The sentences of ``own`` take the place of the material's. ``below`` are the
    reports of its children, whoever wrote them, the best rated first: where there are any, their
    findings are the lines. The key counts the material in their place.
    """
    room = ceiling - sum(map(_cost, heading))
    reserved = min(sum(_cost(relation.text) for relation in related), _ROOM_FOR_RELATIONS)
    chosen = _chosen_sentences(own if own and own.sentences else material, room - reserved)
    known = (*heading, *_unsaid(related, chosen))
    told = (f"{s.support.chunk_id} {s.support.span} {s.text}" for s in chosen)
    key = content_id(BRIEF_VERSION, *known, "lines", *told)
    language = material.language if material.sentences else detect_language("\n".join(known))
    if not below:
        lines = [BriefLine(plain_line(s.text), (s.support,)) for s in chosen]
        return Brief(material, key, language, known, tuple(lines))
    parts = _parts(below)
    room = ceiling - sum(map(_cost, (*known, *parts)))
    return Brief(material, key, language, (*known, *parts), tuple(_within(_findings(below), room)))


def plain_line(text: str) -> str:
    """Return a line without addresses of links, and without what reads as the number of a line."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "://" in text:
        text = _ADDRESS.sub("…", text)
    return _NUMBER.sub("(\\1)", text)


def _known_of_names(describer: Describer, material: Material, ceiling: int) -> tuple[str, ...]:
    """Return the names of a community, and what is known of the first of them."""
    names = {entity.id: entity.name for entity in material.entities}
    central = central_names(material.entities)
    short = [name for name in central if len(name) <= _LONGEST_NAME and "://" not in name]
    kept = [f"names: {', '.join((short or central[:1])[:_NAMES])}"]
    room = ceiling * _HEADING_SHARE - _cost(kept[0])
    for key, text in describer.describe(list(names)[:_DESCRIBED]).items():
        line = plain_line(f"{names[key]}: {text}")
        if _cost(line) <= room:
            kept.append(line)
            room -= _cost(line)
    return tuple(kept)


class Related(NamedTuple):
    """Two names and what stands between them."""

    source: str
    relation: str
    target: str

    @property
    def text(self) -> str:
        return " | ".join(self)


def _relations(store: Store, community: Community, material: Material) -> list[Related]:
    """Return the strongest relations among important members that say more than that there is one.

    A store gives no descriptions of relations; the sentences below say what they would.
    """
    names = {entity.id: entity.name for entity in material.entities}
    members = [key for key in community.entity_ids[:_RELATED] if key in names]
    edges = store.graph.neighbours(members, direction="out", types=[EdgeType.RELATES], fan=_FAN)
    found = [
        edge
        for key in members
        for edge in edges.get(key, ())
        if edge.target in names and edge.relation != ALIAS_RELATION
    ]
    found.sort(key=lambda edge: (-edge.weight, edge.source, edge.target, edge.relation))
    related = (Related(names[e.source], e.relation, names[e.target]) for e in found)
    return list(dict.fromkeys(related))[:_RELATIONS]


def _unsaid(related: Iterable[Related], sentences: Iterable[ReportSentence]) -> tuple[str, ...]:
    """Return the relations whose two names no sentence holds, as many as there is room for."""
    told = [sentence.text for sentence in sentences]
    unsaid = [r.text for r in related if not any(r.source in t and r.target in t for t in told)]
    kept, room = [], _ROOM_FOR_RELATIONS
    for line in unsaid:
        room -= _cost(line)
        if room >= 0:
            kept.append(line)
    return tuple(kept)


def _parts(below: Sequence[CommunityReport]) -> tuple[str, ...]:
    """Return the titles of the reports below in a line, those that are not too long."""
    titles = [plain_line(report.title) for report in below]
    short = [title for title in titles if count_tokens(title) <= _TITLE_TOKENS][:_PARTS]
    return (f"parts: {'; '.join(short)}",) if short else ()


def _chosen_sentences(material: Material, room: int) -> list[ReportSentence]:
    """Return the central sentences, then those with the best coverage, as many as there is room
    for; sentences of one chunk stand together, in their order.
    """
    offered = dict.fromkeys((*material.central, *material.sentences))
    chosen = list(_within(offered, room))
    place: dict[str, int] = {}
    for sentence in chosen:
        place.setdefault(sentence.support.chunk_id, len(place))
    return sorted(chosen, key=lambda s: (place[s.support.chunk_id], s.support.span))


def _findings(below: Iterable[CommunityReport]) -> Iterator[BriefLine]:
    """Yield the first finding of each report, then the second of each, and so on."""
    rows = zip_longest(*(report.findings for report in below))
    for finding in chain.from_iterable(rows):
        if finding is not None and finding.supports:
            yield BriefLine(plain_line(finding.text), finding.supports)


def _within(items: Iterable[BriefItem], room: int) -> Iterator[BriefItem]:
    """Yield the items that fit, in order; the first in any case."""
    first = True
    for item in items:
        if not first and room < _LINE_TOKENS:
            return
        cost = _cost(plain_line(item.text))
        if first or cost <= room:
            room -= cost
            first = False
            yield item


def _cost(text: str) -> int:
    return count_tokens(text) + _LINE_TOKENS
