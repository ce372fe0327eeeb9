"""Agents that choose among retrievers step by step, and conversations that remember facts."""
