"""What a conversation leaves behind: the last turns, and facts with the time they hold."""

from knotwork.agents.memory.conversation import Conversation, Told
from knotwork.agents.memory.facts import FactMemory, RememberedFact

__all__ = ["Conversation", "FactMemory", "RememberedFact", "Told"]
