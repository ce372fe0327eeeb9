"""Use an index from LangChain: a retriever, and two tools. Needs the extra `langchain`."""

from knotwork._extensions.adapters.langchain import (
    KnotworkRetriever,
    build_ask_tool,
    build_search_tool,
)

__all__ = ["KnotworkRetriever", "build_ask_tool", "build_search_tool"]
