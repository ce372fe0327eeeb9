"""Answer about all documents, one part of them, a topic or a count, without a model.

The outline has the titles and headings of all documents: a phrase names a part of it, or a section
is about a subject. Parts and topics are summarised by cited statements, entities and mentions are
counted, and titles are listed.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import PurePosixPath
from statistics import median
from typing import NamedTuple

from knotwork._config import AnswerSettings
from knotwork._inference.embedder import Embedder
from knotwork._questions.reading import QuestionScope, ScopeKind, reading_of, states_view
from knotwork._retrieval.base import attempt
from knotwork._retrieval.community_search import FEWEST_THEMES, find_communities, find_topic
from knotwork._retrieval.question import can_embed
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._stores.resolutions import read_groups
from knotwork._synthesis import messages
from knotwork._synthesis.ask_request import AskMode, CommunityReports, Inquiry, OutlinePart
from knotwork._synthesis.extractive_answers import (
    LOW_CONFIDENCE,
    NO_EVIDENCE,
    cite_sentences,
    compose_answer,
    estimate_confidence,
    rank_candidates,
    rank_pieces,
)
from knotwork._text.languages import HAN, HAN_CHARACTER, detect_language, simplify
from knotwork._text.numbers import find_numbers
from knotwork._text.plain_text import gap_before_mark, gap_between, show_sentence, split_number
from knotwork._text.statements import (
    SelectedSentence,
    choose_lead,
    choose_statements,
    is_plain,
    is_statement,
    read_statements,
    repeats,
    say_the_same,
    tell_once,
    weigh_alone,
    weigh_prose,
)
from knotwork._text.terms import content_terms
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    Answer,
    AnswerPiece,
    BlockKind,
    Chunk,
    CommunityReport,
    EdgeType,
    Evidence,
    Hit,
    Label,
    Node,
    Query,
    Span,
)

MOST_NODES = 50_000
"""The maximum number of documents, and of sections, that an outline has."""
ITEM_LEVEL = 1_000
"""The level of an item or paragraph with a number, which is below all headings."""

_NOT_WORD = re.compile(r"[\W_]+")
_PLURAL = re.compile(r"(?<=\w\w)s$")
_LABEL = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
_LONGEST_LABEL = 3
"""The maximum number of characters of a letter or a number that is the name of a document."""
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


def find_document(
    outline: DocumentOutline, name: str, noun: str = "", *, exactly: bool = False
) -> OutlinePart | None:
    """Return the document of a name, as "report.md", or of a noun and a letter or number.

    A letter or a number is the title or file name with or without the noun, its first or last
    word, or with a noun the place of the document. With ``exactly``, other names must be whole.
    """
    documents, singular = outline.documents, _PLURAL.sub("", noun)
    forms = (f"{singular} {name}", f"{singular}{name}", name) if noun else (name,)
    found = next(filter(None, (_find_named(documents, form) for form in forms)), None)
    if found is not None or exactly:
        return found
    if len(name) > _LONGEST_LABEL:
        return _find_document(documents, name)
    key = _title_key(name)
    ends = [p for p in documents if any(key in (k[0], k[-1]) for k in _label_words(p))]
    label = f"{singular} {name}"
    return ends[0] if len(ends) == 1 else _find_document(documents, label)


def find_sections(outline: DocumentOutline, phrase: str, *, within: str) -> list[OutlinePart]:
    """Return the sections that a phrase names: of the document that a text names, or of all."""
    text = f" {_title_key(within)} "

    def is_named(key: str) -> bool:
        return f" {key} " in text or (HAN_CHARACTER.search(key) is not None and key in text)

    named = [part for part in outline.documents if any(map(is_named, _name_keys(part)[0]))]
    found = (_find_inside(outline, part, phrase) for part in named or outline.documents)
    return [part for part in found if part is not None]


def _label_words(part: OutlinePart) -> list[list[str]]:
    return [words for key in _name_keys(part)[0] if (words := _LABEL.findall(key))]


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
    numbered = []
    for part in sections:  # the number before a title, as "3" of "第三章 …", "3. …" or "3 …"
        first = _BARE_NUMBER.match(part.title)
        own = first[1] if first else split_number(part.title)[0].casefold()
        numbered.append((part, _read_digits(own)))
    same = [part for part, number in numbered if number == place.number]
    exact = [part for part in same if place.unit in part.title.casefold()[: len(bare)]]
    if same:
        return min(exact or same, key=lambda part: part.level)
    children = outline.subsections(document)
    if not place.number.isdecimal() or any(number for _, number in numbered):
        return None
    return next(iter(children[int(place.number) - 1 : int(place.number)]), None)


def _find_named(parts: Sequence[OutlinePart], phrase: str) -> OutlinePart | None:
    wanted = {_title_key(phrase), _title_key(_TEXT_NOUN.sub("", phrase))} - {""}
    ranked = (part for place in (0, 1) for part in parts if wanted & _name_keys(part)[place])
    return next(ranked, None)


def _find_document(documents: Sequence[OutlinePart], phrase: str) -> OutlinePart | None:
    place = _read_place(phrase)
    if place is not None and _DOCUMENT_UNIT.match(place.unit) and place.number.isdecimal():
        number = int(place.number)
        return documents[number - 1] if 0 < number <= len(documents) else None
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
    return _NOT_WORD.sub(" ", simplify(name).casefold()).strip()


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


class LocatedSection(NamedTuple):
    """A section that is about a subject; a higher ``value`` is better.

    ``is_fitting`` if its title has terms of the subject, or it is a small part of its document.
    """

    part: OutlinePart
    value: float
    is_fitting: bool


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
        sections = outline.sections.get(key, ())
        end = max((part.span.end for part in sections), default=1) or 1
        lengths = [part.span.end - part.span.start for part in sections]
        # The document is a candidate unless a section is nearly all of it.
        is_whole = any(length >= _ALL_OF_IT * end for length in lengths)
        whole = [] if is_whole else [p for p in outline.documents if p.document_id == key]
        for part in (*sections, *whole):
            if within is not None and not _is_inside(within, part, end):
                continue
            inside = [
                weight
                for middle, weight in passages[key]
                if part.level == 0 or part.span.start <= middle < part.span.end
            ]
            count = sum(inside)
            length = part.span.end - part.span.start
            extent = max(1.0, size * length / end) if part.level else float(size)
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


MOST_SOURCES = 12
"""Sentences that are cited for one statement that documents repeat."""


class SummaryPiece(NamedTuple):
    """A part of a line, and the sentence that it cites; None for a title in a table of contents."""

    text: str
    source: SelectedSentence | None

    @classmethod
    def of(cls, sentence: SelectedSentence) -> SummaryPiece:
        """Return a piece that quotes a sentence as prose."""
        return cls(show_sentence(sentence.text), sentence)

    @property
    def sources(self) -> tuple[SelectedSentence, ...]:
        """The sentences that say it, at most `MOST_SOURCES`; none for a title."""
        if self.source is None:
            return ()
        return (self.source, *self.source.also)[:MOST_SOURCES]


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of an answer: a label ("" for none) and the pieces after it.

    ``kind`` is that of the `AnswerPiece`. A line without pieces is the caption of those below it.
    """

    label: str
    pieces: tuple[SummaryPiece, ...] = ()
    kind: str = "sentence"
    note: str = ""
    """A remark after the label."""
    is_list: bool = False
    """Whether the pieces are items rather than sentences."""

    @classmethod
    def of(
        cls, label: str, sentences: Sequence[SelectedSentence], kind: str = "section"
    ) -> SummaryLine:
        """Return a line that quotes sentences."""
        return cls(label, tuple(map(SummaryPiece.of, sentences)), kind if label else "sentence")


