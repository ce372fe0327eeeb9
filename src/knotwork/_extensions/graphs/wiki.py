"""Write an index as a folder of linked Markdown, which Obsidian opens: documents, entities, topics.

No model is called. Equal indexes give equal files.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import NamedTuple

from knotwork._extensions.graphs.export import split_batches
from knotwork._retrieval.entity_lookup import read_dossier
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store, was_read_by_model
from knotwork._stores.links import linked_documents
from knotwork._synthesis.overviews import (
    DocumentOutline,
    read_chunks,
    read_outline,
    show_title,
    summarize_part,
)
from knotwork._text.languages import detect_language
from knotwork._text.plain_text import show_sentence
from knotwork._text.statements import SelectedSentence, choose_lead, is_statement, read_statements
from knotwork._text.visible import make_printable
from knotwork.errors import StoreError
from knotwork.records import Chunk, EdgeType, Entity, Span

MANIFEST = ".knotwork-wiki.json"
"""Names the pages of an export: the next one replaces and removes only these."""
MOST_ENTITIES = 5_000
MOST_TOPICS = 1_000
_MOST_LISTED = 500
"""Lines of a list."""
_MOST_SECTIONS = 300
_MOST_NAMES = 12
_MOST_STATEMENTS = 8
_KNOWN = 0.8
"""Aboutness from which an entity that only one passage names has a page."""
_VALUES = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
_MOST_BYTES = 120
_NO_FILE_CHARACTERS = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f\ufffd]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\s*(?:\.|$))", re.IGNORECASE)
_NO_LINK_CHARACTERS = re.compile(r"[|#^\[\]%\\]+")
_ACTIVE = re.compile(r"(`[^`\n]*`)|<(?=[A-Za-z/!?])|\[(?=\[)|!(?=\[)|#(?=\w)|%(?=%)")
"""What Obsidian would carry out in a quoted text: HTML, links, embedded files, tags, comments."""
_PAGE = re.compile(r"(?:(?:documents|entities|topics)/[^/\\]+|index)\.md")
_WORDS = {
    "index": "索引",
    "documents": "文档",
    "entities": "实体",
    "topics": "主题",
    "sections": "章节",
    "names": "相关实体",
    "relations": "关系",
    "statements": "相关内容",
    "named together with": "常一同出现",
    "links to": "链接到",
    "linked from": "被链接自",
    "part of": "上级主题",
    "subtopics": "下级主题",
    "… and {} more in this folder": "……此文件夹中还有 {} 个",
}
"""The words of pages, and what they are in Chinese."""


@dataclass(frozen=True, slots=True)
class WikiReport:
    """The written wiki: its folder, the pages of each kind, and the removed pages of before."""

    folder: Path
    documents: int
    entities: int
    topics: int
    removed: int


def write_wiki(store: Store, folder: Path, *, overwrite: bool = False) -> Steps[WikiReport]:
    """Write the pages of a store, and return the report.

    All pages are written before any gets its name. Raises StoreError for a folder with other files,
    and for a file with the name of a page, unless ``overwrite``; OSError.
    """
    earlier = _written_before(folder, overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    with store.reading(), TemporaryDirectory(dir=folder, prefix=".knotwork-") as unfinished:
        wiki = _Wiki(store)
        totals = {kind: len(names) for kind, names in wiki.names.items()}
        files = [f"{kind}/{name}.md" for kind in totals for name in wiki.names[kind].values()]
        files = ["index.md", *sorted(files)]
        for kind, total in totals.items():
            Path(unfinished, kind).mkdir()
            for done, (name, text) in enumerate(wiki.pages(kind)):
                yield Progress(kind, done, total)
                _write(Path(unfinished, kind, f"{name}.md"), text)
            yield Progress(kind, total, total)
        _write(Path(unfinished, "index.md"), wiki.front_page())
        _write(Path(unfinished, MANIFEST), json.dumps({"files": files}, indent=0))
        for file in files if not overwrite else ():
            if file not in earlier and (folder / file).exists():
                raise _exists(folder / file)
        for file in (MANIFEST, *files):
            (folder / file).parent.mkdir(exist_ok=True)
            Path(unfinished, file).replace(folder / file)
    # Where case does not count, a name of before may be that of a new page.
    kept = {file.casefold() for file in files}
    removed = [file for file in earlier if file.casefold() not in kept]
    for file in removed:
        (folder / file).unlink(missing_ok=True)
    return WikiReport(folder, **totals, removed=len(removed))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _exists(path: Path) -> StoreError:
    return StoreError(
        f"`{path}` exists already, and is not part of an exported wiki.",
        fix="Choose another folder, or write into it with --force (`overwrite=True` in Python).",
    )


def _written_before(folder: Path, *, overwrite: bool) -> frozenset[str]:
    """Return the pages that the last export wrote to a folder."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return frozenset(file for file in files if _PAGE.fullmatch(file))
    except (OSError, ValueError, KeyError, TypeError):
        is_empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
        if not overwrite and not is_empty:
            raise _exists(folder) from None
        return frozenset()


