"""Resolve the links of documents: which document a target is, and where in it a part begins.

A document contributes what it links to and the names that it is known under. Both are joined when
links are read, so that no link is wrong because a document came, went or moved.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from knotwork._stores.base import Store
from knotwork._stores.fields import KNOWN_AS, document_fields, fold
from knotwork._text.numbers import find_numbers
from knotwork._text.plain_text import split_number
from knotwork.records import Block, BlockKind, Document, DocumentLink, Link, content_id

_PAGE_SUFFIXES = (".md", ".html", ".htm", ".rst", ".txt", ".adoc", ".org", ".markdown", ".xhtml")
"""Suffixes that a link may leave out, or have instead of that of the file."""
_INDEX_NAMES = ("index.html", "index.md", "README.md", "_index.md", "index.htm", "readme.md")
_NO_DOCUMENTS = re.compile(
    r"\.(?:css|exe|gif|gz|ico|jpe?g|js|mp[34]|png|svg|tar|tgz|webp|whl|zip)", re.IGNORECASE
)
"""Suffixes of files that a link may lead to and that nobody indexes."""
_NAMED = re.compile(r"(?:doi|arxiv|message_id):")
_NUMBERED_LINE = re.compile(r"^[ \t]{0,12}(?:[-*] )?(\d{1,3}(?:\.\d{1,3})+)\.?(?=\s)", re.MULTILINE)
_NUMBER = r"(?:\d{1,3}|(?-i:[A-Z]))(?:\.\d{1,3}){0,5}"
PART = re.compile(
    rf"\b(sec(?:tion)?s?|chapters?|clauses?|articles?|appendix|annex|tables?|fig(?:ure)?s?|abschnitt"
    rf"|kapitel|artikel|anhang|tabelle|abbildung)\b\.?\s?({_NUMBER})(?![\w%])"
    rf"|(§|附录|附錄|图|圖|表)\s?({_NUMBER})(?![A-Za-z\d%])"
    rf"|第\s?({_NUMBER}|[一二三四五六七八九十百]{{1,6}})\s?([章节節条條款])"
    r"|(?<![\d.])(\d{1,3}(?:\.\d{1,3}){1,5})\s?([章节節条條款])",
    re.IGNORECASE,
)
"""The kind and the number of a part, such as "section 3.2", "Table 3" or "第三章"."""
_BEHIND_CAPTION = re.compile(r"[ \t]*(?:[.:：。—–]|$)|[ \u3000](?<=[章节節条條款].)", re.MULTILINE)
_NUMERAL = re.compile(r"\d|[A-Z](?![a-z])|[一二三四五六七八九十百]")
_BARE_NUMBER = re.compile(r"(\d{1,3})\s+(?=[^\W\d])")
_ENTRY = re.compile(r"(?<=\n)\[\d{1,3}\]")
_MARK = re.compile(r" (\^\S+)$", re.MULTILINE)
"""The mark for links at the end of a paragraph."""
_NO_SLUG = re.compile(r"[^\w\- ]")
_MOST_SPACE = 100
_MOST_MARKS = 12
_PAGE = re.compile(r"page=(\d+)")


def resolve_links(store: Store, documents: Iterable[Document]) -> list[DocumentLink]:
    """Return the links of these documents, in the order of their texts, with where they lead."""
    given = list(documents)
    targets = target_documents(store, given)
    parts = {held.id: DocumentParts(held) for held in (*given, *targets.values())}
    resolved: list[DocumentLink] = []
    for document in given:
        for link in document.links:
            target = targets.get((document.uri, link.target)) if link.target else document
            resolved.append(_resolved(document, link, parts[target.id] if target else None))
    return resolved


def target_documents(
    store: Store, documents: Iterable[Document]
) -> dict[tuple[str, str], Document]:
    """Return what the links of these documents lead to, by the uri and the target of each link."""
    known = {document.id: document for document in documents}
    asked = {(held.uri, link.target) for held in known.values() for link in held.links}
    found = {pair: key for pair, key in _find_documents(store, asked).items() if key}
    known |= store.documents.documents(sorted(set(found.values()) - known.keys()))
    return {pair: known[key] for pair, key in found.items() if key in known}


def links_to(store: Store, document: Document) -> list[DocumentLink]:
    """Return the links of other documents that lead to this one, by their documents' uris."""
    links = store.capabilities.links
    ends = set(map(_end_of, _targets_of(document)))

    def may_lead(target: str) -> bool:
        return _end_of(target) in ends

    ids = links.linking_to(may_lead) if links else set()
    others = store.documents.documents(sorted(ids - {document.id})).values()
    linking = [
        replace(other, links=tuple(link for link in other.links if may_lead(link.target)))
        for other in sorted(others, key=lambda other: other.uri)
    ]
    return [link for link in resolve_links(store, linking) if link.document == document.uri]


