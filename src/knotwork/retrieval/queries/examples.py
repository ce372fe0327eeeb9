"""Questions with their statements: the nearest to a new question show how to write one."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder, FloatMatrix
from knotwork.inference.similarity import to_similarity
from knotwork.retrieval.queries.values import ValueMention
from knotwork.text.terms import content_terms

VALUE_MARK = "VALUE"
"""What stands for a stored value, so that questions are compared by what they ask."""

_VECTOR_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Example:
    """A question and a statement that answers it."""

    question: str
    statement: str


class ExampleBook:
    """Examples by similarity: words weighed by how rare they are, and vectors where there are."""

    def __init__(self, examples: Sequence[Example], *, embedder: Embedder | None = None) -> None:
        self.examples = tuple(examples)
        self._embedder = embedder
        self._terms = [frozenset(content_terms(item.question)) for item in self.examples]
        frequency = Counter(term for found in self._terms for term in found)
        total = max(len(self.examples), 1)
        self._weights = {term: math.log1p(total / n) for term, n in frequency.items()}
        self._unknown = math.log1p(total)
        self._vectors: FloatMatrix | None = None

    def nearest(
        self, question: str, *, k: int = 3, mentions: Sequence[ValueMention] = ()
    ) -> list[tuple[Example, float]]:
        """Return the ``k`` examples most like a question, with how like they are, from 0 to 1."""
        if not self.examples:
            return []
        masked = mask_values(question, mentions)
        scores = self._by_words(masked)
        if self._embedder is not None:
            if self._vectors is None:
                self._vectors = self._embedder.embed([item.question for item in self.examples])
            cosines = self._vectors @ self._embedder.embed([masked])[0]
            near = np.clip(to_similarity(cosines, self._embedder.name), 0.0, 1.0)
            scores = (1 - _VECTOR_SHARE) * scores + _VECTOR_SHARE * near
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.examples[int(i)], float(scores[int(i)])) for i in order]

    def _by_words(self, question: str) -> FloatMatrix:
        wanted = set(content_terms(question))
        total = sum(self._weights.get(term, self._unknown) for term in wanted) or 1.0
        found = []
        for terms in self._terms:
            shared = sum(self._weights[term] for term in wanted & terms)
            all_of_it = sum(self._weights[term] for term in terms) or 1.0
            found.append(2 * shared / (total + all_of_it))
        return np.array(found, dtype=np.float32)


def mask_values(question: str, mentions: Sequence[ValueMention]) -> str:
    """Return a question with a mark in the place of each stored value that it names."""
    for mention in sorted(mentions, key=lambda m: -m.span.start):
        start, end = mention.span.start, mention.span.end
        question = f"{question[:start]}{VALUE_MARK}{question[end:]}"
    return question


def read_examples(path: Path) -> list[Example]:
    """Read examples from lines of JSON with ``question`` and ``statement``.

    Raises ConfigError that names the line that is not one.
    """
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{path}, line {number} is not JSON: {error.msg}.") from error
        if not isinstance(record, Mapping) or not {"question", "statement"} <= record.keys():
            raise ConfigError(f"{path}, line {number} lacks `question` or `statement`.")
        found.append(Example(str(record["question"]), str(record["statement"])))
    return found
