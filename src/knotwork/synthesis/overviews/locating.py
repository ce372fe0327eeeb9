"""Locate the sections that a subject is about, among the sections of all documents."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from knotwork.inference.base import Embedder
from knotwork.records import Chunk, Evidence
from knotwork.retrieval.question import can_embed
from knotwork.stores.base import Store
from knotwork.synthesis.overviews.outline import Outline, Part
from knotwork.text.numbering import split_number
from knotwork.text.terms import content_terms

_LEAST_EXCESS = 10.0
"""The log-likelihood ratio from which a section is about a subject; chance brings about 5."""
_NEIGHBOURS = 40
"""Passages nearest to the query by vectors, and as many by words."""
_LONGEST_QUERY = 400
_TITLE_POWER = 1.5
_ABOVE_WEIGHT = 0.5
_DENSITY_POWER = 0.25
"""Exponent of how much was found for each passage: of two sections the more specific one counts."""
_NAMED_GAIN = 1.5
"""How much more a section is worth whose title, or its document's, has the name of a text."""
_FEWEST_STEPS = 3
_OUTLINE_GAIN, _NUMBERED_GAIN, _TITLED_GAIN = 1.25, 1.5, 2.0
"""How much more a section is worth if steps are asked for: with three subsections, with as many
numbered items, and with a title that says that it has steps."""
_ALL_OF_IT = 0.95
_TITLE_ALONE = 0.5
"""The share of the subject in its title from which a section of a single passage is enough."""

