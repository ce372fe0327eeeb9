"""Routes for threads: the questions and answers that a key keeps on the server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import Response
from pydantic import Field

from knotwork._extensions.server.access import Caller, ReadWorkspace, Routes, Server
from knotwork._extensions.server.schemas import RequestModel
from knotwork._extensions.server.threads import (
    LONGEST_TITLE,
    MOST_TURNS,
    Thread,
    ThreadsOfKey,
    as_markdown,
)
from knotwork._shapes.base import Json, Shape, typed

TURN = Shape(
    "ThreadTurnShape",
    None,
    "A question, how it was understood, and its answer as …/ask returns it.",
    **typed(str, "question understood"),
    answer=dict[str, Any],
)
THREAD = Shape("ThreadShape", Thread, "A thread.", "id title turns updated", turns=TURN.many)
HEAD = Shape("ThreadHead", None, "A thread in a list.", id=str, title=str, turns=int, updated=str)
THREAD_LIST = Shape("ThreadList", None, "The threads of the key, newest first.", threads=HEAD.many)

router = Routes("threads")

MARKDOWN = "text/markdown; charset=utf-8"

ThreadId = Annotated[str, Path(description="The id of a thread.", max_length=40)]


class GivenTurn(RequestModel):
    """A turn of a thread."""

    question: str = Field(max_length=2_000)
    understood: str = Field("", max_length=2_000, description="By default the question.")
    answer: dict[str, Any] = Field({}, description="The answer as …/ask returns it.")


class GivenThread(RequestModel):
    """A thread, or what changes of one."""

    title: str | None = Field(None, max_length=LONGEST_TITLE)
    turns: list[GivenTurn] | None = Field(None, max_length=MOST_TURNS)

    def given_turns(self) -> list[Json] | None:
        """Return the turns to store, None if none are given."""
        if self.turns is None:
            return None
        return [
            {**turn.model_dump(), "understood": turn.understood or turn.question}
            for turn in self.turns
        ]


@router.get("/workspaces/{workspace}/threads")
def list_threads(key: Caller, workspace: ReadWorkspace) -> Annotated[Json, THREAD_LIST]:
    """List the threads of the key."""
    return THREAD_LIST(threads=ThreadsOfKey(workspace, key).listed())


@router.post("/workspaces/{workspace}/threads", status_code=201)
def create_thread(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: GivenThread
) -> Thread:
    """Create a thread. `thread` in …/ask then adds each question with its answer to it."""
    server.jobs.check()
    return ThreadsOfKey(workspace, key).create(asked.title or "", asked.given_turns() or ())


@router.get("/workspaces/{workspace}/threads/{thread}.md", response_class=Response)
def export_thread(key: Caller, workspace: ReadWorkspace, thread: ThreadId) -> Response:
    """Return a thread as Markdown, each answer with its sources."""
    kept = ThreadsOfKey(workspace, key).find(thread)
    return Response(as_markdown(kept.title, kept.turns), media_type=MARKDOWN)


@router.post("/workspaces/{workspace}/threads.md", response_class=Response)
def write_thread(workspace: ReadWorkspace, asked: GivenThread) -> Response:
    """Return a thread that is not stored as Markdown, each answer with its sources."""
    del workspace
    return Response(as_markdown(asked.title or "", asked.given_turns() or ()), media_type=MARKDOWN)


@router.get("/workspaces/{workspace}/threads/{thread}")
def get_thread(key: Caller, workspace: ReadWorkspace, thread: ThreadId) -> Thread:
    """Return a thread with its turns."""
    return ThreadsOfKey(workspace, key).find(thread)


@router.put("/workspaces/{workspace}/threads/{thread}")
def change_thread(
    key: Caller, server: Server, workspace: ReadWorkspace, thread: ThreadId, asked: GivenThread
) -> Thread:
    """Change the title of a thread, or replace its turns."""
    server.jobs.check()
    threads = ThreadsOfKey(workspace, key)
    return threads.change(thread, title=asked.title, turns=asked.given_turns())


@router.delete("/workspaces/{workspace}/threads/{thread}")
def delete_thread(
    key: Caller, server: Server, workspace: ReadWorkspace, thread: ThreadId
) -> Thread:
    """Delete a thread, and return it."""
    server.jobs.check()
    return ThreadsOfKey(workspace, key).delete(thread)