def file_names(titles: Mapping[str, str]) -> dict[str, str]:
    """Return a file name for each title, by key: valid and distinct on every system.

    The first of several titles that a file system may take for one has its name alone.
    """
    found: dict[str, str] = {}
    used: set[str] = set()
    for key, title in titles.items():
        text = unicodedata.normalize("NFC", make_printable(title))
        name = " ".join(_NO_FILE_CHARACTERS.sub(" ", text).split()).lstrip("-. ")
        name = name.encode("utf-8", "ignore")[:_MOST_BYTES].decode("utf-8", "ignore").strip(". ")
        name = _RESERVED.sub(r"\g<0>_", name, count=1) if _RESERVED.match(name) else name
        for tried in (name or "untitled", f"{name} {key[:6]}".strip(), f"{name} {key}".strip()):
            folded = unicodedata.normalize("NFKC", tried).casefold()
            if folded not in used:
                break
        used.add(folded)
        found[key] = tried
    return found


def _prose(text: str) -> str:
    """Return text of a document as one line that shows as it is."""
    line = make_printable(" ".join(text.split()))
    return _ACTIVE.sub(lambda match: match[1] or f"\\{match[0]}", line)


def _label(text: str) -> str:
    """Return words for a link, without characters that would end it."""
    return " ".join(_NO_LINK_CHARACTERS.sub(" ", make_printable(text)).split())


def _word(name: str, language: str) -> str:
    return _WORDS[name] if language == "zh" else name[:1].upper() + name[1:]


def _language(texts: Iterable[str]) -> str:
    return "zh" if detect_language(" ".join(texts)) == "zh" else "en"


def _page(title: str, parts: Iterable[tuple[str, str]], language: str = "", **front: object) -> str:
    """Return a page: front matter in JSON, which is YAML, the title, and the parts with lines."""
    rows = {"title": title, **front}
    head = [f"{key}: {json.dumps(row, ensure_ascii=False)}" for key, row in rows.items() if row]
    head = [line.replace("[[", r"[\u005b") for line in head]  # else it is a link
    lines = [make_printable("\n".join(("---", *head, "---"))), f"# {_prose(title)}", ""]
    for name, part in parts:
        heading = f"## {_word(name, language)}\n\n" if name else ""
        lines += [f"{heading}{part}\n"] if part else []
    return "\n".join(lines)


class _Section(NamedTuple):
    span: Span
    level: int
    heading: str


