"""Steps on the question: their base class, and expansion, hypothetical passages and rewriting.

Some ask a language model: the requests, and the parsers of the replies, are here too. Hypothetical
passages are HyDE (Gao et al., ACL 2023): search for text that looks like an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    complete_checked,
    usable_lines,
)
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._retrieval.base import (
    OneOf,
    Positive,
    Retriever,
    RulesOrModel,
    Weight,
    WrappingRetriever,
    bounded,
)
from knotwork._retrieval.chunk_entities import read_merged_entities_of
from knotwork._retrieval.fusion import search_also, search_deep
from knotwork._retrieval.question import correct_spelling, read_question, request_about
from knotwork._stores.base import Store
from knotwork._text.terms import content_terms
from knotwork.errors import ModelError, RetrievalError, Unparsable
from knotwork.records import ALIAS_RELATION, ENTITY_EDGES, Evidence, Hit, Query

T = TypeVar("T")

ROOM = "knotwork._retrieval.steps"
STAGE = "search"

MOST_PARTS = 4
MOST_WORDS = 10
BEST_RATING = 5

_LONGEST_PART = 300
_LONGEST_WORD = 60
_LONGEST_PASSAGE = 1_200
_BULLET = re.compile(r"^(?:[\-–*•>#\s]+|\(?\d{1,2}[.)、]\s*)+")
_RATING = re.compile(r"^\W*(\d{1,3})\W+(\d+(?:\.\d+)?)")


class ModelStep(WrappingRetriever):
    """A step that asks a language model if its option ``by`` is "model".

    Raises RetrievalError if that model is missing.
    """

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, base=base, options=options)
        self._model = model if self.options.by == "model" else None
        if self.options.by == "model" and model is None:
            raise RetrievalError(
                f"`{self.name}(by=model)` needs a language model, but none is configured.",
                fix="Set llm.model, or leave out `by=model`.",
            )

    def _try(
        self, ask: Callable[[ChatModel], T], otherwise: T, failure: str
    ) -> tuple[T, tuple[str, ...]]:
        """Return the model's reply; ``otherwise`` without a model, or with a note if it fails."""
        if self._model is None:
            return otherwise, ()
        try:
            return ask(self._model), ()
        except ModelError as error:
            return otherwise, (f"{failure}: {error.message}",)


def ask_parts(question: str, model: ChatModel) -> tuple[str, ...]:
    """Return the simple questions that a question consists of. Raises ModelError."""
    return _ask("split-question", question, 200, model, _read_parts)


def ask_passage(question: str, model: ChatModel) -> str:
    """Return a passage that may answer the question. Raises ModelError."""
    return _ask("imagine-passage", question, 200, model, _read_passage)


def ask_rewriting(question: str, model: ChatModel) -> str:
    """Return a clearer wording of the question. Raises ModelError."""
    return _ask("rewrite-question", question, 150, model, lambda reply: _read_parts(reply)[0])


def ask_words(question: str, model: ChatModel) -> tuple[str, ...]:
    """Return words that answering passages may contain. Raises ModelError."""
    return _ask("expand-question", question, 120, model, _read_words)


def ask_ratings(question: str, texts: Sequence[str], model: ChatModel) -> list[float]:
    """Return a rating of each text from 0 to 1, all by one request. Raises ModelError.

    A text that the reply does not rate gets 0.
    """
    lines = [
        f"[{n}] {escape_passage(' '.join(text.split()))}" for n, text in enumerate(texts, start=1)
    ]
    passages = "\n".join(["<context>", *lines, "</context>"])
    material = f"<question>\n{escape_passage(question)}\n</question>\n{passages}"
    numbers = range(1, len(texts) + 1)
    ratings = _ask(
        "rate-passages",
        question,
        10 + 8 * len(texts),
        model,
        lambda reply: parse_ratings(reply, numbers),
        material,
    )
    return [ratings.get(number, 0.0) / BEST_RATING for number in numbers]


def _ask(
    task: str,
    question: str,
    output_tokens: int,
    model: ChatModel,
    read: Callable[[ChatReply], T],
    material: str = "",
) -> T:
    """Return what ``read`` makes of the reply to a task, by default about the question alone."""
    request = request_about(
        question,
        ROOM,
        task,
        model,
        stage=STAGE,
        output_tokens=output_tokens,
        material=material or escape_passage(question.strip()),
    )
    return complete_checked(model, request, read)


def bare_lines(reply: ChatReply) -> list[str]:
    """Return the `usable_lines` of a reply without bullets. Raises Unparsable if there is none."""
    lines = [_BULLET.sub("", line).strip(" \t`*") for line in usable_lines(reply)]
    if not any(lines):
        raise Unparsable("The reply is empty.")
    return [line for line in lines if line]


