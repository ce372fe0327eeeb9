"""Have a model write community reports, several per call, and parse its replies.

The brief of a community is a part of its material within a token limit: names, descriptions and
numbered sentences. Its key is the hash of its content, so a change of the documents that leaves the
brief unchanged costs no call. The reply has these lines for each brief::

    report | NUMBER
    title | TITLE
    summary | SUMMARY
    finding | STATEMENT [1][3]

An invalid line is skipped. A finding is supported by the lines whose numbers it cites; without a
valid number, by a line with the same content, or else it is dropped. If a report fails, the
extractive report replaces it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby, zip_longest
from typing import TypeVar

from knotwork._extensions.model_indexing.batch_requests import (
    LONGEST_LINE,
    BatchReply,
    BatchTask,
    ask_in_batch,
    batches_by_language,
    make_messages,
    reply_lines,
)
from knotwork._extensions.model_indexing.reply_formats import (
    Complaint,
    bare_line,
    clean_field,
    is_idle,
)
from knotwork._indexing.communities.extractive_reports import (
    Children,
    ExtractiveReports,
    Material,
    Pending,
    ReportSentence,
    central_names,
    group_by_parent,
    lowest_first,
    names_a_theme,
    rate,
    read_material,
    report_title,
    write_extractive_report,
)
from knotwork._indexing.communities.stored_reports import publish_reports, put_missing_vectors
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.entity_descriptions import Describer
from knotwork._inference.call_limits import PATIENCE, Patience, work_ordered
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork._inference.own_prompts import prompts_of
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store, require_communities
from knotwork._stores.capabilities import CommunityStore
from knotwork._stores.resolutions import read_groups
from knotwork._text.languages import detect_language
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import (
    ALIAS_RELATION,
    EXTRACTIVE_SOURCE,
    Community,
    CommunityReport,
    EdgeType,
    Finding,
    Support,
    content_id,
)

Item = TypeVar("Item")
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

    A community with fewer than ``least_tokens`` tokens of sentences keeps its extractive report,
    which quotes most of them; 0 is 600, or fewer in an index of a few chunks, so that it has
    reports of a model too.
    """

    def __init__(self, store: Store, extractive: ExtractiveReports, least_tokens: int = 0) -> None:
        self.extractive = extractive
        self._describer = Describer(
            store, groups=read_groups(store), most_tokens=_DESCRIPTION_TOKENS
        )
        self.store = store
        small = _LEAST_TOKENS_A_CHUNK * store.documents.chunk_count()
        usual = min(_LEAST_TOKENS, max(_LEAST_SMALL_TOKENS, small))
        self._least_tokens = least_tokens or usual

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
        """Return the brief of a community; without ``material``, gather it first.

        It names and describes the entities, and has the strongest relations if no chosen sentence
        names both ends. The sentences of a parent in few chunks are its own, if all of them fit;
        the lines of other parents are the findings of their children. The key is still computed
        from the sentences, so it does not depend on who wrote these reports.
        """
        material = material or self.extractive.material(community)
        children = self.extractive.children(community)
        ceiling = PARENT_TOKENS if children else BRIEF_TOKENS
        own: Material | None = None
        below: Sequence[CommunityReport] = ()
        if children and len(community.chunk_ids) <= _FEW_CHUNKS:
            own = read_material(self.store, community)
            if sum(_cost(plain_line(s.text)) for s in own.sentences) > ceiling:
                own = None
        if children and own is None:
            reports = require_communities(self.store).reports([child.id for child in children])
            below = sorted(reports.values(), key=lambda r: (-r.rating, r.community_id))
        heading = self._entity_lines(material, ceiling)
        related = self._strongest_relations(community, material)
        reserved = sum(_cost(" | ".join(relation)) for relation in related)
        room = ceiling - sum(map(_cost, heading)) - min(reserved, _ROOM_FOR_RELATIONS)
        chosen = _chosen_sentences(own if own and own.sentences else material, room)
        heading += _unstated(related, [sentence.text for sentence in chosen])
        sentences = (f"{s.support.chunk_id} {s.support.span} {s.text}" for s in chosen)
        key = content_id(BRIEF_VERSION, *heading, "lines", *sentences)
        language = material.language if material.sentences else detect_language("\n".join(heading))
        if below:
            heading += _titles_line(below)
            room = ceiling - sum(map(_cost, heading))
            lines = list(_within(_findings(below), room))
        else:
            lines = [BriefLine(plain_line(s.text), (s.support,)) for s in chosen]
        return Brief(material, key, language, tuple(heading), tuple(lines))

    def is_from_brief(
        self, known: CommunityReport, community: Community, material: Material
    ) -> bool:
        """Return True if a report is of the current brief, or stands in for its reply."""
        brief = self.brief(community, material)
        return known.content_key in (brief.key, stand_in_key(brief))

    def _entity_lines(self, material: Material, ceiling: int) -> list[str]:
        names = {entity.id: entity.name for entity in material.entities}
        central = central_names(material.entities)
        short = [name for name in central if len(name) <= _LONGEST_NAME and "://" not in name]
        kept = [f"names: {', '.join((short or central[:1])[:_NAMES])}"]
        room = ceiling * _HEADING_SHARE - _cost(kept[0])
        for key, text in self._describer.describe(list(names)[:_DESCRIBED]).items():
            line = plain_line(f"{names[key]}: {text}")
            if _cost(line) <= room:
                kept.append(line)
                room -= _cost(line)
        return kept

    def _strongest_relations(
        self, community: Community, material: Material
    ) -> list[tuple[str, str, str]]:
        """Return the strongest typed relations among important members, without aliases.

        Stores do not return descriptions of relations; the sentences of the brief serve instead.
        """
        names = {entity.id: entity.name for entity in material.entities}
        members = [key for key in community.entity_ids[:_RELATED] if key in names]
        types = [EdgeType.RELATES]
        edges = self.store.graph.neighbours(members, direction="out", types=types, fan=_FAN)
        found = [
            edge
            for key in members
            for edge in edges.get(key, ())
            if edge.target in names and edge.relation != ALIAS_RELATION
        ]
        found.sort(key=lambda edge: (-edge.weight, edge.source, edge.target, edge.relation))
        related = ((names[e.source], e.relation, names[e.target]) for e in found)
        return list(dict.fromkeys(related))[:_RELATIONS]


