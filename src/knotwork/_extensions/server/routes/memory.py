"""Routes for conversations, and for the facts that each key has stated in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from fastapi import Path, Query
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, Field, model_validator

from knotwork._extensions.server.access import (
    Caller,
    ReadWorkspace,
    Routes,
    Server,
    WriteWorkspace,
    require,
)
from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.memories import check_room, known_facts, stored_facts
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.responses import (
    EVENT_RESPONSES,
    EventStream,
)
from knotwork._extensions.server.routes.ask import (
    NamedEvent,
    check_question,
    name_step,
    stream_events,
)
from knotwork._extensions.server.schemas import (
    AnswerOptions,
    FilterText,
    Passages,
    RequestModel,
    Retriever,
    Text,
    TurnShape,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._run import Run, Steps
from knotwork._shapes.base import Json, Shape
from knotwork._synthesis import ask_request
from knotwork._text.dates import is_before, read_moment
from knotwork.agents._chat import (
    Chat,
    ChatResponse,
    Conversation,
    MemoryOffer,
    MemoryUpdate,
    local_now,
)
from knotwork.agents._fact_memory import FactMemory, RememberedFact
from knotwork.agents._fact_rules import split_message
from knotwork.agents._shapes import CHAT_REPLY
from knotwork.errors import NotFound

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

router = Routes("memory")

FactId = Annotated[str, Path(description="The id of a fact.", max_length=64)]
OfferId = Annotated[str, Path(description="The id of an offer.", max_length=64)]


@router.post("/workspaces/{workspace}/chat")
def chat(key: Caller, server: Server, workspace: ReadWorkspace, asked: ChatMessage) -> ChatResponse:
    """Answer the question of a message from the memory and the documents; store or offer its facts.

    "Remember that …" stores facts, which needs a key that may write. Facts of other statements are
    offered to such a key: accept or refuse them by the id of the offer.
    """
    question = _check_message(server, key, asked)
    return Run(_chat(server, workspace, key, asked, question)).result()


@router.post(
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
        run = Run(_chat(server, workspace, key, asked, question))
        for step in run:
            yield from name_step(step, workspace)
        yield "done", CHAT_REPLY(run.result())

    return await stream_events(server.threads, steps)


def _check_message(server: Service, key: AccessKey, asked: ChatMessage) -> ask_request.AskRequest:
    """Check a message against the limits of the server and the role of its key.

    Raises as `check_question`, and if it asks to remember something: NotPermitted, or Conflict on a
    read-only server.
    """
    request = ask_request.AskRequest(asked.message, budget=asked.budget, use_llm=asked.use_llm)
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
    request: ask_request.AskRequest,
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


@router.get("/workspaces/{workspace}/memory")
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


@router.post("/workspaces/{workspace}/memory", status_code=201)
def add_facts(
    key: Caller, server: Server, workspace: WriteWorkspace, asked: NewFacts
) -> MemoryUpdate:
    """Remember the facts of a statement, or one fact. A new value ends the old one."""
    server.jobs.check()
    request = ask_request.AskRequest(asked.statement or "")
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


@router.delete("/workspaces/{workspace}/memory")
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


@router.delete("/workspaces/{workspace}/memory/{fact}")
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


@router.get("/workspaces/{workspace}/memory/offers")
def list_offers(key: Caller, server: Server, workspace: ReadWorkspace) -> tuple[MemoryOffer, ...]:
    """List the offers to the key that were neither accepted nor refused, oldest first.

    The last 32 stay open until the server ends.
    """
    return server.offers.of(workspace.name, key).open()


@router.post("/workspaces/{workspace}/memory/offers/{offer}/accept")
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


@router.post("/workspaces/{workspace}/memory/offers/{offer}/refuse")
def refuse_offer(
    key: Caller, server: Server, workspace: WriteWorkspace, offer: OfferId
) -> MemoryOffer:
    """Drop an offer."""
    return server.offers.of(workspace.name, key).take(offer)