@dataclass(frozen=True, slots=True)
class SummaryText:
    """An introduction and lines; ``rest`` are the headings of parts without a line."""

    intro: str
    lines: Sequence[SummaryLine] = ()
    rest: Sequence[SelectedSentence] = ()
    is_numbered: bool = False


class WrittenLines(NamedTuple):
    """The text of an answer, its pieces, and the sentences that its marks cite, in order."""

    text: str
    pieces: tuple[AnswerPiece, ...]
    sources: list[SelectedSentence]


def write_lines(summary: SummaryText, language: str, *, is_numbered: bool = False) -> WrittenLines:
    """Write a list of lines; a single line without an introduction is a paragraph."""
    numbers: dict[tuple[str, Span], int] = {}
    written: list[str] = []
    pieces: list[AnswerPiece] = []
    sources: list[SelectedSentence] = []
    colon, stop = ("：", "；") if language == "zh" else (": ", "; ")
    lines = _told_once(summary.lines)
    is_alone = len(lines) == 1 and not summary.intro
    for place, line in enumerate(lines, start=1):
        if not line.pieces:
            written.append(f"\n{line.label}{colon.strip()}\n")
            continue
        body = f"**{line.label}**{line.note}{colon}" if line.label else ""
        first = 0
        for number, piece in enumerate(line.pieces):
            if number:
                body += stop if line.is_list else gap_between(body, piece.text)
            body += piece.text
            for source in piece.sources:
                key = source.chunk.document_id, source.span
                if key not in numbers:
                    numbers[key] = len(sources) + 1
                    sources.append(source)
                first = first or numbers[key]
                gap = gap_before_mark(piece.text) if source is piece.source else ""
                body += f"{gap}[{numbers[key]}]"
        mark = "" if is_alone else f"{place}. " if is_numbered else "- "
        written.append(f"{mark}{body}")
        if first:
            pieces.append(AnswerPiece(line.kind, body, first))
    text = "\n".join(written)
    if summary.intro:
        text = f"{summary.intro}\n\n{text.lstrip()}".rstrip()
    return WrittenLines(text, tuple(pieces), sources)


def _told_once(lines: Sequence[SummaryLine]) -> list[SummaryLine]:
    """Return lines in which a statement that is quoted again only adds its source to the first."""
    told: list[tuple[SelectedSentence, int, int]] = []
    kept: list[list[SummaryPiece | None]] = [[*line.pieces] for line in lines]
    for row, line in enumerate(lines):
        for column, (text, source) in enumerate(line.pieces):
            if source is None or line.is_list or show_sentence(source.text) != text:
                continue
            same = (place for other, *place in told if say_the_same(other.text, source.text))
            if (known := next(same, None)) is None:
                told.append((source, row, column))
                continue
            first = kept[known[0]][known[1]]
            assert first is not None
            assert first.source is not None
            also = (*first.source.also, source, *source.also)
            kept[known[0]][known[1]] = first._replace(source=replace(first.source, also=also))
            kept[row][column] = None
    shown = [(line, tuple(filter(None, held))) for line, held in zip(lines, kept, strict=True)]
    return [replace(line, pieces=held) for line, held in shown if held or not line.pieces]


def answer_with(
    evidence: Evidence,
    written: WrittenLines,
    store: Store,
    *,
    answered: bool,
    confidence: float | None,
) -> Answer:
    """Return an answer with the lines of an overview, or that they are no answer."""
    language = reading_of(evidence.query.text).language
    is_found = bool(written.sources)
    refusal = messages.not_clear(language) if is_found else messages.no_match(language)
    return Answer(
        question=evidence.query.text,
        text=written.text if answered else refusal,
        answered=answered,
        citations=cite_sentences(written.sources, store),
        reason="" if answered else LOW_CONFIDENCE if is_found else NO_EVIDENCE,
        confidence=confidence,
        retriever=evidence.retriever,
        pieces=written.pieces if answered else (),
    )


_MOST_COMMUNITIES = 16
_LEAST_CLEAR = 0.3
"""The least worth of a statement if a report has better ones."""
_FRAGMENT_WEIGHT = 0.1


