"""Build the brief from which a model writes a community report.

A brief is a part of the community's material within a token limit: names, descriptions and numbered
sentences. Its key is the hash of its content, so a change of the documents that leaves the brief
unchanged costs no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

from knotwork._indexing.communities.extractive_reports import (
    Children,
    ExtractiveReports,
    Material,
    ReportSentence,
    central_names,
    read_material,
)
from knotwork._indexing.entity_descriptions import Describer
from knotwork._stores.base import Store, require_communities
from knotwork._stores.resolutions import read_groups
from knotwork._text.languages import detect_language
from knotwork._text.token_counts import count_tokens
from knotwork.records import (
    ALIAS_RELATION,
    Community,
    CommunityReport,
    EdgeType,
    Support,
    content_id,
)

BriefItem = TypeVar("BriefItem", ReportSentence, "BriefLine")

BRIEF_VERSION = "model-1"
"""Version in every key; increase it to have all reports written again.

Keys do not include the model's name: reports of one model stay valid when another one is set.
"""

BRIEF_TOKENS = 320
PARENT_TOKENS = 600
"""Token limits of the brief of a lowest community, and of a parent. They are constants, because a
brief that depended on settings would invalidate paid reports when the settings change.
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
"""Most chunks of a parent whose brief may quote its own sentences, if all of them fit."""
_HEADING_SHARE = 0.4
"""Share of a brief's tokens that names, descriptions and relations may take."""
_LINE_TOKENS = 4
"""Tokens of a line's number and its line break."""

_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)")
_ADDRESS = re.compile(r"\bhttps?://[^\s，。、）)>\]]{12,}")
_NUMBER = re.compile(r"[\[【［](\d{1,4}(?:\s*[,，、;；–-]\s*\d{1,4})*)[\]】］]")


@dataclass(frozen=True, slots=True)
class ReportBudgets:
    """Limits of the calls to a model; no key depends on them.

    A community with fewer than ``least_tokens`` tokens of sentences keeps its extractive report,
    which quotes most of them; 0 is 600, or fewer in an index of a few chunks, so that it has
    reports of a model too. One prompt asks for ``reports_a_call`` reports.
    """

    least_tokens: int = 0
    reports_a_call: int = 4

    def least_tokens_of(self, chunks: int) -> int:
        """Return the fewest tokens for a report of a model, in an index of so many chunks."""
        usual = min(_LEAST_TOKENS, max(_LEAST_SMALL_TOKENS, _LEAST_TOKENS_A_CHUNK * chunks))
        return self.least_tokens or usual


