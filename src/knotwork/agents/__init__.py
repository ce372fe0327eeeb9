"""Agents: they choose among retrievers step by step, judge what was found, and show every step."""
