"""Write community reports without a model, from the sentences of the documents.

The material of a report is names, headings and cited sentences; a report is a function of it. A
parent is reported from the extractive findings of its children, whoever wrote about them since.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise
from typing import TypeAlias

from knotwork.indexing.communities.community_titles import (
    VALUES,
    ThemeHeading,
    distinctive_names,
    headings_above,
    name_theme,
)
from knotwork.indexing.communities.report_sentences import (
    MemberMentions,
    ReportSentence,
    choose_sentences,
    prose_among,
    sentences_of,
)
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    Chunk,
    Community,
    CommunityReport,
    Entity,
    Finding,
    content_id,
)
from knotwork.stores.base import Store
from knotwork.stores.extensions import CommunityStore
from knotwork.text.chinese import segment
from knotwork.text.languages import detect_language
from knotwork.text.terms import STOP_WORDS

_FINDINGS = 5
_SUMMARY_SENTENCES = 2
_SUMMARY_NAMES = 8
_TITLE_NAMES = 3
_FILE_NAME = re.compile(r"\w_\w|\.(?:txt|md|pdf|docx?|html?|csv|json)$")
_SCALE = 2.5
"""Points of the rating for every tenfold number of names and chunks."""


def write_extractive_report(material: Material, *, content_key: str = "") -> CommunityReport:
    """Put a report together from sentences of the documents; equal material, equal report.

    ``content_key`` takes the place of the material's.
    """
    outline = outline_report(material)
    texts = [sentence.text for sentence in material.sentences]
    language = material.language
    if not texts:
        language = detect_language(" ".join(entity.name for entity in material.entities))
    names = central_names(material.entities)
    phrases = key_phrases(texts, language=language, names=names)
    told = [finding.text for finding in outline.findings[:_SUMMARY_SENTENCES]]
    return replace(
        outline,
        title=_title(material, names, phrases, language),
        summary=_summary(told, names[:_SUMMARY_NAMES], phrases, language),
        language=language,
        content_key=content_key or material.content_key,
    )


def outline_report(material: Material) -> CommunityReport:
    """Return of an extractive report what a parent is made from: no title, no summary."""
    return CommunityReport(
        material.community_id,
        "",
        "",
        tuple(Finding(s.text, (s.support,)) for s in material.central[:_FINDINGS]),
        rate(material),
        "",
        EXTRACTIVE_SOURCE,
        material.content_key,
    )


def report_title(material: Material, language: str) -> str:
    """Return the title that names the theme of a community: see `name_theme`."""
    names = central_names(material.entities)
    texts = [sentence.text for sentence in material.sentences]
    phrases = key_phrases(texts, language=language, names=names)
    return _title(material, names, phrases, language)


def central_names(entities: Sequence[Entity]) -> list[str]:
    """Return the names of entities by importance; one that is part of another is left out.

    Dates, numbers and names of files only stand in where there is nothing else.
    """
    named = [
        entity
        for entity in entities
        if entity.type not in VALUES and _FILE_NAME.search(entity.name) is None
    ] or list(entities)
    chosen: dict[str, str] = {}
    for entity in named:
        form = entity.name.casefold()
        if not any(form in other or other in form for other in chosen):
            chosen[form] = entity.name
    return list(chosen.values())


def _title(material: Material, names: Sequence[str], phrases: Sequence[str], language: str) -> str:
    telling = distinctive_names(material.entities, [s.text for s in material.sentences])
    title = name_theme(material.headings, material.read, telling, phrases)
    return title or _listed(names[:_TITLE_NAMES], language)


def _summary(
    sentences: Sequence[str], names: Sequence[str], phrases: Sequence[str], language: str
) -> str:
    chinese = language == "zh"
    parts = ["".join(sentences) if chinese else " ".join(sentences)] if sentences else []
    for title, listed in (("核心名称" if chinese else "Names", names),) + (
        (("关键词" if chinese else "Key phrases", phrases),) if phrases else ()
    ):
        joined = _listed(listed, language)
        parts.append(f"{title}：{joined}。" if chinese else f"{title}: {joined}.")
    return "\n".join(parts)


def _listed(items: Sequence[str], language: str) -> str:
    return ("、" if language == "zh" else ", ").join(items)


def rate(material: Material) -> float:
    """Rate by extent alone: what one community is worth must not depend on the others."""
    members, chunks = material.extent
    return round(min(10.0, _SCALE * math.log10(1 + members + chunks)), 2)


Children = Callable[[Community], Sequence[Community]]
"""Returns the children of a community, the largest first."""


class ExtractiveReports:
    """Gathers materials, and extractive reports of the communities below, each once.

    ``known`` are extractive reports that are right; those of communities below that are neither
    there nor `settle`d are put together from the documents, as far as a parent needs them.
    """

    def __init__(
        self, store: Store, children: Children, known: Iterable[CommunityReport] = ()
    ) -> None:
        self._store = store
        self.children = children
        self._reports: dict[str, CommunityReport] = {
            report.community_id: report for report in known if report.source == EXTRACTIVE_SOURCE
        }

    def material(self, community: Community) -> Material:
        """Return what the report of a community is written from."""
        below = [self.extractive(child) for child in self.children(community)]
        below.sort(key=lambda report: (-report.rating, report.content_key))
        return read_material(self._store, community, below)

    def extractive(self, community: Community) -> CommunityReport:
        """Return the extractive report of a community, or its outline."""
        if community.id not in self._reports:
            self.settle(outline_report(self.material(community)))
        return self._reports[community.id]

    def settle(self, report: CommunityReport) -> None:
        """Take an extractive report for right."""
        self._reports[report.community_id] = report


def children_among(communities: Iterable[Community]) -> Children:
    """Return a function to the children of a community, where all communities are at hand."""
    children: Mapping[str, Sequence[Community]] = group_by_parent(communities)
    return lambda community: children.get(community.id, ())


def children_in(held: CommunityStore) -> Children:
    """Return a function to the children of a community that reads no more than its branch."""
    found: dict[str, Sequence[Community]] = {}

    def children(community: Community) -> Sequence[Community]:
        if community.id not in found:
            branches = held.of_entities(community.entity_ids).values()
            branch = held.communities({key for branch in branches for key in branch})
            direct = [c for c in branch.values() if c.parent_id == community.id]
            found[community.id] = group_by_parent(direct).get(community.id, ())
        return found[community.id]

    return children


EXTRACTIVE_VERSION = "extractive-4"
"""Changes whenever the same material would make another report."""

MOST_NAMES = 40
_MOST_CHUNKS = 40
_CHUNKS_OF_MEMBER = 4
_MOST_SENTENCES = 150
_MOST_HEADINGS = 40
MOST_CENTRAL = 12
"""Sentences that are chosen of a material for what is written from it."""


@dataclass(frozen=True)
class Material:
    """Everything a report is written from; equal material makes an equal report.

    ``entities`` come by importance. ``extent`` is the number of members and of chunks. ``headings``
    are those above the ``read`` chunks that the sentences come from. What follows from it is worked
    out once, for the report and the brief that are written from it.
    """

    community_id: str
    entities: tuple[Entity, ...]
    sentences: tuple[ReportSentence, ...]
    extent: tuple[int, int]
    headings: tuple[ThemeHeading, ...] = ()
    read: int = 0

    @cached_property
    def content_key(self) -> str:
        """Change whenever anything that is written from changes; no id of a community counts."""
        names = (f"{e.id} {e.type} {e.name}" for e in self.entities)
        told = (
            f"{s.support.chunk_id} {s.support.span} {s.coverage:.6f} {s.text}"
            for s in self.sentences
        )
        above = (f"{heading.title} {heading.chunks} {heading.above}" for heading in self.headings)
        return content_id(
            EXTRACTIVE_VERSION,
            *self.extent,
            self.read,
            *names,
            "sentences",
            *told,
            "headings",
            *above,
        )

    @cached_property
    def central(self) -> tuple[ReportSentence, ...]:
        """The central sentences, the best first: as many as any text takes."""
        return tuple(choose_sentences(self.sentences, count=MOST_CENTRAL))

    @cached_property
    def language(self) -> str:
        """The language of the sentences, "" without sentences."""
        return detect_language("\n".join(sentence.text for sentence in self.sentences))


def read_material(
    store: Store, community: Community, below: Sequence[CommunityReport] = ()
) -> Material:
    """Gather what the report of a community is written from.

    Sentences come from the chunks that name the most important members: prose, or all of them if
    none is prose. Those of a parent are the findings of the reports ``below`` it.
    """
    names = store.graph.entities(community.entity_ids[:MOST_NAMES])
    entities = tuple(names[key] for key in community.entity_ids if key in names)
    entities = entities[:MOST_NAMES]
    importance = dict(community.members)
    found: Sequence[ReportSentence]
    chunks: Mapping[str, Chunk]
    if below:
        chunks = store.documents.chunks({key for report in below for key in report.chunk_ids})
        found = _sentences_below(store, below, importance)
    else:
        chunks = _central_chunks(store, community, importance)
        found = _sentences_of_chunks(store, chunks, importance)
    ranked = sorted(found, key=lambda s: (-s.coverage, s.support.chunk_id, s.support.span))
    distinct = {sentence.text: sentence for sentence in reversed(ranked)}
    kept = [sentence for sentence in ranked if distinct[sentence.text] is sentence]
    return Material(
        community.id,
        entities,
        tuple(kept[:_MOST_SENTENCES]),
        (community.size, len(community.chunk_ids)),
        headings_above(chunks.values())[:_MOST_HEADINGS],
        len(chunks),
    )


def _central_chunks(
    store: Store, community: Community, importance: Mapping[str, float]
) -> Mapping[str, Chunk]:
    """Return the chunks of a community that name most of what is important, in this order."""
    held = community.chunk_ids or _chunks_about(store, community)
    mentions = store.graph.mentions(held)
    weights = {
        chunk: sum(importance.get(mention.entity_id, 0.0) for mention in mentions.get(chunk, ()))
        for chunk in held
    }
    central = sorted(weights, key=lambda chunk: (-weights[chunk], chunk))[:_MOST_CHUNKS]
    chunks = store.documents.chunks(central)
    return {key: chunks[key] for key in central if key in chunks}


def _sentences_of_chunks(
    store: Store, chunks: Mapping[str, Chunk], importance: Mapping[str, float]
) -> Sequence[ReportSentence]:
    mentions = store.graph.mentions(chunks.keys())
    found: list[ReportSentence] = []
    for key, chunk in chunks.items():
        found += sentences_of(chunk, MemberMentions(mentions.get(key, ()), importance))
    return prose_among(found)


def _chunks_about(store: Store, community: Community) -> tuple[str, ...]:
    """Return chunks that name the members of a community that relations alone hold together."""
    ranked = store.graph.about(community.entity_ids, fan=_CHUNKS_OF_MEMBER, minimum=-1.0)
    return tuple(sorted({scored.id for chunks in ranked.values() for scored in chunks}))


def _sentences_below(
    store: Store, below: Sequence[CommunityReport], importance: Mapping[str, float]
) -> list[ReportSentence]:
    cited = {chunk for report in below for chunk in report.chunk_ids}
    mentions = store.graph.mentions(cited)
    named = {chunk: MemberMentions(mentions.get(chunk, ()), importance) for chunk in cited}
    return [
        ReportSentence(
            support,
            finding.text,
            named[support.chunk_id].coverage(support.span),
            report.content_key,
        )
        for report in below
        for finding in report.findings
        for support in islice(finding.supports, 1)
    ]


def group_by_parent(communities: Iterable[Community]) -> dict[str, list[Community]]:
    """Return the children of each community that has any, the largest first."""
    children: defaultdict[str, list[Community]] = defaultdict(list)
    for community in sorted(communities, key=lambda c: (-c.size, c.id)):
        if community.parent_id is not None:
            children[community.parent_id].append(community)
    return dict(children)


Phrase: TypeAlias = tuple[str, ...]

_LEAST_SENTENCES = 2
_WORD_OR_BREAK = re.compile(r"(\w+(?:[-’']\w+)*)|[^\w\s’'-]+")
_QUOTE = re.compile("[’']s?")
_DIGIT = re.compile(r"\d")
_REFERRING = frozenset(
    {"see", "section", "chapter", "figure", "table", "appendix", "page", "et", "al", "etc"}
    | {"example", "examples", "following", "above", "below", "org", "com", "http", "https", "www"}
)
"""Words that point to another place rather than name something."""
_VOCABULARY_SIZE = 1 << 16
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NOUNS = frozenset({"n", "vn", "an", "nz", "j", "l", "nr", "ns", "nt"})


def key_phrases(
    texts: Sequence[str], *, language: str, names: Iterable[str] = (), count: int = 6
) -> list[str]:
    """Return the phrases that stand in most sentences, the best first, longer ones preferred.

    English: two or three words without function words; Chinese: nouns and pairs of nouns. Phrases
    that say no more than one of ``names``, or stand in one sentence only, are left out.
    """
    if language == "zh":
        sentences = Counter(chain.from_iterable(set(_chinese_phrases(text)) for text in texts))
    else:
        sentences = _count_phrases(texts)
    known = [name.casefold() for name in names]
    gap = "" if language == "zh" else " "
    chosen: list[str] = []
    ranked = sorted(
        (phrase for phrase, times in sentences.items() if times >= _LEAST_SENTENCES),
        key=lambda phrase: (-sentences[phrase] * len(phrase), -sentences[phrase], phrase),
    )
    for words in ranked:
        phrase = gap.join(words)
        if not any(_overlap(phrase, other) for other in (*known, *chosen)):
            chosen.append(phrase)
        if len(chosen) == count:
            break
    return chosen if language == "zh" else _as_written(chosen, "\n".join(texts))


def _as_written(phrases: Sequence[str], text: str) -> list[str]:
    """Return phrases as the text writes them most often, in lower case if it does so as often."""
    folded = text.casefold()
    if len(folded) != len(text):
        return list(phrases)
    found = []
    for phrase in phrases:
        forms = Counter(text[m.start() : m.end()] for m in re.finditer(re.escape(phrase), folded))
        found.append(max(forms, key=lambda form: (forms[form], form), default=phrase))
    return found


def _overlap(phrase: str, other: str) -> bool:
    return phrase in other or other in phrase


def _count_phrases(texts: Iterable[str]) -> Counter[Phrase]:
    """Return how many sentences hold each two words, and each three whose pairs come back."""
    rows = [[_content(word) for word in _WORD_OR_BREAK.findall(text.casefold())] for text in texts]
    found: Counter[Phrase] = Counter()
    for row in rows:
        found.update({pair for pair in pairwise(row) if pair[0] and pair[1]})
    repeated = {pair for pair, times in found.items() if times >= _LEAST_SENTENCES}
    for row in rows if repeated else ():
        triples = zip(row, row[1:], row[2:], strict=False)
        found.update({t for t in triples if t[:2] in repeated and t[1:] in repeated})
    return found


@lru_cache(maxsize=_VOCABULARY_SIZE)
def _content(word: str) -> str:
    """Return a word that may stand in a phrase, and "" for any other, and for a break."""
    bare = _QUOTE.sub("", word)
    if len(word) == 1 or bare in STOP_WORDS or bare in _REFERRING or _DIGIT.search(word):
        return ""
    return word


def _chinese_phrases(text: str) -> Iterator[Phrase]:
    before = ""
    for word in segment(text):
        noun = word.tag in _NOUNS and _HAN.fullmatch(word.text) is not None
        if noun:
            yield (word.text,)
            if before:
                yield (before, word.text)
        before = word.text if noun else ""
