"""Data sets, metrics and comparisons."""
