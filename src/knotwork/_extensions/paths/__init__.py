"""Paths through the graph that answer a question: enumerated, ranked in two stages, and cited."""