class LinkedDocuments(NamedTuple):
    """Which documents of an index link to which.

    ``pairs`` are the ids of each document and of another one that it links to, ascending. ``dead``
    has the targets within the index that are no document of it, with the ids of the documents that
    link to them. Web addresses and identifiers such as a DOI are never dead.
    """

    pairs: list[tuple[str, str]]
    dead: dict[str, list[str]]


def linked_documents(store: Store) -> LinkedDocuments:
    """Resolve the links between all documents of an index."""
    links = store.capabilities.links
    linked = links.linked() if links else []
    if not linked:
        return LinkedDocuments([], {})
    uris = {entry.document_id: entry.uri for entry in store.ledger.entries()}
    known = [(i, target) for i, target in linked if i in uris]
    found = _find_documents(store, {(uris[i], target) for i, target in known})
    pairs: set[tuple[str, str]] = set()
    dead: dict[str, list[str]] = {}
    for i, target in known:
        other = found[uris[i], target]
        if other and other != i:
            pairs.add((i, other))
        elif not other and not _is_outside(target):
            dead.setdefault(target, []).append(i)
    return LinkedDocuments(sorted(pairs), dead)


def _is_outside(target: str) -> bool:
    suffix = posixpath.splitext(target)[1]
    return "://" in target or bool(_NAMED.match(target) or _NO_DOCUMENTS.fullmatch(suffix))


def _resolved(document: Document, link: Link, parts: DocumentParts | None) -> DocumentLink:
    start = parts.place(link.part) if parts and link.part else None
    return DocumentLink(
        source=document.uri,
        span=link.span,
        words=document.text[slice(*link.span)],
        target=link.target or document.uri,
        part=link.part,
        document=parts.document.uri if parts else "",
        title=parts.document.title if parts else "",
        section=parts.section_at(start) if parts and start is not None else "",
        start=start,
    )


