"""Conversations: questions that lean on the turns before them, made to stand alone."""

from knotwork.synthesis.conversation.names import NameReader, SpokenName, capital_names, index_names
from knotwork.synthesis.conversation.pronouns import find_pronoun
from knotwork.synthesis.conversation.turns import Turn, read_turn
from knotwork.synthesis.conversation.understanding import (
    MOST_TURNS,
    Understanding,
    leans,
    read_turns,
    resolve_pronoun,
    understand,
)

__all__ = [
    "MOST_TURNS",
    "NameReader",
    "SpokenName",
    "Turn",
    "Understanding",
    "capital_names",
    "find_pronoun",
    "index_names",
    "leans",
    "read_turn",
    "read_turns",
    "resolve_pronoun",
    "understand",
]
