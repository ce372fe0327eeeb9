"""Read the outline of the documents: find the section that a phrase names, or about a subject."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import PurePosixPath
from typing import NamedTuple

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.question import can_embed
from knotwork._stores.base import Store
from knotwork._text.numbers import find_numbers
from knotwork._text.plain_text import split_number
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Chunk, Evidence, Label, Span

MOST_NODES = 50_000
"""The maximum number of documents, and of sections, that an outline has."""
ITEM_LEVEL = 1_000
"""The level of an item or paragraph with a number, which is below all headings."""

_NOT_WORD = re.compile(r"[\W_]+")
_DETERMINER = re.compile(r"^(?:the|this|my|our|a|an)\s+", re.IGNORECASE)
_TEXT_NOUN = re.compile(
    r"\s+(?:document|file|chapter|section|page|manual|handbook|book|novel|story|article|report|guide"
    r"|paper|contract|policy|notes?)$"
    r"|^(?:document|file|chapter|section|book|novel|article|report|paper)\s+(?=\D)"
    r"|^(?:关于|關於|有关|有關|讲|講|介绍|介紹)\s*"
    r"|的?(?:[这這那]?一?(?:章|节|節|篇|页|頁|本书|本書|文档|文檔|文件|手册|手冊)|部分)$",
    re.IGNORECASE,
)
_TEXT_WORD = re.compile(
    r"\b(?:document|file|chapter|manual|handbook|book|novel|story|article|report|guide|paper|contract"
    r"|policy|notes?|agreement|statutes|leaflet|notebook|catalogue|page|faq|rules|plan|tutorial|roadmap)\b"
    r"|(?:文档|文檔|文件|手册|手冊|合同|协议|章程|制度|规章|规定|办法|指南|政策|说明|标准|守则|报告|论文|文章|书|書)$",
    re.IGNORECASE,
)
"""Words that show that a phrase names a text, though its title has many more words."""
_LEAST_OF_TITLE = 0.5
"""The least share of the words of a title, for a phrase without such a word."""
_UNITS = (
    "chapter|section|part|clause|article|paragraph|rule|point|item|step|document|file|paper|text"
)
_HAN_UNITS = "章|节|節|条|條|部分|部|[个個篇份](?:文档|文檔|文件|文章|资料|資料|论文|报告)?"
_DOCUMENT_UNIT = re.compile("document|file|paper|text|[个個篇份]")
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
_BARE_NUMBER = re.compile(r"(\d{1,2})\s+[^\W\d]")
_LETTERED = re.compile(r"[(（]?([a-z])[)）]")
_PLACES = (
    re.compile(
        rf"(?P<unit>{_UNITS})\s+[(（]?(?P<number>\d+(?:\.\d+)*|(?-i:[IVXLC]+)|[A-Z])[)）]?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<number>{'|'.join(_ORDINALS)}|\d+(?:st|nd|rd|th))\s+(?P<unit>{_UNITS})", re.IGNORECASE
    ),
    re.compile(rf"第\s*(?P<number>[\d零一二三四五六七八九十]+)\s*(?P<unit>{_HAN_UNITS})"),
    re.compile(r"(?P<unit>§)\s*(?P<number>\d+(?:\.\d+)*)"),
)
_INSIDE = (
    re.compile(r"^(?P<inner>.+?)\s+(?:of|in|from)\s+(?P<outer>.+)$", re.IGNORECASE),
    re.compile(r"^(?P<outer>.+?)['’]s? (?P<inner>.+)$"),
    re.compile(
        rf"^(?P<outer>.+?)(?:的|里的|中的|里|中)?(?P<inner>第\s*[\d一二三四五六七八九十]+\s*(?:{_HAN_UNITS}).*)$"
    ),
    re.compile(r"^(?P<outer>.+?)(?:里的|中的|的|里|中)(?P<inner>.+)$"),
)
"""Forms of "section 3 of the manual", "手册的第三章"."""
_SECTION_NAME = re.compile(
    r"^(?:[\w' -]+ )?(?:chapter|section|part|page|entry|article)s?"
    r" (?:on|about|called|titled|named|regarding|for) (?P<name>.+)$"
    r"|^(?P<before>.+?)\s*(?:\bchapter|\bsection|\bpage|(?:那|这)?一?[章节節])$",
    re.IGNORECASE,
)
_DOCUMENT_NOUN = re.compile(
    r"documents?|files?|articles?|papers?|texts?|文档|文檔|文件|文章|资料|資料|论文", re.IGNORECASE
)
_DOCUMENTS_ABOUT = re.compile(
    r"^(?:documents|files|articles|papers|texts) (?:about|on|regarding) ", re.IGNORECASE
)
_SECTION_NOUN = re.compile(
    r"chapters?|sections?|headings?|parts?|clauses?|章节|章節|[章节節条條]|标题|小节|部分",
    re.IGNORECASE,
)
_NUMBERED = (BlockKind.ITEM, BlockKind.PARAGRAPH)
_SUBTITLE = re.compile(r"\s*[:：—–|]\s*|\s+-\s+")


@dataclass(frozen=True, slots=True)
class OutlinePart:
    """A document (level 0) or a section of one; ``span`` is in the document's text."""

    document_id: str
    title: str
    level: int
    span: Span
    uri: str = ""

    def contains(self, other: OutlinePart) -> bool:
        """Return True if another part is a section of this one."""
        is_same = other.document_id == self.document_id and other.level > self.level
        return is_same and self.span.contains(other.span)

    def holds(self, item: SelectedSentence) -> bool:
        """Return True if a sentence begins in the part."""
        is_same = item.chunk.document_id == self.document_id
        return is_same and self.span.start <= item.span.start < self.span.end


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """All documents in the order of their uris, and the sections of each in reading order."""

    documents: tuple[OutlinePart, ...]
    sections: Mapping[str, Sequence[OutlinePart]]

    def document(self, document_id: str) -> OutlinePart:
        """Return a document by its id."""
        found = (part for part in self.documents if part.document_id == document_id)
        return next(found, OutlinePart(document_id, "", 0, Span(0, 1 << 62)))

    def children(self, part: OutlinePart) -> list[OutlinePart]:
        """Return the sections one level below a part, in reading order.

        A single section at its level, as one under the title of a document, is replaced by its own
        subsections. If other documents extend the number of a chapter, they are its children.
        """
        number = split_number(part.title)[0]
        if part.level <= 1 and number:
            numbered = [(split_number(other.title)[0], other) for other in self.documents]
            found = [row for row in numbered if row[0].startswith(f"{number}.")]
            if found:
                found.sort(key=lambda row: _natural_order(row[0]))
                return [part, *(other for _, other in found)]
        return self.subsections(part)

    def subsections(self, part: OutlinePart) -> list[OutlinePart]:
        """Return the sections one level below a part in its own document, in reading order."""
        inside = [s for s in self.sections.get(part.document_id, ()) if part.contains(s)]
        while inside:
            top = min(section.level for section in inside)
            found = [section for section in inside if section.level == top]
            if len(found) > 1:
                return found
            inside = [section for section in inside if section.level > top]
        return []

    def above(self, part: OutlinePart) -> list[OutlinePart]:
        """Return the document of a part, and the sections around it, outermost first."""
        every = (*self.documents, *self.sections.get(part.document_id, ()))
        return [other for other in every if other.contains(part)]


