"""The knowledge base of the session of an MCP request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from knotwork._extensions.server.access import lease
from knotwork._extensions.server.keys import AccessKey
from knotwork._extensions.server.responses import hide_paths
from knotwork._extensions.server.routes.ask import ask, check_question, search
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Progress
from knotwork._synthesis.ask_request import AskRequest
from knotwork.errors import KnotworkError
from knotwork.records import Evidence

if TYPE_CHECKING:
    pass


Arguments = ParamSpec("Arguments")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class McpSession:
    """The server, the key and the workspace of a request."""

    server: Service
    key: AccessKey
    workspace: str


current_session: ContextVar[McpSession] = ContextVar("current_session")
_current_workspace: ContextVar[Workspace] = ContextVar("current_workspace")


def current_workspace() -> Workspace:
    """Return the workspace, in functions that `SessionKnowledgeBase.call` runs."""
    return _current_workspace.get()


class SessionKnowledgeBase:
    """The knowledge base of the current session; a `ToolBackend`.

    The index is kept open during a call only.
    """

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """The knowledge base, in functions that `call` runs."""
        return _current_workspace.get().base

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run a function in a thread of the server; raises like `Threads.run`."""
        session = current_session.get()
        with lease(session.server, session.workspace, session.key) as workspace:

            def run() -> T:
                _current_workspace.set(workspace)
                return function(*args, **kwargs)

            with _public_errors():
                return await session.server.threads.run(run)

    async def search(self, question: AskRequest, /) -> Evidence:
        """Return the passages relevant to a question."""
        session = current_session.get()
        checked = check_question(session.server, session.key, question)
        return await self.call(lambda: search(current_workspace(), checked))

    @property
    def ask(self) -> Self:
        """Answers questions within the limits of the server, by `run`."""
        return self

    async def run(self, question: AskRequest, /) -> AsyncGenerator[Progress]:
        """Answer a question, and yield each step."""
        session = current_session.get()
        asked = check_question(session.server, session.key, question)
        with lease(session.server, session.workspace, session.key) as workspace:
            make = partial(ask.run, session.server, workspace, asked)
            with _public_errors():
                async with aclosing(session.server.threads_for(asked).iterate(make)) as events:
                    async for event in events:
                        yield event


@contextmanager
def _public_errors() -> Iterator[None]:
    """Remove paths of the server from errors, which tools show to their callers."""
    try:
        yield
    except KnotworkError as error:
        error.message, error.fix = hide_paths(error.message), hide_paths(error.fix)
        raise
