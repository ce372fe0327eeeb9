"""Paths through the graph that answer a question: found, ranked in two stages, and cited."""
