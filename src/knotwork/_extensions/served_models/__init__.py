"""Models on servers: chat models, embedders and rerankers, by HTTP (extra `llm`)."""
