"""Evaluate answers and retrievers on known questions, and train rankers from such questions."""
