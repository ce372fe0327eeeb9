"""Resolve the links of documents: which document a target is, and where in it a part begins.

A document contributes what it links to and the names that it is known under. Both are joined when
links are read, so that no link is wrong because a document came, went or moved.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from knotwork._stores.base import Store
from knotwork._stores.fields import document_fields, fold
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
_NO_SLUG = re.compile(r"[^\w\- ]")
_MOST_SPACE = 100
_PAGE = re.compile(r"page=(\d+)")


def resolve_links(store: Store, documents: Iterable[Document]) -> list[DocumentLink]:
    """Return the links of these documents, in the order of their texts, with where they lead."""
    given = list(documents)
    targets = target_documents(store, given)
    return [
        _resolved(document, link, targets.get((document.uri, link.target)))
        for document in given
        for link in document.links
    ]


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
    if links is None:
        return []
    ids = {i for found in links.linking_to(_targets_of(document)).values() for i in found}
    others = store.documents.documents(sorted(ids - {document.id})).values()
    ordered = sorted(others, key=lambda other: other.uri)
    return [link for link in resolve_links(store, ordered) if link.document == document.uri]


def dead_targets(store: Store) -> dict[str, list[str]]:
    """Return the targets within the index that are no document of it, with the ids of the documents
    that link to them. Web addresses and identifiers such as a DOI are never dead.
    """
    uris, linked = _uris(store), _linked(store)
    inside = [(i, target) for i, target in linked if i in uris and not _is_outside(target)]
    asked = {(uris[i], target) for i, target in inside}
    found = _find_documents(store, asked)
    dead: dict[str, list[str]] = {}
    for i, target in inside:
        if not found[uris[i], target]:
            dead.setdefault(target, []).append(i)
    return dead


def linked_documents(store: Store) -> list[tuple[str, str]]:
    """Return the ids of each document and of another one that it links to, without repetition."""
    uris, linked = _uris(store), _linked(store)
    found = _find_documents(store, {(uris[i], target) for i, target in linked if i in uris})
    pairs = ((i, found.get((uris.get(i, ""), target), "")) for i, target in linked)
    return sorted({(i, target) for i, target in pairs if target and i != target})


def _linked(store: Store) -> list[tuple[str, str]]:
    links = store.capabilities.links
    return links.linked() if links else []


def _uris(store: Store) -> dict[str, str]:
    """Return the uri of each document by its id."""
    return {entry.document_id: entry.uri for entry in store.ledger.entries()}


def _is_outside(target: str) -> bool:
    suffix = posixpath.splitext(target)[1]
    return "://" in target or bool(_NAMED.match(target) or _NO_DOCUMENTS.fullmatch(suffix))


def _resolved(document: Document, link: Link, target: Document | None) -> DocumentLink:
    if not link.target:
        target = document
    start = place_of_part(target, link.part) if target and link.part else None
    return DocumentLink(
        source=document.uri,
        span=link.span,
        words=document.text[slice(*link.span)],
        target=link.target or document.uri,
        part=link.part,
        document=target.uri if target else "",
        title=target.title if target else "",
        section=_section_at(target, start) if target and start is not None else "",
        start=start,
    )


def _section_at(document: Document, start: int) -> str:
    sections = (block for block in document.blocks if block.kind is BlockKind.SECTION)
    around = [block for block in sections if block.span.start <= start < block.span.end]
    return around[-1].label if around else ""


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
    """Yield the uris that a path may mean, the likeliest first."""
    if not target:
        yield source
        return
    folders = [""]
    if target.startswith("/"):  # of a site whose root is any folder above
        folder = posixpath.dirname(source)
        folders = [target]
        while True:
            folders.append(posixpath.join(folder, target[1:]))
            if not folder or folder == "/":
                break
            folder = posixpath.dirname(folder)
    else:
        folders = [target]
    for path in folders:
        yield path
        stem, suffix = posixpath.splitext(path)
        if suffix in _PAGE_SUFFIXES:
            yield from (f"{stem}{other}" for other in _PAGE_SUFFIXES if other != suffix)
        yield from (f"{path}{other}" for other in _PAGE_SUFFIXES)
        yield from (posixpath.join(path, name) for name in _INDEX_NAMES)


def _targets_of(document: Document) -> list[str]:
    """Return the targets that links to a document may have."""
    uri, names = document.uri, document_fields(document).get("known_as", ())
    stem = posixpath.splitext(uri)[0]
    paths = [uri, stem, *(f"{stem}{other}" for other in _PAGE_SUFFIXES)]
    if posixpath.basename(uri) in _INDEX_NAMES:
        paths.append(posixpath.dirname(uri))
    rooted = [f"/{part}" for path in paths for part in _tails(path)]
    wiki = [f"[[{name}]]" for name in names]
    folded = fold(stem)
    wiki += [f"[[{tail}]]" for tail in _tails(folded)]
    return list(dict.fromkeys((*paths, *rooted, *wiki, *names)))


def _tails(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/".join(parts[number:]) for number in range(len(parts))]


def numbered_parts(text: str, blocks: Iterable[Block]) -> dict[str, int]:
    """Return where each numbered heading or clause of a text begins, by its number."""
    found = {m[1]: m.start(1) for m in reversed(list(_NUMBERED_LINE.finditer(text)))}
    sections = [block for block in blocks if block.kind is BlockKind.SECTION]
    for block in reversed(sections):
        if number := split_number(block.label)[0]:
            found[number] = block.span.start
    return found


def place_of_part(document: Document, part: str) -> int | None:
    """Return where a part of a document begins: an anchor, a heading, a number or a page."""
    for anchor in document.anchors:
        if anchor.name == part:
            ahead = document.text[anchor.start : anchor.start + _MOST_SPACE]
            return anchor.start + len(ahead) - len(ahead.lstrip())
    slug, name = _slug(part), fold(part)
    for block in document.blocks:
        if block.kind is BlockKind.SECTION and (
            fold(block.label) == name or _slug(block.label) == slug
        ):
            return block.span.start
    if page := _PAGE.fullmatch(part):
        return next((p.start for p in document.pages if p.label == page[1]), None)
    if part.startswith("^"):  # of a paragraph that ends with this mark
        return _line_start(document.text, f" {part}")
    if part.startswith("["):
        place = document.text.rfind(f"\n{part}")
        return place + 1 if place >= 0 else None
    return numbered_parts(document.text, document.blocks).get(part)


def _line_start(text: str, mark: str) -> int | None:
    place = f"{text}\n".find(f"{mark}\n")
    return text.rfind("\n", 0, place) + 1 if place >= 0 else None


def _slug(title: str) -> str:
    """Return a heading as the name of an anchor, as GitHub makes it."""
    return _NO_SLUG.sub("", title.strip().casefold()).replace(" ", "-")