_NUMBERED_ITEM = re.compile(r"^[ \t]*\(?\d{1,2}[.)、][ \t]", re.MULTILINE)
_SAYS_STEPS = re.compile(
    r"\bsteps?\b|\bstep-by-step\b|\bhow[ -]to\b|\bprocedures?\b|\bprocess$|\bworkflow\b"
    r"|步骤|步驟|步|过程|過程|流程|如何",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Located:
    """A section that is about a subject; ``value`` compares it with others."""

    part: Part
    value: float


@dataclass(frozen=True, slots=True)
class _Document:
    """The passages of a document that were found, with their weights, and how many it has."""

    passages: list[tuple[Chunk, float]]
    size: int


def locate_sections(
    subject: str,
    found: Evidence,
    *,
    store: Store,
    outline: Outline,
    embedder: Embedder | None,
    within: Part | None = None,
    named: frozenset[str] = frozenset(),
    for_steps: bool = False,
) -> list[Located]:
    """Return the sections or documents that are about a subject as a whole, best first.

    What was ``found``, and the neighbours of its query by vectors and by words, are counted in
    every section with those below it. A section is about the subject if it has far more of them
    than its length explains: the likelihood ratio of the tree-based scan statistic (Kulldorff, Fang
    and Walsh, Biometrics 2003). Of these one is better whose title names the subject, and that has
    more of what was found for its length.

    With ``within`` only sections inside of it are returned. Titles with all terms of ``named`` are
    preferred; ``for_steps`` prefers sections with an outline or numbered items.
    """
    weights = _weigh_passages(found, store, embedder)
    total, everywhere = sum(weights.values()), max(store.documents.chunk_count(), 1)
    asked = set(content_terms(subject))
    titles = {part.document_id: part.title for part in outline.documents}
    located: list[Located] = []
    for key, document in _group(weights, store).items():
        end = _end(outline.sections.get(key, ()))
        for part in _parts(outline, key):
            if within is not None and not _is_inside(within, part, end):
                continue
            inside = [row for row in document.passages if _holds(part, row[0])]
            count = sum(weight for _, weight in inside)
            extent = _extent(part, outline, document.size)
            excess = _excess(count, total * extent / everywhere, total)
            if excess < _LEAST_EXCESS:
                continue
            share = _title_share(part, outline.above(part), asked)
            if len(inside) < 2 and share < _TITLE_ALONE:
                continue
            # The logarithm: of two sections that chance does not explain, the title decides.
            value = math.log(excess) * (1 + share) ** _TITLE_POWER
            value *= min(1.0, count / extent) ** _DENSITY_POWER
            if named and named <= set(content_terms(f"{titles.get(key, '')} {part.title}")):
                value *= _NAMED_GAIN
            if for_steps:
                value *= _weigh_steps(part, outline, [chunk for chunk, _ in inside])
            located.append(Located(part, value))
    return sorted(located, key=lambda item: -item.value)


def _holds(part: Part, chunk: Chunk) -> bool:
    """Return whether most of a chunk is in a part of its document."""
    middle = (chunk.span.start + chunk.span.end) // 2
    return part.level == 0 or part.span.start <= middle < part.span.end


def _weigh_passages(
    found: Evidence, store: Store, embedder: Embedder | None
) -> Mapping[str, float]:
    """Return how much each passage speaks for its section: at most 1 for each way to find it."""
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
        # Cosines of neighbours hardly differ, so that their ranks count.
        add((item.id, 1 - rank / len(near)) for rank, item in enumerate(near))
    return weights


def _group(weights: Mapping[str, float], store: Store) -> Mapping[str, _Document]:
    chunks = store.documents.chunks(list(weights))
    grouped: defaultdict[str, list[tuple[Chunk, float]]] = defaultdict(list)
    for key in sorted(chunks):
        grouped[chunks[key].document_id].append((chunks[key], weights[key]))
    return {
        document: _Document(passages, len(store.documents.chunk_ids(document)))
        for document, passages in sorted(grouped.items())
    }


def _parts(outline: Outline, document: str) -> list[Part]:
    """Return the parts of a document that may be meant: its sections, and all of it, unless one
    section has nearly all of it.
    """
    sections = list(outline.sections.get(document, ()))
    end = _end(sections)
    if any(part.span.end - part.span.start >= _ALL_OF_IT * end for part in sections):
        return sections
    return [*sections, *(part for part in outline.documents if part.document_id == document)]


def _extent(part: Part, outline: Outline, size: int) -> float:
    """Return about how many of the ``size`` passages of its document are in a part."""
    if part.level == 0:
        return size
    length = part.span.end - part.span.start
    return max(1.0, size * length / _end(outline.sections[part.document_id]))


def _end(sections: Iterable[Part]) -> int:
    return max((section.span.end for section in sections), default=1) or 1


def _is_inside(outer: Part, inner: Part, end: int) -> bool:
    """Return whether a part is a section of another one, and not nearly all of it."""
    if outer.document_id != inner.document_id or inner.level <= outer.level:
        return False
    end = min(outer.span.end, end)
    length = inner.span.end - inner.span.start
    return (
        outer.span.start <= inner.span.start
        and inner.span.end <= end
        and length < _ALL_OF_IT * (end - outer.span.start)
    )


def _title_share(part: Part, above: Iterable[Part], asked: set[str]) -> float:
    """Return the share of what is asked that a title names; what titles above name counts half.

    It is 0 where the title itself names nothing of it.
    """
    own = asked & set(content_terms(split_number(part.title)[1]))
    further = set().union(*(asked & set(content_terms(other.title)) for other in above)) - own
    return (len(own) + _ABOVE_WEIGHT * len(further)) / max(len(asked), 1) if own else 0.0


def _excess(count: float, expected: float, total: float) -> float:
    """Return the log-likelihood ratio of a count against what is expected; 0 without an excess."""
    if count <= expected or expected >= total:
        return 0.0
    rest = total - count
    beyond = rest * math.log(rest / (total - expected)) if rest > 0 else 0.0
    return count * math.log(count / expected) + beyond


def _weigh_steps(part: Part, outline: Outline, chunks: Iterable[Chunk]) -> float:
    """Return how much more a part is worth where steps are asked for."""
    items = sum(len(_NUMBERED_ITEM.findall(chunk.text)) for chunk in chunks)
    gain = _TITLED_GAIN if _SAYS_STEPS.search(part.title) else 1.0
    if items >= _FEWEST_STEPS:
        return gain * _NUMBERED_GAIN
    return gain * (_OUTLINE_GAIN if len(outline.subsections(part)) >= _FEWEST_STEPS else 1.0)
