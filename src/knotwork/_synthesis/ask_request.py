"""A question with its options (`AskRequest`), its searcher, and modes of answering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypedDict

from knotwork._text.visible import visible_text
from knotwork.errors import UnknownName
from knotwork.records import Evidence, MemoryCitation, PropertyValue

if TYPE_CHECKING:
    from knotwork._inference.model_registry import QueryModels
    from knotwork._retrieval.filters import FilterSpec
    from knotwork._stores.base import Store


Recall = Callable[[str], Sequence[MemoryCitation]]
"""Returns the remembered facts about the names in a question, numbered from 1."""


class AskMode(StrEnum):
    """How a question is answered. All but `auto` degrade to what the index holds."""

    AUTO = "auto"
    """One of basic, local and global, chosen by rules from the words of the question."""
    BASIC = "basic"
    """From passages alone."""
    LOCAL = "local"
    """From passages, and the entities, relations and reports around what the question names."""
    GLOBAL = "global"
    """From the reports of the communities nearest to the question."""
    MAP_REDUCE = "map-reduce"
    """From every report that a model finds relevant, level by level, each read on its own."""
    HYBRID = "hybrid"
    """From what local and global bring, in one context."""
    DRIFT = "drift"
    """From reports to further questions, each answered locally, and from those to the answer."""


ASK_MODES: tuple[str, ...] = tuple(mode.value for mode in AskMode)


LOCAL_TOKENS = 7_400
GLOBAL_TOKENS = 3_700
FIRST_GLOBAL_TOKENS = 6_000
"""Of the first global question, the reports that it has written included."""
DRIFT_TOKENS = 14_000
MAP_REDUCE_TOKENS = 30_000
"""Tokens in and out of one question, prompts included, at most, with the usual
``answer.context_tokens``. A question that is longer than all of that is not covered."""

FIRST_REPORTS_TOKENS = FIRST_GLOBAL_TOKENS - GLOBAL_TOKENS
FURTHER_REPORTS_TOKENS = 1_100
"""Tokens that a later global question may spend on reports; they are taken from its material."""


class AskOptions(TypedDict, total=False):
    """The fields of `AskRequest` beside the question, as keyword arguments of `ask`."""

    retriever: str | None
    k: int | None
    filters: FilterSpec | None
    min_score: float | None
    retrieval_query: str | None
    query_params: Mapping[str, PropertyValue] | None
    turns: Sequence[tuple[str, str]]
    recall: Recall | None
    mode: str
    use_llm: bool
    expand: bool
    classify: bool
    fallback: bool
    retry: bool
    budget: str


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question, how passages are found for it, and how a language model takes part.

    Raises UnknownName for an unknown mode.
    """

    question: str
    retriever: str | None = None
    """A retriever or composition of retrievers; by default `retrieval.retriever`."""
    k: int | None = None
    """How many passages to find; by default `retrieval.k`."""
    filters: FilterSpec | None = None
    """Restricts the search to documents and pages, as ``"author = 'Ann' and date >= 2023"``."""
    min_score: float | None = None
    """Passages that score less, on the scale of the retriever, are left out."""
    retrieval_query: str | None = None
    """Read-only Cypher over the hits: see `KnowledgeBase.search`."""
    query_params: Mapping[str, PropertyValue] | None = None
    """The parameters of ``retrieval_query``."""
    turns: Sequence[tuple[str, str]] = ()
    """Earlier questions of the conversation with their answers, the last one last. A question that
    refers to them is rewritten so that it stands alone, and a note says how."""
    recall: Recall | None = None
    """Returns remembered facts for a question that stands alone. Those that answer it come first;
    a model gets them beside the passages."""
    mode: str = AskMode.AUTO
    """The value of an `AskMode`."""
    use_llm: bool = True
    """Whether a language model takes part, if one is set."""
    expand: bool = False
    """Whether the model finds keywords and synonyms to search by as well."""
    classify: bool = False
    """Whether the model chooses the mode if it is "auto"."""
    fallback: bool = True
    """Whether sentences are quoted, with a note, if the model fails; else its error is raised."""
    retry: bool = False
    """Whether the model is asked again for a reply that could not be used before."""
    budget: str = ""
    """A ceiling of tokens or money, as `parse_ceiling` reads it."""

    def __post_init__(self) -> None:
        if self.mode not in ASK_MODES:
            raise UnknownName("mode", self.mode, ASK_MODES)
        object.__setattr__(self, "mode", AskMode(self.mode))
        object.__setattr__(self, "question", visible_text(self.question))

    @classmethod
    def of(cls, question: str | AskRequest, options: AskOptions) -> AskRequest:
        """Return a request as it is, or that of a text with options.

        Raises UnknownName for an unknown mode, TypeError for options beside a request.
        """
        if not isinstance(question, AskRequest):
            return cls(question, **options)
        if given := sorted(name for name, value in options.items() if value is not None):
            raise TypeError(
                f"An AskRequest holds its options; got {', '.join(given)} beside it. "
                "Use dataclasses.replace to change the request."
            )
        return question


class Searcher(Protocol):
    """Searches the part of an index that a request is about, with the options of that request.

    ``store`` is the index, or what a filter leaves of it. ``question`` is that of the request
    without the words that became the filter, and ``notes`` say which these were.
    """

    @property
    def store(self) -> Store: ...
    @property
    def models(self) -> QueryModels: ...
    @property
    def question(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def search(self, text: str) -> Evidence:
        """Return the passages that are relevant to a text. Raises as `KnowledgeBase.search`."""

    def fill_prompt(self, tokens: int) -> None:
        """From now on also find further hits, to fill a prompt of ``tokens``."""