_LEAST_TOKENS = 600
_LEAST_SMALL_TOKENS = 60
_LEAST_TOKENS_A_CHUNK = 25


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A numbered line: a sentence or a finding of a child report, with its supporting spans."""

    text: str
    supports: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """The input for one report; ``heading`` precedes the numbered lines."""

    material: Material
    key: str
    language: str
    heading: tuple[str, ...]
    lines: tuple[BriefLine, ...]

    @property
    def community_id(self) -> str:
        return self.material.community_id

    def rendered(self, number: int, *, first: int) -> str:
        """Return the brief as group ``number`` of a prompt, with lines numbered from ``first``."""
        lines = (f"[{place}] {line.text}" for place, line in enumerate(self.lines, start=first))
        return "\n".join((f"# {number}", *self.heading, *lines))


class BriefBuilder:
    """Builds the briefs of communities from their material and the reports of their children.

    ``known`` are up-to-date extractive reports: see `ExtractiveReports`.
    """

    def __init__(
        self,
        store: Store,
        children: Children,
        budgets: ReportBudgets | None = None,
        known: Iterable[CommunityReport] = (),
    ) -> None:
        self.extractive = ExtractiveReports(store, children, known)
        self._describer = Describer(
            store, groups=read_groups(store), most_tokens=_DESCRIPTION_TOKENS
        )
        self._store = store
        budgets = budgets or ReportBudgets()
        self._least_tokens = budgets.least_tokens_of(store.documents.chunk_count())

    def is_worth_a_model(self, community: Community, material: Material) -> bool:
        """Return True if a model can add to the few sentences that an extractive report quotes."""
        if self.extractive.children(community):
            return True
        tokens = 0
        for sentence in material.sentences:
            tokens += count_tokens(sentence.text)
            if tokens >= self._least_tokens:
                return True
        return False

    def brief(self, community: Community, material: Material | None = None) -> Brief:
        """Return the brief of a community; without ``material``, gather it first."""
        material = material or self.extractive.material(community)
        children = self.extractive.children(community)
        ceiling = PARENT_TOKENS if children else BRIEF_TOKENS
        own: Material | None = None
        below: Sequence[CommunityReport] = ()
        if children and len(community.chunk_ids) <= _FEW_CHUNKS:
            own = read_material(self._store, community)
            if sum(_cost(plain_line(s.text)) for s in own.sentences) > ceiling:
                own = None
        if children and own is None:
            reports = require_communities(self._store).reports([child.id for child in children])
            below = sorted(reports.values(), key=lambda r: (-r.rating, r.community_id))
        heading = _entity_lines(self._describer, material, ceiling)
        related = _strongest_relations(self._store, community, material)
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

    ``heading`` lists and describes its entities. Relations of ``related`` are added if no chosen
    sentence names both ends. The sentences of ``own`` replace those of the material. With
    ``below``, the reports of the children by descending rating, their findings are the lines; the
    key is still computed from the sentences, so it does not depend on who wrote these reports.
    """
    room = ceiling - sum(map(_cost, heading))
    reserved = min(sum(_cost(relation.text) for relation in related), _ROOM_FOR_RELATIONS)
    chosen = _chosen_sentences(own if own and own.sentences else material, room - reserved)
    full_heading = (*heading, *_unstated(related, chosen))
    sentences = (f"{s.support.chunk_id} {s.support.span} {s.text}" for s in chosen)
    key = content_id(BRIEF_VERSION, *full_heading, "lines", *sentences)
    language = material.language if material.sentences else detect_language("\n".join(full_heading))
    if not below:
        lines = [BriefLine(plain_line(s.text), (s.support,)) for s in chosen]
        return Brief(material, key, language, full_heading, tuple(lines))
    full_heading += _titles_line(below)
    room = ceiling - sum(map(_cost, full_heading))
    return Brief(material, key, language, full_heading, tuple(_within(_findings(below), room)))


def plain_line(text: str) -> str:
    """Return a line without URLs, and with bracketed numbers, which cite lines, in parentheses."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "://" in text:
        text = _ADDRESS.sub("…", text)
    return _NUMBER.sub("(\\1)", text)


def _entity_lines(describer: Describer, material: Material, ceiling: int) -> tuple[str, ...]:
    """Return a line of entity names, then a description of each of the most important ones."""
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
    """A relation between two names."""

    source: str
    relation: str
    target: str

    @property
    def text(self) -> str:
        return " | ".join(self)


def _strongest_relations(store: Store, community: Community, material: Material) -> list[Related]:
    """Return the strongest typed relations among important members, without aliases.

    Stores do not return descriptions of relations; the sentences of the brief serve instead.
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


def _unstated(related: Iterable[Related], sentences: Iterable[ReportSentence]) -> tuple[str, ...]:
    """Return the relations whose names no sentence contains together, as many as fit."""
    texts = [sentence.text for sentence in sentences]
    unstated = [r.text for r in related if not any(r.source in t and r.target in t for t in texts)]
    kept, room = [], _ROOM_FOR_RELATIONS
    for line in unstated:
        room -= _cost(line)
        if room >= 0:
            kept.append(line)
    return tuple(kept)


def _titles_line(below: Sequence[CommunityReport]) -> tuple[str, ...]:
    """Return a line with the short titles of the child reports, or nothing if all are long."""
    titles = [plain_line(report.title) for report in below]
    short = [title for title in titles if count_tokens(title) <= _TITLE_TOKENS][:_PARTS]
    return (f"parts: {'; '.join(short)}",) if short else ()


def _chosen_sentences(material: Material, room: int) -> list[ReportSentence]:
    """Return the central sentences and then those with the best coverage, as many as fit.

    Sentences of one chunk are grouped, in reading order.
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
    """Yield the items that fit, in order, and always the first."""
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
