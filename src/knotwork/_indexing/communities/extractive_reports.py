"""Write community reports without a model, from the headings and sentences of the documents.

A report is a function of its material: names, headings and cited sentences. The material of a
parent is the extractive findings of its children, even if a model has written their reports.

A title is a heading of the text, with at most one detail that sets it apart: "Mail Server:
Installing Postfix (Berkeley DB)". The headings of the documents name a theme better than any list
of frequent names. A heading that says little by itself ("Cause", "Creating a new profile") follows
its parent heading. If no heading covers enough of the text, two of them, or two names, are the
title.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise
from typing import NamedTuple, TypeAlias

from knotwork._cancellation import checked
from knotwork._stores.base import Store
from knotwork._text.languages import detect_language, segment
from knotwork._text.plain_text import split_number, strip_links
from knotwork._text.statements import choose_sentences, flat_text, may_quote
from knotwork._text.terms import STOP_WORDS, content_terms
from knotwork._transform.rules.lexicon import ADDRESS, common_words, looks_technical
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    Chunk,
    Community,
    CommunityReport,
    Entity,
    Finding,
    Mention,
    Span,
    Support,
    content_id,
)

_FINDINGS = 5
_SUMMARY_NAMES = 8
_FILE_NAME = re.compile(r"\w_\w|\.(?:txt|md|pdf|docx?|html?|csv|json)$")
_SCALE = 2.5
"""Rating points per factor of ten in the number of members and chunks."""


def write_extractive_report(material: Material, *, content_key: str = "") -> CommunityReport:
    """Return a report that quotes the documents; equal material gives an equal report.

    ``content_key`` replaces that of the material.
    """
    outline = outline_report(material)
    texts = [sentence.text for sentence in material.sentences]
    language = material.language
    if not texts:
        language = detect_language(" ".join(entity.name for entity in material.entities))
    names = central_names(material.entities)
    phrases = key_phrases(texts, language=language, names=names)
    return replace(
        outline,
        title=_title(material, names, phrases),
        summary=_summary(_names_beside_titles(material, names), phrases, language),
        language=language,
        content_key=content_key or material.content_key,
    )


def outline_report(material: Material) -> CommunityReport:
    """Return an extractive report without title and summary, for the material of a parent."""
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
    """Return the title of a community; see `name_theme`."""
    names = central_names(material.entities)
    texts = [sentence.text for sentence in material.sentences]
    phrases = key_phrases(texts, language=language, names=names)
    return _title(material, names, phrases)


def central_names(entities: Sequence[Entity]) -> list[str]:
    """Return the names of entities by importance, without names contained in another one.

    Dates, numbers and file names are used only if there are no other names.
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


def _title(material: Material, names: Sequence[str], phrases: Sequence[str]) -> str:
    distinctive = distinctive_names(material.entities, [s.text for s in material.sentences])
    title = name_theme(material.headings, material.read, distinctive, phrases)
    return title or _pair(names)


def _names_beside_titles(material: Material, names: Sequence[str]) -> Sequence[str]:
    """Return the names that are neither titles nor numbers, or all if there are no others."""
    titles = {title for heading in material.headings for title in (heading.title, heading.bare)}
    others = [name for name in names if name not in titles and not name.isdecimal()]
    return (others or names)[:_SUMMARY_NAMES]


def _summary(names: Sequence[str], phrases: Sequence[str], language: str) -> str:
    """Return what a community is about, without its findings, which are shown below it."""
    chinese, parts = language == "zh", list[str]()
    for title, listed in (("核心名称" if chinese else "Names", names),) + (
        (("关键词" if chinese else "Key phrases", phrases),) if phrases else ()
    ):
        joined = _in_a_row(listed, language)
        parts.append(f"{title}：{joined}。" if chinese else f"{title}: {joined}.")
    return "\n".join(parts)


def _in_a_row(items: Sequence[str], language: str) -> str:
    return ("、" if language == "zh" else ", ").join(items)


