"""Agents that choose among retrievers step by step, and conversations that remember facts."""

from knotwork._extensions.agents.agent import AgentOptions, ask_agent
from knotwork._extensions.agents.chat import Chat, ChatResponse, MemoryOffer, MemoryUpdate
from knotwork._extensions.agents.fact_memory import RememberedFact

__all__ = [
    "AgentOptions",
    "Chat",
    "ChatResponse",
    "MemoryOffer",
    "MemoryUpdate",
    "RememberedFact",
    "ask_agent",
]
