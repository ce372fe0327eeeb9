"""Measure answers and retrievers, and train rankers. See `knotwork.evaluation`."""