def rate(material: Material) -> float:
    """Return the rating, 0 to 10, of a community by the logarithm of its members and chunks.

    It must not depend on other communities.
    """
    members, chunks = material.extent
    return round(min(10.0, _SCALE * math.log10(1 + members + chunks)), 2)


Children = Callable[[Community], Sequence[Community]]
"""A function that returns the children of a community, the largest first."""


class ExtractiveReports:
    """Gathers the material of communities from extractive reports of their children, each once.

    ``known`` are up-to-date extractive reports. The outline of a child that is neither known nor
    added is computed from the documents.
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
        """Return the material of a community's report."""
        below = [self._report(child) for child in self.children(community)]
        below.sort(key=lambda report: (-report.rating, report.content_key))
        return read_material(self._store, community, below)

    def add(self, report: CommunityReport) -> None:
        """Add an up-to-date extractive report or outline."""
        self._reports[report.community_id] = report

    def _report(self, community: Community) -> CommunityReport:
        if community.id not in self._reports:
            self.add(outline_report(self.material(community)))
        return self._reports[community.id]


class Pending(NamedTuple):
    """A community whose report a model should write, with its material."""

    community: Community
    material: Material


def lowest_first(community: Community) -> tuple[int, str]:
    return -community.level, community.id


def children_among(communities: Iterable[Community]) -> Children:
    """Return a function that finds children among the given communities."""
    children: Mapping[str, Sequence[Community]] = group_by_parent(communities)
    return lambda community: children.get(community.id, ())


class ReportSentence(NamedTuple):
    """A candidate sentence of a report; ``coverage`` is the importance of the members it names.

    A report quotes few sentences of one ``origin``: a chunk, or a child community.
    """

    support: Support
    text: str
    coverage: float
    origin: str


class MemberMentions:
    """The mentions of a community's members in a chunk, with the importance of the members."""

    def __init__(self, mentions: Iterable[Mention], importance: Mapping[str, float]) -> None:
        self._importance = importance
        self._spans = sorted(
            (*span, mention.entity_id)
            for mention in mentions
            if mention.entity_id in importance
            for span in mention.spans
        )

    def coverage(self, sentence: Span) -> float:
        """Return the total importance of the members mentioned within a span."""
        named: set[str] = set()
        for place in range(bisect_left(self._spans, (sentence.start,)), len(self._spans)):
            start, end, entity = self._spans[place]
            if start > sentence.end:
                break
            if end <= sentence.end:
                named.add(entity)
        return sum(self._importance[entity] for entity in sorted(named))


EXTRACTIVE_VERSION = "extractive-6"
"""Version of extractive reports; increase it if equal material would give another report."""

MOST_NAMES = 40
_MOST_CHUNKS = 40
_CHUNKS_OF_MEMBER = 4
_MOST_SENTENCES = 150
_MOST_HEADINGS = 40
MOST_CENTRAL = 12
"""Most central sentences of a material."""


@dataclass(frozen=True)
class Material:
    """The input of a report: equal material gives an equal report.

    ``entities`` are sorted by importance. ``extent`` is the number of members and of chunks.
    ``headings`` are those of the ``read`` chunks that the sentences come from. Derived values are
    cached, as the report and the brief share them.
    """

    community_id: str
    entities: tuple[Entity, ...]
    sentences: tuple[ReportSentence, ...]
    extent: tuple[int, int]
    headings: tuple[ThemeHeading, ...] = ()
    read: int = 0

    @cached_property
    def content_key(self) -> str:
        """Hash of the material without the id of the community."""
        names = (f"{e.id} {e.type} {e.name}" for e in self.entities)
        sentences = (
            f"{s.support.chunk_id} {s.support.span} {s.coverage:.6f} {s.text}"
            for s in self.sentences
        )
        headings = (
            f"{heading.title} {heading.chunks} {heading.above}" for heading in self.headings
        )
        return content_id(
            EXTRACTIVE_VERSION,
            *self.extent,
            self.read,
            *names,
            "sentences",
            *sentences,
            "headings",
            *headings,
        )

    @cached_property
    def central(self) -> tuple[ReportSentence, ...]:
        """The `MOST_CENTRAL` central sentences, the best first."""
        places = choose_sentences(
            [sentence.text for sentence in self.sentences],
            [sentence.coverage for sentence in self.sentences],
            [sentence.origin for sentence in self.sentences],
            count=MOST_CENTRAL,
        )
        return tuple(self.sentences[place] for place in places)

    @cached_property
    def language(self) -> str:
        """The language of the sentences, or "" without sentences."""
        return detect_language("\n".join(sentence.text for sentence in self.sentences))