class Theme(NamedTuple):
    """A community in an overview: its report and its number of passages."""

    report: CommunityReport
    passages: int

    @property
    def is_written(self) -> bool:
        """Whether a model wrote the report."""
        return self.report.source != EXTRACTIVE_SOURCE


def read_themes(
    store: Store, source: CommunityReports, ids: Sequence[str], *, spend_tokens: int = 0
) -> list[Theme]:
    """Return the communities that have a report with findings."""
    held = store.capabilities.communities
    if held is None or not ids:
        return []
    reports = source.reports(ids, spend_tokens=spend_tokens)
    known = held.communities(reports)
    return [
        Theme(reports[i], len(known[i].chunk_ids) if i in known else 0)
        for i in ids
        if i in reports and reports[i].findings
    ]


def theme_lines(
    question: str, themes: Sequence[Theme], *, store: Store, language: str, count: int
) -> list[SummaryLine]:
    """Return a line for each theme with statements that no line before it has.

    Findings, at most ``count``, are ranked by the terms that they share with the question and with
    the title of their report, and by how well they can be understood alone. Code, addresses and
    fragments count only if no report has anything else.
    """
    chunks = cited_chunks([theme.report for theme in themes], store)
    asked = set(reading_of(question).terms)
    stated: list[frozenset[str]] = []
    lines: list[SummaryLine] = []
    found = [(theme, _rank_sources(theme.report, chunks, asked)) for theme in themes]
    has_clear = any(item.worth >= _LEAST_CLEAR for _, sources in found for item in sources)
    for theme, sources in found:
        clear = [item for item in sources if item.worth >= _LEAST_CLEAR or not has_clear]
        chosen: list[SelectedSentence] = []
        for item in clear:
            if len(chosen) < count and not repeats(item.text, stated):
                chosen.append(item)
                stated.append(frozenset(content_terms(item.text)))
        if chosen:
            line = SummaryLine.of(show_sentence(theme.report.title), chosen, "theme")
            if theme.passages:
                extent = messages.count_units(theme.passages, "passage", language)
                note = messages.with_extent(language, title="", extent=extent)
                line = replace(line, note=note)
            lines.append(line)
    return lines


def main_themes(
    store: Store, reports: CommunityReports, language: str, *, fewest: int = FEWEST_THEMES
) -> list[Theme]:
    """Return the largest communities, at least ``fewest`` if there are as many.

    Those with a written report are first, then those in the language of the question.
    """
    most = max(_MOST_COMMUNITIES, fewest)
    found = find_communities("", store=store, most=most, fewest=fewest)
    themes = read_themes(store, reports, [item.id for item in found])
    return sorted(themes, key=lambda t: (not t.is_written, t.report.language != language))


_DETAIL = re.compile(r"\s*（(?P<han>[^（）]*)）$|\s+\((?P<latin>[^()]*)\)$")
"""What sets a community apart from others of one heading."""


def name_themes(titles: Sequence[str]) -> list[str]:
    """Return a name for each title of a report: without its detail, or the detail if others have
    the same name; "" if there is none of its own.
    """
    bare = [_DETAIL.sub("", show_sentence(title)) for title in titles]
    known: list[frozenset[str]] = []
    names = []
    for title, name in zip(titles, bare, strict=True):
        detail = _DETAIL.search(show_sentence(title))
        if bare.count(name) > 1:
            name = (detail["han"] or detail["latin"]) if detail else ""  # noqa: PLW2901
        is_own = bool(name) and not repeats(name, known)
        known += [frozenset(content_terms(name))] if is_own else []
        names.append(name if is_own else "")
    return names


def list_themes(
    store: Store,
    reports: CommunityReports,
    outline: DocumentOutline,
    parts: Sequence[OutlinePart],
    language: str,
    *,
    limit: int,
) -> SummaryText:
    """List the main themes of all documents or of ``parts``, each with a statement.

    They are those of communities, unless parts are given, then sections. There are as many as are
    asked for, if so many are found.
    """
    wanted = min(limit or USUAL_LIMIT, MOST_LISTED)
    lines: list[SummaryLine] = []
    for fewest in () if parts else (wanted, 4 * wanted):
        if len(lines) < wanted:
            themes = main_themes(store, reports, language, fewest=fewest)
            found = theme_lines("", themes, store=store, language=language, count=1)
            names = name_themes([line.label for line in found])
            named = (replace(line, label=n) for line, n in zip(found, names, strict=True) if n)
            lines = [*islice(named, wanted)]
    known = [frozenset(content_terms(line.label)) for line in lines]
    quoted = [frozenset(content_terms(piece.text)) for line in lines for piece in line.pieces]
    documents = parts or outline.documents
    below = chain.from_iterable(outline.subsections(part) for part in documents)
    for part in chain(documents if len(documents) > 1 else (), below):
        if len(lines) == wanted or (lines and not limit):
            break
        name = bare_title(part)
        lead = None if repeats(name, known) else lead_of(store, outline, part, most=1)
        if lead is not None and not repeats(lead.text, quoted):
            lines.append(SummaryLine.of(name, [lead], "theme"))
            known.append(frozenset(content_terms(name)))
            quoted.append(frozenset(content_terms(lead.text)))
    head = messages.one_theme_head if len(lines) == 1 else messages.themes_head
    if len(lines) < limit:
        head = messages.fewer_themes_head
    intro = head(language, count=len(lines), limit=limit) if lines else ""
    return SummaryText(intro, lines, is_numbered=True)


