"""The documents of an index with their headings, and the one that a phrase names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from knotwork.records import Chunk, Label, Span
from knotwork.stores.base import Store
from knotwork.text.numbering import split_number

MOST_NODES = 50_000
"""Documents, and sections, that are looked through for a name; of a larger index no more are."""

_NOT_WORD = re.compile(r"[\W_]+")
_DETERMINER = re.compile(r"^(?:the|this|my|our|a|an)\s+", re.IGNORECASE)
_TEXT_NOUN = re.compile(
    r"\s+(?:document|file|chapter|section|page|manual|handbook|book|novel|story|article|report|guide"
    r"|paper|contract|policy|notes?)$"
    r"|^(?:document|file|chapter|section|book|novel|article|report|paper)\s+(?=\D)"
    r"|(?:这|這)?(?:一)?(?:章|节|節|篇|本书|本書|文档|文檔|文件|手册|手冊)$",
    re.IGNORECASE,
)
_SUBTITLE = re.compile(r"\s*[:：—–|]\s*|\s+-\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """A document (level 0) or a section of one; ``span`` is in the document's text."""

    document_id: str
    title: str
    level: int
    span: Span
    uri: str = ""


def whole(document_id: str) -> Part:
    """Return the part that is all of a document, without its title."""
    return Part(document_id, "", 0, Span(0, 1 << 62))


@dataclass(frozen=True, slots=True)
class Outline:
    """All documents in the order of their addresses, and the sections of each in reading order."""

    documents: tuple[Part, ...]
    sections: Mapping[str, Sequence[Part]]

    @property
    def heading_count(self) -> int:
        """The number of headings of all documents."""
        return sum(len(parts) for parts in self.sections.values())

    def children(self, part: Part) -> list[Part]:
        """Return the sections one level below a part, in reading order.

        A single section that is all there is, as one under the title of its document, is opened. Of
        a chapter these are the documents whose numbers go on from its number, where it has some.
        """
        return self._documents_of_chapter(part) or self.subsections(part)

    def subsections(self, part: Part) -> list[Part]:
        """Return the sections one level below a part in its own document, in reading order."""
        inside = [
            section
            for section in self.sections.get(part.document_id, ())
            if section.level > part.level
            and part.span.start <= section.span.start
            and section.span.end <= part.span.end
        ]
        while inside:
            top = min(section.level for section in inside)
            found = [section for section in inside if section.level == top]
            if len(found) > 1:
                return found
            inside = [section for section in inside if section.level > top]
        return []

    def above(self, part: Part) -> list[Part]:
        """Return the document of a part, and the sections around it, outermost first."""
        around = [other for other in self.documents if other.document_id == part.document_id]
        around += [
            section
            for section in self.sections.get(part.document_id, ())
            if section.level < part.level
            and section.span.start <= part.span.start
            and part.span.end <= section.span.end
        ]
        return [other for other in around if other != part]

    def _documents_of_chapter(self, part: Part) -> list[Part]:
        number = split_number(part.title)[0]
        if part.level > 1 or not number:
            return []
        found = [p for p in self.documents if split_number(p.title)[0].startswith(f"{number}.")]
        found.sort(key=lambda other: _natural(split_number(other.title)[0]))
        return [part, *found] if found else []


def read_outline(store: Store) -> Outline:
    """Read titles and headings from the graph; no text is read."""
    documents = [
        Part(node.id, node.name, 0, Span(0, 1 << 62), str(node.properties["uri"]))
        for node in store.graph.find(label=Label.DOCUMENT, limit=MOST_NODES)
    ]
    sections: defaultdict[str, list[Part]] = defaultdict(list)
    for node in store.graph.find(label=Label.SECTION, limit=MOST_NODES):
        if node.name and int(node.properties["level"]) > 0:
            span = Span(int(node.properties["start"]), int(node.properties["end"]))
            document = str(node.properties["document"])
            sections[document].append(
                Part(document, node.name, int(node.properties["level"]), span)
            )
    return Outline(
        tuple(sorted(documents, key=lambda part: (_natural(part.uri), part.document_id))),
        {
            key: sorted(parts, key=lambda part: (part.span.start, part.level))
            for key, parts in sections.items()
        },
    )


def find_part(outline: Outline, phrase: str) -> Part | None:
    """Return the document or section that a phrase names: by title, file name or number.

    Case, punctuation, numbers before a title and what follows a colon in it do not count. A
    document goes before a section; of several equal ones the first does.
    """
    bare = _DETERMINER.sub("", phrase)
    wanted = {_key(phrase), _key(bare), _key(_TEXT_NOUN.sub("", bare))}
    wanted.discard("")
    number, rest = split_number(bare)
    every = [*outline.documents, *(s for parts in outline.sections.values() for s in parts)]
    for names_of in (_full_names, _short_names):
        for part in every:
            if wanted & names_of(part):
                return part
    if number and rest == bare:
        return next((part for part in every if split_number(part.title)[0] == number), None)
    return None


def read_chunks(store: Store, part: Part) -> list[Chunk]:
    """Return the leaf chunks of a part in reading order."""
    held = store.documents.chunks(store.documents.chunk_ids(part.document_id)).values()
    inside = [
        chunk
        for chunk in held
        if not chunk.is_parent
        and part.span.start <= chunk.span.start
        and chunk.span.end <= part.span.end
    ]
    return sorted(inside, key=lambda chunk: chunk.ordinal)


def _full_names(part: Part) -> set[str]:
    title = split_number(part.title)[1]
    names = {_key(part.title), _key(title)}
    if part.uri:
        path = PurePosixPath(part.uri)
        names |= {_key(part.uri), _key(path.name), _key(path.stem)}
    return names - {""}


def _short_names(part: Part) -> set[str]:
    return {_key(_SUBTITLE.split(split_number(part.title)[1])[0])} - {""}


def _key(name: str) -> str:
    return _NOT_WORD.sub(" ", name.casefold()).strip()


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that puts "2" before "10"."""
    pieces = re.split(r"(\d+)", name.casefold())
    return tuple((1, int(p[:18]), "") if p.isdecimal() else (0, 0, p) for p in pieces)