def read_material(
    store: Store, community: Community, below: Sequence[CommunityReport] = ()
) -> Material:
    """Return the material of a community's report.

    Its sentences are the prose (or everything, without prose) of the chunks that mention the most
    important members. With ``below``, the reports of its children, they are their findings.
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
    found, others = list[ReportSentence](), list[ReportSentence]()
    for key, chunk in checked(chunks.items()):
        named = MemberMentions(mentions.get(key, ()), importance)
        for span in chunk.sentences:
            text = flat_text(strip_links(chunk.text_at(span)))
            rows = found if may_quote(chunk, span, text) and not _LISTING.match(text) else others
            if text:
                rows.append(ReportSentence(Support(key, span), text, named.coverage(span), key))
    return found or others


_LISTING = re.compile(
    r"[^\W\d][\w -]{0,30}[:：]\s*(?:[^,;，、；.。:：]{1,40}[,;，、；]\s*){2,}[^.。]{1,60}[.。]?$"
    r"|[\u4e00-\u9fff]{2,6}：[^，。：]{1,24}。?$"
)
"""Matches a label with names or a value, as in the head of minutes: "Present: Ann Lee, Bo Vik"."""


def _chunks_about(store: Store, community: Community) -> tuple[str, ...]:
    ranked = store.graph.about(community.entity_ids, fan=_CHUNKS_OF_MEMBER, minimum=-1.0)
    return tuple(sorted({scored.id for chunks in ranked.values() for scored in chunks}))


def _sentences_below(
    store: Store, below: Sequence[CommunityReport], importance: Mapping[str, float]
) -> list[ReportSentence]:
    cited = {chunk for report in below for chunk in report.chunk_ids}
    mentions = store.graph.mentions(cited)
    named = {chunk: MemberMentions(mentions.get(chunk, ()), importance) for chunk in checked(cited)}
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
"""Words of references such as "see section", which name no theme."""
_VOCABULARY_SIZE = 1 << 16
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NOUNS = frozenset({"n", "vn", "an", "nz", "j", "l", "nr", "ns", "nt"})
_PHRASES = 6


def key_phrases(texts: Sequence[str], *, language: str, names: Iterable[str] = ()) -> list[str]:
    """Return the six most frequent phrases of the sentences, preferring longer ones.

    English phrases are two or three words without function words; Chinese ones are nouns and pairs
    of nouns. Phrases that overlap one of ``names`` or occur in one sentence only are left out.
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
        if not any(phrase in other or other in phrase for other in (*known, *chosen)):
            chosen.append(phrase)
        if len(chosen) == _PHRASES:
            break
    return chosen if language == "zh" else _as_written(chosen, "\n".join(texts))


def _as_written(phrases: Sequence[str], text: str) -> list[str]:
    folded = text.casefold()
    if len(folded) != len(text):
        return list(phrases)
    found = []
    for phrase in phrases:
        forms = Counter(text[m.start() : m.end()] for m in re.finditer(re.escape(phrase), folded))
        found.append(max(forms, key=lambda form: (forms[form], form), default=phrase))
    return found


def _count_phrases(texts: Iterable[str]) -> Counter[Phrase]:
    """Return in how many sentences each pair of words occurs, and each triple of repeated pairs."""
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
    """Return a word that may be part of a phrase, or "" for other words and for a break."""
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


