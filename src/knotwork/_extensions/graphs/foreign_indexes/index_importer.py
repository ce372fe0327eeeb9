"""Import the index of another system: detect its format, then store documents and communities.

Communities and reports keep their members, chunks and citations. To add a system, write a reader
that returns a `ForeignIndex`, and add it to `_READERS`.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork._extensions.graphs.foreign_indexes import graphrag, lightrag
from knotwork._extensions.graphs.foreign_indexes.chunk_contributions import (
    Contributions,
    PlacedDocument,
    import_root,
    place_units,
)
from knotwork._extensions.graphs.foreign_indexes.foreign_index import (
    ForeignCommunity,
    ForeignIndex,
    ForeignReport,
    Losses,
)
from knotwork._extensions.graphs.imported_documents import (
    embed_batch,
    imported_source,
    remove_others,
)
from knotwork._indexing.commit import Batch, commit_documents
from knotwork._indexing.communities.detection import (
    OPTIONS_META,
    CommunityOptions,
    stored_communities,
)
from knotwork._indexing.communities.extractive_reports import (
    group_by_parent,
    read_material,
    write_extractive_report,
)
from knotwork._indexing.communities.index_reports import mark_current
from knotwork._indexing.communities.stored_reports import publish_reports, put_missing_vectors
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import Embedding, check_embedder, check_not_switching
from knotwork._indexing.prepare import Prepared
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_communities, require_readings
from knotwork._stores.removal import remove_vectors
from knotwork._text.languages import detect_language
from knotwork._text.statements import flat_text, is_prose
from knotwork._text.terms import content_terms
from knotwork.errors import IndexingError, UnknownName
from knotwork.records import (
    Chunk,
    Community,
    CommunityReport,
    Extraction,
    Finding,
    Member,
    Support,
    content_id,
    entity_id,
)

_DIGITS = 6

_Members = dict[str, list[str]]


def build_hierarchy(
    foreign: Sequence[ForeignCommunity],
    forms: Mapping[str, str],
    extractions: Mapping[str, Extraction],
    losses: Losses,
    *,
    taken: Collection[str] = (),
) -> dict[str, Community]:
    """Return the communities by the ids of the other system, parents before children.

    Entities with ``taken`` ids already belong to other communities. On each level an entity belongs
    to one community, within that of the level above; violations are counted in ``losses``. A chunk
    belongs to the community with most of its entities.
    """
    members: _Members = {}
    kept = list(
        _with_members(sorted(foreign, key=lambda c: c.level), forms, losses, taken, members)
    )
    strengths = _strengths(kept, members, extractions.values())
    chunks = _chunks(kept, members, extractions)
    found: dict[str, Community] = {}
    for community in kept:
        held, own = members[community.id], tuple(sorted(chunks[community.id]))
        key = content_id("community", community.level, *sorted(held), *own)
        parent = None if community.parent_id is None else found[community.parent_id].id
        ranked = _ranked(held, strengths[community.id])
        found[community.id] = Community(key, community.level, parent, ranked, own)
    return found


def _with_members(
    ordered: Iterable[ForeignCommunity],
    forms: Mapping[str, str],
    losses: Losses,
    taken: Collection[str],
    members: _Members,
) -> Iterator[ForeignCommunity]:
    """Yield the communities that have members, and add these to ``members``.

    A community below the topmost level needs a known parent, to which its members belong.
    """
    levels: dict[str, int] = {}
    placed: set[tuple[int, str]] = set()
    for community in ordered:
        level, above = community.level, community.parent_id
        if community.id in levels:
            losses["communities", "another community has the same number"] += 1
            continue
        if level != (0 if above is None else levels.get(above, level) + 1):
            losses["communities", "its parent is missing"] += 1
            continue
        levels[community.id] = level
        outer = None if above is None else set(members.get(above, ()))
        held: dict[str, None] = {}
        for key in community.entity_ids:
            member = entity_id(forms[key]) if key in forms else ""
            if not member:
                losses["members of communities", "the entity was not imported"] += 1
            elif member in taken:
                losses["members of communities", "already in a community of this index"] += 1
            elif (level, member) in placed or (outer is not None and member not in outer):
                losses["members of communities", "in another community of that level"] += 1
            else:
                held[member] = None
        placed.update((level, member) for member in held)
        if held:
            members[community.id] = list(held)
            yield community
        else:
            losses["communities", "none of its entities was imported"] += 1


def _strengths(
    kept: Iterable[ForeignCommunity], members: _Members, extractions: Iterable[Extraction]
) -> dict[str, dict[str, float]]:
    """Return the total weight of each member's relations within its community."""
    of: defaultdict[str, set[str]] = defaultdict(set)
    for community in kept:
        for member in members[community.id]:
            of[member].add(community.id)
    strengths: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for extraction in extractions:
        for relation in extraction.relations:
            for key in of[relation.source] & of[relation.target]:
                own = strengths[key]
                for end in (relation.source, relation.target):
                    own[end] = own.get(end, 0.0) + relation.weight
    return strengths