class _Wiki:
    """The pages of an index. ``names`` are the names of their files, by kind and key."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outline = read_outline(store)
        self._parts = {part.document_id: part for part in self._outline.documents}
        resolutions, communities = store.capabilities.resolutions, store.capabilities.communities
        self._canonical = resolutions.groups() if resolutions else {}
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        for key, canonical in sorted(self._canonical.items()):
            self._members[canonical].append(key)
        self._entities = self._choose_entities()
        ids = [key for level in (communities.levels() if communities else []) for key in level]
        self._reports = communities.reports(ids) if communities else {}
        found = communities.communities(list(self._reports)) if communities else {}
        order = sorted(found, key=lambda key: (found[key].level, -self._reports[key].rating, key))
        self._topics = {key: found[key] for key in order[:MOST_TOPICS]}
        self._titles = {
            "documents": {key: show_title(p) or p.uri for key, p in self._parts.items()},
            "entities": {key: entity.name for key, entity in self._entities.items()},
            "topics": {key: self._reports[key].title for key in self._topics},
        }
        self.names = {kind: file_names(titles) for kind, titles in self._titles.items()}
        self._sections: dict[str, list[_Section]] = {}
        self._links: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for source, target in linked_documents(store).pairs:
            self._links["links to", source].append(target)
            self._links["linked from", target].append(source)

    def _choose_entities(self) -> dict[str, Entity]:
        """Return the entities that have a page, those that most passages name first."""
        counts: Counter[str] = Counter()
        for edge in self._store.graph.edges(types=[EdgeType.MENTIONS]):
            counts[self._canonical.get(edge.target, edge.target)] += 1
        found: dict[str, Entity] = {}
        for batch in split_batches(sorted(counts), 500):
            once = [key for key in batch if counts[key] == 1]
            about = self._store.graph.about(once, fan=1, minimum=_KNOWN)
            kept = self._store.graph.entities([k for k in batch if counts[k] > 1 or about.get(k)])
            named = (e for e in kept.values() if not e.is_keyword and e.type not in _VALUES)
            found.update({entity.id: entity for entity in named})
        order = sorted(found, key=lambda key: (-counts[key], found[key].normal_form))
        return {key: found[key] for key in order[:MOST_ENTITIES]}

    def pages(self, kind: str) -> Iterator[tuple[str, str]]:
        """Yield the file name and the text of each page of a kind."""
        page = {"documents": self._document, "entities": self._entity, "topics": self._topic}[kind]
        return ((name, page(key)) for key, name in self.names[kind].items())

    def front_page(self) -> str:
        """Return the index page."""
        language = _language(islice(self._titles["documents"].values(), _MOST_LISTED))
        parts = []
        for kind, topmost in (
            ("topics", [key for key, topic in self._topics.items() if not topic.level]),
            ("documents", list(self._parts)),
            ("entities", list(self._entities)),
        ):
            left = len(self.names[kind]) - len(topmost[:_MOST_LISTED])
            more = _word("… and {} more in this folder", language).format(f"{left:,}")
            parts.append((kind, self._list(kind, topmost) + (f"\n- {more}" if left else "")))
        return _page(_word("index", language), parts, language)

    def _link(self, kind: str, key: str, heading: str = "", words: str = "") -> str:
        name = self.names[kind][key]
        words = words or _label(self._titles[kind][key]) or name
        return f"[[{kind}/{name}{f'#{heading}' if heading else ''}|{words}]]"

    def _list(self, kind: str, keys: Iterable[str]) -> str:
        held = (key for key in keys if key in self.names[kind])
        return "\n".join(f"- {self._link(kind, key)}" for key in islice(held, _MOST_LISTED))

    def _by_count(self, documents: Iterable[str]) -> str:
        counts = Counter(documents)
        order = sorted(counts, key=lambda key: (-counts[key], self._parts[key].uri))
        return self._list("documents", order)

    def _names(self, keys: Iterable[str], language: str = "") -> str:
        canonical = dict.fromkeys(self._canonical.get(key, key) for key in keys)
        held = (self._link("entities", key) for key in canonical if key in self._entities)
        return ("、" if language == "zh" else ", ").join(islice(held, _MOST_NAMES))

    def _sections_of(self, document: str) -> list[_Section]:
        """Return the sections on the page of a document, with headings that are distinct."""
        if document not in self._sections:
            title = _label(self._titles["documents"][document]).casefold()
            words = {_word(name, language) for name in _WORDS for language in ("zh", "en")}
            used = {"", title, *(word.casefold() for word in words)}
            self._sections[document] = found = []
            shown = [chunk.span for chunk in read_chunks(self._store, self._parts[document])]
            parts = self._outline.sections.get(document, ())[:_MOST_SECTIONS]
            for part in (p for p in parts if any(map(p.span.overlaps, shown))):
                bare = heading = _label(show_title(part))[:150].strip()
                number = 2
                while heading.casefold() in used and bare.casefold() not in {"", title}:
                    heading, number = f"{bare} ({number})", number + 1
                if heading.casefold() not in used:
                    used.add(heading.casefold())
                    found.append(_Section(part.span, part.level, heading))
        return self._sections[document]

    def _heading_at(self, document: str, start: int) -> str:
        spans = ((s.span, s.heading) for s in reversed(self._sections_of(document)))
        return next((heading for span, heading in spans if span.start <= start < span.end), "")

    def _cite(self, places: Iterable[tuple[str, int]], language: str, *, here: str = "") -> str:
        """Return links to the sections at these places, in brackets; ``here`` is the own page."""
        links: dict[str, None] = {}
        for document, start in places:
            heading = self._heading_at(document, start)
            if document != here:
                title = shorten(_label(self._titles["documents"][document]), 40, placeholder="…")
                words = f"{title or document}, {heading}" if heading else ""
                links[self._link("documents", document, heading, words)] = None
            elif heading:
                links[f"[[#{heading}|§]]"] = None
        first, between, last = ("（", "；", "）") if language == "zh" else (" (", "; ", ")")
        return f"{first}{between.join(islice(links, 3))}{last}" if links else ""

    def _cite_chunks(self, ids: Iterable[str], language: str) -> str:
        chunks = self._chunks(islice(ids, 3))
        return self._cite(((chunk.document_id, chunk.span.start) for chunk in chunks), language)

    def _chunks(self, ids: Iterable[str]) -> list[Chunk]:
        """Return chunks of the documents that have a page."""
        found = self._store.documents.chunks(list(dict.fromkeys(ids))).values()
        return [chunk for chunk in found if chunk.document_id in self._parts]

    def _document(self, key: str) -> str:
        document, graph = self._parts[key], self._store.graph
        chunks = read_chunks(self._store, document)
        language = _language(chunk.text for chunk in chunks[:4])
        alone = DocumentOutline((document,), {key: self._outline.sections.get(key, ())})
        colon = "：" if language == "zh" else ": "
        quoted: set[Span] = set()
        lines = []
        for line in summarize_part(self._store, alone, document, language).lines:
            pieces = []
            for text, source in line.pieces:
                if source is not None:
                    quoted.add(source.span)
                    cited = self._cite([(key, source.span.start)], language, here=key)
                    pieces.append(_prose(text) + cited)
            label = f"**{_prose(line.label)}**{colon}" if line.label else ""
            lines += [f"- {label}{' '.join(pieces)}"] if pieces else []
        names: defaultdict[str, list[str]] = defaultdict(list)
        found = graph.mentions([chunk.id for chunk in chunks])
        for chunk in chunks:
            for mention in found.get(chunk.id, ()):
                if self._canonical.get(mention.entity_id, mention.entity_id) in self._entities:
                    start = (mention.spans or (chunk.span,))[0].start
                    names[self._heading_at(key, start)].append(mention.entity_id)
        paragraphs: defaultdict[str, list[list[SelectedSentence]]] = defaultdict(list)
        for paragraph in read_statements(chunks, language=language):
            paragraphs[self._heading_at(key, paragraph[0].span.start)].append(paragraph)
        sections = self._sections_of(key)
        top = min((section.level for section in sections), default=0)
        lead_in = f"{_word('names', language)}{colon}"
        found_names = {at: f"{lead_in}{self._names(ids, language)}" for at, ids in names.items()}
        parts = [("", "\n".join(lines)), ("", found_names.get("", ""))]
        for section in sections:
            lead = choose_lead(paragraphs[section.heading])
            is_new = lead is not None and lead.span not in quoted
            shown = _prose(show_sentence(lead.text)) if lead and is_new else ""
            level = "#" * min(3 + section.level - top, 6)
            held = (f"{level} {_prose(section.heading)}", shown, found_names.get(section.heading))
            name = "sections" if section is sections[0] else ""
            parts.append((name, "\n\n".join(filter(None, held))))
        ways = ("links to", "linked from")
        parts += [(way, self._list("documents", self._links[way, key])) for way in ways]
        title = self._titles["documents"][key]
        return _page(title, parts, language, source=document.uri, tags=["document"])

    def _entity(self, key: str) -> str:
        store, members = self._store, self._members.get(key, [key])
        topics = store.capabilities.communities
        dossier = read_dossier(store, key, relations=3 * _MOST_NAMES, passages=0)
        about = store.graph.about(members, fan=3 * _MOST_NAMES)
        worth = {item.id: item.score for member in members for item in about.get(member, ())}
        types = [EdgeType.MENTIONS]
        named = store.graph.neighbours(members, direction="in", types=types, fan=_MOST_LISTED)
        worth = {e.source: 0.0 for edges in named.values() for e in edges} | worth
        chunks = self._chunks(worth)
        chunks.sort(key=lambda c: (-worth[c.id], self._parts[c.document_id].uri, c.ordinal))
        name = self._entities[key].name
        language = _language([name, *(chunk.text for chunk in chunks[:2])])
        relations, near = [], []
        for edge in dossier.edges if dossier else ():
            ends = [edge.source, edge.target]
            if edge.type != EdgeType.RELATES:
                near += ends
                continue
            held = {**dossier.others, key: self._entities[key]} if dossier else {}
            shown = [self._names([end]) or _prose(held[end].name) for end in ends if end in held]
            cited = self._cite_chunks(edge.chunks, language)
            relations.append(f"- {f' *{_prose(edge.relation)}* '.join(shown)}{cited}")
        together = self._names((i for i in near if self._canonical.get(i, i) != key), language)
        above = topics.of_entities([key]).get(key, []) if topics else []
        parts = [
            ("", self._description(members, language)),
            ("statements", self._statements(members, chunks, language)),
            ("relations", "\n".join(relations[:_MOST_NAMES])),
            ("named together with", together),
            ("documents", self._by_count(chunk.document_id for chunk in chunks)),
            ("topics", self._list("topics", above)),
        ]
        tags = ["entity", re.sub(r"\W+", "-", self._entities[key].type.lower())]
        aliases = [n for n in (dossier.names if dossier else ()) if n != name]
        return _page(name, parts, language, aliases=aliases, tags=[*filter(None, tags)])

    def _description(self, members: Sequence[str], language: str) -> str:
        """Return what a model wrote on an entity, with the passages that it had read."""
        readings = self._store.capabilities.readings
        if readings is None or not was_read_by_model(self._store):
            return ""
        given = [item for found in readings.descriptions(members).values() for item in found]
        written = [summary.text for summary in readings.summaries(members).values()]
        texts = [*written, *(item.text for item in given)]
        cited = self._cite_chunks((item.chunk_id for item in given), language)
        return _prose(texts[0]) + cited if texts else ""

    def _statements(self, members: Sequence[str], chunks: Sequence[Chunk], language: str) -> str:
        """Return the sentences that name an entity, one of each passage."""
        first = chunks[: 2 * _MOST_STATEMENTS]
        mentions = self._store.graph.mentions([chunk.id for chunk in first])
        found: dict[str, str] = {}
        for chunk in first:
            held = (m for m in mentions.get(chunk.id, ()) if m.entity_id in members)
            spans = [span for mention in held for span in mention.spans]
            for span in (s for s in chunk.sentences if any(map(s.overlaps, spans))):
                if is_statement(chunk, span, text := chunk.text_at(span)):
                    shown = _prose(show_sentence(text))
                    cited = self._cite([(chunk.document_id, span.start)], language)
                    found.setdefault(shown, f"- {shown}{cited}")
                    break
        return "\n".join(islice(found.values(), _MOST_STATEMENTS))

    def _topic(self, key: str) -> str:
        topic, report = self._topics[key], self._reports[key]
        chunks = {c.id: c for c in self._chunks((*report.chunk_ids, *topic.chunk_ids))}
        lines = []
        for finding in report.findings:
            held = [s for s in finding.supports if s.chunk_id in chunks]
            places = ((chunks[s.chunk_id].document_id, s.span.start) for s in held)
            text = _prose(show_sentence(finding.text))
            lines.append(f"- {text}{self._cite(places, report.language)}")
        below = (i for i, other in self._topics.items() if other.parent_id == key)
        parts = [
            ("", "\n".join(lines)),
            ("names", self._names(topic.entity_ids, report.language)),
            ("part of", self._list("topics", filter(None, [topic.parent_id]))),
            ("subtopics", self._list("topics", below)),
            ("documents", self._by_count(chunk.document_id for chunk in chunks.values())),
        ]
        return _page(report.title, parts, report.language, tags=["topic"])
