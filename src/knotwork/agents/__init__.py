"""Agents that choose among retrievers step by step, and conversations that remember facts."""

from knotwork.agents._agent import AgentOptions, ask_agent
from knotwork.agents._chat import Chat, ChatResponse, MemoryOffer, MemoryUpdate
from knotwork.agents._fact_memory import RememberedFact

__all__ = [
    "AgentOptions",
    "Chat",
    "ChatResponse",
    "MemoryOffer",
    "MemoryUpdate",
    "RememberedFact",
    "ask_agent",
]