def _find_documents(store: Store, asked: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the ids of the documents that targets mean, each with the uri it is linked from."""
    names = {name for _, target in asked if (name := _name_of(target))}
    links = store.capabilities.links
    known = links.known_as(names) if names and links else {}
    paths = {pair: list(_paths_of(*pair)) for pair in asked if not _name_of(pair[1])}
    ids = {path: content_id("document", path) for tried in paths.values() for path in tried}
    there = store.documents.chunk_ids_of(list(ids.values())).keys() if ids else set()
    several = {i for found in known.values() if len(found) > 1 for i in found}
    uris = {i: held.uri for i, held in store.documents.documents(sorted(several)).items()}
    found: dict[tuple[str, str], str] = {}
    for pair in asked:
        if name := _name_of(pair[1]):
            found[pair] = _nearest(pair, known.get(name, []), uris)
        else:
            found[pair] = next((ids[path] for path in paths[pair] if ids[path] in there), "")
    return found


def _name_of(target: str) -> str:
    """Return the name that a target has in `LinkStore.known_as`; "" for a path."""
    if target.startswith("[["):
        return target[2:-2].rpartition("/")[2]
    return target if _NAMED.match(target) else ""


def _nearest(pair: tuple[str, str], ids: Sequence[str], uris: Mapping[str, str]) -> str:
    """Return the one of several documents of a name that is nearest to the link's document."""
    source, target = pair
    if len(ids) < 2:
        return ids[0] if ids else ""
    folder = target[2:-2].rpartition("/")[0] if target.startswith("[[") else ""
    fitting = [i for i in ids if i in uris and fold(posixpath.dirname(uris[i])).endswith(folder)]

    def distance(identifier: str) -> tuple[int, int, str]:
        uri = uris[identifier]
        shared = posixpath.commonpath(
            [f"/{posixpath.dirname(source)}", f"/{posixpath.dirname(uri)}"]
        )
        return -len(shared), uri.count("/"), uri

    return min(fitting, key=distance, default="")


def _paths_of(source: str, target: str) -> Iterator[str]:
    if not target:
        yield source
        return
    paths, folder = [target], posixpath.dirname(source)
    while target.startswith("/"):  # of a site whose root is any folder above
        paths.append(posixpath.join(folder, target[1:]))
        if folder in ("", "/"):
            break
        folder = posixpath.dirname(folder)
    rest = target.removeprefix(f"{folder}/")
    while folder not in ("", "/") and rest != target and "/" in rest:  # of a vault, from its root
        folder = posixpath.dirname(folder)
        paths.append(posixpath.join(folder, rest))
    for path in paths:
        yield path
        stem, suffix = posixpath.splitext(path)
        if suffix in _PAGE_SUFFIXES:
            yield from (f"{stem}{other}" for other in _PAGE_SUFFIXES if other != suffix)
        yield from (f"{path}{other}" for other in _PAGE_SUFFIXES)
        yield from (posixpath.join(path, name) for name in _INDEX_NAMES)


def _targets_of(document: Document) -> list[str]:
    uri, names = document.uri, document_fields(document).get(KNOWN_AS, ())
    stem = posixpath.splitext(uri)[0]
    paths = [uri, stem, *(f"{stem}{other}" for other in _PAGE_SUFFIXES)]
    if posixpath.basename(uri) in _INDEX_NAMES:
        paths.append(posixpath.dirname(uri))
    rooted = [f"/{part}" for path in paths for part in _tails(path)]
    wiki = [f"[[{name}]]" for name in (*names, *_tails(fold(stem)))]
    return list(dict.fromkeys((*paths, *rooted, *wiki, *names)))


def _end_of(target: str) -> str:
    """Return the last two parts of a target, which it keeps wherever in a vault it is written."""
    return "/".join(target.rsplit("/", 2)[-2:])


def _tails(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/".join(parts[number:]) for number in range(len(parts))]


def numbered_parts(text: str, blocks: Iterable[Block]) -> dict[str, int]:
    """Return where each numbered heading, clause or caption of a text begins, by `part_names`."""
    sections = [block for block in reversed([*blocks]) if block.kind is BlockKind.SECTION]
    bare = {m[1]: b.span.start for b in sections if (m := _BARE_NUMBER.match(b.label))}
    found = bare if len(bare) > 1 else {}
    found |= {m[1]: m.start(1) for m in reversed(list(_NUMBERED_LINE.finditer(text)))}
    for part in reversed(list(PART.finditer(text))):
        before = text[max(part.start() - _MOST_MARKS, 0) : part.start()]
        _, is_below, marks = before.rpartition("\n")
        begins_line = (is_below or len(before) < _MOST_MARKS) and not marks.strip(" \t#>*-")
        if begins_line and _BEHIND_CAPTION.match(text, part.end()):
            found[part_names(part)[0]] = part.start()
    for block in sections:
        if number := split_number(block.label)[0]:
            found[_in_digits(number)] = block.span.start
        if named := PART.match(block.label):
            found[part_names(named)[0]] = block.span.start
    return found


def part_names(found: re.Match[str]) -> tuple[str, str]:
    """Return the names that a match of `PART` has: its kind with its number, and its number."""
    kind, number = sorted(filter(None, found.groups()), key=lambda x: bool(_NUMERAL.match(x)))
    number = _in_digits(number.upper())
    return f"{kind[:3].lower()} {number}", number


def _in_digits(number: str) -> str:
    read = None if number.isascii() else next(find_numbers(number), None)
    return str(min(read.values)) if read else number


class DocumentParts:
    """Where the parts of a document begin that links may name; each kind is read once, if asked."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def place(self, part: str) -> int | None:
        """Return where a part begins: an anchor, a heading, a page, a mark or a number."""
        if part in self._anchors:
            return self._anchors[part]
        if headings := [
            names[name]
            for names, name in zip(self._headings, (fold(part), _slug(part)), strict=True)
            if name in names
        ]:
            return min(headings)
        if page := _PAGE.fullmatch(part):
            pages = self.document.pages
            return next((known.start for known in pages if known.label == page[1]), None)
        if part.startswith(("^", "[")):
            return self._marks.get(part)
        named = PART.fullmatch(part)
        return self._numbers.get(part_names(named)[0] if named else part)

    def section_at(self, start: int) -> str:
        """Return the title of the innermost section around a place, "" outside of sections."""
        number = bisect_right(self._sections, start, key=lambda block: block.span.start)
        before = reversed(self._sections[:number])
        return next((block.label for block in before if start < block.span.end), "")

    @cached_property
    def _sections(self) -> list[Block]:
        return [block for block in self.document.blocks if block.kind is BlockKind.SECTION]

    @cached_property
    def _anchors(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, start in self.document.anchors:
            ahead = self.document.text[start : start + _MOST_SPACE]
            found.setdefault(name, start + len(ahead) - len(ahead.lstrip()))
        return found

    @cached_property
    def _headings(self) -> tuple[dict[str, int], dict[str, int]]:
        """The first heading of each name, and of each slug."""

        def by(name: Callable[[str], str]) -> dict[str, int]:
            return {name(b.label): b.span.start for b in reversed(self._sections)}

        return by(fold), by(_slug)

    @cached_property
    def _marks(self) -> dict[str, int]:
        """The last entry of references of each number, and the first line with each mark."""
        text = self.document.text
        found = {entry[0]: entry.start() for entry in _ENTRY.finditer(text)}
        for mark in _MARK.finditer(text):
            found.setdefault(mark[1], text.rfind("\n", 0, mark.start()) + 1)
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return numbered_parts(self.document.text, self.document.blocks)


def _slug(title: str) -> str:
    return _NO_SLUG.sub("", title.casefold().replace("_", " ").strip()).replace(" ", "-")
