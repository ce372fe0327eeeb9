"""Extractors: find the entities and relations of chunks, by rules and by language models."""
