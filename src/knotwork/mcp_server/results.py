"""What a tool gives back: one object for programs, and the same in words."""

from __future__ import annotations

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel


def result(value: BaseModel, text: str) -> CallToolResult:
    """Return the result of a tool."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json"),
    )
