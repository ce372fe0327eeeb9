"""Find the links of a document: those that its format marks, and those that its text states.

Targets are normalised, so that links to one document are equal, wherever they stand. Whether there
is such a document is asked when a link is read (`knotwork._stores.links`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple
from urllib.parse import unquote

from knotwork._indexing.loaders.loader import Content
from knotwork._stores.fields import fold
from knotwork._stores.links import PART, numbered_parts, part_names
from knotwork.records import Link, Span

MOST_LINKS = 20_000
"""Links of a document that are kept."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>\[\]{}|,;，。；、）]{1,200}")
_ARXIV = re.compile(
    r"\b(?:arxiv:[ ]?|arxiv\.org/(?:abs|pdf)/)(\d{4}\.\d{4,5}|[a-z-]{2,20}/\d{7})", re.IGNORECASE
)
_WIKI = re.compile(r"\[\[([^\[\]|#^]{0,200})(?:#([^\[\]|]{1,200}))?(?:\|[^\[\]]{0,300})?\]\]")
_OF_ANOTHER = re.compile(r"\s+(?:of|in|from)\s+(?:the\s+|our\s+)?[A-Z《“\"]")
"""What follows the number of a part of another document, as in "Article 5 of the GDPR"."""
_REFERENCE = re.compile(r"\[(\d{1,3}(?:\s?[,，–-]\s?\d{1,3}){0,9})\]")
_LONGEST_ENTRY = 1_000
_ENTRY = re.compile(r"^\s{0,8}(?:[-*] )?\[(\d{1,3})\]\s", re.MULTILINE)
_IDENTIFIERS = {"doi": "doi", "arxiv": "arxiv", "mid": "message_id"}
"""The fields of identifiers by the schemes of addresses."""


class Target(NamedTuple):
    """The target of a link, and the part of it that the link names, as `Link` has them."""

    target: str
    part: str = ""


def read_target(uri: str, href: str) -> Target | None:
    """Return where a link of the document ``uri`` leads; None if that is no text."""
    given = href.strip()
    if wiki := _WIKI.fullmatch(given):
        name = fold(unquote(wiki[1])).removesuffix(".md")
        part = (wiki[2] or "").rpartition("#")[2].strip()
        return Target(f"[[{name}]]" if name else "", part)
    if given.startswith("//"):
        given = f"https:{given}"
    if _SCHEME.match(given):
        return _web_target(given)
    path, _, part = given.partition("#")
    path = unquote(path.partition("?")[0]).replace("\\", "/")
    if not path:
        return Target("", unquote(part)) if part else None
    folder = "" if path.startswith("/") else posixpath.dirname(uri)
    whole = posixpath.normpath(posixpath.join(folder, path))
    return Target("" if whole == uri else whole, unquote(part))


def _web_target(url: str) -> Target | None:
    scheme, _, rest = url.partition(":")
    if scheme.lower() not in ("http", "https"):
        name = _IDENTIFIERS.get(scheme.lower())
        return Target(f"{name}:{fold(rest)}") if name and rest else None
    if found := _identifier(url):
        return Target(found)
    return Target(url) if len(rest) > len("//") else None


def _identifier(text: str) -> str:
    """Return the first DOI or arXiv id in a text, as a target; "" without one."""
    if arxiv := _ARXIV.search(text):
        return f"arxiv:{arxiv[1].lower()}"
    doi = _DOI.search(text)
    return f"doi:{_trimmed(doi[0]).lower()}" if doi else ""


def _trimmed(doi: str) -> str:
    doi = doi.rstrip(".:)'”’")
    return f"{doi})" if doi.count("(") > doi.count(")") else doi


def find_links(uri: str, content: Content) -> tuple[Link, ...]:
    """Return the links of a document in the order of its text, those that its format marks first
    where two overlap.
    """
    targets = ((link.span, read_target(uri, link.target)) for link in content.links)
    found = [Link(span, *target) for span, target in targets if target]
    written = [*_identifiers(content.text), *_sections(content), *_references(content.text)]
    kept: list[Link] = []
    for link in sorted((*found, *written), key=lambda link: link.span.start):
        if not kept or kept[-1].span.end <= link.span.start:
            kept.append(link)
    return tuple(kept[:MOST_LINKS])


def _identifiers(text: str) -> Iterator[Link]:
    for found in _ARXIV.finditer(text):
        yield Link(Span(*found.span()), f"arxiv:{found[1].lower()}")
    for found in _DOI.finditer(text):
        doi = _trimmed(found[0])
        yield Link(Span(found.start(), found.start() + len(doi)), f"doi:{doi.lower()}")


def _sections(content: Content) -> Iterator[Link]:
    """Yield what the text says of numbered parts of its own, such as "see section 3.2"."""
    text = content.text
    numbers = numbered_parts(text, content.blocks) if PART.search(text) else {}
    for found in PART.finditer(text) if numbers else ():
        name, number = part_names(found)
        place = numbers.get(name, numbers.get(number))
        if _OF_ANOTHER.match(text, found.end()) or text.startswith("》", max(found.start() - 1, 0)):
            continue
        # A heading with its number, such as "Chapter 7", does not lead to itself.
        if place is not None and text.find("\n", *sorted((place, found.end()))) >= 0:
            yield Link(
                Span(*found.span()), "", number if numbers.get(number) == place else found[0]
            )


def _references(text: str) -> Iterator[Link]:
    """Yield the marks of numbered references that a list of references explains, such as "[12]".

    A reference with a DOI or arXiv id leads to that document, others to their place in the list.
    """
    entries = _entries(text)
    if not entries:
        return
    first = min(span.start for span in entries.values())
    targets = {number: _identifier(text[slice(*span)]) for number, span in entries.items()}
    for found in _REFERENCE.finditer(text, 0, first):
        for number in map(int, re.findall(r"\d+", found[1])):
            if number in entries:
                target = targets[number]
                yield Link(Span(*found.span()), target, "" if target else f"[{number}]")
                break


def _entries(text: str) -> dict[int, Span]:
    """Return where each entry of the last list of references is, by its number."""
    marks = list(_ENTRY.finditer(text))
    entries: dict[int, Span] = {}
    for mark, following in zip_longest(marks, marks[1:]):
        number = int(mark[1])
        if number == 1:
            entries = {}
        if number == len(entries) + 1:
            end = following.start() if following else len(text)
            entries[number] = Span(mark.start(), min(end, mark.start() + _LONGEST_ENTRY))
    return entries if len(entries) > 1 else {}
