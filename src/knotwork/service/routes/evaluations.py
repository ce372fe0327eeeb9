"""Routes of evaluations: measure retrievers on questions, and compare them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, File, Form, Path, Query, UploadFile

from knotwork.errors import (
    Conflict,
    InvalidRequest,
    NotPermitted,
    RequestTooLarge,
    RetrievalError,
    UnknownName,
)
from knotwork.evaluation.datasets import QuestionSet, read_question_set
from knotwork.evaluation.metrics import compare_paired
from knotwork.evaluation.retriever_runs import RANKED_DEPTH, read_retrievers
from knotwork.indexing.embedding import EMBEDDER_META
from knotwork.inference.call_budget import parse_ceiling
from knotwork.retrieval.retriever_builder import build_retriever
from knotwork.service.access import Caller, ReadWorkspace, Server, WriteWorkspace
from knotwork.service.evaluation_job import summarize_results
from knotwork.service.evaluation_store import (
    CaseShape,
    DifferenceShape,
    Evaluation,
    EvaluationDetails,
    EvaluationList,
    EvaluationShape,
    EvaluationStore,
    MeasuredQuestion,
    MetricDifference,
    PairedQuestion,
    PlanShape,
    SideShape,
    utc_now,
)
from knotwork.service.idempotency import IdempotencyKey, IdempotentUpload
from knotwork.service.job_store import Job
from knotwork.service.keys import AccessKey, KeyRole
from knotwork.service.responses import Envelope, wrap
from knotwork.service.schemas.answers import MOST_FILTER_CHARACTERS, MOST_PASSAGES
from knotwork.service.server import Service
from knotwork.service.uploads import SpooledFile
from knotwork.service.workspaces import Workspace

router = APIRouter(tags=["evaluations"])
uploads = APIRouter(tags=["evaluations"])
"""Apart, since what is sent may be larger here."""

EvaluationId = Annotated[str, Path(description="The id of an evaluation.", max_length=40)]
MOST_QUESTIONS = 10_000
_MOST_RETRIEVERS = 20
_KIND = "evaluate"


@uploads.post("/workspaces/{workspace}/evaluations", status_code=202)
async def start_evaluation(  # noqa: PLR0913, PLR0917  one for each field
    key: Caller,
    server: Server,
    workspace: WriteWorkspace,
    questions: Annotated[
        UploadFile,
        File(description="Lines of JSON: question, and gold_pids (documents) or answers, or both."),
    ],
    unanswerable: Annotated[
        UploadFile | None, File(description="The same, of questions without an answer.")
    ] = None,
    retrievers: Annotated[
        list[Annotated[str, Form(max_length=500)]],
        Form(max_length=_MOST_RETRIEVERS, description="Names, each by itself or with commas."),
    ] = ["auto", "hybrid", "dense", "bm25"],  # noqa: B006  the schema tells it; nothing changes it
    name: Annotated[str, Form(max_length=200)] = "",
    k: Annotated[int, Form(ge=1, le=MOST_PASSAGES, description="Passages ranked.")] = RANKED_DEPTH,
    answers: Annotated[bool, Form(description="Whether answers are judged, too.")] = False,
    use_llm: Annotated[bool, Form(description="Whether a language model takes part.")] = False,
    budget: Annotated[str, Form(max_length=40, description="For all questions together.")] = "",
    filters: Annotated[
        str,
        Form(
            max_length=MOST_FILTER_CHARACTERS,
            description="What documents and pages must fulfil, as \"author = 'Ann' and "
            'date >= 2023"; as the text of …/ask. Gold documents that do not count as missed.',
        ),
    ] = "",
    idempotency_key: IdempotencyKey = None,
) -> Envelope[EvaluationShape]:
    """Send questions, and have a job ask retrievers all of them."""
    server.jobs.check()
    _check_budget(server, key, budget, use_llm=use_llm)
    if unanswerable is not None and not answers:
        raise InvalidRequest(
            "Questions without an answer are measured by answers alone.",
            fix="Send `answers` as true, too, or leave them out.",
        )
    names = read_retrievers(",".join(retrievers))
    if len(names) > _MOST_RETRIEVERS:
        raise InvalidRequest(f"{_MOST_RETRIEVERS} retrievers are the most.", fix="Name fewer.")

    options = {
        "name": name.strip() or questions.filename or "",
        "retrievers": names,
        "k": k,
        "answers": answers,
        "use_llm": use_llm,
        "budget": budget,
        "filters": filters.strip(),
    }

    def start() -> EvaluationShape:
        workspace.base.filtered_store(filters)  # raises for a filter that cannot be read
        _check_retrievers(workspace, names)
        asked = _read_questions(workspace, questions, unanswerable)
        plan = _plan(workspace, asked, options)
        evaluation = EvaluationStore(workspace).create(plan, asked)
        job = server.jobs.submit(workspace.name, _KIND, {"evaluation": plan.id})
        return _describe(evaluation, [job])

    files = [questions, *([unanswerable] if unanswerable is not None else [])]
    sent = [SpooledFile(file.filename or "", file.file) for file in files]
    told = {"to": "evaluations", **options}
    repeats = IdempotentUpload(server, key, workspace, idempotency_key, files=sent, options=told)
    return wrap(await repeats.answer(start, EvaluationShape))


@router.get("/workspaces/{workspace}/evaluations")
async def list_evaluations(
    server: Server,
    workspace: ReadWorkspace,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Envelope[EvaluationList]:
    """List evaluations, the newest first, with what each retriever came to."""

    def read() -> EvaluationList:
        found = EvaluationStore(workspace).listed()
        jobs = _jobs(server, workspace)
        page = [_describe(item, jobs) for item in found[start : start + limit]]
        return EvaluationList(evaluations=page, total=len(found))

    return wrap(await server.threads.run(read))


@router.get("/workspaces/{workspace}/evaluations/{evaluation}")
async def show_evaluation(
    server: Server,
    workspace: ReadWorkspace,
    evaluation: EvaluationId,
    start: Annotated[int, Query(ge=0, le=10**9, description="The first question.")] = 0,
    limit: Annotated[int, Query(ge=0, le=500, description="Questions, at most.")] = 100,
    question: Annotated[
        str | None, Query(max_length=1_000, description="Only the one with this id.")
    ] = None,
) -> Envelope[EvaluationDetails]:
    """Return an evaluation, and for a page of its questions what each retriever came to."""

    def read() -> EvaluationDetails:
        found = EvaluationStore(workspace).find(evaluation)
        questions = found.questions()
        wanted = [
            position
            for position, case in enumerate(questions.all)
            if question is None or case.id == question
        ]
        shown, rest = wanted[start : start + limit], wanted[start + limit :]
        results: dict[int, list[MeasuredQuestion]] = {position: [] for position in shown}
        for result in found.results():
            if result.position in results:
                results[result.position].append(result)
        return EvaluationDetails(
            **dict(_describe(found, _jobs(server, workspace))),
            cases=list(_cases(questions, results)),
            next=start + limit if rest else None,
        )

    return wrap(await server.threads.run(read))


@router.get("/workspaces/{workspace}/evaluations/{evaluation}/difference")
async def compare_evaluations(
    server: Server,
    workspace: ReadWorkspace,
    evaluation: EvaluationId,
    retriever: Annotated[str, Query(max_length=500, description="By default the first.")] = "",
    other: Annotated[str, Query(max_length=40, description="By default the same.")] = "",
    other_retriever: Annotated[
        str, Query(max_length=500, description="By default the first that is another.")
    ] = "",
    metric: Annotated[str, Query(max_length=40, description="What questions are sorted by.")] = "",
    limit: Annotated[int, Query(ge=0, le=MOST_QUESTIONS, description="Questions told.")] = 100,
) -> Envelope[DifferenceShape]:
    """Compare two retrievers, of one evaluation or of two, on the questions that both were asked.

    Each metric comes with wins, ties and losses of the first, and the chance of such a difference
    between equals.
    """

    def read() -> DifferenceShape:
        known = EvaluationStore(workspace)
        one = known.find(evaluation)
        second = known.find(other) if other else one
        first = retriever or one.plan.retrievers[0]
        rest = [name for name in second.plan.retrievers if second is not one or name != first]
        if not other_retriever and not rest:
            raise InvalidRequest(
                "The evaluation has one retriever.", fix="Name an `other` evaluation."
            )
        sides = ComparedRetriever(one, first), ComparedRetriever(second, other_retriever or rest[0])
        return compare_sides(*sides, metric=metric, limit=limit)

    return wrap(await server.threads.run(read))


@router.delete("/workspaces/{workspace}/evaluations/{evaluation}")
async def delete_evaluation(
    server: Server, workspace: WriteWorkspace, evaluation: EvaluationId
) -> Envelope[EvaluationShape]:
    """Remove an evaluation with its results; one that is under way must be cancelled first."""

    def remove() -> EvaluationShape:
        server.jobs.check()
        known = EvaluationStore(workspace)
        shown = _describe(known.find(evaluation), _jobs(server, workspace))
        if shown.state in ("queued", "running"):
            raise Conflict(
                "The evaluation is under way.",
                fix=f"Cancel its job first: POST …/jobs/{shown.job}/cancel",
            )
        known.remove(evaluation)
        return shown

    return wrap(await server.threads.run(remove))


def _plan(workspace: Workspace, asked: QuestionSet, options: dict[str, Any]) -> PlanShape:
    return PlanShape(
        id=secrets.token_hex(8),
        created=utc_now(),
        questions=len(asked.cases),
        unanswerable=len(asked.unanswerable),
        documents=workspace.base.stats().documents,
        **options,
    )


def _check_budget(server: Service, key: AccessKey, budget: str, *, use_llm: bool) -> None:
    if budget:
        parse_ceiling(budget)
    if use_llm and server.limits.question_budget and not key.role.covers(KeyRole.ADMIN):
        raise NotPermitted(
            "This server sets the budget of a question, and an evaluation asks many.",
            fix="Leave out `use_llm`, or use a key with the role admin.",
        )


def _check_retrievers(workspace: Workspace, names: Sequence[str]) -> None:
    """Raise UnknownName or ConfigError for what is no retriever; whether each can work on the
    index, is told by the evaluation.
    """
    base = workspace.base
    embedder = base.embedder if base.store.meta().get(EMBEDDER_META) else None
    for name in names:
        try:
            build_retriever(name, store=base.store, embedder=embedder)
        except RetrievalError:
            continue


def _read_questions(
    workspace: Workspace, questions: UploadFile, unanswerable: UploadFile | None
) -> QuestionSet:
    uris = {entry.uri for entry in workspace.base.documents() if entry.document_id}
    files = [questions.file, *([unanswerable.file] if unanswerable is not None else [])]
    asked = read_question_set(
        *map(_lines, files),
        documents=uris,
        names=(_name_of(questions), _name_of(unanswerable)),
    )
    if len(asked.all) > MOST_QUESTIONS:
        raise RequestTooLarge(
            f"There are {len(asked.all):,} questions; the limit is {MOST_QUESTIONS:,}.",
            fix="Send fewer at a time.",
        )
    return asked


def _name_of(file: UploadFile | None) -> str:
    """Return what a file is called in messages."""
    return "".join(c for c in (file.filename or "")[:100] if c.isprintable()) if file else ""


def _lines(file: BinaryIO) -> Iterator[str]:
    file.seek(0)
    try:
        yield from file.read().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidRequest("The questions are not in UTF-8.", fix="Convert them.") from error


def _jobs(server: Service, workspace: Workspace) -> list[Job]:
    return server.records.jobs(workspace.name, limit=500, kind=_KIND)


def _describe(evaluation: Evaluation, jobs: Sequence[Job]) -> EvaluationShape:
    """Return an evaluation as it stands; ``jobs`` are those of the workspace, the newest first."""
    plan = evaluation.plan
    own = (job for job in jobs if job.arguments.get("evaluation") == plan.id)
    newest = next(own, None)
    summary = evaluation.summary()
    if summary is not None:
        state, finished, outcomes = "finished", summary.finished, summary.outcomes
    else:
        # Its job may be forgotten, or was never started by a server that was killed.
        state, finished = (newest.state, newest.finished) if newest else ("cancelled", "")
        outcomes = summarize_results(plan.retrievers, evaluation.results(), {})
    return EvaluationShape(
        **dict(plan),
        state=state,
        job=newest.id if newest else "",
        finished=finished,
        outcomes=outcomes,
    )


def _cases(
    questions: QuestionSet, results: dict[int, list[MeasuredQuestion]]
) -> Iterator[CaseShape]:
    for position, measured in results.items():
        case = questions.all[position]
        yield CaseShape(
            id=case.id,
            question=case.question,
            type=case.type,
            gold=[sorted(group) for group in case.gold],
            answers=list(case.answers),
            is_answerable=position < len(questions.cases),
            results=measured,
        )


MetricValues = dict[str, float]


@dataclass(frozen=True, slots=True)
class ComparedRetriever:
    """One retriever of one evaluation."""

    evaluation: Evaluation
    retriever: str

    def __post_init__(self) -> None:
        known = self.evaluation.plan.retrievers
        if self.retriever not in known:
            place = f" in the evaluation `{self.evaluation.plan.id}`"
            raise UnknownName("retriever", self.retriever, known, place=place)

    def describe(self) -> SideShape:
        """Return the side as JSON."""
        plan = self.evaluation.plan
        return SideShape(evaluation=plan.id, name=plan.name, retriever=self.retriever)

    def values(self) -> dict[tuple[str, str], MetricValues]:
        """Return the metrics by question, as its id and its text."""
        cases = self.evaluation.questions().all
        return {
            (cases[result.position].id, cases[result.position].question): result.values
            for result in self.evaluation.results()
            if result.retriever == self.retriever
        }


def compare_sides(
    one: ComparedRetriever, other: ComparedRetriever, *, metric: str, limit: int
) -> DifferenceShape:
    """Compare two sides on all questions on which both were measured.

    Up to ``limit`` questions are told, those first that differ most in a metric, by default the
    first. Raises UnknownName for a metric that was not measured, Conflict without a common
    question.
    """
    found, others = one.values(), other.values()
    common = [key for key in found if key in others and found[key].keys() & others[key].keys()]
    if not common:
        raise Conflict(
            "The two have no question in common that was measured.",
            fix="Compare evaluations of the same questions, when they are done.",
        )
    metrics = {name: None for key in common for name in found[key] if name in others[key]}
    sorted_by = metric or next(iter(metrics))
    if sorted_by not in metrics:
        raise UnknownName("metric", metric, metrics)

    def distance(key: tuple[str, str]) -> float:
        return abs(found[key].get(sorted_by, 0.0) - others[key].get(sorted_by, 0.0))

    shown = sorted(common, key=lambda key: -distance(key))[:limit]
    return DifferenceShape(
        first=one.describe(),
        second=other.describe(),
        questions=len(common),
        metrics={
            name: _compare_metric([(found[key], others[key]) for key in common], name)
            for name in metrics
        },
        sorted_by=sorted_by,
        cases=[
            PairedQuestion(id=key[0], question=key[1], first=found[key], second=others[key])
            for key in shown
        ],
    )


def _compare_metric(
    pairs: list[tuple[MetricValues, MetricValues]], metric: str
) -> MetricDifference:
    both = [(a[metric], b[metric]) for a, b in pairs if metric in a and metric in b]
    first, second = [a for a, _ in both], [b for _, b in both]
    compared = compare_paired(first, second)
    return MetricDifference(
        first=fmean(first),
        second=fmean(second),
        difference=compared.difference,
        wins=compared.wins,
        ties=len(both) - compared.wins - compared.losses,
        losses=compared.losses,
        p_value=compared.p_value,
        questions=len(both),
    )
