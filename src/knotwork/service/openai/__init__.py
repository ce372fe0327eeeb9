"""The interface that OpenAI's clients know, below /v1: chat, embeddings and models."""
