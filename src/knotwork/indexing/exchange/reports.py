"""Reports of another system: their references resolved to passages, and taken out of their text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knotwork.indexing.communities.extractive import write_extractive_report
from knotwork.indexing.communities.material import group_by_parent, read_material
from knotwork.indexing.communities.sentences import flat_text, is_prose
from knotwork.indexing.exchange.foreign import ForeignFinding, ForeignReport
from knotwork.records import Chunk, Community, CommunityReport, Finding, Support
from knotwork.stores.base import Store
from knotwork.text.languages import detect_language
from knotwork.text.terms import content_terms

MOST_SUPPORTS = 5
_SMOOTHING = 30
"""Terms by which every sentence counts as longer, so that a heading does not win by one word."""

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


@dataclass(slots=True)
class WrittenReports:
    """Reports from the lowest level up; ``counts`` tell of their findings and references."""

    reports: list[CommunityReport] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def write_reports(
    store: Store,
    communities: Sequence[Community],
    foreign: Mapping[str, ForeignReport],
    *,
    cited: Cited,
    source: str,
) -> WrittenReports:
    """Return a report for each community, of another system's where it has one.

    ``foreign`` are by the ids of ``communities``. A report carries the content key of its
    community's material, so that it stays until that changes. Communities without one get an
    extractive report.
    """
    written = WrittenReports()
    children = group_by_parent(communities)
    extractive: dict[str, CommunityReport] = {}
    resolver = _Resolver(store, cited, written.counts)
    for community in sorted(communities, key=lambda c: (-c.level, c.id)):
        # What a report stands on is the documents alone, whoever wrote those of the communities
        # below: so the key is that of the extractive one.
        below = [extractive[child.id] for child in children.get(community.id, ())]
        below.sort(key=lambda report: (-report.rating, report.content_key))
        material = read_material(store, community, below)
        theirs = foreign.get(community.id)
        if theirs is None or community.parent_id is not None:
            extractive[community.id] = write_extractive_report(material)
        if theirs is None:
            written.reports.append(extractive[community.id])
            written.counts["reports put together for communities without one"] += 1
        else:
            written.reports.append(
                _translate(theirs, community.id, resolver, source, material.content_key)
            )
            written.counts["reports"] += 1
    return written


def _translate(
    theirs: ForeignReport, community_id: str, resolver: _Resolver, source: str, content_key: str
) -> CommunityReport:
    findings = tuple(resolver.read(finding) for finding in theirs.findings)
    title, summary = without_references(theirs.title), without_references(theirs.summary)
    return CommunityReport(
        community_id,
        title,
        summary,
        tuple(finding for finding in findings if finding.text),
        theirs.rank,
        detect_language(f"{title}\n{summary}"),
        source,
        content_key,
    )


def without_references(text: str) -> str:
    """Return a text without the references to rows in it."""
    return _REFERENCE.sub("", text).strip()


def references(text: str) -> Iterator[tuple[str, int]]:
    """Yield the (kind, number) of the rows that a text refers to."""
    for match in _REFERENCE.finditer(text):
        for kind, numbers in _ROWS.findall(match[1]):
            plain = " ".join(kind.replace("_", " ").lower().split())
            for number in _NUMBER.findall(numbers):
                yield _KINDS.get(plain, plain), int(number)


def write_reference(numbers: Iterable[int]) -> str:
    """Return a reference to text units as it stands in a text; "" for none."""
    listed = ", ".join(map(str, numbers))
    return f" [Data: Sources ({listed})]" if listed else ""


class _Resolver:
    """Finds the passages that findings refer to."""

    def __init__(self, store: Store, cited: Cited, counts: Counter[str]) -> None:
        self._store = store
        self._cited = cited
        self._counts = counts
        self._chunks: dict[str, Chunk] = {}
        self._sentences: dict[str, list[tuple[str, frozenset[str], float]]] = {}

    def read(self, finding: ForeignFinding) -> Finding:
        """Return a finding without references, and with what they lead to."""
        rows = dict.fromkeys(references(f"{finding.summary} {finding.explanation}"))
        summary = without_references(finding.summary)
        explanation = without_references(finding.explanation)
        parts = [summary] if explanation == summary else [summary, explanation]
        text = "\n".join(part for part in parts if part)
        wanted = [set(self._cited[row]) for row in rows if self._cited.get(row)]
        self._counts["references"] += len(rows)
        self._counts["references that lead to no text unit"] += len(rows) - len(wanted)
        supports = tuple(self._supports(text, wanted))
        self._counts["findings"] += 1
        self._counts["findings without a passage"] += not supports
        return Finding(text, supports)

    def _supports(self, text: str, wanted: list[set[str]]) -> Iterator[Support]:
        """Yield passages of the chunks that lie behind most references, until all are covered."""
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
        """Return how well the best sentence of a chunk fits a text, and its place."""
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
    """Return a sentence, its terms, and what each term of it that a finding shares counts."""
    terms = frozenset(content_terms(text))
    return text, terms, is_prose(text) / math.sqrt(len(terms) + _SMOOTHING)