def _ranked(held: Sequence[str], strengths: Mapping[str, float]) -> tuple[Member, ...]:
    """Return the members by importance: their share of the relation weights, plus 1 for each."""
    values = {member: 1.0 + strengths.get(member, 0.0) for member in held}
    total = sum(values.values())
    ranked = [Member(member, round(value / total, _DIGITS)) for member, value in values.items()]
    return tuple(sorted(ranked, key=lambda member: (-member.importance, member.entity_id)))


def _chunks(
    kept: Sequence[ForeignCommunity], members: _Members, extractions: Mapping[str, Extraction]
) -> dict[str, list[str]]:
    """Return the chunks of each community; a chunk is in at most one on each level."""
    place = {(c.level, member): c for c in kept for member in members[c.id]}
    depth = max((community.level for community in kept), default=-1) + 1
    found: dict[str, list[str]] = {community.id: [] for community in kept}
    for key, extraction in extractions.items():
        named = sorted({mention.entity_id for mention in extraction.mentions})
        above: str | None = None
        for level in range(depth):
            votes = Counter(
                place[level, member].id
                for member in named
                if (level, member) in place and place[level, member].parent_id == above
            )
            if not votes:
                break
            above = min(votes, key=lambda community: (-votes[community], community))
            found[above].append(key)
    return found


MOST_SUPPORTS = 5
_SMOOTHING = 30
"""Terms added to the length of every sentence, so that short headings do not win."""

_REFERENCE = re.compile(r"\s*\[\s*Data\s*:([^\[\]]*)\]", re.IGNORECASE)
_ROWS = re.compile(r"([A-Za-z][A-Za-z _]*?)\s*\(([^()]*)\)")
_NUMBER = re.compile(r"\d+")
_KINDS = {
    "entity": "entities",
    "relationship": "relationships",
    "claim": "claims",
    "covariate": "claims",
    "covariates": "claims",
    "source": "sources",
    "text units": "sources",
    "report": "reports",
    "community reports": "reports",
}

Cited = Mapping[tuple[str, int], Sequence[str]]


def import_reports(
    store: Store,
    communities: Sequence[Community],
    foreign: Mapping[str, ForeignReport],
    counts: Counter[str],
    *,
    cited: Cited,
    source: str,
) -> list[CommunityReport]:
    """Return a report for each community: the imported one, or else an extractive one.

    Reports are ordered from the lowest level up. ``foreign`` reports are keyed by the ids of
    ``communities``; findings and references are counted in ``counts``. An imported report has the
    content key of its community's material, so that it stays valid until the material changes.
    """
    written: list[CommunityReport] = []
    children = group_by_parent(communities)
    extractive: dict[str, CommunityReport] = {}
    resolver = _Resolver(store, cited, counts)
    for community in sorted(communities, key=lambda c: (-c.level, c.id)):
        # The key depends on the documents alone, so it is based on extractive reports of children.
        below = [extractive[child.id] for child in children.get(community.id, ())]
        below.sort(key=lambda report: (-report.rating, report.content_key))
        material = read_material(store, community, below)
        theirs = foreign.get(community.id)
        if theirs is None or community.parent_id is not None:
            extractive[community.id] = write_extractive_report(material)
        if theirs is None:
            written.append(extractive[community.id])
            counts["reports put together for communities without one"] += 1
            continue
        title, summary = without_references(theirs.title), without_references(theirs.summary)
        findings = [resolver.read(*finding) for finding in theirs.findings]
        written.append(
            CommunityReport(
                community.id,
                title,
                summary,
                tuple(finding for finding in findings if finding.text),
                theirs.rank,
                detect_language(f"{title}\n{summary}"),
                source,
                material.content_key,
            )
        )
        counts["reports"] += 1
    return written