def _rank_sources(
    report: CommunityReport, chunks: Mapping[str, Chunk], asked: set[str]
) -> list[SelectedSentence]:
    """Return the findings of a report that have a source, the clearest and most relevant first."""
    titled = set(content_terms(report.title))
    found = []
    for finding in report.findings:
        support = next((s for s in finding.supports if s.chunk_id in chunks), None)
        if support is None or not finding.text.strip():
            continue
        chunk, span = chunks[support.chunk_id], support.span
        inside = Span(max(span.start, chunk.span.start), min(span.end, chunk.span.end))
        worth = weigh_alone(chunk.text_at(inside)) * weigh_prose(show_sentence(finding.text))
        worth *= 1.0 if is_plain(chunk, span, finding.text) else _FRAGMENT_WEIGHT
        terms = set(content_terms(finding.text))
        worth *= 1 + len(titled & terms) / max(len(titled), 1)
        worth *= 1 + 2 * len(asked & terms) / max(len(asked), 1)
        found.append(SelectedSentence(chunk, span, finding.text, round(worth, 2), 0))
    return sorted(found, key=lambda item: -item.worth)


def cited_chunks(reports: Sequence[CommunityReport], store: Store) -> dict[str, Chunk]:
    return store.documents.chunks({chunk for report in reports for chunk in report.chunk_ids})


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


class _Counted(NamedTuple):
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
                passages=messages.count_units(len(item.chunk_ids), "passage", language),
                documents=messages.count_units(documents, "document", language),
            )
            lines.append(SummaryLine("", (SummaryPiece(text, source),)))
    return SummaryText(intro, lines)


def count_mentions(store: Store, subject: str, language: str) -> SummaryText:
    """Count how often, and in how many passages and documents, a phrase occurs.

    Case is ignored. Each line is a document, those with most mentions first.
    """
    total = store.documents.document_count()
    # Words with any white space between them, and word bounds unless in Chinese.
    words = r"\s+".join(re.escape(word) for word in subject.split())
    left = "" if re.match(f"[{HAN}]|\\W", subject) else r"(?<!\w)"
    right = "" if re.search(f"(?:[{HAN}]|\\W)$", subject) else r"(?!\w)"
    form = re.compile(left + words + right, re.IGNORECASE)
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
        times=messages.count_units(sum(times.values()), "time", language),
        passages=messages.count_units(sum(map(len, held.values())), "passage", language),
        documents=messages.count_units(len(held), "document", language),
        total=f"{total:,}",
    )
    lines = []
    for key in sorted(held, key=lambda key: (-times[key], key))[:_MOST_DOCUMENTS]:
        chunk, matches = max(held[key], key=lambda row: (len(row[1]), -row[0].ordinal))
        source = _sentence_at(chunk, [chunk.span.start + m.start() for m in matches])
        extent = messages.count_units(times[key], "time", language)
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


