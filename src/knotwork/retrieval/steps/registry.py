"""Steps by name. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step by the ``module:class`` that makes it, imported when it is asked for.

    It is a retriever around another: made with ``base``, ``store``, ``embedder``, with ``model``
    where ``takes_model``, ``reranker`` where ``takes_reranker``, and with options as keywords.
    ``order`` says on which side of the retriever it stands in a specification, ``searches`` how
    often it asks the retriever at most.
    """

    place: str
    summary: str
    order: Literal["before", "behind"]
    takes_model: bool = False
    takes_reranker: bool = False
    searches: int = 1


STEPS: Mapping[str, StepPattern] = {
    "decompose": StepPattern(
        "knotwork.retrieval.steps.decompose:Decompose",
        "parts of a nested or comparing question, one after the other",
        "before",
        takes_model=True,
        searches=8,
    ),
    "expand": StepPattern(
        "knotwork.retrieval.steps.expand:Expand",
        "words of the best passages, and other names of the things in question, are searched too",
        "before",
        takes_model=True,
        searches=3,
    ),
    "hyde": StepPattern(
        "knotwork.retrieval.steps.hyde:Hyde",
        "a passage that may answer is searched for beside the question",
        "before",
        takes_model=True,
        searches=3,
    ),
    "rewrite": StepPattern(
        "knotwork.retrieval.steps.rewrite:Rewrite",
        "the question without phrases of politeness, its words as the index spells them",
        "before",
        takes_model=True,
    ),
    "budget": StepPattern(
        "knotwork.retrieval.steps.budget:Budget",
        "the best passages that fit into a number of tokens",
        "behind",
    ),
    "diversify": StepPattern(
        "knotwork.retrieval.steps.diversify:Diversify",
        "passages that say something new before those that repeat",
        "behind",
    ),
    "prune": StepPattern(
        "knotwork.retrieval.steps.prune:Prune",
        "only passages not far behind the best, only sentences that bear on the question",
        "behind",
    ),
    "rerank": StepPattern(
        "knotwork.retrieval.steps.rerank:Rerank",
        "the best passages looked at again, with the question, by features, a model or an encoder",
        "behind",
        takes_model=True,
        takes_reranker=True,
    ),
}