def without_references(text: str) -> str:
    """Return a text without its references to rows."""
    return _REFERENCE.sub("", text).strip()


def references(text: str) -> Iterator[tuple[str, int]]:
    """Yield the (kind, number) of each row that a text refers to."""
    for match in _REFERENCE.finditer(text):
        for kind, numbers in _ROWS.findall(match[1]):
            plain = " ".join(kind.replace("_", " ").lower().split())
            for number in _NUMBER.findall(numbers):
                yield _KINDS.get(plain, plain), int(number)


def write_reference(numbers: Iterable[int]) -> str:
    """Return a reference to text units in the format of GraphRAG, or "" for no numbers."""
    listed = ", ".join(map(str, numbers))
    return f" [Data: Sources ({listed})]" if listed else ""


class _Resolver:
    """Resolves the references of findings to passages."""

    def __init__(self, store: Store, cited: Cited, counts: Counter[str]) -> None:
        self._store = store
        self._cited = cited
        self._counts = counts
        self._chunks: dict[str, Chunk] = {}
        self._sentences: dict[str, list[tuple[str, frozenset[str], float]]] = {}

    def read(self, summary: str, explanation: str) -> Finding:
        """Return a finding with its references replaced by supports."""
        rows = dict.fromkeys(references(f"{summary} {explanation}"))
        parts = dict.fromkeys(map(without_references, (summary, explanation)))
        text = "\n".join(part for part in parts if part)
        wanted = [set(self._cited[row]) for row in rows if self._cited.get(row)]
        self._counts["references"] += len(rows)
        self._counts["references that lead to no text unit"] += len(rows) - len(wanted)
        supports = tuple(self._supports(text, wanted))
        self._counts["findings"] += 1
        self._counts["findings without a passage"] += not supports
        return Finding(text, supports)

    def _supports(self, text: str, wanted: list[set[str]]) -> Iterator[Support]:
        """Yield passages of the most referenced chunks, until all references are covered."""
        terms, flat = frozenset(content_terms(text)), flat_text(text)
        self._load({key for keys in wanted for key in keys})
        best = {
            key: self._best_sentence(key, flat, terms)
            for keys in wanted
            for key in keys
            if key in self._chunks
        }
        taken: set[str] = set()
        open_rows = [keys & best.keys() for keys in wanted]
        while len(taken) < MOST_SUPPORTS and any(open_rows):
            covers = Counter(key for keys in open_rows for key in keys)
            key = min(covers, key=lambda key: (-covers[key], -best[key][0], key))
            taken.add(key)
            open_rows = [keys for keys in open_rows if key not in keys]
            chunk = self._chunks[key]
            yield Support(key, chunk.sentences[best[key][1]])

    def _best_sentence(self, key: str, flat: str, terms: frozenset[str]) -> tuple[float, int]:
        """Return the score and the position of the sentence of a chunk that best matches a text."""
        scores = [
            math.inf if sentence == flat else len(terms & held) * weight
            for sentence, held, weight in self._sentences[key]
        ]
        place = max(range(len(scores)), key=lambda index: (scores[index], -index))
        return scores[place], place

    def _load(self, keys: set[str]) -> None:
        missing = keys - self._chunks.keys()
        for key, chunk in self._store.documents.chunks(missing).items():
            if not chunk.sentences:
                continue
            self._chunks[key] = chunk
            texts = [flat_text(chunk.sentence_text(i)) for i in range(len(chunk.sentences))]
            self._sentences[key] = [_weighed(text) for text in texts]


def _weighed(text: str) -> tuple[str, frozenset[str], float]:
    """Return a sentence, its terms, and the weight of each shared term."""
    terms = frozenset(content_terms(text))
    return text, terms, is_prose(text) / math.sqrt(len(terms) + _SMOOTHING)