MOST_SENTENCES = 8
"""Sentences in the summary of a part or a topic."""
MOST_DOCUMENTS = 12
"""Documents with a line in a summary of all; titles of others follow."""
FEW_DOCUMENTS = 8
"""Up to so many documents have several sentences of their lead each."""
MOST_THEMES = 4
MOST_TITLES = 12
"""Titles that are listed after the lines."""
MOST_HEADINGS = 60
"""Headings in the evidence of a summary."""
_LEAD_SENTENCES = 3
_OPENING_CHUNKS = 12
"""Passages in which the lead of a document is looked for."""
_FIRST_LINES = 4
"""Lines that are quoted of a text without prose."""
_LONGEST_NOTE = 160
"""Characters of the titles of subsections that are shown after that of a section."""
_FEWEST_LINES = 3
"""The fewest lines of a section on a topic."""
_LEAST_SHARE = 0.35
"""A sentence on a topic worth less than this share of the best one is left out."""
_LEAST_FURTHER = 0.4
"""The least worth of a further sentence of a section, as a share of the median of the first."""
_TITLE_GAIN = 0.3
_SECTION_POWER = 0.35
"""Exponent of the share of a section in the evidence."""
_LINK_TO_ITSELF = " ¶"
_ABSTRACT = re.compile(
    r"abstract|(?:executive )?summary|in brief|at a glance|tl;?dr"
    r"|摘要|[內内]容提要|提要|概要|导读|導讀",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"(?:^|[/\s_-])(?:index|readme|preface|intro(?:duction)?|foreword|about|overview|home|front"
    r"|abstract)\b|前言|序言|引言|简介|簡介|概述|导言",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(
    r"where to go next|what(?:'s|’s) next|next steps|see also|related (?:\w+ )?"
    r"(?:topics|information|pages)|further reading|references|links|notes?|contents|参见|參見|目录"
    r"|另请参[阅见]|另請參[閱見]|延伸阅读|延伸閱讀|相关链接|参考(?:资料|文献)",
    re.IGNORECASE,
)

Paragraphs = list[list[SelectedSentence]]


def summarize_whole(
    store: Store, outline: DocumentOutline, themes: Sequence[SummaryLine], language: str
) -> SummaryText:
    """Summarise all documents: the lead of each, then ``themes``.

    The front page and the longest documents have a line; the titles of others follow. Of a book
    with a document for each section, only chapters are listed. A theme must add a statement, or one
    of another document if there are many.
    """
    documents = outline.documents
    if len(documents) == 1:
        return summarize_part(store, outline, documents[0], language)
    count = messages.count_units(len(documents), "document", language)
    are_few = len(documents) <= FEW_DOCUMENTS
    fronts = [part for part in documents if _FRONT.search(f"{part.uri} {part.title}")][:1]
    parts, unit = _chapters(documents) or documents, "document"
    if parts is not documents:
        parts, unit = [*(part for part in fronts if part not in parts), *parts], "chapter"
    sizes = {
        key: len(ids)
        for key, ids in store.documents.chunk_ids_of([p.document_id for p in parts]).items()
    }
    longest = sorted(parts, key=lambda p: (p not in fronts, -sizes.get(p.document_id, 0)))
    lines: list[SummaryLine] = []
    others: list[OutlinePart] = []
    for part in parts:
        most = _LEAD_SENTENCES if are_few else 1
        is_long = part in longest[:MOST_DOCUMENTS]
        lead = lead_of(store, outline, part, most=most) if is_long else None
        if lead is None:
            others.append(part)
        else:
            lines.append(SummaryLine.of(show_sentence(part.title), [lead], "document"))
    lines.sort(key=lambda line: detect_language(line.pieces[0].text) != language)
    quoted = [piece.source for line in lines for piece in line.pieces if piece.source]
    shown = {item.span if are_few else item.chunk.document_id for item in quoted}
    fresh = [
        line
        for line in themes
        if not any(s and shown & {s.span, s.chunk.document_id} for _, s in line.pieces)
    ]
    intro = messages.extent_head(language, extent=count)
    summary = _list_titles(store, SummaryText(intro, lines), others, unit, language)
    if not fresh:
        return summary
    caption = SummaryLine(messages.themes_caption(language))
    return replace(summary, lines=[*summary.lines, caption, *fresh[:MOST_THEMES]])


def _chapters(documents: Sequence[OutlinePart]) -> list[OutlinePart]:
    """Return the documents with a number such as "14", if most have one such as "14.7"."""
    numbers = [split_number(part.title)[0] for part in documents]
    chapters = [p for p, number in zip(documents, numbers, strict=True) if number.isalnum()]
    is_book = 2 * sum(map(bool, numbers)) > len(documents) > 2 * len(chapters)
    return chapters if is_book and len(chapters) > 1 else []


def summarize_part(
    store: Store, outline: DocumentOutline, part: OutlinePart, language: str, *, about: str = ""
) -> SummaryText:
    """Summarise a document or section: its opening, then its subsections in order.

    The largest subsections, or with ``about`` those that say most about this subject, have a line;
    titles of others follow. Without subsections, the central paragraphs and items are quoted, or
    nothing if there are too few of them about the subject.
    """
    children = [
        child
        for child in outline.children(part)
        if child.title != part.title and not _LEADS_ON.fullmatch(bare_title(child))
    ]

    def owner(item: SelectedSentence) -> OutlinePart:
        return next((child for child in children if child.holds(item)), part)

    documents = [part, *(child for child in children if child.document_id != part.document_id)]
    chunks = [chunk for document in documents for chunk in read_chunks(store, document)]
    groups: defaultdict[OutlinePart, Paragraphs] = defaultdict(list)
    for paragraph in _without_repeats(read_statements(chunks, about=about, language=language)):
        if part.holds(paragraph[0]) or owner(paragraph[0]) != part:
            groups[owner(paragraph[0])].append(paragraph)
    intro = _introduce(part, len(children), language)
    if len(groups.keys() - {part}) < 2:
        paragraphs = chain(*groups.values())
        return _summarize_paragraphs(intro, part, paragraphs, chunks, is_topic=bool(about))
    found = {key: choose_lead(group, most=1 + (key == part)) for key, group in groups.items()}
    leads = {key: lead for key, lead in found.items() if lead is not None}
    sizes = {
        key: lead.worth if about else float(_extent(key, chunks)) for key, lead in leads.items()
    }
    largest = sorted(leads, key=lambda key: (key != part, -sizes[key]))[:MOST_SENTENCES]
    chosen = [leads[key] for key in largest]
    known = [frozenset(content_terms(item.text)) for item in chosen]
    least = _LEAST_FURTHER * median([item.worth for item in chosen] or [0.0])
    others = (max(p, key=lambda item: item.worth) for group in groups.values() for p in group)
    further = [i for i in others if i.worth >= least and not repeats(i.text, known)]
    chosen += choose_statements(further, count=MOST_SENTENCES - len(chosen))
    quoted: defaultdict[OutlinePart, list[SelectedSentence]] = defaultdict(list)
    for item in sorted(chosen, key=lambda item: item.rank):
        quoted[owner(item)].append(item)
    lines = [SummaryLine.of("", quoted[part])] if part in quoted else []
    for child in children:
        if child in quoted:
            line = SummaryLine.of(bare_title(child), quoted[child])
            below = ("；" if language == "zh" else "; ").join(
                map(bare_title, outline.subsections(child))
            )
            if 0 < len(below) <= _LONGEST_NOTE:
                note = messages.with_extent(language, title="", extent=below)
                line = replace(line, note=note)
            lines.append(line)
    left = [child for child in children if child not in quoted]
    summary = SummaryText(intro, lines)
    return summary if about else _list_titles(store, summary, left, "section", language)


def state_views(store: Store, parts: Sequence[OutlinePart]) -> SummaryText:
    """Quote what parts say that somebody thinks, with a line for each."""
    lines = []
    for part in parts[:MOST_DOCUMENTS]:
        held = (i for p in read_statements(read_chunks(store, part)) for i in p if part.holds(i))
        views = [item for item in held if states_view(item.text)]
        chosen = choose_statements(views, count=_LEAD_SENTENCES)
        lines += [SummaryLine.of(show_title(part), chosen, "document")] if chosen else []
    return SummaryText("", lines)


def _without_repeats(paragraphs: Paragraphs) -> Paragraphs:
    """Return paragraphs without the statements that an earlier one has, which get their places."""
    kept = {item.rank: item for item in tell_once(chain(*paragraphs))}
    found = ([kept[item.rank] for item in p if item.rank in kept] for p in paragraphs)
    return [paragraph for paragraph in found if paragraph]


def summarize_parts(
    store: Store, outline: DocumentOutline, parts: Sequence[OutlinePart], language: str
) -> SummaryText:
    """Summarise sections of several documents that have the same number."""
    lines: list[SummaryLine] = []
    for part in parts[:MOST_SENTENCES]:
        lead = choose_lead(read_statements(read_chunks(store, part)), most=_LEAD_SENTENCES)
        if lead is not None:
            title = show_sentence(f"{outline.document(part.document_id).title} > {part.title}")
            lines.append(SummaryLine.of(title, [lead]))
    return SummaryText(_count_sections(len(lines), len(lines), language), lines)


def summarize_topic(
    candidates: Sequence[SelectedSentence], found: Evidence, language: str
) -> SummaryText:
    """Summarise a topic by its most relevant statements, with a line for each section.

    A sentence is worth more in a section with more of the passages ``found``, and with terms of its
    heading. Documents are in the order of their best sentence.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    for hit in found.hits:
        relevance = max((value for _, value in hit.sentences), default=0.0)
        sums[hit.chunk.section_id] += max(hit.score, 0.0) * relevance
    top = max(sums.values(), default=0.0) or 1.0
    weighed = []
    for item in candidates:
        if is_statement(item.chunk, item.span, item.text):
            title = set(content_terms(item.chunk.headings[-1] if item.chunk.headings else ""))
            held = len(title & set(content_terms(item.text))) / max(len(title), 1)
            share = sums.get(item.chunk.section_id, top) / top
            worth = item.worth * weigh_alone(item.text) ** 0.5 * share**_SECTION_POWER
            weighed.append(replace(item, worth=worth * (1 + _TITLE_GAIN * held)))
    weighed = tell_once(sorted(weighed, key=lambda item: -item.worth))
    best = max((item.worth for item in weighed), default=0.0)
    kept = [item for item in weighed if item.worth >= _LEAST_SHARE * best]
    chosen = choose_statements(kept, count=MOST_SENTENCES)
    documents = list(
        dict.fromkeys(i.chunk.document_id for i in sorted(chosen, key=lambda i: -i.worth))
    )
    chosen.sort(key=lambda item: (documents.index(item.chunk.document_id), item.span))
    sections: defaultdict[str, list[SelectedSentence]] = defaultdict(list)
    for item in chosen:
        sections[item.chunk.section_id].append(item)
    lines = [SummaryLine.of(_label(items[0].chunk), items) for items in sections.values()]
    return SummaryText(_count_sections(len(lines), len(documents), language), lines)


def _count_sections(sections: int, documents: int, language: str) -> str:
    if sections < 2:
        return ""
    return messages.from_sections(
        language,
        sections=messages.count_units(sections, "section", language),
        documents=messages.count_units(documents, "document", language),
    )


def list_parts(store: Store, listing: Listing, language: str) -> SummaryText:
    """List and count documents or sections by their titles, each cited."""
    unit, groups = listing
    count = sum(len(parts) for _, parts in groups)
    extent = messages.count_units(count, unit, language)
    head = groups[0][0] if len(groups) == 1 else None
    intro = (
        _introduce(head, count, language)
        if head is not None
        else messages.extent_head(language, extent=extent)
    )
    lines = []
    for above, parts in groups:
        pieces = [
            SummaryPiece(show_title(part), cite_heading(store, part))
            for part in parts[: max(MOST_HEADINGS // len(groups), 1)]
        ]
        if above is not None and head is None:
            lines.append(SummaryLine(bare_title(above), tuple(pieces), unit, is_list=True))
        else:
            lines += [SummaryLine("", (piece,), unit) for piece in pieces]
    left = count - sum(len(line.pieces) for line in lines)
    if left:
        lines.append(
            SummaryLine("", (SummaryPiece(messages.count_more(left, unit, language), None),))
        )
    return SummaryText(intro, lines)


def show_title(part: OutlinePart) -> str:
    """Return the title of a part on one line, with its number."""
    return " ".join(part.title.split()).rstrip(f"{_LINK_TO_ITSELF}:：")


def bare_title(part: OutlinePart) -> str:
    """Return the title of a part without its number and permalink mark."""
    return show_sentence(split_number(part.title)[1]).rstrip(f"{_LINK_TO_ITSELF}:：")


def lead_of(
    store: Store, outline: DocumentOutline, part: OutlinePart, *, most: int
) -> SelectedSentence | None:
    """Return the abstract of a document, or else what introduces it."""
    sections = outline.sections.get(part.document_id, ())
    named = (s for s in sections if _ABSTRACT.fullmatch(bare_title(s)))
    chunks = read_chunks(store, part, most=_OPENING_CHUNKS)
    for chosen in (*(read_chunks(store, section) for section in named), chunks):
        paragraphs = _without_repeats(read_statements(chosen, about=part.title, title=part.title))
        # Above all sections but one with the title of the document.
        first = min((s.span.start for s in outline.subsections(part)[:1]), default=0)
        opening = sum(paragraph[0].span.start < first for paragraph in paragraphs)
        lead = choose_lead(paragraphs, most=most, opening=opening)
        if lead is not None:
            return lead
    return choose_lead(read_statements(read_chunks(store, part)), most=most)


def _summarize_paragraphs(
    intro: str,
    part: OutlinePart,
    paragraphs: Iterable[list[SelectedSentence]],
    chunks: Sequence[Chunk],
    *,
    is_topic: bool,
) -> SummaryText:
    """Quote the central paragraphs; of an item or a text without prose, its first lines."""
    best = [max(p, key=lambda item: item.worth) for p in paragraphs]
    is_item = part.level == ITEM_LEVEL
    chosen = [] if is_item else choose_statements(best, count=MOST_SENTENCES)
    if is_topic and len(chosen) < _FEWEST_LINES:
        return SummaryText(intro)
    if not chosen:
        held = [(chunk, span) for chunk in chunks for span in chunk.sentences]
        lines = (SelectedSentence(c, s, c.text_at(s), 1.0, 0) for c, s in held)
        inside = filter(part.holds, lines)
        chosen = list(islice(inside, MOST_SENTENCES if is_item else _FIRST_LINES))
    return SummaryText(intro, [SummaryLine.of("", [item]) for item in chosen])


def _introduce(part: OutlinePart, sections: int, language: str) -> str:
    title = show_sentence(part.title).rstrip(f"{_LINK_TO_ITSELF}:：")
    if sections < 2:
        return f"**{title}**{'：' if language == 'zh' else ':'}"
    extent = messages.count_units(sections, "section", language)
    return messages.part_head(language, title=title, extent=extent)


def _extent(part: OutlinePart, chunks: Sequence[Chunk]) -> int:
    """Return the number of characters of a part that are in chunks."""
    return sum(
        max(0, min(part.span.end, chunk.span.end) - max(part.span.start, chunk.span.start))
        for chunk in chunks
        if chunk.document_id == part.document_id
    )


def _list_titles(
    store: Store, summary: SummaryText, parts: Sequence[OutlinePart], unit: str, language: str
) -> SummaryText:
    """Add the titles of parts without a line to a summary, as one line.

    Titles are cited only if the summary cites nothing else.
    """
    if not parts:
        return summary
    headings = [cite_heading(store, part) for part in parts[:MOST_HEADINGS]]
    pieces = [
        SummaryPiece(show_sentence(part.title), None if summary.lines else heading)
        for part, heading in zip(parts[:MOST_TITLES], headings, strict=False)
    ]
    if len(parts) > MOST_TITLES:
        pieces.append(
            SummaryPiece(messages.count_more(len(parts) - MOST_TITLES, unit, language), None)
        )
    label = messages.also_sections(language) if summary.lines else ""
    line = SummaryLine(label, tuple(pieces), unit, is_list=True)
    return SummaryText(summary.intro, [*summary.lines, line], list(filter(None, headings)))


def _label(chunk: Chunk) -> str:
    titles = dict.fromkeys((chunk.document_title, *chunk.headings[-1:]))
    return show_sentence(" > ".join(title for title in titles if title))


_OF_A_SECTION = frozenset({ScopeKind.TOPIC, ScopeKind.THING})
"""Scopes that are answered from one section, if there is one about the subject."""
_MOST_TRIED = 3
"""The maximum number of sections read until one has enough lines."""
_RIVAL_SHARE = 0.9
"""A section of another document rivals the best one from this share of its value."""
_SURE = frozenset({ScopeKind.RANKING, ScopeKind.MENTIONS})


@dataclass(frozen=True, slots=True)
class OverviewPlan:
    """How a question is answered: its scope, its evidence, and the document parts that it names.

    ``summary`` are the lines of the section about its subject, if there is one, and ``listing`` has
    the titles that it asks for.
    """

    question: str
    scope: QuestionScope
    found: Evidence
    parts: Sequence[OutlinePart] = ()
    summary: SummaryText | None = None
    listing: Listing | None = None

    @property
    def language(self) -> str:
        return reading_of(self.question).language


def summarize(
    inquiry: Inquiry, evidence: Evidence, *, is_general: bool
) -> Generator[Progress, None, bool]:
    """Yield the steps to an overview, and return whether there is one."""
    planning = partial(plan_overview, inquiry.question, evidence, inquiry, is_general=is_general)
    overview = attempt("The overview", planning, None, inquiry.notes)
    if overview is None:
        return False
    inquiry.mode = AskMode.BASIC  # of the answer, if there is no overview
    if not overview.parts and overview.scope.needs_communities:
        yield from inquiry.update_reports()
    given = attempt(
        "The overview", partial(answer_overview, overview, inquiry), None, inquiry.notes
    )
    if given is None:
        return False
    answer, found = given
    yield Progress(Stage.FOUND, value=found)
    answer = replace(answer, notes=(*answer.notes, *inquiry.reports.notes))
    yield Progress(Stage.FINISHED, value=answer)
    return True


def plan_overview(
    question: str, found: Evidence, inquiry: Inquiry, *, is_general: bool = False
) -> OverviewPlan | None:
    """Return how to answer a question by an overview; None for any other question.

    ``found`` is the evidence of the question itself. A question that ``is_general`` and matches no
    pattern of a scope, as "Which risks come up again and again?", is about a topic, or about the
    whole if it has no terms beside those for the whole. If the scope depends on a named document or
    section that the index does not have, the result is None. Raises as ``searcher.search``.
    """
    scope = reading_of(question).scope
    is_stated = scope is not None
    if scope is None and is_general:
        focus = find_topic(question)
        scope = (
            QuestionScope(ScopeKind.TOPIC, question) if focus else QuestionScope(ScopeKind.WHOLE)
        )
    if scope is None:
        return None
    is_read = scope.named or scope.kind in {*_OF_A_SECTION, ScopeKind.LISTING}
    outline = read_outline(inquiry.store) if is_read else None
    parts = find_parts(outline, scope.named) if outline and scope.named else []
    parts = parts or find_numbered(found, scope.named)
    if inquiry.part is not None and scope.kind in _OF_A_SECTION:
        parts = parts or [inquiry.part]
    if outline is not None and scope.kind is ScopeKind.LISTING:
        listing = find_listed(outline, scope.subject, parts) if parts or not scope.named else None
        plan = OverviewPlan(question, scope, found, parts, listing=listing)
        return plan if listing else None
    if not parts and not scope.is_sure:
        return None
    if parts and scope.named == scope.subject:
        return OverviewPlan(question, replace(scope, kind=ScopeKind.PART), found, parts)
    if outline is None or scope.kind not in _OF_A_SECTION:
        return OverviewPlan(question, scope, found, parts)
    query = scope.subject if scope.named in scope.subject else f"{scope.subject} {scope.named}"
    overview = OverviewPlan(question, scope, inquiry.searcher.search(query), parts)
    return _read_section(overview, inquiry, outline) if is_stated else overview


def _read_section(
    overview: OverviewPlan, inquiry: Inquiry, outline: DocumentOutline
) -> OverviewPlan:
    """Return an overview with the summary of the section about its subject.

    It gets none if sections of other documents are about the subject nearly as well.
    """
    scope, store = overview.scope, inquiry.store
    located = locate_sections(
        scope.subject,
        overview.found,
        store=store,
        outline=outline,
        embedder=inquiry.searcher.models.query_embedder,
        within=overview.parts[0] if overview.parts else None,
        named=frozenset(content_terms(reading_of(scope.named).strip_text_nouns())),
    )
    if any(
        item.part.document_id != located[0].part.document_id
        and item.value >= _RIVAL_SHARE * located[0].value
        for item in located[1:]
    ):
        return overview
    for item in located[:_MOST_TRIED]:
        if not item.is_fitting:
            continue
        summary = summarize_part(store, outline, item.part, overview.language, about=scope.subject)
        if summary.lines:
            return replace(overview, summary=summary)
    return overview


def answer_overview(overview: OverviewPlan, inquiry: Inquiry) -> tuple[Answer, Evidence]:
    """Return the answer of an overview, and the passages that it cites."""
    store = inquiry.store
    if overview.scope.kind in _OF_A_SECTION:
        return _answer_topic(overview, store, inquiry.settings)
    language = overview.language
    summary = _summarize(overview, store, inquiry.reports)
    written = write_lines(summary, language, is_numbered=summary.is_numbered)
    answered = bool(written.sources) or overview.scope.kind in _SURE
    hits: dict[str, Hit] = {}  # in the order of their first citation
    for place, item in enumerate((*written.sources, *summary.rest)):
        score = 1.0 / (1 + place)
        first = hits.setdefault(item.chunk.id, Hit(item.chunk, score, {"overview": score}))
        hits[item.chunk.id] = replace(first, sentences=(*first.sentences, (item.span, 1.0)))
    evidence = Evidence(
        Query(overview.question, overview.found.query.k),
        AskMode.GLOBAL.value,
        tuple(hits.values()),
        1.0 if answered else 0.0,
        overview.found.notes,
    )
    # A count or an outline is a fact about the index: there is no probability to estimate.
    confidence = None if answered else 0.0
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return replace(answer, mode=AskMode.GLOBAL.value), evidence


def _summarize(overview: OverviewPlan, store: Store, reports: CommunityReports) -> SummaryText:
    scope, language = overview.scope, overview.language
    if scope.kind is ScopeKind.RANKING:
        return rank_entities(
            store, scope.subject, language, limit=scope.limit, by_importance=scope.by_importance
        )
    if scope.kind is ScopeKind.MENTIONS:
        return count_mentions(store, scope.subject, language)
    if overview.listing is not None:
        return list_parts(store, overview.listing, language)
    return _summarize_text(overview, store, reports)


def _summarize_text(overview: OverviewPlan, store: Store, reports: CommunityReports) -> SummaryText:
    """Summarise the parts that a question names, or else all documents, or list their themes."""
    scope, language, outline = overview.scope, overview.language, read_outline(store)
    if len(overview.parts) > 1:
        return summarize_parts(store, outline, overview.parts, language)
    views = state_views(store, overview.parts or outline.documents) if scope.of_views else None
    if views is not None and views.lines:
        return views
    themes = [] if overview.parts else main_themes(store, reports, language)
    if (scope.of_themes and not overview.parts) or any(theme.is_written for theme in themes):
        return list_themes(store, reports, outline, (), language, limit=scope.limit)
    if overview.parts and scope.limit and outline.subsections(overview.parts[0]):
        return list_themes(store, reports, outline, overview.parts, language, limit=scope.limit)
    if overview.parts:
        return summarize_part(store, outline, overview.parts[0], language)
    titles = {part.title for part in outline.documents if part.title}
    others = [t for t in themes if not any(t.report.title.startswith(title) for title in titles)]
    lines = theme_lines("", others, store=store, language=language, count=1)
    return summarize_whole(store, outline, lines, language)


def _answer_topic(
    overview: OverviewPlan, store: Store, settings: AnswerSettings
) -> tuple[Answer, Evidence]:
    query = Query(overview.question, overview.found.query.k)
    found, language = replace(overview.found, query=query), overview.language
    candidates = _keep_named(overview, rank_candidates(overview.found))
    known = {(item.chunk.document_id, item.span) for item in candidates}
    said = [i for i in _read_parts(overview, store) if (i.chunk.document_id, i.span) not in known]
    summary = overview.summary or summarize_topic([*candidates, *said], found, language)
    written = write_lines(summary, language)
    cited = written.sources
    if not cited:
        return compose_answer(found, store=store, settings=settings), found
    confidence = estimate_confidence(found, rank_pieces(found, candidates, store))
    asked = set(content_terms(overview.scope.subject))
    is_stated = overview.parts and any(asked <= set(content_terms(i.text)) for i in cited)
    answered = bool(is_stated) or confidence >= settings.abstain_below
    evidence = replace(found, retriever=AskMode.GLOBAL.value, confidence=confidence)
    if not answered:
        written = written._replace(sources=cited[: settings.max_sentences])
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return replace(answer, mode=AskMode.GLOBAL.value), evidence


def _keep_named(
    overview: OverviewPlan, candidates: Sequence[SelectedSentence]
) -> Sequence[SelectedSentence]:
    """Return the candidates in the parts that a question names, with terms of its subject if any.

    If it names none that the index has, those under titles with all its terms, or else all.
    """
    if overview.parts:
        inside = [c for c in candidates if any(part.holds(c) for part in overview.parts)]
        asked = set(content_terms(overview.scope.subject))
        return [
            c for c in inside if asked & set(content_terms(f"{c.chunk.context} {c.text}"))
        ] or inside
    wanted = set(content_terms(reading_of(overview.scope.named).strip_text_nouns()))
    return [
        c for c in candidates if wanted and wanted <= set(content_terms(c.chunk.context))
    ] or candidates


def _read_parts(overview: OverviewPlan, store: Store) -> list[SelectedSentence]:
    """Return the statements of the named parts that have all terms of the subject.

    A search does not find all of them in a short part of many documents.
    """
    asked = set(content_terms(overview.scope.subject))
    found = []
    for part in overview.parts if asked else ():
        for paragraph in read_statements(read_chunks(store, part), about=overview.scope.subject):
            said = set(content_terms(" ".join(item.text for item in paragraph)))
            said |= set(content_terms(paragraph[0].chunk.context))
            found += [i for i in paragraph if asked <= said and part.holds(i)]
    return found
