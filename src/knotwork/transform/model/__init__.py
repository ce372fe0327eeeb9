"""Extraction by a language model, on top of what the rules find."""