def read_outline(store: Store) -> DocumentOutline:
    """Read titles and headings from the graph; no text is read."""
    documents = [
        OutlinePart(node.id, node.name, 0, Span(0, 1 << 62), str(node.properties["uri"]))
        for node in store.graph.find(label=Label.DOCUMENT, limit=MOST_NODES)
    ]
    sections: defaultdict[str, list[OutlinePart]] = defaultdict(list)
    for node in store.graph.find(label=Label.SECTION, limit=MOST_NODES):
        if node.name and int(node.properties["level"]) > 0:
            span = Span(int(node.properties["start"]), int(node.properties["end"]))
            document = str(node.properties["document"])
            sections[document].append(
                OutlinePart(document, node.name, int(node.properties["level"]), span)
            )
    return DocumentOutline(
        tuple(sorted(documents, key=lambda part: (_natural_order(part.uri), part.document_id))),
        {
            key: sorted(parts, key=lambda part: (part.span.start, part.level))
            for key, parts in sections.items()
        },
    )


def find_parts(outline: DocumentOutline, phrase: str) -> list[OutlinePart]:
    """Return the document or section that a phrase names, by title, file name, number or place.

    Case, punctuation, a number before a title and a subtitle after a colon are ignored. Documents
    precede sections; among equals the first one is returned. The result has several parts if the
    phrase is a number that sections of several documents have.
    """
    bare = _DETERMINER.sub("", phrase.strip())
    every = [*outline.documents, *(s for parts in outline.sections.values() for s in parts)]
    found = _find_named(every, bare) or _find_split(outline, bare)
    found = found or _find_document(outline.documents, bare)
    place = _read_place(bare)
    if found is None and place is not None and not _DOCUMENT_UNIT.match(place.unit):
        inside = (_find_inside(outline, part, bare) for part in outline.documents)
        return [part for part in inside if part is not None]
    section = _SECTION_NAME.match(bare)
    if found is None and section is not None:
        found = _find_by_terms(every, section["name"] or section["before"], least=0.0)
    return [found] if found else []


