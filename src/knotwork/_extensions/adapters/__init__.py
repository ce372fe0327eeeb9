"""Retrievers, tools and query engines for LangChain, LlamaIndex and Haystack."""
