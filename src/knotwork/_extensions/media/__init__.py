"""Loaders of pictures and recordings."""