_MOSTLY = 0.65
"""Least share of the chunks under a heading that alone names the theme."""
_LEAST_ALONE = 0.4
"""The same for a generic heading, used if no other heading covers enough."""
_LEAST_EACH = 0.2
"""Least share of the chunks under each of several headings."""
_MOST_TERMS = 3
_LONGEST_OF_PAIR = 26
"""Most characters of each of two headings or names that are a title together."""
_ARTICLE = re.compile("(?:The|An?) ")
_JOINS = re.compile(r"[,;?，；、？]| and |与|和")
_LONGEST = 80
"""Most characters of a heading, and of a title with added names."""
_ENOUGH_NAMES = 6
"""Most candidate names for a title; some repeat its heading and are dropped."""
_FEWEST_WORDS = 3
"""Words (nouns in Chinese) with which a heading needs no parent heading as context."""
_LONGEST_CONTEXT = 48

VALUES = frozenset({"DATE", "NUMBER"})
_NAMELESS = VALUES | {"FILE", ADDRESS}
"""Types of entities whose names never describe a theme."""

_FILE = re.compile(
    r"(?:img|dsc|scan|image|photo|pic|picture|document|doc|untitled|screenshot)[ _-]?\d+"
    r"|(?:~|\.{0,2})[/\\]\S*|\S+[/\\]\S+\.\w{1,5}"
    r"|.+\.(?:txt|md|rst|pdf|docx?|pptx?|xlsx?|html?|csv|json|xml|ya?ml|toml)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r".*\w\.(?:[a-z]{2,4}|[a-z]+\d)")
"""Names of files and hosts: "pg_wal.tar", "example.net"."""
_PATH = re.compile(r"(?<![\w.])[~.]{0,2}/[\w./-]+", re.ASCII)
_EVERYWHERE = re.compile(
    r"(?:an? )?(?:introduction|overview|summary|conclusions?|description|notes?|parameters?"
    r"|options?|arguments|examples?|usage|synopsis|compatibility|see also|references?|files?"
    r"|details|general|contents?|table of contents|index|preface|about|background|appendix"
    r"|environment|author\(?s?\)?|history|diagnostics|exit status|name|caveats|main|abstract"
    r"|acknowledge?ments|chapter \w+"
    r"|简介|簡介|概述|概要|介绍|介紹|说明|說明|描述|示例|例子|参考|參考|参考资料|參考資料|总结|總結|结论|結論|目录|目錄"
    r"|前言|附录|附錄|背景|注意|备注|參數|参数|选项|選項|其他|外部链接|外部連結|相关条目|註釋|注释|参见|參見)",
    re.IGNORECASE,
)
"""Generic headings, found in any text."""
_HEADS_OF_TABLES = re.compile(
    r"(?:(?:column|type|description|name|value|default|example|operator|function|event|return)s?"
    r"(?:\s+|$))+",
    re.IGNORECASE,
)
"""Names that consist of generic column headers of tables."""
_NAME_START = re.compile(r"[^\W_]|[“‘《「]")
"""What a name begins with; others, such as "[3]From Local to Global", are marks and references."""
_LATIN = re.compile(r"[A-Za-z][\w.+#-]*", re.ASCII)
_HAN_CHARACTER = re.compile("[\u3400-\u9fff]")
_PROPER = ("nr", "ns", "nt", "nz", "eng")
_TITLE_NOUNS = ("n", "vn", "an", "j", "l", "eng")
_IMAGE = re.compile(r"\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?")
_WORD = re.compile("[^\\W\\d_]{2}|[\u3400-\u9fff]")
_PLAIN = re.compile(r"[^\W\d_][^\W\d_’'. -]*(?:[ -][^\W\d_][^\W\d_’'. -]*){0,3}")
"""Matches names that are fit to set a title apart: no digits, options or calls."""
_GERUND = re.compile(r"[A-Z]?[a-z]+ing\b")


class ThemeHeading(NamedTuple):
    """A heading, the number of read chunks under it, and its parent headings, outermost first."""

    title: str
    chunks: int
    above: tuple[str, ...] = ()

    @property
    def bare(self) -> str:
        """The title without its number, and without images and links to itself."""
        return split_number(strip_links(_IMAGE.sub("", self.title)).strip(" ¶"))[1]


def headings_above(chunks: Iterable[Chunk]) -> tuple[ThemeHeading, ...]:
    """Return the headings and document titles of chunks, the most frequent first."""
    paths: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for chunk in chunks:
        title = "" if _is_file_stem(chunk.document_title) else chunk.document_title
        path = tuple(t for t in dict.fromkeys((title, *chunk.headings)) if t)
        for depth, title in enumerate(path):
            paths[title][path[:depth]] += 1
    found = [
        ThemeHeading(title, counts.total(), min(counts, key=lambda path: (-counts[path], path)))
        for title, counts in paths.items()
    ]
    return tuple(sorted(found, key=lambda heading: (-heading.chunks, heading.title)))


def _is_file_stem(title: str) -> bool:
    """Return True if a title was made of a file name: all its words are in lower case."""
    return title.isascii() and title.islower() and " " in title


def name_theme(
    headings: Sequence[ThemeHeading], chunks: int, names: Sequence[str], phrases: Sequence[str]
) -> str:
    """Return the title of a community, or "" if there is no heading, name or phrase to use.

    ``chunks`` is the number of chunks that the headings were collected from. ``names`` and
    ``phrases`` are ordered by importance.
    """
    usable = [heading for heading in headings if _names_a_theme(heading.bare)]
    usable.sort(key=lambda h: (-h.chunks, -len(h.above), h.title))
    main = _deepest(usable, _MOSTLY * chunks)
    if main is None:
        chosen = _covering([h for h in usable if _says_enough(h)], chunks)
        if len(chosen) > 1:
            return _pair([heading.bare for heading in chosen])
        main = chosen[0] if chosen else _deepest(headings, _LEAST_ALONE * chunks)
    if main is None:
        return _pair([name for name in names if _PLAIN.fullmatch(name)] or [*names, *phrases])
    below = _covering([h for h in usable if main.title in h.above], chunks)
    plain = (name for name in names if _PLAIN.fullmatch(name))
    return _with_detail(_in_context(main), (*(heading.bare for heading in below), *plain))


def names_a_theme(title: str) -> bool:
    """Return True if a title names a theme: it is neither generic, nor a file, nor a common word.

    Titles such as "Summary", "Cause", "notes.txt" and "IMG_0423" do not.
    """
    bare = ThemeHeading(title, 0).bare
    return _is_specific(bare) and not _is_common(bare)


def distinctive_names(entities: Iterable[Entity], sentences: Sequence[str]) -> list[str]:
    """Return the names of entities that describe a theme, in the order of the entities.

    They occur several times in the sentences, or once if no name occurs more often. Excluded are
    values, files, addresses, common words, column headers, and names that add no word to an earlier
    one.
    """
    text = "\n".join(sentences)
    times: dict[str, int] = {}
    for entity in entities:
        name = entity.name
        if entity.is_keyword or entity.type in _NAMELESS or not _can_tell(name):
            continue
        count = _count(name, text)
        if not count or any(_overlap(name, other) for other in times):
            continue
        if not entity.type and name.istitle() and _count(name.lower(), text) >= count:
            continue  # a common word that begins a sentence
        times[name] = count
        if sum(count > 1 for count in times.values()) == _ENOUGH_NAMES:
            break
    return [name for name in times if times[name] > 1] or list(times)


def _deepest(headings: Iterable[ThemeHeading], least: float) -> ThemeHeading | None:
    broad = [heading for heading in headings if heading.chunks >= least]
    return min(broad, key=lambda h: (-len(h.above), -h.chunks, h.title), default=None)


def _covering(headings: Iterable[ThemeHeading], chunks: int) -> list[ThemeHeading]:
    """Return the first headings that together cover most chunks, none of them nested in another."""
    chosen: list[ThemeHeading] = []
    for heading in headings:
        covered = sum(other.chunks for other in chosen)
        if len(chosen) == _MOST_TERMS or covered >= _MOSTLY * chunks:
            break
        if heading.chunks >= _LEAST_EACH * chunks and not any(
            heading.title in other.above
            or other.title in heading.above
            or _overlap(heading.bare, other.bare)
            for other in chosen
        ):
            chosen.append(heading)
    return chosen


def _in_context(heading: ThemeHeading) -> str:
    """Return a heading; one that says too little follows its nearest parent that names a theme."""
    if _says_enough(heading):
        return heading.bare
    path = [ThemeHeading(t, 0, heading.above[:depth]) for depth, t in enumerate(heading.above)]
    above = [
        h for h in reversed(path) if _names_a_theme(h.bare) and len(h.bare) <= _LONGEST_CONTEXT
    ]
    if not above:
        return heading.bare
    specific = (h for h in above if _says_enough(h, least=_FEWEST_WORDS - 1))
    context = next(specific, above[0]).bare
    return f"{context}{'：' if _HAN_CHARACTER.search(context) else ': '}{heading.bare}"


def _with_detail(title: str, terms: Iterable[str]) -> str:
    """Return a title with the first term that is short enough and adds a word."""
    room = (term for term in terms if len(title) + len(term) <= _LONGEST)
    plain = (term for term in room if not term.endswith(("?", "？")))
    added = next((term for term in plain if not _overlap(term, title)), "")
    if not added:
        return title
    chinese = _HAN_CHARACTER.search(title) is not None
    return f"{title}（{added}）" if chinese else f"{title} ({added})"


def _pair(terms: Sequence[str]) -> str:
    """Return the first of some terms, with the second one if both are short and share no word."""
    if not terms:
        return ""
    first = terms[0]
    words = set(content_terms(first))
    second = next((term for term in terms[1:] if not words & set(content_terms(term))), "")
    is_long = max(len(first), len(second)) > _LONGEST_OF_PAIR
    if not second or is_long or any(_JOINS.search(term) for term in (first, second)):
        return first
    if _HAN_CHARACTER.search(first):
        return f"{first}与{second}"
    inner = f"{second[:1].lower()}{second[1:]}" if _ARTICLE.match(second) else second
    return f"{first} and {inner}"


def _names_a_theme(bare: str) -> bool:
    return len(bare) <= _LONGEST and _is_specific(bare)


def _is_specific(title: str) -> bool:
    return bool(content_terms(title) and _WORD.search(title)) and not (
        _EVERYWHERE.fullmatch(title) or _FILE.fullmatch(title)
    )


def _says_enough(heading: ThemeHeading, *, least: int = _FEWEST_WORDS) -> bool:
    """Return True if a heading names a theme without its parent heading.

    A leading gerund ("Creating a new profile") and file paths do not count as words.
    """
    bare = _PATH.sub(" ", heading.bare).strip()
    if any(map(_is_technical, _LATIN.findall(bare))):
        return True
    if not heading.above:
        return not (bare.islower() and bare.isalpha())
    if _HAN_CHARACTER.search(bare):
        return sum(word.tag.startswith(_TITLE_NOUNS) for word in segment(bare)) >= least
    doing = _GERUND.match(bare)
    return len(content_terms(bare[doing.end() :] if doing else bare)) >= least


def _can_tell(name: str) -> bool:
    if not _NAME_START.match(name):
        return False
    forms = (_FILE, _DOTTED, _HEADS_OF_TABLES)
    return not (any(form.fullmatch(name) for form in forms) or _is_common(name))


def _is_common(name: str) -> bool:
    if _HAN_CHARACTER.search(name):
        words = segment(name)
        return len(words) == 1 and not words[0].tag.startswith(_PROPER)
    return name.isalpha() and (name.islower() or name.casefold() in common_words())


def _is_technical(word: str) -> bool:
    """Return True if a word is written like an acronym or an identifier in code."""
    return (len(word) > 1 and word.isupper()) or looks_technical(word)


def _count(name: str, text: str) -> int:
    """Return how often a text contains a name, case-sensitive and not within a Latin word."""
    count, start = 0, text.find(name)
    while start >= 0:
        end = start + len(name)
        count += not (_is_latin(text[start - 1 : start]) or _is_latin(text[end : end + 1]))
        start = text.find(name, end)
    return count


def _is_latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _overlap(one: str, other: str) -> bool:
    terms, others = set(content_terms(one)), set(content_terms(other))
    return terms <= others or others <= terms
