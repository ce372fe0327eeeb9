"""Agents that choose among retrievers step by step, and conversations that remember facts."""

from knotwork.agents._agent import AgentOptions, AgentReply, ask_agent, ask_agent_events
from knotwork.agents._chat import Chat, ChatEvent, ChatResponse, MemoryOffer, MemoryUpdate
from knotwork.agents._fact_memory import RememberedFact

__all__ = [
    "AgentOptions",
    "AgentReply",
    "Chat",
    "ChatEvent",
    "ChatResponse",
    "MemoryOffer",
    "MemoryUpdate",
    "RememberedFact",
    "ask_agent",
    "ask_agent_events",
]
