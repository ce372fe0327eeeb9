"""Give a prompt the names and facts of similar earlier chunks of the same document.

Similar chunks are found by sparse vectors of their words, and their names and facts are those that
the rules extracted. A prompt therefore depends only on its document: all chunks can be read at
once, and a resumed run sends exactly the same requests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    KEYWORD,
    Chunk,
    Extraction,
)

MEMORY_TOKENS = 60
"""Most tokens of memory in a prompt; less than a third of a chunk."""

_MOST_SIMILAR = 3
_LEAST_SIMILARITY = 0.05
"""Least cosine of the words of two similar chunks."""

_ROWS = 256
"""Chunks compared at a time, to limit memory for long documents."""

_NO_FACTS = frozenset({ALIAS_RELATION, CO_OCCURRENCE_RELATION, ""})
_NO_NAMES = frozenset({"DATE", "NUMBER"})


def recall_similar(
    chunks: Sequence[Chunk],
    extractions: Sequence[Extraction],
    *,
    limit_tokens: int = MEMORY_TOKENS,
) -> dict[str, str]:
    """Return the memory of each chunk of a document, by chunk id; chunks without any are left out.

    ``extractions`` are the results of the rules, in the order of ``chunks``.
    """
    if limit_tokens <= 0 or len(chunks) < 2:
        return {}
    similar = _similar_earlier([chunk.text for chunk in chunks])
    recalled = sorted({place for places in similar for place in places})
    lines = {
        place: [(line, count_tokens(line)) for line in _lines_of(extractions[place])]
        for place in recalled
    }
    memories = {
        chunk.id: _fill((line for place in places for line in lines[place]), limit_tokens)
        for chunk, places in zip(chunks, similar, strict=True)
    }
    return {key: memory for key, memory in memories.items() if memory}


def _similar_earlier(texts: Sequence[str]) -> list[list[int]]:
    """Return the positions of the earlier texts most similar to each text, the most similar first.

    Similarity is the cosine of TF-IDF vectors; ties go to the nearest text.
    """
    from scipy import sparse

    counts = [Counter(content_terms(text)) for text in texts]
    column: dict[str, int] = {}
    columns = [column.setdefault(term, len(column)) for terms in counts for term in terms]
    times = [number for terms in counts for number in terms.values()]
    if not times:
        return [[] for _ in texts]
    frequency = np.bincount(columns)
    # There are few distinct numbers, so compute each logarithm once.
    often = np.array([1 + math.log(number) for number in range(1, max(times) + 1)])
    rare = np.array([math.log(1 + len(texts) / f) for f in range(1, len(texts) + 1)])
    weights = often[np.array(times) - 1] * rare[frequency[columns] - 1]
    sizes = [len(terms) for terms in counts]
    rows = np.repeat(np.arange(len(texts)), sizes)
    lengths = np.sqrt(np.maximum(np.bincount(rows, weights**2, len(texts)), 1e-12))
    table = sparse.csr_array(
        (weights / lengths[rows], columns, np.cumsum([0, *sizes])), shape=(len(texts), len(column))
    )
    found: list[list[int]] = []
    for start in range(0, len(texts), _ROWS):
        block = np.asarray((table[start : start + _ROWS] @ table.T).todense())
        for offset, likeness in enumerate(block):
            earlier = np.round(likeness[: start + offset], 9)
            places = np.flatnonzero(earlier >= _LEAST_SIMILARITY)
            order = np.lexsort((-places, -earlier[places]))[:_MOST_SIMILAR]
            found.append(places[order].tolist())
    return found


def _fill(counted: Iterable[tuple[str, int]], limit_tokens: int) -> str:
    lines: list[str] = []
    total = 0
    for line, tokens in dict.fromkeys(counted):
        if total + tokens <= limit_tokens:
            lines.append(line)
            total += tokens
    return "\n".join(lines)


def _lines_of(extraction: Extraction) -> list[str]:
    names = {m.entity_id: m for m in extraction.mentions if m.type not in _NO_NAMES}
    # Relations that a model described come before those that rules only infer.
    stated = sorted(extraction.relations, key=lambda r: -(r.weight + 1_000 * bool(r.description)))
    facts = [
        f"{names[r.source].name} | {r.relation} | {names[r.target].name}"
        for r in stated
        if r.relation not in _NO_FACTS and r.source in names and r.target in names
    ]
    ranked = sorted(names.values(), key=lambda m: (-m.about, -len(m.spans), m.normal_form))
    listed = [f"{m.name} ({m.type})" if m.type not in {"", KEYWORD} else m.name for m in ranked[:6]]
    return [*listed, *facts[:4]]


def remembered_names(memory: str) -> list[str]:
    """Return the distinct names in the lines of a memory, without their types."""
    names: dict[str, None] = {}
    for line in memory.splitlines():
        parts = line.split(" | ")
        for part in (parts[0], parts[-1]):
            bare = part.rsplit(" (", 1)[0].strip()
            if bare:
                names[bare] = None
    return list(names)