def plain_line(text: str) -> str:
    """Return a line without URLs, and with bracketed numbers, which cite lines, in parentheses."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "://" in text:
        text = _ADDRESS.sub("…", text)
    return _NUMBER.sub("(\\1)", text)


def _unstated(related: Iterable[tuple[str, str, str]], texts: Sequence[str]) -> list[str]:
    kept: list[str] = []
    room = _ROOM_FOR_RELATIONS
    for source, relation, target in related:
        if not any(source in text and target in text for text in texts):
            line = f"{source} | {relation} | {target}"
            room -= _cost(line)
            if room >= 0:
                kept.append(line)
    return kept


def _titles_line(below: Sequence[CommunityReport]) -> list[str]:
    titles = [plain_line(report.title) for report in below]
    short = [title for title in titles if count_tokens(title) <= _TITLE_TOKENS][:_PARTS]
    return [f"parts: {'; '.join(short)}"] if short else []


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


STAGE = "report"
TASK = "report-community"
MISSING = "The reply has no report with a finding for one of the groups."

_OUTPUT_TOKENS = 360
"""Output limit of one report, about twice the length that the prompt asks for."""


@dataclass(frozen=True, slots=True)
class WrittenReports:
    """The reports of one call, including extractive stand-ins for unusable replies.

    ``stood_in`` are the communities of stand-ins; ``complaints`` list the unused parts of replies.
    ``unanswered`` communities got no reply, for the reason ``absence``: they keep their reports,
    and the next run asks again.
    """

    reports: tuple[CommunityReport, ...] = ()
    stood_in: frozenset[str] = frozenset()
    complaints: tuple[Complaint, ...] = ()
    unanswered: frozenset[str] = frozenset()
    absence: str = ""


@dataclass(frozen=True, slots=True)
class ReportWriter:
    """Writes reports with a model, ``reports_a_call`` in a prompt, ``concurrency`` calls at once.

    ``least_tokens`` is that of `BriefBuilder`; no key depends on it, nor on the size of calls.
    ``retry`` asks again about communities whose earlier reply was unusable, and ``rewrites`` also
    about those with a model's report. A run fails after ``patience`` calls in a row without a
    reply.
    """

    model: ChatModel
    concurrency: int = 4
    least_tokens: int = 0
    reports_a_call: int = 4
    retry: bool = False
    rewrites: bool = False
    patience: int = PATIENCE

    def write(self, briefs: Sequence[Brief]) -> Generator[WrittenReports, None, None]:
        """Yield the reports of each call, in the order of the briefs, the Chinese ones last.

        Raises ModelError if no more calls are possible, after yielding the earlier results.
        """
        batches = batches_by_language(
            briefs,
            lambda brief: "\n".join(line.text for line in brief.lines),
            size=self.reports_a_call,
        )
        yield from work_ordered(
            lambda batch: self._write_batch(*batch),
            batches,
            concurrency=self.concurrency,
        )

    def write_pending(
        self,
        pending: Sequence[Pending],
        builder: BriefBuilder,
        communities: Mapping[str, Community],
        embedding: Embedding | None,
    ) -> Steps[list[WrittenReports]]:
        """Write what rules leave to a model; yield how many are written, of how many.

        Level by level from the lowest; the reports of each call are stored as soon as it returns.
        """
        done, calls = 0, list[WrittenReports]()
        patience = Patience(self.patience)
        yield Progress("reports", 0, len(pending))
        for level in _by_level(pending, lambda item: item.community):
            briefs = [builder.brief(item.community, item.material) for item in level]
            stored = _write_and_store(builder.store, briefs, communities, self, embedding)
            with closing(stored) as replies:
                for call in replies:
                    calls.append(call)
                    done += len(call.reports)
                    yield Progress("reports", done, len(pending))
                    patience.note("" if call.reports else call.absence)
        return calls

    def _write_batch(self, language: str, briefs: Sequence[Brief]) -> WrittenReports:
        def request(asked: Sequence[Brief], fault: str) -> ChatRequest:
            groups = zip(asked, first_numbers(asked), strict=True)
            material = "\n\n".join(
                brief.rendered(number, first=first)
                for number, (brief, first) in enumerate(groups, start=1)
            )
            return ChatRequest(
                make_messages(
                    TASK, language, material, prompts=prompts_of(self.model), fault=fault
                ),
                max_output_tokens=_OUTPUT_TOKENS * len(asked),
                stage=STAGE,
            )

        outcome = ask_in_batch(self.model, briefs, BatchTask(request, read_reports, MISSING))
        made = [_report(brief, draft, self.model.name) for brief, draft in outcome.made]
        stood_in = [
            write_extractive_report(brief.material, content_key=stand_in_key(brief))
            for brief, _ in outcome.failed
        ]
        failures = [Complaint(brief.community_id, reason) for brief, reason in outcome.failed]
        return WrittenReports(
            (*made, *stood_in),
            frozenset(report.community_id for report in stood_in),
            (*outcome.complaints, *failures),
            frozenset(brief.community_id for brief in outcome.unanswered),
            outcome.absence,
        )


def write_reports(
    store: Store,
    community_ids: Collection[str],
    writer: ReportWriter,
    *,
    embedding: Embedding | None = None,
) -> dict[str, CommunityReport]:
    """Have a model write the reports of these communities only, and return all their reports.

    A report is written if it is missing, outdated or extractive, and a model can improve it. The
    lowest level comes first. Other reports are not updated: a parent is written from the stored
    reports of its children. Raises as
    `refresh_reports` does; finished reports are stored.
    """
    held = require_communities(store)
    found = held.communities(list(dict.fromkeys(community_ids)))
    children = _children_in(held)
    nearby = {key.id for top in found.values() for key in (top, *children(top))}
    extractive = ExtractiveReports(store, children, held.reports(nearby).values())
    builder = BriefBuilder(store, extractive, writer.least_tokens)
    patience = Patience(writer.patience)
    for level in _by_level(found.values(), lambda community: community):
        known = held.reports([community.id for community in level])
        quoted: list[CommunityReport] = []
        briefs: list[Brief] = []
        for community in level:
            material, report = extractive.material(community), known.get(community.id)
            if builder.is_worth_a_model(community, material):
                brief = builder.brief(community, material)
                if report is None or not _is_written(report, brief, material, writer):
                    briefs.append(brief)
            elif report is None or not (
                report.content_key == material.content_key
                or builder.is_from_brief(report, community, material)
            ):
                quoted.append(write_extractive_report(material))
        if quoted or briefs:
            with store.transaction():  # raises before the first paid call if the store is read-only
                publish_reports(store, quoted, of=found)
        with closing(_write_and_store(store, briefs, found, writer, embedding)) as calls:
            for call in calls:
                patience.note("" if call.reports else call.absence)
    if embedding is not None:
        put_missing_vectors(store, found.keys(), embedding)
    return held.reports(found.keys())


def _children_in(held: CommunityStore) -> Children:
    """Return a function that reads children from the store, one branch at a time."""
    found: dict[str, Sequence[Community]] = {}

    def children(community: Community) -> Sequence[Community]:
        if community.id not in found:
            branches = held.of_entities(community.entity_ids).values()
            branch = held.communities({key for branch in branches for key in branch})
            direct = [c for c in branch.values() if c.parent_id == community.id]
            found[community.id] = group_by_parent(direct).get(community.id, ())
        return found[community.id]

    return children


def _is_written(
    known: CommunityReport, brief: Brief, material: Material, writer: ReportWriter
) -> bool:
    """Return True if a model wrote the report of this brief, or failed to and may not retry."""
    if known.source == EXTRACTIVE_SOURCE:
        return known.content_key == stand_in_key(brief) and not writer.retry
    return known.content_key in {brief.key, material.content_key}


def _write_and_store(
    store: Store,
    briefs: Sequence[Brief],
    communities: Mapping[str, Community],
    writer: ReportWriter,
    embedding: Embedding | None,
) -> Generator[WrittenReports, None, None]:
    with closing(writer.write(briefs)) as calls:
        for call in calls:
            publish_reports(store, call.reports, embedding=embedding, of=communities)
            yield call


def _by_level(
    items: Iterable[Item], community: Callable[[Item], Community]
) -> Iterator[list[Item]]:
    ordered = sorted(items, key=lambda item: lowest_first(community(item)))
    for _, level in groupby(ordered, key=lambda item: community(item).level):
        yield list(level)


def stand_in_key(brief: Brief) -> str:
    """Return the key of the extractive report that replaces an unusable reply to a brief."""
    return content_id("stand-in", brief.key, brief.material.content_key)


def _report(brief: Brief, draft: ReportDraft, model: str) -> CommunityReport:
    """Return the report of a draft; a title that names no theme is replaced by an extractive one.

    The rating is by extent, as for extractive reports: a model that sees a few communities at a
    time cannot rate them on one scale, and two kinds of ratings would not be comparable.
    """
    material = brief.material
    return CommunityReport(
        brief.community_id,
        draft.title if names_a_theme(draft.title) else report_title(material, brief.language),
        draft.summary or draft.findings[0].text,
        draft.findings,
        rate(material),
        brief.language,
        model,
        brief.key,
    )


MOST_FINDINGS = 6
_LONGEST = {"title": 120, "summary": 900, "finding": 600}
"""Most characters of each field; a longer one is rejected."""
_SAME = 0.5
"""Least share of a finding's terms in a line that supports it without being cited."""
_KINDS = {
    "report": "report", "group": "report", "报告": "report", "组": "report",
    "title": "title", "标题": "title", "summary": "summary", "摘要": "summary", "总结": "summary",
    "finding": "finding", "findings": "finding", "发现": "finding", "要点": "finding",
}  # fmt: skip
_KIND = re.compile(
    rf"[\W_]{{0,4}}({'|'.join(sorted(_KINDS, key=len, reverse=True))})[\W_]{{0,3}}?\s*\d{{0,2}}"
    r"[*_`\"'”]{0,3}\s*[|:：]\s*(.*)",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"[\W_]{0,6}(?:report|group|报告|第?组)?[\W_]{0,6}(\d{1,4})[\W_]{0,4}", re.IGNORECASE
)
_MARK = re.compile(r"\s*[\[【［]\s*(\d{1,4}(?:\s*[,，、;；–-]\s*\d{1,4})*)\s*[\]】］]")
_NUMBERS_FIELD = re.compile(r"\|\s*(\d{1,4}(?:\s*[,，、;；\s]\s*\d{1,4})*)\s*\|?\s*$")
_HAN = re.compile("[\u3400-\u9fff]")
_LONGEST_RANGE = 20
_STOPS = (".", "!", "?", "。", "！", "？", "…", '"', "”", "」", "』", ")", "）", "]")


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A parsed report: title and summary may be empty, findings have their supports."""

    title: str
    summary: str
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Block:
    """The fields of one report; ``number`` is 0 if the reply does not name its group."""

    number: int = 0
    title: str = ""
    summary: str = ""
    findings: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


class _Numbering:
    """Maps the line numbers of a prompt to the lines of its briefs."""

    def __init__(self, briefs: Sequence[Brief]) -> None:
        self.briefs = briefs
        self.owners = [place for place, brief in enumerate(briefs) for _ in brief.lines]
        self.firsts = first_numbers(briefs)

    def owner(self, number: int) -> int | None:
        """Return the position of the brief with this line, or None if there is no such line."""
        return self.owners[number - 1] if 1 <= number <= len(self.owners) else None

    def supports(self, number: int) -> tuple[Support, ...]:
        """Return the supports of a line."""
        place = self.owners[number - 1]
        return self.briefs[place].lines[number - self.firsts[place]].supports


def first_numbers(briefs: Sequence[Brief]) -> list[int]:
    """Return the number of the first line of each brief; numbers are unique within a prompt."""
    firsts, after = [], 1
    for brief in briefs:
        firsts.append(after)
        after += len(brief.lines)
    return firsts


def read_reports(reply: ChatReply, briefs: Sequence[Brief]) -> BatchReply[ReportDraft]:
    """Return the reports with a finding, by the position of their brief. Never raises.

    A report belongs to the group that it names, else to the one whose lines it cites most, else to
    the only one left. The first report of a group wins.
    """
    numbering = _Numbering(briefs)
    blocks, complaints = _read_blocks(reply)
    found: dict[int, ReportDraft] = {}
    for block in blocks:
        place = _brief_position(block, numbering, taken=found)
        if place is None:
            complaints.append(Complaint(block.title, "the report matches no group"))
            continue
        if place in found:
            complaints.append(Complaint(block.title, "the group already has a report"))
            continue
        draft = _draft(block, place, numbering, complaints)
        if not draft.findings:
            complaints.append(
                Complaint(draft.title, "the report has no finding supported by a line")
            )
        elif _is_foreign(draft, briefs[place].language):
            complaints.append(
                Complaint(draft.title, "the report is not in the language of its lines")
            )
        else:
            found[place] = draft
    return BatchReply(found, tuple(complaints))


def _read_blocks(reply: ChatReply) -> tuple[list[_Block], list[Complaint]]:
    blocks: list[_Block] = [_Block()]
    complaints: list[Complaint] = []
    lines = reply_lines(reply.text)
    for position, line in enumerate(lines):
        cut = reply.finish_reason == "length" and position == len(lines) - 1
        fault = _read_line(line, blocks, cut=cut)
        if fault:
            complaints.append(Complaint(line, fault))
    return [block for block in blocks if block.title or block.summary or block.findings], complaints


def _read_line(line: str, blocks: list[_Block], *, cut: bool) -> str:
    """Add a line to its report; return why it was rejected, or ""."""
    if len(line) > LONGEST_LINE:
        return "the line is too long"
    bare = bare_line(line).strip("| ")
    match = _KIND.fullmatch(bare) or _KIND.fullmatch(line.strip("| "))
    kind = _KINDS[match[1].casefold()] if match else ""
    numbered = _REPORT.fullmatch(bare) or _REPORT.fullmatch(line)
    if kind in {"", "report"} and numbered:
        blocks.append(_Block(int(numbered[1])))
        return ""
    text = match[2] if match else bare
    if not kind and _MARK.search(text) and (blocks[-1].title or blocks[-1].findings):
        kind = "finding"  # a list below a heading
    if kind not in _LONGEST:
        return "" if is_idle(line) else "the line is not part of a report"
    if kind == "finding" and not text:
        return ""  # the heading of such a list
    value, numbers = _split_citations(text) if kind == "finding" else (_MARK.sub("", text), ())
    value = clean_field(value.strip().strip("|"))
    if cut and not text.rstrip("| ").endswith(_STOPS):
        return "the line is cut off"
    return _field_fault(kind, value) or _add_field(kind, value, numbers, blocks)


def _field_fault(kind: str, value: str) -> str:
    if not any(character.isalnum() for character in value):
        return f"the {kind} is empty"
    if len(value) > _LONGEST[kind]:
        return f"the {kind} is longer than {_LONGEST[kind]} characters"
    return ""


def _add_field(kind: str, value: str, numbers: tuple[int, ...], blocks: list[_Block]) -> str:
    """Add a field to the last report; a second title opens another. Return why not, or ""."""
    block = blocks[-1]
    if kind == "finding":
        block.findings.append((value, numbers))
    elif kind == "title" and (block.title or block.findings):
        blocks.append(_Block(title=value))
    elif kind == "title":
        block.title = value
    elif block.summary:
        return "the report already has a summary"
    else:
        block.summary = value
    return ""


def _split_citations(text: str) -> tuple[str, tuple[int, ...]]:
    numbers: list[int] = []
    at_end = _NUMBERS_FIELD.search(text)
    if at_end:
        numbers += map(int, re.findall(r"\d+", at_end[1]))
        text = text[: at_end.start()]
    for mark in _MARK.finditer(text):
        given = [int(number) for number in re.findall(r"\d+", mark[1])]
        if re.fullmatch(r"\d+\s*[–-]\s*\d+", mark[1]) and 0 <= given[1] - given[0] < _LONGEST_RANGE:
            given = list(range(given[0], given[1] + 1))
        numbers += given
    return _MARK.sub("", text).rstrip(" |,，、;；"), tuple(dict.fromkeys(numbers))


def _brief_position(
    block: _Block, numbering: _Numbering, *, taken: dict[int, ReportDraft]
) -> int | None:
    if 1 <= block.number <= len(numbering.briefs):
        return block.number - 1
    owners = [numbering.owner(number) for _, numbers in block.findings for number in numbers]
    cited = Counter(owner for owner in owners if owner is not None)
    if cited:
        return min(cited, key=lambda place: (-cited[place], place))
    left = [place for place in range(len(numbering.briefs)) if place not in taken]
    return left[0] if len(left) == 1 else None


def _draft(
    block: _Block, place: int, numbering: _Numbering, complaints: list[Complaint]
) -> ReportDraft:
    brief = numbering.briefs[place]
    first = numbering.firsts[place]
    terms = [frozenset(content_terms(line.text)) for line in brief.lines]
    known = frozenset(content_terms("\n".join(brief.heading))).union(*terms)
    findings: dict[str, Finding] = {}
    for text, numbers in block.findings:
        own = frozenset(content_terms(text))
        valid = [number for number in numbers if numbering.owner(number) == place]
        if len(valid) < len(numbers):
            invalid = ", ".join(str(number) for number in numbers if number not in valid)
            complaints.append(Complaint(text, f"cited lines are not in the group: {invalid}"))
        if not own & known:
            complaints.append(Complaint(text, "the finding shares no term with the group"))
            continue
        if not valid:
            valid = [first + index for index in _matching_line(own, terms)]
        if not valid:
            complaints.append(Complaint(text, "no line supports the finding"))
        elif len(findings) < MOST_FINDINGS:
            supports = (s for number in valid for s in numbering.supports(number))
            findings.setdefault(text, Finding(text, tuple(dict.fromkeys(supports))))
        else:
            complaints.append(Complaint(text, f"the report already has {MOST_FINDINGS} findings"))
    return ReportDraft(block.title, block.summary, tuple(findings.values()))


def _is_foreign(draft: ReportDraft, language: str) -> bool:
    """Return True if a report on Chinese lines has no Chinese, or one on English lines is mostly
    Chinese; a few names in the other language are fine.
    """
    text = "".join((draft.summary, *(finding.text for finding in draft.findings)))
    han = len(_HAN.findall(text))
    if language == "zh":
        return han == 0
    return language == "en" and han > sum(map(str.isalpha, text)) / 2


def _matching_line(own: frozenset[str], lines: Sequence[frozenset[str]]) -> list[int]:
    shared = [len(own & line) for line in lines]
    best = max(range(len(lines)), key=lambda index: shared[index], default=-1)
    return [best] if best >= 0 and shared[best] >= _SAME * len(own) else []