AUTO = "auto"

_READERS: Mapping[str, tuple[Callable[[Path], bool], Callable[[Path, str], ForeignIndex]]] = {
    graphrag.FORMAT: (graphrag.is_graphrag, graphrag.read_graphrag),
    lightrag.FORMAT: (lightrag.is_lightrag, lightrag.read_lightrag),
}
"""How to detect and read the index of each system."""
_FOLDERS = ("", "output", "artifacts", "output/artifacts", "rag_storage")
_UNNAMED = frozenset({"", "output", "artifacts", "rag_storage"})

IMPORT_FORMATS = (AUTO, *_READERS)
"""The valid values of ``format``."""


def open_foreign(folder: Path, *, format: str = AUTO, name: str = "") -> ForeignIndex:  # noqa: A002
    """Read the index of another system from a folder or one of its usual subfolders.

    ``name`` is its name here, by default that of the project folder. Raises UnknownName for an
    unknown format, IndexingError if no index is found or a file is missing or invalid, MissingExtra
    without the extra that its files need.
    """
    if format not in IMPORT_FORMATS:
        raise UnknownName("import format", format, IMPORT_FORMATS)
    if not folder.is_dir():
        raise IndexingError(
            f"`{folder}` is not a folder.", fix="Give the output folder of the other system."
        )
    place, found = _locate(folder, format)
    _, read = _READERS[found]
    return read(place, " ".join(name.replace("/", " ").split()) or import_name(place))


def import_name(folder: Path) -> str:
    """Return the name of an index: that of its project folder."""
    for part in (folder.absolute(), *folder.absolute().parents):
        is_run = part.name.replace("-", "").isdigit()  # such as 20240708-123456
        if part.name not in _UNNAMED and not is_run:
            return part.name
    return "index"


def _locate(folder: Path, wanted: str) -> tuple[Path, str]:
    runs = sorted((run for run in folder.glob("output/*/artifacts")), reverse=True)
    for place in (*(folder / part for part in _FOLDERS), *runs):
        for name, (detect, _) in _READERS.items():
            if wanted in {AUTO, name} and detect(place):
                return place, name
    if wanted != AUTO:  # the reader reports which files are missing
        return folder, wanted
    raise IndexingError(
        f"`{folder}` has neither the tables of Microsoft GraphRAG nor a LightRAG index.",
        fix="Give the folder with `entities.parquet`, or with "
        f"`{lightrag.GRAPH}`, or set the --format to see which file is missing.",
    )


IMPORT_BATCH_CHUNKS = 256

_VERSION = "import-1"
"""Version of the import; increase it if the same files would give another index."""

