"""Agents that choose among retrievers step by step, and conversations that remember facts."""

from knotwork.agents._ask import AgentOptions, ask_agent
from knotwork.agents._chat import Chat, ChatResponse, MemoryUpdate
from knotwork.agents._fact_memory import RememberedFact
from knotwork.agents._offers import MemoryOffer

__all__ = [
    "AgentOptions",
    "Chat",
    "ChatResponse",
    "MemoryOffer",
    "MemoryUpdate",
    "RememberedFact",
    "ask_agent",
]