def find_numbered(found: Evidence, phrase: str) -> list[OutlinePart]:
    """Return the item or paragraph that a phrase such as "clause 2.1" names by its number.

    It is looked for in the passages ``found``; the result has one for each of their documents.
    """
    place = _read_place(_DETERMINER.sub("", phrase.strip()))
    parts: dict[str, OutlinePart] = {}
    for chunk in (hit.chunk for hit in found.hits):
        above: list[tuple[int, str]] = []
        for block in chunk.blocks if place and not _DOCUMENT_UNIT.match(place.unit) else ():
            if block.kind not in _NUMBERED or not chunk.span.contains(block.span):
                continue
            text = chunk.text_at(block.span).lstrip("-* ")
            letter = _LETTERED.match(text)
            number = _read_digits((letter[1] if letter else split_number(text)[0]).casefold())
            above = [(end, outer) for end, outer in above if block.span.end <= end]
            if above and number.isdecimal():  # "2.2" is the second item in the second item
                number = f"{above[-1][1]}.{number}"
            above += [(block.span.end, number)] if number else []
            if place and number == place.number:
                part = OutlinePart(chunk.document_id, number, ITEM_LEVEL, block.span)
                parts.setdefault(chunk.document_id, part)
    return list(parts.values())


def _find_split(outline: DocumentOutline, phrase: str) -> OutlinePart | None:
    """Return the section that a phrase such as "section 3 of the manual" names."""
    for form in _INSIDE:
        for split in form.finditer(phrase):
            outer = _find_document(outline.documents, _DETERMINER.sub("", split["outer"]))
            inner = _find_inside(outline, outer, split["inner"]) if outer else None
            if inner is not None:
                return inner
    return None


class _Place(NamedTuple):
    """The number of a document or section, and the word for its kind."""

    number: str
    unit: str


def _read_place(phrase: str) -> _Place | None:
    for form in _PLACES:
        if found := form.fullmatch(phrase):
            return _Place(_read_digits(found["number"].casefold()), found["unit"].casefold())
    return None


def _read_digits(number: str) -> str:
    """Return a number in Arabic digits: "3" for "third" and "三", "12" for "十二"."""
    if number in _ORDINALS:
        return str(_ORDINALS.index(number) + 1)
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", number)
    read = next(find_numbers(bare), None)
    return str(min(read.values)) if read and read.is_written else bare


def _find_inside(
    outline: DocumentOutline, document: OutlinePart, phrase: str
) -> OutlinePart | None:
    """Return the section of a document that a phrase names, by title, number or place."""
    sections = outline.sections.get(document.document_id, ())
    bare = _DETERMINER.sub("", phrase)
    if found := _find_named(sections, bare):
        return found
    place = _read_place(bare)
    if place is None:
        name = _SECTION_NAME.match(bare)
        return _find_by_terms(
            sections, (name["name"] or name["before"]) if name else bare, least=0.0
        )
    numbered = [(part, _read_number(part)) for part in sections]
    same = [part for part, number in numbered if number == place.number]
    exact = [part for part in same if place.unit in part.title.casefold()[: len(bare)]]
    if same:
        return min(exact or same, key=lambda part: part.level)
    children = outline.subsections(document)
    if not place.number.isdecimal() or any(number for _, number in numbered):
        return None
    return next(iter(children[int(place.number) - 1 : int(place.number)]), None)