_OTHER_DOCUMENTS = (
    "The index has other documents too. On first use communities are updated for all documents;"
    " reports of unchanged communities are kept."
)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of an import.

    ``held`` counts the rows of the files by kind, ``brought`` the imported items. ``dropped`` lists
    items that were not imported as (kind, reason, count), by descending count. ``removed`` are
    documents of an earlier import that are no longer in this index. ``notes`` are for the user.
    """

    format: str
    name: str
    held: Mapping[str, int]
    brought: Mapping[str, int]
    dropped: tuple[tuple[str, str, int], ...]
    removed: tuple[str, ...] = ()
    embedder: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@Verb
def import_index(
    store: Store,
    folder: Path,
    *,
    format: str = AUTO,  # noqa: A002
    name: str = "",
    embedding: Embedding | None = None,
) -> Steps[ImportReport]:
    """Import the index of another system from a folder, and return the report.

    A document is written in one transaction with its chunks, mentions, relations, descriptions and
    vectors; communities and reports follow in another one. A second import with the same ``name``,
    by default that of the project folder, replaces the first. Raises UnknownName, IndexingError and
    MissingExtra as `open_foreign` does, MissingCapability if the store cannot hold descriptions or
    communities, SchemaMismatch if the index has vectors of another embedder, StoreBusy while
    another process writes, ModelError if the embedder fails.
    """
    begun = time.monotonic()
    using = embedding or Embedding()
    check_not_switching(store)
    check_embedder(store, using.name)
    require_readings(store)
    index = open_foreign(folder, format=format, name=name)
    if index.communities:
        require_communities(store)
    held = index.held()
    placement = place_units(index)
    found = Contributions(index, placement)
    total = sum(len(made.chunks) for made in placement.documents)
    yield Progress("chunks", 0, total)
    done = 0
    for batch in _batches(placement.documents, found, import_root(index), using):
        for embedded in embed_batch(store, batch, using):
            yield Progress("chunks", done + embedded, total)
        commit_documents(store, batch.prepared, vectors=batch.vectors, embedding=using)
        done += batch.chunks
        yield Progress("chunks", done, total)
    brought = {
        "documents": len(placement.documents),
        "text units": len(placement.chunks_of),
        "text units as documents of their own": placement.apart,
        "chunks": total,
    }
    notes: list[str] = []
    communities: tuple[str, ...] = ()
    with store.transaction():
        root = import_root(index)
        alone = all(entry.root == root for entry in store.ledger.entries() if entry.chunks)
        removed = remove_others(store, root, {made.document.uri for made in placement.documents})
        if index.communities:
            communities = _store_communities(store, index, found, alone=alone)
            if not alone:
                notes.append(_OTHER_DOCUMENTS)
        else:
            notes.append("The index has no communities; they are detected on first use.")
    if using:
        embed_descriptions(store, using)
        if communities:
            put_missing_vectors(store, communities, using)
    brought |= found.counts
    report = ImportReport(
        index.format,
        index.name,
        held,
        {kind: count for kind, count in brought.items() if count or kind in held},
        tuple((kind, why, n) for (kind, why), n in index.losses.most_common()),
        removed,
        using.name,
        tuple(notes),
        time.monotonic() - begun,
    )
    yield Progress("chunks", total, total)
    return report


def _batches(
    documents: Sequence[PlacedDocument], found: Contributions, root: str, embedding: Embedding
) -> Iterator[Batch]:
    """Yield the documents with all that their chunks contribute, in batches of one commit."""
    batch = Batch()
    for made in documents:
        batch.add(
            Prepared(
                imported_source(made.document, root),
                made.document,
                (made.section,),
                tuple(made.chunks),
                tuple(found.extractions[chunk.id] for chunk in made.chunks),
                settings=content_id(_VERSION),
                keys=tuple(map(embedding.chunk_key, made.chunks)) if embedding else (),
                readings=tuple(found.readings[chunk.id] for chunk in made.chunks),
                descriptions=tuple(d for c in made.chunks for d in found.descriptions[c.id]),
            )
        )
        if batch.chunks >= IMPORT_BATCH_CHUNKS:
            yield batch
            batch = Batch()
    if batch.prepared:
        yield batch


def _store_communities(
    store: Store, index: ForeignIndex, found: Contributions, *, alone: bool
) -> tuple[str, ...]:
    """Store communities with their reports beside those of other documents; return their ids.

    If the index has no other documents (``alone``), these communities are current. Otherwise the
    next detection starts from them.
    """
    held = require_communities(store)
    kept = [] if alone else stored_communities(held)
    options = "" if kept and held.stale() else CommunityOptions().fingerprint
    taken = {member.entity_id for community in kept for member in community.members}
    hierarchy = build_hierarchy(
        index.communities, found.forms, found.extractions, index.losses, taken=taken
    )
    before = {key for level in held.levels() for key in level}
    communities = [*kept, *hierarchy.values()]
    held.replace(communities)
    gone = before - {community.id for community in communities}
    store.texts("report").remove(gone)
    remove_vectors(store, "report", gone)
    reports = {}
    for report in index.reports:
        if report.community_id in hierarchy:
            reports[hierarchy[report.community_id].id] = report
        else:
            index.losses["reports", "its community was not imported"] += 1
    imported = list(hierarchy.values())
    found.counts["communities"] = len(imported)
    written = import_reports(
        store, imported, reports, found.counts, cited=found.cited, source=index.format
    )
    publish_reports(store, written)
    # `replace` clears stale marks, so "" makes the next detection start from scratch.
    store.set_meta({OPTIONS_META: options})
    if alone:
        mark_current(store)
    return tuple(community.id for community in imported)
