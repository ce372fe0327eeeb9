"""The HTTP routes, one module per resource, below /api/v1; `openai` is below /v1."""
