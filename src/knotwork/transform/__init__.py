"""Index transformers: extractors."""
