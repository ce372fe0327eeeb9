"""What becomes of errors: those that Knotwork raises on purpose are told to the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from knotwork.errors import KnotworkError

Arguments = ParamSpec("Arguments")
T = TypeVar("T")


def as_tool(
    function: Callable[Arguments, Awaitable[T]],
) -> Callable[Arguments, Awaitable[T]]:
    """Let a tool fail with the message and the fix of an error, for the model to mend."""

    @wraps(function)
    async def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except KnotworkError as error:
            raise ToolError(f"{error.code}: {error}") from error

    return run


def as_resource(
    function: Callable[Arguments, Awaitable[T]],
) -> Callable[Arguments, Awaitable[T]]:
    """Let a resource fail with the message and the fix of an error."""

    @wraps(function)
    async def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except KnotworkError as error:
            raise ResourceError(str(error)) from error

    return run