def _read_number(part: OutlinePart) -> str:
    """Return the number before a title, as "3" of "第三章 …", "3. …" or "3 …"; "" for none."""
    bare = _BARE_NUMBER.match(part.title)
    return _read_digits(bare[1] if bare else split_number(part.title)[0].casefold())


def _find_named(parts: Sequence[OutlinePart], phrase: str) -> OutlinePart | None:
    wanted = {_title_key(phrase), _title_key(_TEXT_NOUN.sub("", phrase))} - {""}
    ranked = (part for place in (0, 1) for part in parts if wanted & _name_keys(part)[place])
    return next(ranked, None)


def _find_document(documents: Sequence[OutlinePart], phrase: str) -> OutlinePart | None:
    """Return the document that a phrase names, by its place or most of the words of its title."""
    place = _read_place(phrase)
    if place is not None and _DOCUMENT_UNIT.match(place.unit) and place.number.isdecimal():
        number = int(place.number)
        return next(iter(documents[number - 1 : number]), None) if number else None
    least = 0.0 if _TEXT_WORD.search(phrase) else _LEAST_OF_TITLE
    return _find_named(documents, phrase) or _find_by_terms(documents, phrase, least=least)


def _find_by_terms(
    parts: Sequence[OutlinePart], phrase: str, *, least: float
) -> OutlinePart | None:
    """Return the part whose title or file name has all terms of a phrase and the fewest others."""
    bare = set(content_terms(_TEXT_WORD.sub(" ", _TEXT_NOUN.sub("", phrase))))
    wanted = bare or set(content_terms(phrase))
    shares = [
        (len(wanted) / len(terms), part)
        for part in parts
        for terms in _name_terms(part)
        if wanted and wanted <= terms
    ]
    share, best = max(shares, key=itemgetter(0), default=(0.0, None))
    return best if share >= least else None


class Listing(NamedTuple):
    """Titles to list: documents, or the sections of each ``head``; all have the same ``unit``."""

    unit: str
    groups: Sequence[tuple[OutlinePart | None, Sequence[OutlinePart]]]


def find_listed(
    outline: DocumentOutline, noun: str, within: Sequence[OutlinePart]
) -> Listing | None:
    """Return the documents or sections that a noun in the plural means, in all or in a part.

    A noun that is no word for a text means the documents with it in their titles, the subsections
    of the sections with such titles, or else several sections with such titles.
    """
    documents = within or outline.documents
    subject = _DOCUMENTS_ABOUT.sub("", noun)
    is_of_documents = _DOCUMENT_NOUN.fullmatch(noun) is not None
    if is_of_documents and not within:
        return Listing("document", [(None, documents)]) if documents else None
    if _SECTION_NOUN.fullmatch(noun):
        below = outline.children(documents[0]) if len(documents) == 1 else []
        found = [part for part in below if part.title != documents[0].title]
        return Listing("section", [(documents[0], found)]) if found else None
    terms = set(content_terms(subject))
    if not terms or is_of_documents:
        return None
    titled = [part for part in documents if terms <= _name_terms(part)[0]]
    if not within and (len(titled) > 1 or (titled and subject != noun)):
        return Listing("document", [(None, titled)])
    sections = [
        section
        for part in documents
        for section in outline.sections.get(part.document_id, ())
        if terms <= _name_terms(section)[0]
        and part.span.contains(section.span)
        and _title_key(section.title) != _title_key(part.title)
    ]
    groups = [(section, below) for section in sections if (below := outline.subsections(section))]
    if groups:
        return Listing("section", groups)
    return Listing("section", [(None, sections)]) if len(sections) > 1 else None


def read_chunks(store: Store, part: OutlinePart, *, most: int | None = None) -> list[Chunk]:
    """Return the leaf chunks that overlap a part in reading order, the first ``most`` of them."""
    ids = store.documents.chunk_ids_of([part.document_id]).get(part.document_id, [])
    held = store.documents.chunks(ids[:most]).values()
    inside = [
        chunk
        for chunk in held
        if not chunk.is_parent
        and chunk.span.start < part.span.end
        and part.span.start < chunk.span.end
    ]
    return sorted(inside, key=lambda chunk: chunk.ordinal)


@lru_cache(maxsize=MOST_NODES)
def _name_terms(part: OutlinePart) -> tuple[frozenset[str], ...]:
    """Return the terms of the title of a part, and those of its file name."""
    names = (part.title, PurePosixPath(part.uri).stem)
    return tuple(frozenset(content_terms(_NOT_WORD.sub(" ", name))) for name in names)


