"""Routes for questions: list retrievers, search, ask, stream answers, run agents, and converse.

A conversation remembers facts, which belong to the key that has stated them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

from fastapi import Path, Query
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, Field, model_validator

from knotwork._extensions.agents.agent import DEFAULT_STEPS, DEFAULT_TOKENS, DEFAULT_TOOLS
from knotwork._extensions.agents.agent import ask_agent as ask_by_agent
from knotwork._extensions.agents.chat import (
    Chat,
    ChatResponse,
    Conversation,
    MemoryOffer,
    MemoryUpdate,
    local_now,
)
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.agents.fact_rules import split_message
from knotwork._extensions.agents.moments import is_before, read_moment
from knotwork._extensions.agents.shapes import CHAT_REPLY
from knotwork._extensions.server import schemas
from knotwork._extensions.server.access import (
    Caller,
    ReadWorkspace,
    Routes,
    Server,
    WriteWorkspace,
    require,
)
from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.library import READING, files_being_read
from knotwork._extensions.server.limits import Threads
from knotwork._extensions.server.memories import check_room, known_facts, stored_facts
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.responses import (
    EVENT_RESPONSES,
    EventStream,
    describe_error,
    format_event,
    keep_alive,
    start_stream,
)
from knotwork._extensions.server.schemas import (
    AnswerOptions,
    FilterText,
    Passages,
    RequestModel,
    Retriever,
    SearchRequest,
    Text,
    TurnShape,
    UsesModel,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.threads import ThreadsOfKey
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.retriever_registry import AUTO_IS, RETRIEVERS, STEPS
from knotwork._run import Progress, Run, Stage, Steps, Verb
from knotwork._shapes.base import Json, Rounded, Shape, View
from knotwork._shapes.results import ANSWER, EVIDENCE, describe_evidence, split_pieces
from knotwork._synthesis.ask_request import ASK_MODES, AskRequest
from knotwork.errors import KnotworkError, NotFound, NotPermitted, RequestTooLarge
from knotwork.records import Answer, Evidence

MOST_STEPS = 20
MOST_AGENT_TOKENS = 200_000


class AgentRequest(RequestModel):
    """Answer a question step by step: plan, search, judge, and search again."""

    question: Text
    kind: Literal["iterative", "corrective", "reasoning", "revising"] = "iterative"
    tools: list[Annotated[Text, Field(max_length=500)]] = Field(
        list(DEFAULT_TOOLS),
        min_length=1,
        max_length=6,
        description="Retrievers to search with, the main one first.",
    )
    steps: int = Field(DEFAULT_STEPS, ge=1, le=MOST_STEPS, description="Maximum of searches.")
    tokens: int = Field(
        DEFAULT_TOKENS,
        ge=0,
        le=MOST_AGENT_TOKENS,
        description="Maximum of tokens for a language model that plans.",
    )
    k: Passages = None
    use_llm: UsesModel = True
    filters: FilterText | dict[str, Any] | None = Field(
        None, description="Filter for documents and pages, as in …/ask."
    )


def check_question(server: Service, key: AccessKey, request: AskRequest) -> AskRequest:
    """Check a request against the limits of the server, and return it with its budget.

    Raises RequestTooLarge if the question is too long, NotPermitted if the request overrides the
    budget of the server without an admin key.
    """
    limits = server.limits
    if len(request.question) > limits.question_chars:
        raise RequestTooLarge(
            f"The question has {len(request.question):,} characters; the limit is "
            f"{limits.question_chars:,}.",
            fix="Shorten the question, or raise service.question_chars.",
        )
    if not limits.question_budget:
        return request
    if request.budget and not key.role.covers(KeyRole.ADMIN):
        raise NotPermitted("This server sets the budget of questions.", fix="Omit `budget`.")
    return replace(request, budget=request.budget or limits.question_budget)


@Verb
def ask(server: Service, workspace: Workspace, request: AskRequest) -> Steps[Answer]:
    """Return the answer to a question; raises like `KnowledgeBase.ask`."""
    with trace("ask", workspace.name, request.retriever) as span:
        answer = yield from workspace.base.ask.run(request)
        server.metrics.note_answer(answer, span)
        return answer


def search(workspace: Workspace, request: AskRequest) -> Evidence:
    """Return the evidence for a question."""
    with trace("retrieval", workspace.name, request.retriever) as span:
        evidence = workspace.base.search(request)
        span.set_attribute("knotwork.hits", len(evidence.hits))
    return evidence


NamedEvent = tuple[str, object]
"""The name and the JSON data of a server-sent event."""


def name_step(
    step: Progress, workspace: Workspace, reading: Json | None = None
) -> Iterator[NamedEvent]:
    """Yield the events of one step; those of the last one are the pieces and the answer."""
    if step.stage == Stage.FOUND:
        hits = step.value.hits
        names = list(dict.fromkeys(seed for hit in hits for seed in hit.seeds))
        yield "stage", {"stage": "found", "passages": len(hits), "names": names}
        yield "sources", describe_evidence(step.value, workspace.base.store)
    elif step.stage == Stage.ASKED:
        yield "stage", {"stage": "writing", "model": step.note}
    elif step.stage == Stage.STEP:
        yield "stage", {"stage": step.note, "done": step.done, "total": step.total}
    elif step.stage == Stage.TEXT:
        yield "text", {"text": step.note}
    elif step.stage == Stage.WITHDRAWN:
        yield "withdrawn", {"reason": step.note}
    elif step.stage == Stage.FINISHED:
        if step.value.pieces:  # nothing else sent the text before
            yield from (("text", {"text": part}) for part in split_pieces(step.value))
        yield "done", GIVEN_ANSWER(step.value, reading=reading)


async def stream_events(threads: Threads, make: Callable[[], Iterator[NamedEvent]]) -> EventStream:
    """Return the stream of the events that a function makes in a thread.

    Errors before the first event are raised here, while an error response is still possible.
    """
    events = await start_stream(threads.iterate(make))
    return EventStream(keep_alive(format_events(events)))


async def format_events(events: AsyncGenerator[NamedEvent]) -> AsyncGenerator[bytes]:
    """Yield events as bytes; an error of Knotwork ends the stream with an `error` event."""
    try:
        async with aclosing(events) as open_events:
            async for name, data in open_events:
                yield format_event(data, event=name)
    except KnotworkError as error:
        yield format_event(describe_error(error), event="error")


GIVEN_ANSWER = View(
    "GivenAnswerShape",
    Answer,
    "An answer, and how many files are ready if some are still being read.",
    " ".join(ANSWER.keys),
    confidence=Rounded | None,
    reading=READING.json | None,
)

router = Routes("questions")


@router.get("/retrievers")
async def list_retrievers(_key: Caller) -> dict[str, Any]:
    """List the retrievers, the steps to compose them with, and the answer modes."""
    return {
        "auto": AUTO_IS,
        "retrievers": [
            {
                "name": entry.name,
                "summary": entry.summary,
                "needs_model": "model" in entry.needs,
                "needs_embedder": "embedder" in entry.needs,
            }
            for entry in RETRIEVERS.entries()
        ],
        "steps": [{"name": entry.name, "summary": entry.summary} for entry in STEPS.entries()],
        "modes": list(ASK_MODES),
    }


@router.post("/workspaces/{workspace}/search")
async def search_passages(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: SearchRequest
) -> Annotated[Json, EVIDENCE]:
    """Find the passages relevant to a question, each with the reasons why it was found."""
    question = check_question(server, key, _ask_request(asked))

    return await server.threads_for(question).run(
        lambda: describe_evidence(search(workspace, question), workspace.base.store)
    )


@router.post("/workspaces/{workspace}/ask")
async def ask_question(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: schemas.AskRequest
) -> Annotated[Json, GIVEN_ANSWER]:
    """Answer a question with a citation for each statement, or report that there is no answer."""
    question, keep = _of_thread(server, key, workspace, asked)

    def answer() -> Json:
        reading = files_being_read(server, workspace)
        return GIVEN_ANSWER(keep(ask(server, workspace, question)), reading=reading)

    return await server.threads_for(question).run(answer)


@router.post(
    "/workspaces/{workspace}/ask/stream",
    response_class=StreamingResponse,
    responses=EVENT_RESPONSES,
)
async def stream_answer(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: schemas.AskRequest
) -> EventStream:
    """Answer a question as server-sent events.

    Events are `reading` (how many files are ready, if some are still being read), `stage` (the
    current stage), `sources` (the passages found), `text` (words of a model, or a piece of a
    document), `withdrawn` (discard the text so far), and finally `done` (the complete answer) or
    `error`.
    """
    question, keep = _of_thread(server, key, workspace, asked)

    def steps() -> Iterator[NamedEvent]:
        if (reading := files_being_read(server, workspace)) is not None:
            yield "reading", reading
        for step in ask.run(server, workspace, question):
            if step.stage == Stage.FINISHED:
                keep(step.value)
            yield from name_step(step, workspace, reading)

    return await stream_events(server.threads_for(question), steps)


def _of_thread(
    server: Service, key: AccessKey, workspace: Workspace, asked: schemas.AskRequest
) -> tuple[AskRequest, Callable[[Answer], Answer]]:
    """Return a question with the turns of its thread, and what adds its answer to the thread.

    Raises as `check_question`; NotFound for an unknown thread, Conflict for one that is full or on
    a read-only server.
    """
    question = check_question(server, key, _ask_request(asked))
    if asked.thread is None:
        return question, lambda answer: answer
    server.jobs.check()
    threads = ThreadsOfKey(workspace, key)
    thread = threads.find(asked.thread)
    threads.check_room(thread)
    if not asked.as_written:
        question = replace(question, turns=thread.before())

    def keep(answer: Answer) -> Answer:
        threads.change(thread.id, answer=answer)
        return answer

    return question, keep


def _ask_request(asked: SearchRequest) -> AskRequest:
    """Return the request of a body, whose fields have the same names."""
    options = dict(asked)
    options.pop("thread", None)
    turns = () if options.pop("as_written", False) else options.get("turns", ())
    options["turns"] = tuple((turn.question, turn.answer) for turn in turns)
    return AskRequest(**options)


@router.post(
    "/workspaces/{workspace}/agent", response_class=StreamingResponse, responses=EVENT_RESPONSES
)
async def ask_agent(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AgentRequest
) -> EventStream:
    """Answer a question step by step, as server-sent events.

    Events are `step` (a search, its reason and its result), and finally `sources` (all passages,
    with the trace) and `done` (the answer), or `error`.
    """
    wanted = AskRequest(asked.question, use_llm=asked.use_llm)
    question = check_question(server, key, wanted)
    make = partial(_agent_events, server, workspace, asked, question.budget)
    return await stream_events(server.threads, make)


def _agent_events(
    server: Service, workspace: Workspace, asked: AgentRequest, budget: str
) -> Iterator[NamedEvent]:
    with trace("agent", workspace.name, f"agent:{asked.kind}") as span:
        options = asked.model_dump() | {"tools": list(dict.fromkeys(asked.tools))}
        run = ask_by_agent.run(workspace.base, **options, budget=budget)
        for step in run:
            yield "step", step.value
        answer, evidence = run.result()
        server.metrics.note_answer(answer, span)
        yield "sources", describe_evidence(evidence, workspace.base.store)
        yield "done", ANSWER(answer)


MOST_NAME_CHARACTERS = 500


def _read_date(text: str) -> str:
    moment = read_moment(text)
    if not moment:
        raise ValueError("is not a date; write it as 2024-02-01, 2024-02 or 2024")
    return moment


Name = Annotated[Text, Field(max_length=MOST_NAME_CHARACTERS)]
Moment = Annotated[str, Field(max_length=40), AfterValidator(_read_date)]
"""A day, a month or a year, such as 2024-02-01, 2024-02 or 2024."""


class ChatMessage(AnswerOptions):
    """A message of a conversation: a question, a statement of facts, or both."""

    message: Text
    turns: list[TurnShape] = Field(
        default=[],
        max_length=20,
        description="Earlier questions of the conversation with their answers, oldest first; a "
        "statement is the answer to an empty question.",
    )
    retriever: Retriever = None
    k: Passages = None
    filters: FilterText | None = Field(
        None, description="Filter for documents and pages, as in …/ask."
    )
    offers_only: bool = Field(
        default=False,
        description="Whether to offer facts also if the message asks to remember them, as for "
        "messages that come from a link.",
    )


class NewFact(RequestModel):
    """A fact to remember: Ann Lee | lives in | Oslo."""

    subject: Name
    relation: Name
    object: Name
    since: Moment | None = Field(None, description="When it began; by default now.")
    until: Moment | None = Field(None, description="When it ended.")
    source: str = Field("api", max_length=200, description="Where the fact comes from.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.until and not (self.since and is_before(self.since, self.until)):
            raise ValueError("`until` needs a `since` before it")
        return self


class NewFacts(RequestModel):
    """Remember the facts of a statement, or one fact."""

    statement: Text | None = Field(None, description="A text such as “Ann Lee lives in Oslo.”")
    fact: NewFact | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.statement is None) == (self.fact is None):
            raise ValueError("give either `statement` or `fact`")
        return self


FACT_LIST = Shape(
    "FactList",
    None,
    "Facts of the key, by subject, relation and time, or the newest first if a name was given.",
    facts=list[RememberedFact],
    total=int,
)
DELETED = Shape("DeletedFacts", None, "The number of deleted facts.", deleted=int)

memories = Routes("memory")

FactId = Annotated[str, Path(description="The id of a fact.", max_length=64)]
OfferId = Annotated[str, Path(description="The id of an offer.", max_length=64)]


@memories.post("/workspaces/{workspace}/chat")
def chat(key: Caller, server: Server, workspace: ReadWorkspace, asked: ChatMessage) -> ChatResponse:
    """Answer the question of a message from the memory and the documents; store or offer its facts.

    "Remember that …" stores facts, which needs a key that may write. Facts of other statements are
    offered to such a key: accept or refuse them by the id of the offer.
    """
    question = _check_message(server, key, asked)
    return Run(_chat(server, workspace, key, asked, question)).result()


@memories.post(
    "/workspaces/{workspace}/chat/stream",
    response_class=StreamingResponse,
    responses=EVENT_RESPONSES,
)
async def stream_chat(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: ChatMessage
) -> EventStream:
    """Reply to a message as server-sent events.

    Events are those of …/ask/stream, and finally `done` with the object of …/chat, or `error`.
    """
    question = _check_message(server, key, asked)

    def steps() -> Iterator[NamedEvent]:
        if (reading := files_being_read(server, workspace)) is not None:
            yield "reading", reading
        run = Run(_chat(server, workspace, key, asked, question))
        for step in run:
            yield from name_step(step, workspace)
        yield "done", CHAT_REPLY(run.result())

    return await stream_events(server.threads, steps)


def _check_message(server: Service, key: AccessKey, asked: ChatMessage) -> AskRequest:
    """Check a message against the limits of the server and the role of its key.

    Raises as `check_question`, and if it asks to remember something: NotPermitted, or Conflict on a
    read-only server.
    """
    request = AskRequest(asked.message, budget=asked.budget, use_llm=asked.use_llm)
    checked = check_question(server, key, request)
    if _stores_at_once(asked):
        require(key, KeyRole.WRITE)
        server.jobs.check()
    return checked


def _stores_at_once(asked: ChatMessage) -> bool:
    """Return whether a message asks to remember facts, and may do so without an offer."""
    return not asked.offers_only and split_message(asked.message).is_explicit


def _chat(
    server: Service,
    workspace: Workspace,
    key: AccessKey,
    asked: ChatMessage,
    request: AskRequest,
) -> Steps[ChatResponse]:
    stores = key.role.covers(KeyRole.WRITE) and not server.config.read_only
    stores_now = _stores_at_once(asked)
    opened = stored_facts if stores_now else known_facts
    with trace("chat", workspace.name, asked.retriever) as span, opened(workspace, key) as memory:
        if stores_now:
            check_room(memory)
        with Chat(
            workspace.base,
            memory=memory,
            turns=[(turn.question, turn.answer) for turn in asked.turns],
            offers=server.offers.of(workspace.name, key),
            stores=stores,
            offers_only=asked.offers_only,
            budget=request.budget,
            **asked.model_dump(include={"retriever", "k", "filters", "mode", "use_llm"}),
        ) as conversation:
            reply = yield from conversation.say.run(asked.message)
            if reply.answer is not None:
                server.metrics.note_answer(reply.answer, span)
            return reply


@memories.get("/workspaces/{workspace}/memory")
def list_facts(
    key: Caller,
    workspace: ReadWorkspace,
    name: Annotated[
        str, Query(max_length=MOST_NAME_CHARACTERS, description="Only facts about a name.")
    ] = "",
    at: Annotated[Moment | None, Query(description="Only facts valid at that time.")] = None,
    limit: Annotated[int, Query(ge=0, le=1_000, description="Maximum of facts.")] = 100,
) -> Annotated[Json, FACT_LIST]:
    """List the facts of the key, including those that are no longer valid."""
    with known_facts(workspace, key) as memory:
        most = memory.count()
        found = memory.about([name], at=at, limit=most) if name else memory.facts(at=at)
    return FACT_LIST(facts=found[:limit], total=len(found))


@memories.post("/workspaces/{workspace}/memory", status_code=201)
def add_facts(
    key: Caller, server: Server, workspace: WriteWorkspace, asked: NewFacts
) -> MemoryUpdate:
    """Remember the facts of a statement, or one fact. A new value ends the old one."""
    server.jobs.check()
    request = AskRequest(asked.statement or "")
    budget = check_question(server, key, request).budget
    with stored_facts(workspace, key) as memory:
        check_room(memory)
        if asked.fact is not None:
            return _learn(memory, asked.fact)
        with Chat(workspace.base, memory=memory, budget=budget) as conversation:
            return conversation.tell(asked.statement or "")


def _learn(memory: FactMemory, new: NewFact) -> MemoryUpdate:
    fact = RememberedFact(
        new.subject, new.relation, new.object, new.since or local_now(), new.until, new.source
    )
    if memory.holds(fact):
        return MemoryUpdate(note="This fact is known already.")
    return MemoryUpdate(ended=memory.learn(fact), learned=(fact,))


@memories.delete("/workspaces/{workspace}/memory")
def delete_facts(
    key: Caller,
    server: Server,
    workspace: WriteWorkspace,
    name: Annotated[
        str, Query(max_length=MOST_NAME_CHARACTERS, description="A name; without one, all facts.")
    ] = "",
) -> Annotated[Json, DELETED]:
    """Delete all facts of the key about a name, or all its facts and offers in the workspace."""
    server.jobs.check()
    if not name:
        server.offers.of(workspace.name, key).clear()
    with stored_facts(workspace, key) as memory:
        return DELETED(deleted=memory.forget(name) if name else memory.clear())


@memories.delete("/workspaces/{workspace}/memory/{fact}")
def delete_fact(
    key: Caller, server: Server, workspace: WriteWorkspace, fact: FactId
) -> RememberedFact:
    """Delete a fact as if it had never been stated; a fact that it ended continues."""
    server.jobs.check()
    with stored_facts(workspace, key) as memory:
        found = next((known for known in memory.facts() if known.id == fact), None)
        if found is None or not memory.retract(found):
            raise NotFound(
                f"Unknown fact `{fact}`.",
                fix="List the facts: GET /api/v1/workspaces/{workspace}/memory",
            )
    return found


@memories.get("/workspaces/{workspace}/memory/offers")
def list_offers(key: Caller, server: Server, workspace: ReadWorkspace) -> list[MemoryOffer]:
    """List the offers to the key that were neither accepted nor refused, oldest first.

    The last 32 stay open until the server ends.
    """
    return list(server.offers.of(workspace.name, key).open())


@memories.post("/workspaces/{workspace}/memory/offers/{offer}/accept")
def accept_offer(
    key: Caller, server: Server, workspace: WriteWorkspace, offer: OfferId
) -> MemoryUpdate:
    """Store the facts of an offer."""
    server.jobs.check()
    with stored_facts(workspace, key) as memory:
        check_room(memory)
        offers = server.offers.of(workspace.name, key)
        conversation = Conversation(memory, now=local_now, offers=offers)
        return conversation.accept(offer)


@memories.post("/workspaces/{workspace}/memory/offers/{offer}/refuse")
def refuse_offer(
    key: Caller, server: Server, workspace: WriteWorkspace, offer: OfferId
) -> MemoryOffer:
    """Drop an offer."""
    return server.offers.of(workspace.name, key).take(offer)
