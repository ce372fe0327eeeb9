"""Evaluations of a workspace: questions asked of its retrievers, kept beside its index."""