@lru_cache(maxsize=MOST_NODES)
def _name_keys(part: OutlinePart) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the names of a part, and that of its title without a subtitle."""
    title, path = split_number(part.title)[1], PurePosixPath(part.uri)
    full = (part.title, title, part.uri, path.name, path.stem)
    short = _title_key(_SUBTITLE.split(title)[0])
    return frozenset(map(_title_key, full)) - {""}, frozenset({short}) - {""}


def _title_key(name: str) -> str:
    return _NOT_WORD.sub(" ", name.casefold()).strip()


def _natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that puts "2" before "10"."""
    pieces = re.split(r"(\d+)", name.casefold())
    return tuple((1, int(p[:18]), "") if p.isdecimal() else (0, 0, p) for p in pieces)


_LEAST_EXCESS = 10.0
"""The log-likelihood ratio from which a section is about a subject; chance gives about 5."""
_NEIGHBOURS = 40
"""The number of passages nearest to the query by vectors, and by full text."""
_LONGEST_QUERY = 400
_TITLE_POWER = 1.5
_ABOVE_WEIGHT = 0.5
_DENSITY_POWER = 0.25
"""Exponent of the weight found per passage, which prefers the more specific of two sections."""
_NAMED_GAIN = 1.5
"""The factor for a section whose title, or document title, has all named terms."""
_ALL_OF_IT = 0.95
_HALF = 0.5
_TITLE_ALONE = 0.5
"""A section with a single passage found needs at least this share of the subject in its title."""


@dataclass(frozen=True, slots=True)
class LocatedSection:
    """A section that is about a subject; a higher ``value`` is better."""

    part: OutlinePart
    value: float
    is_fitting: bool
    """Whether its title has terms of the subject, or it is a small part of its document."""


def locate_sections(
    subject: str,
    found: Evidence,
    *,
    store: Store,
    outline: DocumentOutline,
    embedder: Embedder | None,
    within: OutlinePart | None = None,
    named: frozenset[str] = frozenset(),
) -> list[LocatedSection]:
    """Return the sections or documents that are about a subject as a whole, best first.

    The passages ``found``, and the neighbours of their query by vectors and full text, are counted
    in every section including its subsections. A section is about the subject if it has far more of
    them than its length explains: the likelihood ratio of the tree-based scan statistic (Kulldorff,
    Fang and Walsh, Biometrics 2003). Among these, sections whose title names the subject, and with
    more found for their length, are better.

    With ``within``, only sections inside that part are returned. Titles with all terms of ``named``
    are preferred.
    """
    weights = _weigh_passages(found, store, embedder)
    total, everywhere = sum(weights.values()), max(store.documents.chunk_count(), 1)
    asked = set(content_terms(subject))
    chunks = store.documents.chunks(list(weights))
    passages: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for key, chunk in sorted(chunks.items()):
        middle = (chunk.span.start + chunk.span.end) // 2
        passages[chunk.document_id].append((middle, weights[key]))
    held = store.documents.chunk_ids_of(passages)
    located: list[LocatedSection] = []
    for key in sorted(passages):
        size = len(held[key])
        end = _end_of_part(outline.sections.get(key, ()))
        for part in _candidate_parts(outline, key):
            if within is not None and not _is_inside(within, part, end):
                continue
            inside = [
                weight
                for middle, weight in passages[key]
                if part.level == 0 or part.span.start <= middle < part.span.end
            ]
            count = sum(inside)
            extent = _extent(part, outline, size)
            excess = _excess(count, total * extent / everywhere, total)
            if excess < _LEAST_EXCESS:
                continue
            share = _title_share(part, outline.above(part), asked)
            if len(inside) < 2 and share < _TITLE_ALONE:
                continue
            # The logarithm lets the title decide between two sections that chance cannot explain.
            value = math.log(excess) * (1 + share) ** _TITLE_POWER
            value *= min(1.0, count / extent) ** _DENSITY_POWER
            if named and named <= set(content_terms(f"{outline.document(key).title} {part.title}")):
                value *= _NAMED_GAIN
            is_fitting = share > 0 or (within is None and extent < _HALF * size)
            located.append(LocatedSection(part, value, is_fitting))
    return sorted(located, key=lambda item: -item.value)


