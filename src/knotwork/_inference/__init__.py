"""Models: embedders, rerankers and answer readers, local or served, and chat models on a server."""
