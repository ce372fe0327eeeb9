"""Evaluations as JSON, which is also how their results are kept."""

from __future__ import annotations

from pydantic import BaseModel, Field

from knotwork.service.shapes.answers import AnswerShape


class EstimateShape(BaseModel):
    """The mean of a metric over ``questions`` of them, with its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    questions: int


class OutcomeShape(BaseModel):
    """What one retriever came to; ``skipped`` says why it could not run, and is empty if it did.

    Times are those of the search; those of answers are null where none were asked for. Tokens and
    money are sums; money is null where a price is not known.
    """

    retriever: str
    asked: int
    metrics: dict[str, EstimateShape]
    tokens: int
    money: str | None
    p50_ms: float | None
    p95_ms: float | None
    answer_p50_ms: float | None
    answer_p95_ms: float | None
    skipped: str = ""


class PlanShape(BaseModel):
    """What an evaluation asks: so many questions, and of them so many that have no answer.

    ``documents`` is how many the index had, ``filters`` what they had to fulfil, "" for nothing.
    """

    id: str
    name: str
    created: str
    retrievers: list[str]
    k: int
    answers: bool
    use_llm: bool
    budget: str
    filters: str = ""
    questions: int
    unanswerable: int
    documents: int


class EvaluationShape(PlanShape):
    """An evaluation and what came of it so far; ``state`` is that of its newest job."""

    state: str
    job: str
    finished: str
    outcomes: list[OutcomeShape]


class EvaluationList(BaseModel):
    """Evaluations, the newest first."""

    evaluations: list[EvaluationShape]
    total: int


class RankedShape(BaseModel):
    """A passage that was found, and whether its document is a gold one."""

    rank: int
    document: str
    document_id: str
    chunk_id: str
    score: float
    is_gold: bool


class MeasuredQuestion(BaseModel):
    """One question asked of one retriever; ``gold_rank`` is that of the first gold document among
    those found, null where there is none.
    """

    retriever: str
    position: int
    values: dict[str, float]
    seconds: float
    tokens: int
    money: str | None
    confidence: float
    gold_rank: int | None
    hits: list[RankedShape]
    answer: AnswerShape | None = None


class CaseShape(BaseModel):
    """A question, and what each retriever came to; each group of gold documents gives one fact."""

    id: str
    question: str
    type: str
    gold: list[list[str]]
    answers: list[str]
    is_answerable: bool
    results: list[MeasuredQuestion]


class EvaluationDetails(EvaluationShape):
    """An evaluation with a page of its questions; ``next`` is where the next page begins."""

    cases: list[CaseShape]
    next: int | None


class SideShape(BaseModel):
    """One side of a comparison."""

    evaluation: str
    name: str
    retriever: str


class MetricDifference(BaseModel):
    """Two sides over the same questions: how often the first is better (``wins``), and the chance
    of such a difference between equals (``p_value``, of a two-sided sign-flip permutation test).
    """

    first: float
    second: float
    difference: float
    wins: int
    ties: int
    losses: int
    p_value: float
    questions: int


class PairedQuestion(BaseModel):
    """A question on which both were measured."""

    id: str
    question: str
    first: dict[str, float]
    second: dict[str, float]


class DifferenceShape(BaseModel):
    """The paired difference of two; ``cases`` are those that differ most in ``sorted_by``."""

    first: SideShape
    second: SideShape
    questions: int
    metrics: dict[str, MetricDifference]
    sorted_by: str
    cases: list[PairedQuestion] = Field(description="The largest differences first, either way.")