def _weigh_passages(
    found: Evidence, store: Store, embedder: Embedder | None
) -> Mapping[str, float]:
    """Return the weight of each passage for its section: at most 1 for each kind of search."""
    weights: defaultdict[str, float] = defaultdict(float)

    def add(ranked: Iterable[tuple[str, float]]) -> None:
        rows = list(ranked)
        top = max((score for _, score in rows), default=0.0)
        for key, score in rows if top > 0 else ():
            weights[key] += max(score, 0.0) / top

    add(
        (hit.chunk.id, hit.score * max((value for _, value in hit.sentences), default=0.0))
        for hit in found.hits
        if not hit.chunk.is_parent
    )
    text = found.query.text[:_LONGEST_QUERY]
    add(store.texts("chunk").search(text, k=_NEIGHBOURS))
    if embedder is not None and can_embed(embedder, text):
        near = store.vectors("chunk").search(embedder.embed([text])[0], k=_NEIGHBOURS)
        # Cosines of neighbours hardly differ, so their ranks are used.
        add((item.id, 1 - rank / len(near)) for rank, item in enumerate(near))
    return weights


def _candidate_parts(outline: DocumentOutline, document: str) -> list[OutlinePart]:
    """Return the sections of a document, and the document unless a section is nearly all of it."""
    sections = list(outline.sections.get(document, ()))
    end = _end_of_part(sections)
    if any(part.span.end - part.span.start >= _ALL_OF_IT * end for part in sections):
        return sections
    return [*sections, *(part for part in outline.documents if part.document_id == document)]


def _extent(part: OutlinePart, outline: DocumentOutline, size: int) -> float:
    """Estimate how many of the ``size`` passages of its document are in a part."""
    if part.level == 0:
        return size
    length = part.span.end - part.span.start
    return max(1.0, size * length / _end_of_part(outline.sections[part.document_id]))


def _end_of_part(sections: Iterable[OutlinePart]) -> int:
    return max((section.span.end for section in sections), default=1) or 1


def _is_inside(outer: OutlinePart, inner: OutlinePart, end: int) -> bool:
    """Return True if a part is a section of another one, and not nearly all of it."""
    length, whole = (span.end - span.start for span in (inner.span, outer.span))
    return outer.contains(inner) and length < _ALL_OF_IT * min(whole, end - outer.span.start)


def _title_share(part: OutlinePart, above: Iterable[OutlinePart], asked: set[str]) -> float:
    """Return the share of the asked terms in a title; terms only in titles above count half.

    It is 0 if the title itself has none of them.
    """
    own = asked & set(content_terms(split_number(part.title)[1]))
    further = set().union(*(asked & set(content_terms(other.title)) for other in above)) - own
    return (len(own) + _ABOVE_WEIGHT * len(further)) / max(len(asked), 1) if own else 0.0


def _excess(count: float, expected: float, total: float) -> float:
    """Return the log-likelihood ratio of a count against an expected one; 0 without an excess."""
    if count <= expected or expected >= total:
        return 0.0
    rest = total - count
    beyond = rest * math.log(rest / (total - expected)) if rest > 0 else 0.0
    return count * math.log(count / expected) + beyond


_FIRST_CHUNKS = 4
"""Passages among which the heading of a document is looked for."""
_NEAR = 40
"""The maximum number of characters, such as marks, between a section's start and its heading."""


def cite_heading(store: Store, part: OutlinePart) -> SelectedSentence | None:
    """Return the heading of a part as a source, or its first sentence if its text has no heading.

    None if the part has no text.
    """
    chunks = read_chunks(store, part, most=None if part.level else _FIRST_CHUNKS)
    start = max(part.span.start, 0)
    for chunk in chunks:
        if not chunk.span.start <= start < chunk.span.end:
            continue
        place = chunk.text.find(part.title, start - chunk.span.start)
        if 0 <= place <= start - chunk.span.start + _NEAR and part.title:
            at = chunk.span.start + place
            return SelectedSentence(chunk, Span(at, at + len(part.title)), part.title, 1.0, 0)
    for chunk in chunks:
        if chunk.sentences:
            return SelectedSentence(chunk, chunk.sentences[0], chunk.sentence_text(0), 1.0, 0)
    return None