def _read_parts(reply: ChatReply) -> tuple[str, ...]:
    parts = [line for line in bare_lines(reply) if len(line) <= _LONGEST_PART]
    if not parts or BLANK in parts[0]:
        raise Unparsable("The reply contains no question that can be asked first.")
    return tuple(parts[:MOST_PARTS])


def _read_passage(reply: ChatReply) -> str:
    return " ".join(bare_lines(reply))[:_LONGEST_PASSAGE]


def _read_words(reply: ChatReply) -> tuple[str, ...]:
    words = [line for line in bare_lines(reply) if len(line) <= _LONGEST_WORD]
    if not words:
        raise Unparsable("The reply contains no words.")
    return tuple(dict.fromkeys(words))[:MOST_WORDS]


def parse_ratings(reply: ChatReply, numbers: Collection[int]) -> dict[int, float]:
    """Parse the rating of each number, from 0 to 5; numbers without a rating are absent.

    Raises Unparsable for a reply without a rating.
    """
    ratings: dict[int, float] = {}
    for match in filter(None, map(_RATING.match, usable_lines(reply))):
        if int(match[1]) in numbers:
            ratings.setdefault(int(match[1]), min(float(match[2]), BEST_RATING))
    if not ratings:
        raise Unparsable("The reply has no rating.")
    return ratings


BLANK = "{}"
"""The placeholder in a part for the result of the part before."""


EXPANSION_WAYS = ("feedback", "graph", "both", "model")

FEEDBACK_HITS = 5
SMOOTHING_HITS = 50
"""Added to the number of chunks when a term's frequency is weighed."""

NEIGHBOURS = 4
"""Number of most strongly related entities whose names are used, for each entity of the
question."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


class Expand(ModelStep):
    """Adds the evidence for the question with further words, at a lower weight.

    ``by="feedback"`` uses the ``terms`` that distinguish the best passages from all others (after
    the relevance models RM3 of Abdul-Jaleel et al., TREC 2004), ``"graph"`` the aliases and
    strongest neighbours of the entities named in the question, ``"both"`` both, and ``"model"`` the
    words that a language model suggests.
    """

    name = "expand"
    precedes = True
    searches = 3

    @bounded
    class Options:
        by: Annotated[str, OneOf(EXPANSION_WAYS, "method of expansion")] = "feedback"
        terms: Positive = 8
        weight: Weight = 0.2

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the question and for its expansion."""
        own = search_deep(self.base, query)
        asked, notes = self._try(
            lambda model: ask_words(query.text, model),
            tuple[str, ...](),
            "The question was not expanded",
        )
        words = list(asked)
        if self.options.by in {"graph", "both"}:
            words += self._related_names(query.text)
        if self.options.by in {"feedback", "both"}:
            words += self._distinctive_words(query.text, own.hits[:FEEDBACK_HITS])
        words = list(dict.fromkeys(words))[: self.options.terms]
        text = f"{query.text} {' '.join(words)}" if words else ""
        line = f"Also searched for: {', '.join(words)}."
        return _search_also(self, own, query, text, line, notes)

    def _distinctive_words(self, text: str, hits: Sequence[Hit]) -> list[str]:
        asked = set(reading_of(text).terms)
        total = sum(max(hit.score, 0.0) for hit in hits) or 1.0
        shares: defaultdict[str, float] = defaultdict(float)
        holders: Counter[str] = Counter()
        surfaces: dict[str, Counter[str]] = {}
        for hit in hits:
            counts: Counter[str] = Counter()
            for match in _WORD.finditer(hit.chunk.text):
                for term in content_terms(match[0]):
                    counts[term] += 1
                    surfaces.setdefault(term, Counter())[match[0]] += 1
            length = counts.total() or 1
            for term, count in counts.items():
                shares[term] += max(hit.score, 0.0) / total * count / length
                holders[term] += 1
        # A word of a single passage would only find that passage again.
        found = [term for term in shares if term not in asked and holders[term] > 1]
        index = self._store.texts("chunk")
        frequencies = index.document_frequencies(found)
        items = max(index.count(), 1)
        worths = {
            term: shares[term] * math.log((items + SMOOTHING_HITS) / (frequencies.get(term, 1) + 1))
            for term in found
        }
        best = sorted(worths, key=lambda term: (-worths[term], term))[: self.options.terms]
        best = [term for term in best if worths[term] > 0]
        # The most frequent spelling stands for a term, but for a Chinese one.
        words = [max(sorted(surfaces[term]), key=surfaces[term].__getitem__) for term in best]
        return [w if w.isascii() else term for term, w in zip(best, words, strict=True)]

    def _related_names(self, text: str) -> list[str]:
        question = read_question(text, store=self._store)
        ids = [link.entity.id for link in question.links if link.trust == 1.0]
        if not ids:
            return []
        merged = read_merged_entities_of(self._store, ids)
        same = [other for i in ids for other in merged.members(i) if other not in ids]
        edges = self._store.graph.neighbours(ids, types=ENTITY_EDGES, fan=NEIGHBOURS)
        ends = [
            (edge.relation != ALIAS_RELATION, edge.target if edge.source == i else edge.source)
            for i in ids
            for edge in edges.get(i, [])
        ]
        wanted = dict.fromkeys([*same, *(end for _, end in sorted(ends, key=lambda e: e[0]))])
        entities = self._store.graph.entities(wanted)
        return [entities[i].name for i in wanted if i in entities and i not in question.named]


