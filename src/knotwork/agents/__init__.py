"""Agents that choose among retrievers step by step, and conversations that remember facts."""

from knotwork.agents._ask import AgentOptions, AgentReply, ask_agent, ask_agent_events
from knotwork.agents._chat import Chat, ChatEvent, ChatResponse

__all__ = [
    "AgentOptions",
    "AgentReply",
    "Chat",
    "ChatEvent",
    "ChatResponse",
    "ask_agent",
    "ask_agent_events",
]
