"""The decomposition step: split a question into parts and search for each in turn.

Questions are split by a model, or by rules for English and Chinese around the names in them. A
nested question has inner phrases, each a relation to a name or to the result of the phrase before:
"the mother of the director of Silver Lantern" becomes ``director of Silver Lantern``, then
``mother of {}``. A comparing question becomes one question for each name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, NamedTuple

from knotwork._questions.reading import reading_of
from knotwork._retrieval.base import Bounds, RulesOrModel, bounded
from knotwork._retrieval.chunk_entities import mentions_by_sentence
from knotwork._retrieval.evidence_builder import SHOWN_SENTENCES
from knotwork._retrieval.fusion import SEARCH_DEPTH, cut_evidence, search_deep
from knotwork._retrieval.question import Question, rarity, read_question
from knotwork._retrieval.steps.query_transformation import BLANK, ModelStep, ask_parts
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork.records import Evidence, Hit, Query, Span

MOST_FILLINGS = 5
"""Maximum number of fillings of a blank; each takes a search."""

HITS_READ_FOR_NAMES = 3
"""Number of best hits of a part in which the names for the next part's blank are sought."""


class BlankFilling(NamedTuple):
    """A name that fills a blank, with its worth from 0 to 1."""

    name: str
    entity_id: str
    worth: float