SENTENCES = 3
"""Number of sentences of the index that make up a passage without a model."""

_QUESTION_WORDS = re.compile(
    r"^\s*(?:in|on|at|for|from|to|of|by|with)?\s*(?:who(?:se|m)?|what|which|when|where|why"
    r"|how(?: (?:many|much|long|old|far))?)\s+(?:(?:is|was|are|were|did|does|do)\s+)?",
    re.IGNORECASE,
)


class Hyde(ModelStep):
    """Adds the evidence for a hypothetical passage that answers the question, at a lower weight.

    With ``by="model"`` a language model writes the passage. With ``"rules"`` it is the question as
    a statement, followed by the best matching sentences of the index. This finds similar passages
    even if they share no word with the question.
    """

    name = "hyde"
    precedes = True
    searches = 3

    @bounded
    class Options:
        by: RulesOrModel = "rules"
        weight: Weight = 0.3

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the question and for the hypothetical passage."""
        own = search_deep(self.base, query)
        by_rules = "" if self._model else _answer_from(query.text, own.hits[:SENTENCES])
        passage, notes = self._try(
            lambda model: ask_passage(query.text, model),
            by_rules,
            "No hypothetical passage was written",
        )
        line = f"Also searched for: {passage}"
        return _search_also(self, own, query, passage, line, notes)


def _search_also(
    step: Expand | Hyde, own: Evidence, query: Query, text: str, line: str, notes: Sequence[str]
) -> Evidence:
    """Return the evidence fused with that for a text, if there is one, and traced by a line."""
    weight = step.options.weight
    evidence = search_also(step.base, own, query, text, weight, label=step.name)
    trace = (*evidence.trace, line) if text else evidence.trace
    return replace(evidence, trace=trace, notes=(*evidence.notes, *notes))


def _answer_from(text: str, hits: Sequence[Hit]) -> str:
    """Return the question as a statement with the best sentence of each hit, or "" without
    sentences.
    """
    sentences = [h.chunk.text_at(span) for h in hits for span, _ in h.sentences[:1]]
    statement = _QUESTION_WORDS.sub("", text).rstrip(" ?？")
    return " ".join([statement, *sentences]) if sentences else ""


_POLITE = re.compile(
    r"^\s*(?:(?:hi|hello|hey)\b[,! ]*)?(?:please[, ]+)?"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give|help)(?: me)?"
    r"|(?:i(?:'d| would)? (?:like|want|need) to (?:know|find out|understand))"
    r"|(?:do you (?:happen to )?know)|(?:tell me)|(?:i(?:'m| am) wondering))"
    r"\s*(?:about\s+|if\s+)?[,:]?\s*|^\s*(?:你好[，,。！! ]*)?"
    r"(?:请问|請問|麻烦问一下|我想知道|我想问|请告诉我|能不能告诉我|你知道)[，,：:]?\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,.]*(?:please|thanks?(?: you)?|谢谢|謝謝)\s*[.!。！]*\s*$", re.IGNORECASE)


class Rewrite(ModelStep):
    """Searches for a clearer wording of the question.

    By ``"rules"``, polite phrases are removed and the spelling is corrected, also in names, which
    retrievers leave unchanged (see `knotwork._retrieval.question`). By ``"model"``, a language
    model rewrites the question.
    """

    name = "rewrite"
    precedes = True

    @bounded
    class Options:
        by: RulesOrModel = "rules"

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the rewritten question; its query is the original one."""
        text = query.text
        if self._model is None:
            text, _ = correct_spelling(without_politeness(query.text), self._store, names=True)
        text, notes = self._try(
            lambda model: ask_rewriting(query.text, model), text, "The question was not rewritten"
        )
        evidence = self.base.retrieve(Query(text, query.k))
        trace = (f"Asked as: {text}",) if text != query.text else ()
        return replace(
            evidence,
            query=query,
            trace=(*trace, *evidence.trace),
            notes=(*evidence.notes, *notes),
        )


def without_politeness(text: str) -> str:
    """Return the question without polite phrases, or the question if nothing else is left."""
    bare = _THANKS.sub("", _POLITE.sub("", text, count=1))
    return bare if content_terms(bare) else text
