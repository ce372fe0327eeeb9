"""Routes for evaluations: measure retrievers on questions, and compare them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Annotated, Any

from fastapi import File, Form, Path, Query, UploadFile

from knotwork._extensions.evaluation.metrics import PairedComparison, compare_paired
from knotwork._extensions.evaluation.questions import (
    QUESTIONS_FILE,
    UNANSWERABLE_FILE,
    EvaluationCase,
    QuestionSet,
    read_question_set,
)
from knotwork._extensions.evaluation.retriever_runs import RANKED_DEPTH, read_retrievers
from knotwork._extensions.server.access import Caller, ReadWhole, Routes, Server, WriteWorkspace
from knotwork._extensions.server.evaluation_job import (
    Evaluation,
    EvaluationStore,
    MeasuredQuestion,
    OutcomeShape,
    PlanShape,
    summarize_results,
)
from knotwork._extensions.server.job_store import Job, utc_now
from knotwork._extensions.server.keys import KeyRole
from knotwork._extensions.server.schemas import MOST_FILTER_CHARACTERS, MOST_PASSAGES
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.uploads import QuestionsRoute, ReceivedFile
from knotwork._extensions.server.workspaces import Workspace
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.call_budget import parse_ceiling
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._shapes.base import Json, Shape, typed
from knotwork.errors import (
    Conflict,
    InvalidRequest,
    MissingCapability,
    NotPermitted,
    RequestTooLarge,
    RetrievalError,
    UnknownName,
)

_EVALUATION: dict[str, Any] = {
    **{name: field.annotation for name, field in PlanShape.model_fields.items()},
    **typed(str, "state job finished"),
    "outcomes": list[OutcomeShape],
}
EVALUATION = Shape(
    "EvaluationShape",
    None,
    "An evaluation with its results so far; ``state`` is that of its newest job. "
    "``unanswerable`` counts questions without an answer, ``documents`` the documents of the index "
    "when it started. ``filters`` is the filter that documents had to match, empty for none.",
    **_EVALUATION,
)
EVALUATION_LIST = Shape(
    "EvaluationList", None, "Evaluations, newest first.", evaluations=EVALUATION.many, total=int
)
CASE = Shape(
    "CaseShape",
    EvaluationCase,
    "A question with the result of each retriever; each group of ``gold`` documents states one "
    "fact.",
    "id question type gold answers is_answerable results",
    gold=(list[list[str]], lambda case: [sorted(group) for group in case.gold]),
    is_answerable=bool,
    results=list[MeasuredQuestion],
)
DETAILS = Shape(
    "EvaluationDetails",
    None,
    "An evaluation with a page of its questions; ``next`` is the start of the next page.",
    **_EVALUATION,
    cases=CASE.many,
    next=int | None,
)
SIDE = Shape(
    "SideShape", None, "One side of a comparison.", evaluation=str, name=str, retriever=str
)
METRIC = Shape(
    "MetricDifference",
    PairedComparison,
    "A metric of two sides on the same questions; ``wins`` counts questions where the first is "
    "better, ``p_value`` is that of a two-sided sign-flip permutation test.",
    **typed(float, "first second difference p_value"),
    **typed(int, "wins ties losses questions"),
)
PAIR = Shape(
    "PairedQuestion",
    None,
    "A question with the metrics of both sides.",
    **typed(str, "id question"),
    **typed(dict[str, float], "first second"),
)
DIFFERENCE = Shape(
    "DifferenceShape",
    None,
    "The paired difference of two sides. In ``cases``, the largest differences in ``sorted_by`` "
    "are first, in either direction.",
    **typed(SIDE.json, "first second"),
    questions=int,
    metrics=METRIC.named,
    sorted_by=str,
    cases=PAIR.many,
)
EvaluationJson = Annotated[Json, EVALUATION]

router = Routes("evaluations")
uploads = Routes("evaluations", route_class=QuestionsRoute)
"""Routes with a larger limit for the request body."""

EvaluationId = Annotated[str, Path(description="The id of an evaluation.", max_length=40)]
MOST_QUESTIONS = 10_000
_MOST_RETRIEVERS = 20
_KIND = "evaluate"


@uploads.post("/workspaces/{workspace}/evaluations", status_code=202)
def start_evaluation(  # noqa: PLR0913, PLR0917  one for each field
    key: Caller,
    server: Server,
    workspace: WriteWorkspace,
    questions: Annotated[
        UploadFile | None,
        File(description="JSON Lines: question, with gold_pids (documents), answers, or both."),
    ] = None,
    unanswerable: Annotated[
        UploadFile | None, File(description="JSON Lines: questions without an answer.")
    ] = None,
    retrievers: Annotated[
        list[Annotated[str, Form(max_length=500)]],
        Form(max_length=_MOST_RETRIEVERS, description="Names, repeated or separated by commas."),
    ] = ["auto", "hybrid", "dense", "bm25"],  # noqa: B006  a default for the schema; never modified
    again: Annotated[
        str, Form(max_length=40, description="Id of an evaluation, instead of `questions`.")
    ] = "",
    name: Annotated[str, Form(max_length=200)] = "",
    k: Annotated[int, Form(ge=1, le=MOST_PASSAGES, description="Ranked passages.")] = RANKED_DEPTH,
    answers: Annotated[bool, Form(description="Whether to judge answers, too.")] = False,
    use_llm: Annotated[bool, Form(description="Whether to use a language model.")] = False,
    budget: Annotated[str, Form(max_length=40, description="Ceiling for all questions.")] = "",
    filters: Annotated[
        str,
        Form(
            max_length=MOST_FILTER_CHARACTERS,
            description="Filter for documents and pages, such as \"author = 'Ann' and "
            'date >= 2023"; the text form of …/ask. Filtered-out gold documents count as missed.',
        ),
    ] = "",
) -> EvaluationJson:
    """Upload questions or name an evaluation, and start a job that asks them of each retriever."""
    if budget:
        parse_ceiling(budget)
    if use_llm and server.limits.question_budget and not key.role.covers(KeyRole.ADMIN):
        raise NotPermitted(
            "This server limits the budget of a question, and an evaluation has many.",
            fix="Omit `use_llm`, or use a key with the role admin.",
        )
    if unanswerable is not None and not answers:
        raise InvalidRequest(
            "Questions without an answer are measured by answers only.",
            fix="Set `answers` to true, or omit `unanswerable`.",
        )
    names = read_retrievers(",".join(retrievers))
    if len(names) > _MOST_RETRIEVERS:
        raise InvalidRequest(
            f"{len(names)} retrievers were given; the limit is {_MOST_RETRIEVERS}.",
            fix="Name fewer.",
        )
    workspace.base.filtered_store(filters)  # raises FilterError for an invalid filter
    _check_retrievers(workspace, names)
    if again:
        folder = EvaluationStore(workspace).find(again).path
        kept = (QUESTIONS_FILE, UNANSWERABLE_FILE) if answers else (QUESTIONS_FILE,)
        files = [ReceivedFile(file, folder / file) for file in kept]
    elif questions is not None:
        files = [ReceivedFile.of(file) for file in (questions, unanswerable) if file is not None]
    else:
        raise InvalidRequest(
            "No questions were sent.",
            fix="Send a file as `questions`, or the id of an evaluation as `again`.",
        )
    cases = _read_questions(workspace, files)
    plan = PlanShape(
        id=secrets.token_hex(8),
        created=utc_now(),
        name=name.strip() or files[0].name,
        retrievers=names,
        k=k,
        answers=answers,
        use_llm=use_llm,
        budget=budget,
        filters=filters.strip(),
        questions=len(cases.cases),
        unanswerable=len(cases.unanswerable),
        documents=workspace.base.stats().documents,
    )
    evaluation = EvaluationStore(workspace).create(plan, cases)
    job = server.jobs.submit(workspace.name, _KIND, {"evaluation": plan.id})
    return _describe(evaluation, [job])


@router.get("/workspaces/{workspace}/evaluations")
def list_evaluations(
    server: Server,
    workspace: ReadWhole,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Annotated[Json, EVALUATION_LIST]:
    """List evaluations, newest first, with the results of each retriever."""
    found = EvaluationStore(workspace).listed()
    jobs = _jobs(server, workspace)
    page = [_describe(item, jobs) for item in found[start : start + limit]]
    return EVALUATION_LIST(evaluations=page, total=len(found))


@router.get("/workspaces/{workspace}/evaluations/{evaluation}")
def show_evaluation(
    server: Server,
    workspace: ReadWhole,
    evaluation: EvaluationId,
    start: Annotated[int, Query(ge=0, le=10**9, description="Position of the first question.")] = 0,
    limit: Annotated[int, Query(ge=0, le=500, description="Maximum of questions.")] = 100,
    question: Annotated[
        str | None, Query(max_length=1_000, description="Id of the only question to return.")
    ] = None,
) -> Annotated[Json, DETAILS]:
    """Return an evaluation with a page of its questions and the results of each retriever."""
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
    answerable = len(questions.cases)
    return DETAILS(
        _describe(found, _jobs(server, workspace)),
        cases=[
            CASE(questions.all[position], is_answerable=position < answerable, results=measured)
            for position, measured in results.items()
        ],
        next=start + limit if rest else None,
    )


@router.get("/workspaces/{workspace}/evaluations/{evaluation}/difference")
def compare_evaluations(
    workspace: ReadWhole,
    evaluation: EvaluationId,
    retriever: Annotated[str, Query(max_length=500, description="Default: the first.")] = "",
    other: Annotated[
        str, Query(max_length=40, description="The second evaluation. Default: the same.")
    ] = "",
    other_retriever: Annotated[
        str, Query(max_length=500, description="Default: the first other retriever.")
    ] = "",
    metric: Annotated[str, Query(max_length=40, description="Metric to sort questions by.")] = "",
    limit: Annotated[
        int, Query(ge=0, le=MOST_QUESTIONS, description="Maximum of questions.")
    ] = 100,
) -> Annotated[Json, DIFFERENCE]:
    """Compare two retrievers, of one or two evaluations, on their common questions.

    Each metric has the wins, ties and losses of the first retriever, and the p-value of the
    difference.
    """
    known = EvaluationStore(workspace)
    one = known.find(evaluation)
    second = known.find(other) if other else one
    first = retriever or one.plan.retrievers[0]
    rest = [name for name in second.plan.retrievers if second is not one or name != first]
    if not other_retriever and not rest:
        raise InvalidRequest(
            "The evaluation has only one retriever.", fix="Set `other` to another evaluation."
        )
    sides = ((one, first), (second, other_retriever or rest[0]))
    for side, name in sides:
        if name not in side.plan.retrievers:
            place = f" in the evaluation `{side.plan.id}`"
            raise UnknownName("retriever", name, side.plan.retrievers, place=place)
    found, others = (_measured_by(*side) for side in sides)
    common = [key for key in found if key in others and found[key].keys() & others[key].keys()]
    if not common:
        raise Conflict(
            "The two have no measured question in common.",
            fix="Compare finished evaluations of the same questions.",
        )
    metrics = {name: None for key in common for name in found[key] if name in others[key]}
    sorted_by = metric or next(iter(metrics))
    if sorted_by not in metrics:
        raise UnknownName("metric", metric, metrics)

    def distance(key: tuple[str, str]) -> float:
        return abs(found[key].get(sorted_by, 0.0) - others[key].get(sorted_by, 0.0))

    pairs = [(found[key], others[key]) for key in common]
    shown = sorted(common, key=lambda key: -distance(key))[:limit]
    described = [
        SIDE(evaluation=side.plan.id, name=side.plan.name, retriever=name) for side, name in sides
    ]
    return DIFFERENCE(
        first=described[0],
        second=described[1],
        questions=len(common),
        metrics={name: _compare_metric(pairs, name) for name in metrics},
        sorted_by=sorted_by,
        cases=[
            PAIR(id=key[0], question=key[1], first=found[key], second=others[key]) for key in shown
        ],
    )


@router.delete("/workspaces/{workspace}/evaluations/{evaluation}")
def delete_evaluation(
    server: Server, workspace: WriteWorkspace, evaluation: EvaluationId
) -> EvaluationJson:
    """Delete an evaluation with its results. A running one must be cancelled first."""
    server.jobs.check()
    known = EvaluationStore(workspace)
    shown = _describe(known.find(evaluation), _jobs(server, workspace))
    if shown["state"] in ("queued", "running", "stopping"):
        raise Conflict(
            "The evaluation is still running.",
            fix=f"Cancel its job first: POST …/jobs/{shown['job']}/cancel",
        )
    known.remove(evaluation)
    return shown


def _check_retrievers(workspace: Workspace, names: Sequence[str]) -> None:
    """Raise UnknownName or ConfigError for an invalid retriever.

    A valid retriever that cannot run on the index is skipped by the evaluation, with the reason.
    """
    base = workspace.base
    embedder = base.embedder if base.store.meta().get(EMBEDDER_META) else None
    for name in names:
        try:
            build_retriever(name, store=base.store, embedder=embedder)
        except (RetrievalError, MissingCapability):
            continue


def _read_questions(workspace: Workspace, files: Sequence[ReceivedFile]) -> QuestionSet:
    """Return the questions of one file, or of a second file without answers, too."""
    uris = {entry.uri for entry in workspace.base.documents() if entry.document_id}
    names = ["".join(c for c in file.name[:100] if c.isprintable()) for file in files]
    first, second = (*names, "")[:2]
    cases = read_question_set(*map(_read_lines, files), documents=uris, names=(first, second))
    if len(cases.all) > MOST_QUESTIONS:
        raise RequestTooLarge(
            f"There are {len(cases.all):,} questions; the limit is {MOST_QUESTIONS:,}.",
            fix="Send fewer at a time.",
        )
    return cases


def _read_lines(file: ReceivedFile) -> Iterator[str]:
    try:
        yield from file.path.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            "The questions are not encoded in UTF-8.", fix="Save the file as UTF-8."
        ) from error


def _jobs(server: Service, workspace: Workspace) -> list[Job]:
    return server.records.jobs(workspace.name, limit=500, kind=_KIND)


def _describe(evaluation: Evaluation, jobs: Sequence[Job]) -> Json:
    """Build the JSON of an evaluation; ``jobs`` are those of the workspace, newest first."""
    plan = evaluation.plan
    own = (job for job in jobs if job.arguments.get("evaluation") == plan.id)
    newest = next(own, None)
    summary = evaluation.summary()
    if summary is not None:
        state, finished, outcomes = "finished", summary.finished, summary.outcomes
    else:
        # The job may have been deleted, or never started because the server was killed.
        state, finished = (newest.state, newest.finished) if newest else ("cancelled", "")
        outcomes = summarize_results(plan.retrievers, evaluation.results(), {})
    return EVALUATION(
        dict(plan),
        state=state,
        job=newest.id if newest else "",
        finished=finished,
        outcomes=outcomes,
    )


MetricValues = dict[str, float]


def _measured_by(evaluation: Evaluation, retriever: str) -> dict[tuple[str, str], MetricValues]:
    """Return the metrics of each question that a retriever was asked, by its id and text."""
    cases = evaluation.questions().all
    return {
        (cases[result.position].id, cases[result.position].question): result.values
        for result in evaluation.results()
        if result.retriever == retriever
    }


def _compare_metric(pairs: list[tuple[MetricValues, MetricValues]], metric: str) -> Json:
    both = [(a[metric], b[metric]) for a, b in pairs if metric in a and metric in b]
    first, second = [a for a, _ in both], [b for _, b in both]
    compared = compare_paired(first, second)
    ties = len(both) - compared.wins - compared.losses
    return METRIC(
        compared, first=fmean(first), second=fmean(second), ties=ties, questions=len(both)
    )