class Decompose(ModelStep):
    """Adds the evidence for the parts of a question to that for the whole.

    Parts are searched for in order. In each, the ``beam`` best names found by the part before it
    fill the blank; names come from the sentences that best match the part. A hit gains ``weight``
    times the best score that a part gives it, relative to the part's best hit and to the worth of
    the fillings. Simple questions pass unchanged.
    """

    name = "decompose"
    precedes = True
    searches = 8

    @bounded
    class Options:
        by: RulesOrModel = "rules"
        beam: Annotated[int, Bounds(1, MOST_FILLINGS)] = 2
        weight: float = 0.4

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the question, combined with that for its parts."""
        own = search_deep(self.base, query)
        question = read_question(query.text, store=self._store)
        plan, notes = self._plan(query.text, question)
        if plan is None:
            return cut_evidence(replace(own, notes=(*own.notes, *notes)), query)
        gains: dict[str, float] = {}
        found: dict[str, Hit] = {hit.chunk.id: hit for hit in own.hits}
        trace = [*own.trace]
        fillings = [BlankFilling("", "", 1.0)]
        for number, part in enumerate(plan.parts, start=1):
            evidences = self._ask(part, fillings, trace)
            for worth, evidence in evidences:
                best = max((hit.score for hit in evidence.hits), default=0.0)
                for hit in evidence.hits if best > 0 else ():
                    gain = worth * max(hit.score, 0.0) / best
                    gains[hit.chunk.id] = max(gains.get(hit.chunk.id, 0.0), gain)
                    found.setdefault(hit.chunk.id, hit)
            if not plan.side_by_side and number < len(plan.parts):
                fillings = self._fill(question, evidences)
                if not fillings:
                    break
        done = self._combine(own, gains, found, query)
        return replace(done, trace=tuple(trace), notes=(*own.notes, *notes))

    def _plan(self, text: str, question: Question) -> tuple[QuestionSplit | None, tuple[str, ...]]:
        if self._model is None:
            names = [link.span for link in question.links if link.trust == 1.0]
            return split_question(text, names), ()
        parts, notes = self._try(
            lambda model: ask_parts(text, model), tuple[str, ...](), "The question was not split"
        )
        nested = any(BLANK in part for part in parts)
        return (QuestionSplit(parts, side_by_side=not nested) if len(parts) > 1 else None), notes

    def _ask(
        self, part: str, fillings: Sequence[BlankFilling], trace: list[str]
    ) -> list[tuple[float, Evidence]]:
        """Return the evidence for a part with each filling, and the worth of the filling."""
        found = []
        for filling in fillings if BLANK in part else fillings[:1]:
            text = part.replace(BLANK, filling.name)
            evidence = self.base.retrieve(Query(text, SEARCH_DEPTH))
            found.append((filling.worth if BLANK in part else 1.0, evidence))
            first = evidence.hits[0].chunk if evidence.hits else None
            title = (first.document_title or first.text[:40]) if first else "nothing"
            trace.append(f"Asked “{text}”: {title}.")
        return found

    def _combine(
        self, own: Evidence, gains: Mapping[str, float], found: Mapping[str, Hit], query: Query
    ) -> Evidence:
        scores = {hit.chunk.id: hit.score for hit in own.hits}
        best = max(scores.values(), default=0.0)
        scale = best if best > 0 else 1.0
        hits = []
        for key, hit in found.items():
            gain = self.options.weight * scale * gains.get(key, 0.0)
            parts = hit.scores if key in scores else {}
            score = scores.get(key, 0.0) + gain
            hits.append(replace(hit, score=score, scores=parts | {"parts": gain}))
        hits.sort(key=lambda hit: (-hit.score, hit.chunk.id))
        return cut_evidence(replace(own, hits=tuple(hits)), query)

    def _fill(
        self, question: Question, evidences: Sequence[tuple[float, Evidence]]
    ) -> list[BlankFilling]:
        """Return the best names in the evidence that the question does not contain.

        Numbers and years are left out: they are frequent and rarely what a question continues with.
        """
        worths: dict[str, float] = {}
        for worth, evidence in evidences:
            hits = evidence.hits[:HITS_READ_FOR_NAMES]
            chunks = {hit.chunk.id: hit.chunk for hit in hits}
            named = mentions_by_sentence(chunks, self._store, known=DEFAULT_WEIGHTS.link.known)
            best = max((hit.score for hit in hits), default=0.0) or 1.0
            for hit in hits:
                for step in hit.path[-1:]:
                    value = worth * max(hit.score, 0.0) / best
                    worths[step.entity_id] = max(worths.get(step.entity_id, 0.0), value)
                places = {span: n for n, span in enumerate(hit.chunk.sentences)}
                for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
                    value = worth * max(hit.score, 0.0) / best * relevance
                    for entity in named[hit.chunk.id][places[span]] if span in places else ():
                        worths[entity] = max(worths.get(entity, 0.0), value)
        open_ids = [identifier for identifier in worths if identifier not in question.named]
        entities = self._store.graph.entities(open_ids)
        ranked = sorted(
            (
                BlankFilling(e.name, i, worths[i] * rarity(e.chunk_count, question.chunk_count))
                for i, e in entities.items()
                if not NUMBER.fullmatch(e.name)
            ),
            key=lambda filling: (-filling.worth, filling.entity_id),
        )[: self.options.beam]
        top = ranked[0].worth if ranked and ranked[0].worth > 0 else 1.0
        return [filling._replace(worth=filling.worth / top) for filling in ranked]


MOST_HOPS = 3

LONGEST_TERMS = 14
"""Content terms above which a question is not split by rules: it describes what it asks for clause
by clause, and the names in it are related in too many ways."""

_NOT_IN_NOUN = (
    r"(?!(?:is|was|are|were|did|do|does|has|had|have|be|been|the|a|an|that|which|who|whose|where"
    r"|and|or|what|when|how|of|by|in|on|at|to|for|from|with|as)\b)"
)
_NOUN = rf"(?:{_NOT_IN_NOUN}[^\W\d_][\w-]*\s+){{0,3}}{_NOT_IN_NOUN}[^\W\d_][\w-]*"
_OF = re.compile(
    rf"\b(?:the|an?|its|what|which)\s+(?P<noun>{_NOUN})\s+(?:of|for|to|by|from|in|at|on)\s+"
    r"(?:(?:the|an?)\s+)?(?:[a-z][\w-]*\s+){0,2}[\"“'‘]?$",
    re.IGNORECASE,
)
_WHO = re.compile(
    rf"\b(?:the|an?|what|which)\s+(?P<noun>{_NOUN})\s+"
    r"(?:that|which|who|where|whose|(?:in|on|of|for) which)\s+"
    rf"(?:(?:the\s+)?(?:[a-z][\w-]*\s+){{1,3}}?)?(?:(?:the|an?)\s+)?[\"“'‘]?$",
    re.IGNORECASE,
)
_RELATED = re.compile(
    r"\s+(?:is|was|are|were|has|had)\s+(?:an?\s+)?(?:\w+\s+)?\w+(?:ed|en|wn|de|nd|t|s)?\b"
    r"(?:\s+(?:in|by|on|at|to|of)\b)?"
    r"|\s+(?:belongs? to|comes? from|appears? in|stars? in|play(?:s|ed)? for|died|lived|works?)\b"
)
_POSSESSIVE = re.compile(
    r"[\"”]?(?:['’]s|(?<=s)['’])\s+(?P<noun>(?:[a-z][\w-]*\s+){0,2}?[a-z][\w-]*)"
    r"(?=['’]s?\b|['’]\s|\s*[?,.]|\s*$|\s+(?:is|was|are|were|did|do|does|has|had|born|died?|dies|"
    r"graduate[ds]?|from|who|that|in|of|located|where|when|works?|stud(?:y|ied)|went|get|got|won|"
    r"receive[ds]?)\b)"
)
_HAN_OF = re.compile(
    r"[》”」』\"]?的(?P<noun>[\u4e00-\u9fff]{1,8}?)"
    r"(?=的|是|在|出生|毕业|畢業|叫|来自|來自|属于|屬於|位于|位於|有|于|於|何|哪|什么|什麼|谁|誰|去世|逝世|[，。？?]|$)"
)
_COMPARING = re.compile(
    r"\b(?:or|both|same|older|younger|first|earlier|later|more|longer|larger|between|than|compared"
    r"|share|common|either|also)\b|还是|還是|都|相同|同一|更|哪一?个|哪個|比较|比較",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"^\s*[\"”’')）]?\s*(?:,|，|、)?\s*(?:or|and|than|与|和|或|还是|還是|跟|及|以及|、)?\s*"
    r"(?:(?:the|a|an|film|song|[a-z]+)\s+){0,3}[\"“‘'(（《]?\s*$"
)

NUMBER = re.compile(r"[\d\s.,:/–年月日-]*")
"""A number or a date, which cannot start a chain."""
_NAME = re.compile(
    r"[A-Z][\w.'’-]*(?:\s+(?:(?:of|the|and|in|to|a|de|van|von)\s+){0,2}[A-Z0-9][\w.'’-]*)*(?<=\w)"
)


@dataclass(frozen=True, slots=True)
class QuestionSplit:
    """The parts of a question, in order.

    Each part fills the `BLANK` of the next one; with ``side_by_side`` the parts are compared.
    """

    parts: tuple[str, ...]
    side_by_side: bool = False


def split_question(text: str, names: Sequence[Span]) -> QuestionSplit | None:
    """Return the parts of a question with names at these spans, or None if it is simple."""
    if len(reading_of(text).terms) > LONGEST_TERMS:
        return None
    # Every text starts with a capital.
    named = names or [Span(*m.span()) for m in _NAME.finditer(text) if m.start() > 0]
    possessive = ("'s", "’s")
    bare = (Span(n.start, n.end - 2 * text[: n.end].endswith(possessive)) for n in named)
    inside = sorted(name for name in bare if not NUMBER.fullmatch(text[slice(*name)]))
    if compared := _compare(text, inside):
        return compared
    for name in inside:
        if chain := _unnest(text, name):
            return chain
    return None


def _compare(text: str, names: Sequence[Span]) -> QuestionSplit | None:
    """Split a comparing question into one part for each of two coordinated names."""
    if len(names) < 2 or not _COMPARING.search(text):
        return None
    for first, second in pairwise(names):
        if second.start < first.end or not _JOINING.match(text[first.end : second.start]):
            continue
        return QuestionSplit(
            (
                _tidy(text[: first.end] + text[second.end :]),
                _tidy(text[: first.start] + text[second.start :]),
            ),
            side_by_side=True,
        )
    return None


def _unnest(text: str, name: Span) -> QuestionSplit | None:
    """Split a nested question from the name outwards."""
    before, inner, after = text[: name.start], text[name.start : name.end], text[name.end :]
    parts: list[str] = []
    while len(parts) < MOST_HOPS:
        found = _innermost(before, inner, after)
        if found is None:
            break
        before, phrase, after = found
        parts.append(_tidy(phrase))
        inner = BLANK
    if not parts:
        return None
    rest = _tidy(before + inner + after)
    if not _asks_more(rest):
        return QuestionSplit(tuple(parts)) if len(parts) > 1 else None
    return QuestionSplit((*parts, rest))


def _innermost(before: str, inner: str, after: str) -> tuple[str, str, str] | None:
    """Return the text before the phrase around a name, the phrase, and the text after it."""
    for possessive in (_POSSESSIVE, _HAN_OF):
        if match := possessive.match(after):
            return before, inner + match[0], after[match.end() :]
    if match := _WHO.search(before):
        behind = _RELATED.match(after)
        end = behind.end() if behind else 0
        return before[: match.start()], match[0] + inner + after[:end], after[end:]
    if match := _OF.search(before):
        return before[: match.start()], match[0] + inner, after
    return None


def _asks_more(rest: str) -> bool:
    """Return True if more is asked than who or what the blank is."""
    words = re.findall(r"[^\W_]+", rest.replace(BLANK, " "))
    plain = {"who", "what", "which", "is", "was", "are", "were", "the", "name", "of", "a"}
    han = set("是谁誰什么什麼叫哪位人名字的有些多少几幾个個")
    return any(word.casefold() not in plain and not set(word) <= han for word in words)


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,，")
